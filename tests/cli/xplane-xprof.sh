#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# XProf (offline) and our reader agree on device time, busy time and step times: on the public files, on generated ones,
# and on a fresh one that JAX makes on the CPU.
set -eu
BUILD=${BUILD:-build}
if ! why=$(scripts/setup xplane 2>&1); then
	echo "$why"
	echo "skip: XProf cannot be installed here (scripts/setup xplane)"
	exit 77
fi
python=build/xplane-venv/bin/python
export PYTHONDONTWRITEBYTECODE=1
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
python3 tests/gen/gen_xplane.py tpu --no-feeds --steps 4 -o "$tmp/tpu1.xplane.pb"
python3 tests/gen/gen_xplane.py tpu --no-feeds --devices 4 --layers 10 --seed 2 -o "$tmp/tpu4.xplane.pb"
python3 tests/gen/gen_xplane.py gpu --devices 2 --seed 3 -o "$tmp/gpu2.xplane.pb"
python3 tests/gen/gen_xplane.py gpu --command-buffers --derived --seed 4 -o "$tmp/buffers.xplane.pb"
"$python" tests/cli/xplane_jax.py "$tmp/jax" >"$tmp/jax.log" 2>&1 || { cat "$tmp/jax.log"; exit 1; }
fresh=$(find "$tmp/jax" -name '*.xplane.pb')
[ -n "$fresh" ]
public=$(ls ../shared/traces/xplane/*.xplane.pb 2>/dev/null) || echo "without the public files: ../shared is not here"
# shellcheck disable=SC2086
"$python" tests/cli/xprof_compare.py "$BUILD/warptap" $public "$tmp"/*.xplane.pb "$fresh" 2>"$tmp/err" ||
	{ grep -v '^[IW]0' "$tmp/err" | tail -n 5; exit 1; }
# JAX marked five steps.
"$BUILD/warptap" report --json "$fresh" | python3 -c '
import json, sys
assert [s["step"] for s in json.load(sys.stdin)["steps"]] == list(range(5))'
