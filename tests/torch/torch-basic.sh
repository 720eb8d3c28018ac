#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Device queries, copies both ways, elementwise kernels and products, on every simulated device.
. tests/torch/torch_env.sh
for device in a100 h100 h200 b200; do
	record "$device" "$device" test_basic.py
	complete "$device"
	grep -q '^done$' "$tmp/$device.out" || fail "$device: $(cat "$tmp/$device.out")"
	[ ! -e "$tmp/$device.stubs" ] || fail "$device: stubs were used: $(cat "$tmp/$device.stubs")"
done
grep -q 'NVIDIA B200 10.0 148' "$tmp/b200.out" || fail "not a B200: $(cat "$tmp/b200.out")"
