#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# A job that fails fails as it would alone: output, exit code or signal; and what it did before is in its trace.
. tests/torch/torch_env.sh
for how in end code raise oom _exit kill term abort; do
	alone=0 beside=0
	LD_LIBRARY_PATH=$simlib SIMGPU_DEVICE=h100 "$python" "$jobs/test_exit.py" $how >"$tmp/alone.out" \
		2>"$tmp/alone.err" || alone=$?
	"$build/warptap" run -q --sim h100 -o "$tmp/$how" -- "$python" "$jobs/test_exit.py" $how \
		>"$tmp/beside.out" 2>"$tmp/beside.err" || beside=$?
	[ $alone = $beside ] || fail "$how: exit $beside, without the agent $alone"
	cmp "$tmp/alone.out" "$tmp/beside.out" || fail "$how: another output"
	diff <(grep -v '^warptap: \|Aborted\|Killed\|Terminated' "$tmp/alone.err") \
		<(grep -v '^warptap: \|Aborted\|Killed\|Terminated' "$tmp/beside.err") || fail "$how: other errors"
	rc=0
	"$build/warptap" report --json "$tmp/$how" >"$tmp/$how.json" || rc=$?
	[ $rc = 0 ] || [ $rc = 3 ] || fail "$how: report exits $rc"
	[ "$(counted $how launch)" -ge 40 ] || fail "$how: $(counted $how launch) launches counted"
	echo "$how: exit $beside"
done
