# SPDX-License-Identifier: Apache-2.0
"""A small GPT trained for some steps: fp32 or bf16, AdamW, gradient clipping. Writes when each step began and ended.

usage: test_gpt.py fp32|bf16 STEPS FILE
"""
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 512, 256, 4, 4, 128, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, HEADS, d // HEADS).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.token(tokens) + self.place(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def main():
    dtype, steps, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    torch.manual_seed(0)
    model = GPT().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.cuda.synchronize()
    with open(path, "w") as f:
        for _ in range(steps):
            begin = time.time_ns()
            tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH)).cuda()
            with torch.autocast("cuda", torch.bfloat16, enabled=dtype == "bf16"):
                loss = F.cross_entropy(model(tokens).view(-1, VOCABULARY), tokens.view(-1))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            torch.cuda.synchronize()
            f.write("%d %d\n" % (begin, time.time_ns()))
    print("done")


main()
