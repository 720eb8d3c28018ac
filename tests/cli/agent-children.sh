#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# Ten thousand short children of a job that has launched: none of them leaves a file or a socket, and the job's trace is
# as if they had not been.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
printf '[model]\nkernel = 2us\n' >"$dir/quick"; mkdir "$dir/t" "$dir/ring"
env LD_LIBRARY_PATH="$build/simgpu/lib" SIMGPU_SCENARIO="$dir/quick" WARPTAP_DIR="$dir/t" WARPTAP_RING_DIR="$dir/ring" WARPTAP_EXIT_MS=20000 \
	WARPTAP_CONTROL_DIR="$dir/control" LD_PRELOAD="$build/libwarptap.so" "$build/tests/cli/agent_life" children "${1:-10000}"
[ "$(ls "$dir/t" | grep -c '\.wt$')" = 1 ] && [ -z "$(ls -A "$dir/ring")" ] && [ -z "$(ls -A "$dir/control")" ] || { ls "$dir"/*; exit 1; }
"$build/warptap" report --json "$dir/t" >"$dir/json"
python3 - "$dir/json" <<'P'
import json, sys
c = json.load(open(sys.argv[1]))["completeness"]
assert c["counted"]["launch"] == c["received"]["launch"] == 200 and c["share"] == 1.0, c
P
echo ok
