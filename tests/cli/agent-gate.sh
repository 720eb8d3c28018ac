#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Every way into the driver is seen, once: plain linking, dlsym, dlvsym, RTLD_DEFAULT, cuGetProcAddress with four and
# with five arguments, ctypes; and what hooks do in threads, forks, captures, failures. Killed at the end, so that the
# black box is what is read.
set -eu
B=$(realpath "${BUILD:-build}")
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
mkdir "$T/lib"; ln -s "$B/tests/cli/libfakecuda.so" "$T/lib/libcuda.so.1"
export LD_LIBRARY_PATH=$T/lib WARPTAP_CUPTI=0
die() { echo "FAIL: $*"; cat "$T/dump" 2>/dev/null; exit 1; }

record() { # [VAR=value...] PROGRAM ARGS...: leaves $T/dump
	rm -rf "$T/dir" "$T/dump"; mkdir "$T/dir"
	rc=0; { env END=kill LD_PRELOAD="$B/libwarptap.so" WARPTAP_DIR="$T/dir" "$@" >"$T/out" 2>&1; } 2>/dev/null || rc=$?
	[ $rc = 137 ] || die "$*: exit $rc: $(cat "$T/out")"
	"$B/tests/cli/ring_dump" "$T"/dir/*.ring >"$T/dump" || die "$*: the black box is broken"
}
want() { for l in "$@"; do grep -qx "$l" "$T/dump" || die "no line: $l"; done; }
wantnot() { grep -q "$1" "$T/dump" && die "has: $1" || :; }
client() { record "$B/tests/cli/gate_client" "$@"; }

for way in linked dlsym dlvsym default gpa1 gpa2 gpa2ptsz; do
	client $way calls
	t=; [ $way = gpa2ptsz ] && t=_ptsz
	want "row cuLaunchKernel$t 5" "row cuMemcpyHtoDAsync_v2$t 3" "row cuMemsetD32Async$t 2" "row cuMemcpyAsync$t 2" \
		"row cuStreamCreate 2" "row cuStreamSynchronize$t 2" "row cuCtxCreate_v2 1" \
		'count 1 1 0 5' 'count 1 3 0 3' 'count 1 3 3 2' 'count 1 4 0 2' 'count 1 10 0 2' 'count 1 16 0 3' 'dropped 0'
	# a copy of nothing, and one from host to host, are soft; waits can block
	want "flag cuMemcpyHtoDAsync_v2$t 8 1" "flag cuMemcpyAsync$t 8 1" "flag cuStreamSynchronize$t 4 2"
done
# Addresses that dlsym does not know: chosen by name, version and flags.
record FAKE_GPA=private "$B/tests/cli/gate_client" gpa2 calls
want 'row cuLaunchKernel 5' 'count 1 1 0 5'

# Rows of full chunks are in the file by then and their chunks free; the counts stay.
client gpa2 threads; want 'count 1 1 0 24000' 'dropped 0'
client gpa2ptsz threads; want 'count 1 1 0 24000' 'dropped 0'
client linked fail; want 'row cuLaunchKernel 10' 'count 1 1 0 5' 'count 1 1 2 5'
client dlsym nested; want 'row cuMemcpyHtoDAsync_v2 3'; wantnot cuLaunchKernel
client gpa1 capture; want 'row cuLaunchKernel 6' 'flag cuLaunchKernel 1 4' 'count 1 1 0 2' 'count 1 1 1 4'
client linked fork; want 'row cuLaunchKernel 11' 'count 1 1 0 11'; [ "$(ls "$T/dir" | grep -c '\.wt$')" = 1 ] || die "a child left a trace"

record WARPTAP_LEVEL=count "$B/tests/cli/gate_client" gpa2 threads; want 'count 1 1 4 24000' 'count 1 16 4 10'; wantnot row
# Level count keeps the same counts as level api, by a path of its own; what is done counts as done without a row (4).
counted() { record WARPTAP_LEVEL=count "$B/tests/cli/gate_client" "$@"; wantnot row; }
counted dlsym calls; want 'count 1 1 4 5' 'count 1 3 4 3' 'count 1 3 3 2' 'count 1 4 4 2' 'count 1 10 4 2' 'count 1 16 4 3'
counted linked fail; want 'count 1 1 4 5' 'count 1 1 2 5'
counted dlsym nested; want 'count 1 3 4 3'; wantnot 'count 1 1 '
counted gpa1 capture; want 'count 1 1 4 2' 'count 1 1 1 4'
counted linked fork; want 'count 1 1 4 11'
counted linked level0
record WARPTAP_LEVEL=off "$B/tests/cli/gate_client" gpa2 threads; wantnot row; wantnot count

# ctypes: a pointer fetched by dlsym and called through libffi.
cat >"$T/job.py" <<'P'
import ctypes, os
cu = ctypes.CDLL("libcuda.so.1")
ctx = ctypes.c_void_p()
assert cu.cuInit(0) == 0 and cu.cuCtxCreate_v2(ctypes.byref(ctx), 0, 0) == 0
for i in range(6):
    assert cu.cuLaunchKernel(ctypes.c_void_p(5), 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
get = cu.cuGetProcAddress_v2
fn = ctypes.c_void_p()
assert get(b"cuLaunchKernel", ctypes.byref(fn), 4000, ctypes.c_uint64(0), None) == 0
launch = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)(fn.value)
assert launch(5, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
# an ABI newer than any list: the driver's own pointer, and no crash
assert get(b"cuMemcpyHtoDAsync", ctypes.byref(fn), 15000, ctypes.c_uint64(0), None) == 0
os.kill(os.getpid(), 9)
P
record python3 "$T/job.py"; want 'row cuLaunchKernel 7' 'count 1 1 0 7'

# Ended in the other ways: the trace is whole, the black box is gone, the exit code is the program's.
for end in return _exit; do
	rm -rf "$T/dir"; mkdir "$T/dir"; rc=0
	env END=$end LD_PRELOAD="$B/libwarptap.so" WARPTAP_DIR="$T/dir" WARPTAP_EXIT_MS=10000 "$B/tests/cli/gate_client" gpa2 threads >"$T/out" || rc=$?
	[ $rc = "$([ $end = return ] && echo 0 || echo 7)" ] || die "$end: exit $rc"
	[ "$(ls "$T/dir" | sed 's/.*\.//')" = wt ] || die "$end: left $(ls "$T/dir")"
done
echo ok
