#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# A job that is ended (agent_ended.c says how). What somebody had waited for, by whatever means, is never said to have
# been in flight: its records are there or are missing. What nobody waited for is in flight. Where _exit is called
# nothing is missing.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
printf '[kernel]\nquick = 10us\nminute = 60s\n' >"$dir/scenario"
# one HOW WORK EXIT COUNTED MISSING IN_FLIGHT; MISSING "rest": all that is not received
one() {
	local rc=0 out=$dir/$1-$2
	"$build/warptap" run -q --sim "h100,scenario=$dir/scenario" -o "$out" -- "$build/tests/cli/agent_ended" "$1" "$2" 2>"$out.err" ||
		rc=$?
	[ $rc = "$3" ] || { echo "FAIL: $1 $2: exit $rc"; exit 1; }
	"$build/warptap" report -q --json "$out" >"$out.json" || true
	python3 - "$out.json" "$@" <<'P'
import json, sys
c = json.load(open(sys.argv[1]))["completeness"]
how, work, _, counted, missing, in_flight = sys.argv[2:]
got = c["counted"]["launch"], c["received"]["launch"], c["missing"], c["in_flight"]
print(how, work, "%d launches, %d records, %d missing, %d in flight" % got)
assert got[0] == int(counted) and got[3] == int(in_flight), c
assert got[2] == (got[0] - got[1] - got[3] if missing == "rest" else int(missing)), c
P
}
for work in event query stream; do
	one kill $work 137 50 rest 0
	one handled $work 130 100 0 0
done
one kill nothing 137 51 0 51
# A black box of another version: the report says why it does without.
box=$(ls "$dir"/kill-nothing/*.ring)
python3 -c 'import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(4)
    f.write(bytes([99]))' "$box"
"$build/warptap" report --json "$dir/kill-nothing" 2>&1 >/dev/null | grep -q "$box: a black box of version 99,.* not used" ||
	{ echo "FAIL: nothing says that the black box is not used"; exit 1; }
