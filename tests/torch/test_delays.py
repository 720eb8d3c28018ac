# SPDX-License-Identifier: Apache-2.0
"""A small training loop with one host delay injected into each step; writes when each happened.

usage: test_delays.py input|late|sync|alloc|module STEPS FILE
  input   50 ms in the loader, told to the agent (annotate.py)      late    40 ms between two launches
  sync    the loop waits for the device and then logs for 30 ms                alloc   many cudaMalloc and cudaFree
  module  modules are loaded for 60 ms
A line of FILE: begin and end of a delay, ns of time.time_ns.
"""
import ctypes
import os
import sys
import time

import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/llm"))
import annotate

PTX = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n\0"


def load_modules(driver, ns):
    end, n = time.time_ns() + ns, 0
    while time.time_ns() < end:
        module = ctypes.c_void_p()
        for _ in range(50):
            assert driver.cuModuleLoadData(ctypes.byref(module), PTX) == 0
            n += 1
    return n


def delay(how, driver):
    if how == "input":
        with annotate.phase("input", "next batch"):
            time.sleep(0.05)
    elif how == "late":
        time.sleep(0.04)
    elif how == "sync":
        torch.cuda.synchronize()
        time.sleep(0.03)
    elif how == "alloc":
        end = time.time_ns() + 120_000_000
        while time.time_ns() < end:
            kept = [torch.empty(32 << 20, dtype=torch.uint8, device="cuda") for _ in range(200)]
            del kept
            torch.cuda.empty_cache()
    else:
        load_modules(driver, 60_000_000)


def main():
    how, steps, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    driver = ctypes.CDLL("libcuda.so.1")
    # Large enough that the host is ahead of the device when a step's launches are made.
    model = nn.Sequential(*(nn.Linear(4096, 4096) for _ in range(8))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(512, 4096, device="cuda")
    for n in range(3):  # start-up is not of interest, nor a wait that would drain the queue before the first delay
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        if n == 1:
            torch.cuda.synchronize()
    with open(path, "w") as f:
        for _ in range(steps):
            begin = time.time_ns()
            delay(how, driver)
            f.write("%d %d\n" % (begin, time.time_ns()))
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    torch.cuda.synchronize()


main()
