#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# vLLM offline, without graphs: the engine is a forked process that ends by _exit. Its iterations from grids alone.
. tests/vllm/vllm_env.sh
both eager a100,preload --eager
complete eager
iterations eager 95
