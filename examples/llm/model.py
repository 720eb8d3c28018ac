# SPDX-License-Identifier: Apache-2.0
"""A decoder-only transformer: RMSNorm, rotary positions, causal attention, GELU MLP, untied head, no biases.

Written so that every parameter belongs to a module with a parallel form: tensor parallelism finds each of them by name.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

SIZES = {  # layers, width, heads, vocabulary, sequence, sequences per rank
    "tiny": (4, 256, 4, 8192, 256, 8),
    "124m": (12, 768, 12, 50304, 1024, 8),
    "1b": (20, 2048, 16, 50304, 2048, 4),
    "8b": (36, 4096, 32, 128256, 2048, 1),
}


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.head = width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, width, bias=False)
        self.v = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x, cos, sin):
        b, s, _ = x.shape
        # Under tensor parallelism a rank has some of the heads: their number comes from the data.
        q, k, v = (f(x).view(b, s, -1, self.head).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, s, -1))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.RMSNorm(width)
        self.attn = Attention(width, heads)
        self.norm2 = nn.RMSNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x, cos, sin):
        x = x + self.attn(self.norm1(x), cos, sin)
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """The whole model, or with first/last one stage of a pipeline: blocks first..last-1, and what is at its ends."""

    def __init__(self, layers, width, heads, vocab, seq, first=0, last=None, recompute=False):
        super().__init__()
        last = layers if last is None else last
        self.recompute, self.seq, self.head_width = recompute, seq, width // heads
        self.tokens = nn.Embedding(vocab, width) if first == 0 else None
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(first, last))
        self.norm = nn.RMSNorm(width) if last == layers else None
        self.head = nn.Linear(width, vocab, bias=False) if last == layers else None
        self.register_buffer("cos", torch.empty(seq, self.head_width // 2), persistent=False)
        self.register_buffer("sin", torch.empty(seq, self.head_width // 2), persistent=False)

    @torch.no_grad()
    def reset(self):
        """Weights and tables; apart from the constructor, so that a model too large for one device starts on none."""
        half = torch.arange(self.head_width // 2, device=self.cos.device) / (self.head_width // 2)
        angle = torch.outer(torch.arange(self.seq, device=self.cos.device).float(), 10000.0 ** -half)
        self.cos.copy_(angle.cos())
        self.sin.copy_(angle.sin())
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=0.02)
            elif isinstance(m, nn.RMSNorm):
                nn.init.ones_(m.weight)
        return self

    def forward(self, x):
        if self.tokens is not None:
            x = self.tokens(x)
        for block in self.blocks:
            if self.recompute and self.training:
                x = checkpoint(block, x, self.cos, self.sin, use_reentrant=False)
            else:
                x = block(x, self.cos, self.sin)
        return x if self.head is None else self.head(self.norm(x))


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


def loss_of(logits, target):
    return F.cross_entropy(logits.flatten(0, 1).float(), target.flatten())


def flops_per_token(layers, width, vocab, seq):
    """Of a training step: three times the forward pass; attention counted causally."""
    return 3 * (2 * (12 * layers * width * width + width * vocab) + 2 * layers * seq * width)
