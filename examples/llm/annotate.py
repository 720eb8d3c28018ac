# SPDX-License-Identifier: Apache-2.0
"""Tells warptap what a job is doing: include/warptap/annotate.h from Python. Without the agent every call does nothing.

    with annotate.step(n):
        with annotate.phase("input"):
            x, y = next(batches)
        with annotate.phase("forward"):
            ...
"""
import contextlib
import ctypes

PUSH, POP, START, END = 1, 2, 3, 4
KINDS = {"range": 1, "step": 2, "forward": 3, "backward": 4, "recompute": 5, "optimizer": 6, "gradient_comm": 7,
         "evaluation": 8, "checkpoint": 9, "input": 10, "request": 11, "prefill": 12, "decode": 13, "no_work": 14,
         "comm_setup": 15, "offload": 16}

_mark = getattr(ctypes.CDLL(None), "warptap_mark", None)
if _mark:
    _mark.argtypes, _mark.restype = (ctypes.c_uint, ctypes.c_uint, ctypes.c_longlong, ctypes.c_char_p), None


@contextlib.contextmanager
def phase(kind, name=None, value=0):
    """A range of this thread: kind is a key of KINDS, name what the report calls it."""
    if not _mark:
        yield
        return
    _mark(PUSH, KINDS[kind], value, (name or kind).encode())
    try:
        yield
    finally:
        _mark(POP, 0, 0, None)


def step(number):
    return phase("step", value=number)


def request_begin(number):
    """May end on another thread."""
    if _mark:
        _mark(START, KINDS["request"], number, b"request")


def request_end(number):
    if _mark:
        _mark(END, KINDS["request"], number, None)
