#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# CUPTI's records against the truth: every operation once, equal in every field; API calls once; lost buffers counted.
set -eu
build=${BUILD:-build}
lib=$build/simgpu/lib
export LD_LIBRARY_PATH=$lib
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT

watch() { # NAME BUFFER_BYTES ROUNDS SCENARIO_LINES [SHIFT_NS]
	mkdir "$dir/$1"
	printf "$4" >"$dir/$1/scenario"
	SIMGPU_SCENARIO=$dir/$1/scenario SIMGPU_TRUTH=$dir/$1 SIMGPU_LOG=$dir/$1/log \
		"$build/tests/cli/sim_cupti" "$2" "$3" ${5:-} >"$dir/$1/records"
}
watch large 4194304 40 ''
watch small 1000 40 ''
watch lost 2048 60 '[cupti]\nlose_buffer = 2, 5\n'
watch long 2048 400 '[device]\nhold = 20ms\n[kernel]\nshort = 3us, 20%%\nlong = 30us\n'

SIMGPU_DEVICES=2 watch peers 4096 30 ''
watch shifted 4096 30 '' 1000000000000

# Two processes at once: each sees its own work and no other.
watch twin1 4096 30 '' & first=$!
watch twin2 4096 30 ''
wait $first

python3 - "$dir" <<'P'
import collections, glob, re, sys

def load(d):
    (path,) = glob.glob(d + "/truth.*.tsv")
    rows = [l.rstrip("\n").split("\t") for l in open(path) if not l.startswith("#")]
    truth = [dict(zip(rows[0], r)) for r in rows[1:]]
    recs = [l.rstrip("\n").split("\t") for l in open(d + "/records")]
    return truth, recs

def key(r):
    k = [r["kind"], r["device"], r["context"], r["stream"], r["correlation"], r["graph"] or "0"]
    k += [r["start_ns"], r["end_ns"]]
    if r["kind"] == "kernel":
        return tuple(k + [r["grid"], r["block"], r["smem"], r["name"]])
    return tuple(k + [r["bytes"]])

def unshift(recs, truth):
    # One offset for all records of the run, near the one that was asked for.
    starts = {r["correlation"]: int(r["start_ns"]) for r in truth if r["row"] == "op" and r["graph"] in ("", "0")}
    offsets = {int(r[6]) - starts[r[4]] for r in recs if r[0] in ("kernel", "memcpy", "memset") and r[5] == "0"}
    assert len(offsets) == 1, offsets
    (offset,) = offsets
    assert abs(offset - 10**12) < 10**6, offset
    for r in recs:
        for i in {"kernel": (6, 7), "memcpy": (6, 7), "memset": (6, 7), "api": (4, 5)}.get(r[0], ()):
            r[i] = str(int(r[i]) - offset)
    return offset

def check(d, lost=False):
    truth, recs = load(d)
    offset = unshift(recs, truth) if d.endswith("shifted") else 0
    tail = {r[0]: r[1:] for r in recs[-3:]}
    ops = [r for r in truth if r["row"] == "op"]
    notes = collections.defaultdict(list)
    for r in truth:
        if r["row"] == "note":
            notes[r["kind"]].append(r["name"])
    assert tail["stamps"] == notes["cupti_timestamp"], (tail, notes["cupti_timestamp"])
    last = int(tail["stamps"][1]) - offset
    # What was submitted after the kinds went off must not appear; the second stamp stands before that.
    due = collections.Counter(key(r) for r in ops if int(r["submit_ns"]) <= last)
    got = collections.Counter(tuple(r[:13]) if r[0] == "kernel" else tuple(r[:9]) for r in recs
                              if r[0] in ("kernel", "memcpy", "memset"))
    assert len(ops) > sum(due.values()) > 100, (len(ops), sum(due.values()))
    extra, missing = got - due, due - got
    assert not extra, list(extra)[:3]
    apis = [r for r in recs if r[0] == "api"]
    names = collections.Counter(r[2] for r in apis)
    if not lost:
        assert not missing, list(missing)[:3]
        assert tail["dropped"] == ["0"] and tail["buffers"][2] == "0", tail
        # One record per outermost call: no driver call hides inside a runtime call.
        assert [r[2] for r in apis if r[1] == "driver" and "Memset" in r[2]] == ["cuMemsetD8Async"], names
        assert not any(r[1] == "driver" and "Launch" in r[2] for r in apis), names
        corr = [r[3] for r in apis]
        assert len(set(corr)) == len(corr)
        # Every operation belongs to a call, and no call of work is without one.
        work = {r[3] for r in apis if re.search("Launch|Memcpy|Memset", r[2])}
        used = {k[4] for k in due}
        assert used <= set(corr), used - set(corr)
        assert len(work - used) == 2, len(work - used)  # the two captured calls
        ext = [r for r in recs if r[0] == "external"]
        assert len(ext) == 1 and ext[0][1] == "4711", ext
        sync = [r for r in apis if r[3] == ext[0][2]]
        assert sync and sync[0][2].startswith("cudaDeviceSynchronize"), sync
        assert "cudaGetLastError_v3020" not in names, names
        assert not [n for n in notes["lost_buffer"]]
    else:
        assert len(notes["lost_buffer"]) == 2, notes["lost_buffer"]
        kinds = collections.Counter()
        for n in notes["lost_buffer"]:
            for k, v in re.findall(r"(\w+)=(\d+)", n):
                kinds[k] += int(v)
        gone = collections.Counter(k[0] for k in missing.elements())
        said = kinds["kernel"], kinds["copy"], kinds["memset"]
        assert (gone["kernel"], gone["memcpy"], gone["memset"]) == said, (gone, kinds)
        total = kinds["kernel"] + kinds["copy"] + kinds["memset"] + kinds["api"]
        assert 0 < total <= int(tail["dropped"][0]) <= total + 1, (tail, kinds)  # one external id may be among them
        assert tail["buffers"][2] == "2", tail
    return recs

base = sys.argv[1]
for name in ("large", "small", "long", "twin1", "twin2", "peers", "shifted"):
    check(base + "/" + name)
check(base + "/lost", lost=True)
peer = [r[10:] + r[8:9] for r in check(base + "/peers") if "peer" in r]
assert peer == [["peer", "0", "1", "1000"], ["peer", "1", "0", "500"]], peer
P
# Full buffers came back before the flush: more buffers than one, and the stub of GRAPH_TRACE was logged.
awk '$1 == "buffers" && $2 < 10 { exit 1 }' "$dir/small/records"
awk '$1 == "buffers" && $2 != 1 { exit 1 }' "$dir/large/records"
grep -q 'cupti activity kind' "$dir/large/log"

# Exports: the names of the real library, where it is at hand.
cuda=${CUDA_HOME:-/usr/local/cuda}
real=$cuda/lib64/libcupti.so.13
if [ -e "$real" ] && grep -q 'CUDART_VERSION *13000' "$cuda/include/cuda_runtime_api.h"; then
	names() { nm -D --defined-only "$1" | awk '{print $3}' | sort; }
	diff <(names "$real") <(names "$lib/libcupti.so.13")
fi
! readelf -dW "$lib/libcupti.so.13" | grep -E 'NEEDED.*libcud'
echo ok
