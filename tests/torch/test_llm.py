#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/llm/train.py; each rank then writes torch's own account of its device memory to $ACCOUNT_DIR/memory.PID.

usage: ACCOUNT_DIR=FOLDER test_llm.py ARGUMENTS OF train.py
A line of the account is a key and its value. Reserved bytes are what torch holds from the driver: what it allocated
with cudaMalloc, less what it gave back.
"""
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/llm"))
import train  # --ranks starts this script again under torchrun, as it does with train.py itself


def account(folder):
    stats = torch.cuda.memory_stats()
    with open(os.path.join(folder, "memory.%d" % os.getpid()), "w") as f:
        print("device", torch.cuda.current_device(), file=f)
        for key in ("reserved_bytes.all.peak", "reserved_bytes.all.allocated", "reserved_bytes.all.freed"):
            print(key, stats[key], file=f)


train.main()
account(os.environ["ACCOUNT_DIR"])
