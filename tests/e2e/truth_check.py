#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds `warptap report --json DIR` against the simulator's truth in DIR, by an implementation of its own.

Everything made of device times must be equal to the nanosecond; leaves cut by host stamps within 2 us a boundary.
Exit 0 equal, 1 different, 3 only a gap's cut by host stamps is off: a machine that takes the thread away between the
simulator's stamp and the agent's does that, so a caller may try again.

usage: truth_check.py WARPTAP DIR [--cut]      processes may have been killed when all their work was recorded
       truth_check.py WARPTAP DIR [--missing FILE]      activity buffers were lost on purpose; FILE lists what arrived
(JOIN_DUMP of join_check)
"""
import bisect
import glob
import json
import os
import re
import subprocess
import sys
from collections import defaultdict


def load_truth(path):
    ops, notes = [], defaultdict(list)
    notes["calls"] = defaultdict(list)
    with open(path, newline="") as f:
        lines = [l for l in f if l.strip()]
    cols = lines[0].lstrip("# ").rstrip("\n").split("\t")
    if len(cols) == 1:
        cols = lines[0].lstrip("# ").split()
    for l in lines[1:]:
        if l.startswith("#"):
            continue
        v = l.rstrip("\n").split("\t")
        r = dict(zip(cols, v))
        if r["row"] == "op":
            for k in ("device", "context", "stream", "correlation", "submit_ns", "start_ns", "end_ns", "bytes", "tid"):
                r[k] = int(r[k] or 0)
            ops.append(r)
        elif r["row"] == "call":
            notes["calls"][int(r["tid"])].append((int(r["start_ns"]), int(r["end_ns"]), r["name"]))
        elif r["row"] == "note":
            notes[r["kind"]].append(r["name"])
    return ops, notes


def union(iv):
    out, end = 0, None
    for s, e in sorted(iv):
        if end is None or s > end:
            out += e - s
            end = e
        elif e > end:
            out += e - end
            end = e
    return out


def clip(iv, w0, w1):
    return [(max(s, w0), min(e, w1)) for s, e in iv if min(e, w1) > max(s, w0)]


def state(op):
    if op["kind"] in ("memcpy", "memset"):
        return "copy"
    if re.search("ncclDevKernel|ncclKernel|^all_reduce(_start)?_fusion|cross_device_reduce", op["name"]):
        return "comm"
    if "spin_kernel" in op["name"]:
        return "spin"
    return "compute"


def holes(ops, arrived):
    """Per stream: from the end of the last received record before the first missing one to the next received start."""
    out = []
    streams = defaultdict(list)
    for op in ops:
        streams[(op["device"], op["context"], op["stream"])].append(op)
    for rows in streams.values():
        rows.sort(key=lambda o: o["start_ns"])
        last_end, first_missing = None, None
        for op in rows:
            if (op["correlation"], op["start_ns"]) in arrived:
                if first_missing is not None and last_end is not None:
                    out.append((last_end, op["start_ns"]))
                first_missing = None
                last_end = op["end_ns"]
            elif first_missing is None:
                first_missing = op
        if first_missing is not None:
            return None  # ends in a hole: a covering synchronise bounds it, which the truth does not list
    return out


def check_holes(truths, devices, arrived, w0, w1, eq):
    for pid, (ops, _) in truths.items():
        got = holes(ops, arrived[pid])
        if got is None:
            sys.exit("pid %d: the run ends in a hole: let it go on longer after the lost buffer" % pid)
        dev = ops[0]["device"]
        recorded = [(o["start_ns"], o["end_ns"]) for o in ops if (o["correlation"], o["start_ns"]) in arrived[pid]]
        recorded = clip(recorded, w0, w1)
        both = union(recorded + clip(got, w0, w1))
        eq("device %d E1" % dev, devices[dev]["leaves_ns"]["E1"], both - union(recorded))
        eq("device %d leaves" % dev, sum(devices[dev]["leaves_ns"].values()), w1 - w0)


BLOCKING = ("cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize", "cuMemcpyDtoH_v2", "cuMemcpyHtoD_v2")
SLACK_NS = 2000  # a boundary


def check_gaps(dev, ops, notes, leaves, w0, w1, eq, soft):
    """The host's and the queue's part of every gap, by the truth's own call stamps."""
    calls = {tid: sorted(rows) for tid, rows in notes["calls"].items()}
    starts = {tid: [c[0] for c in rows] for tid, rows in calls.items()}
    ends = {tid: [c for c in rows if c[2].split("_ptsz")[0] in BLOCKING] for tid, rows in calls.items()}
    host = queue = woken = boundaries = 0
    busy_until = None
    for op in sorted(ops, key=lambda o: (o["start_ns"], o["submit_ns"])):
        if busy_until is not None and op["start_ns"] > busy_until:
            s, e = max(busy_until, w0), min(op["start_ns"], w1)
            first = min((o for o in ops if o["start_ns"] == op["start_ns"]), key=lambda o: o["submit_ns"])
            rows = calls[first["tid"]]
            i = bisect.bisect_right(starts[first["tid"]], first["submit_ns"]) - 1
            a0 = rows[i][0]
            h = max(0, min(a0, e) - s)
            host += h
            queue += (e - s) - h
            if h:
                boundaries += 1
                for b0, b1, _ in ends[first["tid"]]:
                    if b0 < s < b1:
                        woken += min(b1, s + h) - s
                        boundaries += 1
        busy_until = max(busy_until or 0, op["end_ns"])
    got_host = sum(leaves[k] for k in ("D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "D12", "D13", "E2", "E3"))
    got_queue = sum(leaves[k] for k in ("D9", "D10", "D11", "D14"))
    print("device %d: %d host boundaries; host %d (truth %+d), queue %d (truth %+d), wake-ups %d (truth %+d)" %
          (dev, boundaries, got_host, host - got_host, got_queue, queue - got_queue, leaves["D6"], woken - leaves["D6"]))
    eq("device %d has host gaps" % dev, boundaries > 20, True)
    for what, a, b in (("host part", got_host, host), ("queue part", got_queue, queue), ("D6", leaves["D6"], woken)):
        if abs(a - b) > boundaries * SLACK_NS:
            soft.append("device %d %s: off by %d us at %d boundaries" % (dev, what, abs(a - b) // 1000, boundaries))


def main():
    binary, where = sys.argv[1], sys.argv[2]
    missing = "--missing" in sys.argv
    r = subprocess.run([binary, "report", "--json", where], capture_output=True)
    if r.returncode != 0 and not (r.returncode == 3 and "--cut" in sys.argv):
        sys.exit("report exit %d: %s" % (r.returncode, r.stderr.decode()))
    rep = json.loads(r.stdout)
    bad, soft = [], []

    def eq(what, got, want):
        if got != want:
            bad.append("%s: %s, truth %s" % (what, got, want))

    truths = {}
    for p in sorted(glob.glob(os.path.join(where, "truth.*.tsv"))):
        pid = int(p.split(".")[-2])
        ops, notes = load_truth(p)
        if ops:
            truths[pid] = (ops, notes)
    if not truths:
        sys.exit("no truth in %s" % where)
    windows = {}
    for pid, (ops, notes) in truths.items():
        stamps = [int(x) for x in notes["cupti_timestamp"]]
        # Collection opened at the first stamp the agent took and closed at one after the last submit: its first where
        # the job ends there, a later one where the job lives on and the agent goes on stamping.
        last = max(op["submit_ns"] for op in ops)
        windows[pid] = (stamps[0], [x for x in stamps if x > last])
    w0 = max(w[0] for w in windows.values())
    ends = set().union(*(w[1] for w in windows.values()))
    reported = w0 + rep["devices"][0]["window_ns"] if rep["devices"] else 0
    w1 = min(min(w[1]) for w in windows.values())
    if reported in ends and all(reported <= max(w[1]) for w in windows.values()):
        w1 = reported
    if "--cut" in sys.argv and reported > w1:
        w1 = reported  # the killed one recorded on, and nothing happened on its device
    per_device = defaultdict(list)
    for pid, (ops, notes) in truths.items():
        for op in ops:
            per_device[op["device"]].append(op)
    devices = {d["device"]: d for d in rep["devices"]}
    eq("devices", sorted(devices), sorted(per_device))
    for dev, ops in sorted(per_device.items()):
        d = devices.get(dev)
        if d is None:
            continue
        eq("device %d window" % dev, d["window_ns"], w1 - w0)
        if missing:
            continue
        iv = defaultdict(list)
        for op in ops:
            if op["end_ns"] > op["start_ns"]:
                iv[state(op)].append((op["start_ns"], op["end_ns"]))
        seen = {}
        acc = []
        for k in ("compute", "comm", "copy", "spin"):
            before = union(clip(acc, w0, w1))
            acc = acc + iv[k]
            seen[k] = union(clip(acc, w0, w1)) - before
        eq("device %d compute" % dev, d["compute_ns"], seen["compute"])
        eq("device %d comm exposed" % dev, d["comm_exposed_ns"], seen["comm"])
        eq("device %d copy exposed" % dev, d["copy_exposed_ns"], seen["copy"])
        eq("device %d spin" % dev, d["spin_ns"], seen["spin"])
        eq("device %d none" % dev, d["none_ns"], (w1 - w0) - sum(seen.values()))
        eq("device %d comm total" % dev, d["comm_total_ns"], union(clip(iv["comm"], w0, w1)))
        ker = [(o["start_ns"], o["end_ns"]) for o in ops if o["kind"] == "kernel"]
        inside = [(s, e) for s, e in ker if e > w0 and s < w1]
        eq("device %d kernels" % dev, d["kernels"]["count"], len(inside))
        eq("device %d kernel union" % dev, d["kernels"]["union_ns"], union(clip(ker, w0, w1)))
        eq("device %d kernel sum" % dev, d["kernels"]["sum_ns"], sum(e - s for s, e in clip(ker, w0, w1)))
        eq("device %d kernels without launch" % dev, d["kernels"]["without_launch"], 0)
        leaves = d["leaves_ns"]
        eq("device %d leaves" % dev, sum(leaves.values()), d["window_ns"])
        firsts = min(o["start_ns"] for o in ops)
        lasts = max(o["end_ns"] for o in ops)
        eq("device %d edges" % dev, leaves["E5"], max(0, firsts - w0) + max(0, w1 - lasts))
        eq("device %d D and E" % dev, sum(v for k, v in leaves.items() if k[0] in "DE"), d["none_ns"])
        eq("device %d B" % dev, sum(v for k, v in leaves.items() if k[0] == "B" and k != "B6"), d["comm_exposed_ns"])
        eq("device %d A" % dev, sum(v for k, v in leaves.items() if k[0] == "A"), d["compute_ns"])
        eq("device %d C" % dev, sum(v for k, v in leaves.items() if k[0] == "C"), d["copy_exposed_ns"])
        eq("device %d E1" % dev, leaves["E1"], 0)
        pids = [p for p, (o, _) in truths.items() if o[0]["device"] == dev]
        if len(pids) == 1 and truths[pids[0]][1]["calls"]:
            check_gaps(dev, ops, truths[pids[0]][1], leaves, w0, w1, eq, soft)
    comp = rep["completeness"]
    allops = [o for ops, _ in truths.values() for o in ops if not int(o["graph"] or 0)]
    eq("counted launches", comp["counted"]["launch"], sum(o["kind"] == "kernel" for o in allops))
    eq("counted copies", comp["counted"]["copy"], sum(o["kind"] == "memcpy" and o["bytes"] > 0 for o in allops))
    eq("counted memsets", comp["counted"]["memset"], sum(o["kind"] == "memset" for o in allops))
    if not missing:
        eq("share", comp["share"], 1.0)
        eq("missing", comp["missing"], 0)
        eq("in flight", comp["in_flight"], 0)
    else:
        lost = 0
        for _, notes in truths.values():
            for text in notes["lost_buffer"]:
                n = dict(x.split("=") for x in text.split())
                lost += int(n["kernel"]) + int(n["copy"]) + int(n["memset"])
        eq("missing", comp["missing"], lost)
        if not lost:
            bad.append("the scenario lost nothing")
        arrived = defaultdict(set)
        for l in open(sys.argv[sys.argv.index("--missing") + 1]):
            pid, correlation, start = map(int, l.split())
            arrived[pid].add((correlation, start))
        check_holes(truths, devices, arrived, w0, w1, eq)
    for b in bad + soft:
        print(b)
    print("%d differences" % len(bad + soft))
    sys.exit(1 if bad else 3 if soft else 0)


main()
