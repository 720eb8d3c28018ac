#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Calls of cuBLAS in every kind of form are recorded once each, with sizes, types and operations as they were asked for,
# and their launches have them as parents; with a second cuBLAS in the process, or none, calls go where they went.
set -u
B=${BUILD:-build}
bin=$(realpath "$B/warptap") prog=$(realpath "$B/tests/cli/gemm_client") sim=$(realpath "$B/simgpu/lib")
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
export WARPTAP_BUDGET=0 # a busy machine must not make the governor stop recording
bad=0
fail() { echo "FAIL: $*"; bad=1; }

"$bin" run --sim h100 -o "$tmp/out" -- "$prog" >"$tmp/asked" 2>"$tmp/err" || { cat "$tmp/err"; fail "the program fails"; }
"$bin" info --packets "$tmp"/out/*.wt >"$tmp/packets" || fail "info exits $?"
python3 - "$tmp/packets" "$tmp/asked" <<'P' || fail "what was recorded is not what was asked for"
import re, sys
columns, got = "m n k batch type_a type_b type_c compute trans flags epilogue".split(), []
table = None
for line in open(sys.argv[1]):
    if line.startswith("@"):
        table = {} if " gemms" in line else None
    elif table is not None:
        name, n, values = re.match(r"\s+(\w+)\[(\d+)\]: (.*)", line).groups()
        table[name] = [int(v) for v in values.split()]
        if name == "id":
            table["rows"] = int(n)
            got.append(table)
rows = [tuple(t.get(c, [0] * t["rows"])[i] for c in columns) for t in got for i in range(t["rows"])]
asked = [tuple(int(x) for x in line.split()[1:]) for line in open(sys.argv[2]) if line.startswith("gemm ")]
assert len(asked) == 7 and rows == asked, (rows, asked)
P
"$bin" report "$tmp/out" --json >"$tmp/json" || fail "report exits $?"
python3 - "$tmp/json" <<'P' || fail "FLOPs of the kernels"
import json, sys
flops = {p["dtype"]: p["flops"] for p in json.load(open(sys.argv[1]))["precision"]}
assert flops["fp64"] == 2 * 9 * 17 * 33 and flops["tf32"] == 2 * 8 * 16 * 65 and flops["bf16"] == 2 * 8 * 16 * 64, flops
assert flops["fp16"] == 2 * 8 * 16 * 66 * 12 and flops["fp8"] == 2 * 64 * 32 * 16 * 4, flops
P
# Replayed from a graph: each kernel has the product it was captured as.
"$bin" run --sim h100 -o "$tmp/graph" -- "$prog" graph >"$tmp/asked3" 2>"$tmp/err" || { cat "$tmp/err"; fail "graph"; }
"$bin" report "$tmp/graph" --json >"$tmp/json3" || fail "report of graph exits $?"
python3 - "$tmp/json3" "$tmp/asked3" <<'P' || fail "FLOPs of replayed products"
import json, sys
r = json.load(open(sys.argv[1]))
asked = int(open(sys.argv[2]).read().split()[1])
assert r["completeness"]["counted"]["graph_launch"] == 4, r["completeness"]
assert r["bounds"]["product_flops"] == asked > 0, (r["bounds"], asked)
P
# Twice the same library under another name: the program's own is used, nothing is recorded of either.
cp "$(realpath "$sim/libcublas.so.13")" "$tmp/libcublas.so.12"
"$bin" run --sim h100 -o "$tmp/two" -- "$prog" second "$tmp/libcublas.so.12" >"$tmp/asked2" 2>"$tmp/err" ||
	{ cat "$tmp/err"; fail "the program fails with two cuBLAS"; }
"$bin" info --packets "$tmp"/two/*.wt | grep -q ' gemms' && fail "products of two libraries are recorded as one's"
"$bin" report "$tmp/two" >/dev/null || fail "report of two exits $?"
[ "$("$bin" run --sim h100 -o "$tmp/none" -- "$prog" missing 2>/dev/null)" = "not found" ] ||
	fail "a library without the entry point has one"
exit $bad
