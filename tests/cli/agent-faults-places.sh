#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# Each system call the agent makes fails in turn, at each place it is made from.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
export PYTHONDONTWRITEBYTECODE=1
rc=0; "$build/tests/cli/fault_calls" list "$dir/calls" -- /bin/true >"$dir/out" 2>&1 || rc=$?
[ $rc = 0 ] || { echo "skip-ok: nothing can be traced here: $(cat "$dir/out")"; exit 77; }
for how in places; do
	mkdir "$dir/$how"
	python3 tests/cli/agent_faults.py "$build" "$dir/$how" $how
done
