#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# Eight billion parameters with their optimizer on eight ranks, FSDP2 from the meta device, bf16, under the agent: all
# processes together stay under 24 GB of host memory, and each device's peak equals torch's own account to the byte.
. tests/torch/dist_env.sh
limit_mb=24000
need_mb=5000
have_mb=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
if [ "$have_mb" -lt $need_mb ]; then
	echo "skip-ok: $have_mb MB of memory are free, the run is let at $need_mb"
	exit 77
fi

# sample: the largest sum of proportional set sizes of this script's descendants so far, MB, into $tmp/pss
sample() {
	local most=0 now
	while sleep 1; do
		now=$(for p in $(descendants $$); do cat "/proc/$p/smaps_rollup" 2>/dev/null || :; done |
			awk '$1 == "Pss:" { kb += $2 } END { print int(kb / 1024) }')
		[ "$now" -le "$most" ] || { most=$now; echo "$most" >"$tmp/pss"; }
	done
}
descendants() {
	ps -e -o pid=,ppid= | awk -v top="$1" '{ kids[$2] = kids[$2] " " $1 }
		function walk(p,   n, i, k) { n = split(kids[p], k, " "); for (i = 1; i <= n; i++) { print k[i]; walk(k[i]) } }
		END { walk(top) }'
}
printf '[nccl]\ncollective_data = small\n' >"$tmp/large.scenario"
scenario=$tmp/large.scenario
sample &
sampler=$!
trap 'kill $sampler 2>/dev/null || :; rm -rf "$tmp"' EXIT
mkdir -p "$tmp/8b"
ACCOUNT_DIR=$tmp/8b record_ranks 8b 8 --fsdp2 --size 8b --precision bf16 --steps 2 --batch 1
kill $sampler
complete 8b
cat "$tmp/8b.out"
grep -q ' 8298729472 parameters' "$tmp/8b.out" || fail "not the model meant"
pss=$(cat "$tmp/pss")
echo "host memory of all processes, peak of the sum of Pss: $pss MB (limit $limit_mb)"
[ "$pss" -gt 1000 ] || fail "the memory of the ranks was not seen"
[ "$pss" -lt $limit_mb ] || fail "host memory"
