# SPDX-License-Identifier: Apache-2.0
"""Kernels that reach the driver round every library: a hand-written Triton kernel, torch.compile, flex attention.

usage: test_triton.py LAUNCHES        how often the hand-written kernel is launched
"""
import sys

import torch
import triton
import triton.language as tl
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


@triton.jit
def wt_scale_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def hand_written(launches):
    x = torch.ones(10000, device="cuda")
    y = torch.empty_like(x)
    for _ in range(launches):
        wt_scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    torch.cuda.synchronize()


def compiled():
    net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)).cuda()
    step = torch.compile(lambda x: net(x).pow(2).mean())
    x = torch.randn(64, 256, device="cuda")
    for _ in range(3):
        step(x).backward()
    torch.cuda.synchronize()


def flex():
    q, k, v = (torch.randn(1, 4, 256, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    mask = create_block_mask(lambda b, h, i, j: i >= j, 1, 4, 256, 256, device="cpu").to("cuda")
    attend = torch.compile(flex_attention)
    for _ in range(3):
        attend(q, k, v, block_mask=mask)
    torch.cuda.synchronize()


hand_written(int(sys.argv[1]))
compiled()
flex()
print("done")
