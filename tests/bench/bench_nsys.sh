#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rows per second of the Nsight Systems importer, on a generated database of 986,000 rows (45 MB).
set -eu
BUILD=${BUILD:-build}
file=$BUILD/bench_nsys.sqlite
python3 tests/gen/gen_nsys.py --kernels 400000 --processes 1 -o "$file" >/dev/null
"$BUILD/tests/bench/bench_nsys" "$file"
rm -f "$file"
