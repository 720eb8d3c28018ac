#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Files of all released versions read as they did when they were made: every packet, and the exit code.
set -eu
build=${BUILD:-build}
for f in tests/golden/v*/*.wt; do
	"$build/warptap" info --packets "$f" | diff -u "${f%.wt}.packets" - ||
		{ echo "FAIL: $f reads differently"; exit 1; }
	"$build/warptap" info "$f" >/dev/null || { echo "FAIL: $f: exit $?"; exit 1; }
	echo "ok: $f"
done
