#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# A transformer trained with JAX, on a simulated A100 and H100, with command buffers (a step is one graph launch) and
# without: every operation is in the trace with its name, shape, stream and times, every step is the same, and the job's
# output is what it is without the agent.
. tests/jax/jax_env.sh
steps=5
# one NAME DEVICE DTYPE FLAGS "HOW SOURCE": as jax_steps.py takes them
one() {
	local name=$1 device=$2 dtype=$3
	XLA_FLAGS="$XLA_FLAGS $4" record "$name" "$device" test_jax_gpt.py "$dtype" $steps "$tmp/$name.steps"
	complete "$name"
	traced "$name" 1
	python3 tests/jax/jax_steps.py "$tmp/$name"/truth.*.tsv "$tmp/$name.steps" "$tmp/$name.json" $5 ||
		fail "$name: steps"
	printf 'devices 1 gpu\nround trip True\ndone\n' | diff - "$tmp/$name.out" || fail "$name: output"
}
plain a100 a100 test_jax_gpt.py fp32 $steps "$tmp/plain.steps"
printf 'devices 1 gpu\nround trip True\ndone\n' | diff - "$tmp/a100.plain" || fail "output without the agent"
# The programs of a toolkit where there is one, and simgpu's.
one a100 a100 fp32 "" "graph graph"
one h100off h100 bf16 "--xla_gpu_cuda_data_dir=$toolkit --xla_gpu_enable_command_buffer=" "launch period"
# With XLA's own annotations a step is a run of the program.
export WARPTAP_XLA=1
one h100 h100 bf16 "--xla_gpu_cuda_data_dir=$toolkit" "graph program"
one a100off a100 fp32 "--xla_gpu_enable_command_buffer=" "launch program"
# Products by cuBLASLt: captured into child graphs, whose parameters each step changes.
one a100lt a100 fp32 "--xla_gpu_cuda_data_dir=$toolkit --xla_gpu_enable_triton_gemm=false" "graph program"
