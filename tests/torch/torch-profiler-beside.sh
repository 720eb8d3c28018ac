#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# torch.profiler in a recorded process: its own result is what it is without the agent, and the agent, which steps
# aside for it, has the record of every call it counted and counts those it could not see apart.
. tests/torch/torch_env.sh
plain profiler h100 test_profiler.py "$tmp/plain.json" "$tmp/session.plain"
record profiler h100 test_profiler.py "$tmp/beside.json" "$tmp/session.beside"
diff "$tmp/profiler.plain" <(grep -vE '^(USDT|warptap)' "$tmp/profiler.out") ||
	fail "the profiler's result changes with the agent"
python3 - "$tmp/profiler.json" "$tmp"/profiler/truth.*.tsv <<'EOF' || fail "the agent's counts do not add up"
import json
import sys

complete = json.load(open(sys.argv[1]))["completeness"]
with open(sys.argv[2]) as f:
    names = f.readline().rstrip("\n").split("\t")
    ops = [r for r in (dict(zip(names, line.rstrip("\n").split("\t"))) for line in f) if r["row"] == "op"]
assert complete["share"] == 1.0 and complete["missing"] == 0, complete
for key, kind in (("launch", "kernel"), ("copy", "memcpy"), ("memset", "memset")):
    made = sum(r["kind"] == kind for r in ops)
    counted, outside = complete["counted"][key], complete["outside_windows"][key]
    print(key, made, "made,", counted, "in collection,", outside, "outside")
    assert counted + outside == made, key
assert 0 < complete["counted"]["launch"] and 0 < complete["outside_windows"]["launch"]
EOF
