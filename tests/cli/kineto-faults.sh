#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Each fault that readers of Kineto files were seen to trip over has a made file here (tests/gen/kineto_faults.py): the
# report says what was reckoned by hand.
set -u
BUILD=${BUILD:-build}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
python3 tests/gen/kineto_faults.py "$tmp" || exit 1
exec python3 - "$BUILD/warptap" "$tmp" <<'PY'
import json, subprocess, sys
binary, tmp = sys.argv[1:]
cases = json.load(open(f"{tmp}/expect.json"))
bad = 0


def fail(text):
    global bad
    bad += 1
    print("FAIL:", text)


for c in cases:
    run = subprocess.run([binary, "report", "--json"] + [f"{tmp}/{p}" for p in c["paths"]], capture_output=True)
    err, name = run.stderr.decode(), c["name"]
    if run.returncode != c["exit"]:
        fail(f"{name}: exit {run.returncode}, {c['exit']} expected: {err[:300]}")
        continue
    for part in c.get("err", []):
        part in err or fail(f"{name}: stderr has no '{part}': {err[:300]}")
    if run.returncode == 1:
        continue
    r = json.loads(run.stdout)
    devices = r["devices"]
    for key, want in c.get("sum", {}).items():
        got = sum(d["kernels"][key] for d in devices)
        got == want or fail(f"{name}: kernels.{key} {got}, {want} expected")
    for key, want in c.get("at_least", {}).items():
        got = sum(d["kernels"][key] for d in devices)
        got >= want or fail(f"{name}: kernels.{key} {got}, {want} or more expected")
    for key, want in c.get("device", {}).items():
        if len(devices) != 1 or devices[0][key] != want:
            fail(f"{name}: {key} {[d[key] for d in devices]}, {want} expected")
    for key, want in c.get("inputs", {}).items():
        got = r["inputs"][0]["lost"][key]
        got == want or fail(f"{name}: inputs.lost.{key} {got}, {want} expected")
    for part in c.get("notes", []):
        any(part in n for n in r["notes"]) or fail(f"{name}: no note says '{part}': {r['notes']}")
    for want in c.get("kernels", []):
        want in [k["name"] for k in r["kernels"]] or fail(f"{name}: no kernel {want!r}: {[k['name'] for k in r['kernels']]}")
    for want, got in zip(c.get("collectives", []), r["collectives"] + [{}] * 9):
        for key, v in want.items():
            got.get(key) == v or fail(f"{name}: collectives {key}: {got}, {v} expected")
    if "steps" in c and len(r["steps"]) != c["steps"]:
        fail(f"{name}: {len(r['steps'])} steps, {c['steps']} expected")
    for d in devices:
        states = sum(d[k] for k in ("compute_ns", "comm_exposed_ns", "copy_exposed_ns", "spin_ns", "none_ns"))
        if states != d["window_ns"] or sum(d["leaves_ns"].values()) != d["window_ns"]:
            fail(f"{name}: the ledger does not close")
        if d["kernels"]["union_ns"] > d["window_ns"]:
            fail(f"{name}: busy for longer than the window")
print(len(cases), "cases")
sys.exit(bool(bad) or len(cases) < 38)
PY
