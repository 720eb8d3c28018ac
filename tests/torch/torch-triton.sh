#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# Triton opens libcuda itself and asks dlsym for the launch: a plain preload would see nothing. Every launch is seen,
# timed and joined, hand-written, made by torch.compile, or by flex attention.
. tests/torch/torch_env.sh
if ! why=$(scripts/setup triton 2>&1); then
	echo "$why"
	echo "skip: Triton cannot be installed here (scripts/setup triton)"
	exit 77
fi
export PYTHONPATH=$PWD/build/torch-triton TORCHINDUCTOR_CACHE_DIR=$tmp/inductor TRITON_CACHE_DIR=$tmp/triton
record triton h100 test_triton.py 37
complete triton
grep -qx done "$tmp/triton.out" || fail "the job's output is not its own"
count() { awk -F'\t' -v n="$1" '$1 == "op" && $2 == "kernel" && $18 ~ n' "$tmp"/triton/truth.*.tsv | wc -l; }
[ "$(count '^wt_scale_kernel')" = 37 ] || fail "$(count '^wt_scale_kernel') launches of the kernel, 37 made"
[ "$(count '^triton_')" -ge 6 ] || fail "torch.compile launched $(count '^triton_') Triton kernels"
[ "$(count 'flex_attention')" -ge 3 ] || fail "flex attention launched $(count 'flex_attention') kernels"
