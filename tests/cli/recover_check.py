# SPDX-License-Identifier: Apache-2.0
"""Holds the trace of a killed `steady tell=FILE` against what its threads said had returned.

usage: recover_check.py TRACE FILE [some]      some: not every call leaves a row (windows, count): none twice, and as
many as the counts say

A call that returned before the kill is there, once, under its names; at most one more a thread is (it had returned, and
the thread had not said so). Exit 5: the pool had run full, which is no fault and tests nothing. Reads the trace with nothing of the project's but trace.proto.
"""
import collections
import struct
import subprocess
import sys

import wt_wire

path, told, some = sys.argv[1], sys.argv[2], "some" in sys.argv[3:]
subprocess.run(["zstd", "-tq", path], check=True)  # whole, for anybody
t = wt_wire.Trace(path)
told = open(told, "rb").read()
told = [struct.unpack_from("<5Q", told, 64 * i) for i in range(16)]
told = [row for row in told if any(row)]
assert told, "the job was killed before it did anything: nothing was tested"

ends = [p["end"] for p in t.packets if p.get("body") == "end"]
assert len(ends) == 1 and ends[0]["how"] == 5 and ends[0]["packets"] == len(t.packets), (ends, len(t.packets))
assert [p["seq"] for p in t.packets] == list(range(1, len(t.packets) + 1)), "packets are not numbered through"

rows = [(c["ring"], c["seq"]) for c in t.calls]
assert len(set(rows)) == len(rows), "a row is there twice"
by_ring = collections.defaultdict(list)
for ring, seq in sorted(rows):
    by_ring[ring].append(seq)
dropped = t.counts.get((0, 6), 0)
if dropped:  # the writer got no core for so long that the pool ran full: said, and not the test that was meant
    print("the pool was full, %d calls are said to be lost" % dropped)
    sys.exit(5)
for ring, seqs in by_ring.items():
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs))), "ring %d has holes" % ring
    assert seqs[0] == 0 or some, "ring %d does not begin" % ring

# By what the threads said. Inside NCCL (16) and captured (1) are not theirs.
own = [c for c in t.calls if not c["flags"] & 17 and not c["status"]]
launches = collections.defaultdict(list)
for c in sorted(own, key=lambda c: (c["ring"], c["seq"])):
    if c["kind"] == 1 and c["op"].startswith("cuLaunchKernel"):
        assert c["shape"], "a launch without its shape"
        i = c["shape"][0] - 1
        assert c["function"] == "steady_%d" % (i % 8), (i, c["function"])
        launches[c["ring"], c["stream"]].append(i)
assert len(launches) == len({r for r, _ in launches}) <= len(told), "a thread has one stream and no two"
for got in launches.values():
    assert got == sorted(set(got)), "out of order, or twice"
if not some:
    for got in launches.values():
        assert got == list(range(len(got))), "a launch is missing among %d" % len(got)
    got, said = sorted(len(v) for v in launches.values()), sorted(row[0] for row in told)
    assert len(got) >= sum(n > 0 for n in said), (got, said)
    got = [0] * (len(said) - len(got)) + got
    # which thread is which the trace does not say: sorted, each lies between what was said and one more
    assert all(s <= g <= s + 1 for s, g in zip(said, got)), (said, got)
    for column, kind, what in ((1, 3, "copies"), (2, 4, "memsets"), (3, 2, "graph launches"), (4, 5, "collectives")):
        n = sum(c["kind"] == kind and (kind not in (3, 4) or c["bytes"] == 256) for c in own)
        said = sum(row[column] for row in told)
        assert said <= n <= said + len(told), (what, said, n)
assert all(c["object"] for c in own if c["kind"] in (2, 5)), "a graph launch or a collective of nobody"

# Counts: of each kind as many rows as counted; a thread that was killed between counting and the row has one less. What
# was captured at level count is counted as such, without a row.
for kind in (1, 2, 3, 4, 5):
    counted = sum(t.counts.get((kind, s), 0) for s in ((0, 3) if some else (0, 1, 3)))
    n = sum(c["kind"] == kind and not c["status"] and not (some and c["flags"] & 1) for c in t.calls)
    assert n <= counted <= n + len(by_ring), ("counted", kind, counted, n)
done = sum(t.counts.get((1, s), 0) for s in (0, 9))
assert done >= sum(row[0] for row in told), "launches uncounted"

colls = [p["collectives"] for p in t.packets if p.get("body") == "collectives"]
for comm in {m.get("comm") for m in colls}:
    assert comm, "a collective on a communicator that is not known"
    seqs = sorted(s for m in colls if m["comm"] == comm for s in m["seq"])
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs))), "collectives missing or twice"
# Each row of a mark has what it says (the names here fit one row), once.
marked = []
for p in t.packets:
    if p.get("body") == "marks":
        seq = 0
        for d in p["marks"]["call_seq_d"]:
            seq += d
            marked.append((p["marks"]["ring"], seq))
assert sorted(marked) == sorted((c["ring"], c["seq"]) for c in t.calls if c["kind"] == 18), "marks are missing, or twice"
received = t.counts.get((20, 5), 0)
assert received == len(t.kernels), ("kernel records", received, len(t.kernels))
seen = collections.Counter((k["device"], k["correlation"], k["start"], k["stream"]) for k in t.kernels if not k["graph"])
assert not seen or max(seen.values()) == 1, "a kernel record is there twice"
print("%d rows, %d launches, %d kernel records, %d segments" % (
    len(rows), sum(len(v) for v in launches.values()), len(t.kernels),
    sum(p.get("body") == "header" for p in t.packets)))
