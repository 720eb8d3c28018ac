#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# A NCCL that misuses the agent's profiler plugin (tests/cli/src/nccl_hostile.c): it survives with errno untouched,
# every operation that was begun and ended is in the trace once, and those that found no room are told.
set -eu
B=$(realpath "${BUILD:-build}"); here=$(realpath "$(dirname "$0")")
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
unset LD_PRELOAD WARPTAP_LEVEL || :
mkdir "$T/d"
said=$(env LD_LIBRARY_PATH="$B/simgpu/lib" WARPTAP_DIR="$T/d" WARPTAP_EXIT_MS=20000 WARPTAP_BUDGET=0 WARPTAP_NCCL_PROFILER=2 \
	LD_PRELOAD="$B/libwarptap.so" "$B/tests/cli/nccl_hostile") || { echo "FAIL: exit $?"; exit 1; }
[ "$(ls "$T/d" | grep -c '\.wt$')" = 1 ] || { echo "FAIL: files of children:"; ls "$T/d"; exit 1; }
"$B/warptap" report "$T/d" >"$T/text" || { echo "FAIL: report"; exit 1; }
PYTHONDONTWRITEBYTECODE=1 python3 - "$T" "$here" $said <<'P'
import glob, sys
T, begun, refused = sys.argv[1], int(sys.argv[3]), int(sys.argv[4])
sys.path.insert(0, sys.argv[2])
import wt_wire

seen, lost, dropped = 0, 0, 0
for path in glob.glob(f"{T}/d/*.wt"):
    for p in wt_wire.packets(path):
        if p.get("body") == "nccl":
            m = p["nccl"]
            seen += m["what"].count(2)
            lost += sum(n for n, w in zip(m.get("n", ()), m["what"]) if w == 4)
        elif p.get("body") == "loss":
            dropped += p["loss"].get("n", 0)
assert begun > 50000 and refused > 100, (begun, refused)
assert seen == begun or seen < begun <= seen + dropped, (seen, begun, dropped)
assert lost == refused, (lost, refused)
assert f"{lost} events of NCCL's proxies and channels found no room" in open(f"{T}/text").read()
P
echo ok
