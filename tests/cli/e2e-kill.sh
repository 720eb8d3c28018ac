#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# SIGKILL in mid-run: the report on what is left works, exits 3, says that the run was cut, and lacks at most the last
# second of what the device had finished. What the black boxes hold is in it, and no input is called damaged.
set -eu
B=${BUILD:-build}
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
# The ranks are children of the example's launcher, which is a child of `warptap run`: kill the ranks themselves.
"$B/warptap" run -q -o "$d/t" --sim h100,devices=2,scenario=examples/train2/demo.scenario -- \
	"$B/examples/train2/train2" --ranks 2 --steps 100000 >"$d/out" 2>&1 &
runner=$!
# Both devices are at it for three seconds: by the truth, on a slow machine too.
busy() { # TRUTH
	awk -F'\t' '$1 == "op" && $2 == "kernel" { if (!a) a = $11; b = $11 } END { exit !(b - a > 3e9) }' "$1"
}
for _ in $(seq 600); do
	n=0
	for f in "$d"/t/truth.*.tsv; do [ -e "$f" ] && busy "$f" && n=$((n + 1)); done
	[ $n -lt 2 ] || break
	sleep 0.1
done
pids=$(ls "$d"/t/*.wt | sed -E 's/.*\.([0-9]+)\.wt/\1/')
kill -9 $pids
wait $runner && { echo "the run's exit code hides the kill"; exit 1; }
rc=0; "$B/warptap" report --json "$d/t" >"$d/r.json" || rc=$?
[ $rc = 3 ] || { echo "report exit $rc, expected 3"; exit 1; }
"$B/warptap" report "$d/t" >"$d/r.txt" || true
grep -i 'cut' "$d/r.txt"
python3 - "$d" <<'P'
import glob, json, sys
rep = json.load(open(sys.argv[1] + "/r.json"))
assert not any(i["damaged"] for i in rep["inputs"]), rep["inputs"]
devices = {d["device"]: d for d in rep["devices"]}
assert len(devices) == 2, devices
for path in glob.glob(sys.argv[1] + "/t/truth.*.tsv"):
    ends, dev = [], None
    for l in open(path):
        c = l.rstrip("\n").split("\t")
        if c[0] == "op" and len(c) >= 18 and c[1] == "kernel":
            ends.append(int(c[10])); dev = int(c[2])
    ends.sort()
    got = devices[dev]["kernels"]["count"]
    must = sum(e <= ends[-1] - 1_500_000_000 for e in ends)
    print("device %d: %d kernels in the report, %d done at the kill, %d a second and a half before" % (dev, got, len(ends), must))
    assert must > 0 and must <= got <= len(ends) + 1, (must, got, len(ends))
for d in devices.values():
    assert sum(d["leaves_ns"].values()) == d["window_ns"]
P
