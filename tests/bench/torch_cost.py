# SPDX-License-Identifier: Apache-2.0
"""What each level costs a training loop, and how large traces are. Called by bench_torch.sh.

A level belongs to a process, so processes are compared: of each set one without the agent and one per level are alive
together, and in every round each runs one block of steps while the others wait for their turn, in an order drawn anew.
A pair is a block at a level and the block without the agent of the same round; sets are started afresh, because a
process may be faster or slower than its like all its life. Printed are the Hodges-Lehmann estimate of the relative
difference, and a 95 % interval by a bootstrap over sets and, within them, rounds.
CUPTI stands for the stand-in's own cost: it collects the same with no agent there. Of level trace it is a part that a
real CUPTI has its own figure for.
usage: torch_cost.py BUILD DIR SETS ROUNDS
"""
import gzip
import json
import os
import random
import subprocess
import sys

LEVELS = ("off", "count", "api", "trace")
WITH = LEVELS + ("CUPTI",)
LOOP = ["--batch", "1", "--seq", "64", "--precision", "bf16"]  # the host is what it waits for
BLOCK_NS = 300e6
WARM_STEPS = 30
BYTES_STEPS = 200


class Loop:
    def __init__(self, build, where, level=None):
        os.makedirs(where, exist_ok=True)
        env = dict(os.environ, LD_LIBRARY_PATH=os.path.abspath(build + "/simgpu/lib"), SIMGPU_DEVICE="h100",
                   OMP_NUM_THREADS="1")
        if level == "CUPTI":
            env["CUPTI_ONLY"] = "1"
        elif level:
            env.update(LD_PRELOAD=os.path.abspath(build + "/libwarptap.so"), WARPTAP_DIR=where, WARPTAP_LEVEL=level)
        self.log = open(os.path.join(where, "log"), "w")
        self.process = subprocess.Popen([sys.executable, "tests/bench/torch_loop.py"] + LOOP, env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)

    def run(self, request):
        self.process.stdin.write("%s\n" % request)
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 2:
            raise SystemExit("the loop ended: see %s\n%s" % (self.log.name, open(self.log.name).read()))
        return int(answer[0]), int(answer[1])

    def end(self):
        self.process.stdin.close()
        if self.process.wait():
            raise SystemExit("the loop exits %d:\n%s" % (self.process.returncode, open(self.log.name).read()))


def median(v):
    v = sorted(v)
    n = len(v)
    return v[n // 2] if n % 2 else (v[n // 2 - 1] + v[n // 2]) / 2


def hodges_lehmann(v):
    return median([(v[i] + v[j]) / 2 for i in range(len(v)) for j in range(i, len(v))])


def interval(sets, draw, times=1000):
    seen = []
    for _ in range(times):
        chosen = [draw.choice(sets) for _ in sets]
        seen.append(hodges_lehmann([draw.choice(s) for s in chosen for _ in s]))
    seen.sort()
    return seen[int(times * 0.025)], seen[int(times * 0.975)]


def measure(build, where, sets, rounds):
    draw, table, steps = random.Random(1), [], None
    for s in range(sets):
        loops = {None: Loop(build, "%s/%d.none" % (where, s))}
        loops.update({l: Loop(build, "%s/%d.%s" % (where, s, l), l) for l in WITH})
        for loop in loops.values():
            loop.run(WARM_STEPS)
        if steps is None:
            wall, _ = loops[None].run(WARM_STEPS)
            steps = max(5, int(BLOCK_NS * WARM_STEPS / wall))
            print("a block is %d steps of a GPT (4 layers, width 256, batch 1); %d sets of %d rounds" %
                  (steps, sets, rounds))
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


def print_costs(table, steps):
    draw, pairs = random.Random(2), sum(map(len, table))
    none = [took[None] for rounds in table for took in rounds]
    print("without the agent: %.3f ms a step (median; wall), %.3f ms of CPU; %.1f s of loop per level" %
          (median([w for w, _ in none]) / steps / 1e6, median([c for _, c in none]) / steps / 1e6,
           sum(w for w, _ in none) / 1e9))
    rows = [(level if level == "CUPTI" else "level " + level, None, level) for level in WITH]
    for name, base, level in rows + [("trace over CUPTI", "CUPTI", "trace")]:
        for i, what in ((0, "wall time"), (1, "CPU time ")):
            sets = [[took[level][i] / took[base][i] - 1 for took in rounds] for rounds in table]
            cost = hodges_lehmann([d for s in sets for d in s])
            low, high = interval(sets, draw)
            resolved = "" if low > 0 or high < 0 else "; not resolvable below %.2f %%" % (100 * max(-low, high))
            print("%-16s %s %+6.2f %%  [%+.2f, %+.2f]  %d pairs%s; by set:%s" %
                  (name, what, 100 * cost, 100 * low, 100 * high, pairs, resolved,
                   "".join(" %+.1f" % (100 * hodges_lehmann(s)) for s in sets)))


def print_bytes(build, where):
    """Traces of the same steps: ours of the whole process, start included, and torch.profiler's of the steps alone."""
    ours = "%s/bytes.trace" % where
    loop = Loop(build, ours, "trace")
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
    loop = Loop(build, "%s/bytes.none" % where)
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
    build, where, sets, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    table, steps = measure(build, where, sets, rounds)
    print_costs(table, steps)
    print_bytes(build, where)


main()
