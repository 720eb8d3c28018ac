#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Public XPlane files (TPU v6 lite, V100 with TensorFlow, MI300X with JAX): kernels, their union and sum are what a
# reader that shares nothing with ours finds, to the nanosecond; records are those of MANIFEST.tsv, whose count for
# this format takes copies in.
set -eu
BUILD=${BUILD:-build}
traces=../shared/traces
[ -r "$traces/MANIFEST.tsv" ] || { echo "skip-ok: $traces is not here"; exit 77; }
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
for f in "$traces"/xplane/*.xplane.pb; do
	"$BUILD/warptap" report --json "$f" >"$tmp/$(basename "$f").json"
	"$BUILD/warptap" info "$f" >"$tmp/$(basename "$f").info"
done
python3 tests/cli/xplane_wire.py "$traces"/xplane/*.xplane.pb >"$tmp/wire"
python3 - "$tmp" "$traces/MANIFEST.tsv" <<'PY'
import json, os, re, sys
tmp, manifest = sys.argv[1:]
wire, failed = {}, 0
for row in open(f"{tmp}/wire"):
    path, device, *numbers = row.rstrip("\n").split("\t")
    wire.setdefault(os.path.basename(path), {})[int(device)] = list(map(int, numbers))
references = 0
for row in open(manifest):
    field = row.rstrip("\n").split("\t")
    if field[1] != "xplane":
        continue
    name = os.path.basename(field[2])
    report = json.load(open(f"{tmp}/{name}.json"))
    want = {d: tuple(n[1:]) for d, n in wire[name].items() if n[0]}
    got = {d["device"]: (d["kernels"]["count"], d["kernels"]["union_ns"], d["kernels"]["sum_ns"])
           for d in report["devices"]}
    records = sum(n[0] for n in wire[name].values())
    if got != want or records != int(field[12]) or report["inputs"][0]["damaged"]:
        failed = 1
        print(name, "report", got, "want", want, "records", records, "manifest", field[12])
    if any(d["kernels"]["without_launch"] for d in report["devices"]):
        failed = 1
        print(name, "kernels without a launch")
    if "TPU" not in field[7]:  # every record is an operation of the timeline
        ops = int(re.search(r"(\d+) device operations", open(f"{tmp}/{name}.info").read()).group(1))
        failed |= ops != records
    references += 1
print(references, "files")
sys.exit(failed or references != 5)
PY
