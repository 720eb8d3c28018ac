#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the fuzz seeds of tests/fuzz/corpus/{csv,nccl,nsys,pickle,documents}: small sound files of each shape.
usage: tests/gen/gen_dump_corpus.py     from the repository's root; the same values every time"""

import json
import os
import pickle
import sqlite3
import subprocess
import sys
import tempfile

corpus = "tests/fuzz/corpus"


def seed(target, name, data):
    os.makedirs(f"{corpus}/{target}", exist_ok=True)
    with open(f"{corpus}/{target}/{name}", "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def entry(group, seq, op="all_reduce", p2p=False):
    return {
        "pg_id": 1,
        "process_group": group,
        "collective_seq_id": seq,
        "profiling_name": "nccl:" + op,
        "input_sizes": [[4, 8]],
        "input_dtypes": ["Float"],
        "output_sizes": [[4, 8]],
        "state": "scheduled",
        "is_p2p": p2p,
    }


dump = {
    "version": "2.9",
    "pg_config": {
        "0": {"name": "0", "desc": "world", "ranks": "[0, 3]"},
        "1": {"name": "1", "desc": "tp", "ranks": [3]},
    },
    "pg_status": {"0": {"last_enqueued_collective": 5, "last_started_collective": -1, "last_completed_collective": 3}},
    "entries": [
        entry(("0", "world"), 4),
        entry(("0", "world"), 5, "_all_gather_base"),
        entry(("0", "world"), 5, "send 1->0", True),
    ],
}
snapshot = {
    "segments": [{"device": 0, "total_size": 64, "allocated_size": 32, "blocks": [{"size": 32, "state": "inactive"}]}],
    "device_traces": [
        [{"action": "alloc", "size": 9}, {"action": "free_completed", "size": 9}, {"action": "oom", "size": 1}]
    ],
}
for protocol in range(6):
    seed("pickle", f"flight{protocol}", pickle.dumps(dump, protocol))
seed("pickle", "no_groups", pickle.dumps({"entries": [], "pg_status": {}, "pg_config": {}}, 2))
seed("pickle", "snapshot", pickle.dumps(snapshot, 4))
seed(
    "pickle",
    "kinds",
    pickle.dumps(
        [
            None,
            True,
            -1,
            300,
            70000,
            2**63,
            -(2**70),
            1.5,
            "é",
            b"b",
            bytearray(b"c"),
            (),
            (1,),
            (1, 2),
            (1, 2, 3),
            (1, 2, 3, 4),
            {1},
            frozenset([2]),
            {"k": []},
        ],
        5,
    ),
)
seed("pickle", "class", b"\x80\x02cos\nsystem\nU\x01xR.")
seed("pickle", "json", json.dumps(dump))
seed("pickle", "json_snapshot", json.dumps(snapshot))
seed(
    "csv",
    "nsys",
    "Processing [x]\nStart (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
    "SrcMemKd,DstMemKd,Device,Ctx,Strm,Name\n1,2,3,4,1,1,5,1,1,6,0.1,0,,,,GPU (0),1,7,\"k<a, \"\"b\"\">\n\"\n9,2,4,,,,,,,,,,1.5,Pageable,Device,GPU (1),1,7,"
    "[CUDA memcpy Host-to-Device]\n",
)
seed(
    "csv",
    "nvprof",
    '==1== x\n"Start","Duration","Grid X","Device","Stream","Name"\ns,us,,,,\n0.1,2.5,3,T (0),7,"k(int) [12]"\n',
)
seed(
    "csv",
    "rocprof",
    '"Kind","Agent_Id","Queue_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n"K","Agent 4",1,"k",5,9\n',
)
seed("csv", "summary", "Time (%),Total Time (ns),Instances,Name\n1,2,3,k\n")
inspector = {
    "header": {"id": "0xabc", "rank": 1, "n_ranks": 2},
    "metadata": {"pid": 7},
    "coll_perf": {
        "coll": "AllReduce",
        "coll_sn": 4,
        "coll_msg_size_bytes": 64,
        "event_trace_ts": {"kernel_events": [{"kernel_start_ts": 5, "kernel_stop_ts": 9}]},
    },
}
seed("nccl", "inspector", json.dumps(inspector) + "\n" + json.dumps(inspector, indent=1))


def event(kind, address, parent="null", **details):
    return {
        "recordType": "event",
        "type": kind,
        "gpuUuid": "ab-1",
        "commId": 2**63 + 7,
        "rank": 0,
        "start": {"ts": 1.5, "pid": 1, "tid": 2},
        "stop": {"ts": 2.5},
        "parentObj": parent,
        "eventAddr": address,
        "extCorrId": 1,
        "details": details,
    }


seed(
    "nccl",
    "plugin",
    "\n".join(
        map(
            json.dumps,
            [
                {
                    "type": "ProfilerLifecycle",
                    "func": "ProfilerInit",
                    "gpuUuid": "ab-1",
                    "commId": 2**63 + 7,
                    "rank": 0,
                    "start": {"ts": 1, "pid": 1},
                    "details": {"nranks": 2},
                },
                {"recordType": "state", "ts": 1},
                event("ncclProfileCollApi", "0x1", func="AllReduce", count=4),
                event("ncclProfileKernelLaunch", "0x3"),
                event("ncclProfileColl", "0x2", "0x1", func="AllReduce", seq=3, count=4, dtype="ncclFloat32", nranks=2),
                {
                    "recordType": "cuptiActivity",
                    "type": "KERNEL",
                    "extCorrId": 1,
                    "gpuUuid": "ab-1",
                    "deviceId": 0,
                    "start": {"ts": 3},
                    "stop": {"ts": 4.25},
                    "name": "ncclDevKernel",
                    "stream": "0x3d",
                    "details": {"gridX": 1},
                },
            ],
        )
    ),
)
agent = {"handle": 9}
seed(
    "documents",
    "rocprof",
    json.dumps(
        {
            "rocprofiler-sdk-tool": [
                {
                    "metadata": {"pid": 7},
                    "agents": [{"id": agent, "type": 2, "product_name": "MI", "cu_count": 4}],
                    "strings": {"buffer_records": [{"kind": "A", "operations": ["hipLaunchKernel", "MEMORY_COPY_HOST_TO_DEVICE"]}]},
                    "kernel_symbols": [{"kernel_id": 3, "formatted_kernel_name": "k"}],
                    "buffer_records": {
                        "kernel_dispatch": [
                            {
                                "correlation_id": {"internal": 1},
                                "start_timestamp": 5,
                                "end_timestamp": 9,
                                "dispatch_info": {"agent_id": agent, "kernel_id": 3, "workgroup_size": {"x": 2}, "grid_size": {"x": 8}},
                            }
                        ],
                        "memory_copy": [{"start_timestamp": 9, "end_timestamp": 12, "operation": 1, "bytes": 4, "dst_agent_id": agent}],
                        "hip_api": [{"correlation_id": {"internal": 1}, "start_timestamp": 1, "end_timestamp": 2, "thread_id": 6}],
                    },
                }
            ]
        }
    ),
)
m, x = "M", "X"
seed(
    "documents",
    "viewer",
    json.dumps(
        {
            "traceEvents": [
                {"ph": m, "pid": 3, "name": "process_name", "args": {"name": "/device:TPU:0"}},
                {"ph": m, "pid": 4, "name": "process_name", "args": {"name": "/device:GPU:1"}},
                {"ph": m, "pid": 3, "tid": 3, "name": "thread_name", "args": {"name": "XLA Ops"}},
                {"ph": m, "pid": 3, "tid": 1, "name": "thread_name", "args": {"name": "Steps"}},
                {"ph": m, "pid": 4, "tid": 7, "name": "thread_name", "args": {"name": "Stream #7"}},
                {"ph": x, "pid": 3, "tid": 3, "ts": 1.5, "dur": 9, "name": "w", "args": {"hlo_category": "while"}},
                {"ph": x, "pid": 3, "tid": 3, "ts": 2, "dur": 2, "name": "a", "args": {"hlo_category": "copy-start", "tf_op": "f:"}},
                {"ph": x, "pid": 3, "tid": 1, "ts": 2, "dur": 2, "name": "4"},
                {"ph": x, "pid": 4, "tid": 7, "ts": 2, "dur": 2, "name": "MemcpyH2D"},
                {},
            ]
        }
    ),
)
with tempfile.TemporaryDirectory() as tmp:
    path = tmp + "/x.sqlite"
    for name, args in (
        ("small", ["--schema", "2026", "--fault", "nccl", "--fault", "graph"]),
        ("old", ["--schema", "2021"]),
        ("absurd", ["--fault", "absurd", "--fault", "no-key"]),
    ):
        subprocess.run(
            [sys.executable, "tests/gen/gen_nsys.py", "-o", path, "--kernels", "12", "--processes", "1", *args],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        db = sqlite3.connect(path)  # small pages: the fuzzer has more tables and fewer zeros
        db.executescript("PRAGMA page_size = 512; VACUUM;")
        db.close()
        with open(path, "rb") as f:
            data = f.read()
        seed("nsys", name, data)
        if name == "old":
            seed("nsys", "cut", data[: len(data) * 6 // 10])
