#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes Nsight Systems exports (SQLite) of several schemas and prints what they hold.

usage: gen_nsys.py -o FILE [--seed N] [--schema 2021|2023|2026] [--kernels N] [--processes N] [--session NS]
                   [--fault NAME]...

The table of truth, one line a device that has kernels: pid, ordinal, kernels, union_ns, sum_ns, without_launch; then
"collectives N bytes kernels-with-a-launch" and "steps N". Faults and turns:
  versioned    tables carry a version (CUPTI_ACTIVITY_KIND_KERNEL_V3)
  no-pid       device rows name no process
  no-key       StringIds has no integer primary key
  no-kernel no-runtime no-memcpy no-nvtx no-gpu no-strings    that table is absent
  graph        every tenth launch is a graph of three kernels; graph-level: one row for the whole graph
  nccl         NCCL kernels, their ranges and payloads, in groups too
  absurd       rows with negative, textual, null and enormous values among the others (they own no time)
  secrets      tables with the environment and the host's name, damaged: whoever reads them fails
  cut          the file ends at 60 %
  page         one page of the kernels is overwritten
"""

import argparse
import os
import random
import sqlite3
import struct

ap = argparse.ArgumentParser()
ap.add_argument("-o", required=True)
ap.add_argument("--seed", type=int, default=1)
ap.add_argument("--schema", default="2026")
ap.add_argument("--kernels", type=int, default=300)
ap.add_argument("--processes", type=int, default=2)
ap.add_argument("--session", type=int, default=1_700_000_000_000_000_000)
ap.add_argument("--fault", action="append", default=[])
a = ap.parse_args()
rnd = random.Random(a.seed)
has = set(a.fault)
if os.path.exists(a.o):
    os.remove(a.o)
db = sqlite3.connect(a.o)
db.execute("PRAGMA page_size=4096")
suffix = "_V3" if "versioned" in has else ""
late = int(a.schema) >= 2023

strings = {}


def text(s):
    return strings.setdefault(s, 1000 + 7 * len(strings))


def global_id(pid, tid=0):
    return 1 << 48 | pid << 24 | tid


pid_column = "" if "no-pid" in has else "globalPid INTEGER, "
KERNEL = (
    ["start", "end", "deviceId", "contextId"]
    + (["greenContextId"] if late else [])
    + ["streamId", "correlationId"]
    + ([] if "no-pid" in has else ["globalPid"])
    + [
        "demangledName",
        "shortName",
        "registersPerThread",
        "gridX",
        "gridY",
        "gridZ",
        "blockX",
        "blockY",
        "blockZ",
        "staticSharedMemory",
        "dynamicSharedMemory",
    ]
    + (["graphNodeId"] if late else [])
)
COPY = (
    ["start", "end", "deviceId", "contextId", "streamId", "correlationId"]
    + ([] if "no-pid" in has else ["globalPid"])
    + ["bytes", "copyKind", "srcKind", "dstKind"]
    + (["graphNodeId"] if late else [])
)
tables = {
    "CUPTI_ACTIVITY_KIND_KERNEL": KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": COPY,
    "CUPTI_ACTIVITY_KIND_MEMSET": COPY[: -4 - late] + ["value", "bytes"],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [
        "start",
        "end",
        "eventClass",
        "globalTid",
        "correlationId",
        "nameId",
        "returnValue",
    ],
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": COPY[: -4 - late] + ["syncType"],
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": COPY[: -4 - late] + ["graphId", "graphExecId"],
    "NVTX_EVENTS": ["start", "end", "eventType", "text", "globalTid", "textId", "domainId"]
    + (["binaryData"] if late else []),
    "OSRT_API": ["start", "end", "eventClass", "globalTid", "nameId", "returnValue"],
}
if a.schema == "2021":
    del tables["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"], tables["CUPTI_ACTIVITY_KIND_GRAPH_TRACE"]
out = {name: [] for name in tables}


def put(table, **row):
    if table in out:
        out[table].append([row.get(c) for c in tables[table]])


def payload(schema, body):
    return struct.pack("<IIIIQQ", 1, 0, schema, 0, len(body), 32 + len(body)) + body


names = ["void gemm_kernel<float, %d>(float*)" % i for i in range(5)] + [
    "ampere_sgemm_128x64_nn",
    "void at::native::add(int)",
]
truth, comm_calls, comm_bytes, comm_launched, steps = {}, 0, 0, 0, 0
correlation0 = 500  # the same numbers in every process
for p in range(a.processes):
    pid, tid, now, correlation = 4000 + p, 4100 + p, 1_000_000 + 137 * p, correlation0
    spans, lost = [], 0
    put("NVTX_EVENTS", start=now, eventType=75, text="NCCL", globalTid=global_id(pid, tid), domainId=1)
    if "nccl" in has:
        put(
            "NVTX_EVENTS",
            start=now,
            end=now + 10,
            eventType=59,
            textId=text("ncclCommInitRank"),
            globalTid=global_id(pid, tid),
            domainId=1,
            binaryData=payload(16777218, struct.pack("<QIII4x", 0xFEED000011112222, a.processes, p, p)),
        )
    busy = [now, now]

    def kernel(name, start, length, corr, stream, node=None):
        global lost
        spans.append((start, start + length))
        put(
            "CUPTI_ACTIVITY_KIND_KERNEL",
            start=start,
            end=start + length,
            deviceId=0 if late else p,
            contextId=1,
            streamId=7 + stream,
            correlationId=corr,
            globalPid=global_id(pid),
            demangledName=text(name),
            shortName=text(name[:12]),
            registersPerThread=32,
            gridX=rnd.randrange(1, 500),
            gridY=1,
            gridZ=1,
            blockX=128,
            blockY=1,
            blockZ=1,
            staticSharedMemory=0,
            dynamicSharedMemory=4096,
            graphNodeId=node,
        )

    def call(name, start, end, corr, status=0):
        put(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            start=start,
            end=end,
            eventClass=0,
            globalTid=global_id(pid, tid),
            correlationId=corr,
            nameId=text(name),
            returnValue=status,
        )

    for i in range(a.kernels):
        stream = rnd.randrange(2)
        correlation += 1
        launch = now
        now += rnd.randrange(2000, 9000)
        start = max(busy[stream], now + rnd.randrange(500, 3000))
        length = rnd.randrange(500, 20000)
        seen = rnd.random() > 0.05  # the window of the recording cuts some launches off
        lost_here = 0
        if "nccl" in has and i % 10 == 5:
            size = rnd.randrange(1, 1 << 30)
            grouped = i % 20 == 5
            body = payload(16777223, struct.pack("<QQQ", 0xFEED000011112222, size, 0))
            nvtx = dict(eventType=59, globalTid=global_id(pid, tid), domainId=1)
            if grouped:
                put("NVTX_EVENTS", start=launch - 60, end=launch - 50, textId=text("ncclGroupStart"), **nvtx)
                put(
                    "NVTX_EVENTS",
                    start=launch - 45,
                    end=launch - 30,
                    textId=text("ncclAllReduce"),
                    binaryData=body,
                    **nvtx,
                )
                put("NVTX_EVENTS", start=launch - 20, end=launch + 1500, textId=text("ncclGroupEnd"), **nvtx)
            else:
                put(
                    "NVTX_EVENTS",
                    start=launch - 20,
                    end=launch + 1500,
                    textId=text("ncclAllReduce"),
                    binaryData=body,
                    **nvtx,
                )
            comm_calls += 1
            comm_bytes += size
            comm_launched += seen
            kernel(
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)",
                start,
                length,
                correlation,
                stream,
            )
            lost_here = 0 if seen else 1
            if seen:
                call("cudaLaunchKernelExC_v11060", launch, launch + 1200, correlation)
        elif "graph" in has and i % 10 == 3:
            if "graph-level" in has:
                put(
                    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                    start=start,
                    end=start + length,
                    deviceId=0 if late else p,
                    contextId=1,
                    streamId=7 + stream,
                    correlationId=correlation,
                    globalPid=global_id(pid),
                    graphId=3,
                    graphExecId=4,
                )
            else:
                for node in range(3):
                    kernel(names[node], start + node * length, length - node, correlation, stream, 77 + node)
                lost_here = 0 if seen else 3
                length *= 3
            if seen:
                call("cudaGraphLaunch_v10000", launch, launch + 1500, correlation)
        else:
            kernel(rnd.choice(names), start, length, correlation, stream)
            lost_here = 0 if seen else 1
            if seen:
                call("cudaLaunchKernel_v7000", launch, launch + 1000, correlation)
                if i % 4 == 0:  # the driver's call inside has the same correlation
                    put(
                        "CUPTI_ACTIVITY_KIND_RUNTIME",
                        start=launch + 100,
                        end=launch + 900,
                        eventClass=1,
                        globalTid=global_id(pid, tid),
                        correlationId=correlation,
                        nameId=text("cuLaunchKernel"),
                        returnValue=0,
                    )
        lost += lost_here
        busy[stream] = start + length
        if i % 25 == 0:
            correlation += 1
            call("cudaMemcpyAsync_v3020", now, now + 700, correlation)
            put(
                "CUPTI_ACTIVITY_KIND_MEMCPY",
                start=busy[stream] + 100,
                end=busy[stream] + 900,
                deviceId=0 if late else p,
                contextId=1,
                streamId=7 + stream,
                correlationId=correlation,
                globalPid=global_id(pid),
                bytes=4096,
                copyKind=1 + i % 2,
                srcKind=i % 2,
                dstKind=2,
            )
            busy[stream] += 1000
            correlation += 1
            call("cudaStreamSynchronize_v3020", now + 800, busy[stream] + 50, correlation)
            put(
                "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                start=now + 800,
                end=busy[stream],
                deviceId=0 if late else p,
                contextId=1,
                streamId=7 + stream,
                correlationId=correlation,
                globalPid=global_id(pid),
                syncType=3,
            )
            put(
                "NVTX_EVENTS",
                start=launch - 5000,
                end=busy[stream],
                eventType=59,
                text="step %d" % (i // 25),
                globalTid=global_id(pid, tid),
                domainId=0,
            )
            put(
                "NVTX_EVENTS",
                start=launch,
                end=launch + 10,
                eventType=59,
                text="aten::mm, seq = %d" % i,
                globalTid=global_id(pid, tid),
                domainId=0,
            )
            put(
                "OSRT_API",
                start=now,
                end=now + 400,
                eventClass=27,
                globalTid=global_id(pid, tid),
                nameId=text("pthread_cond_wait"),
                returnValue=0,
            )
            steps += 1
            now = busy[stream] + 60
    if "absurd" in has:
        for start, end in (
            (500, 400),
            ("soon", "later"),
            (None, None),
            (2**63 - 1, -(2**63)),
            (0, 0),
            (-(2**63), 2**63 - 1),
        ):
            put(
                "CUPTI_ACTIVITY_KIND_KERNEL",
                start=start,
                end=end,
                deviceId=0 if late else p,
                streamId=7,
                correlationId=-5,
                globalPid=global_id(pid),
                demangledName=text(names[0]),
                shortName="no number",
                gridX=-1,
                blockX=2**62,
            )
            put(
                "CUPTI_ACTIVITY_KIND_RUNTIME",
                start=start,
                end=end,
                globalTid=global_id(pid, tid),
                nameId=2**60,
                returnValue=-1,
            )
            put("NVTX_EVENTS", start=start, end=end, eventType=59, text="x" * 100, globalTid=-1)
        lost += 6
    union, reached = 0, -1
    for s, e in sorted(spans):
        union += max(0, e - max(s, reached))
        reached = max(reached, e)
    truth[pid] = (
        0 if late else p,
        len(spans) + (6 if "absurd" in has else 0),
        union,
        sum(e - s for s, e in spans),
        lost,
    )

absent = {
    "no-kernel": "CUPTI_ACTIVITY_KIND_KERNEL",
    "no-runtime": "CUPTI_ACTIVITY_KIND_RUNTIME",
    "no-memcpy": "CUPTI_ACTIVITY_KIND_MEMCPY",
    "no-nvtx": "NVTX_EVENTS",
}
skip = {absent[f] for f in has if f in absent}
if "no-strings" not in has:
    db.execute(
        "CREATE TABLE StringIds (id INTEGER NOT NULL%s, value TEXT NOT NULL)"
        % ("" if "no-key" in has else " PRIMARY KEY")
    )
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(v, k) for k, v in strings.items()])
for name, columns in tables.items():
    if name in skip or not out[name]:
        continue  # tables are created when something was recorded
    db.execute(
        'CREATE TABLE %s%s (%s)'
        % (name, suffix, ", ".join(c + (" TEXT" if c in ("text", "binaryData") else " INTEGER") for c in columns))
    )
    db.executemany("INSERT INTO %s%s VALUES (%s)" % (name, suffix, ",".join("?" * len(columns))), out[name])
uuids = ["%08x-1111-2222-3333-44445555666%d" % (0xABC00000 + p, p % 10) for p in range(a.processes)]
if "no-gpu" not in has:
    if late:
        db.execute(
            "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, uuid TEXT,"
            " cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER)"
        )
        db.execute("CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER)")
        for p in range(a.processes):
            db.execute(
                "INSERT INTO TARGET_INFO_GPU VALUES (0, ?, 'NVIDIA H100 80GB HBM3', 84942979072, 132, ?, ?, 9, 0)",
                (p, uuids[p], p),
            )
            db.execute("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, 0, ?)", (p, 4000 + p))
    else:
        db.execute(
            "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, uuid TEXT)"
        )
        for p in range(a.processes):
            db.execute("INSERT INTO TARGET_INFO_GPU VALUES (?, 'NVIDIA A100', 84942979072, 108, ?)", (p, uuids[p]))
db.execute("CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT)")
db.execute("CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER)")
for p in range(a.processes):
    db.execute("INSERT INTO PROCESSES VALUES (?, ?, 'train')", (global_id(4000 + p), 4000 + p))
if "nccl" in has:
    db.execute(
        "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER, schemaId INTEGER, idx INTEGER, type INTEGER, name TEXT, offset INTEGER)"
    )
    for schema, fields in (
        (
            16777218,
            (("NCCL communicator ID", 18, None), ("No. of ranks", 5, 8), ("Rank", 5, 12), ("CUDA device", 5, 16)),
        ),
        (
            16777223,
            (
                ("NCCL communicator ID", 18, None),
                ("Message size [bytes]", 22, 8),
                ("Reduction operation", 16777232, 16),
            ),
        ),
    ):
        for idx, (name, kind, offset) in enumerate(fields):
            db.execute(
                "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, ?, ?, ?, ?, ?)", (schema, idx, kind, name, offset)
            )
if late:
    db.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT)")
    db.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, '', '')", (a.session,))
if "secrets" in has:
    for name in ("TARGET_INFO_SYSTEM_ENV", "META_DATA_CAPTURE", "META_DATA_EXPORT", "ProcessStreams"):
        db.execute("CREATE TABLE %s (name TEXT, value TEXT)" % name)
        db.execute("INSERT INTO %s VALUES ('HOST', 'swordfish')" % name)
db.commit()


def root(table):
    return db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]


bad = (
    [root(n) for n in ("TARGET_INFO_SYSTEM_ENV", "META_DATA_CAPTURE", "META_DATA_EXPORT", "ProcessStreams")]
    if "secrets" in has
    else []
)
kernel_root = root("CUPTI_ACTIVITY_KIND_KERNEL") if "page" in has else 0
db.close()
with open(a.o, "r+b") as f:
    for page in bad:
        f.seek((page - 1) * 4096)
        f.write(b"\xff" * 4096)
    if "page" in has:  # a leaf in the middle: the root is an interior page, its cells point at leaves
        f.seek((kernel_root - 1) * 4096)
        head = f.read(4096)
        assert head[0] == 5, "the table has one page only: more kernels are needed"
        cells = struct.unpack(">H", head[3:5])[0]
        at = struct.unpack(">H", head[12 + 2 * (cells // 2) : 14 + 2 * (cells // 2)])[0]
        leaf = struct.unpack(">I", head[at : at + 4])[0]
        f.seek((leaf - 1) * 4096)
        f.write(b"\xee" * 4096)
    if "cut" in has:
        f.truncate(int(f.seek(0, 2) * 0.6))
for pid, row in truth.items():
    print("\t".join(map(str, (pid,) + row)))
print("collectives\t%d\t%d\t%d" % (comm_calls, comm_bytes, comm_launched))
print("steps\t%d" % steps)
