# SPDX-License-Identifier: Apache-2.0
"""What each level costs a training loop, and how large traces are. Called by bench_torch.sh.

A level belongs to a process, so processes are compared: of each set one without the agent and one per level are alive
together, and in every round each runs one block of steps while the others wait for their turn, in an order drawn anew.
A pair is a block at a level and the block without the agent of the same round; sets are started afresh, because a
process may be faster or slower than its like all its life. "None again" is a second process without the agent: its
interval is what the machine can tell apart.
Printed are the Hodges-Lehmann estimate of the relative difference, and a 95 % interval by a bootstrap over sets and,
within them, rounds, of three times: the block's wall time; the wall time of its step at the lower quartile, which what
else runs on the machine disturbs less; and the CPU time of all threads, the agent's too, from block to block.
CUPTI stands for the stand-in's own cost: it collects the same with no agent there. Of level trace it is a part that a
real CUPTI has its own figure for.
usage: torch_cost.py BUILD DIR SETS ROUNDS eager|graph|both
"""
import gzip
import json
import os
import random
import subprocess
import sys
import time

import numpy

LEVELS = ("off", "count", "api", "trace")
WITH = ("none again",) + LEVELS + ("CUPTI",)
LIMITS = {"off": 0.5, "count": 0.5, "api": 2.0}  # % of wall time, for the upper end of the interval
LOOP = ["--batch", "1", "--seq", "64", "--precision", "bf16"]
MODES = {"eager": [], "graph": ["--graphs", "step"]}
TIMES = ("wall time", "a step   ", "CPU time ")
KERNEL = "[model]\nkernel = 5us\n"
BLOCK_NS = 60e6  # short, so that what else the machine does meets both of a pair
WARM_STEPS = 30
BYTES_STEPS = 200


class Loop:
    def __init__(self, build, where, mode, level=None, before=()):
        """before: libraries to be preloaded before the agent."""
        os.makedirs(where, exist_ok=True)
        with open(where + "/scenario", "w") as f:
            f.write(KERNEL)
        env = dict(os.environ, LD_LIBRARY_PATH=os.path.abspath(build + "/simgpu/lib"), SIMGPU_DEVICE="h100",
                   SIMGPU_SCENARIO=where + "/scenario", OMP_NUM_THREADS="1", PYTHONHASHSEED="0",
                   XDG_RUNTIME_DIR=where)  # nobody else wakes these agents
        if level == "CUPTI":
            env["CUPTI_ONLY"] = "1"
        elif level in LEVELS:
            preload = [os.path.abspath(p) for p in (*before, build + "/libwarptap.so")]
            env.update(LD_PRELOAD=":".join(preload), WARPTAP_DIR=where, WARPTAP_LEVEL=level)
        self.log = open(os.path.join(where, "log"), "w")
        command = [sys.executable, "tests/bench/torch_loop.py"] + LOOP + MODES[mode]
        self.process = subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log)

    def run(self, request):
        self.process.stdin.write("%s\n" % request)
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) < 3:
            raise SystemExit("the loop ended: see %s\n%s" % (self.log.name, open(self.log.name).read()))
        return tuple(map(int, answer))

    def end(self):
        self.process.stdin.close()
        if self.process.wait():
            raise SystemExit("the loop exits %d:\n%s" % (self.process.returncode, open(self.log.name).read()))


def hodges_lehmann(v):
    v = numpy.asarray(v)
    return numpy.median(numpy.add.outer(v, v)[numpy.triu_indices(len(v))]) / 2


def interval(sets, draw, times=400):
    """Sets have equally many rounds: drawn anew, first of all sets, then within each."""
    sets = numpy.asarray(sets)
    n, m = sets.shape
    seen = [hodges_lehmann(sets[draw.integers(n, size=n)[:, None], draw.integers(m, size=(n, m))].ravel())
            for _ in range(times)]
    return numpy.quantile(seen, 0.025), numpy.quantile(seen, 0.975)


def measure(build, where, mode, sets, rounds):
    draw, table, steps = random.Random(1), [], None
    for s in range(sets):
        loops = {None: Loop(build, "%s/%s%d.none" % (where, mode, s), mode)}
        loops.update({l: Loop(build, "%s/%s%d.%s" % (where, mode, s, l), mode, l) for l in WITH})
        for loop in loops.values():
            loop.run(WARM_STEPS)
        if steps is None:
            steps = max(5, int(BLOCK_NS / min(loops[None].run(WARM_STEPS)[2] for _ in range(3))))
            print("%s: a block is %d steps of a GPT (4 layers, width 256, batch 1, kernels of 5 us); %d sets of %d rounds"
                  % (mode, steps, sets, rounds))
        table.append([])
        for _ in range(rounds):
            order, took = list(loops), {}
            draw.shuffle(order)
            for l in order:
                took[l] = loops[l].run(steps)
            table[-1].append(took)
        for loop in loops.values():
            loop.end()
    return table, steps


