#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# NCCL calls on the simulated stack: keys and numbers agree on all ranks, driver calls inside know their parent, a
# communicator made inside a group or split is known, and counts are exact. Read by a reader of the test's own.
set -eu
B=$(realpath "${BUILD:-build}"); here=$(realpath "$(dirname "$0")")
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
for what in "procs 2" "devices 4"; do
	mkdir "$T/${what% *}"
	got=$(env SIMGPU_DEVICES=4 LD_LIBRARY_PATH="$B/simgpu/lib" WARPTAP_DIR="$T/${what% *}" WARPTAP_EXIT_MS=10000 \
		LD_PRELOAD="$B/libwarptap.so" "$B/tests/cli/sim_nccl" $what)
	[ "$got" = ok ] || { echo "FAIL: sim_nccl $what said: $got"; exit 1; }
done
PYTHONDONTWRITEBYTECODE=1 python3 - "$T" "$here" <<'P'
import collections, glob, sys
sys.path.insert(0, sys.argv[2])
import wt_wire

def load(path):
    t = wt_wire.Trace(path)
    comms, numbers = {}, collections.defaultdict(list)
    for p in t.packets:
        m = p.get(p.get("body"))
        if p.get("body") == "comms":
            for i, c in enumerate(m["id"]):
                comms[c] = (bytes(m["key"][i]), m.get("rank", [0] * 99)[i], m["nranks"][i])
        if p.get("body") == "collectives":
            col = t.rows(m, len(m["op"]))
            numbers[m["comm"]] += [s for s, op in zip(col("seq"), m["op"]) if op not in (6, 7)]
            assert all(s == 0 for s, op in zip(col("seq"), m["op"]) if op in (6, 7)), "point-to-point takes no number"
    for c, n in numbers.items():
        assert sorted(n) == list(range(1, len(n) + 1)), (c, n)  # threads may take turns on one communicator
    return t, comms, numbers

def check_parents(t):
    """Rows inside an NCCL call lie before its row, and are flagged; they say how far ahead it is."""
    inside = 0
    rows = {(c["ring"], c["seq"]): c for c in t.calls}
    for p in t.packets:
        if p.get("body") != "calls":
            continue
        m = p["calls"]
        n = len(m["op"])
        for i in range(n):
            flags = m.get("flags", [0] * n)[i]
            back = m.get("parent_back", [0] * n)[i]
            seq = m.get("first_seq", 0) + i
            assert bool(flags & 16) == bool(flags & 2), flags
            if not flags & 16:
                continue
            if not back:  # it had gone to the file before its parent returned: the parent is the next NCCL row
                back = 2
                while not rows[m["ring"], seq + back - 1]["op"].startswith("nccl"):
                    back += 1
            parent = rows[m["ring"], seq + back - 1]
            assert parent["op"].startswith("nccl") and not parent["flags"] & 16, parent
            assert not any(rows[m["ring"], seq + k]["op"].startswith("nccl") for k in range(1, back - 1))
            inside += 1
    return inside

ranks = [load(p) for p in glob.glob(sys.argv[1] + "/procs/*.wt")]
assert len(ranks) == 2
world = [[c for c in comms.values() if c[2] == 2] for _, comms, _ in ranks]
assert len(world[0]) == len(world[1]) == 1, world
assert world[0][0][0] == world[1][0][0] != bytes(16), "one key on both ranks"
assert {w[0][1] for w in world} == {0, 1}
for t, comms, numbers in ranks:
    assert check_parents(t) > 100
    launches = sum(1 for c in t.calls if c["kind"] == 1 and c["flags"] & 16)
    assert launches > 40
    n = sum(1 for c in t.calls if c["kind"] == 5)
    captured = sum(1 for c in t.calls if c["kind"] == 5 and c["flags"] & 1)
    assert t.counts[5, 0] == n - captured > 80 and t.counts.get((5, 1), 0) == captured, (t.counts, n, captured)
    assert len(set(k for k, _, _ in comms.values())) == len(comms) and max(map(len, numbers.values())) > 60, (comms, {k: len(v) for k, v in numbers.items()})
# Split by rank, then by rank 0 alone: the one who got no communicator has none.
assert sorted(len(comms) for _, comms, _ in ranks) == [2, 3]
assert max(map(len, ranks[0][2].values())) == max(map(len, ranks[1][2].values()))

(path,) = glob.glob(sys.argv[1] + "/devices/*.wt")
t, comms, numbers = load(path)
assert len(comms) == 4 and len({k for k, _, _ in comms.values()}) == 1, comms
assert sorted(r for _, r, _ in comms.values()) == [0, 1, 2, 3]
assert len({len(v) for v in numbers.values()}) == 1, "each rank made equally many"
P
echo ok
