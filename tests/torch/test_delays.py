# SPDX-License-Identifier: Apache-2.0
"""A small training loop with one host delay injected into each step; writes when each happened.

usage: test_delays.py input|late|sync|alloc|module STEPS FILE
  input   50 ms in the loader, told to the agent (warptap_mark by ctypes)      late    40 ms between two launches
  sync    the loop waits for the device and then logs for 30 ms                alloc   many cudaMalloc and cudaFree
  module  modules are loaded for 60 ms
A line of FILE: begin and end of a delay, ns of time.time_ns.
"""
import ctypes
import sys
import time

import torch
from torch import nn

INPUT = 10
PTX = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n\0"


def load_modules(driver, ns):
    end, n = time.time_ns() + ns, 0
    while time.time_ns() < end:
        module = ctypes.c_void_p()
        for _ in range(50):
            assert driver.cuModuleLoadData(ctypes.byref(module), PTX) == 0
            n += 1
    return n


def delay(how, mark, driver):
    if how == "input":
        mark(1, INPUT, 0, b"next batch")
        time.sleep(0.05)
        mark(2, 0, 0, None)
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
    mark = ctypes.CDLL(None).warptap_mark
    mark.argtypes, mark.restype = (ctypes.c_uint, ctypes.c_uint, ctypes.c_longlong, ctypes.c_char_p), None
    driver = ctypes.CDLL("libcuda.so.1")
    model = nn.Sequential(*(nn.Linear(512, 512) for _ in range(8))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(256, 512, device="cuda")
    for _ in range(2):  # start-up is not of interest
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    with open(path, "w") as f:
        for _ in range(steps):
            begin = time.time_ns()
            delay(how, mark, driver)
            f.write("%d %d\n" % (begin, time.time_ns()))
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    torch.cuda.synchronize()


main()
