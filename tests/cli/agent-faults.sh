#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Each system call the agent makes fails in turn, by name; and each call of the driver's and CUPTI's.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
export PYTHONDONTWRITEBYTECODE=1
rc=0; "$build/tests/cli/fault_calls" list "$dir/calls" -- /bin/true >"$dir/out" 2>&1 || rc=$?
[ $rc = 0 ] || { echo "skip-ok: nothing can be traced here: $(cat "$dir/out")"; exit 77; }
for how in names sim; do
	mkdir "$dir/$how"
	python3 tests/cli/agent_faults.py "$build" "$dir/$how" $how
done
