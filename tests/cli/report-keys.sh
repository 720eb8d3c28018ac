#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# warptap-json(5) names every key that reports print, of our own traces and of other tools' where they are at hand; and
# the numbers of a report agree with each other (report_audit.py).
set -eu
B=${BUILD:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0
for f in tests/golden/v1/*.wt ../shared/traces/*/*[0-9]* ; do
	[ -e "$f" ] || continue
	"$B/warptap" report --json -q "$f" >"$tmp/$n.json" 2>/dev/null || [ $? = 3 ] || { rm "$tmp/$n.json"; continue; }
	n=$((n + 1))
done
[ $n -gt 0 ] || { echo "no report at all"; exit 1; }
"$B/warptap" report --json -q --model gpt2,tokens_per_step=8192 tests/golden/v1/*.wt >"$tmp/model.json" || [ $? = 3 ]
for seed in $(seq 1 12); do # scenes of one to four ranks
	mkdir "$tmp/scene"
	for rank in 0 1 2 3; do
		"$B/tests/gen/gen_scene" $seed kineto $rank >"$tmp/scene/$rank.json" 2>/dev/null || rm "$tmp/scene/$rank.json"
	done
	"$B/warptap" report --json -q "$tmp/scene" >"$tmp/scene$seed.json"
	rm -r "$tmp/scene"
done
python3 tests/cli/report_keys.py analyzer/report/warptap-json.5 "$tmp"/*.json
python3 tests/cli/report_audit.py "$tmp"/*.json
