#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Tables of device operations as CSV (nsys stats, nvprof, rocprofv3): counts, unions and sums to the nanosecond, units
# and quotes of every kind; cut and broken rows; tables without intervals refused by name.
set -u
exec python3 tests/cli/csv_tables.py "${BUILD:-build}/warptap" ../shared/traces/other/o006.csv
