#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# warptap attach on running jobs: windows by command, from level off and level count; what is in them is complete, named
# and counted to the call; level, start, stop, snapshot. The socket: whose, what it refuses, what becomes of it.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); job=; pid=; trap '[ -z "$job" ] || kill -9 $pid $job 2>/dev/null || :; rm -rf "$dir"' EXIT
export WARPTAP_CONTROL_DIR=$dir/run/warptap WARPTAP_EXIT_MS=10000 WARPTAP_BUDGET=0 WARPTAP_SKEW_US=0 PYTHONDONTWRITEBYTECODE=1
mkdir -m 700 "$dir/run"
die() { echo "FAIL: $*"; cat "$dir"/*.out "$dir"/*/*.log 2>/dev/null; exit 1; }

# NAME [VAR=VALUE...] -- WORDS: sets job (of warptap run) and pid (of the job), which goes on until `finish NAME`
start() {
	local name=$1 vars=(); shift
	while [ "$1" != -- ]; do vars+=("$1"); shift; done; shift
	: >"$dir/$name.out"
	env "${vars[@]}" "$build/warptap" run -q --sim h100 -o "$dir/$name" -- "$build/tests/cli/steady" "$@" \
		seconds=300 until="$dir/$name.end" >"$dir/$name.out" 2>&1 &
	job=$!; pid=
	for _ in $(seq 600); do
		pid=$(awk '/^ready/ { print $2 }' "$dir/$name.out"); [ -z "$pid" ] || break; sleep 0.05
	done
	[ -n "$pid" ] || die "$name: does not start"
	for _ in $(seq 200); do "$build/warptap" attach "$pid" status >"$dir/status" 2>/dev/null && return; sleep 0.05; done
	die "$name: no agent answers"
}
finish() { local rc=0; : >"$dir/$1.end"; wait $job || rc=$?; job=; [ $rc = "${2:-0}" ] || die "$1: exit $rc"; }
attach() { "$build/warptap" attach "$@" >"$dir/attach" 2>&1 || { cat "$dir/attach"; die "attach $*"; }; }
refused() { ! "$build/warptap" attach "$@" >"$dir/attach" 2>&1 || die "not refused: attach $*"; }
value() { awk -v k="$1" '$1 == k { print $2 }' "$dir/attach"; }
sockets() { find "$dir/run" -type s | wc -l; }

# ---- windows, counted to the call ----
for level in count off; do
	start $level WARPTAP_LEVEL=$level WARPTAP_FLUSH_MS=100 -- threads=2 rate=3000
	[ "$(stat -c %a "$dir/run/warptap")" = 700 ] || die "mode of the directory"
	[ "$(stat -c %a "$dir"/run/warptap/*)" = 600 ] || die "mode of the socket"
	attach $pid status; [ "$(value level)" = $level ] || die "level is $(value level)"
	[ "$(value escaped) $(value box)" = '0 file' ] || die "escaped, box: $(value escaped) $(value box)"
	attach $pid window --for 300ms
	attach $pid window --for 60s --no-wait
	refused $pid window --for 1s; grep -q 'a window is open' "$dir/attach" || die "the wrong reason"
	attach $pid status; [ "$(value level) $(value window)" = 'trace open' ] || die "no window is open"
	attach $pid stop
	attach $pid status; [ "$(value level) $(value window) $(value windows_opened)" = "$level none 2" ] || die "the window stays open"
	attach $pid window --for 200ms --no-wait
	for _ in $(seq 600); do attach $pid status; [ "$(value window)" = open ] || break; sleep 0.05; done
	[ "$(value level) $(value window) $(value windows_opened)" = "$level none 3" ] || die "nobody closes the window"
	attach $pid start; sleep 0.2; attach $pid stop
	attach $pid snapshot
	finish $level
	[ "$(sockets)" = 0 ] || die "$level: the socket outlives the job"
	"$build/warptap" report --json "$dir/$level" >"$dir/$level.json" || die "$level: no report"
	# A call that began before hooks recorded may have a record and no row: one a thread and window, if it is slow.
	"$build/tests/e2e/join_check" "$dir/$level" 0 8 || die "$level: joined wrong"
	python3 - "$dir/$level.json" "$dir/$level.out" $level "$dir"/$level/truth.*.tsv <<'P' || die "$level: the account is wrong"
import json, re, sys
r = json.load(open(sys.argv[1]))
made = dict(zip(("launch", "copy", "memset", "graph_launch"),
                map(int, re.search(r"launched (\d+) copied (\d+) set (\d+) graphs (\d+)", open(sys.argv[2]).read()).groups())))
c = r["completeness"]
assert c["share"] == 1.0 and c["missing"] == 0 and c["in_flight"] == 0, c
for k, n in made.items():
    inside, outside = c["counted"][k], c["outside_windows"][k]
    print(k, n, "made", inside, "inside", outside, "outside")
    assert 0 < inside < n, k
    if sys.argv[3] == "count":
        assert inside + outside == n, k
    else:
        assert inside + outside <= n, k
