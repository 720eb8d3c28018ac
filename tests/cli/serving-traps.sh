#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# What serving engines do (serving_traps.c says what), recorded: each worker that used a GPU has a trace although no
# exit handler ran, the parent that only forked has none, each graph launch is 49 accounted kernels with their own names
# and grids, and collectives called through a handle of dlopen are counted. Everything the truth has is in the report.
# Of a worker killed as soon as it has done its work every call is counted, and what CUPTI still held is said to be
# missing.
set -eu
export WARPTAP_FLUSH_MS=100
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
for how in _exit term kill; do
	out=$dir/$how
	"$build/warptap" run -q --sim h100,devices=2 -o "$out" -- "$build/tests/cli/serving_traps" $how >"$dir/said" 2>&1 ||
		{ cat "$dir/said"; echo "FAIL: the job fails under the agent ($how)"; exit 1; }
	[ "$(cat "$dir/said")" = ok ] || { echo "FAIL: it printed:"; cat "$dir/said"; exit 1; }
	n=$(find "$out" -name '*.wt' | wc -l)
	[ "$n" = 2 ] || { echo "FAIL: $n traces, not one each of the two workers ($how)"; exit 1; }
	[ $how = kill ] || "$build/tests/e2e/join_check" "$out" >/dev/null || { echo "FAIL: joined wrong ($how)"; exit 1; }
	rc=0; "$build/warptap" report --json "$out" >"$dir/json" 2>"$dir/err" || rc=$?
	[ $rc = $([ $how = _exit ] && echo 0 || echo 3) ] || { cat "$dir/err"; echo "FAIL: report exits $rc ($how)"; exit 1; }
	if [ $how = kill ]; then
		python3 - "$dir/json" <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
c, n = r["completeness"], 2 * 30
# A launch of 49 kernels by a graph, NCCL's kernel, one that samples and a copy an iteration; a memset each worker.
assert c["counted"] == {"launch": 2 * n, "graph_launch": n, "copy": n, "memset": 2, "collective": n}, c
of = ("launch", "graph_launch", "copy", "memset")
assert c["missing"] == sum(c["counted"][k] - c["received"][k] for k in of) and c["in_flight"] == 0, c
assert abs(c["share"] - sum(c["received"][k] for k in of) / sum(c["counted"][k] for k in of)) < 1e-6, c
assert not c["missing"] or any("CUPTI had not handed over" in note for note in r["notes"]), r["notes"]
assert not any(i["damaged"] for i in r["inputs"]), r["inputs"]
P
		continue
	fi
	python3 - "$dir/json" "$out" <<'P'
import collections, glob, json, sys
r = json.load(open(sys.argv[1]))
N = 2 * 30
c = r["completeness"]["counted"]
assert r["completeness"]["share"] == 1.0, r["completeness"]
assert c["graph_launch"] == N and c["collective"] == N, c
assert c["launch"] >= 2 * N, c  # the sampling kernel, and NCCL's own
names = collections.Counter({k["name"]: k["count"] for k in r["kernels"]})
want = {"layer_kernel_%d" % i: N for i in range(49)} | {"sample_kernel": N}
got = {k: v for k, v in names.items() if k in want}
assert got == want, (got, names)

def union(spans):
    total, end = 0, 0
    for a, b in sorted(spans):
        total += max(0, b - max(a, end))
        end = max(end, b)
    return total

# Each device is one worker's: its operations of the truth, all of them in the workers' common window, are the report's
# to the nanosecond.
devices = {d["device"]: d for d in r["devices"]}
assert sorted(devices) == [0, 1], devices.keys()
for path in glob.glob(sys.argv[2] + "/truth.*.tsv"):
    lines = [l.rstrip("\n").split("\t") for l in open(path) if not l.startswith("#")]
    ops = [dict(zip(lines[0], l)) for l in lines[1:] if l[0] == "op"]
    if not ops:
        continue
    d = devices.pop(int(ops[0]["device"]))
    w0, w1 = d["window_start_ns"], d["window_start_ns"] + d["window_ns"]
    spans = [(max(w0, int(o["start_ns"])), min(w1, int(o["end_ns"]))) for o in ops]
    kernels = [s for s, o in zip(spans, ops) if o["kind"] == "kernel" and s[1] > s[0]]
    spans = [s for s in spans if s[1] > s[0]]
    assert sum(o["kind"] == "kernel" for o in ops) == N // 2 * (49 + 2), len(ops)
    assert d["kernels"]["count"] == len(kernels) >= N // 2 * 49, (d["kernels"], len(kernels))
    assert d["kernels"]["sum_ns"] == sum(b - a for a, b in kernels) and d["kernels"]["union_ns"] == union(kernels)
    # The workers share a communicator, so a window: what one did before the other began to record lies outside it.
    w0, w1 = d["window_start_ns"], d["window_start_ns"] + d["window_ns"]
    inside = union((max(a, w0), min(b, w1)) for a, b in spans if a < w1 and b > w0)
    assert d["window_ns"] - d["none_ns"] == inside > 0.9 * union(spans), (d, inside, union(spans))
    assert d["kernels"]["without_launch"] == 0
assert not devices, devices
P
done
echo ok
