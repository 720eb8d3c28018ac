#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# As torch-straggler.sh, on 8 ranks.
. tests/torch/straggler_env.sh
straggler late8 8 5
straggler skewed8 8 5 'skew = 1:+3ms, 5:-7ms
drift = 5:-30ppm' 3:1 -7:5
