#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Eight ranks with the memory of a model of eight billion parameters and its optimizer fit a small machine, and the
# truth knows each rank's peak to the byte.
set -eu
build=$(cd "${BUILD:-build}" && pwd)
export LD_LIBRARY_PATH=$build/simgpu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset SIMGPU_DEVICE SIMGPU_DEVICES SIMGPU_SCENARIO SIMGPU_TRUTH SIMGPU_LOG RANK LOCAL_RANK OMPI_COMM_WORLD_RANK SLURM_PROCID PMI_RANK
fail() { echo "sim-memory-large.sh: $*" >&2; exit 1; }

mkdir "$tmp/truth"
SIMGPU_TRUTH=$tmp/truth timeout 120 "$build/tests/cli/sim_large" 8 8030261248 >"$tmp/out" || fail "exit $?"
resident=$(awk '$1 == "resident" { print $2 }' "$tmp/out")
peak=$(awk '$1 == "rank" { print $4 }' "$tmp/out" | sort -u)
[ "$(grep -c '^rank' "$tmp/out")" = 8 ] || fail "not eight ranks: $(cat "$tmp/out")"
[ "$(echo "$peak" | wc -l)" = 1 ] && [ "$peak" -gt $((14 << 30)) ] || fail "peaks: $peak"
notes=$(awk -F'\t' '$1 == "note" && $2 == "peak_bytes" { print $18 }' "$tmp"/truth/*.tsv | sort | uniq -c | xargs)
[ "$notes" = "8 0 $peak" ] || fail "the truth says: $notes; the ranks counted $peak"
[ "$resident" -lt $((24 << 20)) ] || fail "$resident kB of host memory"
# It has to be a few megabytes a rank, in fact; a model of a hundredth with full data shows that the measure measures.
[ "$resident" -lt $((1 << 20)) ] || fail "$resident kB of host memory: not lazy any more"
printf '[nccl] collective_data = full\n' >"$tmp/full.ini"
SIMGPU_SCENARIO=$tmp/full.ini timeout 120 "$build/tests/cli/sim_large" 2 80302612 >"$tmp/out" || fail "full: exit $?"
full=$(awk '$1 == "resident" { print $2 }' "$tmp/out")
[ "$full" -gt $((500 << 10)) ] || fail "with full data only $full kB"
echo "8 ranks of $peak bytes each: $resident kB of host memory in all (2 small ones with full data: $full kB)"
