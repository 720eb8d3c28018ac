#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# warptap run --redact: no name of the job's, no path, nothing of its environment is in the trace, in a segment that was
# recovered neither, nor in the log and the black box; the account is that of a trace with names, and ranks agree on
# them.
set -eu
# A name of the host that no binary data holds by chance: in a name space of its own where that is allowed.
if [ -z "${REDACT_HOST:-}" ]; then
	for own in "unshare --uts" "unshare -r --uts"; do
		if $own hostname host-of-theirs 2>/dev/null; then
			export REDACT_HOST=own
			exec $own sh -c 'hostname host-of-theirs && exec "$0"' "$0"
		fi
	done
fi
host=$(hostname)
[ ${#host} -gt 4 ] || { echo "this host's name, $host, is found everywhere: looking for others only"; host=somebody; }
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
export WARPTAP_CONTROL_DIR=$dir/control WARPTAP_BUDGET=0 WARPTAP_EXIT_MS=10000 PYTHONDONTWRITEBYTECODE=1
die() { echo "FAIL: $*"; cat "$dir"/*.out 2>/dev/null; exit 1; }

job() { # NAME OPTIONS... : marks (an own program), kernels, a collective; in an environment that has something to hide
	local name=$1 r p=(); shift
	for r in 0 1; do
		rank $r "$@" >"$dir/$name.$r.out" 2>&1 & p+=($!)
	done
	wait "${p[0]}" && wait "${p[1]}"
}
rank() {
	local r=$1; shift
	RANK=$r WORLD_SIZE=2 NCCL_DEBUG_FILE=/models/somebody/nccl.log VLLM_MODEL=/models/unreleased CUDA_VISIBLE_DEVICES=0 XLA_FLAGS=--dump=/models/somebody \
		"$build/warptap" run -q "$@" --sim h100,devices=2 -o "$dir/$name" -- "$build/tests/cli/steady" seconds=1 rate=500 step=50 \
		collective=100 id="$dir/$name.id" rank=$r ranks=2 device=$r
}
words='steady|somebody|unreleased|'"$host"'|'"$dir"
plain() { zstd -dcq "$@" | grep -aEo "$words" | sort | uniq -c; }

job named || die "the job"
for w in steady_0 somebody unreleased "$host" "$dir"; do
	zstd -dcq "$dir"/named/*.wt | grep -aqF "$w" || die "without --redact there is no $w: nothing would be tested"
done
job redacted --redact || die "the redacted job"
[ "$(ls "$dir"/redacted | grep -c '^localhost\.')" -ge 1 ] || die "files are named by the host"
[ -z "$(plain "$dir"/redacted/*.wt)" ] || { plain "$dir"/redacted/*.wt; die "names in the trace"; }
zstd -dcq "$dir"/redacted/*.wt | grep -aq 'redacted-[0-9a-f]\{16\}' || die "no redacted names: nothing is named at all"
for n in named redacted; do "$build/warptap" report --json "$dir/$n" >"$dir/$n.json" || die "$n: report"; done
python3 - "$dir" <<'P' || die "the account of the redacted trace"
import json, sys
a, b = (json.load(open("%s/%s.json" % (sys.argv[1], n))) for n in ("named", "redacted"))
for r in (a, b):
    c = r["completeness"]
    assert c["share"] == 1.0 and c["missing"] == 0, c
    assert len(r["devices"]) == 2
    for d in r["devices"]:
        assert sum(d["leaves_ns"].values()) == d["window_ns"] and d["comm_total_ns"] > 0, d
    assert len(r["steps"]) > 3, r["steps"]
counts = [r["completeness"]["counted"] for r in (a, b)]
assert counts[0]["collective"] == counts[1]["collective"] > 0, counts
names = [{k["name"] for k in r["kernels"]} for r in (a, b)]
assert len(names[0]) == 9 and len(names[1]) == 2 * 8 + 1, names  # each command made up its own key
assert all(n.startswith("redacted-") or "nccl" in n for n in names[1]), names[1]
assert b["environment"].get("program") in (None, ""), b["environment"]
P

# The processes of one command agree on names, and so do those of two that were given the key. It is in no trace.
cat >"$dir/two" <<'S'
for r in 0 1; do
	RANK=$r WORLD_SIZE=2 "$@" rank=$r device=$r & p="$p $!"
done
for r in $p; do wait $r || exit 1; done
S
"$build/warptap" run -q --redact --sim h100,devices=2 -o "$dir/one" -- sh "$dir/two" "$build/tests/cli/steady" seconds=1 rate=500 \
	step=50 collective=100 id="$dir/one.id" ranks=2 >"$dir/one.out" 2>&1 || die "two ranks of one command"
export WARPTAP_REDACT_KEY=keyword-that-nobody-guesses
words="$words|keyword-that"
job given --redact || die "two commands with one key"
unset WARPTAP_REDACT_KEY
for n in one given; do
	[ -z "$(plain "$dir/$n"/*.wt)" ] || { plain "$dir/$n"/*.wt; die "names, or the key, in the trace"; }
	"$build/warptap" report --json "$dir/$n" >"$dir/$n.json" || die "$n: report"
done
python3 - "$dir" <<'P' || die "ranks do not agree on names"
import json, sys
names = {}
for n in ("one", "given", "redacted"):
    r = json.load(open("%s/%s.json" % (sys.argv[1], n)))
    assert len(r["devices"]) == 2, r["devices"]
    names[n] = {k["name"] for k in r["kernels"] if "nccl" not in k["name"]}
assert len(names["one"]) == len(names["given"]) == 8, names
assert not (names["one"] | names["given"]) & names["redacted"], "the same numbers by different keys"
P

# The black box and the log of a job have no names, paths or values of settings either; without --redact they do.
mkdir -m 755 "$dir/open"
killed() { # NAME OPTIONS... : killed after a while
	local name=$1; shift
	: >"$dir/$name.out"
	WARPTAP_CONTROL_DIR=$dir/open WARPTAP_COOL_MS=somebody VLLM_MODEL=/models/unreleased "$build/warptap" run -q "$@" --sim h100 \
		-o "$dir/$name" -- "$build/tests/cli/steady" seconds=60 rate=500 step=50 >"$dir/$name.out" 2>&1 & runner=$!
	for _ in $(seq 200); do pid=$(sed -n 's/^ready //p' "$dir/$name.out"); [ -z "$pid" ] || break; sleep 0.05; done
	[ -n "$pid" ] || die "the job does not begin"
	sleep 0.7
	kill -STOP "$pid"
	cp "$dir/$name"/*.ring "$dir/$name.box" || die "no black box beside the trace"
	kill -9 "$pid"; wait $runner 2>/dev/null || :
	grep -aEo "$words" "$dir/$name.box" "$dir/$name"/*.log | sort | uniq -c >"$dir/$name.names" || :
}
killed k0
for w in steady somebody "$dir"; do grep -qF "$w" "$dir/k0.names" || die "without --redact there is no $w: nothing would be tested"; done
killed k --redact
[ ! -s "$dir/k.names" ] || { cat "$dir/k.names"; die "names in the black box or the log"; }
grep -q redacted "$dir"/k/*.log || die "the log says nothing"
"$build/warptap" recover "$dir/k" >"$dir/said" || die "not recovered"
[ -z "$(plain "$dir"/k/*.wt)" ] || { plain "$dir"/k/*.wt; die "names in the recovered trace"; }
echo ok
