#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Faults by scenario, in the simulator alone: slow links, a hung collective and its abort, a throttled device, records
# without times, a skewed device clock. Judged by the truth.
set -eu
build=$(cd "${BUILD:-build}" && pwd)
export LD_LIBRARY_PATH=$build/simgpu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset SIMGPU_DEVICE SIMGPU_DEVICES SIMGPU_SCENARIO SIMGPU_TRUTH SIMGPU_LOG RANK LOCAL_RANK OMPI_COMM_WORLD_RANK SLURM_PROCID PMI_RANK
fail() { echo "sim-faults.sh: $*" >&2; exit 1; }

run() { # NAME SCENARIO PROGRAM ARGS...     its truth in $tmp/NAME, its output in $tmp/NAME/out
	local name=$1 text=$2; shift 2
	mkdir "$tmp/$name"
	printf "$text" >"$tmp/$name/scenario"
	SIMGPU_SCENARIO=$tmp/$name/scenario SIMGPU_TRUTH=$tmp/$name timeout 60 "$build/tests/cli/$1" "${@:2}" \
		>"$tmp/$name/out" 2>"$tmp/$name/err" || fail "$name: exit $?: $(cat "$tmp/$name/err")"
}
cat >"$tmp/truth.py" <<'P'
import collections, glob, re
def rows(d):
    for f in glob.glob(d + "/truth.*.tsv"):
        lines = [l.rstrip("\n").split("\t") for l in open(f)]
        for l in lines[1:]:
            yield dict(zip(lines[0], l), file=f)
def ops(d, pattern=""):
    return [r for r in rows(d) if r["row"] == "op" and re.search(pattern, r["name"])]
def notes(d, kind):
    return [r["name"] for r in rows(d) if r["row"] == "note" and r["kind"] == kind]
def ns(r):
    return int(r["end_ns"]) - int(r["start_ns"])
def meetings(d):
    """Of each rendezvous: who took part, and how long it lasted once all were there."""
    by = collections.defaultdict(list)
    for r in ops(d, "ncclDevKernel"):
        by[r["end_ns"], r["tag"].split()[0]].append(r)
    for (end, what), rs in by.items():
        ranks = tuple(sorted(int(re.search(r"rank=(\d+)", r["tag"])[1]) for r in rs))
        yield what, ranks, int(end) - max(int(r["start_ns"]) for r in rs)
P
export PYTHONPATH=$tmp PYTHONDONTWRITEBYTECODE=1

# 4 MiB at 100 GB/s and 10 us: 51943 ns between two, 72914 ns for an all-reduce of four.
base='[nccl] alpha = 10us  busbw_gbs = 100'
run even "$base\n" sim_faults pair
run link "$base  slow = 1-2:4\n" sim_faults pair
run rank "$base  slow = 3:2.5\n" sim_faults pair
python3 - "$tmp" <<'P'
import sys, truth
for name, slow_pairs, factor, collective in (("even", set(), 1, 1), ("link", {(1, 2)}, 4, 4),
                                             ("rank", {(2, 3), (0, 3)}, 2.5, 2.5)):
    got = list(truth.meetings(sys.argv[1] + "/" + name))
    pairs = [m for m in got if m[0] == "sendrecv"]
    assert len(pairs) == 4 and sorted(m[1] for m in pairs) == [(0, 1), (0, 3), (1, 2), (2, 3)], pairs
    for what, ranks, took in got:
        f = collective if what == "allreduce" else factor if ranks in slow_pairs else 1
        want = int((72914 if what == "allreduce" else 51943) * f)
        assert abs(took - want) <= 4, (name, what, ranks, took, want)
    assert sum(m[0] == "allreduce" and m[1] == (0, 1, 2, 3) for m in got) == 4, got
P

