#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vLLM offline as it is by default, compiled and with graphs: start-up makes them and is in no iteration, a decode
# iteration is one replay.
. tests/vllm/vllm_env.sh
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
