#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Damaged Kineto files: a report of what was there and exit 3; what is no trace at all: exit 1 and one line.
set -u
BUILD=${BUILD:-build}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
failed=0
gen() { python3 tests/gen/gen_kineto.py --steps 3 "$@"; }
# expect EXIT FILE WORDS: the exit code, and the words in what it says
expect() {
	"$BUILD/warptap" report "$2" >"$tmp/out" 2>"$tmp/err"
	local rc=$?
	if [ $rc -ne "$1" ] || ! grep -q "$3" "$tmp/out" "$tmp/err"; then
		echo "$2: exit $rc instead of $1, or no word of: $3"
		cat "$tmp/out" "$tmp/err"
		failed=1
	fi
	if [ "$1" -eq 1 ] && { [ -s "$tmp/out" ] || [ "$(wc -l <"$tmp/err")" -ne 1 ]; }; then
		echo "$2: not one line on stderr"
		cat "$tmp/out" "$tmp/err"
		failed=1
	fi
	if [ "$1" -eq 3 ] && ! grep -q . "$tmp/out"; then
		echo "$2: no report"
		failed=1
	fi
}
gen --cut -900 -o "$tmp/cut.json"
expect 3 "$tmp/cut.json" 'expected'
gen -o "$tmp/whole.json.gz"
head -c $(($(stat -c %s "$tmp/whole.json.gz") * 3 / 4)) "$tmp/whole.json.gz" >"$tmp/cut.json.gz"
expect 3 "$tmp/cut.json.gz" 'ends too early'
gen -o "$tmp/whole.json"
size=$(stat -c %s "$tmp/whole.json")
cp "$tmp/whole.json" "$tmp/flip.json"
printf '\001' | dd of="$tmp/flip.json" bs=1 seek=$((size / 2)) conv=notrunc status=none
# In the middle of a name: nothing is lost by it, and it is said.
expect 0 "$tmp/flip.json" '1 faults of the text were repaired.*found byte 0x01'
sed 's/"ph": "X", "cat": "kernel"/"ph": "X" "cat": "kernel"/3' "$tmp/whole.json" >"$tmp/comma.json"
expect 3 "$tmp/comma.json" '1 events lost'
cp "$tmp/whole.json.gz" "$tmp/crc.json.gz"
size=$(stat -c %s "$tmp/crc.json.gz")
printf '\001\002\003\004' | dd of="$tmp/crc.json.gz" bs=1 seek=$((size - 8)) conv=notrunc status=none
expect 3 "$tmp/crc.json.gz" 'checksum'
: >"$tmp/empty.json"
expect 1 "$tmp/empty.json" 'expected'
echo 'just a text' >"$tmp/text.json"
expect 1 "$tmp/text.json" 'found text'
echo '{"name": "a config file"}' >"$tmp/config.json"
expect 1 "$tmp/config.json" 'traceEvents'
expect 1 "$tmp/absent.json" 'no such file'
exit $failed
