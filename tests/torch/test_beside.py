# SPDX-License-Identifier: Apache-2.0
"""torch.profiler in a job that is recorded, in the order that the first argument names. Prints what the profiler saw.

usage: test_beside.py first|later|twice|thread PAUSE_S
  first   the profiler runs before CUDA is initialised, so before the agent is awake
  later   steps, a session, a pause long enough for the agent to come back, steps
  twice   two sessions at once after another, a pause, steps, a session that ends the job
  thread  the session is run by a thread of its own
"""
import collections
import json
import os
import sys
import tempfile
import threading
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


class Job:
    def __init__(self):
        self.model = None

    def steps(self, n):
        if self.model is None:
            self.model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).cuda()
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
            self.x = torch.randn(64, 256).cuda()
        for _ in range(n):
            self.optimizer.zero_grad()
            self.model(self.x).sum().backward()
            self.optimizer.step()
        torch.cuda.synchronize()


def session(job, name):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        job.steps(3)
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "trace.json")
        p.export_chrome_trace(path)
        with open(path) as f:
            events = json.load(f)["traceEvents"]
    seen = collections.Counter((e["cat"], e["name"]) for e in events
                               if e.get("ph") == "X" and e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset"))
    calls = {e["args"]["correlation"] for e in events
             if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
    device = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    print(name, "linked", sum(e["args"]["correlation"] in calls for e in device), "of", len(device))
    print(name, "device time", all(e["dur"] > 0 for e in device if e["cat"] == "kernel"))
    for (cat, kernel), n in sorted(seen.items()):
        print(name, cat, n, kernel)


def main():
    order, pause = sys.argv[1], float(sys.argv[2])
    job = Job()
    if order != "first":
        job.steps(4)
    if order == "thread":
        t = threading.Thread(target=session, args=(job, "s1"))
        t.start()
        t.join()
    else:
        session(job, "s1")
    if order == "twice":
        session(job, "s2")
    time.sleep(pause)
    job.steps(4)
    if order == "twice":
        session(job, "s3")


main()
