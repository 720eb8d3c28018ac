# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of this folder, from the repository root.
set -eu
build=${BUILD:-build}
python=${JAX_PYTHON:-build/jax-venv/bin/python}
jobs=tests/jax
if [ -z "${JAX_PYTHON:-}" ] && ! why=$(scripts/setup jax 2>&1); then
	echo "$why"
	echo "skip: JAX cannot be installed here (scripts/setup jax)"
	exit 77
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export WARPTAP_BUDGET=${WARPTAP_BUDGET:-0} PYTHONDONTWRITEBYTECODE=1
export JAX_PLATFORMS=cuda XLA_FLAGS=--xla_gpu_autotune_level=0
export JAX_COMPILATION_CACHE_DIR=$tmp/compiled JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0
simlib=$PWD/$build/simgpu/lib
toolkit=$PWD/$build/simgpu/toolkit

# JAX looks for a file below /dev. `warptap run` arranges one where it may mount; for runs without it, and where it may
# not, the question is answered in the interpreter.
mkdir "$tmp/site"
cat >"$tmp/site/sitecustomize.py" <<'P'
import os
_exists = os.path.exists
os.path.exists = lambda path: path == "/dev/nvidiactl" or _exists(path)
P
unshare -m true 2>/dev/null || export PYTHONPATH=$tmp/site

fail() {
	echo "FAIL: $*"
	exit 1
}

# plain NAME DEVICE[,devices=N] JOB ARGS: on the simulated device, without the agent; output in $tmp/NAME.plain
plain() {
	local name=$1 device=${2%,*} count=${2#*,devices=} job=$3
	[ "$count" != "$2" ] || count=1
	shift 3
	mkdir -p "$tmp/$name.truth"
	env PYTHONPATH="$tmp/site" LD_LIBRARY_PATH="$simlib" SIMGPU_DEVICE="$device" SIMGPU_DEVICES="$count" \
		SIMGPU_TRUTH="$tmp/$name.truth" "$python" "$jobs/$job" "$@" >"$tmp/$name.plain" 2>"$tmp/$name.plain.err" ||
		{ cat "$tmp/$name.plain" "$tmp/$name.plain.err"; fail "$name: the job fails without the agent"; }
}

# record NAME DEVICE JOB ARGS: under the agent; traces and truth in $tmp/NAME, output in $tmp/NAME.out
record() {
	local name=$1 device=$2 job=$3
	shift 3
	SIMGPU_LOG=$tmp/$name.stubs PYTHONFAULTHANDLER=1 "$build/warptap" run --sim "$device" -o "$tmp/$name" -- \
		"$python" "$jobs/$job" "$@" >"$tmp/$name.out" 2>"$tmp/$name.err" ||
		{ cat "$tmp/$name.out" "$tmp/$name.err"; fail "$name: the job fails under the agent"; }
	report "$name"
}

report() {
	"$build/warptap" report --json "$tmp/$1" >"$tmp/$1.json" || fail "$1: report exits $?"
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

# Every process that ran something has a trace: as many traces as truths with operations.
traced() {
	local used
	used=$(awk -F'\t' '$1 == "op" { print FILENAME; nextfile }' "$tmp/$1"/truth.*.tsv | wc -l)
	[ "$used" = "$2" ] && [ "$(find "$tmp/$1" -name '*.wt' | wc -l)" -ge "$used" ] ||
		fail "$1: $used processes used the device, $(find "$tmp/$1" -name '*.wt' | wc -l) traces"
}
