#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# A JAX job is killed in the midst of its steps, whose graph launches are all alike: what CUPTI had not handed over is
# missing at the end and nowhere else, each record is joined with its own launch, and the steps are found.
. tests/jax/jax_env.sh
for signal in KILL TERM; do
	"$build/warptap" run --sim h100 -o "$tmp/$signal" -- sh -c 'echo $$ >"$1" && shift && exec "$@"' sh "$tmp/pid" \
		"$python" "$jobs/test_jax_kill.py" "$tmp/ready" >"$tmp/out" 2>&1 & run=$!
	while [ ! -e "$tmp/ready" ] && kill -0 $run 2>/dev/null; do sleep 0.1; done
	kill -$signal "$(cat "$tmp/pid")" || { cat "$tmp/out"; fail "$signal: it ended before it was killed"; }
	rc=0; wait $run || rc=$?
	[ $rc = $((128 + $(kill -l $signal))) ] || fail "$signal: exit $rc"
	rm "$tmp/ready"
	rc=0; "$build/warptap" report -q --json "$tmp/$signal" >"$tmp/$signal.json" || rc=$?
	[ $rc = 3 ] || fail "$signal: report exits $rc"
	"$build/tests/e2e/join_check" "$tmp/$signal" || fail "$signal: host and device records are joined wrong"
	python3 - "$tmp/$signal.json" <<'P' || fail "$signal: losses or steps"
import json, sys
report = json.load(open(sys.argv[1]))
complete = report["completeness"]
whole = [s for s in report["steps"] if not s["partial"]]
print(len(whole), "whole steps,", complete["counted"]["graph_launch"], "launched,", complete["in_flight"], "in flight")
assert not report["devices"][0]["kernels"]["without_launch"]
assert all(h["start_ns"] >= whole[-1]["end_ns"] for h in complete["holes"]), complete
assert len(whole) >= 98 and {s["source"] for s in whole} == {"graph"}
assert len({s["operations"] for s in whole}) == 1
P
done
