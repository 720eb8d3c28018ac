#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bytes of trace per kernel event, all in: host calls, records, names, clocks, counts and framing of a training job,
# divided by its kernels. A short run shows the fixed part, a long one what an event costs.
set -eu
export WARPTAP_BUDGET=0 # the whole job at one level
build=${BUILD:-build}
limit=8
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0
for steps in 60 1000; do
	rm -rf "$out/t"
	"$build/warptap" run -q -o "$out/t" --sim "h100,devices=2,scenario=$PWD/tests/bench/bench_bytes.scenario" -- \
		"$build/examples/train2/train2" --ranks 2 --steps $steps --hidden 64 --seq 64 --batch 1 >"$out/log" 2>&1 ||
		{ cat "$out/log"; exit 1; }
	bytes=$(cat "$out"/t/*.wt | wc -c)
	"$build/warptap" report --json "$out/t" >"$out/report.json"
	kernels=$(python3 -c 'import json, sys; r = json.load(open(sys.argv[1]))
print(sum(d["kernels"]["count"] for d in r["devices"]))' "$out/report.json")
	each=$(awk -v b="$bytes" -v k="$kernels" 'BEGIN { printf "%.2f", b / k }')
	echo "train2, 2 ranks, $steps steps: $bytes bytes, $kernels kernels, $each bytes per kernel event (limit $limit, goal 6)"
	[ $steps -lt 1000 ] || awk -v e="$each" -v l=$limit 'BEGIN { exit e > l }' || failed=1
done
exit $failed
