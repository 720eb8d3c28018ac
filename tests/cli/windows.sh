#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Windows by schedule: on two ranks they open and close at the same collectives, on the ranks that were chosen; by time;
# by steps; asked for over two processes; and one that holds its rank up too long is given up.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
export WARPTAP_CONTROL_DIR=$dir/control WARPTAP_EXIT_MS=10000 WARPTAP_FLUSH_MS=100 WARPTAP_BUDGET=${WARPTAP_BUDGET:-0} PYTHONDONTWRITEBYTECODE=1
export WARPTAP_SKEW_US=0 # but for the test of it: this machine is shared
die() { echo "FAIL: $*"; cat "$dir"/*.out "$dir"/*/*.log 2>/dev/null; exit 1; }

ranks() { # NAME [VAR=VALUE...] -- WORDS: two ranks at once
	local name=$1 vars=() p=() r; shift
	while [ "$1" != -- ]; do vars+=("$1"); shift; done; shift
	for r in 0 1; do
		env RANK=$r WORLD_SIZE=2 "${vars[@]}" "$build/warptap" run -q --sim h100,devices=2 -o "$dir/$name" -- \
			"$build/tests/cli/steady" rank=$r ranks=2 device=$r id="$dir/$name.id" "$@" >"$dir/$name.$r.out" 2>&1 &
		p+=($!)
	done
	[ -z "${meanwhile:-}" ] || $meanwhile
	for r in 0 1; do wait "${p[$r]}" || die "$name: rank $r"; done
}
check() { python3 - "$dir/$1" "$build/warptap" "${@:2}" <<'P' || die "$1: the windows are wrong"
import glob, json, re, subprocess, sys
dir, warptap, what = sys.argv[1:4]

def packets(path):
    """(states, collectives) of a trace, as info prints them: a state's values; per communicator the numbers called, by row"""
    text = subprocess.run([warptap, "info", "--packets", path], capture_output=True, text=True, check=True).stdout
    return [dict(p.split("=") for p in line.split()[3:]) for line in text.splitlines() if re.match(r"@\d+ #\d+ state ", line)]

def windows(path):
    out, on = {}, None
    for s in packets(path):
        if s["level"] == "3" and s["cupti"] == "CUPTI_STATE_OURS" and on is None:
            on = s
        elif s["level"] != "3" and on is not None:
            out[int(on["window"])] = (on["reason"], s["reason"])
            on = None
    return out

by_rank, left = {}, set()  # on a busy machine windows may be left out: then the log says so
for path in glob.glob(dir + "/*.log"):
    left |= {int(n) for n in re.findall(r"window (\d+) left out", open(path).read())}
for path in glob.glob(dir + "/*.wt"):
    text = subprocess.run([warptap, "info", "--packets", path], capture_output=True, text=True, check=True).stdout
    by_rank[int(re.search(r"rank=(-?\d+)", text).group(1))] = windows(path)
print(by_rank, "left out", left)
report = json.load(open(dir + ".json"))
assert report["completeness"]["share"] == 1.0 and report["completeness"]["missing"] == 0, report["completeness"]
W = "STATE_REASON_WINDOW"
# What lies between two windows is known for what it is, and no step has it inside.
for d in report["devices"]:
    holes = [h for h in report["completeness"]["holes"] if h["rank"] == d["rank"] and h["paused"]]
    assert d["paused_ns"] <= d["leaves_ns"]["E1"] and (d["paused_ns"] > 0 or not holes), d
assert not any(s["leaves_ns"].get("E1") for s in report["steps"] if not s["partial"]), report["steps"]
if what == "same":
    both = by_rank[0].keys() & by_rank[1].keys()
    assert left or by_rank[0].keys() == by_rank[1].keys(), by_rank
    assert all(by_rank[r][n] == (W, W) for r in (0, 1) for n in both) and len(both) + len(left) >= 4, by_rank
elif what == "one":
    assert not by_rank[0] and len(by_rank[1]) + len(left) >= 4, by_rank
elif what == "zero":
    assert not by_rank[1] and len(by_rank[0]) + len(left) >= 4, by_rank
elif what == "command":
    assert by_rank[0] == by_rank[1] == {1: ("STATE_REASON_COMMAND",) * 2}, by_rank
elif what == "time" or what == "steps":
    (w,) = by_rank.values()
    assert len(w) + len(left) >= 3 and all(v == (W, W) for v in w.values()), w
    assert what == "time" or left or sorted(w) == list(range(1, 1 + len(w))), w
elif what == "skew":
    (w,) = by_rank.values()
    assert w and all(v == (W, "STATE_REASON_SKEW") for v in w.values()), w
P
}
report() { "$build/warptap" report --json "$dir/$1" >"$dir/$1.json" || die "$1: no report"; }

