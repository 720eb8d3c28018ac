# SPDX-License-Identifier: Apache-2.0
"""What the agent's hooks cost a training loop, with and without them within one process. Called by bench_torch.sh.

Between two processes even without the agent lie some percent, for as long as they live: more than levels off and count
cost. So here the agent is in every process, and src/switch.c, preloaded before it, lets blocks of steps go past its
hooks or through them. Each round has three blocks in an order drawn anew: with the hooks, without, without again. A
pair is the block with the hooks of a round and the mean of the two without; "none again" is the one of these two
against the other: what this way can tell apart.

What is not switched is there in all blocks: the agent's memory, and its threads. Their CPU time is taken apart: it is
told, and wall time is told a second time as if all that they did in blocks without hooks had held these up, and only
these ("charged"; the verdict is on that). CPU time has all of theirs on the side of the hooks.

That the switch does what it says is shown in every process: in blocks without hooks the agent's own counters stand
still; where the switch counts too both count the same; in measured blocks they count so many for each step; the trace
of level api has exactly so many rows. At off nothing is counted: there the level is count while this is shown.
usage: torch_within.py BUILD DIR SETS ROUNDS eager|graph|both [LEVEL...]
"""
import glob
import math
import os
import random
import re
import socket
import subprocess
import sys

import numpy

from torch_cost import BLOCK_NS, LIMITS, MODES, WARM_STEPS, Loop, hodges_lehmann, interval, verdict

NUMBER = {"off": 1, "count": 2, "api": 3}  # as the control socket has them
BLOCKS = ("with", "without", "without again")
WALL, CPU, STEP, AGENT, CALLS, PRODUCTS = range(6)
PROOF_STEPS = (7, 11)


class Switched(Loop):
    def __init__(self, build, where, mode, level):
        super().__init__(build, where, mode, level, [build + "/tests/bench/libswitch.so"])
        self.where, self.level = where, level
        self.run(WARM_STEPS)

    def ask(self, request):
        (path,) = glob.glob(self.where + "/warptap/*")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(10)
            s.connect(path)
            s.send(("warptap/1 " + request).encode())
            answer = s.recv(8192).decode()
        if not answer.startswith("warptap/1 ok\n"):
            raise SystemExit("the agent answers: " + answer)
        return dict(line.partition(" ")[::2] for line in answer.splitlines()[1:])

    def block(self, steps, way):
        """What it took, and what the agent counted meanwhile."""
        before = int(self.ask("status")["calls"])
        took = self.run("%d %s" % (steps, way.split()[0]))
        return took, int(self.ask("status")["calls"]) - before

    def prove(self):
        """Calls a step, as the agent counts and as the switch does."""
        if self.level == "off":
            self.ask("level level=%d" % NUMBER["count"])
        a_step = set()
        for steps in PROOF_STEPS:
            took, counted = self.block(steps, "counted")
            made = took[CALLS] + (took[PRODUCTS] if self.level == "api" else 0)
            if counted != made or not made:
                raise SystemExit("%s: the switch counts %d calls, the agent %d" % (self.level, made, counted))
            a_step.add(made / steps)
            if self.block(steps, "without")[1]:
                raise SystemExit("%s: calls are counted that went past the hooks" % self.level)
        if len(a_step) != 1:
            raise SystemExit("%s: steps are not alike: %s calls" % (self.level, a_step))
        if self.level == "off":
            self.ask("level level=%d" % NUMBER["off"])
        return a_step.pop()


