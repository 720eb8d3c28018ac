#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# Kernels written by hand in Pallas, by Triton and by Mosaic GPU (whose runtime exports 617 names of the driver to the
# whole process): each launch is counted, timed and joined.
. tests/jax/jax_env.sh
# Both want a toolkit's own ptxas, where there is one; command buffers off: a launch each.
export XLA_FLAGS="$XLA_FLAGS --xla_gpu_enable_command_buffer="
one() {
	record "$1" h100 test_jax_pallas.py "$1" 20
	complete "$1"
	traced "$1" 1
	[ "$(cat "$tmp/$1.out")" = "done (1024,)" ] || fail "$1: output"
	local n
	n=$(awk -F'\t' -v name="$2" '$1 == "op" && $2 == "kernel" && $18 ~ name' "$tmp/$1"/truth.*.tsv | wc -l)
	[ "$n" = 20 ] || fail "$1: $n launches of $2, 20 made"
}
one triton by_triton
one mosaic mosaic
