#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Narrow places: filters that kill or refuse the system calls of the agent, another user, another root, few
# descriptors, small and full disks, folders that take no files. Each job ends as it would without us; what could not
# be recorded is said where a word can be written.
set -u
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d)
trap 'umount "$dir"/small 2>/dev/null; umount "$dir"/ro 2>/dev/null; rm -rf "$dir"' EXIT
chmod 755 "$dir"
unset LD_PRELOAD WARPTAP_DIR || :
printf '[model]\nkernel = 2us\n' >"$dir/quick"
fail() { echo "FAIL: $*"; exit 1; }

in_place() { # NAME DIR ARGS...
	local name=$1 where=$2 rc=0; shift 2
	env LD_LIBRARY_PATH="$build/simgpu/lib" SIMGPU_SCENARIO="$dir/quick" WARPTAP_DIR="$where" WARPTAP_EXIT_MS=20000 \
		WARPTAP_CONTROL_DIR="$dir/control" LD_PRELOAD="$build/libwarptap.so" \
		${limit:+prlimit $limit} "$build/tests/cli/agent_place" "$@" 2>&1 </dev/null | cat >"$dir/$name.out"
	rc=${PIPESTATUS[0]}
	[ $rc = 0 ] && [ "$(cat "$dir/$name.out")" = done ] || fail "$name: exit $rc: $(cat "$dir/$name.out")"
}
place() { local name=$1; shift; mkdir "$dir/$name"; in_place "$name" "$dir/$name" "$@"; }
whole() { # NAME: all 1000 are counted and received
	"$build/warptap" report --json "$dir/$1" >"$dir/$1.json" || fail "$1: report"
	python3 - "$dir/$1.json" <<'P' || fail "$1: the report"
import json, sys
c = json.load(open(sys.argv[1]))["completeness"]
assert c["counted"]["launch"] == c["received"]["launch"] == 1000 and c["share"] == 1.0, c
P
}
logged() { grep -q "$2" "$dir/$1"/*.log || fail "$1: the log does not say: $2: $(cat "$dir/$1"/*.log)"; }
nothing() { ls "$dir/$1"/*.wt >/dev/null 2>&1 && fail "$1: recorded: $(ls "$dir/$1")" || :; }
core() { ls /tmp/core "$PWD"/core* 2>/dev/null && fail "$1: a core file" || :; }

# ---- filters of system calls
rc=0; LD_LIBRARY_PATH="$build/simgpu/lib" SIMGPU_SCENARIO="$dir/quick" "$build/tests/cli/agent_place" early kill:socket >"$dir/out" 2>&1 || rc=$?
if [ $rc = 0 ]; then
	# What only control needs: everything is recorded, nothing listens.
	for call in socket bind pipe2 ppoll mkdir renameat; do
		for action in kill thread trap; do
			place "$action-$call" early "$action:$call"
			whole "$action-$call"; logged "$action-$call" "kills for $call: no control"
		done
	done
	# What the writer or the black box needs: nothing is recorded, and that is said.
	for call in fallocate pwrite64 ftruncate sched_setscheduler rt_sigtimedwait unlink; do
		place "kill-$call" early "kill:$call"
		nothing "kill-$call"; logged "kill-$call" "kills for $call: not recording"
	done
	# What the log needs: nothing at all.
	place kill-uname early kill:uname
	[ -z "$(ls "$dir/kill-uname")" ] || fail "kill-uname: $(ls "$dir/kill-uname")"
	core filters
	# Refused calls are failing calls.
	place refuse early refuse:socket,sched_setscheduler,sched_getaffinity,mkdir,pipe2; whole refuse
	place nosys early nosys:fallocate,statfs,ftruncate,ppoll; whole nosys
	place late late refuse:fallocate,ppoll,accept4,sched_setscheduler,unlink; whole late
else
	echo "no filters of system calls here: $(cat "$dir/out")"
fi

# ---- limits
limit=--nofile=12 place fds12 plain; whole fds12
limit=--nofile=24 place fds24 fds 10; whole fds24
for n in 4 5 6 7 8; do # below what a driver needs the job cannot run at all
	env LD_LIBRARY_PATH="$build/simgpu/lib" prlimit --nofile=$n "$build/tests/cli/agent_place" plain >"$dir/out" 2>&1 || continue
	limit=--nofile=$n place "fds$n" plain
done
for k in 0 1000 16384 100000; do limit=--fsize=$k place "fsize$k" plain; done
place unwritable plain; rm -rf "$dir/unwritable"
in_place proc /proc/self/fdinfo plain
in_place long "$dir/$(printf 'x%.0s' $(seq 240))/$(printf 'y%.0s' $(seq 240))" plain

# ---- another user, another root, disks: by root alone
if [ "$(id -u)" = 0 ]; then
	place setuid setuid; whole setuid
	mkdir "$dir/root"
	place chroot chroot "$dir/root"; whole chroot
	[ -z "$(ls "$dir/root")" ] || fail "chroot: $(ls "$dir/root")"
	mkdir "$dir/small" "$dir/ro"
	if mount -t tmpfs -o size=256k tmpfs "$dir/small" 2>/dev/null; then
		in_place small "$dir/small" plain
		dd if=/dev/zero of="$dir/small/fill" bs=4k 2>/dev/null || :
		rm -f "$dir"/small/*.wt; dd if=/dev/zero of="$dir/small/fill2" bs=1k 2>/dev/null || :
		in_place full "$dir/small" plain
		mount -t tmpfs -o ro tmpfs "$dir/ro"
		in_place ro "$dir/ro" plain
		[ -z "$(ls "$dir/ro")" ] || fail "ro: $(ls "$dir/ro")"
	fi
	# A program that gives its user rights: the loader drops the preload, and a copy that is linked in keeps still.
	mkdir "$dir/lib"; cp "$build/libwarptap.so" "$build"/simgpu/lib/libcuda.so.1 "$dir/lib"; mkdir -m 777 "$dir/secure"
	cc -o "$dir/linked" -x c - -x none -Wl,--no-as-needed "$dir/lib/libwarptap.so" -Wl,-rpath,"$dir/lib" 2>"$dir/out" <<'P' || fail "no program: $(head -5 "$dir/out")"
#include <stdio.h>
#include <sys/auxv.h>
#include <dlfcn.h>
int main(void)
{
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuInit");
	printf("secure %d, init %d\n", (int)getauxval(AT_SECURE), init ? init(0) : -1);
	return 0;
}
P
	chmod 4755 "$dir/linked"
	if command -v setpriv >/dev/null; then
		got=$(WARPTAP_DIR="$dir/secure" setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/linked") || :
		case $got in
		"secure 1,"*) [ -z "$(ls "$dir/secure")" ] || fail "setuid program: $(ls "$dir/secure")" ;;
		*) echo "no secure execution here: $got" ;;
		esac
	fi
fi
echo ok
