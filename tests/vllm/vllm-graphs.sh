#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vLLM offline as it is by default, compiled and with graphs: start-up makes them and is in no iteration, a decode
# iteration is one replay. Prompts are replayed in pieces made for a rounded number of tokens, of which how many there
# are is known: with graphs of up to 512 tokens, as engines have that run many requests, and prompts of which several
# fit into each; with graphs for pieces only; and with the first model runner, by its copies.
. tests/vllm/vllm_env.sh

# between NAME LARGEST LEAST: so many iterations at least work on prompts in pieces of rounded sizes of up to LARGEST
# tokens, and how many they have is known
between() {
	python3 - "$tmp/$1.json" "$2" "$3" <<'P' || fail "$1: tokens between the sizes of graphs"
import json, sys
few = [i for i in (s["iteration"] for s in json.load(open(sys.argv[1]))["steps"])
       if not i["start_up"] and i["context_tokens"] and i["tokens"] < int(sys.argv[2]) and
       i["tokens"] % 8 and i["tokens"] not in (1, 2, 4)]
print("%d iterations with prompts between the sizes of graphs" % len(few))
assert len(few) >= int(sys.argv[3]) and all(i["grade"] == 2 for i in few), few
P
}

both graphs a100,preload
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
both short a100,preload --largest 512 --prompt 8 --requests 32 --waves 8
complete short
iterations short 95
between short 512 4
both pieces a100,preload --pieces
complete pieces
iterations pieces 95
VLLM_USE_V2_MODEL_RUNNER=0 both first a100,preload --pieces --prompt 8
complete first
iterations first 95
between first 16 1
