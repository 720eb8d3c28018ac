#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what a report says of a late rank against the simulator's truth.

usage: straggler_check.py REPORT.json DIR LATE_RANK [SKEW_MS:RANK ...]
True waiting, exposed: of each collective, from a rank's start to the last rank's, less what other kernels of that device
cover. The truth keeps one clock for all ranks, whatever the recordings show. What the all-reduces wait for is arithmetic,
and on a machine with fewer cores than ranks a late host too; the broadcasts before them wait for a process that the
machine started late.
"""
import bisect
import collections
import glob
import json
import os
import sys


def load(path):
    with open(path) as f:
        cols = f.readline().rstrip("\n").split("\t")
        rows = [dict(zip(cols, line.rstrip("\n").split("\t"))) for line in f]
    return [r for r in rows if r["row"] == "op" and r["kind"] == "kernel"]


def union(spans):
    out = []
    for a, b in sorted(spans):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out


def uncovered(a, b, busy, starts):
    """How much of [a, b) no span of busy covers."""
    i, left = max(bisect.bisect_right(starts, a) - 1, 0), b - a
    while i < len(busy) and busy[i][0] < b:
        left -= max(0, min(b, busy[i][1]) - max(a, busy[i][0]))
        i += 1
    return left


def main():
    report, where, late = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
    starts, busy, reduces = collections.defaultdict(dict), {}, set()
    for path in glob.glob(os.path.join(where, "truth.*.tsv")):
        rank, other = None, []
        for r in load(path):
            span = int(r["start_ns"]), int(r["end_ns"])
            tag = dict(w.split("=", 1) for w in r["tag"].split() if "=" in w)
            if "seq" in tag:
                rank = int(tag["rank"])
                starts[tag["comm"], int(tag["seq"])][rank] = span[0]
                reduces |= {(tag["comm"], int(tag["seq"]))} if r["tag"].startswith("allreduce") else set()
            elif "ncclDev" not in r["name"]:
                other.append(span)
        if rank is not None:
            busy[rank] = union(other)
    begins = {r: [s[0] for s in b] for r, b in busy.items()}
    want, in_reduces = collections.Counter(), 0
    for key, by_rank in starts.items():
        last = max(by_rank, key=by_rank.get)
        for rank, at in by_rank.items():
            if last == late and rank != late:
                wait = uncovered(at, by_rank[last], busy[rank], begins[rank])
                want[rank] += wait
                in_reduces += wait if key in reduces else 0
    ranks, bad = report["ranks"], []

    def check(what, ok):
        print("ok " if ok else "WRONG", what)
        bad.extend([] if ok else [what])

    got, because, caused = collections.Counter(), collections.Counter(), collections.Counter()
    for b in ranks["blame"]:
        # By work on the device alone: a busy host starts processes and wakes threads late, whichever it likes.
        caused[b["culprit"]] += b["wait_ns"] if (b["leaf"] or "").startswith("A") else 0
        if b["culprit"] == late and b["leaf"]:
            got[b["waiter"]] += b["wait_ns"]
            because[b["leaf"]] += b["wait_ns"]
    check("%d ranks recorded, %d in the truth" % (ranks["recorded"], len(busy)), ranks["recorded"] == len(busy))
    for rank in sorted(busy):
        if rank != late:
            check("rank %d waited %.3f ms on rank %d, truth %.3f ms" %
                  (rank, got[rank] / 1e6, late, want[rank] / 1e6), abs(got[rank] - want[rank]) <= 0.05 * want[rank] and
                  want[rank] > 20e6)
    check("nobody caused more waiting by kernels", max(caused, key=caused.get) == late)
    check("it is late again and again, and nobody else",
          [s["rank"] for s in ranks["stragglers"] if s["persistent"]] == [late])
    check("because its kernels take longer: %s" % dict(because.most_common(3)),
          sum(v for k, v in because.items() if k[0] == "A") > 0.5 * in_reduces)
    for d in report["devices"]:
        check("rank %d: the leaves sum to the window" % d["rank"], sum(d["leaves_ns"].values()) == d["window_ns"])
    clocks = {c["rank"]: c for c in ranks["clocks"] if c["rank"] is not None}
    for arg in sys.argv[4:]:
        ms, rank = arg.split(":")
        c = clocks[int(rank)]
        check("rank %s is %.6f ms ahead, put in %s (residual %d ns, %.2f ppm)" %
              (rank, c["offset_ns"] / 1e6, ms, c["residual_p95_ns"], c["drift_ppm"]),
              abs(c["offset_ns"] - float(ms) * 1e6) < 1e6 and c["state"] == "fitted" and c["residual_p95_ns"] < 20000)
    if len(sys.argv) == 4:
        check("one clock for all", all(c["state"] in ("reference", "shared") for c in clocks.values()))
    sys.exit(bool(bad))


main()
