#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Call stacks of Kineto files, as an argument of operators and as Python's own frames: a kernel's call site is the
# innermost frame around its launch on the launching thread that is not PyTorch's; the same after conversion and from a
# folder; nothing is said of them where the file has none. By hand, and of generated files.
set -eu
bin=$(realpath "${BUILD:-build}/warptap")
gen=$(realpath tests/gen/gen_kineto.py)
traces=$(realpath -m ../shared/traces/kineto)
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
python3 "$gen" --seed 3 --layers 40 -o none.json
for how in arg frames; do
	python3 "$gen" --seed 3 --layers 40 --stacks $how -o $how.json
	"$bin" convert -q $how.json -o $how.wt
	mkdir $how && cp $how.json $how/a.json && cp $how.json $how/b.json
done
python3 - <<'PY'
import json
def launch(i, tid, at): return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": tid, "ts": at, "dur": 1, "args": {"correlation": i}}
def kernel(i, dur): return {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1000 * i, "dur": dur, "args": {"device": 0, "stream": 7, "correlation": i}}
def frame(name, tid, at, dur): return {"ph": "X", "cat": "python_function", "name": name, "pid": 1, "tid": tid, "ts": at, "dur": dur, "args": {}}
# Not a launch's own: the frame that has ended, those of the other thread, and those that begin behind it.
events = [launch(1, 1, 100), launch(2, 1, 120), launch(3, 2, 110), launch(4, 1, 900), kernel(1, 10), kernel(2, 20), kernel(3, 31), kernel(4, 39),
          frame("inner.py(2): g", 1, 119, 2), frame("outer.py(1): f", 1, 50, 100), frame("ended.py(3): h", 1, 90, 10),
          frame("later.py(4): i", 1, 101, 5), frame("other.py(5): j", 2, 0, 111), frame("late.py(6): k", 2, 111, 500)]
json.dump({"traceEvents": events}, open("hand.json", "w"))
json.dump({"traceEvents": events[::-1], "baseTimeNanoseconds": 10**18}, open("turned.json", "w"))
PY
for i in none.json hand.json turned.json {arg,frames}{.json,.wt,}; do
	"$bin" report --json "$i" >"$i.out"
	"$bin" report "$i" >"$i.text"
done
python3 - <<'PY'
import json
def sites(name): return {k["name"]: (k["call_site"], k["call_site_share"]) for k in json.load(open(name + ".out"))["kernels"]}
assert set(sites("none.json").values()) == {(None, None)}, sites("none.json")
assert "call site" not in open("none.json.text").read()
for name in "hand.json", "turned.json":
    assert sites(name) == {"k": ("other.py(5): j", 0.31)}, (name, sites(name))
    assert "call site other.py(5): j, 31 % of it\n" in open(name + ".text").read()
for how in "arg", "frames":
    got = sites(how + ".json")
    for kernel in "flash_fwd_kernel", "ampere_sgemm_128x64_tn":
        assert got[kernel] == ("model.py(12): layer", 1), (how, got)
    assert "call site model.py(12): layer\n" in open(how + ".json.text").read()
    assert sites(how + ".wt") == got and sites(how) == got, (how, got)
PY
# Public files that are here: the same by frames alone, each launch looked up in all of them.
for id in k036 k053; do
	[ -e "$traces/$id.json.gz" ] || { echo "$id is not here"; continue; }
	"$bin" report --json "$traces/$id.json.gz" >public.out
	python3 - "$traces/$id.json.gz" <<'PY'
import collections, gzip, json, re, sys
from decimal import Decimal
data = json.loads(gzip.open(sys.argv[1]).read().decode(errors="replace"), strict=False, parse_float=Decimal)
events = [e for e in (data["traceEvents"] if isinstance(data, dict) else data) if e.get("ph") == "X"]
def site(name):
    name = re.sub(r"^/.*(-packages/|/lib/python3[^/]*/)", "", name)
    bad = r"<|torch/|triton/|contextlib\.py|functools\.py|threading\.py|runpy\.py|importlib/|multiprocessing/|.*/torchinductor_"
    return name if "): " in name and not re.match(bad, name) else None
def ns(x): return round(Decimal(str(x)) * 1000)
frames, calls = collections.defaultdict(list), {}
for e in events:
    names = [e["name"]] if e.get("cat") == "python_function" else (e.get("args") or {}).get("Call stack", "").split(";")
    found = next((s for s in map(site, names) if s), None)
    if found:
        frames[str(e["tid"])].append((ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), found))
    if re.match("cuda_|hip_|Runtime", e.get("cat", "")) and re.search("Launch|Memcpy|Memset", e["name"]) and e["cat"] != "cuda_sync":
        calls.setdefault(e["args"].get("correlation", e["args"].get("External id")), e)
sums, total = collections.defaultdict(collections.Counter), collections.Counter()
for e in events:
    if e.get("cat") not in ("kernel", "Kernel"):
        continue
    total[e["name"]] += ns(e["dur"])
    c = calls.get(e["args"].get("correlation", e["args"].get("External id")))
    around = [f for f in frames[str(c["tid"])] if f[0] <= ns(c["ts"]) < f[1]] if c else []
    if around:
        sums[e["name"]][max(around, key=lambda f: (f[0], -f[1]))[2]] += ns(e["dur"])
rows = json.load(open("public.out"))["kernels"]
assert len(rows) == len(total), (len(rows), len(total))
for k in rows:
    mine = sums[k["name"]]
    assert (k["call_site"] is None) == (not mine), (k, mine)
    if mine and total[k["name"]]:
        assert mine[k["call_site"]] == max(mine.values()), (k, mine)
        assert abs(k["call_site_share"] - mine[k["call_site"]] / total[k["name"]]) < 1e-6, (k, mine, total[k["name"]])
print(sys.argv[1].rsplit("/", 1)[1], len(rows), "names of kernels,", sum(k["call_site"] is not None for k in rows), "with a call site")
PY
done
