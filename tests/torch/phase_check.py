# SPDX-License-Identifier: Apache-2.0
"""Phases of a report against what the job says it did when. usage: phase_check.py FOLDER STAMPS DUMP REPORT.json STEPS

Per kernel: its phase by the moment it was submitted (truth) and by warptap (tests/e2e/phase_dump). At least 99 % of the
kernel time that the truth has a phase for must agree, recompute's alone too, and the report's sums are the dump's.
"""
import bisect
import collections
import glob
import json
import sys

folder, stamps, dump, report, steps = sys.argv[1:6]
spans = []
for line in open(stamps):
    name, begin, end = line.split()
    if name != "step":
        spans.append((int(begin), int(end), name))
spans.sort()
begins = [s[0] for s in spans]


def phase_at(t):
    i = bisect.bisect_right(begins, t)
    for begin, end, name in reversed(spans[max(0, i - 8):i]):  # the innermost; recompute lies inside backward
        if begin <= t < end:
            return name
    # Between the pieces of recompute, backward goes on.
    for begin, end, name in reversed(spans[:i]):
        if name == "backward":
            return name if t < end else None
    return None


truth = {}
for path in glob.glob(folder + "/truth.*.tsv"):
    pid = int(path.split(".")[-2])
    with open(path) as f:
        names = f.readline().lstrip("# ").split()
        for line in f:
            row = dict(zip(names, line.rstrip("\n").split("\t")))
            if row.get("row") == "op" and row["kind"] == "kernel":
                truth[pid, int(row["correlation"])] = (phase_at(int(row["submit_ns"])), int(row["end_ns"]) - int(row["start_ns"]))
said, sums = {}, collections.Counter()
for line in open(dump):
    pid, correlation, start, end, phase, _ = line.split()
    if (int(pid), int(correlation)) in truth:
        said[int(pid), int(correlation)] = phase
        sums[phase] += int(end) - int(start)
table, total, right = collections.Counter(), collections.Counter(), collections.Counter()
for key, (phase, ns) in truth.items():
    table[phase, said.get(key)] += ns
    if phase:
        total[phase] += ns
        right[phase] += ns if said.get(key) == phase else 0
for (a, b), ns in sorted(table.items(), key=lambda x: -x[1]):
    print("%-10s said to be %-10s %10.3f ms" % (a, b, ns / 1e6))
r = json.load(open(report))
rows = {p["phase"]: p for p in r["phases"]}
whole = [s for s in r["steps"] if not s["partial"]]
checks = {
    "99 %% of kernel time is in its phase (%.3f %%)" % (100 * sum(right.values()) / sum(total.values())):
        sum(right.values()) >= 0.99 * sum(total.values()),
    "sums of the report are those of its operations": {k: v["kernel_ns"] for k, v in rows.items() if v["kernels"]} == dict(sums),
    "phases make up the windows": sum(p["busy_ns"] + p["idle_ns"] for p in r["phases"]) == sum(d["window_ns"] for d in r["devices"]),
    "every step is there (%d of %s)" % (len(r["steps"]), steps): int(steps) <= len(r["steps"]) <= int(steps) + 1,
    "steps are whole but the ends (%d)" % len(whole): len(whole) >= int(steps) - 1,
}
won = r["opportunities"]
checks["opportunities are of the whole steps"] = all(
    o["of"] == "whole steps" and o["of_ns"] == sum(s["window_ns"] for s in whole) for o in won)
checks["they never add up to more than what is not computing"] = 0 < sum(o["ns"] for o in won) <= sum(
    s["window_ns"] - s["compute_ns"] for s in whole)
checks["each says what it stands on, largest first"] = all(o["operations"] and o["devices"] for o in won) and [
    o["ns"] for o in won] == sorted((o["ns"] for o in won), reverse=True)
for phase in total:
    checks["%s: %.3f %% of %.3f ms" % (phase, 100 * right[phase] / total[phase], total[phase] / 1e6)] = \
        right[phase] >= 0.98 * total[phase]
if "recompute" in total:
    share = total["recompute"] / sum(total.values())
    got = rows["recompute"]["kernel_ns"] / sum(rows[p]["kernel_ns"] for p in total)
    checks["recompute is %.3f %% of kernel time, said to be %.3f %%" % (100 * share, 100 * got)] = abs(got - share) < 0.01 * share
else:
    checks["no recompute where there is none"] = "recompute" not in rows
for what, ok in checks.items():
    print("ok  " if ok else "WRONG", what)
sys.exit(not all(checks.values()))
