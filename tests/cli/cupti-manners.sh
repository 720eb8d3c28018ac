#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# What the agent never does to CUPTI. It refuses no buffer to one that would die of that, however few it has, and one
# that would not is refused; what is lost so is said. And it never finalizes: the simulated CUPTI lists each such call.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
export WARPTAP_CONTROL_DIR=$dir/control WARPTAP_EXIT_MS=20000 WARPTAP_BUDGET=0 PYTHONDONTWRITEBYTECODE=1
die() { echo "FAIL: $*"; cat "$dir/out" 2>/dev/null; exit 1; }
notes() { cat "$dir/$1"/truth.*.tsv | awk -F'\t' -v k="$2" '$1 == "note" && $2 == k' | wc -l; }

# ---- a small box, a disk that takes its time, and full buffers that wait for a flush: soon there is none left
for version in 18 26 27 28 130001; do
	printf '[model]\nkernel = 1us\n[cupti]\nkeep = 1000\nversion = %d\n' $version >"$dir/scenario"
	rc=0; WARPTAP_POOL_MB=8 SLOW_MS=500 SLOW_UNTIL=$dir/never LD_PRELOAD="$build/tests/cli/libslow_write.so" \
		"$build/warptap" run -q --sim "h100,scenario=$dir/scenario" -o "$dir/$version" -- \
		"$build/tests/cli/steady" seconds=300 launches=60000 rate=0 >"$dir/out" 2>&1 || rc=$?
	[ $rc = 0 ] || die "version $version: the job ends with $rc"
	"$build/warptap" report --json "$dir/$version" >"$dir/json" || die "version $version: no report"
	refused=$(notes $version cupti_refused)
	echo "version $version: refused $refused"
	if [ $version -lt 28 ]; then
		[ "$refused" = 0 ] || die "version $version was refused a buffer"
	else
		[ "$refused" = 1 ] || die "version $version was never refused a buffer: nothing is tested"
	fi
	python3 - "$dir/json" <<'P' || die "version $version: what was lost is not said"
import json, sys
c = json.load(open(sys.argv[1]))["completeness"]
print({k: c[k] for k in ("counted", "received", "missing", "dropped_agent", "dropped_cupti", "in_flight")})
assert c["counted"]["launch"] > 60000 / 100 * 99 and c["missing"] > 0 and c["dropped_cupti"] > 0, c
P
done

# ---- cuptiFinalize: on no way out, whoever ends what; and a call of the job's own is listed, so the list is one
run() { # NAME COMMAND...
	local name=$1 rc=0; shift
	WARPTAP_COOL_MS=50 WARPTAP_FLUSH_MS=50 "$build/warptap" run -q --sim h100 -o "$dir/$name" -- "$@" >"$dir/out" 2>&1 || rc=$?
	case $name in
	abort) [ $rc = 134 ] ;;
	_exit) [ $rc = 9 ] ;;
	*) [ $rc = 0 ] ;;
	esac || die "$name: exit $rc"
	ls "$dir/$name"/*.wt >/dev/null && [ "$(notes "$name" cupti_timestamp)" -gt 0 ] || die "$name: CUPTI was not used: nothing is tested"
}
steady=$build/tests/cli/steady client=$build/tests/cli/foreign_cupti
run main "$steady" launches=500 rate=0
run fork "$steady" launches=500 rate=0 fork=3
run close "$steady" seconds=1 close
for how in _exit abort exec; do run $how "$steady" die=$how; done
run yield "$client" init work=50 session wait=300 work=50 fork session subscribe work=20 unsubscribe
run dlclose "$build/tests/cli/agent_dlclose" 4
run library python3 -c '
import _ctypes, ctypes
cuda, cupti = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libcupti.so.13")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v4(ctypes.byref(context), None, 0, 0) == 0
_ctypes.dlclose(cupti._handle)
_ctypes.dlclose(cupti._handle) if ctypes.CDLL("libcupti.so.13") else None
assert cuda.cuCtxSynchronize() == 0 and cuda.cuCtxDestroy_v2(context) == 0
'
WARPTAP_WINDOW_EVERY=200ms WARPTAP_WINDOW_FOR=50ms WARPTAP_LEVEL=off run windows "$steady" seconds=1.5
for name in main fork close _exit abort exec yield dlclose library windows; do
	[ "$(notes $name cupti_finalize)" = 0 ] || die "$name: CUPTI was finalized"
done
run theirs "$client" init work=50 session finalize wait=300 work=50
[ "$(notes theirs cupti_finalize)" = 1 ] || die "$(notes theirs cupti_finalize) calls are listed of one"
echo ok
