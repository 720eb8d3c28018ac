# SPDX-License-Identifier: Apache-2.0
"""See csv-tables.sh. usage: csv_tables.py BIN PUBLIC-FILE"""

import csv
import io
import json
import os
import random
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


def report(name, text, code=0):
    global ran
    ran += 1
    path = os.path.join(tmp, name)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    run = subprocess.run([binary, "report", "--json", path], capture_output=True, text=True)
    check(run.returncode == code, f"{name}: exit {run.returncode}, expected {code}: {run.stderr[:300]}")
    r = json.loads(run.stdout) if run.stdout else None
    for d in r["devices"] if r else []:
        check(sum(d["leaves_ns"].values()) == d["window_ns"], f"{name}: leaves do not sum to the window")
    return r, run.stderr


rnd = random.Random(5)
names = ["add(float*)", 'k<"q", int>', "void f<a, b>(c,\nd)", "plain"]
ops = []  # device, stream, start, length, kind, name, bytes
t = 1_000_000
for i in range(500):
    t += rnd.randrange(100, 9000)
    kind = rnd.choice(["kernel"] * 6 + ["copy", "set"])
    ops.append((i % 2, 7 + i % 3, t, rnd.randrange(1, 12000), kind, rnd.choice(names), rnd.randrange(1, 4000) * 1000))


def truth(ops):
    devices = {}
    for device, _, start, length, kind, _, _ in ops:
        devices.setdefault(device, []).append((start, start + length, kind))
    rows = []
    for device, spans in sorted(devices.items()):
        kernels = sorted(s for s in spans if s[2] == "kernel")
        union, reached = 0, -1
        for s, e, _ in kernels:
            union += max(0, e - max(s, reached))
            reached = max(reached, e)
        rows.append(
            [
                device,
                len(kernels),
                union,
                sum(e - s for s, e, _ in kernels),
                max(e for _, e, _ in spans) - min(s for s, _, _ in spans),
            ]
        )
    return rows


def got(r):
    return sorted(
        [d["device"], d["kernels"]["count"], d["kernels"]["union_ns"], d["kernels"]["sum_ns"], d["window_ns"]]
        for d in r["devices"]
    )


def table(header, rows, before="", units=None):
    out = io.StringIO()
    w = csv.writer(out)
    w.writerow(header)
    if units:
        w.writerow(units)
    w.writerows(rows)
    return before + out.getvalue()


def nsys(unit, scale, digits):
    header = [
        f"Start ({unit})",
        f"Duration ({unit})",
        "CorrId",
        "GrdX",
        "GrdY",
        "GrdZ",
        "BlkX",
        "BlkY",
        "BlkZ",
        "Reg/Trd",
        "StcSMem (MB)",
        "DymSMem (MB)",
        "Bytes (MB)",
        "Throughput (MB/s)",
        "SrcMemKd",
        "DstMemKd",
        "Device",
        "Ctx",
        "GreenCtx",
        "Strm",
        "Name",
    ]
    rows = []
    for i, (device, stream, start, length, kind, name, size) in enumerate(ops):
        time = [f"{start / scale:.{digits}f}", f"{length / scale:.{digits}f}", i]
        where = [f"NVIDIA H100 ({device})", 1, "", stream]
        if kind == "kernel":
            rows.append(time + [128, 1, 1, 256, 1, 1, 32, "0.001", "0.000", "", "", "", ""] + where + [name])
        else:
            rows.append(
                time
                + [""] * 8
                + [""]
                + [f"{size / 1e6:.3f}", "", "Pageable", "Device"]
                + where
                + ["[CUDA memcpy Host-to-Device]" if kind == "copy" else "[CUDA memset]"]
            )
    return table(header, rows, "Processing [x.sqlite] with [cuda_gpu_trace.py]... \n")


for unit, scale, digits in (("ns", 1, 0), ("nsec", 1, 0), ("us", 1e3, 3), ("ms", 1e6, 6), ("s", 1e9, 9)):
    r, _ = report(f"nsys-{unit}.csv", nsys(unit, scale, digits))
    check(r and got(r) == truth(ops), f"nsys {unit}: {got(r) if r else r}, expected {truth(ops)}")
    check(r and r["devices"][0]["name"] == "NVIDIA H100", "the device has no name")
    counted = {k["name"]: k["count"] for k in r["kernels"]}
    check(set(counted) == set(names), f"names: {list(counted)}")
r, _ = report("crlf.csv", nsys("ns", 1, 0).replace("\r\n", "\n").replace("\n", "\r\n").replace("c,\r\nd", "c,\nd"))
check(r and got(r) == truth(ops), "CR LF")

