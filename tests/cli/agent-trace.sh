#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# An unmodified program on the simulated driver, recorded: kernels, copies and memsets of the trace equal the truth in
# name, start, end, correlation, stream; every call is there once, in order, joined by name and shape; counts are exact.
# Read by zstd and a wire reader of the test's own. Also killed, ended by _exit, forked, without CUPTI, at each level.
set -eu
build=$(realpath "${BUILD:-build}")
here=$(realpath "$(dirname "$0")")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT

record() { # NAME EXPECTED_RC [VAR=VALUE...] -- ARGS...
	local name=$1 want=$2 rc=0 vars=(); shift 2
	while [ "$1" != -- ]; do vars+=("$1"); shift; done; shift
	mkdir "$dir/$name"
	env LD_LIBRARY_PATH="$build/simgpu/lib" SIMGPU_TRUTH="$dir/$name" WARPTAP_DIR="$dir/$name" WARPTAP_EXIT_MS=10000 \
		LD_PRELOAD="$build/libwarptap.so" "${vars[@]}" "$build/tests/cli/agent_trace" "$@" \
		>"$dir/$name/out" 2>&1 || rc=$?
	if [ "$rc" != "$want" ]; then echo "$name: exit $rc, not $want"; cat "$dir/$name/out"; exit 1; fi
	if [ -s "$dir/$name/out" ]; then echo "$name printed:"; cat "$dir/$name/out"; exit 1; fi
}
record plain 0 NCCL_ALGO=Ring RANK=3 WORLD_SIZE=8 VLLM_USE_V1=1 VLLM_API_KEY=hidden NCCL_TOKEN_X=hidden HOME_SECRET=hidden -- 4000
record threads 0 -- 3000 4
record exit 7 -- 1000 1 _exit
record fork 0 -- 500 1 fork
record killed 137 WARPTAP_FLUSH_MS=100 -- 2000 1 kill 2>/dev/null
# A driver and no CUPTI made for it: none is found, or NVIDIA's own, which refuses.
mkdir "$dir/alone"; ln -s "$build/simgpu/lib/libcuda.so.1" "$dir/alone/"
record nolib 0 LD_LIBRARY_PATH="$dir/alone" -- 500
record nocupti 0 WARPTAP_CUPTI=0 -- 500
record api 0 WARPTAP_LEVEL=api -- 500
record count 0 WARPTAP_LEVEL=count -- 500
record off 0 WARPTAP_LEVEL=off -- 500
printf '[cupti]\nlose_buffer = 1\n' >"$dir/lose"
record lost 0 SIMGPU_SCENARIO="$dir/lose" -- 6000

PYTHONDONTWRITEBYTECODE=1 python3 - "$dir" "$here" <<'P'
import collections, glob, os, sys
sys.path.insert(0, sys.argv[2])
import wt_wire

def load(name):
    d = os.path.join(sys.argv[1], name)
    (wt,) = glob.glob(d + "/*.wt")
    truth = []
    for path in glob.glob(d + "/truth.*.tsv"):
        rows = [l.rstrip("\n").split("\t") for l in open(path) if not l.startswith("#")]
        truth += [dict(zip(rows[0], r)) for r in rows[1:]]
    assert os.stat(wt).st_mode & 0o777 == 0o600
    return wt_wire.Trace(wt), [r for r in truth if r["row"] == "op"], [r for r in truth if r["row"] == "note"]

def ends(t, how):
    last = t.packets[-1]
    assert last.get("body") == "end" and last["end"]["how"] == how and last["end"]["packets"] == len(t.packets), last
    assert [p["seq"] for p in t.packets] == list(range(1, len(t.packets) + 1))
    assert t.packets[0]["body"] == "header"

def shape(text):
    return tuple(int(x) for x in text.split(","))

def device_rows(truth):
    k = collections.Counter((r["name"], int(r["start_ns"]), int(r["end_ns"]), int(r["correlation"]), int(r["stream"]),
                             int(r["graph"]), shape(r["grid"]) + shape(r["block"]))
                            for r in truth if r["kind"] == "kernel")
    c = collections.Counter((r["kind"] == "memset", int(r["start_ns"]), int(r["end_ns"]), int(r["correlation"]),
                             int(r["stream"]), int(r["bytes"])) for r in truth if r["kind"] != "kernel")
    return k, c

def trace_rows(t):
    k = collections.Counter((r["name"], r["start"], r["end"], r["correlation"], r["stream"], r["graph"], tuple(r["shape"][:6]))
                            for r in t.kernels)
    c = collections.Counter((r["kind"] == 100, r["start"], r["end"], r["correlation"], r["stream"], r["bytes"]) for r in t.copies)
    return k, c

def in_order(t):
    """Rows of each ring once and in order; calls and API records of each thread agree in number and kind."""
    seen = {}
    for c in t.calls:
        assert c["seq"] == seen.get(c["ring"], 0), (c, seen)
        seen[c["ring"]] = c["seq"] + 1

