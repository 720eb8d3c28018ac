# SPDX-License-Identifier: Apache-2.0
"""torch.profiler with CUDA activities over three steps. Prints how many events of each kind its trace has, and how
many of the kernels carry an arrow to the call that launched them.

usage: test_profiler.py KINETO_JSON SESSION_FILE [WARPTAP during|around]
The second gets when the session began and ended. With WARPTAP, the program, a window of the agent in this process is
opened: during the session (and closed some steps after it), or around it.
"""
import collections
import json
import os
import subprocess
import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

STEPS = 3


def attach(when, command):
    if sys.argv[4:] == [when]:
        subprocess.run([sys.argv[3], "attach", str(os.getpid()), command], check=True, stdout=subprocess.DEVNULL)


def wait_for_agent():
    """The agent comes back after a quiet time, on a loaded machine later."""
    for _ in range(300):
        said = subprocess.run([sys.argv[3], "attach", str(os.getpid()), "status"], check=True, capture_output=True).stdout
        if {b"cupti ours", b"window open"} <= set(said.splitlines()):
            return
        time.sleep(0.1)


def main():
    model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(64, 256).cuda()

    def step():
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    for _ in range(2):
        step()
    torch.cuda.synchronize()
    attach("around", "start")
    if sys.argv[4:]:
        step()
        torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        begin = time.time_ns()
        for i in range(STEPS):
            step()
            if i == 0:
                attach("during", "start")
        torch.zeros(1 << 20, device="cuda").cpu()
        torch.cuda.synchronize()
        end = time.time_ns()
    with open(sys.argv[2], "w") as f:
        f.write("%d %d\n" % (begin, end))
    p.export_chrome_trace(sys.argv[1])
    if sys.argv[4:]:
        wait_for_agent()
    for _ in range(2):
        step()
    torch.cuda.synchronize()
    attach("around", "stop")
    attach("during", "stop")

    with open(sys.argv[1]) as f:
        events = json.load(f)["traceEvents"]
    kinds = collections.Counter(e["cat"] for e in events if e.get("ph") == "X")
    for kind in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver"):
        print(kind, kinds[kind])
    calls = {e["args"]["correlation"] for e in events
             if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})}
    device = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    print("linked", sum(e["args"]["correlation"] in calls for e in device), "of", len(device))
    by_op = [a for a in p.key_averages() if a.key == "aten::addmm"]
    print("addmm", by_op[0].count, "device time", by_op[0].device_time_total > 0)


main()
