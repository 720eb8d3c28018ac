#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# The agent under the simulator's faults: records without times are counted and their time is E1; of a hung job that is
# killed the trace says what was in flight; a job that runs out of memory gets the same answers as without the agent.
set -eu
B=$(cd "${BUILD:-build}" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset SIMGPU_DEVICE SIMGPU_DEVICES SIMGPU_SCENARIO SIMGPU_TRUTH SIMGPU_LOG RANK LOCAL_RANK OMPI_COMM_WORLD_RANK SLURM_PROCID PMI_RANK
fail() { echo "sim-faults-agent.sh: $*" >&2; exit 1; }

record() { # NAME SCENARIO ARGS...
	local name=$1
	printf "$2" >"$tmp/$name.ini"; shift 2
	"$B/warptap" run -q -o "$tmp/$name" --sim "h100,devices=2,scenario=$tmp/$name.ini" -- "$B/tests/cli/sim_faults" "$@"
}

# On a machine with too much to do a process may end before its trace is closed, and the trace says so: once more then.
for try in 1 2 3; do
	rm -rf "$tmp/zero"
	record zero '[cupti] zero_timestamps = 5\n[kernel] train_step = 50us\n' train 2 50
	rc=0; "$B/warptap" report --json "$tmp/zero" >"$tmp/zero.json" || rc=$?
	[ $rc = 3 ] || break
done
[ $rc = 0 ] || fail "report of zeroed records: exit $rc after $try tries"
zeroed=$(cat "$tmp"/zero/truth.*.tsv | grep -c zeroed_record)
python3 - "$tmp/zero.json" "$zeroed" <<'P'
import json, sys
r, zeroed = json.load(open(sys.argv[1])), int(sys.argv[2])
c = r["completeness"]
assert zeroed == 40 and c["untimed"] == zeroed, (zeroed, c["untimed"])
assert c["counted"]["launch"] == c["received"]["launch"] == 200 and c["missing"] == 0, c
assert c["share"] == 0.9, c["share"]
assert len(r["devices"]) == 2
for d in r["devices"]:
    assert sum(d["leaves_ns"].values()) == d["window_ns"]
    assert d["leaves_ns"]["E1"] > 0 and d["kernels"]["count"] == 100, d
P

# Without the kill the job would wait for ever.
export WARPTAP_CONTROL_DIR=$tmp/control
record hang '[nccl] hang = 20:1\n[kernel] train_step = 50us\n' train 2 50 >"$tmp/hang.out" 2>&1 &
runner=$!
for _ in $(seq 600); do # until both ranks have called the one that hangs
	sleep 0.1
	[ "$("$B/warptap" attach --all status 2>/dev/null | grep -c '^collectives 20$')" != 2 ] || break
done
sleep 2
kill -9 $(ls "$tmp"/hang/*.wt | sed -E 's/.*\.([0-9]+)\.wt/\1/')
wait $runner && fail "the run's exit code hides the kill"
rc=0; "$B/warptap" report --json "$tmp/hang" >"$tmp/hang.json" 2>"$tmp/hang.err" || rc=$?
[ $rc = 3 ] || fail "report of a killed hang: exit $rc"
python3 - "$tmp/hang.json" <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
c = r["completeness"]
# What a file lacks is in the black box beside it.
assert len(r["inputs"]) == 2 and sum("did not close its trace" in n for n in r["notes"]) == 2, r["notes"]
assert c["in_flight"] == 2 and c["missing"] == 0, (c["in_flight"], c["missing"])
assert c["counted"]["launch"] == 80 and c["counted"]["collective"] == 40, c
for d in r["devices"]:
    assert sum(d["leaves_ns"].values()) == d["window_ns"]
    assert d["kernels"]["count"] >= 39, d["kernels"]
    # It has not finished: nothing is lost, and the device was not idle.
    assert d["leaves_ns"]["E1"] == 0 and d["leaves_ns"]["E2"] > 1e9, d["leaves_ns"]
(c,) = r["progress"]["communicators"]
assert r["progress"]["ranks"] == 2 and not r["progress"]["suspects"], r["progress"]
assert c["agrees"] and c["called_by_all"] == 1 and (c["most_called"], c["most_finished"]) == (20, 19), c
P
"$B/warptap" report -q "$tmp/hang" >"$tmp/hang.txt" || :
grep -q 'it stood when recording ended: all of 2 ranks called #20 on .*, none has finished it' "$tmp/hang.txt" ||
	fail "the report of a hang does not begin with it"

oom='[device] memory = 750MiB\n'
printf "$oom" >"$tmp/plain.ini"
rc=0; SIMGPU_DEVICES=2 SIMGPU_SCENARIO=$tmp/plain.ini LD_LIBRARY_PATH=$B/simgpu/lib "$B/tests/cli/sim_faults" oom \
	>"$tmp/plain.out" 2>&1 || rc=$?
rc2=0; record oom "$oom" oom >"$tmp/oom.out" 2>&1 || rc2=$?
[ $rc = 1 ] && [ $rc2 = 1 ] || fail "out of memory: exit $rc alone, $rc2 recorded"
cmp "$tmp/plain.out" "$tmp/oom.out" || fail "out of memory: another output under the agent"
grep -qx 'allocation 7: cudaErrorMemoryAllocation' "$tmp/oom.out" || fail "$(cat "$tmp/oom.out")"
"$B/warptap" report --json "$tmp/oom" >"$tmp/oom.json" || fail "report of the job without memory: exit $?"
python3 -c '
import json, sys
c = json.load(open(sys.argv[1]))["completeness"]
assert c["counted"]["launch"] == 7 and c["share"] == 1.0, c' "$tmp/oom.json"
# A failing call is no launch: neither counted nor missing.
record fail '[fail] cuLaunchKernel = 3:719\n' oom >"$tmp/fail.out" 2>&1 && fail "the injected failure is lost"
"$B/warptap" report --json "$tmp/fail" >"$tmp/fail.json" || fail "report of a failed launch: exit $?"
python3 -c '
import json, sys
c = json.load(open(sys.argv[1]))["completeness"]
assert c["counted"]["launch"] == 2 and c["missing"] == 0 and c["share"] == 1.0, c' "$tmp/fail.json"
echo "the agent behaves under every fault"
