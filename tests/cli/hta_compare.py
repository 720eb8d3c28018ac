#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`warptap report --as hta` against HTA itself, number by number, and against our own view where the rules differ.

usage: hta_compare.py WARPTAP ORACLE.jsonl      (what hta_oracle.py printed)

The second half holds HTA's numbers against our own ledger: equal to the nanosecond, or different by a rule that the file
is known to touch. What a rule explains is computed here from the file itself.
"""
import gzip
import re
import collections
import decimal
import json
import subprocess
import sys

warptap, oracle = sys.argv[1:]
ALLOWED_US = 0.1
failed, read, compared, worst = [], 0, 0, 0.0
CATEGORIES = ("host_wait", "kernel_wait", "other")


def check(name, what, ours, theirs, allowed=ALLOWED_US):
    global compared, worst
    compared += 1
    worst = max(worst, abs(ours - theirs))
    if not abs(ours - theirs) <= allowed:
        failed.append(f"{name}: {what}: {ours} us, HTA says {theirs}")


equal, reasons = 0, collections.Counter()


def union_ns(rows):
    total, reach = 0, None
    for start, end in sorted(rows):
        if reach is None or end > reach:
            total += end - (start if reach is None else max(start, reach))
            reach = end
    return total


def ns(text):
    return int((decimal.Decimal(text) * 1000).to_integral_value(decimal.ROUND_HALF_EVEN))


def work_rows(path, report):
    """Device rows as our ledger takes them: (start, end, name, correlation), from the file by Python's own parser."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        top = json.loads(f.read(), parse_float=str, parse_int=str)
    out = []
    for e in top["traceEvents"]:
        if e.get("cat") in ("kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset") and e.get("ph") == "X":
            out.append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), e["name"], e["args"].get("correlation")))
    return out


def explain(name, path, report):
    """Why our ledger says something else. Each rule undone on the rows of the file must give our number."""
    global equal
    rank, devices = report["hta"][0], report["devices"]
    ours = {k: sum(d[k] for d in devices) for k in ("compute_ns", "none_ns", "window_ns")}
    if len(devices) > 1:
        reasons["HTA takes several devices for one"] += 1
        return
    if (ours["compute_ns"], ours["none_ns"]) == (rank["compute_ns"], rank["idle_ns"]):
        equal += 1
        return
    rows = work_rows(path, report)
    why = []
    if rank["rows_not_work"]:
        why.append("rows that are no work")
    if rank["rows_left_out"]:
        why.append("rows outside the steps")
    comm = {k["name"] for k in report["kernels"] if k["role"] == "comm" and not re.match("nccl.*Kernel", k["name"])}
    if comm:
        why.append("communication not by NCCL")
    reasons[" + ".join(why)] += 1
    # Undone: all work and nothing else, classed by our families.
    other = {k["name"] for k in report["kernels"] if k["role"] in ("comm", "spin")}
    copies = re.compile("Memcpy|Memset|Copy(Host|Device)To|__amd_rocclr_(copy|fill)Buffer")
    mine = [r for r in rows if r[2] not in other and not copies.match(r[2])]
    got = (union_ns(r[:2] for r in mine), max(r[1] for r in rows) - min(r[0] for r in rows) - union_ns(r[:2] for r in rows))
    if not why or got != (ours["compute_ns"], ours["none_ns"]):
        failed.append(f"{name}: ours {ours}, HTA's rules {rank['compute_ns']} {rank['idle_ns']}; undone {got}; {why}")


for line in open(oracle):
    hta = json.loads(line)
    name = hta["file"].split("/")[-1]
    if "error" in hta:
        continue
    read += 1
    out = subprocess.run([warptap, "report", "--json", "--as", "hta", hta["file"]], capture_output=True, text=True)
    report = json.loads(out.stdout)
    if len(report["hta"]) != 1:
        failed.append(f"{name}: {len(report['hta'])} ranks")
        continue
    rank = report["hta"][0]
    for key in ("idle", "compute", "non_compute", "kernel"):
        check(name, key, rank[key + "_ns"] / 1000, hta[key])
    if hta.get("overlap_pct") is not None and hta["overlap_pct"] == hta["overlap_pct"]:
        # Printed with two decimals.
        check(name, "overlap %", 100 * rank["overlap_ns"] / rank["comm_ns"], hta["overlap_pct"], 0.0051)
    elif rank["comm_ns"]:
        failed.append(f"{name}: HTA finds no communication, we do")
    theirs = {}
    for stream, category, us in hta["streams"]:
        theirs[stream, category] = us
    ours = {(s["stream"], c): s[c + "_ns"] / 1000 for s in rank["streams"] for c in CATEGORIES if s[c + "_ns"] is not None}
    if set(ours) != set(theirs):
        failed.append(f"{name}: streams and categories {sorted(set(ours) ^ set(theirs))} are in one view only")
    for key in sorted(set(ours) & set(theirs)):
        check(name, f"stream {key[0]} {key[1]}", ours[key], theirs[key])

    explain(name, hta["file"], report)

for f in failed:
    print(f)
print(f"{read} files read by HTA, {compared} numbers compared, largest difference {worst:.4f} us; "
      f"own view equal to the ns in {equal}, different by rule in {sum(reasons.values())} ({dict(reasons)}); "
      f"{len(failed)} failures")
# 36 of the 46 shared files; the others hold no device rows but for k019 (no durations) and k054 (HTA fails on it).
sys.exit(1 if failed or read != 36 else 0)
