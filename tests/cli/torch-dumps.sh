#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Flight-recorder dumps: the ranks that hold a job up are those the generator (or, in public dumps, the fault injector)
# made hold it up; all pickle protocols, JSON; hostile pickles are refused and nothing of them runs. Memory snapshots.
set -u
exec python3 tests/cli/torch_dumps.py "${BUILD:-build}/warptap" ../shared/traces/nccl
