# SPDX-License-Identifier: Apache-2.0
"""A job that does some work on the device and then ends in one of several ways (argument)."""
import os
import signal
import sys

import torch

how = sys.argv[1]
m = torch.nn.Linear(64, 64).cuda()
for _ in range(20):
    m(torch.ones(8, 64, device="cuda"))
torch.cuda.synchronize()
print("worked", flush=True)
if how == "code":
    sys.exit(7)
if how == "raise":
    raise ValueError("the job's own error")
if how == "oom":
    torch.empty(1 << 45, device="cuda")
if how == "_exit":
    os._exit(9)
if how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if how == "term":
    os.kill(os.getpid(), signal.SIGTERM)
if how == "abort":
    os.abort()
