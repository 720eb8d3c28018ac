#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vLLM's own names of its iterations: NVTX ranges in our trace, and record_function in the trace of its torch profiler.
# All iterations are what the engine logged; grids alone say so of nearly all. The profiler's file, read by us, too.
. tests/vllm/vllm_env.sh
both nvtx a100,preload --eager --annotate
complete nvtx
iterations nvtx 100 --source named
iterations nvtx 95 --source named --by-geometry
