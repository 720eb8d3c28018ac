#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Kineto files of two ranks with delays and clocks put in by hand: matched by process group and place, aligned by their
# ends, custom all-reduces by name and order between them; an all-to-all's imbalance; a rank alone says why not.
set -eu
warptap=${BUILD:-build}/warptap
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/job"
python3 - "$tmp/job" <<'EOP'
import json, sys

LATE, SKEW = 700, {0: 0, 1: 5000000}  # us


def kernel(rank, start, end, name, stream, **args):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start + SKEW[rank], "dur": end - start,
            "args": dict(device=0, stream=stream, **args)}


def group(name, op, elements):
    return {"Collective name": op, "In msg nelems": elements, "Out msg nelems": elements, "Group size": 2,
            "dtype": "BFloat16", "Process Group Name": "7", "Process Group Description": name,
            "Process Group Ranks": "[0, 1]"}


for rank in 0, 1:
    events, at = [], 1000000
    for step in range(40):
        busy = 5000 + (LATE if rank else 0)
        events.append(kernel(rank, at, at + busy, "ampere_bf16_s16816gemm_bf16_128x64_nn", 7))
        events.append(kernel(rank, at + busy, at + 6000, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 20,
                             **group("DATA_PARALLEL_GROUP", "allreduce", 1 << 20)))
        # rank 0 comes 100 us late to the custom all-reduce
        events.append(kernel(rank, at + (6100 if rank == 0 else 6000), at + 6300,
                             "void multimem_all_reduce_kernel<c10::BFloat16>", 7))
        events.append(kernel(rank, at + 6400, at + 6500, "ncclDevKernel_SendRecv(x)", 20,
                             **group("DATA_PARALLEL_GROUP", "all_to_allv", 3000 if rank else 1000)))
        at += 7000
    with open("%s/rank%d.json" % (sys.argv[1], rank), "w") as f:
        json.dump({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
                   "traceEvents": events}, f)
EOP
"$warptap" report --json "$tmp/job" >"$tmp/both.json"
"$warptap" report --json "$tmp/job/rank0.json" >"$tmp/one.json"
"$warptap" report "$tmp/job" >"$tmp/both.txt"
python3 - "$tmp" <<'EOP'
import json, sys

both, one = (json.load(open("%s/%s.json" % (sys.argv[1], n))) for n in ("both", "one"))
bad = []


def eq(what, got, want):
    print("ok " if got == want else "WRONG", what, got, "" if got == want else "want %s" % (want,))
    bad.extend([] if got == want else [what])


r = both["ranks"]
eq("clocks", [(c["rank"], c["state"], c["offset_ns"]) for c in r["clocks"]],
   [(0, "reference", 0), (1, "fitted", 5000000000)])
eq("rank 0 waits 40 x 700 us on rank 1, which computes",
   [(b["waiter"], b["culprit"], b["leaf"], b["times"], b["wait_ns"]) for b in r["blame"] if b["comm"]],
   [(0, 1, "A1", 40, 40 * 700000)])
eq("rank 1 waits 40 x 100 us on rank 0 in what NCCL did not do",
   [(b["waiter"], b["culprit"], b["times"], b["wait_ns"]) for b in r["blame"] if not b["comm"]], [(1, 0, 40, 40 * 100000)])
comms = {c["comm"] is None: c for c in r["communicators"]}
eq("the family is matched by name and order", (comms[True]["matched_by"], comms[True]["matched"]), ("name and order", 80))
eq("the group by its name", (comms[False]["group"], comms[False]["group_grade"]), ("data", 3))
eq("the all-to-all is not split", comms[False]["unmatched"],
   {"an all-to-all of unequal sizes: its length does not tell waiting from transfer": 80})
eq("its imbalance", comms[False]["all_to_all_share_max"], 1.5)
for d in both["devices"]:
    eq("rank %d: the leaves sum to the window" % d["rank"], sum(d["leaves_ns"].values()), d["window_ns"])
    eq("rank %d: exposed and not split" % d["rank"], d["leaves_ns"]["B5"], 40 * 100000)
eq("one window", len({d["window_ns"] for d in both["devices"]}), 1)
eq("alone", (one["ranks"]["blame"], {k for c in one["ranks"]["communicators"] for k in c["unmatched"]}),
   ([], {"no other rank's recording has it"}))
text = open(sys.argv[1] + "/both.txt").read()
eq("said in words", "rank 0 waited on rank 1 because of A1 tensor cores" in text, True)
sys.exit(bool(bad))
EOP
# A public recording of one rank of eight: its multimem kernels are communication; matching is tried, its outcome said.
public=../shared/traces/kineto/k034.json.gz
if [ ! -e "$public" ]; then
	echo "skip-ok: $public is absent, the rest passed"
	exit 77
fi
"$warptap" report --json "$public" >"$tmp/k034.json"
python3 - "$tmp/k034.json" <<'EOP'
import json, sys

r = json.load(open(sys.argv[1]))
c, = (c for c in r["ranks"]["communicators"] if "multimem_all_reduce" in (c["name"] or ""))
said = {"73 operations on one rank": (c["operations"], c["ranks_recorded"], c["matched"]) == (73, 1, 0),
        "why none is matched": c["unmatched"] == {"no other rank's recording has it": 73},
        "they are exposed communication": c["exposed_ns"] > 2000000 and
        r["devices"][0]["leaves_ns"]["B5"] >= c["exposed_ns"]}
for what, true in said.items():
    print("ok " if true else "WRONG", "k034:", what)
sys.exit(not all(said.values()))
EOP
