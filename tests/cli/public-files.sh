#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Every public trace of the manifest gives a report, and `info` says what it is; the one binary report of Nsight is
# answered with the command that converts it.
set -u
bin=${BUILD:-build}/warptap
traces=../shared/traces
[ -d "$traces" ] || { echo "skip-ok: no $traces here"; exit 77; }
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
bad=0 n=0
fail() { echo "FAIL: $*"; bad=1; }
while IFS=$'\t' read -r id kind file _; do
	[ "$id" != id ] || continue
	n=$((n + 1))
	want=0
	case $id in n023) want=1 ;; esac
	"$bin" report --json "$traces/$file" >"$tmp/out" 2>"$tmp/err"; rc=$?
	[ $rc = $want ] || fail "$id ($kind): report exits with $rc, expected $want: $(head -c 300 "$tmp/err")"
	if [ $want = 0 ]; then
		python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["inputs"][0]["format"]' "$tmp/out" ||
			fail "$id: no report"
		[ -s "$tmp/err" ] && fail "$id: $(head -c 300 "$tmp/err")"
	else
		grep -q 'nsys export --type sqlite' "$tmp/err" || fail "$id: $(cat "$tmp/err")"
	fi
	[ -d "$traces/$file" ] && continue
	"$bin" info "$traces/$file" >"$tmp/out" 2>"$tmp/err"; rc=$?
	[ $rc = $want ] || fail "$id ($kind): info exits with $rc, expected $want: $(head -c 300 "$tmp/err")"
done <"$traces/MANIFEST.tsv"
echo "$n files"
[ "$n" = 69 ] || fail "69 files expected"
exit $bad
