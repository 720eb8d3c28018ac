#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# warptap run: output, exit codes and signals are the command's; what it says at the end is true; usage errors are told.
set -eu
B=$(realpath "${BUILD:-build}"); W=$B/warptap
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT; cd "$T"
unset LD_PRELOAD WARPTAP_DIR WARPTAP_LEVEL || :
die() { echo "FAIL: $*"; cat "$T/out" "$T/err" 2>/dev/null; exit 1; }
run() { # EXPECTED_RC ARGS...
	local want=$1 rc=0; shift
	{ "$W" run "$@" >out 2>err </dev/null; } 2>/dev/null || rc=$?
	[ $rc = "$want" ] || die "run $*: exit $rc, not $want"
}
mkdir lib; ln -s "$B/tests/cli/libfakecuda.so" lib/libcuda.so.1
export WARPTAP_CUPTI=0

# Without CUDA: nothing of ours in the output, no folder left.
run 0 -o d -- /bin/echo hello; [ "$(cat out)" = hello ] && [ ! -e d ] || die "echo"
grep -q '^warptap: no process with the agent in it used CUDA: nothing was recorded' err || die "it does not say that nothing was recorded"
run 5 -q -o d sh -c 'exit 5'; [ ! -s err ] && [ ! -e d ] || die "-q"
run 143 -q sh -c 'kill -TERM $$'
run 137 -q sh -c 'kill -KILL $$'
run 127 -q no-such-command; grep -q 'cannot run no-such-command: No such file' err || die "not found"
run 126 -q /etc/passwd; grep -q 'Permission denied' err || die "not executable"
[ -z "$(ls -d warptap-* 2>/dev/null)" ] || die "left a folder"
# It ends by the signal itself, not by a code that means it.
python3 - "$W" <<'P' || die "not ended by the signal"
import signal, subprocess, sys, time
p = subprocess.run([sys.argv[1], "run", "-q", "sh", "-c", "kill -USR1 $$"])
assert p.returncode == -signal.SIGUSR1, p.returncode
# A signal sent to warptap alone reaches the command.
p = subprocess.Popen([sys.argv[1], "run", "-q", "python3", "-c", """
import signal, sys
signal.signal(signal.SIGTERM, lambda *a: sys.exit(9))
print("ready", flush=True)
signal.pause()"""], stdout=subprocess.PIPE)
assert p.stdout.readline() == b"ready\n"
p.terminate()
assert p.wait(20) == 9, p.returncode
P
# Who began us may have ignored or held back signals: exit code and signal of the command are told all the same, and it
# has both as they were.
python3 - "$W" <<'P' || die "signals of who began it"
import signal, subprocess, sys
def run(before, *command):
    return subprocess.run([sys.argv[1], "run", "-q", "--", *command], preexec_fn=before, stdout=subprocess.PIPE, text=True)
ignored = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
assert run(ignored, "sh", "-c", "exit 7").returncode == 7
look = "import signal; print(signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN)"
assert run(ignored, "python3", "-c", look).stdout == "True\n"
held = lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
die = "import os, signal; signal.pthread_sigmask(signal.SIG_UNBLOCK, [15]); os.kill(os.getpid(), 15)"
assert run(held, "python3", "-c", die).returncode == -signal.SIGTERM
P
# Input goes through, and what was preloaded stays.
[ "$(echo text | LD_PRELOAD=$B/tests/cli/libother_preload.so OTHER_TELLS=1 "$W" run -q -- sh -c 'read x; echo $x' 2>err)" = text ] || die "stdin"
grep -q 'other: 0 memsets, 7' err || die "the job's own preload is gone"
LD_PRELOAD=$B/tests/cli/libother_preload.so "$W" run -q -- sh -c 'echo $LD_PRELOAD' >out
[ "$(cat out)" = "$B/libwarptap.so:$B/tests/cli/libother_preload.so" ] || die "ours is not first"

