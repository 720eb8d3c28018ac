#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Generated XPlane files of every kind: the report's sweep equals what the generator says, to the nanosecond; damaged
# ones are named as what they are, and give what can still be read.
set -eu
BUILD=${BUILD:-build}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
gen() { python3 tests/gen/gen_xplane.py "$@"; }
fail() { echo "FAIL: $*"; exit 1; }
n=0
while read -r -a args; do
	gen "${args[@]}" --truth -o "$tmp/$n.gz" >"$tmp/$n.truth"
	"$BUILD/warptap" report --json "$tmp/$n.gz" >"$tmp/$n.report"
	echo "${args[*]}" >"$tmp/$n.args"
	n=$((n + 1))
done <<'CASES'
gpu --seed 1
gpu --seed 2 --derived --devices 3
gpu --seed 3 --command-buffers --steps 4
gpu --seed 4 --meta-first --layers 9
tpu --seed 5
tpu --seed 6 --devices 4 --steps 3 --sparse
tpu --seed 7 --meta-first --layers 20
tpu --seed 8 --layers 0
CASES
# A profile that lies in a folder of native traces is asked for XLA's instructions alone, and is no input.
profiles=$tmp/native/plugins/profile
mkdir -p "$profiles/1" "$profiles/2" "$tmp/both"
cp tests/golden/v1/basic.wt "$tmp/both" && cp tests/golden/v1/basic.wt "$tmp/native"
gen gpu --seed 3 --command-buffers >"$profiles/1/host.xplane.pb"
"$BUILD/warptap" report --json "$tmp/both" | sed "s,$tmp/both,," >"$tmp/without.json"
said() { "$BUILD/warptap" report --json "$tmp/native" >"$tmp/said.json" && python3 - "$tmp" "$1" <<'PY' || fail "profile beside traces: $1"; }
import json, sys
tmp = sys.argv[1]
with_it, without = json.load(open(tmp + "/said.json")), json.load(open(tmp + "/without.json"))
new = [n for n in with_it["notes"] if "plugins/profile/" in n]
assert len(new) == 1 and sys.argv[2] in new[0], with_it["notes"]
for key in "devices", "kernels", "steps", "completeness":
    assert with_it[key] == without[key], key
assert len(with_it["inputs"]) == 1
PY
said "profile/1: what the kernels in XLA's graphs are is from this profile"
echo no profile >"$profiles/2/host.xplane.pb"
said "profile/2: a profile beside the traces gives no modules"
"$BUILD/warptap" report "$tmp/native" --hlo "$profiles/1/host.xplane.pb" | grep -q "profile/2" && fail "--hlo, and the other one"
python3 - "$tmp" "$n" <<'PY'
import json, sys
tmp, n, failed = sys.argv[1], int(sys.argv[2]), 0
keys = ("device", "window_ns", "compute_ns", "comm_exposed_ns", "copy_exposed_ns", "spin_ns", "none_ns", "comm_total_ns")
for i in range(n):
    want = [list(map(int, row.split("\t")[:10])) for row in open(f"{tmp}/{i}.truth")]
    report = json.load(open(f"{tmp}/{i}.report"))
    devices = report["devices"]
    got = sorted([d[k] for k in keys] + [d["kernels"]["count"], d["kernels"]["sum_ns"]] for d in devices)
    if got != want or not want or any(sum(d["leaves_ns"].values()) != d["window_ns"] for d in devices):
        failed = 1
        print("differs:", open(f"{tmp}/{i}.args").read(), "want", want, "got", got)
    if any(d["kernels"]["without_launch"] for d in devices) or not report["steps"]:
        failed = 1
        print("kernels without a launch, or no steps:", open(f"{tmp}/{i}.args").read())
sys.exit(failed or n != 8)
PY

