# SPDX-License-Identifier: Apache-2.0
"""What the agent's hooks cost a training loop, with and without them within one process. Called by bench_torch.sh.

Between two processes even without the agent lie some percent, for as long as they live, and within one the machine's
speed wanders by a third in some tens of milliseconds: more than levels off and count cost. So here the agent is in
every process, and src/switch.c, preloaded before it, cuts each step into segments of some calls, some 50 us
each; every second one, drawn within each couple, goes through the hooks and the other past them.

A segment's time is divided by the geometric mean of those without hooks at the same place of a step. A couple's cost is
the logarithm of the ratio of its two; a round's, some steps long, the mean of its couples' weighted with the time that
their place takes: the share of the loop's time. (A median would do worse: where it is not the mean of the logarithms,
places weigh differently with hooks than without, and nothing reads as some percent.) Of rounds the Hodges-Lehmann estimate, and an interval by a bootstrap
over processes and rounds. "None again": every third round is a control, drawn alike, without hooks in both: what
this way can tell apart.

What is not switched is there in all segments: the agent's memory, the jump and its count, and the agent's threads. The
CPU time of these is told, and the cost a second time with all of it on top as if there were no other core for it
("and threads").

That the switch does what it says is shown in every process: past the hooks nothing is counted; where the switch counts
too both count the same, place by place; in each round the agent counts what its segments with hooks have by that; the
trace of level api has exactly so many rows. At off nothing is counted: there the level is count while this is shown.
usage: torch_within.py BUILD DIR PROCESSES ROUNDS eager|graph|both [LEVEL...]
"""
import glob
import math
import random
import re
import socket
import subprocess
import sys

import numpy

from torch_cost import LIMITS, MODES, WARM_STEPS, Loop, hodges_lehmann, interval, verdict

NUMBER = {"off": 1, "count": 2, "api": 3}  # as the control socket has them
WITH, WITHOUT, COUNTED = range(3)  # src/switch.c
KINDS = ("calls", "products", "polls")
SEGMENT_CALLS = 3
ROUND_NS = 0.4e9
PROOF_STEPS = (7, 11)
SEGMENT = numpy.dtype([("ns", "u8"), ("calls", "u8", len(KINDS)), ("of_step", "u4"), ("drawn", "u4")])


class Switched(Loop):
    def __init__(self, build, where, mode, level):
        super().__init__(build, where, mode, level, [build + "/tests/bench/libswitch.so"])
        self.where, self.level, self.length, self.last = where, level, SEGMENT_CALLS, None
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

    def segments(self, steps, mode, seed=1):
        """Those of so many steps, the agent's CPU time and what it counted meanwhile."""
        path, before = self.where + "/segments", int(self.ask("status")["calls"])
        _, agent, *last = self.run("%d %d %d %d %s" % (steps, mode, self.length, seed, path))
        if len(last) != 1 or (self.last or last) != last:
            raise SystemExit("steps are not alike: %s calls in their last segments" % last)
        self.last = last
        return numpy.fromfile(path, SEGMENT), agent, int(self.ask("status")["calls"]) - before

    def prove(self):
        """Calls at each place of a step, as the agent counts and as the switch does."""
        if self.level == "off":
            self.ask("level level=%d" % NUMBER["count"])
        places = []
        for steps in PROOF_STEPS:
            s, _, counted = self.segments(steps, COUNTED)
            made = numpy.diff(s["calls"].astype(int), axis=0, prepend=[self.made])
            self.made = self.made + made.sum(axis=0)
            self.expect(counted, made)
            places.extend(made.reshape(steps, -1, len(KINDS)))
            if self.segments(steps, WITHOUT)[2]:
                raise SystemExit("%s: calls are counted that went past the hooks" % self.level)
        if any((p != places[0]).any() for p in places):
            raise SystemExit("%s: steps are not alike: %s" % (self.level, places))
        if self.level == "off":
            self.ask("level level=%d" % NUMBER["off"])
        return places[0]

    made = numpy.zeros(len(KINDS), int)

    def expect(self, counted, made):
        """made: of segments the calls of each kind. What asks whether something is over counts at api where it is."""
        calls, products, polls = made.sum(axis=0)
        least = calls + (products if self.level == "api" else 0)
        if not least <= counted <= least + (polls if self.level == "api" else 0):
            raise SystemExit("%s: the switch counts %d calls, %d products, %d polls, the agent %d" % (
                self.level, calls, products, polls, counted))