# With CUDA: a trace, and the command that shows it.
export LD_LIBRARY_PATH=$T/lib
run 0 -o deep/er -- "$B/tests/cli/gate_client" gpa2 calls
[ "$(cat out)" = 'launched 5' ] && [ "$(ls deep/er | sed 's/.*\.//')" = wt ] || die "recorded: $(ls deep/er; cat deep/er/*.log 2>/dev/null)"
grep -qx 'warptap: 1 trace in deep/er' err && grep -qx 'warptap: to see it: warptap report deep/er' err || die "the end"
run 0 -o two -- sh -c "'$B/tests/cli/gate_client' gpa2 calls; '$B/tests/cli/gate_client' dlsym calls"
grep -q '2 traces in two' err || die "two processes"
END=kill run 137 -o cut -- "$B/tests/cli/gate_client" gpa2 calls
grep -q '1 trace not closed (killed' err || die "a killed process"
run 0 -o gone -- sh -c "'$B/tests/cli/gate_client' gpa2 calls; rm -r gone"
grep -qx 'warptap: gone: No such file or directory: what was recorded there is not to be found' err || die "a folder that is gone"
sleep 0.1; run 0 -o two -- "$B/tests/cli/gate_client" gpa2 calls
grep -q 'two also holds 2 traces of an earlier run' err || die "traces of two runs in one folder"
run 0 -- "$B/tests/cli/gate_client" gpa2 calls; ls -d warptap-2* >/dev/null || die "the default folder"
run 0 -o lv --level count -- sh -c 'echo $WARPTAP_LEVEL; cd /; echo $WARPTAP_DIR'
[ "$(cat out)" = "count
$T/lv" ] || die "environment"
run 0 -o set --budget 0.5 --window-every 10m --window-for 100steps --ranks 0,8-15 --redact -- \
	sh -c 'env | grep -E "^WARPTAP_(BUDGET|WINDOW|RANKS|REDACT)" | sed "s/KEY=[0-9a-f]\{32\}$/KEY=of 128 bits/" | sort'
[ "$(cat out)" = "WARPTAP_BUDGET=0.5
WARPTAP_RANKS=0,8-15
WARPTAP_REDACT=1
WARPTAP_REDACT_KEY=of 128 bits
WARPTAP_WINDOW_EVERY=10m
WARPTAP_WINDOW_FOR=100steps" ] || die "settings"
unset LD_LIBRARY_PATH

# The simulated device.
printf '[device]\nname = a100\n' >my.scenario
run 0 -q -o sim --sim h100,devices=2,scenario=my.scenario -- sh -c 'env | grep -E "^(SIMGPU|LD_LIBRARY)" | sort'
[ "$(cat out)" = "LD_LIBRARY_PATH=$B/simgpu/lib
SIMGPU_DEVICE=h100
SIMGPU_DEVICES=2
SIMGPU_SCENARIO=$T/my.scenario
SIMGPU_TRUTH=$T/sim" ] || die "--sim"

# Preloaded, the simulated runtime looks for the driver in a constructor that may run before the agent's.
WARPTAP_CUPTI=1 run 0 -q -o pre --sim h100,preload -- "$B/tests/cli/sim_cudart"
launched=$(awk -F'\t' '$1 == "op" && $2 == "kernel" && !$7' pre/truth.*.tsv | wc -l)
"$B/warptap" report --json pre >pre.json
python3 - "$launched" <<'P' || die "preload: launches passed the agent by"
import json, sys
c = json.load(open("pre.json"))["completeness"]
assert c["share"] == 1.0 and c["counted"]["launch"] == int(sys.argv[1]) > 0, c
P

# Wrong usage.
run 1 -o my.scenario true; grep -q 'my.scenario is there and is not a folder' err || die "not a folder"
run 2; grep -q 'no command' err || die "no command"
run 2 --bogus true; grep -q 'unknown option --bogus' err || die "unknown option"
run 2 -o; grep -q 'missing after -o' err || die "no value"
run 2 --level loud true; grep -q 'expected trace, api, count or off' err || die "level"
run 2 --budget 101 true; grep -q 'expected percent' err || die "budget"
run 2 --window-every 5 --window-for 1s true; grep -q -- '--window-every 5: expected 500ms' err || die "span"
run 2 --window-every 5s true; grep -q 'needs both' err || die "half a window"
run 2 --ranks 3- true; grep -q 'expected 0,8-15 or 25%' err || die "ranks"
run 2 --sim h100,devices=0 true; grep -q 'from 1 to 64' err || die "devices"
run 2 --sim h100,speed=9 true; grep -q 'expected scenario=FILE, devices=N or preload' err || die "sim option"
run 2 --sim ../x true; grep -q 'expected a device' err || die "sim device"
run 1 --sim h100,scenario=none true; grep -q 'scenario none: No such file' err || die "scenario"
run 1 -o /proc/no true; grep -q 'cannot make /proc/no' err || die "folder"
run 0 --help; grep -q '^usage: warptap run' out || die "help"
echo ok
