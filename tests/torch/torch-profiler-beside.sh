#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: beside
# torch.profiler in a recorded process: its own result is what it is without the agent, whose counts stay exact.
# Not selected by any target until the agent steps aside for another client of CUPTI's buffers.
. tests/torch/torch_env.sh
plain profiler h100 test_profiler.py "$tmp/plain.json" "$tmp/session.plain"
record profiler h100 test_profiler.py "$tmp/beside.json" "$tmp/session.beside"
diff "$tmp/profiler.plain" <(grep -vE '^(USDT|warptap)' "$tmp/profiler.out") ||
	fail "the profiler's result changes with the agent"
made=$(awk -F'\t' '$1 == "op" && $2 == "kernel"' "$tmp"/profiler/truth.*.tsv | wc -l)
[ "$(counted profiler launch)" = "$made" ] || fail "$(counted profiler launch) launches counted, $made made"
