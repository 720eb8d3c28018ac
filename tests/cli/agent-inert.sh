#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Preloaded into programs that do not use CUDA: same output, same exit code, no file. With each CUDA library missing.
set -eu
B=$(realpath "${BUILD:-build}")
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
unset LD_PRELOAD WARPTAP_DIR || :
die() { echo "FAIL: $*"; exit 1; }
mkdir "$T/dir"

same() { # COMMAND...: with and without, traces asked for and not
	local rc0=0 rc1=0 rc2=0
	"$@" >"$T/out0" 2>"$T/err0" </dev/null || rc0=$?
	LD_PRELOAD=$B/libwarptap.so WARPTAP_DIR=$T/dir "$@" >"$T/out1" 2>"$T/err1" </dev/null || rc1=$?
	LD_PRELOAD=$B/libwarptap.so "$@" >"$T/out2" 2>"$T/err2" </dev/null || rc2=$?
	[ $rc0 = $rc1 ] && [ $rc0 = $rc2 ] || die "$*: exit $rc0, with the agent $rc1 and $rc2"
	cmp "$T/out0" "$T/out1" && cmp "$T/err0" "$T/err1" && cmp "$T/out0" "$T/out2" && cmp "$T/err0" "$T/err2" || die "$*: output differs"
	[ -z "$(ls -A "$T/dir")" ] || die "$*: left $(ls "$T/dir")"
}
same /bin/true
same /bin/false
same /bin/sh -c 'for i in 1 2 3; do (exit $i); echo $?; done; ls / >/dev/null & wait; exit 9'
same /bin/sh -c 'exec /bin/echo replaced'
same python3 -c 'import ctypes; print(ctypes.CDLL(None).getpid() > 0)'
same python3 -c 'import os, ctypes
pid = os.fork()
if not pid: os._exit(4)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
try: ctypes.CDLL("libcuda.so.1.none")
except OSError: print("missing")'
same "$B/tests/cli/probe"
grep -q 'child 3' "$T/out0" && grep -q 'libnone.so.1: missing' "$T/out0" && grep -q 'default ncclAllReduce: none, says so' "$T/out0" || die "the probe did not probe"
# Bound by the linker to a library that is not there: the loader's words, the loader's exit code.
same env LD_LIBRARY_PATH= "$B/tests/cli/gate_client" linked calls

# An older driver: an entry it lacks answers like an error of the library, not with a crash.
mkdir "$T/old"; ln -s "$B/tests/cli/libfakecuda_old.so" "$T/old/libcuda.so.1"
rc=0; LD_PRELOAD=$B/libwarptap.so WARPTAP_DIR=$T/dir WARPTAP_CUPTI=0 LD_LIBRARY_PATH=$T/old "$B/tests/cli/gate_client" linked calls >"$T/out" 2>&1 || rc=$?
[ $rc = 3 ] && grep -q 'cu.copy' "$T/out" || die "missing entry: exit $rc: $(cat "$T/out")"
rm -f "$T"/dir/*

# A directory that cannot be written, a value that is nonsense: the job goes on, and nobody hears of it.
mkdir "$T/lib"; ln -s "$B/tests/cli/libfakecuda.so" "$T/lib/libcuda.so.1"
for dir in "$T/none" /dev/null; do
	got=$(LD_PRELOAD=$B/libwarptap.so WARPTAP_DIR=$dir LD_LIBRARY_PATH=$T/lib "$B/tests/cli/gate_client" dlsym calls 2>&1)
	[ "$got" = "launched 5" ] || die "WARPTAP_DIR=$dir: $got"
done
got=$(LD_PRELOAD=$B/libwarptap.so WARPTAP_DIR=$T/dir WARPTAP_LEVEL=loud WARPTAP_POLL_MB=3 WARPTAP_CUPTI=0 LD_LIBRARY_PATH=$T/lib \
	"$B/tests/cli/gate_client" dlsym calls 2>&1)
[ "$got" = "launched 5" ] || die "nonsense settings: $got"
grep -q 'WARPTAP_LEVEL=loud' "$T"/dir/*.log && grep -q 'WARPTAP_POLL_MB' "$T"/dir/*.log || die "the log says nothing of bad settings"
echo ok
