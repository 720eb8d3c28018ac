# SPDX-License-Identifier: Apache-2.0
"""Operations of each training step by the truth: from the second step on every step must be the same.

The first step also makes the optimizer's state. usage: step_count.py TRUTH STEPS_FILE  -> "N launches a step"
"""
import collections
import sys


def main():
    with open(sys.argv[2]) as f:
        steps = [tuple(map(int, line.split())) for line in f]
    counts = [collections.Counter() for _ in steps]
    with open(sys.argv[1]) as f:
        names = f.readline().lstrip("# ").split()
        for line in f:
            row = dict(zip(names, line.rstrip("\n").split("\t")))
            if row.get("row") != "op":
                continue
            at = int(row["submit_ns"])
            for count, (begin, end) in zip(counts, steps):
                if begin <= at < end:
                    count[row["kind"], row["name"], row["grid"]] += 1
    if len(counts) < 3 or any(c != counts[1] for c in counts[1:]):
        for n, c in enumerate(counts):
            print("step %d: %d operations" % (n, sum(c.values())))
        for key in set().union(*counts[1:]):
            seen = [c[key] for c in counts[1:]]
            if len(set(seen)) > 1:
                print(key, seen)
        sys.exit("steps differ")
    print("%d launches a step" % sum(n for (kind, _, _), n in counts[1].items() if kind == "kernel"))


main()
