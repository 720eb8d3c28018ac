#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# examples/deploy/slurm under a Slurm 22.05 that is unpacked, not installed: controller and node on this machine, on
# 127.0.0.1. Tasks have the agent asleep in a folder of their job's user; a report is there when the job is over; what
# is not to be recorded, cannot be or is killed runs and ends as it would.
set -eu
B=$(realpath "${BUILD:-build}")
[ "$(id -u)" = 0 ] || { echo "skip-ok: Slurm's node runs as root"; exit 77; }
why=$(scripts/setup deploy 2>&1) || { echo "$why"; echo "skip: Slurm cannot be fetched (scripts/setup deploy)"; exit 77; }
R=$(realpath build/slurm-root); L=$R/usr/lib/x86_64-linux-gnu
T=$(mktemp -d); chmod 755 "$T"; jobs_=
cleanup() { for p in $jobs_; do kill "$p" 2>/dev/null || :; done; wait; rm -rf "$T"; }
trap cleanup EXIT
die() { echo "FAIL: $*"; tail -n 15 "$T/log" "$T"/*.out "$T"/*d.log 2>/dev/null; exit 1; }
unset LD_PRELOAD LD_LIBRARY_PATH WARPTAP_DIR WARPTAP_LEVEL WARPTAP_SKIP || :

# The scripts as a site would have them: installed files, two paths of its own.
make -s --no-print-directory O="$B" install prefix="$T/wt" >"$T/log" 2>&1 || die "make install"
mkdir "$T/etc"
for s in prolog taskprolog epilog; do
	sed -e "s,/usr/local/,$T/wt/," -e "s,/var/lib/warptap,$T/traces," "examples/deploy/slurm/$s" >"$T/etc/$s"
	grep -q "$T/" "$T/etc/$s" || die "$s names none of the two paths"
	chmod 755 "$T/etc/$s"
done
read -r p1 p2 < <(python3 -c '
import socket
s = [socket.socket() for _ in range(2)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])')
h=$(hostname -s)
cat >"$T/slurm.conf" <<-C
	ClusterName=test
	SlurmctldHost=$h(127.0.0.1)
	SlurmctldPort=$p1
	SlurmdPort=$p2
	CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
	AuthType=auth/munge
	AuthInfo=socket=$T/munge.sock
	SlurmUser=root
	SlurmdUser=root
	PluginDir=$L/slurm-wlm
	StateSaveLocation=$T/state
	SlurmdSpoolDir=$T/spool
	SlurmctldPidFile=$T/ctld.pid
	SlurmdPidFile=$T/slurmd.pid
	SlurmctldLogFile=$T/ctld.log
	SlurmdLogFile=$T/slurmd.log
	ProctrackType=proctrack/pgid
	TaskPlugin=task/none
	SwitchType=switch/none
	MpiDefault=none
	JobAcctGatherType=jobacct_gather/none
	AccountingStorageType=accounting_storage/none
	SchedulerType=sched/builtin
	SelectType=select/linear
	ReturnToService=2
	KillWait=2
	NodeName=$h NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
	PartitionName=p Nodes=$h Default=YES MaxTime=10 State=UP
C
sed -e 's,/etc/slurm/warptap,'"$T/etc," examples/deploy/slurm/slurm.conf.part >>"$T/slurm.conf"
mkdir "$T/state" "$T/spool"
head -c 1024 /dev/urandom >"$T/key"; chmod 600 "$T/key"
slurm() { env LD_LIBRARY_PATH="$L:$L/slurm-wlm" SLURM_CONF="$T/slurm.conf" "$@"; }
serve() { local out=$1; shift; slurm timeout 280 "$@" >"$T/$out.out" 2>&1 & jobs_="$jobs_ $!"; }
serve munged "$R/usr/sbin/munged" --foreground --force --key-file="$T/key" --socket="$T/munge.sock" \
	--pid-file="$T/munged.pid" --log-file="$T/munged.log" --seed-file="$T/seed"
serve ctld "$R/usr/sbin/slurmctld-wlm" -D -f "$T/slurm.conf"
serve slurmd "$R/usr/sbin/slurmd-wlm" -D -f "$T/slurm.conf" -d "$R/usr/sbin/slurmstepd-wlm"
for _ in $(seq 60); do
	! slurm "$R/usr/bin/sinfo" -h -o %t 2>/dev/null | grep -q idle || break
	sleep 0.5
done
slurm "$R/usr/bin/sinfo" -h -o %t 2>"$T/log" | grep -q idle || die "Slurm does not start"

# srun ARGS as an ordinary user; Slurm's own libraries are not the job's business.
srun() { slurm setpriv --reuid 65534 --regid 65534 --clear-groups "$R/usr/bin/srun" --chdir=/ -Q "$@"; }
newest() { ls -t "$T/traces" 2>/dev/null | head -n 1; }
over() { # the epilog has been there
	for _ in $(seq 100); do
		[ -n "$(slurm "$R/usr/bin/squeue" -h 2>/dev/null)" ] || return 0 # completing jobs are in it
		sleep 0.2
	done
	die "a job does not end"
}
json() { # FILE EXPRESSION of r
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert eval(sys.argv[2]), (sys.argv[2], r["completeness"], r["inputs"])' "$@"
}
sim="export LD_LIBRARY_PATH=$B/simgpu/lib"

# Two tasks that ask to be recorded: two traces and a report in a folder of their user's.
[ "$(srun -n1 sh -c 'echo "$WARPTAP_LEVEL $LD_PRELOAD"')" = "off $T/wt/lib/warptap/libwarptap.so" ] ||
	die "the agent is not asleep in a task"
over
WARPTAP_LEVEL=trace srun -n2 sh -c "$sim WARPTAP_EXIT_MS=10000; exec $B/tests/cli/steady seconds=1 rate=2000" \
	>"$T/two.out" 2>"$T/two.err" || die "two tasks"
over
d=$T/traces/$(newest)
[ "$(stat -c '%a %u' "$d")" = "700 65534" ] || die "the folder: $(stat -c '%a %u' "$d")"
[ "$(ls "$d"/*.wt | wc -l)" = 2 ] && [ -s "$d/report.json" ] || die "two traces and a report: $(ls "$d")"
[ "$(stat -c '%a %u' "$d/report.json")" = "600 65534" ] || die "the report is not its user's"
n=$(awk '/^launched/ { n += $2 } END { print n }' "$T/two.out")
json "$d/report.json" "r['completeness']['share'] == 1.0 and r['completeness']['counted']['launch'] >= $n > 1000" ||
	die "what the report says"

# A job of no CUDA, one that does not want it, and one whose agent is gone: as without; no folder stays.
for how in A=1 WARPTAP_SKIP=1; do
	[ "$(export $how; srun -n1 sh -c 'echo said; exit 7' 2>/dev/null || echo "exit $?")" = "said
exit 7" ] || die "another job's output or exit code ($how)"
	over
done
[ "$(WARPTAP_SKIP=1 srun -n1 sh -c 'echo "[$LD_PRELOAD]"')" = "[]" ] || die "WARPTAP_SKIP"
over
mv "$T/wt" "$T/gone"
[ "$(srun -n1 sh -c 'echo "[$LD_PRELOAD]"' 2>&1)" = "[]" ] || die "the agent is gone"
over
mv "$T/gone" "$T/wt"
[ "$(LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libm.so.6 srun -n1 sh -c 'echo "$LD_PRELOAD"')" = \
	"$T/wt/lib/warptap/libwarptap.so:/usr/lib/x86_64-linux-gnu/libm.so.6" ] || die "the job's own preload"
over
for d in "$T"/traces/*; do [ -n "$(ls "$d")" ] || die "an empty folder stays"; done

# Awake on demand, from the node, as the job's user; then the job is cancelled.
XDG_RUNTIME_DIR= srun -n1 sh -c "$sim; exec $B/tests/cli/steady seconds=60 rate=2000" >"$T/long.out" 2>&1 & s=$!
attach() {
	env -u XDG_RUNTIME_DIR setpriv --reuid 65534 --regid 65534 --clear-groups "$T/wt/bin/warptap" attach --all "$@"
}
for _ in $(seq 100); do ! attach status >"$T/log" 2>&1 || break; sleep 0.2; done
attach window --for 1s >"$T/log" 2>&1 || die "attach"
id=$(newest)
slurm "$R/usr/bin/scancel" "$id" || die "scancel"
wait $s && die "a cancelled job ends well"
over
json "$T/traces/$id/report.json" "r['completeness']['received']['launch'] > 500" || die "the window"

# A prolog that cannot make its folder takes neither the job nor the node down.
mv "$T/traces" "$T/kept"; : >"$T/traces"
[ "$(srun -n1 sh -c 'echo "[$LD_PRELOAD]"' 2>&1)" = "[]" ] || die "no folder for traces"
over
slurm "$R/usr/bin/sinfo" -h -o %t | grep -q idle || die "the node is out of service"
echo ok
