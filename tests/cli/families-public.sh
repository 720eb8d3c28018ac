#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# All public Kineto files together: less than 1 % of the kernel time is of no known family, no kernel is faster than its
# device can be, and the report says the share that is unknown.
set -u
bin=$(realpath "${BUILD:-build}/warptap")
traces=../shared/traces/kineto
if [ ! -d $traces ]; then
	echo "skip-ok: $traces is not here"
	exit 77
fi
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
for f in "$traces"/*; do
	"$bin" report --json -q "$f" >"$tmp/$(basename "$f").json" 2>"$tmp/err"
	rc=$?
	[ $rc = 0 ] || [ $rc = 3 ] || { echo "FAIL: $f: exit $rc: $(cat "$tmp/err")"; exit 1; }
done
python3 - "$tmp" <<'P'
import glob, json, sys
all_ns = unknown_ns = files = 0
for path in glob.glob(sys.argv[1] + "/*.json"):
    r = json.load(open(path))
    b = r["bounds"]
    files += 1
    all_ns += b["kernels_ns"]
    unknown_ns += b["no_family_ns"]
    assert b["no_family_ns"] == sum(k["sum_ns"] for k in r["kernels"] if k["family"] is None), path
    assert b["impossible"] == 0, (path, b)
print("%d files, %d ns of kernels, %.3f %% of no known family" % (files, all_ns, 100 * unknown_ns / all_ns))
assert files >= 40 and all_ns > 4e9
assert unknown_ns < 0.01 * all_ns
P
