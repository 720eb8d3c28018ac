#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# `warptap report --as hta` equals HolisticTraceAnalysis 0.5.0 itself on the public Kineto files, and our own ledger
# equals it too, or differs by a rule that is named and undone.
set -u
BUILD=${BUILD:-build}
traces=../shared/traces/kineto
[ -d "$traces" ] || { echo "skip-ok: no $traces here"; exit 77; }
if ! why=$(scripts/setup hta 2>&1); then
	echo "$why" >&2
	echo "skip: HolisticTraceAnalysis cannot be installed here (scripts/setup hta)"
	exit 77
fi
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
build/hta-venv/bin/python tests/cli/hta_oracle.py "$traces"/*.json.gz >"$tmp/hta.jsonl" 2>"$tmp/err" ||
	{ tail -n 5 "$tmp/err"; exit 1; }
python3 tests/cli/hta_compare.py "$BUILD/warptap" "$tmp/hta.jsonl" || exit 1

# The text, and what is no view.
"$BUILD/warptap" report --as hta "$traces/k010.json.gz" >"$tmp/text" || exit 1
for want in "503050.991  76.2 %" "7317.025 of       46876.493   15.6 %" "By the rules of HolisticTraceAnalysis"; do
	grep -qF -- "$want" "$tmp/text" || { echo "the text lacks: $want"; cat "$tmp/text"; exit 1; }
done
"$BUILD/warptap" report --as xyz "$traces/k010.json.gz" 2>"$tmp/text" && exit 1
grep -q "unknown view xyz; known: hta" "$tmp/text"
