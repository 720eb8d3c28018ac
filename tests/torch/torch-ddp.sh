#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Data parallel training with 2 and 4 processes under the agent: nothing is missing, nothing is changed.
. tests/torch/dist_env.sh
ranks ddp2 2 --ddp --steps 4 --log-every 1
ranks ddp4 4 --ddp --steps 3 --precision bf16 --log-every 1
