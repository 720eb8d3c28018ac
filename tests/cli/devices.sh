#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# warptap devices: every part listed, unverified numbers said to be, names decided by memory, unknown ones refused.
set -u
bin=$(realpath "${BUILD:-build}/warptap")
parts=analyzer/bounds/parts.tsv cells=analyzer/bounds/part_cells.tsv
bad=0
fail() { echo "FAIL: $*"; bad=1; }

[ "$("$bin" devices | wc -l)" = "$(($(wc -l <$parts) - 1))" ] || fail "not a line for each part"
"$bin" devices --json | python3 -c '
import csv, json, sys
d = json.load(sys.stdin)
assert d["schema"] == "warptap.devices/1"
printed = {(p["device"], f): c for p in d["devices"] for f, c in p["cells"].items()}
for c in csv.DictReader(open(sys.argv[1]), delimiter="\t"):
    got = printed[c["device"], c["field"]]
    assert abs(got["value"] - float(c["value"])) <= 1e-9 * abs(float(c["value"])), (c, got)
    assert (got["status"], got["source"]) == (c["status"], c["source"]), (c, got)
    assert got["unverified"] == (c["status"] == "recalled"), (c, got)
    assert c["source"] in d["sources"], c' $cells || fail "the JSON is not the table"
"$bin" devices "NVIDIA A10" | grep -q '^  bf16_tf .*\[unverified\]' || fail "a recalled cell is printed without the word"
"$bin" devices "NVIDIA A10" | grep '^  mem_gbs ' | grep -q unverified && fail "a cell that was read is called unverified"
[ "$("$bin" devices "NVIDIA H100" | grep -c '^H100')" = 2 ] || fail "NVIDIA H100 is two parts"
[ "$("$bin" devices "NVIDIA H100" --memory 84942979072 | grep '^H100')" = "H100-SXM5-80GB (NVIDIA GH100)" ] ||
	fail "80 GB decide"
"$bin" devices "Imagination Nothing" >/dev/null 2>&1
[ $? = 1 ] || fail "an unknown name must exit 1"
"$bin" devices --memory many >/dev/null 2>&1
[ $? = 2 ] || fail "a wrong option must exit 2"
exit $bad
