#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What jax.profiler wrote beside the agent is what it writes alone; the agent's trace and the profile are of one run
and agree: the same kernels a step, as often and as long, and each step as long, and busy as long, as the truth says.

The tolerance is 0 ns: both convert what the simulated CUPTI says, and the scenario gives all kernels one duration. XLA
subtracts the start of the profile from all times; that difference, less than a millisecond, is found and taken off.

usage: jax_profile.py ALONE.json BESIDE.json TRACE.json TRUTH STEPS_FILE     the first three are reports
"""
import collections
import json
import sys


def load_truth(path):
    rows = []
    with open(path) as f:
        names = f.readline().lstrip("# ").split()
        for line in f:
            row = dict(zip(names, line.rstrip("\n").split("\t")))
            if row.get("row") == "op":
                rows.append((int(row["submit_ns"]), int(row["start_ns"]), int(row["end_ns"]),
                             row["name"] if row["kind"] == "kernel" else ""))
    return rows


def kernels(report):
    return {k["name"]: (k["count"], k["sum_ns"]) for k in report["kernels"]}


def busy_ns(ops, begin, end):
    """How long some operation runs in [begin, end)."""
    busy, reach = 0, begin
    for _, a, b, _ in sorted(ops, key=lambda op: op[1]):
        a, b = max(a, reach), min(b, end)
        if b > a:
            busy, reach = busy + b - a, b
    return busy


def busy_of(step):
    return step["window_ns"] - step["none_ns"]


def windows(ops, spans, report, what):
    """Steps of the report that last as long as the truth says, from the end of the one before to their own end, and are
    busy as long.

    XLA moves the times of the device to its own start of the profile, all by the same; so the profile's ends are
    compared with the truth's less that difference.
    """
    ends = [max(end for submit, _, end, name in ops if name and a <= submit < b) for a, b in spans]
    whole = [s for s in report["steps"] if not s["partial"]]
    moved = whole[-1]["end_ns"] - ends[-1] if what == "profile" else 0
    want = {end + moved: (end - before, busy_ns(ops, before, end)) for before, end in zip(ends, ends[1:])}
    seen = [s for s in whole if want.get(s["end_ns"]) == (s["window_ns"], busy_of(s))]
    print("%s: %d whole steps, %d as long as in the truth, moved by %d ns" % (what, len(whole), len(seen), moved))
    assert abs(moved) < 1000000, moved
    return seen


def main():
    alone, beside, trace = (json.load(open(p)) for p in sys.argv[1:4])
    ops = load_truth(sys.argv[4])
    steps = [tuple(map(int, line.split())) for line in open(sys.argv[5])]
    profiled = [s[:2] for s in steps if s[2]]
    # The profile is not changed by the agent: kernels, their times, their instructions and steps.
    assert kernels(alone) == kernels(beside), (kernels(alone), kernels(beside))
    assert alone["modules"] == beside["modules"] and alone["modules"]["coverage"] == 1.0, beside["modules"]
    assert [s["step"] for s in alone["steps"]] == [s["step"] for s in beside["steps"]]
    # The profile against the truth.
    inside = [op for op in ops if op[3] and profiled[0][0] <= op[0] < profiled[-1][1]]
    k = beside["devices"][0]["kernels"]
    assert (k["count"], k["sum_ns"]) == (len(inside), sum(e - s for _, s, e, _ in inside)), k
    in_profile = windows(ops, profiled, beside, "profile")
    assert len(in_profile) == len(profiled) - 1, beside["steps"]
    # The trace: complete, and what stood outside of it is counted.
    complete = trace["completeness"]
    made = sum(1 for a, b, _ in steps)
    graphs = complete["counted"]["graph_launch"], complete["outside_windows"]["graph_launch"]
    assert complete["share"] == 1.0 and complete["missing"] == 0, complete
    assert sum(graphs) == made and graphs[1] >= len(profiled) and graphs[0] >= 4, (graphs, made)
    # Both on a step: kernels by name, how often, how long in all.
    def a_step(report, n):
        got = {name: (c / n, ns / n) for name, (c, ns) in kernels(report).items()}
        assert all(c == int(c) for c, _ in got.values()), got
        return got
    of_step = {name: row for name, row in a_step(beside, len(profiled)).items()}
    names = collections.Counter(name for submit, _, _, name in ops if name and steps[-1][0] <= submit < steps[-1][1])
    assert {n: c for n, (c, _) in of_step.items()} == dict(names), (of_step, names)
    in_trace = {n: row for n, row in a_step(trace, graphs[0]).items() if n in of_step}
    assert in_trace == of_step, (in_trace, of_step)
    # Paths of instructions, which the profile has: the same of each step, and by them forward and backward.
    def paths(report, n):
        return {m["path"]: m["kernels"] / n for m in report["modules"]["paths"]}

    assert paths(trace, graphs[0]) == paths(beside, len(profiled)), (paths(trace, graphs[0]), paths(beside, 1))
    phases = {p["phase"]: p["kernels"] for p in trace["phases"]}
    assert phases["forward"] >= graphs[0] and phases["backward"] >= graphs[0], phases
    # Steps that the trace found, before and after, against the truth.
    in_trace = windows(ops, [s[:2] for s in steps], trace, "trace")
    assert len(in_trace) >= 2, trace["steps"]
    # No step is in both, since the recorder stands back for the profiler; all of them do the same.
    assert {busy_of(s) for s in in_trace} == {busy_of(s) for s in in_profile}, (in_trace, in_profile)


main()
