#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# CUPTI that gives records without times: they are counted, collection is begun anew, once and not again and again, and
# what comes after has times. The hole is stated, and never idle.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
record() { # NAME ZERO
	printf '[model]\nkernel = 20us\n[cupti]\nzero_timestamps = %s\n' "$2" >"$dir/$1.scenario"
	WARPTAP_FLUSH_MS=100 WARPTAP_EXIT_MS=20000 "$build/warptap" run -q --sim "h100,scenario=$dir/$1.scenario" -o "$dir/$1" -- \
		"$build/tests/cli/steady" seconds=4 rate=3000 >"$dir/$1.out"
	"$build/warptap" report --json "$dir/$1" >"$dir/$1.json"
	python3 - "$dir/$1.json" "$1" "$(cat "$dir/$1"/*.log)" <<'P'
import json, sys
r, name, log = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
c, (d,) = r["completeness"], r["devices"]
assert log.count("begins anew") == 1 and log.count(" back") == 1, log
assert sum("begun anew" in n for n in r["notes"]) == 1, r["notes"]
assert c["untimed"] >= 256 and c["missing"] == 0, (c["untimed"], c["missing"])
assert sum(h["paused"] for h in c["holes"]) == 1
assert sum(d["leaves_ns"].values()) == d["window_ns"] and d["leaves_ns"]["E1"] > 0, d["leaves_ns"]
assert name == "ever" or c["untimed"] < c["received"]["launch"] / 2, (c["untimed"], c["received"])
print(name, c["counted"], c["received"], c["untimed"])
P
}
record once 500-2500 &
record ever 500+ &
wait -n; wait -n
echo ok
