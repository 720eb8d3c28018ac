#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Tensor and sequence parallel training with 2 processes.
. tests/torch/dist_env.sh
ranks tp 2 --tp --steps 3 --log-every 1
