#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# NVTX ranges of an unmodified job become marks under `warptap run`; not where another tool has NVTX, nor when off.
set -eu
build=$(realpath "${BUILD:-build}")
here=$(realpath "$(dirname "$0")")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
rc=0; LD_LIBRARY_PATH=$build/simgpu/lib "$build/tests/cli/agent_nvtx" || rc=$?
[ "$rc" != 77 ] || { echo "skip-ok: no NVTX header"; exit 77; }
[ "$rc" = 1 ] || { echo "FAIL: without a tool NVTX does nothing, both ids are 0: exit $rc"; exit 1; }
run() { env "${@:2}" "$build/warptap" run --sim h100 -o "$dir/$1" -- "$build/tests/cli/agent_nvtx"; }
run on A=1
run xla WARPTAP_XLA=1
unset NVTX_INJECTION64_PATH
if run off WARPTAP_NVTX=0; then echo "FAIL: ids given out though it is off"; exit 1; fi
if run other NVTX_INJECTION64_PATH=/no/such/tool.so; then echo "FAIL: another tool's place was taken"; exit 1; fi
PYTHONDONTWRITEBYTECODE=1 python3 - "$dir" "$here" <<'P'
import glob, os, sys
sys.path.insert(0, sys.argv[2])
import wt_wire

def marks(name):
    rows = []
    for wt in glob.glob(os.path.join(sys.argv[1], name, "*.wt")):
        t = wt_wire.Trace(wt)
        for p in t.packets:
            if p.get("body") == "marks":
                m = p["marks"]
                n = len(m["what"])
                col = lambda key: m.get(key) or [0] * n
                rows += [(w, k, t.strings.get(s, "")) for w, k, s in zip(m["what"], col("kind"), col("name"))]
    return rows

PUSH, POP, START, END = 1, 2, 3, 4
want = [(PUSH, 1, "plain"), (PUSH, 1, ""), (PUSH, 1, "event"), (PUSH, 1, "registered")] + [(POP, 0, "")] * 4 + [
    (START, 1, "one"), (START, 1, "registered"), (END, 1, ""), (END, 1, "")]
assert marks("on") == want, marks("on")
assert marks("off") == [] and marks("other") == []
print("ok")
P
