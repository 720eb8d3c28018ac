#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# What CUPTI says it kept the job's launching thread for (OVERHEAD records) is E3 of the ledger, and nothing else is.
set -eu
B=$(cd "${BUILD:-build}" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset SIMGPU_DEVICE SIMGPU_DEVICES SIMGPU_SCENARIO SIMGPU_TRUTH SIMGPU_LOG
fail() { echo "agent-overhead.sh: $*" >&2; exit 1; }

record() { # NAME SCENARIO
	printf '%s\n' "$2" >"$tmp/$1.ini"
	WARPTAP_BUDGET=0 "$B/warptap" run -q -o "$tmp/$1" --sim "h100,scenario=$tmp/$1.ini" -- \
		"$B/tests/cli/steady" seconds=1.5 rate=1000 >"$tmp/$1.out" || fail "$1: the job"
	"$B/warptap" report --json "$tmp/$1" >"$tmp/$1.json" || fail "$1: report: exit $?"
}
record held $'[cupti]\nhold = 150:20ms'
record free $'[kernel]\nsteady_.* = 10us'
python3 - "$tmp" <<'P'
import glob, json, re, sys
def e3(name):
    device, = json.load(open(f"{sys.argv[1]}/{name}.json"))["devices"]
    assert sum(device["leaves_ns"].values()) == device["window_ns"]
    return device["leaves_ns"]["E3"]
held = 0
for path in glob.glob(sys.argv[1] + "/held/truth.*.tsv"):
    for m in re.finditer(r"held_thread.*start_ns=(\d+) end_ns=(\d+)", open(path).read()):
        held += int(m[2]) - int(m[1])
assert held >= 5 * 20000000, held
assert 0.95 * held <= e3("held") <= held, (e3("held"), held)
assert e3("free") == 0, e3("free")
P
# It is a cost of recording: over the budget, the level goes down, and CUPTI keeps nobody any more.
for name in held free; do
	WARPTAP_BUDGET_SPAN_MS=1000 "$B/warptap" run -q --budget 4 -o "$tmp/$name.budget" --sim "h100,scenario=$tmp/$name.ini" -- \
		"$B/tests/cli/steady" seconds=5 rate=1000 >"$tmp/$name.out" || fail "$name: the job"
	"$B/warptap" info --packets "$tmp/$name.budget"/*.wt | sed -n 's/.* state .*level=\([0-9]\).*reason=STATE_REASON_BUDGET.*/\1/p' >"$tmp/$name.levels"
	echo "$name: $(tr '\n' ' ' <"$tmp/$name.levels")"
done
grep -q '[012]' "$tmp/held.levels" || fail "the governor does not know what CUPTI says it costs"
[ ! -s "$tmp/free.levels" ] || fail "the level changes without overhead: nothing was tested"
# A setting that is none is refused with its name.
printf '[cupti]\nhold = 20ms\n' >"$tmp/bad.ini"
"$B/warptap" run -q -o "$tmp/bad" --sim "h100,scenario=$tmp/bad.ini" -- "$B/tests/cli/steady" seconds=0.1 >"$tmp/bad.out" 2>&1 &&
	fail "a bad hold passes"
grep -q 'cupti.hold' "$tmp/bad.out" || fail "$(cat "$tmp/bad.out")"
