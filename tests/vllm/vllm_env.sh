#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of this folder, from the repository root.
set -eu
build=$(realpath "${BUILD:-build}")
python=build/vllm-venv/bin/python
if ! why=$(scripts/setup vllm 2>&1); then
	echo "$why"
	echo "skip: vLLM cannot be installed here (scripts/setup vllm)"
	exit 77
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export HOME=$build/vllm-home TORCHINDUCTOR_CACHE_DIR=$build/vllm-home/inductor
mkdir -p "$HOME"
# FlashInfer's sampler would be compiled by nvcc, for minutes.
export VLLM_USE_FLASHINFER_SAMPLER=0 VLLM_NO_USAGE_STATS=1 HF_HUB_OFFLINE=1 OMP_NUM_THREADS=2 PYTHONDONTWRITEBYTECODE=1
export WARPTAP_BUDGET=${WARPTAP_BUDGET:-0}

fail() {
	echo "FAIL: $*"
	exit 1
}

# bare DEVICE,preload[,devices=N] CMD...: on the simulated device, without the agent. Becomes the command.
bare() {
	local devices=1 preload= f
	case $1 in *,devices=*) devices=${1##*,devices=} ;; esac
	for f in "$build"/simgpu/lib/lib*.so.*; do preload=$f:$preload; done
	exec env LD_LIBRARY_PATH="$build/simgpu/lib" LD_PRELOAD="${preload%:}" SIMGPU_DEVICE="${1%%,*}" \
		SIMGPU_DEVICES="$devices" "${@:2}"
}

# same NAME: the answers without and under the agent are the same, and each token is the one that simgpu chooses
same() {
	cmp "$tmp/$1.plain.json" "$tmp/$1.answers" || {
		cut -c 1-1000 "$tmp/$1.plain.json" "$tmp/$1.answers"
		fail "$1: other answers under the agent"
	}
	python3 - "$tmp/$1.answers" <<'P' || fail "$1: tokens that nobody chose"
import json, sys
answers = json.load(open(sys.argv[1]))
other = {n: a for n, a in answers.items() if any(a["tokens"] if isinstance(a, dict) else a[1])}
assert answers and not other, other
P
}

# both NAME SIM ARGS: serve_vllm.py with and without the agent; traces and truth in $tmp/NAME, output in $tmp/NAME.out
both() {
	local name=$1 sim=$2 rc=0 plain_rc=0
	shift 2
	set -- "$python" examples/llm/serve_vllm.py --log-iterations "$@"
	(bare "$sim" "$@" --save "$tmp/$name.plain.json") >"$tmp/$name.plain" 2>&1 || plain_rc=$?
	SIMGPU_LOG=$tmp/$name.stubs "$build/warptap" run --sim "$sim" -o "$tmp/$name" -- \
		"$@" --save "$tmp/$name.answers" >"$tmp/$name.out" 2>&1 || rc=$?
	[ $rc = 0 ] && [ $plain_rc = 0 ] || {
		tail -n 30 "$tmp/$name.plain" "$tmp/$name.out"
		fail "$name: exit $plain_rc without the agent, $rc under it"
	}
	same "$name"
}

# complete NAME [--cut]: nothing is missing, nothing is wrong, and no process is without a trace. An engine that is slow
# to end is killed by vLLM after five seconds (with and without the agent): its trace has everything, but no end.
complete() {
	local f pid n=0 rc=0
	grep -q 'force killing' "$tmp/$1.out" && set -- "$1" --cut
	python3 tests/e2e/truth_check.py "$build/warptap" "$tmp/$1" ${2:-} || fail "$1: the report differs from the truth"
	"$build/tests/e2e/join_check" "$tmp/$1" || fail "$1: host and device records are joined wrong"
	for f in "$tmp/$1"/truth.*.tsv; do
		grep -q '^op	' "$f" || continue
		pid=${f%.tsv} pid=${pid##*.} n=$((n + 1))
		ls "$tmp/$1"/*."$pid".wt >/dev/null || fail "$1: process $pid used the GPU and has no trace"
	done
	[ "$(find "$tmp/$1" -name '*.wt' | wc -l)" = $n ] || fail "$1: a trace of a process that used no GPU"
	"$build/warptap" report --json "$tmp/$1" >"$tmp/$1.json" || rc=$?
	[ $rc = 0 ] || { [ $rc = 3 ] && [ "${2:-}" = --cut ]; } || fail "$1: report exits $rc"
}

# iterations NAME PER_CENT [ARGS]: see iterations.py
iterations() {
	local name=$1 share=$2
	shift 2
	python3 tests/vllm/iterations.py "$tmp/$name.json" "$tmp/$name.out" "$share" "$@" ||
		fail "$name: the iterations are not those that the engine logged"
}