def rows_of(build, where):
    out = subprocess.run([build + "/warptap", "info"] + glob.glob(where + "/*.wt"), stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    rows = re.search(r"^ *calls +\d+ +(\d+)", out, re.M)
    if not rows:
        raise SystemExit("no calls in the trace:\n" + out)
    return int(rows.group(1))


def one_process(build, where, mode, level, rounds, draw):
    """Rounds with hooks and controls, and what is told beside them."""
    loop = Switched(build, where, mode, level)
    calls = loop.prove()
    steps = max(4, int(ROUND_NS / min(loop.run(WARM_STEPS)[2] for _ in range(3))))
    table, controls, agent_ns = [], [], 0
    for i in range(rounds * 3 // 2):
        control = i % 3 == 2
        s, agent, counted = loop.segments(steps, WITHOUT if control else WITH, draw.getrandbits(32))
        loop.expect(counted, calls[s["of_step"][s["drawn"] == 1]] * (0 if control or level == "off" else 1))
        (controls if control else table).append(s)
        agent_ns += 0 if control else agent
    total = int(loop.ask("status")["calls"])
    loop.end()
    if level == "api" and rows_of(build, where) != total:
        raise SystemExit("the trace has %d rows of %d calls" % (rows_of(build, where), total))
    without = numpy.concatenate(controls + [s[s["drawn"] == 0] for s in table])
    usual = numpy.exp([numpy.log(without["ns"][without["of_step"] == p]).mean() for p in range(len(calls))])
    ns = sum(int(s["ns"][s["drawn"] == 1].sum()) for s in table)
    return {"cost": [cost(s, usual) for s in table], "again": [cost(s, usual) for s in controls], "ns": ns,
            "agent": agent_ns, "steps": steps * len(table), "calls": int(calls[:, 0].sum()), "step": usual.sum(),
            "places": len(usual)}


def cost(segments, usual):
    """Of a round, as a logarithm: of ratios themselves those above 1 lie further from it, and noise would read as a cost."""
    s = segments[:len(segments) // 2 * 2]
    y = numpy.log(s["ns"] / usual[s["of_step"]]).reshape(-1, 2)
    first = s["drawn"][::2] == 1
    d = numpy.where(first, y[:, 0] - y[:, 1], y[:, 1] - y[:, 0])
    at = usual[s["of_step"]].reshape(-1, 2)
    return numpy.average(d, weights=numpy.where(first, at[:, 0], at[:, 1]))


def percent(logarithm):
    return 100 * math.expm1(logarithm)


def print_row(what, name, sets, bootstrap, level=None):
    middle = percent(hodges_lehmann([d for rounds in sets for d in rounds]))
    low, high = map(percent, interval(sets, bootstrap))
    print("  %-11s %-12s %+6.3f %%  [%+.3f, %+.3f]%s; by process:%s" % (
        what, name, middle, low, high, verdict(level, low, high), "".join(" %+.2f" % percent(hodges_lehmann(r)) for r in sets)))


def print_level(level, seen):
    bootstrap = numpy.random.default_rng(2)
    one, ns = seen[0], sum(p["ns"] for p in seen)
    threads = sum(p["agent"] for p in seen) / ns
    print("level %s: %d rounds of %d steps, %.1f s of loop with the hooks and as much without; %.3f ms a step; %d calls a step "
          "in %d segments" % (level, sum(len(p["cost"]) for p in seen), one["steps"] // len(one["cost"]), ns / 1e9,
                              numpy.mean([p["step"] for p in seen]) / 1e6, one["calls"], one["places"]))
    print_row("level " + level, "wall time", [p["cost"] for p in seen], bootstrap, level)
    print_row("level " + level, "and threads", [[c + math.log1p(threads) for c in p["cost"]] for p in seen], bootstrap, level)
    print_row("none again", "wall time", [p["again"] for p in seen], bootstrap)
    print("  the agent's threads: %.3f %% of the time with hooks" % (100 * threads))


def main():
    build, where, processes, rounds, modes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    levels = sys.argv[6:] or list(LIMITS)
    draw = random.Random(1)
    for mode in MODES:
        if modes not in (mode, "both"):
            continue
        seen = {level: [] for level in levels}
        for i in range(processes):
            for level in levels:
                seen[level].append(one_process(build, "%s/%s%d.%s.in" % (where, mode, i, level), mode, level, rounds, draw))
        print("%s, within a process: %d processes a level" % (mode, processes))
        for level in levels:
            print_level(level, seen[level])


main()
