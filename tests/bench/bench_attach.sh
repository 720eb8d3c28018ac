#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How long it takes from the command until a sleeping agent (level off) collects: 30 windows in a job that launches 2000
# kernels a second. From just before `warptap attach` starts to the State that says so in the trace, on one clock.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
export WARPTAP_CONTROL_DIR=$dir/control WARPTAP_BUDGET=0 WARPTAP_EXIT_MS=10000
WARPTAP_LEVEL=off "$build/warptap" run -q --sim h100 -o "$dir/t" -- "$build/tests/cli/steady" seconds=20 >"$dir/out" 2>&1 & job=$!
until "$build/warptap" attach --all status >/dev/null 2>&1; do sleep 0.1; done
for _ in $(seq 30); do
	date +%s%N >>"$dir/asked"
	"$build/warptap" attach --all window --for 100ms >/dev/null
	sleep 0.2
done
wait $job
python3 - tests/cli "$dir" <<'P'
import glob, sys
sys.path.insert(0, sys.argv[1])
import wt_wire
t = wt_wire.Trace(*glob.glob(sys.argv[2] + "/t/*.wt"))
on = [s["device_ns"] for s in t.states if s.get("level") == 3 and s.get("cupti") == 2 and s.get("reason") == 2]
asked = [int(l) for l in open(sys.argv[2] + "/asked")]
ms = sorted((o - a) / 1e6 for a, o in zip(asked, on))
assert len(on) == len(asked), (len(on), len(asked))
print("from the command to collecting: %d windows, median %.1f ms, longest %.1f ms" % (len(ms), ms[len(ms) // 2], ms[-1]))
P
