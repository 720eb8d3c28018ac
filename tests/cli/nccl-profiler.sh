#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# The agent as NCCL's profiler plugin, with a NCCL of every version of the interface: each collective has its plan, the
# channels' times are those of its kernels, proxies' bytes are what was sent; off by default; a plugin of the job's own
# stays; and the numbers of the job are the same. What simgpu's NCCL plans stands in simgpu/nccl/README.md.
set -eu
B=$(realpath "${BUILD:-build}"); here=$(realpath "$(dirname "$0")")
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
unset NCCL_PROFILER_PLUGIN WARPTAP_NCCL_PROFILER || :
run() { # DIR [VAR=value...]: two ranks of the example
	local d=$T/$1; shift
	env "$@" "$B/warptap" run -q -o "$d" --sim h100,devices=2 -- "$B/examples/train2/train2" --ranks 2 --steps 4 >"$d.out"
	"$B/warptap" report --json "$d" >"$d.json"
}
for v in 6 5 4 3 2 1; do
	run "v$v" WARPTAP_NCCL_PROFILER=2 SIMGPU_NCCL_NET=1 SIMGPU_NCCL_PROFILER=$v
done
run plans WARPTAP_NCCL_PROFILER=1 SIMGPU_NCCL_NET=1
run off
run other WARPTAP_NCCL_PROFILER=2 NCCL_PROFILER_PLUGIN=none
run low WARPTAP_NCCL_PROFILER=2 WARPTAP_LEVEL=count
"$B/warptap" report "$T/v6" | grep -q "NCCL's plan: 4 x tree ll on 1 channel, 40 x ring simple on 24 channels" || { echo "FAIL: text"; exit 1; }

# Groups, sends and receives, several communicators of one process, captured calls; the program checks its own numbers.
for what in "procs 2" "devices 4"; do
	for level in 0 2; do
		mkdir "$T/${what% *}$level"
		got=$(env SIMGPU_DEVICES=4 LD_LIBRARY_PATH="$B/simgpu/lib" WARPTAP_DIR="$T/${what% *}$level" WARPTAP_EXIT_MS=10000 \
			WARPTAP_NCCL_PROFILER=$level NCCL_PROFILER_PLUGIN=STATIC_PLUGIN SIMGPU_NCCL_NET=1 \
			LD_PRELOAD="$B/libwarptap.so" "$B/tests/cli/sim_nccl" $what)
		[ "$got" = ok ] || { echo "FAIL: sim_nccl $what said: $got"; exit 1; }
	done
	"$B/warptap" report --json "$T/${what% *}2" >"$T/${what% *}.json"
done
PYTHONDONTWRITEBYTECODE=1 python3 - "$T" "$here" <<'P'
import glob, json, re, sys
T = sys.argv[1]
sys.path.insert(0, sys.argv[2])
import wt_wire

def load(name):
    r = json.load(open(f"{T}/{name}.json"))
    assert r["completeness"]["share"] == 1.0 or name == "low", (name, r["completeness"])
    (c,) = [c for c in r["collectives"] if c["name"] == "AllReduce"] or [None]
    return c

def events(name):
    out = []
    for path in glob.glob(f"{T}/{name}/*.wt"):
        for p in wt_wire.packets(path):
            if p.get("body") == "nccl":
                m = p["nccl"]
                n = len(m["what"])
                out += [{k: v[i] for k, v in m.items() if isinstance(v, list)} for i in range(n)]
    return out

SMALL = {"algorithm": "tree", "protocol": "ll", "channels_min": 1, "channels_max": 1, "calls": 4}
LARGE = {"algorithm": "ring", "protocol": "simple", "channels_min": 24, "channels_max": 24, "calls": 40}
for v in range(1, 7):
    c = load(f"v{v}")
    assert c["count"] == 44 and c["plans"] == [SMALL, LARGE], (v, c)
    p = c["proxy"]
    assert p["operations"] == 2 * 44, (v, p)
    # A send and a receive of each rank's contribution, where the interface says bytes at all.
    assert p["bytes"] == (2 * c["bytes"] if v >= 4 else 0), (v, p, c["bytes"])
    waits = p["gpu_wait_ns"] + p["peer_wait_ns"] + p["network_wait_ns"]
    assert 0 < p["network_wait_ns"] <= waits <= p["ns"], (v, p)
    # The kernels' channels begin and end with the kernel, by the device's own clock.
    assert c["channel_ns"] == (c["sum_ns"] if v >= 4 else None), (v, c)
    kinds = {e["what"] for e in events(f"v{v}")}
    assert kinds == ({1, 2, 3} if v >= 3 else {1, 2}), (v, kinds)
c = load("plans")
assert c["plans"] == [SMALL, LARGE] and c["proxy"] is None and c["channel_ns"] is None, c
assert {e["what"] for e in events("plans")} == {1}
for name in ("off", "other"):
    c = load(name)
    assert c["plans"] is None and c["proxy"] is None and not events(name), (name, c)
assert not events("low")
outs = {re.sub(r"[0-9.]+ ms", "", "".join(sorted(open(f"{T}/{n}.out")))) for n in ("off", "v6", "v1", "low")}
assert len(outs) == 1 and "checked at start and end" in "".join(outs), outs

# Every call that NCCL makes a kernel for at once has a plan of its own.
for name in ("procs", "devices"):
    assert not events(name + "0")
    e = events(name + "2")
    plans = [x for x in e if x["what"] == 1]
    assert len({(x["plan"]) for x in plans}) >= len(plans) // 2 and len(plans) > 40
    known = {x["plan"] for x in plans}
    assert all(x["plan"] in known for x in e if x["what"] in (2, 3)), "a child of no plan"
    assert not [x for x in e if x["what"] == 4], "events without room"
    r = json.load(open(f"{T}/{name}.json"))
    for c in r["collectives"]:
        if c["name"] in ("AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce") and c["count"]:
            n = sum(p["calls"] for p in c["plans"]) if c["plans"] else 0
            # One all-reduce of each rank is captured: NCCL plans it for a graph, not for a launch.
            ranks = int(name == "procs") * 2 or 4
            assert n == c["count"] - (ranks if c["name"] == "AllReduce" else 0), (name, c["name"], c["count"], n)
P
echo ok
