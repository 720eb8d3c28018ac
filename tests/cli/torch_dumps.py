# SPDX-License-Identifier: Apache-2.0
"""See torch-dumps.sh. usage: torch_dumps.py BIN PUBLIC-DUMPS"""

import glob
import json
import os
import pickle
import re
import resource
import shutil
import subprocess
import sys
import tempfile

binary, public = os.path.realpath(sys.argv[1]), sys.argv[2]
tmp = tempfile.mkdtemp()
failures = []
ran = 0


def check(ok, text):
    if not ok:
        failures.append(text)


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))


def report(what, *paths, code=0):
    global ran
    ran += 1
    run = subprocess.run([binary, "report", "--json", *paths], capture_output=True, text=True, preexec_fn=limit)
    check(run.returncode == code, f"{what}: exit {run.returncode}, expected {code}: {run.stderr[:300]}")
    return (json.loads(run.stdout) if run.stdout else None), run.stderr


# ---- generated jobs: 8 ranks, tensor groups of 2, a data group of all, pipeline pairs

WORLD = 8
GROUPS = {"0": ("default_pg", list(range(8)))}
for i in range(4):
    GROUPS[str(10 + i)] = ("TENSOR", [2 * i, 2 * i + 1])
for i in range(4):
    GROUPS[str(20 + i)] = ("PIPELINE", [i, i + 4])


class Job:
    def __init__(self):
        self.last = {g: {r: 100 for r in ranks} for g, (_, ranks) in GROUPS.items()}
        self.done = {g: {r: 100 for r in ranks} for g, (_, ranks) in GROUPS.items()}
        self.entries = {r: [] for r in range(WORLD)}

    def call(self, rank, group, op="all_reduce", count=64, finished=False, seq=None):
        self.last[group][rank] += 1
        if finished:
            self.done[group][rank] = self.last[group][rank]
        self.entry(
            rank,
            group,
            op,
            count,
            self.last[group][rank] if seq is None else seq,
            "completed" if finished else "scheduled",
            False,
        )

    def p2p(self, rank, group, op, other):
        ranks = GROUPS[group][1]
        arrow = "->" if op == "send" else "<-"
        self.entry(rank, group, f"{op} {ranks.index(rank)}{arrow}{ranks.index(other)}", 16, 100, "scheduled", True)

    def entry(self, rank, group, op, count, seq, state, p2p):
        mine = sorted((g for g in GROUPS if rank in GROUPS[g][1]), key=int)
        self.entries[rank].append(
            {
                "record_id": len(self.entries[rank]),
                "pg_id": mine.index(group),
                "process_group": (group, GROUPS[group][0]),
                "collective_seq_id": seq,
                "p2p_seq_id": 7 if p2p else 0,
                "op_id": seq,
                "profiling_name": "nccl:" + op,
                "time_created_ns": 1758610505592849034,
                "input_sizes": [[count]],
                "input_dtypes": ["Float"],
                "output_sizes": [[count]],
                "output_dtypes": ["Float"],
                "state": state,
                "time_discovered_started_ns": None,
                "retired": False,
                "is_p2p": p2p,
            }
        )

    def dump(self, rank, status=True, names=str):
        mine = sorted((g for g in GROUPS if rank in GROUPS[g][1]), key=int)
        d = {
            "version": "2.10",
            "nccl_version": "2.27.3",
            "entries": self.entries[rank],
            "pg_config": {g: {"name": g, "desc": GROUPS[g][0], "ranks": names(GROUPS[g][1])} for g in reversed(mine)},
        }
        if status:
            d["pg_status"] = {
                str(i): {
                    "last_enqueued_collective": self.last[g][rank],
                    "last_started_collective": -1,
                    "last_completed_collective": self.done[g][rank],
                }
                for i, g in enumerate(mine)
            }
        return d


def write(name, job, only=range(WORLD), protocol=2, as_json=False, **args):
    folder = os.path.join(tmp, name)
    os.mkdir(folder)
    for rank in only:
        with open(os.path.join(folder, f"dump_{rank}" + (".json" if as_json else "")), "wb") as f:
            if as_json:
                f.write(json.dumps(job.dump(rank, **args)).encode())
            else:
                pickle.dump(job.dump(rank, **args), f, protocol=protocol)
    return folder


