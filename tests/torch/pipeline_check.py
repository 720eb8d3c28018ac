#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the waits of sends and receives in a report against the simulator's truth.

usage: pipeline_check.py REPORT.json DIR
The simulated NCCL lets a send and its receive begin together and end together, so kernels of the truth with one end are a
pair, and the one that started first waited for the other.
"""
import collections
import glob
import json
import os
import sys

ends, sends = collections.defaultdict(list), set()
for path in glob.glob(os.path.join(sys.argv[2], "truth.*.tsv")):
    with open(path) as f:
        cols = f.readline().rstrip("\n").split("\t")
        for line in f:
            r = dict(zip(cols, line.rstrip("\n").split("\t")))
            if r["row"] == "op" and "ncclDev" in r["name"]:
                ends[int(r["end_ns"])].append(int(r["start_ns"]))
                if r["tag"].startswith("sendrecv"):
                    sends.add(int(r["end_ns"]))
want = sum(max(starts) - s for starts in ends.values() for s in starts)
stages = sum(max(ends[e]) - s for e in sends for s in ends[e])  # the rest are all-reduces, at the start and the end
report = json.load(open(sys.argv[1]))
comms, bad = report["ranks"]["communicators"], []


def check(what, ok):
    print("ok " if ok else "WRONG", what)
    bad.extend([] if ok else [what])


got, exposed = sum(c["wait_ns"] for c in comms), sum(d["leaves_ns"]["B3"] + d["leaves_ns"]["B4"] for d in report["devices"])
check("every operation is matched", all(c["matched"] == c["operations"] for c in comms))
check("waiting %.3f ms, truth %.3f ms" % (got / 1e6, want / 1e6), abs(got - want) <= 0.01 * want and want > 20e6)
check("of it in the ledger %.3f ms" % (exposed / 1e6), exposed <= got and exposed == report["ranks"]["wait_ns"])
b4 = sum(d["leaves_ns"]["B4"] for d in report["devices"])
check("of it for a stage %.3f ms, truth with what is hidden %.3f ms" % (b4 / 1e6, stages / 1e6),
      stages * 0.9 - (got - exposed) <= b4 <= stages)
check("as a pipeline's", all(c["group"] == "pipeline" for c in comms))
sys.exit(bool(bad))
