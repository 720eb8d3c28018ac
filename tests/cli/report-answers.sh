#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# `warptap report --json` on public traces against known answers: eight sweeps to the nanosecond, all 46 Kineto files
# and the 11 of Nsight Systems.
set -u
bin=${BUILD:-build}/warptap
traces=../shared/traces
[ -d "$traces" ] || { echo "skip-ok: no $traces here"; exit 77; }
exec python3 tests/cli/answers.py "$bin" "$traces"