def joined(t):
    """By order alone: the calls that make work, and the API records, of each thread; then names by correlation."""
    word = {}
    for p in t.packets:
        if p.get("body") == "threads":
            m = p["threads"]
            for i, pt in zip(m["id"], m["pthread"]):
                word[i] = pt & 0xffffffff
    ring_thread = {p["calls"]["ring"]: p["calls"]["thread"] for p in t.packets if p.get("body") == "calls"}
    work = {1, 2, 3, 4}
    kernels = collections.defaultdict(list)
    for k in t.kernels:
        kernels[k["correlation"]].append(k)
    api = collections.defaultdict(list)
    for w, corr, cbid, runtime in t.api:
        api[w].append(corr)
    n = 0
    for ring, thread in ring_thread.items():
        calls = [c for c in t.calls if c["ring"] == ring and c["kind"] in work]
        corrs = api.get(word[thread], [])
        assert len(calls) == len(corrs), (ring, len(calls), len(corrs))
        assert corrs == sorted(corrs)
        for c, corr in zip(calls, corrs):
            if c["kind"] == 1 and not c["flags"] & 1:
                (k,) = kernels[corr]
                assert k["name"] == c["function"] and tuple(k["shape"]) == tuple(c["shape"]), (k, c)
                n += 1
    return n

for name, n in (("plain", 4000), ("threads", 12000), ("exit", 1000), ("fork", 500)):
    t, truth, notes = load(name)
    ends(t, 1)
    assert device_rows(truth) == trace_rows(t), name
    in_order(t)
    assert joined(t) == n, name
    launch = sum(1 for c in t.calls if c["kind"] == 1 and not c["flags"] & 1)
    # (kind, state): launch done, launch captured, graph launches, copies, memsets
    threads = n // 3000 if name == "threads" else 1
    assert t.counts[1, 0] == n == launch, t.counts
    assert t.counts[1, 1] == 3 * threads, t.counts
    assert t.counts.get((2, 0), 0) == n // 200, t.counts
    assert t.counts[3, 0] == n // threads // 16 * threads and t.counts[4, 0] == n // 50, t.counts
    assert t.counts[20, 5] == len(t.kernels) and t.counts[21, 5] == len(t.api), t.counts
    stamps = [int(r["name"]) for r in notes if r["kind"] == "cupti_timestamp"]
    first, last = t.states[0], t.states[-1]
    assert first["level"] == 3 and first["cupti"] == 2 and first["device_ns"] in stamps, first
    assert last["level"] == 3 and last["reason"] == 1 and last["device_ns"] in stamps, last
    assert first["device_ns"] < min(k["start"] for k in t.kernels)
    assert not glob.glob(os.path.join(sys.argv[1], name, "*.ring"))
    graphs = [p["graphs"] for p in t.packets if p.get("body") == "graphs"]
    if n >= 1000:
        assert graphs and graphs[0]["kind"] == [1, 1, 1, 3] and graphs[0].get("complete"), graphs

# Killed 1.5 s after its last call, with a block each 100 ms: everything is in the file, without an end.
t, truth, notes = load("killed")
assert t.packets[-1].get("body") != "end"
assert device_rows(truth) == trace_rows(t)
in_order(t)

# The environment: the closed list, no secret, ever.
t, truth, notes = load("plain")
head = [p["header"] for p in t.packets if p.get("body") == "header"][-1]
env = head["environment"]
assert env["NCCL_ALGO"] == "Ring" and env["RANK"] == "3" and env["VLLM_USE_V1"] == "1" and env["driver"] == "13000", env
assert head["rank"] == 3 and head["world"] == 8 and head["program"] == "agent_trace" and len(head["boot_id"]) == 16
assert not [k for k in env if "KEY" in k or "TOKEN" in k or "SECRET" in k or k in ("HOME", "PATH")], env
assert head["settings"]["WARPTAP_EXIT_MS"] == "10000" and head["devices"][0]["sm_count"] > 0, head
(wt,) = glob.glob(os.path.join(sys.argv[1], "plain", "*.wt"))
raw = wt_wire.subprocess.run(["zstd", "-dcq", wt], stdout=wt_wire.subprocess.PIPE).stdout
assert b"hidden" not in raw

t, truth, notes = load("nolib")
ends(t, 1)
assert not t.kernels and t.counts[1, 0] == 500 and len(t.calls) > 500
assert t.states[0]["level"] == 2 and t.states[0].get("cupti", 0) in (0, 5), t.states

# Without CUPTI: calls and counts as ever, and it says so.
t, truth, notes = load("nocupti")
ends(t, 1)
assert not t.kernels and not t.api and t.counts[1, 0] == 500 and len(t.calls) > 500
assert t.states[0]["level"] == 2 and t.states[0].get("cupti", 0) == 0, t.states

t, truth, notes = load("api")
ends(t, 1)
assert not t.kernels and len(t.calls) > 500 and t.counts[1, 0] == 500 and t.states[0]["level"] == 2
t, truth, notes = load("count")
ends(t, 1)
assert not t.calls and t.counts[1, 9] == 500 and t.states[0]["level"] == 1
t, truth, notes = load("off")
ends(t, 1)
assert not t.calls and not t.counts and t.states[0].get("level", 0) == 0

# A buffer CUPTI lost: said as a loss with its number; what did arrive is right.
t, truth, notes = load("lost")
ends(t, 1)
(k, c), (tk, tc) = device_rows(truth), trace_rows(t)
assert not tk - k and not tc - c and sum((k - tk).values()) > 0
said = [p["loss"] for p in t.packets if p.get("body") == "loss"]
missing = sum((k - tk).values()) + sum((c - tc).values())
assert len(said) == 1 and said[0]["where"] == 2 and said[0]["n"] >= missing, (said, missing)
assert t.counts[0, 7] == said[0]["n"], t.counts
P
echo ok
