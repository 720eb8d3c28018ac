#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# warptap doctor: what it says of machines, containers and commands that can and cannot be recorded, and its exit code.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); job=; trap '[ -z "$job" ] || kill $job 2>/dev/null || :; rm -rf "$dir"' EXIT
export WARPTAP_CONTROL_DIR=$dir/control
die() { echo "FAIL: $*"; cat "$dir/out"; exit 1; }
doctor() { # RC ARGS
	local want=$1 rc=0; shift
	"$build/warptap" doctor "$@" >"$dir/out" 2>&1 || rc=$?
	[ $rc = "$want" ] || die "doctor $*: exit $rc, not $want"
	[ "$(wc -l <"$dir/out")" -le 40 ] || die "more than a screen"
}
has() { grep -Eq "$1" "$dir/out" || die "no line: $1"; }

doctor 0 --sim -o "$dir" -- "$build/tests/cli/steady"
has '^  ok    driver +CUDA 13\.0, 1 device, NVIDIA H100'; has '^  ok    CUPTI '; has '^  ok    command '
has 'can be recorded at level trace'; has '^  to record it:  warptap run --sim h100 -- '
has '^  cheaper: '

# A driver without a device, one that crashes, none of CUPTI.
mkdir "$dir/lib"
fake() { printf '%s\n' "$1" | ${CC:-cc} -shared -fPIC -x c -o "$dir/lib/libcuda.so.1" -; }
rest='int cuDriverGetVersion(int *v) { *v = 12040; return 0; } int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGet(int *d, int i) { *d = i; return 0; } int cuDeviceGetName(char *s, int n, int d) { s[0] = 88; s[1] = 0; return 0; }'
fake "int cuInit(unsigned f) { return 100; } $rest"
LD_LIBRARY_PATH=$dir/lib doctor 1 -o "$dir"; has '^  NO    driver +.*cuInit answers 100 \(no device\)'; has 'cannot be recorded'
fake "int cuInit(unsigned f) { __builtin_trap(); } $rest"
LD_LIBRARY_PATH=$dir/lib doctor 1 -o "$dir"; has '^  NO    driver +asking it ended the process'
fake "int cuInit(unsigned f) { return 0; } $rest"
for n in 13 12 11.8; do echo 'not a library' >"$dir/lib/libcupti.so.$n"; done # or the machine's own would be found
LD_LIBRARY_PATH=$dir/lib doctor 0 -o "$dir"; has 'CUDA 12\.4, 2 devices, X'
grep -q '^  NO    CUPTI' "$dir/out" && has 'level api: host calls, no device times'

# Commands and places.
echo 'int main(void) { return 0; }' | ${CC:-cc} -static -x c -o "$dir/static" -
doctor 1 --sim -o "$dir" -- "$dir/static"; has '^  NO    command +.*linked statically'
cp "$build/tests/cli/steady" "$dir/suid"; chmod 4755 "$dir/suid"
doctor 1 --sim -o "$dir" -- "$dir/suid"; has 'runs setuid'
printf '#!%s\n' "$dir/static" >"$dir/script"; chmod +x "$dir/script"
doctor 1 --sim -o "$dir" -- "$dir/script"; has 'linked statically'
doctor 1 --sim -o "$dir" -- no-such-command-here; has 'not found'
doctor 1 --sim -o "$dir/nowhere"; has '^  NO    directory'
LD_PRELOAD=/nonexistent/libx.so:libwarptap.so doctor 0 --sim -o "$dir" 2>/dev/null; has '^  note  preload +.*not first'
doctor 2 --bad

# Filters of system calls: one that kills for nothing of ours, for what control needs, for what recording needs.
cat >"$dir/filter" <<'P'
import ctypes, os, struct, sys
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (0x06, 0, 0, 0x80000000), (0x06, 0, 0, 0x7fff0000)]
text = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *r) for r in rules))
class Prog(ctypes.Structure):
    _fields_ = [("n", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(Prog(len(rules), ctypes.addressof(text)))):
    sys.exit(77)
os.execv(sys.argv[2], sys.argv[2:])
P
for case in "1000 0 ok" "41 0 note" "285 1 NO"; do # no call; socket; fallocate
	set -- $case; rc=0
	python3 "$dir/filter" "$1" "$build/warptap" doctor --sim -o "$dir" >"$dir/out" 2>&1 || rc=$?
	[ $rc != 77 ] || break
	[ $rc = "$2" ] || die "a filter for call $1: exit $rc"
	has "^  $3 +seccomp +a filter of system calls"; has 'privileges +none can be gained here'
done

# What runs, and the one command that makes it cheaper.
WARPTAP_BUDGET=0 "$build/warptap" run -q --sim h100 -o "$dir/t" -- "$build/tests/cli/steady" \
	seconds=300 until="$dir/end" >"$dir/job" 2>&1 & job=$!
for _ in $(seq 200); do
	"$build/warptap" doctor --sim -o "$dir" >"$dir/out" 2>&1 || die "beside a job"
	grep -q ' running ' "$dir/out" && break
	sleep 0.05
done
has '^  ok    running +process [0-9]+: level trace, CUPTI ours, .*cheaper: warptap attach [0-9]+ level count$'
touch "$dir/end"; wait $job; job=
echo ok
