#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# The callback API of the simulated CUPTI, and what the newer runtime passes on to the driver.
set -eu
build=${BUILD:-build}
export LD_LIBRARY_PATH=$build/simgpu/lib
out=$("$build/tests/cli/sim_callback")
echo "$out"
[ "$out" = ok ]
