#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the report of a job of several ranks against the simulator's truth in what belongs to ranks.

usage: rank_check.py REPORT.json DIR RANKS
One trace per rank, with the rank's own number, on the rank's own device. Collectives: calls and kernels by operation.
Memory: the peak of the device by the truth (all that cuMemAlloc and the like gave out, less what came back) equals
torch's own peak of reserved bytes, as test_llm.py left it in DIR; the simulated NCCL and cuBLAS take no device memory.
"""
import collections
import glob
import json
import os
import re
import sys

bad = []


def eq(what, got, want):
    if got != want:
        bad.append("%s: %s, truth %s" % (what, got, want))


def load(path):
    ops, notes = [], collections.defaultdict(list)
    with open(path) as f:
        cols = f.readline().rstrip("\n").split("\t")
        for line in f:
            row = dict(zip(cols, line.rstrip("\n").split("\t")))
            if row["row"] == "op":
                ops.append(row)
            elif row["row"] == "note":
                notes[row["kind"]].append(row["name"])
    return ops, notes


def account(path):
    with open(path) as f:
        return {k: int(v) for k, v in (line.split() for line in f)}


def main():
    report, where, ranks = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
    named = {int(i["path"].split(".")[-2]): i["rank"] for i in report["inputs"]}
    calls, kernels, used = collections.Counter(), collections.Counter(), 0
    for path in glob.glob(os.path.join(where, "truth.*.tsv")):
        pid = int(path.split(".")[-2])
        ops, notes = load(path)
        if not ops:  # torchrun itself: it looks at the devices and runs nothing
            eq("rank of pid %d, which ran nothing" % pid, named.get(pid), None)
            continue
        used += 1
        device = int(ops[0]["device"])
        eq("devices of pid %d" % pid, {o["device"] for o in ops}, {str(device)})
        eq("rank of pid %d" % pid, named.get(pid), device)
        for o in ops:
            if "ncclDevKernel" in o["name"]:
                kind = o["tag"].split()[0]
                kernels[kind] += 1
                calls[kind] += int(re.search(r"ops=(\d+)", o["tag"]).group(1))
        torch = account(os.path.join(where, "memory.%d" % pid))
        peak = dict(map(int, n.split()) for n in notes["peak_bytes"])
        eq("peak memory of device %d" % device, torch["reserved_bytes.all.peak"], peak[device])
    eq("processes with work", used, ranks)
    eq("devices and their ranks", [(d["device"], d["rank"]) for d in report["devices"]], [(r, r) for r in range(ranks)])
    got_calls, got_kernels = collections.Counter(), collections.Counter()
    for c in report["collectives"]:
        kind = {"send": "sendrecv", "recv": "sendrecv"}.get(c["name"].lower(), c["name"].lower())
        got_calls[kind] += c["count"]
        got_kernels[kind] += c["kernels"]
        eq("ranks of a communicator", c["nranks"], ranks)
    eq("collective calls", got_calls, calls)
    eq("kernels of collectives", got_kernels, kernels)
    eq("collectives counted", report["completeness"]["counted"]["collective"], sum(calls.values()))
    if not calls:
        bad.append("the job made no collective")
    for b in bad:
        print(b)
    print("%d ranks, %d collective calls, %d of their kernels, peak memory %s bytes: %d differences" %
          (used, sum(calls.values()), sum(kernels.values()), torch["reserved_bytes.all.peak"], len(bad)))
    sys.exit(1 if bad else 0)


main()
