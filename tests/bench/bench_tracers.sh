#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A tight loop of launches that do nothing: ns that the agent adds to a call at each level, and beside it in the same
# run, in turns, what LTTng-UST adds with a tracepoint at both ends (the arguments in the first) and uftrace (-pg: entry
# and exit, no arguments). Medians of rounds; those two with a pause after each 2,000 calls, so that they need not drop.
# Then the instructions that the agent adds (bench_hook.sh).
# usage: tests/bench/bench_tracers.sh [ROUNDS]     BUILD=build
set -eu
B=$(realpath "${BUILD:-build}"); rounds=${1:-5}; R=$(realpath build)/tracers-root
if ! why=$(scripts/setup tracers 2>&1); then
	echo "$why"; echo "neither LTTng nor uftrace here (scripts/setup tracers)"
	exit 0
fi
T=$(mktemp -d); chmod 777 "$T"; daemon=
cleanup() { [ -z "$daemon" ] || { kill "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; } || :; rm -rf "$T"; }
trap cleanup EXIT
multi=usr/lib/$(gcc -print-multiarch); inc="-I. -I$R/usr/include -I$R/usr/include/$(gcc -print-multiarch)"
src=tests/bench/bench_tracers.c
gcc -O2 -I. -o "$T/plain" $src
gcc -O2 -I. -pg -o "$T/pg" $src
gcc -O2 $inc -DWITH_LTTNG -o "$T/lttng" $src -L"$R/$multi" -Wl,-rpath-link="$R/$multi" -llttng-ust \
	-llttng-ust-common -ldl
chmod 755 "$T"/plain "$T"/pg "$T"/lttng

# LTTng by an ordinary user's session daemon: root's would look for kernel modules.
user() {
	local as=; [ "$(id -u)" != 0 ] || as="setpriv --reuid 65534 --regid 65534 --clear-groups"
	env HOME="$T/home" LTTNG_HOME="$T/home" LTTNG_SESSION_CONFIG_XSD_PATH="$R/usr/share/xml/lttng" \
		LD_LIBRARY_PATH="$R/$multi" $as "$@"
}
mkdir -m 777 "$T/home" "$T/uf" "$T/lib" "$T/out"
user "$R/usr/bin/lttng-sessiond" --no-kernel --consumerd64-path="$R/$multi/lttng/libexec/lttng-consumerd" \
	--consumerd64-libdir="$R/$multi" >"$T/sessiond.log" 2>&1 & daemon=$!
lttng() { user "$R/usr/bin/lttng" --no-sessiond "$@" >>"$T/lttng.log" 2>&1; }
for _ in $(seq 50); do ! lttng list || break; sleep 0.2; done
lttng create bench --output="$T/home/trace" && lttng enable-channel -u --subbuf-size=4M --num-subbuf=8 c &&
	lttng enable-event -u 'launch:*' -c c && lttng start || { tail -n 5 "$T/lttng.log" "$T/sessiond.log"; exit 1; }

ln -s "$B/tests/cli/libfakecuda.so" "$T/lib/libcuda.so.1"
hook() { # LEVEL: ns of a hooked call less one passed through
	env LD_LIBRARY_PATH="$T/lib" LD_PRELOAD="$B/libwarptap.so" WARPTAP_DIR="$T/out" WARPTAP_CUPTI=0 \
		WARPTAP_POOL_MB=64 WARPTAP_BUDGET=0 WARPTAP_LEVEL="$1" "$B/tests/bench/bench_hook" time |
		awk '$1 == "pass-through" { p = $2 } $1 == "hooked" { print $2 - p }'
	rm -rf "$T"/out/*
}
for _ in $(seq "$rounds"); do
	p=$("$T/plain" time)
	minus() { awk -v a="$1" -v p="$p" '{ print $1 - p >>a }'; }
	user "$T/lttng" time | minus "$T/ns.lttng"
	GMON_OUT_PREFIX=$T/uf/gmon user "$R/usr/bin/uftrace" record --no-pager -d "$T/uf/data" --libmcount-path="$R/$multi/uftrace" --no-libcall \
		--buffer=4m "$T/pg" time 2>>"$T/uftrace.log" | minus "$T/ns.uftrace"
	for level in off count api; do hook $level >>"$T/ns.$level"; done
done
lttng stop || :
say() {
	sort -n "$2" | awk -v what="$1" '{ v[NR] = $1 }
		END { printf "%-46s %6.1f ns a call (%d rounds, %.1f to %.1f)\n", what, v[int((NR + 1) / 2)], NR, v[1], v[NR] }'
}
for level in off count api; do say "the agent at level $level adds" "$T/ns.$level"; done
say "LTTng-UST, two tracepoints, adds" "$T/ns.lttng"
say "uftrace, entry and exit, adds" "$T/ns.uftrace"
grep -iE "discarded|lost" "$T/lttng.log" "$T/uftrace.log" || echo "  LTTng and uftrace report no event discarded"
n=$(user "$R/usr/bin/babeltrace2" --plugin-path="$R/$multi/babeltrace2/plugins" "$T/home/trace" 2>/dev/null | wc -l)
echo "  LTTng's trace has $n events of $((rounds * 2 * 401 * 2000))"

tests/bench/bench_hook.sh instructions
lttng destroy bench || :
