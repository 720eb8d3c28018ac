#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Generated Nsight Systems exports, schemas of 2021 to 2026: kernels, union, sum and launches equal what the generator
# says; absent tables are named; damage gives exit 3 and what could be read; nothing is written beside a file; tables
# with the environment are not opened (they are damaged on purpose, and nobody notices).
set -u
exec python3 tests/cli/nsys_generated.py "${BUILD:-build}/warptap"
