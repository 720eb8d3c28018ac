#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# A wide choice of operators on two generations of devices, and the two other allocators of PyTorch.
. tests/torch/torch_env.sh
record h100 h100 test_ops.py
complete h100
record a100 a100 test_ops.py
complete a100
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
record segments h100 test_basic.py
complete segments
export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
record pool h100 test_basic.py
complete pool
