#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# FLOPs of convolutions and of attention by cuDNN equal those the job itself says it asked for, by number format,
# forward and backward, with and without a causal mask, and no such kernel is left to a guess.
. tests/torch/torch_env.sh
record dnn h100 test_dnn.py
complete dnn
python3 - "$tmp/dnn.json" "$tmp/dnn.out" <<'P' || fail "FLOPs differ from the job's own list"
import json, sys
r = json.load(open(sys.argv[1]))
asked = {}
for line in open(sys.argv[2]):
    if line.startswith("dnn "):
        _, dtype, flops = line.split()
        asked[dtype] = asked.get(dtype, 0) + int(flops)
assert len(asked) == 3, asked
got = {p["dtype"]: p["flops"] for p in r["precision"] if p["flops"]}
assert got == asked, (got, asked)
b = r["bounds"]
assert b["product_flops"] == sum(asked.values()) and b["impossible"] == 0, b
assert b["products_known_ns"] == b["products_ns"] > 0, b
for k in r["kernels"]:
    if k["role"] in ("conv", "attention"):
        assert k["evidence"] == "modelled" and k["flops"] > 0 and k["bytes"] > 0, k
P
WARPTAP_GEMM=0 record off h100 test_dnn.py
complete off
python3 - "$tmp/dnn.json" "$tmp/off.json" <<'P' || fail "WARPTAP_GEMM=0"
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
assert b["bounds"]["product_flops"] == 0 and a["bounds"]["product_flops"] > 0
assert a["completeness"]["counted"] == b["completeness"]["counted"]
P
