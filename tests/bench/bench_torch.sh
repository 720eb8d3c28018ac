#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What recording costs an unmodified PyTorch training loop of 5 us kernels at each level, eager and as one CUDA graph,
# with its interval, and bytes of trace per kernel event beside torch.profiler's.
#   within    with and without the hooks in one process: torch_within.py; a minute a process and level with 40 rounds
#   between   processes with and without the agent: torch_cost.py; twenty minutes
# usage: tests/bench/bench_torch.sh [SETS ROUNDS [eager|graph|both [within|between|all]]]     BUILD=build
set -eu
export WARPTAP_BUDGET=0 # the whole job at one level
build=${BUILD:-build}
python=build/torch-venv/bin/python
if [ ! -x $python ]; then
	echo "no PyTorch here: scripts/setup torch installs it, then this runs"
	exit 0
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export PYTHONDONTWRITEBYTECODE=1
echo "load of the machine before: $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) cores"
what=${4:-all}
[ "$what" = between ] || $python tests/bench/torch_within.py "$build" "$out" "${1:-5}" "${2:-40}" "${3:-both}"
[ "$what" = within ] || $python tests/bench/torch_cost.py "$build" "$out" "${1:-6}" "${2:-60}" "${3:-both}"
