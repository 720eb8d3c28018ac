#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Speed of the XPlane importer on generated files of a GPU and of two TPUs.
set -eu
build=${BUILD:-build}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
python3 tests/gen/gen_xplane.py gpu --steps 8000 --layers 12 -o "$tmp/gpu.xplane.pb"
python3 tests/gen/gen_xplane.py tpu --steps 8000 --layers 12 --devices 2 -o "$tmp/tpu.xplane.pb"
ls -l "$tmp" | awk 'NR > 1 {printf "%s %.1f MB\n", $9, $5 / 1e6}'
"$build/tests/bench/bench_xplane" "$tmp/gpu.xplane.pb"
"$build/tests/bench/bench_xplane" "$tmp/tpu.xplane.pb"
