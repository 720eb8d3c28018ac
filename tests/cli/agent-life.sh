#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Processes that are born, multiply and end in every way there is: each ends as it would without us, each one that
# used CUDA has its trace, no other has, and the counts are what was launched.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
unset LD_PRELOAD WARPTAP_DIR || :
printf '[model]\nkernel = 2us\n' >"$dir/quick"
printf '[model]\nkernel = 300ms\n' >"$dir/slow"
fail() { echo "FAIL: $*"; exit 1; }

life() { # NAME [VAR=value...] -- ARGS: same exit and same output as without the agent
	local name=$1 rc=0 rc0=0 env=(SIMGPU_SCENARIO="$dir/quick"); shift
	while [ "$1" != -- ]; do env+=("$1"); shift; done; shift
	mkdir -p "$dir/$name"
	env LD_LIBRARY_PATH="$build/simgpu/lib" "${env[@]}" "$build/tests/cli/agent_life" "$@" >"$dir/$name.out0" 2>&1 </dev/null || rc0=$?
	[ $rc0 = 0 ] || fail "$name without the agent: exit $rc0: $(cat "$dir/$name.out0")"
	env LD_LIBRARY_PATH="$build/simgpu/lib" WARPTAP_DIR="$dir/$name" WARPTAP_EXIT_MS=20000 WARPTAP_CONTROL_DIR="$dir/$name.control" \
		LD_PRELOAD="$build/libwarptap.so" "${env[@]}" "$build/tests/cli/agent_life" "$@" >"$dir/$name.out" 2>&1 </dev/null || rc=$?
	[ $rc = $rc0 ] && cmp -s "$dir/$name.out0" "$dir/$name.out" || fail "$name: exit $rc: $(cat "$dir/$name.out")"
}
told() { # NAME FILES LAUNCHES [RECEIVED]: so many traces, and in all so many launches counted and received
	local rc=0
	[ "$(ls "$dir/$1" | grep -c '\.wt$')" = "$2" ] || fail "$1: $(ls "$dir/$1")"
	"$build/warptap" report --json "$dir/$1" >"$dir/$1.json" 2>"$dir/$1.err" || rc=$?
	[ $rc = 0 ] || [ $rc = 3 ] || fail "$1: report: exit $rc: $(cat "$dir/$1.err")"
	python3 - "$dir/$1.json" "$3" "${4:-$3}" <<'P' || fail "$1: the report"
import json, sys
r = json.load(open(sys.argv[1]))
c = r["completeness"]
assert c["counted"]["launch"] == int(sys.argv[2]), c
assert c["received"]["launch"] == int(sys.argv[3]), c
assert c["counted"]["launch"] == c["received"]["launch"] + c["in_flight"] + c["missing"] and c["missing"] == 0, c
assert not any("no host call" in x for x in r["notes"]), r["notes"]
P
}
whole() { if ls "$dir/$1"/*.ring 2>/dev/null; then fail "$1: a black box is left behind"; fi; }

life fork -- fork 3; told fork 1 240; whole fork
life capture -- capture 6; told capture 1 5; whole capture
life vfork -- vfork 20; told vfork 1 20; whole vfork
# Children that exec and use CUDA have traces of their own.
life forkexec -- forkexec 3; told forkexec 7 603; whole forkexec
# A parent that only forks has none, and no context; engines that run no exit handler are whole all the same.
life engines -- engines 4 _exit; told engines 4 800; whole engines
for sig in KILL TERM ABRT; do life "engines$sig" WARPTAP_FLUSH_MS=100 -- engines 2 $sig; told "engines$sig" 2 400; done
# A chain of images in one process; each has its file, none is written over.
life chain WARPTAP_FLUSH_MS=100 -- chain 4; told chain 4 400
life daemon -- daemon 500; told daemon 1 500; whole daemon
life threads -- threads 60; told threads 1 60; whole threads
# Ends while three kernels run: nobody waits for them, and they are in flight, not missing.
life running SIMGPU_SCENARIO="$dir/slow" -- running 3; told running 1 3 0; whole running
life signals -- signals 2000; told signals 1 2000; whole signals
life children -- children 200; told children 1 200; whole children

# A process id used before: the older trace stays as it is.
mkdir "$dir/reuse"
env LD_LIBRARY_PATH="$build/simgpu/lib" SIMGPU_SCENARIO="$dir/quick" WARPTAP_EXIT_MS=20000 WARPTAP_CONTROL_DIR="$dir/reuse.control" sh -c \
	'echo older >"$1/$(hostname).$$.wt"; WARPTAP_DIR=$1 LD_PRELOAD=$2/libwarptap.so exec "$2/tests/cli/agent_life" plain 50' sh "$dir/reuse" "$build"
older=$(grep -lxa older "$dir"/reuse/*.wt) || fail "reuse: the older trace is gone"
[ "$(ls "$dir"/reuse/*.wt)" = "$(printf '%s\n%s' "${older%.wt}-1.wt" "$older")" ] || fail "reuse: $(ls "$dir/reuse")"
rm "$older"; told reuse 1 50

# What others may have put there under the names of ours, in a folder that is theirs too: nobody waits for a fifo,
# follows a link, or adds to a file that has another name besides; the trace is written.
echo mine >"$dir/mine"
for put in 'mkfifo "$0.log"' 'ln -s "$1" "$0.log"' 'ln "$1" "$0.log"' 'ln -s /nonexistent/x "$0.wt"' 'mkdir "$0.wt"' \
	'ln -s "$1" "$0.ring"'; do
	rm -rf "$dir/put"; mkdir "$dir/put"
	timeout 100 env LD_LIBRARY_PATH="$build/simgpu/lib" SIMGPU_SCENARIO="$dir/quick" WARPTAP_EXIT_MS=20000 WARPTAP_CONTROL_DIR="$dir/put.control" sh -c \
		'sh -c "$4" "$1/$(hostname).$$" "$3"; WARPTAP_DIR=$1 LD_PRELOAD=$2/libwarptap.so exec "$2/tests/cli/agent_life" plain 50' \
		sh "$dir/put" "$build" "$dir/mine" "$put" >"$dir/put.out" 2>&1 || fail "$put: exit $?: $(cat "$dir/put.out")"
	[ "$(cat "$dir/mine")" = mine ] || fail "$put: followed"
	find "$dir/put" ! -type f ! -path "$dir/put" -delete; told put 1 50
done
# Processes of the same id at the same time, as containers with one host name have them: a trace each.
if [ "$(id -u)" = 0 ] && unshare -pf --mount-proc true 2>/dev/null; then
	mkdir "$dir/same"; p=()
	for i in 1 2 3 4; do
		env LD_LIBRARY_PATH="$build/simgpu/lib" SIMGPU_SCENARIO="$dir/quick" WARPTAP_DIR="$dir/same" WARPTAP_EXIT_MS=20000 WARPTAP_CONTROL_DIR="$dir/same.control" \
			unshare -pf --mount-proc sh -c 'LD_PRELOAD=$0/libwarptap.so exec "$0/tests/cli/agent_life" plain 100' "$build" >"$dir/same.out$i" 2>&1 & p+=($!)
	done
	for i in "${p[@]}"; do wait "$i" || fail "same: exit $?"; done
	told same 4 400; whole same
else
	echo "process ids of their own: left out, this needs root"
fi
# A folder named from where the process began, which then went elsewhere.
(cd "$dir"; life relative WARPTAP_DIR=relative -- daemon 200); told relative 1 200; whole relative

# warptap run reaches every process below it, however it came to be.
export WARPTAP_EXIT_MS=20000 # a busy machine
"$build/warptap" run -q -o "$dir/run" --sim "h100,scenario=$dir/quick" -- sh -c '"$1" engines 2 _exit; "$1" forkexec 1' sh "$build/tests/cli/agent_life"
told run 5 601
# Workers as Ray has them: in a session of their own, elsewhere, their parent gone before they begin.
"$build/warptap" run -q -o "$dir/ray" --sim "h100,scenario=$dir/quick" -- sh -c \
	'mkfifo "$2/gone"; exec 3<>"$2/gone"; setsid sh -c "cd /; for i in 1 2 3; do (\"$1\" plain 100; echo >&3) & done" & for i in 1 2 3; do read -r x <&3; done; rm "$2/gone"' \
	sh "$build/tests/cli/agent_life" "$dir/ray"
told ray 3 300
echo ok
