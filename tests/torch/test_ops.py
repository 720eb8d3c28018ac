# SPDX-License-Identifier: Apache-2.0
"""Operators that need more than cuBLAS: convolution, recurrent nets, linear algebra, FFT, sparse, fp8, run-time kernels,
attention of three kinds, and the allocator's ways of getting memory. Each must run; none of the results means anything."""
import torch
import torch.nn.functional as F
from torch import nn


def c(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda").to(dtype)


def convolution():
    for benchmark in (False, True):
        torch.backends.cudnn.benchmark = benchmark
        m = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                          nn.ConvTranspose2d(8, 4, 2)).cuda()
        m(c(2, 3, 16, 16)).sum().backward()


def attention():
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        for mask in (None, torch.ones(64, 64, device="cuda", dtype=torch.bool)):
            q, k, v = (c(2, 4, 64, 32, dtype=dtype).requires_grad_() for _ in range(3))
            F.scaled_dot_product_attention(q, k, v, attn_mask=mask).sum().backward()


def fp8():
    if torch.cuda.get_device_capability() < (8, 9):
        return
    a = c(32, 32).to(torch.float8_e4m3fn)
    one = torch.ones((), device="cuda")
    torch._scaled_mm(a, a.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)


def linear_algebra():
    # The forms that do not look at their own error numbers: "are all zero?" is a kernel's result.
    a = c(16, 16)
    torch.linalg.solve_ex(a, c(16, 4))
    torch.linalg.inv_ex(a)
    torch.linalg.cholesky_ex(c(3, 16, 16))
    torch.linalg.ldl_factor_ex(a)
    torch.linalg.qr(a)
    torch.linalg.lu_factor_ex(c(4, 16, 16))


def recurrent():
    nn.LSTM(8, 16, 2, bidirectional=True).cuda()(c(5, 3, 8))[0].sum().backward()
    nn.GRU(8, 16).cuda().half()(c(5, 3, 8, dtype=torch.float16))[0].sum().backward()


def run_time_kernel():
    torch.cuda.jiterator._create_jit_fn("template <typename T> T add(T x, T y) { return x + y; }")(c(8), c(8))


OPS = [convolution, attention, fp8, linear_algebra, recurrent, run_time_kernel,
       lambda: torch.fft.irfft(torch.fft.rfft(c(16, 16))),
       # Made on the host: the number of elements must not be read from a device result.
       lambda: torch.eye(16).to_sparse_csr().cuda() @ c(16, 16),
       lambda: nn.CTCLoss()(c(20, 2, 10).log_softmax(2), torch.randint(1, 10, (2, 5)).cuda(),
                            torch.tensor([20, 20]), torch.tensor([5, 5])),
       lambda: nn.EmbeddingBag(10, 8, mode="sum").cuda()(torch.tensor([1, 2, 3, 4]).cuda(), torch.tensor([0, 2]).cuda()),
       lambda: nn.GroupNorm(2, 8).cuda()(c(2, 8, 4, 4)).sum().backward(),
       lambda: (torch.sort(c(100)), torch.topk(c(100), 5), c(100).cumsum(0)),
       lambda: torch._int_mm(*(torch.zeros(32, 32, dtype=torch.int8, device="cuda") for _ in range(2))),
       lambda: torch.cuda.memory._snapshot()]

for op in OPS:
    op()
    torch.cuda.synchronize()
print("done")