header = [
    "Start",
    "Duration",
    "Grid X",
    "Grid Y",
    "Grid Z",
    "Block X",
    "Block Y",
    "Block Z",
    "Registers Per Thread",
    "Static SMem",
    "Dynamic SMem",
    "Size",
    "Throughput",
    "SrcMemType",
    "DstMemType",
    "Device",
    "Context",
    "Stream",
    "Name",
]
units = ["s", "us"] + [""] * 7 + ["KB", "B", "MB", "GB/s"] + [""] * 6
rows = []
for device, stream, start, length, kind, name, size in ops:
    rows.append(
        [f"{start / 1e9:.9f}", f"{length / 1e3:.3f}"]
        + (
            [64, 1, 1, 128, 1, 1, 16, "0.5", 0, "", "", "", ""]
            if kind == "kernel"
            else [""] * 9 + [size / 1e6, "1.5", "Pageable", "Device"]
        )
        + [f"Tesla V100 ({device})", "1", stream]
        + [f"{name} [117]" if kind == "kernel" else "[CUDA memcpy HtoD]" if kind == "copy" else "[CUDA memset]"]
    )
r, _ = report(
    "nvprof.csv", table(header, rows, "==77== NVPROF is profiling process 77\n==77== Profiling result:\n", units)
)
check(r and got(r) == truth(ops), f"nvprof: {got(r) if r else r}, expected {truth(ops)}")
check(r and {k["name"] for k in r["kernels"]} == set(names), "nvprof: names keep their numbers")

kernels = [o for o in ops if o[4] == "kernel"]
r, _ = report(
    "kernel_trace.csv",
    table(
        [
            "Kind",
            "Agent_Id",
            "Queue_Id",
            "Thread_Id",
            "Dispatch_Id",
            "Kernel_Id",
            "Kernel_Name",
            "Correlation_Id",
            "Start_Timestamp",
            "End_Timestamp",
            "LDS_Block_Size",
            "VGPR_Count",
            "Workgroup_Size_X",
            "Workgroup_Size_Y",
            "Workgroup_Size_Z",
            "Grid_Size_X",
            "Grid_Size_Y",
            "Grid_Size_Z",
        ],
        [
            ["KERNEL_DISPATCH", f"Agent {d}", s, 5, i, 3, n, i, st, st + ln, 0, 32, 64, 1, 1, 640, 1, 1]
            for i, (d, s, st, ln, _, n, _) in enumerate(kernels)
        ],
    ),
)
check(r and [g[:4] for g in got(r)] == [w[:4] for w in truth(kernels)], "rocprofv3")

text = nsys("ns", 1, 0)
r, err = report("cut.csv", text[: int(len(text) * 0.6)], 3)
check(r and 100 < sum(d["kernels"]["count"] for d in r["devices"]) < len(kernels) and r["inputs"][0]["damaged"], "cut")
r, err = report("tail.csv", text.rstrip("\r\n")[:-1], 0)
check(r and any("the last line has no end" in n for n in r["notes"]), f"no word of the missing line end: {r and r['notes']}")
lines = nsys("ns", 1, 0).replace("c,\nd", "cd").split("\r\n")
lines[50], lines[60] = "garbage", "-,-," + lines[60]
r, err = report("broken.csv", "\r\n".join(lines), 3)
check(r and r["inputs"][0]["lost"]["events"] == 2, f"broken: {r['inputs'] if r else err}")
r, err = report(
    "quote.csv", "Start (ns),Duration (ns),Device,Strm,Name\n1,2,\"GPU (0),7,\"never closed\n5,6,G (0),7,k\n", 3
)
r, err = report(
    "long.csv", "Start (ns),Duration (ns),Device,Strm,Name\n1,2,G (0),7,ok\n3,4,G (0),7," + "x" * (2 << 20) + "\n", 3
)
check(r and sum(d["kernels"]["count"] for d in r["devices"]) == 1 and "1 MiB" in err, f"a giant row: {err}")
r, err = report(
    "absurd.csv",
    "Start (ns),Duration (ns),Device,Strm,Name\n1,2,G (99999999999),7,k\n9223372036854775807,5,G (0),7,k\n"
    "-5,1e3,G (0),-1,k\n7,-3,G (0),7,k\nnan,1,G (0),7,k\n",
    3,
)
check(r and r["inputs"][0]["lost"]["events"] == 3, f"absurd: {r['inputs'] if r else err}")

for name, head, word in (
    (
        "sum.csv",
        "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n1,2,3,4,5,6,7,8,k\n",
        "cuda_gpu_trace",
    ),
    (
        "api.csv",
        "Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name\n1,2,cudaMalloc,0,1,2,3,20,x\n",
        "cuda_gpu_trace",
    ),
    (
        "nvsum.csv",
        '==1== Profiling result:\n"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n,%,us,,us,us,us,\n',
        "print-gpu-trace",
    ),
    (
        "ncu.csv",
        '"ID","Process ID","Kernel Name","Metric Name","Metric Value"\n"0","1","k","x","2"\n',
        "Nsight Compute",
    ),
    ("other.csv", "a,b,c\n1,2,3\n", "not a trace"),
):
    r, err = report(name, head, 1)
    check(r is None and word in err, f"{name}: {err}")

if os.path.exists(public):
    with open(public, "rb") as f:
        r, _ = report("o006.csv", f.read())
    check(r and got(r) == [[0, 1, 13935631, 13935631, 13935631]], f"o006: {got(r) if r else r}")
else:
    print(f"no {public} here: the public table was not read")
shutil.rmtree(tmp)
for f in failures:
    print(f)
print(f"{ran} reports, {len(failures)} differences")
sys.exit(1 if failures else 0)
