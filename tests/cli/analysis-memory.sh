#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Eight ranks of a million events each are analysed in one report within 64 bytes an event and 64 MiB, rows included.
exec "${BUILD:-build}/tests/bench/bench_analysis" memory