# The second operation of rank 1 never comes: nothing behind it runs, other streams do, and an abort ends it.
run hang '[nccl] hang = 2:1\n' sim_faults abort 2
run hang-all '[nccl] hang = 2\n' sim_faults abort 3
python3 - "$tmp" <<'P'
import sys, truth
for name, ranks, hung in (("hang", 2, 1), ("hang-all", 3, 3)):
    d = sys.argv[1] + "/" + name
    assert len(truth.notes(d, "hung_collective")) == hung, truth.notes(d, "hung_collective")
    nccl = truth.ops(d, "ncclDevKernel")
    assert len(nccl) == 4 * ranks, len(nccl)
    stuck = [r for r in nccl if truth.ns(r) > 90_000_000]
    assert len(stuck) == ranks, [truth.ns(r) for r in nccl]
    for r in stuck:
        assert not [o for o in truth.ops(d) if o["file"] == r["file"] and o["stream"] == r["stream"] and
                    int(r["start_ns"]) < int(o["start_ns"]) < int(r["end_ns"])]
P

# A hot device: its kernels last longer, the other's and the collectives do not.
export SIMGPU_DEVICES=2
run hot '[kernel] train_step = 20us, 0%%\n[nccl] alpha = 10us  busbw_gbs = 100\n[throttle] factor = 1.4  device = 1\n' \
	sim_faults train 2 30
run later '[kernel] train_step = 20us, 0%%\n[throttle] factor = 2  from = 12ms\n' sim_faults train 2 60
unset SIMGPU_DEVICES
python3 - "$tmp" <<'P'
import sys, truth
d = sys.argv[1] + "/hot"
for dev, want in (("0", 20000), ("1", 28000)):
    got = [truth.ns(r) for r in truth.ops(d, "train_step") if r["device"] == dev]
    assert got == [want] * 30, (dev, set(got))
assert all(took == 10010 for what, ranks, took in truth.meetings(d)), list(truth.meetings(d))
d = sys.argv[1] + "/later"
for f in {r["file"] for r in truth.ops(d)}:
    got = [truth.ns(r) for r in truth.ops(d, "train_step") if r["file"] == f]
    assert len(got) == 60 and set(got) <= {20000, 40000} and got == sorted(got), got
P

# CUPTI: every third kernel record has no times, and the truth says which; the clock of rank 1's device is its own.
run zero '[cupti] zero_timestamps = 3\n' sim_cupti 4096 30
run from '[cupti] zero_timestamps = 11+\n' sim_cupti 4096 30
export RANK=1
run clock '[clock] skew = 0:1s, 1:-3ms  drift = 1:100ppm\n' sim_cupti 4096 30
unset RANK
python3 - "$tmp" <<'P'
import re, sys, truth
def records(name):
    return [l.rstrip("\n").split("\t") for l in open(f"{sys.argv[1]}/{name}/out")]
for name in ("zero", "from"):
    kernels = [r for r in records(name) if r[0] == "kernel"]
    lost = {i + 1 for i, r in enumerate(kernels) if (r[6], r[7]) == ("0", "0")}
    n = len(kernels)
    assert n > 60 and lost == (set(range(3, n + 1, 3)) if name == "zero" else set(range(11, n + 1))), (n, lost)
    said = {re.search(r"correlation=(\d+)", t)[1] for t in truth.notes(sys.argv[1] + "/" + name, "zeroed_record")}
    assert said == {r[4] for i, r in enumerate(kernels) if i + 1 in lost}
(note,) = truth.notes(sys.argv[1] + "/clock", "device_clock")
skew, drift, origin = (int(x) for x in re.findall(r"=(-?\d+)", note))
assert (skew, drift) == (-3000000, 100000), note
true = {(r["kind"], r["correlation"], r["graph_node"]): r for r in truth.ops(sys.argv[1] + "/clock")}
plain = {k[:2]: r for k, r in true.items() if r["graph"] == "0"}
seen = 0
for r in records("clock"):
    t = plain.get((r[0], r[4])) if r[0] in ("kernel", "memcpy", "memset") and r[5] == "0" else None
    if t:
        seen += 1
        for shown, real in ((int(r[6]), int(t["start_ns"])), (int(r[7]), int(t["end_ns"]))):
            assert abs(shown - (real + skew + (real - origin) * drift // 10**9)) <= 1, (r, t)
assert seen > 60, seen
P
echo "all faults as expected"
