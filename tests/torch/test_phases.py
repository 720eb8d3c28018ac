# SPDX-License-Identifier: Apache-2.0
"""The GPT of examples/llm, trained eagerly; writes what it did when, as the truth about phases.

usage: test_phases.py plain|recompute|annotated fp32|bf16 STEPS FILE
A line of FILE: a phase, its begin and its end (ns of time.time_ns). Recompute lies inside backward. `annotated` tells
the agent too (warptap_mark, by ctypes); the others do not.
"""
import contextlib
import ctypes
import os
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/llm"))
import model as llm

PUSH, POP, STEP = 1, 2, 2
KINDS = {"forward": 3, "backward": 4, "recompute": 5, "optimizer": 6}


class Log:
    def __init__(self, path, annotate):
        self.out, self.in_backward = open(path, "w"), False
        self.mark = getattr(ctypes.CDLL(None), "warptap_mark", None) if annotate else None
        if self.mark:
            self.mark.argtypes, self.mark.restype = (ctypes.c_uint, ctypes.c_uint, ctypes.c_longlong, ctypes.c_char_p), None

    @contextlib.contextmanager
    def phase(self, name, kind=None, value=0):
        if self.mark:
            self.mark(PUSH, kind or KINDS[name], value, name.encode())
        begin = time.time_ns()
        try:
            yield
        finally:
            self.out.write("%s %d %d\n" % (name, begin, time.time_ns()))
            if self.mark:
                self.mark(POP, 0, 0, None)


def main():
    how, precision, steps, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    layers, width, heads, vocab, seq, batch = llm.SIZES["tiny"]
    log = Log(path, how == "annotated")
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
        with log.phase("step", STEP, n):
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
