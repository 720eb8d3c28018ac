#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An engine that ends at work: its process killed, the process that started it told to end, and Ctrl-C. Nothing is lost
# but device records that CUPTI had not handed over, and the report says how many.
. tests/vllm/vllm_env.sh
for how in kill term ctrl-c; do
	"$python" tests/vllm/ended.py $how "$build/warptap" a100,preload "$tmp/$how" "$tmp/$how.out" "$python" \
		examples/llm/serve_vllm.py --log-iterations --eager --requests 4000 --waves 1 || {
		tail -n 30 "$tmp/$how.out"
		fail "$how"
	}
done
