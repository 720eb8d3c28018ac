#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vLLM offline as it is by default, compiled and with graphs: start-up makes them and is in no iteration, a decode
# iteration is one replay. Then graphs only for what is between attention, made for a rounded number of tokens: of
# iterations that only generate it is known all the same, and of the first model runner's all, by its copies.
. tests/vllm/vllm_env.sh
both graphs a100,preload --shortest 17
complete graphs
iterations graphs 95
python3 - "$tmp/graphs.json" <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
replays = r["completeness"]["counted"]["graph_launch"]
decode = sum(s["phase"] == "decode" for s in r["steps"] if not s["iteration"]["start_up"])
print("%d replays, %d decode iterations" % (replays, decode))
assert decode > 10 and replays >= decode, (replays, decode)
P
both pieces a100,preload --pieces --shortest 17
complete pieces
iterations pieces 95
VLLM_USE_V2_MODEL_RUNNER=0 both first a100,preload --pieces --prompt 8
complete first
iterations first 95
python3 - "$tmp/first.json" <<'P'
import json, sys
few = [i for i in (s["iteration"] for s in json.load(open(sys.argv[1]))["steps"])
       if not i["start_up"] and i["context_tokens"] and i["tokens"] not in (1, 2, 4, 8, 16) and i["tokens"] < 16]
print("%d iterations with prompts between the sizes of graphs" % len(few))
assert few and all(i["grade"] == 2 for i in few), few
P
