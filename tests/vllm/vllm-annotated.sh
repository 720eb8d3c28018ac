#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vLLM's own names of its iterations: NVTX ranges in our trace, and record_function in the trace of its torch profiler.
# All iterations are what the engine logged; grids alone say so of nearly all. Beside the profiler the agent steps aside
# (the profiler needs CUPTI), and says so: what it saw of the rest is complete, the answers are the same.
. tests/vllm/vllm_env.sh
both nvtx a100,preload --eager --annotate
complete nvtx
iterations nvtx 100 --source named
iterations nvtx 95 --source named --by-geometry
both profiled a100,preload --eager --profile "$tmp/kineto"
newest=$(find "$tmp/kineto" -name 'rank0.*.json.gz' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2)
"$build/warptap" report --json "$newest" >"$tmp/kineto.json" || fail "report of the profiler's file exits $?"
ln -s profiled.out "$tmp/kineto.out"
iterations kineto 100 --source named
iterations kineto 95 --source named --by-geometry
rc=0; "$build/warptap" report --json "$tmp/profiled" >"$tmp/profiled.json" || rc=$?
[ $rc = 0 ] || [ $rc = 3 ] || fail "profiled: report exits $rc"
python3 - "$tmp/profiled.json" "$tmp/kineto.json" "$tmp"/profiled/truth.*.tsv <<'P'
import json, sys
c = json.load(open(sys.argv[1]))["completeness"]
kineto = json.load(open(sys.argv[2]))["devices"][0]["kernels"]["count"]
assert c["share"] == 1.0 and c["missing"] == 0, c
assert any(h["paused"] for h in c["holes"]), c["holes"]
launched = 0
for path in sys.argv[3:]:
    lines = [l.rstrip("\n").split("\t") for l in open(path)]
    launched += sum(l[:2] == ["op", "kernel"] for l in lines)
assert c["counted"]["launch"] + c["outside_windows"]["launch"] == launched, (c, launched)
assert kineto <= c["outside_windows"]["launch"], (kineto, c)
print("%d launches, %d of them while the profiler had CUPTI, which has %d kernels" %
      (launched, c["outside_windows"]["launch"], kineto))
P
