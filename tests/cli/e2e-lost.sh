#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# CUPTI loses activity buffers: the report says how many operations are missing and books the hole as E1, not as idle.
set -eu
B=${BUILD:-build}
d=$(mktemp -d); trap 'rm -rf "$d"' EXIT
{ cat examples/train2/demo.scenario; printf '\n[cupti]\nlose_buffer = 2\n'; } >"$d/lossy.scenario"
"$B/warptap" run -q -o "$d/t" --sim h100,devices=2,scenario="$d/lossy.scenario" -- \
	"$B/examples/train2/train2" --ranks 2 --steps 200
grep -h lost_buffer "$d"/t/truth.*.tsv | cut -f3,18 | head
JOIN_DUMP="$d/arrived" "$B/tests/e2e/join_check" "$d/t" 20
python3 tests/e2e/truth_check.py "$B/warptap" "$d/t" --missing "$d/arrived"
"$B/warptap" report "$d/t" >"$d/r.txt"
grep -E 'missing' "$d/r.txt"