# 50 collectives a second a rank; windows of 30 at every 50th.
ranks same WARPTAP_WINDOW_EVERY=50collectives WARPTAP_WINDOW_FOR=30collectives -- seconds=6 rate=500 collective=10
report same; check same same
# Inside window k are collectives from number 50 k on, and the next window is another one's.
python3 - tests/cli "$dir"/same/*.wt <<'P' || die "windows of two ranks hold other collectives"
import sys
sys.path.insert(0, sys.argv[1])
import wt_wire
for path in sys.argv[2:]:
    t = wt_wire.Trace(path)
    tsc = {(c["ring"], c["seq"]): c["tsc"] for c in t.calls}
    numbers = []
    for p in t.packets:
        if p.get("body") == "collectives":
            m = p["collectives"]
            col = t.rows(m, len(m["ring"]))
            numbers += [(tsc[r, q], n) for r, q, n in zip(m["ring"], col("call_seq"), col("seq")) if (r, q) in tsc]
    on, seen = None, 0
    for s in t.states:
        if s.get("level") == 3 and s.get("cupti") == 2:
            on = s
        elif on:
            inside = [n for at, n in numbers if on["tsc"] <= at < s["tsc"]]
            print("window", on["window"], "collectives", min(inside), "to", max(inside))
            assert 50 * on["window"] < min(inside) and max(inside) < 50 * (on["window"] + 1), (on["window"], inside)
            on, seen = None, seen + 1
    assert seen >= 1, seen
P
ranks one WARPTAP_WINDOW_EVERY=50collectives WARPTAP_WINDOW_FOR=30collectives WARPTAP_RANKS=1,5-7 -- seconds=6 rate=500 collective=10
report one; check one one
ask() { # once both ranks are at it
	for _ in $(seq 600); do
		"$build/warptap" attach --all status >"$dir/ask" 2>&1 && [ "$(grep -c '^collectives [1-9]' "$dir/ask")" = 2 ] && break
		sleep 0.05
	done
	"$build/warptap" attach --all window --collectives 30 >"$dir/ask" 2>&1 || { cat "$dir/ask"; die "attach --all"; }
}
meanwhile=ask ranks command WARPTAP_LEVEL=off -- seconds=5 rate=1000 collective=10
report command; check command command

alone() { env "${@:2}" "$build/warptap" run -q --sim h100 -o "$dir/$1" -- "$build/tests/cli/steady" seconds=300 launches=4000 rate=1000 step=20 \
	>"$dir/$1.out" 2>&1 || die "$1"; report "$1"; }
# A share of the ranks, decided by each for itself, the same in each window: half of them is rank 0 of these two.
ranks share WARPTAP_WINDOW_EVERY=50collectives WARPTAP_WINDOW_FOR=30collectives WARPTAP_RANKS=50% -- seconds=6 rate=500 collective=10
report share; check share zero

# A limit of 1 us on what a window may hold its rank up by, for each collective: hooks alone cost more, with 50 launches
# each. Given up, and the next one opens in its time all the same. Far below a wide limit, it runs its length.
for us in 1 1000000000; do
	WARPTAP_SKEW_US=$us "$build/warptap" run -q --sim h100 --window-every 60collectives --window-for 50collectives -o "$dir/skew$us" -- \
		"$build/tests/cli/steady" seconds=5 rate=3000 collective=50 ranks=1 id="$dir/skew.id" >"$dir/skew$us.out" 2>&1 || die "skew $us"
	report skew$us
done
check skew1 skew; check skew1000000000 steps
grep -q 'window given up: it held this rank up by' "$dir"/skew1/*.log || die "the log does not say why"

# The system's clock is set back by an hour: windows go on, and not an hour later.
env BACK_AFTER_MS=1000 LD_PRELOAD="$build/tests/cli/libclock_back.so" WARPTAP_WINDOW_EVERY=200ms WARPTAP_WINDOW_FOR=50ms \
	"$build/warptap" run -q --sim h100 -o "$dir/back" -- "$build/tests/cli/steady" seconds=4 rate=500 >"$dir/back.out" 2>&1 || die "back"
"$build/warptap" info --packets "$dir"/back/*.wt | sed -n 's/.* state .*level=3 .*window=\([0-9]*\) .*/\1/p' >"$dir/back.windows"
awk 'NR == 1 { first = $1 } $1 < first { n++ } END { exit !n }' "$dir/back.windows" ||
	die "no window after the clock was set back: $(tr '\n' ' ' <"$dir/back.windows")"

alone time WARPTAP_WINDOW_EVERY=400ms WARPTAP_WINDOW_FOR=100ms; check time time
alone steps WARPTAP_WINDOW_EVERY=20steps WARPTAP_WINDOW_FOR=5steps; check steps steps
echo ok
