#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Kineto files with shapes: products, attention and norms get FLOPs from the operator around their launch, one of an
# operator's kernels has them, and whatever the file says instead of shapes is no error.
set -u
bin=$(realpath "${BUILD:-build}/warptap")
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
python3 - <<'P'
import json
events, t = [], [0]

def op(name, dims, types, kernels, concrete=None, **more):
    t[0] += 1000
    x = len(events) + 1
    args = {"External id": x, "Input Dims": dims, "Input type": types}
    if concrete is not None:
        args["Concrete Inputs"] = concrete
    args.update(more)
    events.append(dict(ph="X", cat="cpu_op", name=name, pid=1, tid=1, ts=t[0], dur=10, args=args))
    for i, (kernel, us) in enumerate(kernels):
        events.append(dict(ph="X", cat="kernel", name=kernel, pid=0, tid=7, ts=t[0] + 100 + 300 * i, dur=us,
                           args={"device": 0, "stream": 7, "correlation": x * 10 + i, "External id": x}))

bf = "c10::BFloat16"
op("aten::mm", [[512, 1024], [1024, 2048]], [bf, bf], [("k_mm", 20)])
op("aten::addmm", [[2048], [512, 1024], [1024, 2048], [], []], [bf] * 3 + ["Scalar"] * 2, [("k_bias", 5), ("k_addmm", 20), ("k_tail", 3)])
op("aten::bmm", [[24, 128, 64], [24, 64, 96]], ["c10::Half"] * 2, [("k_bmm", 20)])
q = [2, 256, 8, 64]
kv = [2, 256, 4, 64]
op("aten::_flash_attention_forward", [q, kv, kv] + [[]] * 6, [bf] * 3, [("k_causal", 20)], [""] * 7 + ["0.", "True"])
op("aten::_flash_attention_forward", [q, kv, kv] + [[]] * 6, [bf] * 3, [("k_full", 20)], [""] * 7 + ["0.", "False"])
op("aten::_flash_attention_forward", [q, kv, kv], [bf] * 3, [("k_unsaid", 20)])
op("aten::_flash_attention_backward", [q, q, kv, kv] + [[]] * 8, [bf] * 4, [("k_backward", 20)], [""] * 11 + ["True"])
op("aten::native_layer_norm", [[4096, 4096], [], [4096], [4096], []], [bf, "ScalarList", bf, bf, "Scalar"], [("k_layer_norm", 40)])
op("aten::mm", [[512, 1024], [1000, 2048]], [bf, bf], [("k_disagree", 20)])
op("aten::mm", "nonsense", 7, [("k_nonsense", 20)])
op("aten::mm", [[2**40, 2**40], [2**40, 2**40]], [bf, bf], [("k_absurd", 20)])
op("aten::mm", [[-4, 8], [8, 2]], [bf, bf], [("k_negative", 20)])
op("aten::unheard_of", [[512, 1024], [1024, 2048]], [bf, bf], [("k_other", 20)])
json.dump(dict(deviceProperties=[dict(id=0, name="NVIDIA H100 80GB HBM3", totalGlobalMem=85000000000, computeMajor=9,
                                      computeMinor=0, numSms=132)], traceEvents=events), open("t.json", "w"))
P
"$bin" report t.json --json >out.json || { echo "FAIL: report exits $?"; exit 1; }
python3 - <<'P'
import json
flops = {k["name"]: k["flops"] for k in json.load(open("out.json"))["kernels"]}
mm = 2 * 512 * 1024 * 2048
head = 2 * 8 * 256 * 256 * 128  # batch x heads x queries x keys x both sizes
want = {"k_mm": mm, "k_bias": None, "k_addmm": mm, "k_tail": None, "k_bmm": 2 * 24 * 128 * 64 * 96,
        "k_causal": head, "k_full": 2 * head, "k_unsaid": None, "k_backward": 2.5 * head,
        "k_layer_norm": 8 * 4096 * 4096, "k_disagree": None, "k_nonsense": None, "k_absurd": None, "k_negative": None,
        "k_other": None}
assert flops == want, {k: (flops.get(k), want[k]) for k in want if flops.get(k) != want[k]}
norm = [k for k in json.load(open("out.json"))["kernels"] if k["name"] == "k_layer_norm"][0]
assert norm["limit"] == "dram" and norm["evidence"] == "modelled" and norm["bytes"] == 4 * 4096 * 4096, norm
print("ok")
P
