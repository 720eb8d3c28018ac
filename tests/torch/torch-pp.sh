#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Pipeline parallel training with 2 processes: sends and receives, alone and in groups.
. tests/torch/dist_env.sh
ranks pp 2 --pp --steps 3 --log-every 1
