#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# What the hooks add to a call, counted by callgrind, stays within limits: 40 instructions at level off, 100 recorded
# or counted, and what bench_hook.sh says of products of cuBLAS.
exec tests/bench/bench_hook.sh instructions