def suspects(r):
    return [(s["rank"], s["why"]) for s in r["progress"]["suspects"]] if r and "progress" in r else None


def host_stuck():
    job = Job()
    for rank in range(WORLD):
        for _ in range(3):
            job.call(rank, str(10 + rank // 2), finished=True)
        if rank != 5:
            job.call(rank, "0")
            if rank != 4:  # its partner never comes, so it stays in the tensor group
                job.call(rank, "0")
    job.call(4, "12")
    return job


want = [(5, "not called")]
for protocol in range(6):
    r, _ = report(f"protocol {protocol}", write(f"host{protocol}", host_stuck(), protocol=protocol))
    check(suspects(r) == want, f"protocol {protocol}: {suspects(r)}, expected {want}")
    check(r and sorted(i["rank"] for i in r["inputs"]) == list(range(WORLD)), f"protocol {protocol}: ranks")
r, _ = report("JSON", write("hostj", host_stuck(), as_json=True))
check(suspects(r) == want, f"JSON: {suspects(r)}")
r, _ = report("lists", write("hostl", host_stuck(), names=list))
check(suspects(r) == want, f"ranks as lists: {suspects(r)}")
r, _ = report("no status", write("hostn", host_stuck(), status=False))
check(suspects(r) == want, f"without pg_status: {suspects(r)}")
c = next(c for c in r["progress"]["communicators"] if c["name"] == "default_pg")
check((c["most_called"], c["least_called"]) == (102, None), f"default_pg: {c}")

job = host_stuck()
r, _ = report("no dump", write("gone", job, only=[x for x in range(WORLD) if x != 5]))
check(suspects(r) == [(5, "no dump")], f"no dump: {suspects(r)}")
check(r and r["progress"]["without_dump"] == [5], "no dump: the missing rank is not named")

job = Job()  # rank 2's device stands still in the job's group; all hosts ran ahead
for rank in range(WORLD):
    for i in range(4):
        job.call(rank, "0", finished=i < (1 if rank == 2 else 3))
r, _ = report("device", write("device", job))
check(suspects(r) == [(2, "not finished")], f"device: {suspects(r)}")

job = Job()  # 0 waits for 1 in the tensor group, 1 for 0 in the job's group
for rank in range(WORLD):
    if rank == 0:
        job.call(0, "10")
    else:
        job.call(rank, "0")
r, _ = report("circle", write("circle", job))
check(suspects(r) == [(0, "circle"), (1, "circle")], f"circle: {suspects(r)}")

job = Job()  # the pipeline: 4 never posts the receive, and is busy with nothing that others know
for rank in (0, 1, 2, 3):
    job.p2p(rank, str(20 + rank), "send", rank + 4)
    if rank:
        job.p2p(rank + 4, str(20 + rank), "recv", rank)
r, _ = report("pipeline", write("pipe", job))
check(suspects(r) == [(4, "unpaired")], f"pipeline: {suspects(r)}")

job = Job()  # one number, two operations; and sizes that differ
for rank in range(WORLD):
    job.call(rank, "0", op="all_reduce" if rank != 3 else "_reduce_scatter_base", count=64)
    job.call(rank, str(10 + rank // 2), count=64 + (rank == 6))
    job.call(rank, str(10 + rank // 2), op="all_to_all", count=64 + rank)
r, _ = report("mismatch", write("mismatch", job))
got = sorted((m["communicator"], m["seq"], m["a"]["rank"], m["b"]["rank"]) for m in r["progress"]["mismatches"])
check(got == [("TENSOR", 101, 6, 7), ("default_pg", 101, 2, 3)], f"mismatches: {got}")
check(suspects(r) == [], f"mismatch: suspects {suspects(r)}, but all are equally far")

job = Job()
r, _ = report("idle", write("idle", job))
check(suspects(r) == [] and all(c["agrees"] for c in r["progress"]["communicators"]), "a healthy job has suspects")

# A communicator is the same to Kineto's files and to dumps: they can be read together.
kineto = os.path.join(tmp, "kineto.json")
with open(kineto, "w") as f:
    args = {"device": 0, "stream": 7, "Collective name": "allreduce", "In msg nelems": 64, "Group size": 8, "dtype": "Float"}
    args.update({"Process Group Name": "0", "Process Group Description": "default_pg"})
    args["Process Group Ranks"] = str(list(range(8)))
    json.dump({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "nccl", "ts": 1, "dur": 2, "pid": 0, "tid": 7, "args": args}]}, f)
job = Job()
job.call(0, "0")
r, _ = report("with Kineto", kineto, write("beside", job, only=[0]))
check(r and len({c["comm"] for c in r["collectives"]}) == 1, f"with Kineto: {r['collectives'] if r else r}")

# ---- memory snapshots

block = {"size": 3 << 20, "requested_size": 3 << 20, "state": "active_allocated", "frames": []}
hole = {"size": 5 << 20, "requested_size": 0, "state": "inactive", "frames": []}
trace = [
    {"action": "alloc", "addr": 1, "size": 9 << 20, "stream": 0, "frames": []},
    {"action": "free_requested", "addr": 1, "size": 9 << 20, "stream": 0, "frames": []},
    {"action": "free_completed", "addr": 1, "size": 9 << 20, "stream": 0, "frames": []},
    {"action": "oom", "size": 1 << 40, "stream": 0, "device_free": 5, "frames": []},
]
snapshot = {
    "segments": [
        {
            "device": 1,
            "address": 2**63 + 5,
            "total_size": 8 << 20,
            "allocated_size": 3 << 20,
            "stream": 0,
            "segment_type": "large",
            "blocks": [block, hole],
        }
    ],
    "device_traces": [[], trace],
}
for name, data in (("mem.pickle", pickle.dumps(snapshot, 4)), ("mem.json", json.dumps(snapshot).encode())):
    with open(os.path.join(tmp, name), "wb") as f:
        f.write(data)
    r, _ = report(name, os.path.join(tmp, name))
    note = " ".join(r["notes"]) if r else ""
    for word in (
        f"{8 << 20} bytes reserved in 1 segments",
        f"{3 << 20} in use",
        f"largest hole {5 << 20}",
        f"peak is {12 << 20} bytes",
        "out of memory 1 times",
    ):
        check(word in note, f"{name}: no '{word}' in: {note}")
    m = r["memory"][0] if r and len(r["memory"]) == 1 else {}
    want = {"device": 1, "peak_allocated_bytes": 12 << 20, "end_allocated_bytes": 3 << 20, "end_reserved_bytes": 8 << 20}
    want.update({"peak_reserved_bytes": None, "events": 2, "out_of_memory": 1, "source": "snapshot"})
    check({k: m.get(k) for k in want} == want, f"{name}: memory {m}, expected {want}")

# ---- a snapshot whose segments are longer than what a format is told by

many = dict(snapshot, segments=snapshot["segments"] * 2000)
with open(os.path.join(tmp, "many.json"), "wb") as f:
    f.write(json.dumps(many).encode())
r, _ = report("many.json", os.path.join(tmp, "many.json"))
m = r["memory"][0] if r and r["memory"] else {}
check(m.get("end_allocated_bytes") == 2000 * (3 << 20), f"many.json: memory {m}")

# ---- hostile pickles: exit 1, one line, nothing runs, little memory

canary = os.path.join(tmp, "canary")


class Evil:
    def __reduce__(self):
        return os.system, (f"touch {canary}",)


bomb = (
    b"\x80\x04]\x94"
    + b"".join(b"]\x94(" + b"h" + bytes([i]) * 1 + (b"h" + bytes([i])) * 40 + b"e" for i in range(60))
    + b"."
)
hostile = {
    "class2": pickle.dumps({"entries": Evil()}, 2),
    "class5": pickle.dumps({"entries": [Evil()]}, 5),
    "class0": pickle.dumps({"entries": Evil()}, 0),
    "object": b"\x80\x02ccollections\nOrderedDict\nq\x00)Rq\x01.",
    "persistent": b"\x80\x02U\x03abcQ.",
    "extension": b"\x80\x02\x82\x01.",
    "huge text": b"\x80\x04X\xff\xff\xff\x7fabc.",
    "huge text 8": b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7fabc.",
    "huge long": b"\x80\x04\x8b\xff\xff\xff\x7f\x01.",
    "frame": b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\xff.",
    "deep": b"\x80\x02" + b"]" * 3000000 + b"a" * 2999999 + b".",
    "deep tuple": b"\x80\x02N" + b"\x85" * 1000000 + b".",
    "memo bomb": bomb,
    "memo index": b"\x80\x02}r\xff\xff\xff\xff.",
    "memo flood": b"\x80\x04N" + b"\x94" * 3000000 + b".",
    "marks": b"\x80\x02" + b"(" * 1000000 + b".",
    "underflow": b"\x80\x02a.",
    "pop": b"\x80\x020000.",
    "odd map": b"\x80\x02}(NNNu.",
    "append to none": b"\x80\x02NNa.",
    "mark as value": b"\x80\x02(\x85.",
    "no stop": b"\x80\x02}",
    "unknown": b"\x80\x02\xfe.",
    "empty stack": b"\x80\x02.",
    "wrong kind": pickle.dumps({"a": 1}),
    "self": b"\x80\x02]q\x00h\x00a.",
    "cut": pickle.dumps(host_stuck().dump(0), 4)[:700],
    "cut json": json.dumps(host_stuck().dump(0)).encode()[:900],
    "deep json": b'{"pg_config": ' + b"[" * 100000 + b"]" * 100000 + b"}",
}
for name, data in hostile.items():
    path = os.path.join(tmp, "hostile " + name)
    with open(path, "wb") as f:
        f.write(data)
    r, err = report(name, path, code=1)
    check(r is None and err.count("\n") == 1 and path in err, f"{name}: {err[:300]}")
    check(not os.path.exists(canary), f"{name}: it ran")
    if name.startswith("cut"):
        check("would accuse" in err, f"{name}: not said why nothing of it is used: {err}")
    if name.startswith("class"):
        check("plain values" in err and "system" in err, f"{name}: the class is not named: {err}")
usage = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
check(usage < 200 * 1024, f"{usage} KiB of memory for a few MB of pickles")

# A list that is its own member, inside a dump: walked by what is expected, it ends.
loop = b"\x80\x02}q\x00(U\x07entriesq\x01]q\x02(h\x02h\x00eU\tpg_configq\x03h\x00u."
with open(os.path.join(tmp, "loop_3"), "wb") as f:
    f.write(loop)
report("loop", os.path.join(tmp, "loop_3"))

# ---- public dumps with known culprits

if os.path.isdir(public):
    for name, why in (("r001", "not finished"), ("r003", "not called")):
        with open(os.path.join(public, name, "fault_injection.log")) as f:
            culprits = [int(x) for x in re.search(r"Fault ranks: \[([\d, ]+)\]", f.read()).group(1).split(",")]
        r, _ = report(name, os.path.join(public, name))
        check(suspects(r) == [(c, why) for c in culprits], f"{name}: {suspects(r)}, the injector says {culprits}")
        check(r and r["progress"]["ranks"] == 16 and r["progress"]["without_dump"] == [], f"{name}: ranks")
        check(r and r["progress"]["mismatches"] == [], f"{name}: mismatches")
        entries = 0
        for path in glob.glob(os.path.join(public, name, "_dump_*")):
            with open(path, "rb") as f:
                entries += len(pickle.load(f)["entries"])
        check(sum(c["count"] for c in r["collectives"]) == entries, f"{name}: {entries} entries expected")
else:
    print(f"no {public} here: public dumps not read")

shutil.rmtree(tmp)
for f in failures:
    print(f)
print(f"{ran} reports, {len(failures)} differences")
sys.exit(1 if failures else 0)
