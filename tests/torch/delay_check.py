# SPDX-License-Identifier: Apache-2.0
"""An injected delay comes out as its own leaf. usage: delay_check.py HOW FOLDER STAMPS REPORT.json

The truth: the time in which the device was idle by the simulator's own rows, and the host was in the delay: by the
job's stamps, or (alloc, module) in the driver calls of that kind, which the truth lists. The leaf must hold at least
95 % of it, and not more than there was; it must be worth talking about, and come first.
"""
import glob
import json
import sys

how, folder, stamps, report = sys.argv[1:5]
LEAVES = {"input": ["D1"], "late": ["D8"], "sync": ["D6", "D7"], "alloc": ["D3"], "module": ["D2"]}[how]
CALLS = {"alloc": ("cuMemAlloc", "cuMemFree", "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap", "cuMemAddress"),
         "module": ("cuModule", "cuLibrary")}

busy, calls = [], []
for path in glob.glob(folder + "/truth.*.tsv"):
    with open(path) as f:
        names = f.readline().lstrip("# ").split()
        for line in f:
            row = dict(zip(names, line.rstrip("\n").split("\t")))
            if row.get("row") == "op":
                busy.append((int(row["start_ns"]), int(row["end_ns"])))
            elif row.get("row") == "call" and row["name"].startswith(CALLS.get(how, ("-",))):
                calls.append((int(row["start_ns"]), int(row["end_ns"])))
busy.sort()
idle, reach = [], busy[0][0]
for begin, end in busy:
    if begin > reach:
        idle.append((reach, begin))
    reach = max(reach, end)
spans = [tuple(map(int, line.split())) for line in open(stamps)]


def common(xs, ys):
    out, i, j = [], 0, 0
    while i < len(xs) and j < len(ys):
        begin, end = max(xs[i][0], ys[j][0]), min(xs[i][1], ys[j][1])
        if begin < end:
            out.append((begin, end))
        if xs[i][1] < ys[j][1]:
            i += 1
        else:
            j += 1
    return out


total = lambda xs: sum(e - b for b, e in xs)
held = common(idle, spans)
happened = common(held, sorted(calls)) if how in CALLS else held
if how == "sync":  # where a slow host has let the device run dry before, there is nothing to wait for
    happened = common(idle, [s for s in spans if not any(b <= s[0] < e for b, e in idle)])
r = json.load(open(report))
# Of the steps that have a delay in them: start-up has waits and loading of its own.
middles = [(b + e) // 2 for b, e in spans]
steps = [s for s in r["steps"] if any(s["start_ns"] <= m < s["end_ns"] for m in middles)]
assert len(steps) == len(spans), (len(steps), len(spans))
leaves = {k: sum(s["leaves_ns"].get(k, 0) for s in steps) for k in r["devices"][0]["leaves_ns"]}
got = sum(leaves[k] for k in LEAVES)
whole = spans[-1][1] - spans[0][0]
print("%s: happened %.3f ms (idle in the delays %.3f ms), %s says %.3f ms = %.2f %%; the loop took %.1f ms" % (
    how, total(happened) / 1e6, total(held) / 1e6, "+".join(LEAVES), got / 1e6, 100 * got / max(1, total(happened)), whole / 1e6))
print({k: round(v / 1e6, 3) for k, v in leaves.items() if v > 100000})
first = r["opportunities"][0]["leaf"]
checks = {
    "large enough to matter": total(happened) >= min(100e6, 0.2 * whole),
    "at least 95 %": got >= 0.95 * total(happened),
    # The host is late without a delay too, so D8 has more; never more than the device was idle.
    "not more than there was": got <= (1.05 * total(held) if how in ("input", "sync") else total(idle)),
    "it is the first opportunity (%s)" % first: first in LEAVES or how in CALLS,
}
for what, ok in checks.items():
    print("ok  " if ok else "WRONG", what)
sys.exit(not all(checks.values()))
