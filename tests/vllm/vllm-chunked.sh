#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vLLM's first model runner, whose kernels say nothing of new requests, and a budget so small that prompts are worked on
# in parts: what is a prompt follows from what ran before.
. tests/vllm/vllm_env.sh
export VLLM_USE_V2_MODEL_RUNNER=0
both chunked h100,preload --eager --budget 64
complete chunked
iterations chunked 95
