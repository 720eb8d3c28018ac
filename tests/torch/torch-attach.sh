#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# A window on demand beside torch.profiler: opened while the profiler runs, and with its session inside the window. The
# profiler's result is what it is without the agent; the window begins, or goes on, when the profiler has left.
. tests/torch/torch_env.sh
export WARPTAP_LEVEL=count WARPTAP_COOL_MS=200 WARPTAP_CONTROL_DIR=$tmp/control
plain profiler h100 test_profiler.py "$tmp/plain.json" "$tmp/session.plain"
for when in during around; do
	record $when h100 test_profiler.py "$tmp/$when.kineto" "$tmp/session.$when" "$build/warptap" $when
	diff "$tmp/profiler.plain" <(grep -vE '^(USDT|warptap)' "$tmp/$when.out") || fail "$when: the profiler's result changes"
	python3 - "$tmp/$when.json" $when "$tmp"/$when/truth.*.tsv <<'EOF' || fail "$when: the agent's counts do not add up"
import json
import sys

complete = json.load(open(sys.argv[1]))["completeness"]
with open(sys.argv[3]) as f:
    names = f.readline().rstrip("\n").split("\t")
    ops = [r for r in (dict(zip(names, line.rstrip("\n").split("\t"))) for line in f) if r["row"] == "op"]
assert complete["share"] == 1.0 and complete["missing"] == 0, complete
for key, kind in (("launch", "kernel"), ("copy", "memcpy"), ("memset", "memset")):
    made = sum(r["kind"] == kind for r in ops)
    counted, outside = complete["counted"][key], complete["outside_windows"][key]
    print(sys.argv[2], key, made, "made,", counted, "in the window,", outside, "outside")
    assert counted + outside == made, key
assert 0 < complete["counted"]["launch"] < complete["outside_windows"]["launch"]
EOF
	"$build/warptap" info --packets "$tmp/$when"/*.wt | grep ' state ' >"$tmp/states"
	grep -q 'CUPTI_STATE_YIELDED reason=STATE_REASON_FOREIGN' "$tmp/states" || fail "$when: it does not step aside"
	grep 'CUPTI_STATE_YIELDED' -A 9 "$tmp/states" | grep -q 'level=3 cupti=CUPTI_STATE_OURS' || fail "$when: it does not come back"
done
