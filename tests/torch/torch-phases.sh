#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Phases and steps of the eager GPT of examples/llm, from launches alone, against what the job says it did when: plain,
# with activation checkpointing (the share of recompute too), and told by the job itself: annotate.py, and NVTX.
. tests/torch/torch_env.sh
one() { # HOW PRECISION
	record "$1$2" h100 test_phases.py "$1" "$2" 6 "$tmp/$1$2.stamps"
	"$build/tests/e2e/phase_dump" "$tmp/$1$2"/*.wt >"$tmp/$1$2.dump"
	echo "== $1 $2"
	python3 tests/torch/phase_check.py "$tmp/$1$2" "$tmp/$1$2.stamps" "$tmp/$1$2.dump" "$tmp/$1$2.json" 6 ||
		fail "$1 $2: phases differ from the truth"
}
one plain fp32
one plain bf16
one recompute bf16
one annotated fp32
one nvtx fp32
python3 - "$tmp/annotatedfp32.json" "$tmp/nvtxfp32.json" <<'P'
import json, sys
marked, named = (json.load(open(path)) for path in sys.argv[1:])
steps = lambda r: {(s["step"], s["source"], s["grade"], s["name"]) for s in r["steps"]}
assert steps(marked) == {(n, "marked", 3, "step") for n in range(6)}, marked["steps"]
assert steps(named) == {(n, "named", 3, "step %d" % n) for n in range(6)}, named["steps"]
grades = lambda r: {p["grade"] for p in r["phases"] if p["phase"] != "unknown"}
assert grades(marked) == {3} and grades(named) == {2}, (marked["phases"], named["phases"])
P
# One step alone: its account and its kernels.
"$build/warptap" report --json --step 3 "$tmp/annotatedfp32" >"$tmp/one.json"
python3 - "$tmp/annotatedfp32.json" "$tmp/one.json" <<'P'
import json, sys
whole, one = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
(step,) = [s for s in whole["steps"] if s["step"] == 3]
(device,) = one["devices"]
assert device["window_ns"] == step["window_ns"] == step["end_ns"] - step["start_ns"], (device, step)
assert {k: v for k, v in device["leaves_ns"].items() if v} == step["leaves_ns"]
assert sum(k["count"] for k in one["kernels"]) < sum(k["count"] for k in whole["kernels"]) / 4
P
if "$build/warptap" report --step 99 "$tmp/annotatedfp32" >/dev/null 2>"$tmp/err"; then fail "there is no step 99"; fi
grep -q "no step 99" "$tmp/err" || fail "no word of step 99: $(cat "$tmp/err")"
