#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# An hour (SOAK_S seconds) at 50,000 launches a second, windows opening and closing, somebody asking for the status all
# the time: memory, descriptors and threads stay as they are after the first quarter; at the end every call is counted,
# and what is in windows has its record or is said to be lost, to the call.
set -eu
build=$(realpath "${BUILD:-build}")
seconds=${SOAK_S:-3600}
dir=$(mktemp -d); job=; trap '[ -z "$job" ] || kill -9 $job 2>/dev/null || :; rm -rf "$dir"' EXIT
export WARPTAP_CONTROL_DIR=$dir/control PYTHONDONTWRITEBYTECODE=1
die() { echo "FAIL: $*"; cat "$dir"/out "$dir"/t/*.log 2>/dev/null; exit 1; }

# Not by `warptap run --sim`: that keeps the truth, a row an operation.
mkdir "$dir/t"
env LD_LIBRARY_PATH="$build/simgpu/lib" SIMGPU_DEVICE=h100 LD_PRELOAD="$build/libwarptap.so" WARPTAP_DIR="$dir/t" \
	WARPTAP_BUDGET=0 WARPTAP_SKEW_US=0 WARPTAP_WINDOW_EVERY=3s WARPTAP_WINDOW_FOR=100ms WARPTAP_EXIT_MS=60000 \
	timeout $((seconds * 2 + 60)) "$build/tests/cli/steady" seconds="$seconds" threads=2 rate=25000 >"$dir/out" 2>&1 &
job=$!
pid=
for _ in $(seq 600); do pid=$(sed -n 's/^ready //p' "$dir/out"); [ -z "$pid" ] || break; sleep 0.1; done
[ -n "$pid" ] || die "the job does not begin"
every=$(((seconds + 199) / 200))
while sleep $every && kill -0 "$pid" 2>/dev/null; do
	"$build/warptap" attach "$pid" status >"$dir/status" 2>&1 || break # at its end, or the check below says why not
	{
		awk '/^(RssAnon|VmSize|Threads):/ { printf "%s ", $2 }' "/proc/$pid/status"
		echo "$(find "/proc/$pid/fd" -type l | wc -l) $(stat -c %s "$dir"/t/*.ring) $(stat -c %s "$dir"/t/*.log)"
	} >>"$dir/samples" 2>/dev/null || break
done
wait $job || die "the job: exit $?"
job=
if ls "$dir"/t/*.ring 2>/dev/null; then die "a black box is left behind"; fi
"$build/warptap" report --json "$dir/t" >"$dir/r.json" || die "report: exit $?"
python3 - "$dir" "$seconds" <<'P' || die "the soak"
import json, re, sys
dir, seconds = sys.argv[1], float(sys.argv[2])
names = ("VmSize kB", "RssAnon kB", "threads", "descriptors", "black box bytes", "log bytes")
rows = [[int(x) for x in l.split()] for l in open(dir + "/samples")]
rows = [r for r in rows if len(r) == len(names)]
assert len(rows) >= min(100, seconds / 4), (len(rows), "samples: nobody answered")
quarter = len(rows) // 4
for i, name in enumerate(names):
    settled, later = max(r[i] for r in rows[:quarter + 1]), max(r[i] for r in rows[quarter + 1:])
    print("%-16s %d at first, %d after a quarter, %d at most after it" % (name, rows[0][i], settled, later))
    # The black box keeps what it needed once: where the writer was held up longer than ever, a segment more. The log
    # may tell of a window left out.
    assert later <= settled + {"RssAnon kB": 256, "black box bytes": 2 << 20, "log bytes": 2048}.get(name, 0), name
made = dict(zip(("launch", "copy", "memset", "graph_launch"), map(int, re.search(
    r"launched (\d+) copied (\d+) set (\d+) graphs (\d+)", open(dir + "/out").read()).groups())))
r = json.load(open(dir + "/r.json"))
c = r["completeness"]
windows = len(c["holes"]) + 1
lost = c["missing"] + c["dropped_agent"] + c["dropped_cupti"] + c["untimed"]
print("%d launches in %g s, %d of them in %d windows or so, share %s, lost and said %d" % (
    made["launch"], seconds, c["counted"]["launch"], windows, c["share"], lost))
print("cost:", r["cost"])
for k, n in made.items():
    assert c["counted"][k] + c["outside_windows"][k] == n, (k, n, c["counted"], c["outside_windows"])
    assert c["received"][k] <= c["counted"][k] and c["counted"][k] > 0, (k, c)
short = sum(c["counted"][k] - c["received"][k] for k in made)
assert short == c["missing"] + c["dropped_agent"] + c["dropped_cupti"] + c["device_error"] + c["in_flight"], (short, c)
assert c["share"] == 1.0 or lost, c
assert windows >= seconds / 3 * 0.8, (windows, "windows")
assert made["launch"] >= 0.9 * 50000 * seconds, "slower than the load that was meant"
P
