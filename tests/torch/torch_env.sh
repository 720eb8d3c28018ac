# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of this folder, from the repository root.
set -eu
build=${BUILD:-build}
python=build/torch-venv/bin/python
jobs=tests/torch
if ! why=$(scripts/setup torch 2>&1); then
	echo "$why"
	echo "skip: PyTorch cannot be installed here (scripts/setup torch)"
	exit 77
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# The library counts its threads by the machine; two are enough, and the same everywhere.
export WARPTAP_BUDGET=${WARPTAP_BUDGET:-0}
export OMP_NUM_THREADS=2 PYTHONDONTWRITEBYTECODE=1
simlib=$PWD/$build/simgpu/lib

fail() {
	echo "FAIL: $*"
	exit 1
}

# plain NAME DEVICE JOB ARGS: on the simulated device, without the agent; output in $tmp/NAME.plain
plain() {
	local name=$1 device=$2 job=$3
	shift 3
	mkdir -p "$tmp/$name.truth"
	LD_LIBRARY_PATH=$simlib SIMGPU_DEVICE=$device SIMGPU_TRUTH=$tmp/$name.truth SIMGPU_LOG=$tmp/$name.stubs \
		"$python" "$jobs/$job" "$@" >"$tmp/$name.plain" 2>"$tmp/$name.plain.err" ||
		{ cat "$tmp/$name.plain" "$tmp/$name.plain.err"; fail "$name: the job fails without the agent"; }
}

# CPython before 3.14 ends a thread that asks for its lock while the interpreter goes, and PyTorch's own threads then
# abort the process (pytorch issues 38228, 38230): with or without us, rarely, on a busy machine. What such a job did
# before is no less right, but its trace has no end; so it is run once more, and the test says so.
aborted_by_python() {
	grep -q '^terminate called without an active exception' "$1"
}

# record NAME DEVICE JOB ARGS: under the agent; traces and truth in $tmp/NAME, output in $tmp/NAME.out
record() {
	local name=$1 device=$2 job=$3 try
	shift 3
	for try in 1 2; do
		rm -rf "${tmp:?}/$name"
		SIMGPU_LOG=$tmp/$name.stubs PYTHONFAULTHANDLER=1 "$build/warptap" run --sim "$device" -o "$tmp/$name" -- \
			"$python" "$jobs/$job" "$@" >"$tmp/$name.out" 2>"$tmp/$name.err" && break
		cat "$tmp/$name.out" "$tmp/$name.err"
		[ $try = 1 ] && aborted_by_python "$tmp/$name.err" || fail "$name: the job fails under the agent"
		echo "$name: once more: the interpreter aborted a thread of PyTorch's while it ended"
	done
	"$build/warptap" report --json "$tmp/$name" >"$tmp/$name.json" || fail "$name: report exits $?"
	python3 tests/cli/report_audit.py "$tmp/$name.json" || fail "$name: the report's numbers disagree"
}

# complete NAME: nothing is missing, nothing is wrong.
complete() {
	python3 tests/e2e/truth_check.py "$build/warptap" "$tmp/$1" || fail "$1: the report differs from the truth"
	"$build/tests/e2e/join_check" "$tmp/$1" || fail "$1: host and device records are joined wrong"
}

# counted NAME KEY: completeness.counted.KEY of the report.
counted() {
	python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["completeness"]["counted"][sys.argv[2]])' "$tmp/$1.json" "$2"
}

# traces NAME: how many processes left one.
traces() {
	find "$tmp/$1" -name '*.wt' | wc -l
}
