#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes libdevice.10.bc as a module of LLVM bitcode with nothing in it: kernels on simgpu compute nothing, so the
functions it would bring stay undefined. Format: LLVM Bitcode File Format,
in the documents of LLVM.

usage: gen_libdevice.py FILE
"""
import struct
import sys

MODULE_BLOCK, CODE_VERSION, END_BLOCK, ENTER_SUBBLOCK, UNABBREV_RECORD = 8, 1, 0, 1, 3


class Bits:
    def __init__(self):
        self.value = self.n = 0

    def fixed(self, v, width):
        self.value |= v << self.n
        self.n += width

    def vbr(self, v, width):
        high = 1 << (width - 1)
        while v >= high:
            self.fixed(v % high | high, width)
            v //= high
        self.fixed(v, width)

    def words(self):  # padded to 32 bits
        return self.value.to_bytes((self.n + 31) // 32 * 4, "little")


inside = Bits()  # abbreviation ids are 3 bits wide here
inside.fixed(UNABBREV_RECORD, 3)
for number in (CODE_VERSION, 1, 1):  # code, number of operands, operand: relative ids
    inside.vbr(number, 6)
inside.fixed(END_BLOCK, 3)
head = Bits()  # and 2 outside
head.fixed(ENTER_SUBBLOCK, 2)
head.vbr(MODULE_BLOCK, 8)
head.vbr(3, 4)
body = inside.words()
with open(sys.argv[1], "wb") as f:
    f.write(b"BC\xc0\xde" + head.words() + struct.pack("<I", len(body) // 4) + body)