def rows_of(build, where):
    out = subprocess.run([build + "/warptap", "info"] + glob.glob(where + "/*.wt"), stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    rows = re.search(r"^ *calls +\d+ +(\d+)", out, re.M)
    if not rows:
        raise SystemExit("no calls in the trace:\n" + out)
    return int(rows.group(1))


def one_set(build, where, mode, level, rounds, steps, draw):
    loop = Switched(build, where, mode, level)
    a_step = loop.prove()
    if not steps:
        steps = max(5, int(BLOCK_NS / min(loop.run("%d without" % WARM_STEPS)[STEP] for _ in range(3))))
    table = []
    for _ in range(rounds):
        order, took = list(BLOCKS), {}
        draw.shuffle(order)
        for way in order:
            took[way], counted = loop.block(steps, way)
            expected = a_step * steps if way == "with" and level != "off" else 0
            if counted != expected:
                raise SystemExit("%s, %s: the agent counts %d calls and not %d" % (level, way, counted, expected))
        table.append(took)
    calls = int(loop.ask("status")["calls"])
    loop.end()
    if level == "api" and rows_of(build, where) != calls:
        raise SystemExit("the trace has %d rows of %d calls" % (rows_of(build, where), calls))
    return table, steps, a_step


# Logarithms of ratios: of ratios themselves those above 1 lie further from it, and noise would read as a cost.
def wall(w, n):
    return math.log(w[WALL] / n[WALL])


def charged(w, n):
    return math.log(w[WALL] / (n[WALL] - n[AGENT]))


def a_step(w, n):
    return math.log(w[STEP] / n[STEP])


def cpu(w, n):
    return math.log((w[CPU] + w[AGENT] + n[AGENT]) / n[CPU])


def cpu_again(w, n):
    return math.log(w[CPU] / n[CPU])


def percent(logarithm):
    return 100 * math.expm1(logarithm)


def print_row(what, name, pairs, sets, bootstrap, level=None):
    """sets: of each the rounds; pairs: a function of two blocks."""
    if level is None:
        table = [[pairs(took["without again"], took["without"]) for took in rounds] for rounds in sets]
    else:
        table = [[(pairs(took["with"], took["without"]) + pairs(took["with"], took["without again"])) / 2 for took in rounds]
                 for rounds in sets]
    cost = percent(hodges_lehmann([d for rounds in table for d in rounds]))
    low, high = map(percent, interval(table, bootstrap))
    print("  %-11s %-13s %+6.3f %%  [%+.3f, %+.3f]%s; by set:%s" % (
        what, name, cost, low, high, verdict(level, low, high) if pairs is charged else "",
        "".join(" %+.2f" % percent(hodges_lehmann(r)) for r in table)))


def print_level(level, sets, steps, a_step_calls):
    bootstrap = numpy.random.default_rng(2)
    sums = {way: [sum(took[way][i] for rounds in sets for took in rounds) for i in (WALL, AGENT)] for way in BLOCKS}
    print("level %s: %d pairs, %.1f s of loop with the hooks; %.3f ms a step without; %g calls a step" % (
        level, sum(map(len, sets)), sums["with"][0] / 1e9,
        numpy.median([took["without"][WALL] for rounds in sets for took in rounds]) / steps / 1e6, a_step_calls))
    print("  the agent's threads: %s" % ", ".join(
        "%.3f %% of a core %s" % (100 * agent / loop, way) for way, (loop, agent) in sums.items()))
    for name, pairs, again in (("wall time", wall, wall), ("wall, charged", charged, None), ("a step", a_step, a_step),
                               ("CPU time", cpu, cpu_again)):
        print_row("level " + level, name, pairs, sets, bootstrap, level)
        if again:
            print_row("none again", name, again, sets, bootstrap)


def main():
    build, where, sets, rounds, modes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    levels = sys.argv[6:] or list(NUMBER)
    draw = random.Random(1)
    for mode in MODES:
        if modes not in (mode, "both"):
            continue
        table, steps, calls = {level: [] for level in levels}, 0, {}
        for s in range(sets):
            for level in levels:
                rows, steps, calls[level] = one_set(build, "%s/%s%d.%s.in" % (where, mode, s, level), mode, level, rounds,
                                                    steps, draw)
                table[level].append(rows)
        print("%s, within a process: blocks of %d steps, %d processes a level, %d rounds each" % (mode, steps, sets, rounds))
        for level in levels:
            print_level(level, table[level], steps, calls[level])


main()