names = {k["name"] for k in r["kernels"]}
assert names == {"steady_%d" % i for i in range(8)}, names
P
	"$build/warptap" info --packets "$dir"/$level/*.wt >"$dir/packets"
	for n in 1 2 3 4; do
		[ "$(grep -c "state .*level=3 cupti=CUPTI_STATE_OURS reason=STATE_REASON_COMMAND .*window=$n " "$dir/packets")" = 1 ] ||
			die "$level: window $n is not in the trace once"
	done
done

# ---- calls under way at the edges of a window: submitted when kinds are on, begun before: a record, and no API record
printf '[model]\nkernel = 20ms\nqueue = 1\n' >"$dir/queue"
start edges WARPTAP_LEVEL=api SIMGPU_SCENARIO="$dir/queue" -- threads=2 rate=0
for n in 1 2 3 4; do attach $pid window --for 150ms; done
finish edges
"$build/tests/e2e/join_check" "$dir/edges" || die "edges: joined wrong"

# ---- a sleeping agent is woken by the command and not by its clock: a window opens between two of its ticks. The
# time of a tick is a second; the machine may be slow, so it may take some tries, but none would do it by the clock.
start asleep WARPTAP_LEVEL=off -- rate=500
for n in $(seq 40); do
	attach $pid status; before=$(value ticks) opened=$(value windows_opened)
	attach $pid window --for 10s --no-wait
	attach $pid status; after=$(value ticks)
	[ "$(value window) $(value windows_opened)" = "open $((opened + 1))" ] || die "the window is not open"
	attach $pid stop
	[ $before != $after ] || break
done
[ $before = $after ] || die "windows wait for the next tick"
echo "a window opened between two ticks, at try $n"
finish asleep

# ---- levels, and a snapshot of a job that is killed ----
start killed WARPTAP_LEVEL=off WARPTAP_FLUSH_MS=60000 --
attach $pid level api; attach $pid status; [ "$(value level)" = api ] || die "level api"
attach $pid level count; attach $pid level off; attach $pid level trace
attach $pid status; [ "$(value level) $(value cupti)" = 'trace ours' ] || die "level trace"
before=$(value calls)
for _ in $(seq 600); do attach $pid status; [ "$(value calls)" -lt $((before + 400)) ] || break; sleep 0.05; done
attach $pid level off; attach $pid snapshot
kill -9 $pid; finish killed 137 2>/dev/null || :
job=
"$build/warptap" report --json "$dir/killed" >"$dir/killed.json" || [ $? = 3 ] || die "killed: no report"
python3 -c 'import json, sys; c = json.load(open(sys.argv[1]))["completeness"]; assert c["counted"]["launch"] > 100 and c["missing"] == 0, c' \
	"$dir/killed.json" || die "the snapshot is not in the file"
# What it left is cleared away by whoever looks.
[ "$(sockets)" = 1 ] || die "a killed job leaves its socket"
cp -a "$dir"/run/warptap/[0-9]* "$dir/run/warptap/.$(basename "$dir"/run/warptap/[0-9]*)" # and half a one
refused --all status; [ "$(sockets)" = 0 ] || die "a stale socket stays"

# ---- many agents; a child keeps no socket; a pid that comes again ----
start one WARPTAP_LEVEL=off -- fork=50; one=$job
start two WARPTAP_LEVEL=off -- close; two=$job
sleep 0.7 # the socket is made anew, once a second
for _ in $(seq 100); do attach --all status; [ "$(grep -c '^pid' "$dir/attach")" = 2 ] && break; sleep 0.05; done
attach --all window --for 100ms
[ "$(grep -c 'window closed' "$dir/attach")" = 2 ] || die "--all reaches $(grep -c 'window closed' "$dir/attach")"
job=$one; finish one; job=$two; finish two
start orphan -- orphan
kill -9 $pid; wait $job || :; job=
refused $pid status; [ "$(sockets)" = 0 ] || die "an orphan keeps the socket of its parent"
python3 - "$dir/run/warptap/$$.1.1" <<'P'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.bind(sys.argv[1])
P
refused $$ status; grep -q 'no agent answers' "$dir/attach" || die "a stale socket of a living process"
[ "$(sockets)" = 0 ] || die "it stays"

# ---- strangers ----
start hard WARPTAP_LEVEL=off -- rate=500
python3 - "$dir"/run/warptap/* <<'P' || die "garbage, floods, slow clients"
import os, socket, sys
path = sys.argv[1]
def call(data, wait=True):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(5); s.connect(path)
    try:
        s.send(data)
        return s.recv(8192).decode() if wait else s
    except (ConnectionResetError, BrokenPipeError):
        return ""
for bad in (b"status", b"warptap/1", b"warptap/1 ", b"warptap/2 status", b"warptap/1 status x=1", b"warptap/1  status",
            b"warptap/1 level", b"warptap/1 level level=9", b"warptap/1 level level=0", b"warptap/1 window",
            b"warptap/1 window for_ms=0", b"warptap/1 window for_ms=99999999999", b"warptap/1 window for_ms=1 for_ms=1",
            b"warptap/1 window for_ms=5 steps=5", b"warptap/1 window steps=5", b"warptap/1 window collectives=5",
            b"warptap/1 window for_ms=5 at=7", b"warptap/1 status\n", b"\0" * 64, b"\xff" * 200, b"A" * 5000, os.urandom(256)):
    r = call(bad)
    assert r.startswith("warptap/1 error "), (bad[:40], r)
assert call(b"warptap/1 status").startswith("warptap/1 ok\n")
# Clients that say nothing, or do not listen: the others are served all the same once their second is over.
mute = []
for i in range(40):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.setblocking(False)
    try:
        s.connect(path)
    except BlockingIOError:
        pass
    mute.append(s)
ok = 0
for i in range(200):
    try:
        ok += call(b"warptap/1 status").startswith("warptap/1 ok\n")
    except OSError:
        pass
    if ok >= 3:
        break
    __import__("time").sleep(0.1)
assert ok >= 3, ok
for i in range(300):
    try:
        call(b"warptap/1 status", wait=False).close()
    except OSError:
        pass
P
attach $pid status; [ "$(value level)" = off ] || die "a stranger changed the level"
if [ "$(id -u)" = 0 ]; then
	# Another user cannot reach it; and if he could, he would not be heard: both directories are opened here.
	chmod 755 "$dir"; chmod 711 "$dir/run" "$dir/run/warptap"; chmod 666 "$dir"/run/warptap/*
	python3 - "$dir"/run/warptap/* <<'P' || die "another user is heard"
import os, socket, sys
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(5); s.connect(sys.argv[1])
try:
    s.send(b"warptap/1 status"); got = s.recv(4096)
except (ConnectionResetError, BrokenPipeError):
    got = b""
assert not got, got
P
	chmod 700 "$dir/run" "$dir/run/warptap"
else
	echo "another user: left out, this needs root"
fi
finish hard

# ---- whoever looks while the socket is being made does not take it for left behind
start early SLOW_LISTEN_MS=1000 LD_PRELOAD="$build/tests/cli/libslow_write.so" --
finish early

# ---- the usual directory; one that is not ours alone is not used; the job goes on ----
unset WARPTAP_CONTROL_DIR; export XDG_RUNTIME_DIR=$dir/run
start xdg --; [ "$(sockets)" = 1 ] || die "no socket in XDG_RUNTIME_DIR"
# A job that a scheduler gave no XDG_RUNTIME_DIR is found by who has one, and the other way round; each of them once.
one=$job; first=$pid; start tmp XDG_RUNTIME_DIR= --
[ "$(sockets)" = 1 ] && [ -S "$(ls "/tmp/warptap-$(id -u)/$pid".*)" ] || die "no socket in /tmp"
"$build/warptap" attach --all status >"$dir/attach" 2>&1 || : # agents of others may go meanwhile
for p in $first $pid; do [ "$(grep -cx "pid $p" "$dir/attach")" = 1 ] || die "--all finds $p $(grep -cx "pid $p" "$dir/attach") times"; done
finish tmp; job=$one; pid=$first; finish xdg
rm -rf "$dir/run/warptap"; mkdir "$dir/elsewhere"; ln -s "$dir/elsewhere" "$dir/run/warptap"
env WARPTAP_LEVEL=count "$build/warptap" run -q --sim h100 -o "$dir/link" -- "$build/tests/cli/steady" seconds=0.5 >"$dir/link.out" 2>&1 || die "link"
[ -z "$(ls "$dir/elsewhere")" ] || die "a link was followed"
rm "$dir/run/warptap"; mkdir -m 755 "$dir/run/warptap"
env WARPTAP_LEVEL=count "$build/warptap" run -q --sim h100 -o "$dir/open" -- "$build/tests/cli/steady" seconds=0.5 >"$dir/open.out" 2>&1 || die "open"
grep -q 'not a directory of mode 0700' "$dir"/open/*.log || die "an open directory was used"
rm -rf "$dir/run/warptap"
env WARPTAP_CONTROL=0 WARPTAP_LEVEL=count "$build/warptap" run -q --sim h100 -o "$dir/none" -- "$build/tests/cli/steady" seconds=0.5 >"$dir/none.out" 2>&1 || die "none"
[ ! -e "$dir/run/warptap" ] || die "WARPTAP_CONTROL=0 makes a socket"
echo ok
