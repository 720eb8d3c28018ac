#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Sharded training (FSDP2, activations recomputed) with 2 and 4 processes: all-gathers, reduce-scatters, no row missing.
. tests/torch/dist_env.sh
ranks fsdp2 2 --fsdp2 --steps 3 --precision bf16 --log-every 1
ranks fsdp4 4 --fsdp2 --steps 3 --log-every 1
