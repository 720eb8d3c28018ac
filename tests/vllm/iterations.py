#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report's table of iterations against the engine's own log of them: requests, tokens and phase, in order.

Where the report says that its tokens are rounded (grade 1: graphs for parts of the pass are made for a few sizes), they
must be no fewer than those logged, and less than twice as many. Such an iteration is not equal for that; how many there
are is printed.

usage: iterations.py REPORT.json LOG PER_CENT [--source SOURCE] [--devices N] [--by-geometry]
"""
import argparse
import difflib
import json
import re

KEYS = ("context_requests", "context_tokens", "generation_requests", "generation_tokens")
LINE = re.compile(r"Iteration\(\d+\): (\d+) context requests, (\d+) context tokens, "
                  r"(\d+) generation requests, (\d+) generation tokens")


def phase(context, generation):
    return "mixed" if context and generation else "prefill" if context else "decode"


def rounded(row, got, want):
    """The row says so, and all but the tokens of prompts is equal."""
    return (row["source"] == "geometry" and row["grade"] == 1 and got[:1] + got[2:] == want[:1] + want[2:] and
            want[1] < got[1] < 2 * want[1] + 16)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("report")
    p.add_argument("log")
    p.add_argument("least", type=float)
    p.add_argument("--source", default="engine")
    p.add_argument("--devices", type=int, default=1)
    p.add_argument("--by-geometry", action="store_true")
    args = p.parse_args()
    report = json.load(open(args.report))
    logged = [tuple(map(int, m)) for m in LINE.findall(open(args.log, errors="replace").read())]
    want = [w + (phase(w[0], w[2]),) for w in logged if any(w)]
    assert want, "the engine logged nothing"
    devices = {}
    for s in report["steps"]:
        if s["iteration"] and not s["iteration"]["start_up"]:
            devices.setdefault(s["device"], []).append(s)
    assert len(devices) == args.devices, devices.keys()
    for device, steps in sorted(devices.items()):
        assert {s["source"] for s in steps} == {args.source}, {s["source"] for s in steps}
        rows = [s["iteration"]["by_geometry"] if args.by_geometry else s["iteration"] for s in steps]
        got = [tuple(r[k] for k in KEYS) for r in rows]
        got = [g + (phase(g[0], g[2]) if args.by_geometry else s["phase"],) for g, s in zip(got, steps)]
        alike = [len(got) == len(want) and rounded(*x) for x in zip(rows, got, want)]
        for g, w, r, a in zip(got, want, rows, alike):
            # What differs in nothing but the tokens of prompts has to be said to be rounded.
            assert len(got) != len(want) or g == w or a or g[:1] + g[2:] != w[:1] + w[2:], (g, w, r)
        blocks = difflib.SequenceMatcher(None, got, want, autojunk=False).get_matching_blocks()
        equal = sum(b.size for b in blocks)
        share = 100 * equal / max(len(got), len(want))
        print("device %s: %d iterations, %d logged, %d equal: %.1f %%, and %d more but for rounded tokens" %
              (device, len(got), len(want), equal, share, sum(alike)))
        if share < 100:
            for i, (g, w) in enumerate(zip(got, want)):
                if g != w:
                    print("  %d: %s, logged %s" % (i, g, w))
        assert share >= args.least, "less than %g %%" % args.least
        (row,) = [r for r in report["requests"] if r["device"] == device]
        assert row["iterations"] == len(got), row
        if share == 100 and not args.by_geometry:
            for k, i in (("context_requests", 0), ("context_tokens", 1), ("generation_tokens", 3)):
                assert row[k] == sum(w[i] for w in want), (k, row)
            assert row["service_ttft_ns"]["n"] == row["context_requests"], row
            assert row["tpot_ns"]["n"] == sum(w[2] for w in want), row


main()
