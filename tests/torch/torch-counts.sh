#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# The agent counts as many calls of an eager training loop and of a replayed graph as were made: each is counted before
# it reaches the agent. Calls let past the agent it does not count; the trace has a row for each. And with that, the
# bench that compares steps with and without the agent's hooks in one process stands on its feet.
. tests/torch/torch_env.sh
[ "$(uname -m)" = x86_64 ] || { echo "skip-ok: the switch is written for x86-64"; exit 77; }
WARPTAP_BUDGET=0 $python tests/bench/torch_within.py "$build" "$tmp" 1 2 both off api >"$tmp/out" 2>&1 || { cat "$tmp/out"; fail "counts"; }
[ "$(grep -c '^level \(off\|api\): 2 rounds' "$tmp/out")" = 4 ] || { cat "$tmp/out"; fail "nothing was compared"; }
