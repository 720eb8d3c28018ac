#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Host delays injected into a PyTorch loop come out as leaves of their own, at least 95 % of what the truth says:
# a slow input pipeline that is annotated, a late launcher, a wait per step, a storm of allocations, loading of modules.
. tests/torch/torch_env.sh
printf '[truth]\ncalls = 1\n' >"$tmp/calls.scenario"
for how in ${HOWS:-input late sync alloc module}; do
	record "$how" "h100,scenario=$tmp/calls.scenario" test_delays.py "$how" 10 "$tmp/$how.stamps"
	python3 tests/torch/delay_check.py "$how" "$tmp/$how" "$tmp/$how.stamps" "$tmp/$how.json" || fail "$how"
done
