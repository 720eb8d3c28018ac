#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Twenty training steps of a GPT, fp32 and bf16: every operation is in the trace, and every step is the same.
. tests/torch/torch_env.sh
one() {
	record "$1$2" "$1" test_gpt.py "$2" 20 "$tmp/$1$2.steps"
	complete "$1$2"
	python3 tests/torch/step_count.py "$tmp/$1$2"/truth.*.tsv "$tmp/$1$2.steps"
	[ "$(traces "$1$2")" = 1 ] || fail "$1 $2: $(traces "$1$2") traces"
}
one h100 fp32
one h100 bf16
one a100 bf16
# Attention of bf16 goes to cuDNN on compute capability 9, to PyTorch's own flash kernels on 8.
grep -q cudnn_generated_fort_native_sdpa_sm90_flash_bprop "$tmp"/h100bf16/truth.*.tsv || fail "no cuDNN attention"
grep -q flash_bwd "$tmp"/a100bf16/truth.*.tsv || fail "no flash attention"
grep -q nvjet_ "$tmp"/h100bf16/truth.*.tsv || fail "no nvjet kernel"
