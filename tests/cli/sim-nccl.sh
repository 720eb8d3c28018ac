#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# The simulated NCCL: numbers between processes and devices, a late rank, bad use, kernels on the timeline, exports.
set -eu
build=${BUILD:-build}
lib=$build/simgpu/lib
export LD_LIBRARY_PATH=$lib
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
run() { "$build/tests/cli/sim_nccl" "$@" | grep -qx ok || { echo "sim_nccl $* failed"; exit 1; }; }

touch "$dir/begin"
SIMGPU_TRUTH=$dir run procs 2
run procs 3
SIMGPU_DEVICES=4 run devices 4
run late
run misuse
# Those of other jobs on this machine are gone, too, once their ranks have met.
for left in $(find /dev/shm -maxdepth 1 -name 'simnccl-*' -newer "$dir/begin"); do
	for _ in $(seq 300); do [ -e "$left" ] || break; sleep 0.1; done
	[ ! -e "$left" ] || { echo "a shared file stays: $left"; exit 1; }
done

# Both ranks end each collective at the same time, and the kernel is named as NCCL names it.
python3 - "$dir" <<'P'
import glob, sys
ends = []
for f in glob.glob(sys.argv[1] + "/truth.*.tsv"):
    rows = [l.rstrip("\n").split("\t") for l in open(f) if not l.startswith("#")]
    head, rows = rows[0], [dict(zip(rows[0], r)) for r in rows[1:]]
    nccl = [r for r in rows if r["row"] == "op" and r["name"].startswith("_Z") and "ncclDevKernel" in r["name"]]
    if nccl:
        ends.append([(r["end_ns"], r["name"]) for r in nccl if "SendRecv" not in r["name"]])
        assert any(r["name"] == "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"
                   for r in nccl), sorted({r["name"] for r in nccl})
        assert all("comm=" in r["tag"] for r in nccl), nccl[0]
assert len(ends) == 2 and len(ends[0]) > 40, [len(e) for e in ends]
assert ends[0] == ends[1], [x for x in zip(*ends) if x[0] != x[1]][:3]
P

# Nothing but the API leaves the library, weak over strong; the runtime inside stays inside.
bad=$(nm -D --defined-only "$lib/libnccl.so.2" |
	awk '!($2 == "W" && $3 ~ /^nccl[A-Z]/) && !($2 == "T" && $3 ~ /^pnccl[A-Z]/)')
[ -z "$bad" ] || { echo "unexpected exports: $bad"; exit 1; }
! readelf -dW "$lib/libnccl.so.2" | grep -E 'NEEDED.*libcuda'
echo ok
