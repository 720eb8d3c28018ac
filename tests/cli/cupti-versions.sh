#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# The agent's reader against records laid out by the headers of each release of CUPTI from 11.8 to 13.5, stepping by
# that release's own library where it does that without a driver (13.3 and later do not).
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
scripts/setup cupti || exit 1
cuda=$(make -s -f - print <<<$'include Makefile\nprint:\n\t@echo $(CUDA_INC)')
fail() { echo "FAIL: $*"; exit 1; }
newest() { # NAME HEADERS...: the last of CUpti_ActivityNAME, NAME2, ...
	local name=$1; shift
	cat "$@" | sed -nE "s/^} *(CUpti_Activity$name[0-9]*);.*/\1/p" | sort -V | tail -1
}
tried=0 stepped=0
for root in build/cupti/[0-9]*; do
	version=${root##*/} include=$(dirname "$(find "$root" -name cupti_activity.h)")
	library=$(find "$root" -name 'libcupti.so.*' | head -1)
	define=()
	for pair in KERNEL=Kernel MEMCPY=Memcpy PEERCPY=MemcpyPtoP MEMSET=Memset GRAPHTRACE=GraphTrace OVERHEAD=Overhead; do
		struct=$(newest "${pair#*=}" "$include"/cupti_activity*.h)
		[ -n "$struct" ] || fail "$version has no ${pair#*=}"
		define+=("-D${pair%=*}=$struct")
		case $pair in KERNEL=* | MEMCPY=*)
			if cc -fsyntax-only -I"$include" -I"$cuda" -x c - 2>/dev/null <<<"#include <cupti_activity.h>
				int f($struct *r) { return r->isDeviceLaunched; }"; then
				define+=("-DHAS_${pair%=*}_LAUNCHED")
			fi ;;
		esac
	done
	cc -std=gnu11 -Wall -Wno-deprecated-declarations "${define[@]}" -I"$include" -I"$cuda" -o "$dir/layout" tests/e2e/cupti_layout.c 2>"$dir/err" ||
		fail "$version: $(head -5 "$dir/err")"
	"$dir/layout" "$dir/records" >"$dir/words" 2>"$dir/sizes" || fail "$version: laying out"
	for step in - "$library"; do
		"$build/tests/e2e/cupti_read" "$dir/records" "$step" $(cat "$dir/sizes") >"$dir/read" 2>"$dir/err" || fail "$version: reading: $(cat "$dir/err")"
		if cmp -s "$dir/words" "$dir/read"; then
			[ "$step" = - ] || stepped=$((stepped + 1))
		elif [ "$step" = - ] || [ -s "$dir/read" ]; then
			diff "$dir/words" "$dir/read" || fail "$version, stepping by ${step##*/}"
		else
			echo "$version: its library does not step without a driver"
		fi
	done
	tried=$((tried + 1))
	echo "$version: ${define[*]#-D}: $(wc -l <"$dir/words") records read as they were written"
done
[ $tried -ge 9 ] && [ $stepped -ge 7 ] || fail "$tried releases, $stepped of them stepped by themselves"
