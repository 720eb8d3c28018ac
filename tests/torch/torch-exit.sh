#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# A job that fails fails as it would alone: output, exit code or signal; and what it did before is in its trace, to the
# last launch, whether the trace was closed or is completed from the black box.
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
	# The same work before each end: as many launches as the job that ends well has, and as the truth has.
	all=$(counted $how launch)
	[ $how != end ] || well=$all
	[ "$all" -ge 40 ] && [ "$all" = "$well" ] || fail "$how: $all launches counted, $well when it ends well"
	case $how in
	kill | term | abort)
		[ $rc = 3 ] || fail "$how: report exits $rc, expected 3"
		ls "$tmp/$how"/*.ring >/dev/null || fail "$how: no black box is left"
		"$build/warptap" recover "$tmp/$how" || fail "$how: not recovered"
		"$build/warptap" report --json "$tmp/$how" >"$tmp/$how.json" || rc=$?
		[ "$(counted $how launch)" = "$well" ] || fail "$how: recovered, $(counted $how launch) launches"
		;;
	esac
	echo "$how: exit $beside, $all launches"
done
