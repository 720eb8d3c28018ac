#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# A small budget under a heavy load, on a slow disk: the level steps down, what recording costs stays within the budget,
# and with the load gone it comes back; each decision is in the trace, and the counts are right across all of them.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
export WARPTAP_CONTROL_DIR=$dir/control WARPTAP_EXIT_MS=10000 PYTHONDONTWRITEBYTECODE=1
die() { echo "FAIL: $*"; cat "$dir"/*.out "$dir"/*/*.log 2>/dev/null; exit 1; }
# Flat out for 4 s, then 50 launches a second for 8 s.
env WARPTAP_BUDGET=0.5 WARPTAP_BUDGET_SPAN_MS=1000 SLOW_MS=400 LD_PRELOAD="$build/tests/cli/libslow_write.so" \
	"$build/warptap" run -q --sim h100 -o "$dir/t" -- "$build/tests/cli/steady" seconds=12 rate=0 later=50 >"$dir/out" 2>&1 || die "the job"
"$build/warptap" report --json "$dir/t" >"$dir/t.json" || die "no report"
python3 - tests/cli "$dir" <<'P' || die "the budget"
import glob, json, re, sys
sys.path.insert(0, sys.argv[1])
import wt_wire
dir = sys.argv[2]
t = wt_wire.Trace(*glob.glob(dir + "/t/*.wt"))
hz = t.packets[0]["header"]["tsc_hz"]
zero = t.states[0]["tsc"]
at = lambda m: (m["tsc"] - zero) / hz
steps = [(round(at(s), 2), s.get("level", 0), s.get("cost_ppm", 0)) for s in t.states if s.get("reason") == 3]
print("steps (second, level, ppm):", steps)
levels = [l for _, l, _ in steps]
assert levels and min(levels) <= 1, "never down to count or off"
assert 3 in levels[levels.index(min(levels)):], "never back at trace"
cost = [p["cost"] for p in t.packets if p.get("body") == "cost"]
cores = len(__import__("os").sched_getaffinity(0))
spent = lambda c: (c["hook_ns"] + c.get("cupti_ns", 0) + c.get("launch_ns", 0) + (c.get("writer_cpu_ns", 0) + c.get("control_cpu_ns", 0)) / cores) / 1e9
last = cost[-1]
share = spent(last) / at(last)
print("spent %.4f s of %.2f s: %.3f %%" % (spent(last), at(last), share * 100))
# Down within 5 s of the first second that cost more than the budget, by the trace's own times; a machine that does not
# let the agent run for a while (its packets, one a second and each 0.4 s late, say so) delays it by as much.
points = [(0, 0)] + [(at(c), spent(c)) for c in cost]
pairs = list(zip(points, points[1:]))
over = next((a for (a, x), (b, y) in pairs if y - x > 0.005 * (b - a)), 0)
held = max(b - a for (a, _), (b, _) in pairs)
print("over budget from %.2f s on, down at %.2f s; at most %.2f s between packets" % (over, steps[0][0], held))
assert steps[0][1] < 3 and steps[0][0] - over <= 5 + max(0, held - 2), (over, steps[0], held)
# The account: budget x (time + span); and what is spent before a tick sees it, at each step down.
down = sum(b < a for a, b in zip([3] + levels, levels))
assert spent(last) <= 0.005 * (at(last) + 1) + 0.02 * down, (spent(last), down)
made = dict(zip(("launch", "copy", "memset", "graph_launch"),
                map(int, re.search(r"launched (\d+) copied (\d+) set (\d+) graphs (\d+)", open(dir + "/out").read()).groups())))
c = json.load(open(dir + "/t.json"))["completeness"]
print(c["counted"], c["outside_windows"], made)
for k, n in made.items():
    assert c["counted"][k] + c["outside_windows"][k] <= n, (k, n, c)
# Flat out on such a disk the pool runs full: what is lost is said, to the call.
assert c["missing"] == c["dropped_agent"] + c["dropped_cupti"], c
P
echo ok