# What cannot be joined to its operation is said, with how many: the kernel of the collective has NCCL's name.
gen gpu --command-buffers --steps 3 --layers 2 -o "$tmp/buffers.pb"
"$BUILD/warptap" report "$tmp/buffers.pb" | grep -q 'of 18 kernels in command buffers 6 cannot be told' ||
	fail "kernels in command buffers"
# Two hosts of one job: two files, each with its name.
mkdir "$tmp/job"
gen tpu --host hostA -o "$tmp/job/a.xplane.pb"; gen tpu --seed 2 --host hostB -o "$tmp/job/b.xplane.pb"
"$BUILD/warptap" report --json "$tmp/job/a.xplane.pb" "$tmp/job/b.xplane.pb" | python3 -c '
import json, sys
r = json.load(sys.stdin)
assert len(r["inputs"]) == 2 and len(r["devices"]) == 2, r["inputs"]
assert all(i["format"] == "xplane" and not i["damaged"] for i in r["inputs"]), r["inputs"]' || fail "two hosts"

# Without a device there is nothing to account for: exit 0, and said.
gen cpu -o "$tmp/cpu.pb"
"$BUILD/warptap" report "$tmp/cpu.pb" | grep -q 'no device records' || fail "no device"

# Cut anywhere: what was there is reported, exit 3; less and less of it.
damaged() { # FILE: the report of a damaged file, into $tmp/out
	rc=0; "$BUILD/warptap" report --json "$1" >"$tmp/out" 2>"$tmp/err" || rc=$?
	[ "$rc" = 3 ] || fail "exit $rc instead of 3 for $1: $(cat "$tmp/err")"
}
last=1000000
for percent in 95 70 50 30; do
	gen tpu --devices 4 --cut $percent -o "$tmp/cut.pb"
	damaged "$tmp/cut.pb"
	now=$("$BUILD/warptap" info "$tmp/cut.pb" 2>/dev/null | grep -o '[0-9]* device operations') || :
	now=${now%% *}
	[ "$now" -le "$last" ] && [ "$now" -gt 0 ] || fail "cut at $percent %: $now operations after $last"
	last=$now
done
# Cut inside the lines of the device: its names are gone.
gen gpu --layers 30 --cut 30 -o "$tmp/cut.pb"
damaged "$tmp/cut.pb"
grep -q 'device operations have lost their names' "$tmp/out" || fail "lost names: $(cat "$tmp/out")"
gen tpu -o "$tmp/gzip.gz"
head -c $(($(stat -c %s "$tmp/gzip.gz") * 9 / 10)) "$tmp/gzip.gz" >"$tmp/gzipcut.gz"
damaged "$tmp/gzipcut.gz"
# A length of an exabyte costs nothing.
gen gpu --absurd -o "$tmp/absurd.pb"
damaged "$tmp/absurd.pb"
grep -q 'more than 2 GiB' "$tmp/err" "$tmp/out" || fail "absurd length: $(cat "$tmp/err")"
# Through a conversion to text: nothing to be had, and the reason is named with its place.
for kind in gpu tpu; do
	gen $kind --as-text -o "$tmp/text.pb"
	rc=0; "$BUILD/warptap" report "$tmp/text.pb" >"$tmp/out" 2>"$tmp/err" || rc=$?
	[ "$rc" = 1 ] || fail "exit $rc instead of 1 for a file made text"
	grep -q 'damaged by a conversion to text.*EF BF BD' "$tmp/err" || fail "text not named: $(cat "$tmp/err")"
done
# Any single byte wrong: an answer, never a crash, and the sum closes (asserted by report).
for at in $(seq 3 499 6000); do
	gen tpu --corrupt "$at" -o "$tmp/flip.pb"
	rc=0; "$BUILD/warptap" report --json "$tmp/flip.pb" >"$tmp/out" 2>"$tmp/err" || rc=$?
	case $rc in 0 | 1 | 3) ;; *) fail "byte $at: exit $rc: $(cat "$tmp/err")" ;; esac
done
echo "all as made"
