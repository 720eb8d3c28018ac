#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Where the black box lies: never on a file system that can stall or lose pages, not in a small /dev/shm, within a
# hundredth of the cgroup's memory, on a disk that is full or fills up. Shortened by a stranger, it does not take the
# job along.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); job=; group=
trap '[ -z "$job" ] || kill -9 $job 2>/dev/null || :; [ -z "$group" ] || rmdir "$group" || :; rm -rf "$dir"' EXIT
export WARPTAP_CONTROL_DIR=$dir/control WARPTAP_EXIT_MS=20000 WARPTAP_BUDGET=0
unset XDG_RUNTIME_DIR WARPTAP_RING_DIR || :
die() { echo "FAIL: $*"; cat "$dir"/*.out "$dir"/*/*.log 2>/dev/null; exit 1; }
start() { # TRACES WORDS: job and pid, until `finish`; no truth, which would want room too
	: >"$dir/job.out"; rm -f "$dir/end"; mkdir -p "$1"
	env LD_LIBRARY_PATH="$build/simgpu/lib" WARPTAP_DIR="$1" LD_PRELOAD="$build/libwarptap.so" \
		"$build/tests/cli/steady" "${@:2}" seconds=300 until="$dir/end" >"$dir/job.out" 2>&1 & job=$! pid=
	for _ in $(seq 600); do pid=$(sed -n 's/^ready //p' "$dir/job.out"); [ -z "$pid" ] || return 0; sleep 0.05; done
	die "the job does not begin"
}
finish() { : >"$dir/end"; wait $job || die "$1: exit $?"; job=; }
ring() { readlink /proc/"$pid"/fd/* 2>/dev/null | grep '\.ring$' || echo none; }
says() { "$build/warptap" info --packets "$1"/*.wt | grep -o 'black_box="[a-z]*"' | sort -u; }

if [ -z "${IN_MOUNTS:-}" ]; then
# ---- shortened, while nothing is called
for try in 1 2 3; do # what is left is the instant until it is seen
	rm -rf "$dir/cut"
	WARPTAP_FLUSH_MS=10 start "$dir/cut" seconds=3 rate=1
	sleep 0.5; truncate -s 0 "$(ring)"
	wait $job && break
	[ $try -lt 3 ] || die "the job dies with its black box"
done
job=
grep -q 'truncated by someone else: recording stopped' "$dir"/cut/*.log || die "the log does not say that it was cut"
rc=0; "$build/warptap" report "$dir/cut" >"$dir/cut.txt" || rc=$?
[ $rc = 3 ] && grep -q 'cut: process' "$dir/cut.txt" || die "cut: report exits $rc"

[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo "ok, but for mounts: these need root"; exit 0; }
IN_MOUNTS=1 unshare -m --propagation private bash "$0"
exit
fi

# ---- file systems: ramfs is not one of the known ones; a trace may lie there
mkdir "$dir/other" "$dir/disk"
mount -t ramfs none "$dir/other"
start "$dir/other"; at=$(ring); finish other
[ "${at#/tmp/}" != "$at" ] && [ "${at#"$dir"/other}" = "$at" ] || die "the box is in $at"
grep -q " the black box is $at\$" "$dir"/other/*.log || die "the log does not say where the box is"
[ "$(says "$dir/other")" = 'black_box="file"' ] || die "other: the trace says $(says "$dir/other")"

# ---- a disk that cannot hold it, and one that fills up behind it
mount -t tmpfs -o size=15m none "$dir/disk"
WARPTAP_RING_DIR=$dir/disk SLOW_MS=100 LD_PRELOAD=$build/tests/cli/libslow_write.so start "$dir/full" rate=0 threads=2
at=$(ring); [ "${at#"$dir"/disk/}" != "$at" ] || die "the box is in $at"
cat /dev/zero >"$dir/disk/fill" 2>/dev/null || :
sleep 2; finish full
"$build/warptap" report --json "$dir/full" >"$dir/full.json" || die "full: report exits $?"
rm -f "$dir/disk/fill"; umount "$dir/disk"
mount -t tmpfs -o size=1m none "$dir/disk"
WARPTAP_RING_DIR=$dir/disk start "$dir/next"; at=$(ring); finish next
[ "${at#"$dir"/next/}" != "$at" ] || die "a full disk: the box is in $at"
[ -z "$(ls "$dir/disk")" ] || die "a box without room is left behind"
umount "$dir/disk" "$dir/other"

# ---- /dev/shm comes last, and only where it is large
mount --bind "$build" /mnt && mount -t ramfs none /tmp || die "no mounts"
build=/mnt
trap '[ -z "$job" ] || kill -9 $job 2>/dev/null || :; [ -z "$group" ] || rmdir "$group" || :; umount -l /tmp; rm -rf "$outside"' EXIT
outside=$dir dir=/tmp/x
mkdir "$dir"
export WARPTAP_CONTROL_DIR=$dir/control
mount -t tmpfs -o size=64m none /dev/shm
start /tmp/a; at=$(ring); finish shm
[ "$at" = none ] && [ "$(says /tmp/a)" = 'black_box="anonymous"' ] || die "64 MiB of /dev/shm: the box is in $at: $(says /tmp/a)"
umount /dev/shm; mount -t tmpfs -o size=512m none /dev/shm
start /tmp/b; at=$(ring); finish shm
[ "${at#/dev/shm/}" != "$at" ] || die "512 MiB of /dev/shm: the box is in $at"

# ---- memory of the cgroup: version 1 or 2
for group in /sys/fs/cgroup/memory/warptap-test.$$ /sys/fs/cgroup/warptap-test.$$ none; do
	file=memory.max; [ "${group%/memory/*}" = "$group" ] || file=memory.limit_in_bytes
	mkdir "$group" 2>/dev/null && [ -e "$group/$file" ] && echo 1600m >"$group/$file" 2>/dev/null && break
	rmdir "$group" 2>/dev/null || :
done
if [ "$group" = none ]; then
	group=; echo "ok, but for cgroups: none can be made here"; exit 0
fi
SLOW_MS=100 LD_PRELOAD=$build/tests/cli/libslow_write.so WARPTAP_RING_DIR=/dev/shm start /tmp/c rate=0 threads=2
free=$(stat -c %s "$(ring)"); finish free
(echo 0 >"$group/cgroup.procs"; SLOW_MS=100 LD_PRELOAD=$build/tests/cli/libslow_write.so WARPTAP_RING_DIR=/dev/shm start /tmp/d rate=0 threads=2
	sleep 1; stat -c %s "$(ring)" >"$dir/size"; finish group) || exit 1
echo "black box: $(cat "$dir/size") bytes in a cgroup of 1600 MiB, $free outside"
[ "$(cat "$dir/size")" -le 16777216 ] || die "more than a hundredth of the cgroup's memory"
# A group without a limit of its own, below one that has it.
if mkdir "$group/below" 2>/dev/null; then
	(echo 0 >"$group/below/cgroup.procs"; SLOW_MS=100 LD_PRELOAD=$build/tests/cli/libslow_write.so WARPTAP_RING_DIR=/dev/shm start /tmp/e seconds=2 rate=0 threads=2
		sleep 1; stat -c %s "$(ring)" >"$dir/size"; finish below) || exit 1
	rmdir "$group/below"
	[ "$(cat "$dir/size")" -le 16777216 ] || die "more than a hundredth of what the group above allows: $(cat "$dir/size")"
fi
rmdir "$group"; group=
echo ok
