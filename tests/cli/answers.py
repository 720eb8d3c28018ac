#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `warptap report --json` with tables of known answers. usage: answers.py BIN TRACES

TRACES/ANSWERS.tsv: the exact sweep of a few files, in ns. TRACES/MANIFEST.tsv: kernel counts, unions and sums of all.
Every file must exit 0 and every device's leaves, grades and states must sum to its window."""
import csv
import json
import os
import subprocess
import sys

KEYS = {"window_ns": "window_ns", "compute_ns": "compute_ns", "comm_exposed_ns": "comm_exposed_ns",
        "copy_exposed_ns": "copy_exposed_ns", "idle_ns": "none_ns", "comm_total_ns": "comm_total_ns",
        "comm_hidden_ns": "comm_hidden_ns"}
STATES = ("compute_ns", "comm_exposed_ns", "copy_exposed_ns", "spin_ns", "none_ns")
TOP = ("schema", "inputs", "devices", "rollup_ns", "ranks", "kernels", "collectives", "steps", "completeness",
       "cost", "environment", "opportunities", "notes")

binary, traces = sys.argv[1:3]
failures = []
reports = {}


def check(ok, text):
    if not ok:
        failures.append(text)


def rows(name):
    with open(os.path.join(traces, name), newline="") as f:
        return list(csv.DictReader(f, delimiter="\t"))


def report(row):
    run = subprocess.run([binary, "report", "--json", os.path.join(traces, row["file"])], capture_output=True)
    check(run.returncode == 0, f"{row['id']}: exit {run.returncode}: {run.stderr.decode()[:200]}")
    return json.loads(run.stdout) if run.returncode == 0 else None


def check_shape(i, r):
    check([k for k in r if k in TOP] == list(TOP), f"{i}: keys are {', '.join(r)}")
    check(r["schema"] == "warptap.report/1", f"{i}: schema {r['schema']}")
    for d in r["devices"]:
        check(sum(d["leaves_ns"].values()) == d["window_ns"], f"{i}: leaves do not sum to the window")
        check(sum(d["grades_ns"].values()) == d["window_ns"], f"{i}: grades do not sum to the window")
        check(sum(d[k] for k in STATES) == d["window_ns"], f"{i}: states do not sum to the window")
        check(all(v >= 0 for v in d["leaves_ns"].values()), f"{i}: a leaf is negative")
    check(sum(r["rollup_ns"].values()) == sum(d["window_ns"] for d in r["devices"]), f"{i}: the roll-up does not close")
    check(sum(k["count"] for k in r["kernels"]) == sum(d["kernels"]["count"] for d in r["devices"]),
          f"{i}: kernels by name and by device differ")
    check(r["completeness"]["share"] is None and r["completeness"]["counted"]["launch"] is None,
          f"{i}: this file counts nothing, the report says it does")


files = {kind: [row for row in rows("MANIFEST.tsv") if row["kind"] == kind] for kind in ("kineto", "nsys-sqlite")}
for kind, expected in (("kineto", 46), ("nsys-sqlite", 11)):
    check(len(files[kind]) == expected, f"{len(files[kind])} files of {kind} in the manifest, {expected} expected")
empty = 0
for row in files["kineto"] + files["nsys-sqlite"]:
    i, r = row["id"], report(row)
    if not r:
        continue
    reports[i] = r
    check_shape(i, r)
    if not r["devices"]:
        empty += 1
        check(any("no device records" in n for n in r["notes"]), f"{i}: no device, and no note says so")
    kernels = [d["kernels"] for d in r["devices"]]
    check(sum(k["count"] for k in kernels) == int(row["gpu_kernels"]),
          f"{i}: {sum(k['count'] for k in kernels)} kernels, {row['gpu_kernels']} expected")
    check(sum(k["without_launch"] for k in kernels) == int(row["unmatched_kernels"] or 0),
          f"{i}: {sum(k['without_launch'] for k in kernels)} kernels without launch, {row['unmatched_kernels']} expected")
    check(sum(k["same_stream_overlaps"] for k in kernels) == int(row["same_stream_overlaps"] or 0),
          f"{i}: same-stream overlaps are not {row['same_stream_overlaps']}")
    for column, key in (("kernel_union_us", "union_ns"), ("kernel_sum_us", "sum_ns")):
        # The tables are rounded to whole or tenths of a microsecond.
        if row[column]:
            got = sum(k[key] for k in kernels)
            slack = 0.1 if "." in row[column] else 0.5
            check(abs(got / 1000 - float(row[column])) <= slack, f"{i}: {key} {got} ns, {row[column]} us expected")
check(empty == 11, f"{empty} files hold no device records, 11 expected")

answers = rows("ANSWERS.tsv")
check(len(answers) == 8, f"{len(answers)} answers, 8 expected")
for row in answers:
    device = [d for d in reports.get(row["id"], {"devices": []})["devices"] if str(d["device"]) == row["device"]]
    check(len(device) == 1, f"{row['id']}: no device {row['device']}")
    for column, key in KEYS.items() if device else ():
        check(device[0][key] == int(row[column]), f"{row['id']}: {key} {device[0][key]}, {row[column]} expected")

for f in failures:
    print(f)
print(f"{len(reports)} files, {len(answers)} answers, {len(failures)} differences")
sys.exit(1 if failures else 0)