def verdict(level, low, high):
    limit = LIMITS.get(level)
    if limit is None:
        return ""
    if high < limit:
        return "; below %.1f %%" % limit
    return "; limit %.1f %% %s" % (limit, "passed" if low > limit else "neither kept nor passed for certain")


def print_costs(table, steps):
    draw, pairs = numpy.random.default_rng(2), sum(map(len, table))
    none = [took[None] for rounds in table for took in rounds]
    print("without the agent: %.3f ms a step (median; wall), %.3f ms of CPU; %.1f s of loop per level" %
          (numpy.median([t[0] for t in none]) / steps / 1e6, numpy.median([t[1] for t in none]) / steps / 1e6,
           sum(t[0] for t in none) / 1e9))
    rows = [("level " + level if level in LEVELS else level, None, level) for level in WITH]
    for name, base, level in rows + [("trace over CUPTI", "CUPTI", "trace")]:
        for i, what in enumerate(TIMES):
            sets = [[took[level][i] / took[base][i] - 1 for took in rounds] for rounds in table]
            cost = hodges_lehmann([d for s in sets for d in s])
            low, high = interval(sets, draw)
            print("%-16s %s %+6.2f %%  [%+.2f, %+.2f]  %d pairs%s; by set:%s" %
                  (name, what, 100 * cost, 100 * low, 100 * high, pairs, verdict(level, 100 * low, 100 * high),
                   "".join(" %+.1f" % (100 * hodges_lehmann(s)) for s in sets)))


def print_account(build, where, mode):
    """What the agent says itself that it cost, of a loop of the same steps: finer than the clock can tell."""
    for level in ("api", "trace"):
        at = "%s/account.%s.%s" % (where, mode, level)
        loop = Loop(build, at, mode, level)
        loop.run(BYTES_STEPS)
        time.sleep(3)  # what it said last was of a second ago
        before = cost_of(build, at)
        _, cpu, _ = loop.run(4 * BYTES_STEPS)
        loop.end()
        after = cost_of(build, at)
        hook, writer, calls = (after[k] - before[k] for k in ("hook_ns", "writer_cpu_ns", "recorded_calls"))
        print("level %s by its own account: %.0f calls a step; hooks %.2f %% of the job's CPU time, the writer %.2f %%, %.0f ns "
              "a call" % (level, calls / 4 / BYTES_STEPS, 100 * hook / cpu, 100 * writer / cpu, writer / calls))


def cost_of(build, at):
    report = subprocess.run([build + "/warptap", "report", "--json", at], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(report.stdout)["cost"]


def print_bytes(build, where):
    """Traces of the same steps: ours of the whole process, start included, and torch.profiler's of the steps alone."""
    ours = "%s/bytes.trace" % where
    loop = Loop(build, ours, "eager", "trace")
    loop.run(BYTES_STEPS)
    loop.end()
    report = subprocess.run([build + "/warptap", "report", "--json", ours], stdout=subprocess.PIPE, check=True)
    report = json.loads(report.stdout)
    if report["completeness"]["share"] != 1:
        raise SystemExit("records are missing, so bytes per kernel mean nothing: %s" % report["completeness"])
    kernels = sum(d["kernels"]["count"] for d in report["devices"])
    size = sum(os.path.getsize(os.path.join(ours, f)) for f in os.listdir(ours) if f.endswith(".wt"))
    print("%d steps, bytes per kernel event all in: warptap %.2f (%d bytes, %d kernels)" %
          (BYTES_STEPS, size / kernels, size, kernels))
    path = "%s/kineto.json" % where
    loop = Loop(build, "%s/bytes.none" % where, "eager")
    loop.run("%d %s" % (BYTES_STEPS, path))
    loop.end()
    with open(path, "rb") as f:
        text = f.read()
    kernels = sum(e.get("cat") == "kernel" for e in json.loads(text)["traceEvents"])
    if not kernels:
        raise SystemExit("torch.profiler saw no kernel")
    packed = gzip.compress(text, 6)
    print("the same by torch.profiler: JSON %.0f (%d bytes, %d kernels), its gzip %.1f" %
          (len(text) / kernels, len(text), kernels, len(packed) / kernels))


def main():
    build, where, sets, rounds, modes = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    for mode in MODES:
        if modes in (mode, "both"):
            print_costs(*measure(build, where, mode, sets, rounds))
            print_account(build, where, mode)
    print_bytes(build, where)


if __name__ == "__main__":
    main()
