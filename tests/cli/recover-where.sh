#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# A black box that does not lie beside its trace is found where the agent of this machine puts them, or where the log
# says; what else has its name there is not taken for it.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); pid=; mounted=
trap '[ -z "$pid" ] || kill -9 $pid 2>/dev/null || :; [ -z "$mounted" ] || umount "$mounted"; rm -rf "$dir"' EXIT
export WARPTAP_CONTROL_DIR=$dir/control WARPTAP_BUDGET=0
unset WARPTAP_RING_DIR XDG_RUNTIME_DIR || :
die() { echo "FAIL: $*"; cat "$dir/out" "$dir/said" 2>/dev/null; exit 1; }
killed() { # TRACES [VAR=VALUE...]: a job at level api, killed while a call is only in its box; sets wt and pid
	local traces=$1 runner; shift
	: >"$dir/out"
	env "$@" "$build/warptap" run --level api --sim h100 -o "$traces" -- "$build/tests/cli/steady" seconds=300 rate=2000 >"$dir/out" 2>&1 &
	runner=$!
	for _ in $(seq 600); do
		pid=$(sed -n 's/^ready //p' "$dir/out")
		wt=$(find "$traces" -name "*.$pid.wt" -size +4k 2>/dev/null || :)
		[ -z "$pid" ] || [ -z "$wt" ] || break
		sleep 0.05
	done
	[ -n "$pid" ] && [ -n "$wt" ] || die "the job does not begin"
	kill -9 "$pid"
	{ wait $runner && die "the run hides the kill"; } 2>/dev/null
	name=$(basename "$wt" .wt) pid=
	grep -q '1 trace not closed' "$dir/out" || die "the run does not say that its trace was cut"
	[ ! -e "${wt%.wt}.ring" ] || die "the box is beside its trace: nothing is tested"
}
# By itself, under a name that has no box: a reader would complete it.
whole() { cp "$wt" "$dir/alone.wt"; { "$build/warptap" info --packets "$dir/alone.wt" || :; } | grep -q 'how=END_HOW_RECOVERED'; }

# ---- a folder that was asked for: the recoverer is told of it too, or the log says it
for told in env log; do
	mkdir "$dir/ring"
	killed "$dir/$told" WARPTAP_RING_DIR="$dir/ring"
	ring=$dir/ring/$name.ring
	[ -s "$ring" ] || die "no box in $dir/ring"
	[ $told = log ] || rm "${wt%.wt}.log"
	vars=(); [ $told = log ] || vars=(WARPTAP_RING_DIR="$dir/ring")
	# A report makes use of it and leaves it where it is.
	rc=0; env "${vars[@]}" "$build/warptap" report "$dir/$told" >"$dir/said" || rc=$?
	[ $rc = 3 ] && grep -q 'comes from its black box' "$dir/said" || die "$told: report: exit $rc"
	[ -s "$ring" ] && ! whole || die "$told: a report changes something"
	# Another trace's box under this name, and a link to the right one: neither is its box.
	mv "$ring" "$dir/right"
	printf 'WTBX%4096s' "" >"$ring"
	env "${vars[@]}" "$build/warptap" recover "$dir/$told" >"$dir/said" || die "$told: a stranger's box: exit $?"
	grep -q 'nothing to recover' "$dir/said" && [ -s "$ring" ] || die "$told: a stranger's box was taken"
	rm "$ring"; ln -s "$dir/right" "$ring"
	! env "${vars[@]}" "$build/warptap" recover "$wt" >"$dir/said" 2>&1 || die "$told: a link was followed"
	rm "$ring"; mv "$dir/right" "$ring"
	if [ $told = env ]; then # the folder, or the trace itself
		env "${vars[@]}" "$build/warptap" recover "$dir/$told" >"$dir/said" || die "$told: not recovered"
	else
		"$build/warptap" recover "$wt" >"$dir/said" || die "$told: not recovered"
	fi
	grep -q '[1-9][0-9]* calls and 0 device records added' "$dir/said" || die "$told: nothing was added"
	whole && [ ! -e "$ring" ] || die "$told: not whole, or the box stays"
	rmdir "$dir/ring"
done

# ---- /tmp, for a folder on a file system that cannot hold one
[ "$(id -u)" = 0 ] && mkdir "$dir/ram" && mount -t ramfs none "$dir/ram" 2>/dev/null || { echo "ok, but for other file systems: these need root"; exit 0; }
mounted=$dir/ram
killed "$dir/ram/t"
[ -s "/tmp/$name.ring" ] || die "no box in /tmp"
rm "${wt%.wt}.log"
"$build/warptap" recover "$dir/ram/t" >"$dir/said" || die "not recovered"
whole && [ ! -e "/tmp/$name.ring" ] || die "not whole, or the box stays in /tmp"
echo ok
