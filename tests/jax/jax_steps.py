#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of a JAX job: by the truth all but the first run the same kernels, and the report finds as many steps as were
made, with the operations and within the times that the job itself took down.

usage: jax_steps.py TRUTH STEPS_FILE REPORT.json graph|launch SOURCE

How the job launches: a graph a step, or kernel by kernel; and how the report is to know steps.
"""
import collections
import json
import sys


def main():
    with open(sys.argv[2]) as f:
        spans = [tuple(map(int, line.split())) for line in f]
    report, how, source = json.load(open(sys.argv[3])), sys.argv[4], sys.argv[5]
    kernels = [collections.Counter() for _ in spans]
    launches = [set() for _ in spans]
    ops, nodes = [], 0
    with open(sys.argv[1]) as f:
        names = f.readline().lstrip("# ").split()
        for line in f:
            row = dict(zip(names, line.rstrip("\n").split("\t")))
            if row.get("row") != "op":
                continue
            ops.append((int(row["submit_ns"]), int(row["end_ns"]), int(row["graph"]) > 0,
                        row["kind"] == "kernel"))
            if row["kind"] != "kernel":
                continue
            nodes += int(row["graph"]) > 0
            for i, (begin, end) in enumerate(spans):
                if begin <= int(row["submit_ns"]) < end:
                    kernels[i][row["name"], row["grid"], row["block"], row["smem"]] += 1
                    launches[i].add(row["correlation"])
    assert all(k == kernels[1] for k in kernels[1:]), "steps differ: %s" % [sum(k.values()) for k in kernels]
    a_step = sum(kernels[1].values())
    print("%d kernels a step in %d launches" % (a_step, len(launches[1])))
    counted = report["completeness"]["counted"]
    if how == "graph":
        assert all(len(x) == 1 for x in launches[1:]), launches[1:]
        assert counted["graph_launch"] == len(spans) and nodes == len(spans) * a_step, (counted, nodes)
    else:
        assert all(len(x) == a_step for x in launches[1:]), launches[1:]
        assert counted["graph_launch"] == 0 and nodes == 0, (counted, nodes)
    whole = [s for s in report["steps"] if not s["partial"]]
    assert whole and all(s["source"] == source for s in whole), report["steps"]
    # Start-up and the first step, which waits for the compiler, are partial; so is the last.
    assert len(whole) >= len(spans) - 2, (len(whole), len(spans))
    if source != "period":
        windows(spans, ops, how, whole)
    # Where XLA was not asked what kernels belong to, the report says how to ask.
    assert ("WARPTAP_XLA=1" in (report["modules"]["remedy"] or "")) == (source != "program"), report["modules"]
    if source == "program":
        # Every kernel's module is known, by the path of its instruction where XLA said it.
        assert report["modules"]["unknown_ns"] == 0, report["modules"]["unknown_ns"]
        paths = [m["path"] for m in report["modules"]["paths"]]
        assert all(p.startswith(("jit_", "jit(")) for p in paths), paths
        phases = {p["phase"]: p["kernels"] for p in report["phases"]}
        if how == "launch":
            assert min(phases["forward"], phases["backward"]) >= len(spans) * 10, phases


def windows(spans, ops, how, whole):
    """A step lasts until all is done that was launched before its graph or program runs again."""
    begins = [min(s for s, _, graph, kernel in ops if (graph if how == "graph" else kernel) and a <= s < b)
              for a, b in spans] + [1 << 63]
    want = [max(op[1] for op in ops if a <= op[0] < b) for a, b in zip(begins, begins[1:])]
    got = [(s["window_ns"], s["end_ns"]) for s in whole]
    assert got == [(b - a, b) for a, b in zip(want, want[1:-1])], (got, want)
    for n in range(1, len(spans) - 1):  # between what the job took down
        assert spans[n][0] < want[n] < spans[n + 1][1], n


main()
