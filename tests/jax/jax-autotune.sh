#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# XLA's autotuning launches hundreds of candidates and kernels of its own before the first step: all of them are in the
# trace, none of them is in a step.
. tests/jax/jax_env.sh
export XLA_FLAGS=
# one NAME SOURCE
one() {
	rm -rf "$JAX_COMPILATION_CACHE_DIR"
	record "$1" a100 test_jax_profiler.py never - "$tmp/$1.steps"
	complete "$1"
	python3 - "$tmp/$1.json" "$tmp/$1"/truth.*.tsv "$tmp/$1.steps" "$2" <<'P' || fail "$1: autotuning is in a step"
import json, sys
report, source = json.load(open(sys.argv[1])), sys.argv[4]
begin = int(open(sys.argv[3]).readlines()[1].split()[0])
rows = [line.rstrip("\n").split("\t") for line in open(sys.argv[2])]
kernels = [(int(r[8]), r[17]) for r in rows if r[0] == "op" and r[1] == "kernel"]
own = [t for t, name in kernels if "Redzone" in name or "DelayKernel" in name or "xla_fp_comparison" in name]
whole = [s for s in report["steps"] if not s["partial"]]
steps = sum(1 for _ in open(sys.argv[3]))
a_step = sum(1 for t, _ in kernels if t >= begin) // (steps - 1)
print(len(own), "kernels of the autotuner,", sum(t < begin for t, _ in kernels), "kernels before the second step,",
      a_step, "a step;", len(whole), "whole steps")
assert len(own) > 100 and max(own) < begin
assert len(whole) == steps - 2 and all(s["source"] == source for s in whole), report["steps"]
assert all(s["operations"] == a_step for s in whole), [s["operations"] for s in whole]
P
}
one graph graph
WARPTAP_XLA=1 one program program
