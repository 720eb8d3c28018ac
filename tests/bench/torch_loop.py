# SPDX-License-Identifier: Apache-2.0
"""The GPT loop that bench_torch measures: examples/llm/train.py's own step, some steps each time a line asks for them.

usage: torch_loop.py ARGUMENTS OF train.py      a number on standard input = so many steps; answers "wall_ns cpu_ns",
CPU time of all threads. A path behind the number: torch.profiler runs over them and leaves its Chrome trace there.
"""
import os
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/llm"))
import train


def timed(step, batches, n):
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(n):
        step(*batches.next())
    torch.cuda.synchronize()
    return time.perf_counter_ns() - wall, time.process_time_ns() - cpu


def main():
    a = train.arguments()
    train.start(a)
    batches = train.Batches(a)
    _, step = train.prepare(a, batches)
    for line in sys.stdin:
        n, _, path = line.strip().partition(" ")
        if path:
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                                    torch.profiler.ProfilerActivity.CUDA]) as profile:
                took = timed(step, batches, int(n))
            profile.export_chrome_trace(path)
        else:
            took = timed(step, batches, int(n))
        print(*took, flush=True)


main()
