#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Forked workers of a DataLoader leave no trace; the parent's is complete.
. tests/torch/torch_env.sh
record data h100 test_data.py
complete data
[ "$(traces data)" = 1 ] || fail "$(traces data) traces: $(ls "$tmp/data")"
[ "$(find "$tmp/data" -name 'truth.*' | wc -l)" = 1 ] || fail "a worker used the device: $(ls "$tmp/data")"
