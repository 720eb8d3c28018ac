#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# CUDA libraries that a job opens and closes again, and again: nobody jumps to where one was.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
printf '[model]\nkernel = 2us\n' >"$dir/quick"; mkdir "$dir/t"
run() { env LD_LIBRARY_PATH="$build/simgpu/lib" SIMGPU_SCENARIO="$dir/quick" WARPTAP_EXIT_MS=20000 WARPTAP_DIR="$dir/t" \
	WARPTAP_CONTROL_DIR="$dir/control" "$@" "$build/tests/cli/agent_dlclose" 4 >"$dir/out" 2>&1; }
for how in LD_PRELOAD= "LD_PRELOAD=$build/libwarptap.so"; do
	rc=0; run "$how" || rc=$?
	[ $rc = 0 ] && [ "$(cat "$dir/out")" = done ] || { echo "FAIL: $how: exit $rc: $(cat "$dir/out")"; exit 1; }
done
"$build/warptap" report --json "$dir/t" >"$dir/json"
python3 - "$dir/json" <<'P'
import json, sys
c = json.load(open(sys.argv[1]))["completeness"]
# five times a hundred of its own, and a product in each round
assert c["counted"]["launch"] == c["received"]["launch"] == 504 and c["share"] == 1.0, c
P
echo ok
