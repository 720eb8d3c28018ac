#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Counters of Chrome JSON (phase C): least, mean, most, last and when it was most, of every series, in whatever order
# the keys and the rows come; the same after conversion and from a folder; more of them than are kept are said. And more
# processes in one file than a timeline tells apart: a report, not a refusal, and no launch is taken for another's.
set -eu
bin=$(realpath "${BUILD:-build}/warptap")
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
python3 - <<'PY'
import json
def launch(i, pid, corr): return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": pid, "tid": 1, "ts": 1000 + i, "dur": 1, "args": {"correlation": corr}}
def kernel(i): return {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1010 + 10 * i, "dur": 9, "args": {"device": 0, "stream": 7, "correlation": i + 1}}
def write(name, events, **top): json.dump({"schemaVersion": 1, **top, "traceEvents": events}, open(name, "w"))
def count(ts, args, **more): return {"ph": "C", "name": "load", "pid": 1, "tid": 0, "ts": ts, "args": args, **more}
events = [launch(0, 1, 1), kernel(0)]
events += [count(1000 + t, {"a": v, "b": str(-v * 10**9)}) for t, v in ((3, 0.25), (1, 2.5), (9, 1), (2, -4.125))]
events += [count(1004, {"a": None, "x": [1], "y": "text"}), count(1005, {}), count(1006, 3),
           {"args": {"v": "1e2"}, "name": "turned", "ts": 1, "pid": 1, "ph": "C"}, count(1e5, {"bytes": 7, "device": 3}, name="fields"),
           {"ph": "C", "name": "untimed", "pid": 1, "args": {"v": 1}}]
write("c.json", events, baseTimeNanoseconds=10**18)
write("many.json", [launch(0, 1, 1), kernel(0)] + [count(1000 + i, {"s%d" % i: i}) for i in range(5000)])
write("pids.json", [launch(i, i + 1, i % 7 + 1) for i in range(70000)] + [kernel(i) for i in range(7)])
PY
"$bin" report --json c.json >c.out
"$bin" convert -q c.json -o c.wt && "$bin" report --json c.wt >wt.out
mkdir two && cp c.json two/a.json && cp c.json two/b.json && "$bin" report --json two >two.out
"$bin" report c.json >c.text
"$bin" info c.json | grep -q 'counters   5, of 11 samples' || { "$bin" info c.json; exit 1; }
"$bin" report --json many.json >many.out
"$bin" report --json pids.json >pids.out
"$bin" convert -q pids.json -o pids.wt && "$bin" report --json pids.wt >pids.wt.out
python3 - <<'PY'
import json
def load(name): return json.load(open(name + ".out"))
rows = {(c["name"], c["series"]): c for c in load("c")["counters"]}
assert set(rows) == {("load", "a"), ("load", "b"), ("turned", "v"), ("fields", "bytes"), ("fields", "device")}, set(rows)
a, b = rows["load", "a"], rows["load", "b"]
assert (a["samples"], a["min"], a["max"], a["last"], a["pid"]) == (4, -4.125, 2.5, 1, 1), a
assert abs(a["mean"] - (0.25 + 2.5 + 1 - 4.125) / 4) < 1e-6 and a["max_at_ns"] == 10**18 + 1001000, a
assert (b["min"], b["max"], b["last"]) == (-2500000000, 4125000000, -1000000000), b
assert rows["turned", "v"]["last"] == 100 and rows["fields", "device"]["max"] == 3
assert any("1 samples of counters are left out" in n for n in load("c")["notes"]), load("c")["notes"]
assert load("wt")["counters"] == load("c")["counters"]
assert len(load("two")["counters"]) == 10
assert "load / a: least -4.125, mean -0.09375, most 2.5, at the end 1, 4 samples" in open("c.text").read()
many = load("many")
assert len(many["counters"]) == 4096 and any("904 samples" in n for n in many["notes"]), many["notes"]
for name in ("pids", "pids.wt"):
    r = load(name)
    d, = r["devices"]
    assert d["kernels"]["count"] == 7 and d["kernels"]["without_launch"] == 6, d["kernels"]
    assert any("more than 65534 processes" in n for n in r["notes"]), r["notes"]
PY
