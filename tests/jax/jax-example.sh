#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# examples/llm/train_jax.py: on one device with recomputation, on two with the state on each; the output is the same
# under the agent, every operation is in the trace, the parts of the model are modules, steps are found on each
# device.
. tests/jax/jax_env.sh
export WARPTAP_XLA=1
# one NAME DEVICES ARGS
one() {
	local name=$1 devices=$2
	shift 2
	plain "$name" "h100,devices=$devices" ../../examples/llm/train_jax.py --steps 8 --log-every 4 "$@"
	rm -rf "$JAX_COMPILATION_CACHE_DIR" # paths are said by the compiler
	record "$name" "h100,devices=$devices" ../../examples/llm/train_jax.py --steps 8 --log-every 4 "$@"
	diff "$tmp/$name.plain" "$tmp/$name.out" || fail "$name: the output changes with the agent"
	complete "$name"
	traced "$name" 1
	python3 - "$tmp/$name.json" "$devices" "$name" <<'P' || fail "$name: steps, modules or phases"
import json, sys
report, devices, name = json.load(open(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
for d in range(devices):
    whole = [s for s in report["steps"] if s["device"] == d and not s["partial"]]
    print("device", d, len(whole), "whole steps by", {s["source"] for s in whole})
    assert len(whole) == 6 and all(s["source"] == "program" for s in whole), whole
paths = " ".join(m["path"] for m in report["modules"]["paths"])
assert report["modules"]["unknown_ns"] == 0
for part in ("attention", "mlp", "adam", "transpose(jvp"):
    assert part in paths, (part, paths)
phases = {p["phase"]: p["kernels"] for p in report["phases"]}
assert phases["forward"] and phases["backward"], phases
assert devices == 1 or report["collectives"], "no collectives"
P
}
one recompute 1 --recompute
one parallel 2 --data-parallel --no-donate
