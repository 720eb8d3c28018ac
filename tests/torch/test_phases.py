# SPDX-License-Identifier: Apache-2.0
"""The GPT of examples/llm, trained eagerly; writes what it did when, as the truth about phases.

usage: test_phases.py plain|recompute|annotated|nvtx fp32|bf16 STEPS FILE
A line of FILE: a phase, its begin and its end (ns of time.time_ns). Recompute lies inside backward. `annotated` tells
the agent too (examples/llm/annotate.py), `nvtx` says it in PyTorch's own NVTX ranges; the others do not.
"""
import contextlib
import os
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/llm"))
import annotate
import model as llm


class Log:
    def __init__(self, path, how):
        self.out, self.in_backward, self.how = open(path, "w"), False, how

    def told(self, name, value):
        if self.how == "annotated":
            return annotate.phase(name, value=value)
        if self.how == "nvtx":
            return torch.cuda.nvtx.range(name if name != "step" else "step %d" % value)
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def phase(self, name, value=0):
        with self.told(name, value):
            begin = time.time_ns()
            try:
                yield
            finally:
                self.out.write("%s %d %d\n" % (name, begin, time.time_ns()))


def main():
    how, precision, steps, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    layers, width, heads, vocab, seq, batch = llm.SIZES["tiny"]
    log = Log(path, how)
    torch.manual_seed(0)
    gpt = llm.Gpt(layers, width, heads, vocab, seq, recompute=how == "recompute").cuda()
    gpt.reset()
    for block in gpt.blocks:  # the second run of a block's forward is in backward
        forward = block.forward

        def logged(*args, forward=forward):
            if not log.in_backward:
                return forward(*args)
            with log.phase("recompute"):
                return forward(*args)
        block.forward = logged
    optimizer = torch.optim.AdamW(gpt.parameters(), lr=3e-4)
    for n in range(steps):
        with log.phase("step", n):
            x = torch.randint(0, vocab, (batch, seq + 1)).cuda()
            with log.phase("forward"), torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
                loss = llm.loss_of(gpt(x[:, :-1]), x[:, 1:])
            log.in_backward = True
            with log.phase("backward"):
                loss.backward()
            log.in_backward = False
            with log.phase("optimizer"):
                torch.nn.utils.clip_grad_norm_(gpt.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
    torch.cuda.synchronize()
    log.out.close()


main()
