#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Beside other tools' preloads: RTLD_NEXT keeps its caller, a second interposer of dlsym stays in the chain; with our
# gate compiled at -O2 and at -O0.
set -eu
B=$(realpath "${BUILD:-build}")
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
mkdir "$T/lib"; ln -s "$B/tests/cli/libfakecuda.so" "$T/lib/libcuda.so.1"
die() { echo "FAIL: $*"; cat "$T/out" "$T/dump" 2>/dev/null; exit 1; }
make --no-print-directory O="$B/o0" DEBUG=1 "$B/o0/libwarptap.so" >"$T/make" 2>&1 || { cat "$T/make"; exit 1; }

record() { # PRELOAD WAY WHAT
	rm -rf "$T/dir" "$T/dump"; mkdir "$T/dir"; rc=0
	env END=_exit LD_PRELOAD="$1" LD_LIBRARY_PATH="$T/lib" OTHER_TELLS=1 WARPTAP_DIR="$T/dir" WARPTAP_CUPTI=0 WARPTAP_EXIT_MS=10000 \
		"$B/tests/cli/gate_client" "$2" "$3" >"$T/out" 2>&1 || rc=$?
	[ $rc = 7 ] || [ $rc = 0 ] || die "$*: exit $rc"
}
for ours in "$B/libwarptap.so" "$B/o0/libwarptap.so"; do
	for way in linked dlsym gpa2; do
		for order in "$ours:$B/tests/cli/libother_preload.so" "$B/tests/cli/libother_preload.so:$ours"; do
			record "$order" $way calls
			grep -qx 'launched 5' "$T/out" || die "$order $way"
			ls "$T"/dir/*.wt >/dev/null || die "$order $way: nothing recorded"
		done
	done
	# Two interposers, ours first: both see each launch.
	rm -rf "$T/dir"; mkdir "$T/dir"; rc=0
	{ env LD_PRELOAD="$ours:$B/tests/cli/libother_dlsym.so" LD_LIBRARY_PATH="$T/lib" WARPTAP_DIR="$T/dir" WARPTAP_CUPTI=0 \
		END=kill "$B/tests/cli/gate_client" dlsym calls >"$T/out" 2>&1; } 2>/dev/null || rc=$?
	[ $rc = 137 ] || die "two interposers: exit $rc"
	"$B/tests/cli/ring_dump" "$T"/dir/*.ring >"$T/dump"
	grep -qx 'row cuLaunchKernel 5' "$T/dump" || die "two interposers: ours saw something else"
	env LD_PRELOAD="$ours:$B/tests/cli/libother_dlsym.so" LD_LIBRARY_PATH="$T/lib" WARPTAP_DIR="$T/dir" WARPTAP_CUPTI=0 \
		"$B/tests/cli/gate_client" dlsym calls >"$T/out" 2>&1
	grep -qx 'their launches: 5' "$T/out" || die "two interposers: theirs was cut off"
done
echo ok
