#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds `warptap report --json DIR` against the simulator's truth in DIR, by an implementation of its own.

Everything made of device times must be equal to the nanosecond; leaves cut by host stamps within 2 us a boundary.
usage: truth_check.py WARPTAP DIR [--missing]      --missing: activity buffers were lost on purpose
"""
import csv
import glob
import json
import os
import subprocess
import sys
from collections import defaultdict


def load_truth(path):
    ops, notes = [], defaultdict(list)
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
    if "ncclDevKernel" in op["name"] or "ncclKernel" in op["name"]:
        return "comm"
    if "spin_kernel" in op["name"]:
        return "spin"
    return "compute"


def main():
    binary, where = sys.argv[1], sys.argv[2]
    missing = "--missing" in sys.argv
    r = subprocess.run([binary, "report", "--json", where], capture_output=True)
    if r.returncode != 0:
        sys.exit("report exit %d: %s" % (r.returncode, r.stderr.decode()))
    rep = json.loads(r.stdout)
    bad = []

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
        # Collection opened at the first stamp the agent took and closed at its first one after the last submit.
        last = max(op["submit_ns"] for op in ops)
        windows[pid] = (stamps[0], min(x for x in stamps if x > last))
    w0 = max(w[0] for w in windows.values())
    w1 = min(w[1] for w in windows.values())
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
        lost = sum(int(x.split()[0]) for _, n in truths.values() for x in n["lost_ops"])
        eq("missing", comp["missing"], lost)
        if not lost:
            bad.append("the scenario lost nothing")
        eq("E1 is booked", any(d["leaves_ns"]["E1"] > 0 for d in rep["devices"]), True)
    for b in bad:
        print(b)
    print("%d differences" % len(bad))
    sys.exit(1 if bad else 0)


main()
