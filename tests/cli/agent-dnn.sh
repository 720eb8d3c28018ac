#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Calls of cuDNN that compute are recorded once each, with the sums that follow from what was said of their tensors, by
# the graph API and by the older calls; failing ones, those of unknown sizes and those of many threads too. Kernels
# know them. Children of fork, handlers of exit, a second cuDNN and the real library's way of passing calls on are as
# without.
set -u
B=${BUILD:-build}
bin=$(realpath "$B/warptap") prog=$(realpath "$B/tests/cli/dnn_client") sim=$(realpath "$B/simgpu/lib")
agent=$(realpath "$B/libwarptap.so")
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
export WARPTAP_BUDGET=0 # a busy machine must not make the governor stop recording
bad=0
fail() { echo "FAIL: $*"; bad=1; }

# record NAME ARGS: the program under the agent; its output in $tmp/NAME.asked, packets in $tmp/NAME.packets
record() {
	local name=$1
	shift
	"$bin" run -q --sim h100 -o "$tmp/$name" -- "$prog" "$@" >"$tmp/$name.asked" 2>"$tmp/$name.err" ||
		{ cat "$tmp/$name.err"; fail "$name: the program fails"; }
	"$bin" info --packets "$tmp/$name"/*.wt >"$tmp/$name.packets" || fail "$name: info exits $?"
}

cat >"$tmp/works.py" <<'P'
import re
def works(path):
    """What Gemms say, in order: work, multiply-adds, bytes read and written, types, flags."""
    columns, rows, table = "work m n k type_a type_b type_c flags".split(), [], None
    for line in open(path):
        if line.startswith("@"):
            table = {} if " gemms" in line else None
            if table is not None:
                rows.append(table)
        elif table is not None:
            name, n, values = re.match(r"\s+(\w+)\[(\d+)\]: (.*)", line).groups()
            table[name] = [int(v) for v in values.split()]
    return [tuple(t.get(c, [0] * len(t["id"]))[i] for c in columns) for t in rows for i in range(len(t["id"]))]
def asked(path):
    rows = [tuple(int(x) for x in line.split()[1:]) for line in open(path) if line.startswith("work ")]
    return [r for i, r in enumerate(rows) if r not in rows[:i]]
P
export PYTHONPATH=$tmp PYTHONDONTWRITEBYTECODE=1

record calls calls
python3 - "$tmp" <<'P' || fail "what was recorded is not what was asked for"
import sys, works
want, got = works.asked(sys.argv[1] + "/calls.asked"), works.works(sys.argv[1] + "/calls.packets")
assert len(want) == 16 and got == want, "\n".join(map(str, (want, got)))
P
"$bin" report "$tmp/calls" --json >"$tmp/json" || fail "report exits $?"
python3 - "$tmp/json" <<'P' || fail "FLOPs of the kernels"
import json, sys
r = json.load(open(sys.argv[1]))
flops = {p["dtype"]: p["flops"] for p in r["precision"]}
# What is known at most is no work: nothing of padding, of ragged tensors, of a pack's own sizes.
assert flops["bf16"] == 2 * (2 * 462422016 + 589824), flops
assert flops["fp16"] == 2 * (147456 + 262144 + 131072 + 36864 + 2 * 589824), flops
assert flops["fp8"] == 2 * (1572864 + 1179648), flops
assert flops.get("tf32", 0) == 2 * 589824, flops  # by the kernel's name: descriptors do not say how fp32 is multiplied
assert r["completeness"]["share"] == 1.0, r["completeness"]
norm = [k for k in r["kernels"] if k["family"] and "norm" in k["name"]]
assert any(k["bytes"] == 33792 + 32768 and not k["flops"] for k in norm), norm
P

record threads threads 8
python3 - "$tmp" <<'P' || fail "plans of several threads"
import sys, works
want = {(1, int(line.split()[2])) for line in open(sys.argv[1] + "/threads.asked")}
got = works.works(sys.argv[1] + "/threads.packets")
assert len(want) == 8 and {(w, m) for w, m, *_ in got} == want | {(1, 462422016)}, (want, got)
P

# More descriptors than there is room for: told, and the plan has a row without sizes.
record many many 270000
python3 - "$tmp" <<'P' || fail "more descriptors than there is room for"
import sys, works
assert works.works(sys.argv[1] + "/many.packets") == [(10, 0, 0, 0, 0, 0, 0, 0)]
P
"$bin" report "$tmp/many" | grep -q "descriptors of cuDNN" || fail "missing descriptors are not told"

for how in fork exit; do
	record $how $how
	python3 -c 'import sys, works; assert works.works(sys.argv[1])[0][1] == 462422016' "$tmp/$how.packets" || fail "$how"
done
[ "$(ls "$tmp"/fork/*.wt | wc -l)" = 1 ] || fail "a child that only makes descriptors leaves a trace"

WARPTAP_GEMM=0 record off calls
grep -q ' gemms' "$tmp/off.packets" && fail "recorded with WARPTAP_GEMM=0"

cp "$(realpath "$sim/libcudnn.so.9")" "$tmp/libcudnn.so.8"
record second second "$tmp/libcudnn.so.8"
grep -q ' gemms' "$tmp/second.packets" && fail "calls of two libraries are recorded as one's"

[ "$("$bin" run -q --sim h100 -o "$tmp/none" -- "$prog" missing 2>/dev/null)" = "not found" ] ||
	fail "a library that is not there has an entry point"

# NVIDIA's own, where it is: its entry points ask for those of the library behind by the same names. No device needed.
real=$(ls "${CUDA_HOME:-/usr/local/cuda}"/lib*/libcudnn.so.9 2>/dev/null | head -1)
if [ -n "$real" ]; then
	record real descriptors "$real"
	# State 4 of a count: an entry point that went out unwrapped.
	grep -A6 ' counts' "$tmp/real.packets" | grep -E 'state\[[0-9]+\]:.* 4( |$)' && fail "the real library's own look-ups escape"
fi
exit $bad
