#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Public traces of vLLM and SGLang whose iterations are annotated: the axis says what the annotation says, and what
# grids and kernels say by themselves agrees with it, as far as it says anything.
set -eu
bin=${BUILD:-build}/warptap
traces=../shared/traces
[ -d "$traces" ] || { echo "skip-ok: no $traces here"; exit 77; }
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
for id in k045 k048 k050; do
	"$bin" report --json "$traces/kineto/$id.json.gz" >"$tmp/$id.json"
	# The same without its annotations: ranges of the host are gone, kernels are what they were.
	zcat "$traces/kineto/$id.json.gz" | sed -E 's/"(execute_[0-9]+_context_|step\[)[^"]*"/"some range"/g' | gzip -1 >"$tmp/$id-bare.json.gz"
	"$bin" report --json "$tmp/$id-bare.json.gz" >"$tmp/$id-bare.json"
done
# One whose model is known: Qwen3-8B.
"$bin" report --json --model layers=36,hidden=4096,heads=32,kv_heads=8,head_dim=128,ffn=12288,gated=1,vocab=151936,seq=40960,dtype=bf16 \
	"$traces/kineto/k045.json.gz" >"$tmp/qwen.json"
python3 - "$tmp" <<'P'
import json, re, sys
def steps(name):
    return [s for s in json.load(open(sys.argv[1] + "/" + name + ".json"))["steps"] if s["iteration"]]
exact = 0
for name, layers in (("k045", 36), ("k048", 24), ("k050", 24)):
    (s,) = steps(name)
    c, ct, g, gt = map(int, re.search(r"context_(\d+)\(sq(\d+).*generation_(\d+)\(sq(\d+)", s["name"]).groups())
    i = s["iteration"]
    want = {"context_requests": c, "context_tokens": ct, "generation_requests": g, "generation_tokens": gt,
            "requests": c + g, "tokens": ct + gt, "source": "annotated", "layers": layers}
    assert {k: i[k] for k in want} == want, (name, i)
    assert s["phase"] == ("mixed" if c and g else "prefill" if c else "decode"), s["phase"]
    geometry = i["by_geometry"]
    assert geometry["tokens"] == ct + gt and geometry["requests"] == c + g, (name, geometry)
    exact += 1
    # Without annotations: one iteration of the same tokens, requests and phase.
    (bare,) = steps(name + "-bare")
    assert bare["source"] == "engine" and bare["phase"] == s["phase"], (name, bare["source"], bare["phase"])
    assert (bare["iteration"]["tokens"], bare["iteration"]["requests"]) == (ct + gt, c + g), (name, bare["iteration"])
    assert bare["iteration"]["layers"] == layers
    if not c:
        assert bare["iteration"]["generation_requests"] == g
# Attention: 32 requests generate with 32,785 tokens in the cache, 147,456 bytes of keys and values each.
r = json.load(open(sys.argv[1] + "/qwen.json"))
a = r["requests"][0]["attention"]
assert a["flops"] == (2 * 32785 - 32) * 36 * 32 * 256 and a["evidence"] == "modelled", a
assert a["bytes"] == 32785 * 147456 + 32 * 36 * 32 * 256 * 2 and a["iterations"] == 1, a
assert a["kernel_ns"] == sum(k["sum_ns"] for k in r["kernels"] if k["role"] == "attention"), a
assert all(json.load(open(f"{sys.argv[1]}/{n}.json"))["requests"][0]["attention"] is None for n in ("k045", "k048"))
print("geometry equals annotation in %d of 3" % exact)
P
