# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts that make a rank late, from the repository root.
. tests/torch/dist_env.sh

# straggler NAME RANKS [LATE [CLOCK MS:RANK...]]: trains with rank LATE's kernels 1.3 times as long and, with CLOCK, on
# other clocks; holds the report against the truth.
straggler() {
	local name=$1 n=$2 late=${3:-} clock=${4:-}
	shift $(($# < 4 ? $# : 4))
	: >"$tmp/$name.scenario"
	[ -z "$late" ] || printf '[straggler]\nrank = %s\nfactor = 1.3\n' "$late" >>"$tmp/$name.scenario"
	[ -z "$clock" ] || printf '[clock]\n%s\n' "$clock" >>"$tmp/$name.scenario"
	scenario=$tmp/$name.scenario
	mkdir -p "$tmp/$name"
	ACCOUNT_DIR=$tmp/$name record_ranks "$name" "$n" --ddp --size 124m --batch 16 --steps 6
	[ -n "$clock" ] || complete "$name"
	[ -z "$late" ] || python3 tests/torch/straggler_check.py "$tmp/$name.json" "$tmp/$name" "$late" "$@" ||
		{ "$build/warptap" report "$tmp/$name" | sed -n '/^Ranks/,/^$/p'; fail "$name"; }
}
