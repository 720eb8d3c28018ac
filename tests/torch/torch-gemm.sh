#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# FLOPs of recorded matrix products equal those the job itself says it asked for, by number format; each product is
# there once though cuBLAS calls cuBLASLt inside; a planted fp32 product in a bf16 job is listed.
. tests/torch/torch_env.sh
record gemm h100 test_gemm.py
complete gemm
python3 - "$tmp/gemm.json" "$tmp/gemm.out" <<'P' || fail "FLOPs differ from the job's own list"
import json, sys
r = json.load(open(sys.argv[1]))
asked = {}
for line in open(sys.argv[2]):
    if line.startswith("gemm "):
        _, dtype, flops = line.split()
        asked[dtype] = asked.get(dtype, 0) + int(flops)
assert len(asked) == 6, asked
got = {p["dtype"]: p["flops"] for p in r["precision"] if p["flops"]}
assert got == asked, (got, asked)
assert r["bounds"]["product_flops"] == sum(asked.values())
off = [k for k in r["off_matrix"] if k["dtype"] == "fp32" and k["flops"] == 2 * 512 * 2048 * 1024]
assert len(off) == 1 and off[0]["evidence"] == "modelled", r["off_matrix"]
assert not any(k["dtype"] == "bf16" for k in r["off_matrix"]), r["off_matrix"]
assert r["bounds"]["impossible"] == 0, r["bounds"]
P
# Switched off, the job and its launches are the same, and no FLOPs are claimed.
WARPTAP_GEMM=0 record off h100 test_gemm.py
complete off
python3 - "$tmp/gemm.json" "$tmp/off.json" <<'P' || fail "WARPTAP_GEMM=0"
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
assert b["bounds"]["product_flops"] == 0 and a["bounds"]["product_flops"] > 0
assert a["completeness"]["counted"] == b["completeness"]["counted"]
P
# The GPT example: its recorded products are 6 N FLOP a token, N its parameters in products, and its attention, by cuDNN
# here, two causal products forward and five backward; MFU is what its own formula makes of the steps found.
record gpt h100 ../../examples/llm/train.py --steps 12 --precision bf16 --batch 2
"$build/warptap" report --json "$tmp/gpt" \
	--model layers=4,hidden=256,heads=4,ffn=1024,vocab=8192,seq=256,tokens_per_step=512,dtype=bf16 >"$tmp/gpt.json"
python3 - "$tmp/gpt.json" <<'P' || fail "FLOPs of the GPT"
import json, sys
r = json.load(open(sys.argv[1]))
n = 4 * 12 * 256 * 256 + 256 * 8192
attention = 7 / 2 * 4 * 2 * 4 * 256 * 256 * 64 / 2 * 4  # batch 2, 4 heads of 64, 256 tokens, 4 layers
assert r["bounds"]["product_flops"] == (6 * n * 512 + attention) * 12, (r["bounds"]["product_flops"], n, attention)
m = r["model"]
assert m["params"] == n and m["flop_per_token"] == 3 * (2 * n + 2 * 4 * 256 * 256), m
mfu = m["flop_per_token"] * 512 / (m["step_ns"] * 1e-9) / 989.4e12
assert m["steps"] >= 8 and abs(m["mfu"] / mfu - 1) < 1e-6, (m, mfu)  # step_ns is a whole number
P
