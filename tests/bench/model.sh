#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How near the simulated devices' duration model comes to measured kernels and collectives: one line a table, with the
# model as it is built. The tables lie beside the checkout, and only there.
# usage: tests/bench/model.sh     BUILD=build
set -eu
cd "$(dirname "$0")/../.."
B=${BUILD:-build}; data=../shared/data
[ -d "$data" ] || { echo "skip-ok: no measured tables in $data"; exit 0; }
inc=${CUDA_HOME:-/usr/local/cuda}/include; [ -f "$inc/cuda.h" ] || inc=build/cuda/include
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
${CC:-gcc} -std=gnu11 -O2 -Wall -Wextra -I. -I"$inc" -o "$T/model_rows" tests/bench/model_rows.c "$B/libsimcore.a" -lpthread
scripts/fit-model "$data" --check "$T/model_rows"
