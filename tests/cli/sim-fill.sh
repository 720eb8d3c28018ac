#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# The fill kernels of PyTorch are the only ones that compute: see sim_fill.c.
B=${BUILD:-build}
[ "$(LD_LIBRARY_PATH=$B/simgpu/lib "$B/tests/cli/sim_fill")" = ok ]
