# SPDX-License-Identifier: Apache-2.0
"""Matrix products of every sort PyTorch makes by cuBLAS, with a list of its own of what was asked for: a line
"gemm DTYPE FLOPS" each. One fp32 product is planted among bf16 ones."""
import torch

asked = []


def ask(dtype, flops, run):
    asked.append((dtype, flops))
    return run()


def main():
    dev = "cuda"
    torch.manual_seed(1)
    x = torch.randn(512, 1024, device=dev, dtype=torch.bfloat16)
    w = torch.randn(1024, 2048, device=dev, dtype=torch.bfloat16)
    bias = torch.randn(2048, device=dev, dtype=torch.bfloat16)
    for _ in range(4):
        ask("bf16", 2 * 512 * 2048 * 1024, lambda: x @ w)
    ask("bf16", 2 * 512 * 2048 * 1024, lambda: torch.addmm(bias, x, w))
    ask("bf16", 2 * 512 * 2048 * 1024, lambda: torch.nn.functional.linear(x, w.t().contiguous(), bias))
    a = torch.randn(24, 128, 64, device=dev, dtype=torch.bfloat16)
    b = torch.randn(24, 64, 96, device=dev, dtype=torch.bfloat16)
    ask("bf16", 2 * 24 * 128 * 96 * 64, lambda: torch.bmm(a, b))
    ask("fp32", 2 * 512 * 2048 * 1024, lambda: x.float() @ w.float())
    torch.backends.cuda.matmul.allow_tf32 = True
    ask("tf32", 2 * 512 * 2048 * 1024, lambda: x.float() @ w.float())
    torch.backends.cuda.matmul.allow_tf32 = False
    ask("fp16", 2 * 512 * 2048 * 1024, lambda: x.half() @ w.half())
    ask("fp64", 2 * 96 * 80 * 64, lambda: torch.randn(96, 64, device=dev, dtype=torch.double)
        @ torch.randn(64, 80, device=dev, dtype=torch.double))
    ask("fp32", 8 * 96 * 80 * 64, lambda: torch.randn(96, 64, device=dev, dtype=torch.cfloat)
        @ torch.randn(64, 80, device=dev, dtype=torch.cfloat))
    f8 = x.to(torch.float8_e4m3fn), w.t().contiguous().to(torch.float8_e4m3fn).t()
    one = torch.ones((), device=dev)
    ask("fp8", 2 * 512 * 2048 * 1024, lambda: torch._scaled_mm(*f8, scale_a=one, scale_b=one, out_dtype=torch.bfloat16))
    torch.cuda.synchronize()
    for dtype, flops in asked:
        print("gemm", dtype, flops)


main()
