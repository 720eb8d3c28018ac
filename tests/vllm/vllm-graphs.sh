#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vLLM offline as it is by default, compiled and with graphs: start-up makes them and is in no iteration, a decode
# iteration is one replay. Then the first model runner with short prompts, whose graphs are made for a rounded number of
# tokens: how many there were is in its copies.
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
VLLM_USE_V2_MODEL_RUNNER=0 both first a100,preload --prompt 8
complete first
iterations first 95
python3 - "$tmp/first.json" <<'P'
import json, sys
few = [i for i in (s["iteration"] for s in json.load(open(sys.argv[1]))["steps"])
       if not i["start_up"] and i["context_tokens"] and i["tokens"] not in (1, 2, 4, 8, 16) and i["tokens"] < 16]
print("%d iterations with prompts between the sizes of graphs" % len(few))
assert few and all(i["grade"] == 2 for i in few), few
P
# Attention outside of graphs in all iterations: those that only generate are rounded, too.
VLLM_USE_V2_MODEL_RUNNER=0 both pieces a100,preload --pieces --prompt 8
complete pieces
iterations pieces 95
