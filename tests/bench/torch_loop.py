# SPDX-License-Identifier: Apache-2.0
"""The GPT loop that bench_torch measures: examples/llm/train.py's own step, some steps each time a line asks for them.

usage: torch_loop.py ARGUMENTS OF train.py      a number on standard input = so many steps, each waited for; answers
"wall_ns cpu_ns step_ns": all of them, CPU time of all threads since the last answer (the agent's writer works on while
the loop waits for its turn), and the wall time of a step that a quarter of them stays below. A path behind the number:
torch.profiler runs over them and leaves its Chrome trace there. "MODE LENGTH SEED PATH" behind it: src/switch.c,
preloaded, cuts the steps into segments of so many calls and takes ways by turns; the segments go to PATH. Answers what
wall time the steps took and CPU time the agent's threads until they rest, and how many calls the last segment had.
CUPTI_ONLY=1: CUPTI collects what the agent would have it collect, into buffers nobody reads, and there is no agent.
"""
import ctypes
import os
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/llm"))
import train


def collect():
    """Kernels, copies, fills and the API records of their calls, as at level trace."""
    libc, cupti = ctypes.CDLL(None), ctypes.CDLL("libcupti.so.13")
    libc.aligned_alloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    size = 1 << 20

    @ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t),
                      ctypes.POINTER(ctypes.c_size_t))
    def requested(buffer, ret_size, most_records):
        buffer[0], ret_size[0], most_records[0] = libc.aligned_alloc(8, ctypes.c_size_t(size)), size, 0

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
    def completed(context, stream, buffer, size, valid):
        libc.free(buffer)

    bad = cupti.cuptiActivityRegisterCallbacks(requested, completed)
    for kind in 10, 1, 2:
        bad |= cupti.cuptiActivityEnable(kind)
    for cbid in 211, 430, 41, 51, 505:  # launches in both forms, copies, fills
        bad |= cupti.cuptiActivityEnableRuntimeApi(cbid, 1)
    for cbid in 307, 514, 277, 216:
        bad |= cupti.cuptiActivityEnableDriverApi(cbid, 1)
    if bad:
        raise SystemExit("CUPTI refuses: %d" % bad)
    return requested, completed  # to be kept alive


class Segment(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("ns", "calls", "products", "polls")] + [
        (name, ctypes.c_uint32) for name in ("of_step", "drawn")]


class Switch:
    """src/switch.c."""

    def __init__(self):
        self.lib = ctypes.CDLL(None)
        self.lib.switch_agent_ns.restype = self.lib.switch_step_ends.restype = ctypes.c_uint64
        self.lib.switch_segments.restype = ctypes.POINTER(Segment)

    def agent_rests(self):
        """What it has to do for the calls so far it does now; the last of it, a chunk not full, at its next tick."""
        before, still = -1, 0
        while still < 4:
            ns = self.lib.switch_agent_ns()
            before, still = ns, still + 1 if ns == before else 0
            time.sleep(0.002)
        return before

    def run(self, step, batches, steps, mode, length, seed, path):
        count, last = ctypes.c_uint32(), set()
        agent, wall = self.lib.switch_agent_ns(), time.perf_counter_ns()
        self.lib.switch_run(int(mode), ctypes.c_uint64(int(length)), int(seed))
        for _ in range(int(steps)):
            self.lib.switch_step()
            step(*batches.next())
            torch.cuda.synchronize()
            last.add(self.lib.switch_step_ends())
        wall = time.perf_counter_ns() - wall
        segments = self.lib.switch_segments(ctypes.byref(count))
        with open(path, "wb") as f:
            f.write(ctypes.string_at(segments, ctypes.sizeof(Segment) * count.value))
        print(wall, self.agent_rests() - agent, *last, flush=True)


def timed(step, batches, n):
    ends = []
    wall = time.perf_counter_ns()
    for _ in range(n):
        step(*batches.next())
        torch.cuda.synchronize()
        ends.append(time.perf_counter_ns())
    steps = sorted(b - a for a, b in zip([wall] + ends, ends))
    return ends[-1] - wall, steps[n // 4]


def main():
    a = train.arguments()
    train.start(a)
    batches = train.Batches(a)
    _, step = train.prepare(a, batches)
    kept = collect() if os.environ.get("CUPTI_ONLY") else None
    cpu = time.process_time_ns()
    for line in sys.stdin:
        n, _, path = line.strip().partition(" ")
        if " " in path:
            Switch().run(step, batches, n, *path.split())
            continue
        if path:
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                                    torch.profiler.ProfilerActivity.CUDA]) as profile:
                wall, one = timed(step, batches, int(n))
            profile.export_chrome_trace(path)
        else:
            wall, one = timed(step, batches, int(n))
        before, cpu = cpu, time.process_time_ns()
        print(wall, cpu - before, one, flush=True)
    del kept


main()
