#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Damaged traces: what was whole is read, exit 3, and the damage is told; what is no trace at all is exit 1, one line.
set -eu
build=${BUILD:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
gen() { "$build/tests/gen/gen_wt" "$1"; }
fail() { echo "FAIL: $*"; exit 1; }
info() { # WANTED_EXIT FILE [TEXT that must be in the output]
	rc=0
	"$build/warptap" info "$2" >"$tmp/out" 2>"$tmp/err" || rc=$?
	[ "$rc" = "$1" ] || { cat "$tmp/out" "$tmp/err"; fail "$2: exit $rc, expected $1"; }
	if [ "$1" = 1 ]; then
		[ "$(wc -l <"$tmp/err")" = 1 ] || fail "$2: not one line of error: $(cat "$tmp/err")"
	fi
	[ $# -lt 3 ] || grep -q "$3" "$tmp/out" "$tmp/err" || fail "$2: '$3' is not said"
	echo "ok: exit $1, $(basename "$2")"
}
gen many >"$tmp/whole.wt"
size=$(wc -c <"$tmp/whole.wt")
info 0 "$tmp/whole.wt" "device operations"
head -c $((size / 2)) "$tmp/whole.wt" >"$tmp/half.wt"
info 3 "$tmp/half.wt" "the run was cut"
gen killed >"$tmp/killed.wt"
info 3 "$tmp/killed.wt" "the run was cut"
{ head -c $((size / 2)) "$tmp/whole.wt"; printf '\377\000\377'; tail -c $((size / 2 - 3)) "$tmp/whole.wt"; } \
	>"$tmp/middle.wt"
info 3 "$tmp/middle.wt" "packets missing by number"
{ head -c $((size - 9)) "$tmp/whole.wt"; printf 'xxxxxxxxx'; } >"$tmp/tail.wt"
info 3 "$tmp/tail.wt" "damage"
{ cat "$tmp/whole.wt"; printf 'junk at the end'; } >"$tmp/junk.wt"
info 3 "$tmp/junk.wt" "expected the marker"
: >"$tmp/empty.wt"
info 1 "$tmp/empty.wt" "empty"
head -c 5000 /dev/urandom >"$tmp/random.wt"
info 1 "$tmp/random.wt" "expected"
head -c 40 "$tmp/whole.wt" >"$tmp/marker.wt"
info 1 "$tmp/marker.wt" "no packet could be read"
info 1 "$tmp/absent.wt"
info 1 "$tmp"
# half of the packets are still there, and every one of them as it was written
"$build/warptap" info --packets "$tmp/whole.wt" >"$tmp/all"
"$build/warptap" info --packets "$tmp/half.wt" >"$tmp/some" || [ $? = 3 ]
[ "$(wc -l <"$tmp/some")" -gt $(($(wc -l <"$tmp/all") / 3)) ] || fail "too little of half a file was read"
head -n "$(wc -l <"$tmp/some")" "$tmp/all" | cmp -s - "$tmp/some" ||
	fail "half a file is not the first half of its packets"
