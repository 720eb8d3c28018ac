#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Instructions and ns that a hook adds to a call. Instructions: callgrind, as the slope between two lengths of the
# same loop, on the calling thread alone, with the agent minus without. Limits: 100 recorded (goal 85) or counted, 40 at
# level off; a product of cuBLAS, which has 19 arguments, 230 recorded; a plan of cuDNN with the
# pack that is made for it, five calls, 400 at level off (descriptors are booked always) and 650 recorded.
# usage: tests/bench/bench_hook.sh [instructions|time]     BUILD=build
set -eu
B=${BUILD:-build}; what=${1:-all}
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
mkdir "$T/lib" "$T/out"
ln -s "$(realpath "$B/tests/cli/libfakecuda.so")" "$T/lib/libcuda.so.1"
ln -s "$(realpath "$B/tests/cli/libfakecublas.so")" "$T/lib/libcublas.so.13"
ln -s "$(realpath "$B/tests/cli/libfakecudnn.so")" "$T/lib/libcudnn.so.9"
agent=$(realpath "$B/libwarptap.so"); prog=$B/tests/bench/bench_hook
export LD_LIBRARY_PATH=$T/lib WARPTAP_CUPTI=0 WARPTAP_POOL_MB=64 WARPTAP_BUDGET=0

# total N [VAR=value...]: instructions of the main thread over N launches (or products: what=gemm)
which=count
total() {
	n=$1; shift
	rm -rf "$T"/out/* "$T"/cg*
	env "$@" valgrind -q --tool=callgrind --separate-threads=yes --callgrind-out-file="$T/cg" "$prog" "$which" "$n" \
		>"$T/log" 2>&1 || { cat "$T/log" >&2; return 1; }
	cat "$T"/cg-01 "$T"/cg 2>/dev/null | awk '$1 == "totals:" || $1 == "summary:" { print $2; exit }'
}
slope() { a=$(total 20000 "$@"); b=$(total 60000 "$@"); awk -v a="$a" -v b="$b" 'BEGIN { printf "%.2f", (b - a) / 40000 }'; }

bad=0
if [ "$what" != time ]; then
	plain=$(slope)
	echo "instructions per launch without the agent: $plain"
	for row in off:40 count:100 api:100; do
		level=${row%:*}; limit=${row#*:}
		with=$(slope LD_PRELOAD="$agent" WARPTAP_DIR="$T/out" WARPTAP_LEVEL="$level")
		added=$(awk -v a="$plain" -v b="$with" 'BEGIN { printf "%.1f", b - a }')
		echo "instructions added at level $level: $added (limit $limit)"
		awk -v a="$added" -v l="$limit" 'BEGIN { exit !(a > 0 && a <= l) }' || bad=1
	done
	which=gemm
	plain_gemm=$(slope)
	for row in off:40 api:230; do # api: 13 of its 19 arguments lie on the stack and are put there again; goal 100
		level=${row%:*}; limit=${row#*:}
		with=$(slope LD_PRELOAD="$agent" WARPTAP_DIR="$T/out" WARPTAP_LEVEL="$level")
		added=$(awk -v a="$plain_gemm" -v b="$with" 'BEGIN { printf "%.1f", b - a }')
		echo "instructions added to a product of cuBLAS at level $level: $added (limit $limit)"
		awk -v a="$added" -v l="$limit" 'BEGIN { exit !(a > 0 && a <= l) }' || bad=1
	done
	which=dnn
	plain_dnn=$(slope)
	for row in off:400 api:650; do # what is said of descriptors is booked at every level
		level=${row%:*}; limit=${row#*:}
		with=$(slope LD_PRELOAD="$agent" WARPTAP_DIR="$T/out" WARPTAP_LEVEL="$level")
		added=$(awk -v a="$plain_dnn" -v b="$with" 'BEGIN { printf "%.1f", b - a }')
		echo "instructions added to a plan of cuDNN, with its pack, at level $level: $added (limit $limit)"
		awk -v a="$added" -v l="$limit" 'BEGIN { exit !(a > 0 && a <= l) }' || bad=1
	done
	which=count
	inert=$(slope LD_PRELOAD="$agent")
	echo "instructions added with the agent inert: $(awk -v a="$plain" -v b="$inert" 'BEGIN { printf "%.1f", b - a }')"
fi
if [ "$what" != instructions ]; then
	for level in off count api; do
		echo "level $level, one run:"
		env LD_PRELOAD="$agent" WARPTAP_DIR="$T/out" WARPTAP_LEVEL="$level" "$prog" time | sed 's/^/  /'
	done
fi
exit $bad
