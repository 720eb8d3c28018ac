#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Records of NCCL Inspector and of profiler plugins: collectives, bytes, ranks, kernels and their launches as written;
# cut and broken records; the public plugin trace.
set -u
exec python3 tests/cli/nccl_records.py "${BUILD:-build}/warptap" ../shared/traces/nccl/c001.jsonl
