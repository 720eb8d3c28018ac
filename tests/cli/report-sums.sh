#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# The text's lists close: kernels by name, with what is not listed, make up the kernel time; a recording that is whole
# steps and nothing else has no rest, and phases without time have no line; steps come in the order of the ledger.
set -eu
bin=$(realpath "${BUILD:-build}/warptap")
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
python3 - "$tmp/t.json" <<'P'
import json, sys
events = []
for device in 1, 0:
    for step in range(4):
        t = step * 1000
        if device:
            events.append(dict(ph="X", cat="user_annotation", name="ProfilerStep#%d" % step, pid=1, tid=1, ts=t, dur=1000))
        for i in range(20):
            c = len(events) + 1
            at = t + 50 * i
            events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=at + device, dur=1,
                               args=dict(correlation=c)))
            events.append(dict(ph="X", cat="kernel", name="reduce_kernel_%d" % i, pid=device, tid=7, ts=at + 3, dur=20 + i,
                               args=dict(device=device, stream=7, correlation=c)))
json.dump(dict(traceEvents=events), open(sys.argv[1], "w"))
P
"$bin" report "$tmp/t.json" >"$tmp/text"
"$bin" report --json "$tmp/t.json" >"$tmp/json"
python3 - "$tmp/text" "$tmp/json" <<'P'
import json, re, sys
text, r = open(sys.argv[1]).read(), json.load(open(sys.argv[2]))
part = lambda title: re.search(r"^%s.*\n((?:  .*\n)+)" % title, text, re.M)[1]
rows = re.findall(r"^ +([\d.]+) % +([\d,]+) ns +(.*)", part("Kernels by time"), re.M)
assert len(rows) == 16 and rows[-1][2] == "5 more names", rows
assert sum(int(n.replace(",", "")) for _, n, _ in rows) == sum(k["sum_ns"] for k in r["kernels"]) == 8 * sum(range(20, 40)) * 1000
assert abs(sum(float(p) for p, _, _ in rows) - 100) <= 0.05 * len(rows), rows
assert [d["device"] for d in r["devices"]] == [int(x) for x in re.findall(r"^  device (\d):", part("Steps"), re.M)], text
P
python3 - "$tmp/w.json" <<'P'
import json, sys
events = []
for step in range(4):
    events.append(dict(ph="X", cat="user_annotation", name="ProfilerStep#%d" % step, pid=1, tid=1, ts=step * 1000, dur=1000))
    events.append(dict(ph="X", cat="user_annotation", name="forward", pid=1, tid=1, ts=step * 1000 + 1, dur=998))
    events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=step * 1000 + 2, dur=1,
                       args=dict(correlation=step + 1)))
    events.append(dict(ph="X", cat="kernel", name="reduce_kernel", pid=0, tid=7, ts=step * 1000 + 4, dur=1000 - 4 * (step == 3),
                       args=dict(device=0, stream=7, correlation=step + 1)))
json.dump(dict(traceEvents=events), open(sys.argv[1], "w"))
P
"$bin" report "$tmp/w.json" >"$tmp/whole"
grep -q '^  all of that is 4 whole steps, see below$' "$tmp/whole" || { cat "$tmp/whole"; exit 1; }
if grep -q '^  not known  *0.0 %' "$tmp/whole"; then cat "$tmp/whole"; exit 1; fi
grep -q '^  forward  *100.0 %' "$tmp/whole" || { cat "$tmp/whole"; exit 1; }
