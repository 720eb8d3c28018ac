#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two tensor-parallel workers, forked, with vLLM's own all-reduce kernel and with NCCL alone, which it finds by ctypes:
# either is communication, both ranks show the same iterations.
. tests/vllm/vllm_env.sh
layers=4
for how in custom nccl; do
	both $how a100,preload,devices=2 --eager --tp 2 $([ $how = custom ] || echo --nccl-only)
	complete $how
	iterations $how 95 --devices 2
	python3 - "$tmp/$how.json" $how $layers <<'P'
import json, sys
r, how, layers = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
kernels = {}
for k in r["kernels"]:
    if k["role"] == "comm":
        kernels[k["name"]] = kernels.get(k["name"], 0) + k["count"]
own = sum(n for name, n in kernels.items() if "cross_device_reduce" in name)
nccl = sum(n for name, n in kernels.items() if "AllReduce" in name)
# An all-reduce behind the embedding, behind attention and behind the MLP of each layer, in each iteration on each rank.
least = sum(not s["iteration"]["start_up"] for s in r["steps"]) * (2 * layers + 1)
print(how, "all-reduces: %d of vLLM's own, %d of NCCL, at least %d" % (own, nccl, least))
assert (own if how == "custom" else nccl) >= least
assert own == 0 or how == "custom"
for d in r["devices"]:
    assert d["comm_total_ns"] > 0
calls = sum(c["count"] or 0 for c in r["collectives"])
assert calls == r["completeness"]["counted"]["collective"] > 0, calls
P
done
