#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# XLA's autotuning launches hundreds of candidates and kernels of its own before the first step: all of them are in the
# trace, none of them is in a step, and the account of start-up has them.
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
ops = [r for r in rows if r[0] == "op" and r[1] == "kernel"]
kernels = [(int(r[8]), r[17]) for r in ops]
tuners = [r for r in ops if "Redzone" in r[17] or "DelayKernel" in r[17] or "xla_fp_comparison" in r[17]]
own = [int(r[8]) for r in tuners]
whole = [s for s in report["steps"] if not s["partial"]]
steps = sum(1 for _ in open(sys.argv[3]))
a_step = sum(1 for t, _ in kernels if t >= begin) // (steps - 1)
print(len(own), "kernels of the autotuner,", sum(t < begin for t, _ in kernels), "kernels before the second step,",
      a_step, "a step;", len(whole), "whole steps")
assert len(own) > 100 and max(own) < begin
assert len(whole) == steps - 2 and all(s["source"] == source for s in whole), report["steps"]
assert all(s["operations"] == a_step for s in whole), [s["operations"] for s in whole]
# What is not in the graph of the step was launched before the first one. XLA tunes on threads of its own.
start, = report["start_up"]
before = [r for r in ops if r[6] == "0"]
threads = {r[15] for r in tuners}
tuned = [r for r in before if r[15] in threads]
print(start)
assert start["recorded_from"] == "start" and start["source"] == source
assert (start["kernels"], start["kernel_ns"]) == (len(before), sum(int(r[10]) - int(r[9]) for r in before))
assert start["launches"] == start["operations"] == sum(r[0] == "op" and r[6] == "0" and int(r[8]) < begin for r in rows)
assert sum(start["leaves_ns"].values()) == start["window_ns"] == start["end_ns"] - start["begin_ns"]
assert start["end_ns"] >= max(int(r[10]) for r in before)
tuning = start["autotuning"]
assert tuning["by"] == ["xla"] and tuning["kernels_in_steps"] == 0
assert (tuning["kernels"], tuning["kernel_ns"]) == (len(tuned), sum(int(r[10]) - int(r[9]) for r in tuned)), len(tuned)
assert tuning["first_ns"] == min(int(r[9]) for r in tuned) and tuning["last_ns"] == max(int(r[10]) for r in tuned)
P
}
one graph graph
WARPTAP_XLA=1 one program program
