#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# Eight processes: replicas, and sharded weights.
. tests/torch/dist_env.sh
ranks ddp8 8 --ddp --steps 3 --log-every 1
ranks fsdp8 8 --fsdp2 --steps 3 --precision bf16 --log-every 1
