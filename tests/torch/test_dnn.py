# SPDX-License-Identifier: Apache-2.0
"""Convolutions and attention that PyTorch hands to cuDNN, with a list of its own of what was asked for: a line
"dnn DTYPE FLOPS" each, backward included. fp32 convolutions go by TF32, PyTorch's own setting for them."""
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

asked = []


def ask(dtype, flops, products, run):
    """products: how often those FLOPs were to be done: 1 forward, 3 with both backward passes."""
    out = run()
    if products > 1:
        out.float().sum().backward()
    asked.append((dtype, int(flops * products)))


def tensor(*shape, dtype=torch.bfloat16, grad=True):
    return torch.randn(*shape, device="cuda", dtype=dtype).requires_grad_(grad)


def convolutions():
    for dtype, name in ((torch.bfloat16, "bf16"), (torch.float16, "fp16"), (torch.float32, "tf32")):
        x, w = tensor(8, 32, 28, 28, dtype=dtype), tensor(64, 32, 3, 3, dtype=dtype)
        ask(name, 2 * 8 * 64 * 28 * 28 * 32 * 9, 3, lambda: F.conv2d(x, w, padding=1))
    x, w = tensor(4, 64, 16, 16), tensor(128, 16, 1, 1)
    ask("bf16", 2 * 4 * 128 * 8 * 8 * 16, 3, lambda: F.conv2d(x, w, stride=2, groups=4))
    x, w = tensor(2, 16, 8, 8, 8), tensor(32, 16, 3, 3, 3)
    ask("bf16", 2 * 2 * 32 * 8 * 8 * 8 * 16 * 27, 3, lambda: F.conv3d(x, w, padding=1))
    # Transposed: the backward pass of one from 16 x 16 to 8 x 8.
    x, w = tensor(4, 32, 8, 8), tensor(32, 16, 2, 2)
    ask("bf16", 2 * 4 * 32 * 8 * 8 * 16 * 4, 3, lambda: F.conv_transpose2d(x, w, stride=2))


def attention():
    b, h, s, d = 2, 8, 256, 64
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        for causal in (False, True):
            q, k, v = (tensor(b, h, s, d) for _ in range(3))
            full = 4 * b * h * s * s * d  # forward; backward has five products for two
            ask("bf16", full // 2 if causal else full, 3.5,
                lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))
        q, k, v = tensor(b, h, 1, d, grad=False), tensor(b, h, 384, d, grad=False), tensor(b, h, 384, d, grad=False)
        ask("bf16", 4 * b * h * 384 * d, 1, lambda: F.scaled_dot_product_attention(q, k, v))


def main():
    torch.manual_seed(1)
    convolutions()
    attention()
    torch.cuda.synchronize()
    for dtype, flops in asked:
        print("dnn", dtype, flops)


main()
