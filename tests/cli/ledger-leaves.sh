#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# analyzer/ledger/LEAVES.md has a row for each leaf of leaves.def, in its order, the tests it names are there, and the
# generator's scenes have every leaf (E5, which is outside of their records, is judged by the window).
set -eu
B=$(cd "${BUILD:-build}" && pwd)
cd "$(dirname "$0")/../.."
page=analyzer/ledger/LEAVES.md
fail() { echo "ledger-leaves.sh: $*" >&2; exit 1; }
leaves=$(sed -n 's/^WT_LEAF(\([A-E][0-9]*\),.*/\1/p' analyzer/ledger/leaves.def)
[ "$(echo "$leaves" | wc -l)" -gt 30 ] || fail "leaves.def is not read"
rows=$(sed -n 's/^| \([A-E][0-9]*\) |.*/\1/p' $page)
[ "$rows" = "$leaves" ] || fail "$page and leaves.def differ: $(diff <(echo "$rows") <(echo "$leaves") | grep '^[<>]' | tr '\n' ' ')"
for t in $(grep '^| [A-E][0-9]* |' $page | cut -d'|' -f4 | grep -o '`[a-z0-9_-]*\.\(c\|sh\)`' | tr -d '`' | sort -u); do
	[ -n "$(find tests -name "$t")" ] || fail "$page names $t, which is not there"
done
made=$(for seed in $(seq 1 80); do "$B/tests/gen/gen_scene" "$seed" truth; done | awk '$3 || $4 || $5 > 0 { print $2 }' | sort -u)
for leaf in $leaves; do
	[ "$leaf" = E5 ] || grep -qx "$leaf" <<<"$made" || fail "no scene of 80 has $leaf"
done
