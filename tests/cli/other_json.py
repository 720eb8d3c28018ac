# SPDX-License-Identifier: Apache-2.0
"""See other-json.sh. usage: other_json.py BIN PUBLIC-FOLDER"""

import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import zlib
from decimal import ROUND_HALF_UP, Decimal

binary, public = os.path.realpath(sys.argv[1]), sys.argv[2]
tmp = tempfile.mkdtemp()
failures = []
ran = 0


def check(ok, text):
    if not ok:
        failures.append(text)


def report(name, data, code=0):
    global ran
    ran += 1
    path = data
    if not isinstance(data, str):
        path = os.path.join(tmp, name)
        with open(path, "wb") as f:
            f.write(json.dumps(data).encode() if not isinstance(data, bytes) else data)
    run = subprocess.run([binary, "report", "--json", path], capture_output=True, text=True)
    check(run.returncode == code, f"{name}: exit {run.returncode}, expected {code}: {run.stderr[:300]}")
    r = json.loads(run.stdout) if run.stdout else None
    for d in r["devices"] if r else []:
        check(sum(d["leaves_ns"].values()) == d["window_ns"], f"{name}: leaves do not sum to the window")
    return r, run.stderr


def union(spans):
    total, reached = 0, -(2**63)
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def got(r):
    return sorted([d["device"]] + [d["kernels"][k] for k in ("count", "union_ns", "sum_ns")] for d in r["devices"])


def rows(spans):
    return sorted([d, len(s), union(s), sum(e - b for b, e in s)] for d, s in spans.items())


# ---- rocprofv3
rnd = random.Random(3)
names = ["void gemm<float>(int)", "ck_tile::kernel", "ncclDevKernel_Generic(ncclDevKernelArgs*)"]
dispatches, copies, calls, spans, unmatched, now = [], [], [], {0: [], 1: []}, 0, 10**15
for i in range(400):
    gpu = i % 2
    now += rnd.randrange(100, 9000)
    length = rnd.randrange(1, 12000)
    spans[gpu].append((now, now + length))
    dispatches.append(
        {
            "size": 1,
            "kind": 2,
            "operation": 0,
            "thread_id": 9,
            "correlation_id": {"internal": i + 1, "external": 0},
            "start_timestamp": now,
            "end_timestamp": now + length,
            "stream_id": {"handle": i % 3},
            "dispatch_info": {
                "agent_id": {"handle": 700 + gpu},
                "queue_id": {"handle": 1},
                "kernel_id": 5 + i % 3,
                "dispatch_id": i,
                "group_segment_size": 1024,
                "workgroup_size": {"x": 64, "y": 1, "z": 1},
                "grid_size": {"x": 6400, "y": 1, "z": 1},
            },
        }
    )
    if i % 10:
        calls.append(
            {
                "kind": 0,
                "operation": 1,
                "thread_id": 9,
                "correlation_id": {"internal": i + 1},
                "start_timestamp": now - 900,
                "end_timestamp": now - 500,
            }
        )
    else:
        unmatched += 1
for i in range(20):
    copies.append(
        {
            "kind": 1,
            "operation": 1 + i % 2,
            "correlation_id": {"internal": 9000 + i},
            "start_timestamp": now + 100 * i,
            "end_timestamp": now + 100 * i + 50,
            "bytes": 4096,
            "src_agent_id": {"handle": 1},
            "dst_agent_id": {"handle": 700},
        }
    )
tool = {
    "metadata": {"pid": 77, "node": {"hostname": "h"}},
    "agents": [{"id": {"handle": 1}, "type": 1, "name": "cpu"}]
    + [
        {"id": {"handle": 700 + g}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X", "cu_count": 304}
        for g in (0, 1)
    ],
    "strings": {
        "buffer_records": [
            {"kind": "HIP_RUNTIME_API", "operations": ["none", "hipLaunchKernel"]},
            {"kind": "MEMORY_COPY", "operations": ["none", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST"]},
            {"kind": "KERNEL_DISPATCH", "operations": ["x"]},
        ]
    },
    "kernel_symbols": [
        {"kernel_id": 5 + i, "kernel_name": "_Z", "formatted_kernel_name": n} for i, n in enumerate(names)
    ],
    "buffer_records": {"kernel_dispatch": dispatches, "memory_copy": copies, "hip_api": calls, "hsa_api": []},
}
for name, document in (("list", {"rocprofiler-sdk-tool": [tool]}), ("single", {"rocprofiler-sdk-tool": tool})):
    r, _ = report(f"rocprof {name}.json", document)
    check(r and got(r) == rows(spans), f"rocprof {name}: {got(r) if r else r}, expected {rows(spans)}")
    check(r and sum(d["kernels"]["without_launch"] for d in r["devices"]) == unmatched, f"rocprof {name}: launches")
    check(r and {k["name"] for k in r["kernels"]} == set(names), f"rocprof {name}: names")
    check(r and r["devices"][0]["name"] == "AMD Instinct MI300X", f"rocprof {name}: the device's name")
r, err = report("rocprof none.json", {"rocprofiler-sdk-tool": [{"metadata": {}}]}, 1)
check("--kernel-trace" in err, f"rocprof without records: {err}")
bad = dict(
    tool, buffer_records={"kernel_dispatch": [{}, {"start_timestamp": 9, "end_timestamp": 5}, dispatches[0], 7, None]}
)
r, err = report("rocprof bad.json", {"rocprofiler-sdk-tool": [bad]})
check(r and sum(k["sum_ns"] for k in r["kernels"]) == spans[0][0][1] - spans[0][0][0], f"rocprof bad rows: {err}")



def whole(text, key):
    """The items of the list of that key which are whole in a text that is cut."""
    at, items, decoder = text.index('"' + key + '": [') + len(key) + 5, [], json.JSONDecoder(parse_float=str)
    while text[at : at + 1] == "{":
        try:
            item, at = decoder.raw_decode(text, at)
        except ValueError:
            break
        items.append(item)
        at += 2
    return items


def by_gpu(records):
    out = {}
    for d in records:
        gpu = d["dispatch_info"]["agent_id"]["handle"] - 700
        out.setdefault(gpu, []).append((d["start_timestamp"], d["end_timestamp"]))
    return out


text = json.dumps({"rocprofiler-sdk-tool": [tool]})
first, last = text.index('"kernel_dispatch"'), text.index('"memory_copy"')
for i in range(25):
    data = text[: first + 600 + (last - first - 600) * i // 25]
    for kind in ("plain", "gzip"):
        packed = gzip.compress(text.encode(), 6)
        if kind == "gzip" and i % 5:
            continue
        if kind == "gzip":  # the text that a cut member gives is found out by inflating it
            packed = packed[: len(packed) * (40 + 2 * i) // 100]
            data = zlib.decompressobj(31).decompress(packed).decode()
            if len(data) < first + 600:
                continue
        r, err = report("rocprof cut.json", packed if kind == "gzip" else data.encode(), 3)
        want = rows(by_gpu(whole(data, "kernel_dispatch")))
        check(r and [g for g in got(r) if g[1]] == want, f"rocprof cut {kind} {i}: {got(r) if r else r}, expected {want}")
        check(r and r["inputs"][0]["damaged"] and "rocprof cut.json" in err, f"rocprof cut {kind} {i}: not said: {err}")
report("rocprof cut early.json", text[: text.index('"kernel_symbols"')].encode(), 1)

# ---- XProf's trace viewer


def viewer_spans(document, cut=False):
    """Leaves of 'XLA Ops' (control flow around others left out, copies too), and of GPU streams, per device."""
    ns = lambda t: int((Decimal(t) * 1000).to_integral_value(ROUND_HALF_UP))
    device, thread, lines = {}, {}, {}
    for e in document["traceEvents"]:
        if e.get("ph") == "M" and e["name"] == "process_name" and e["args"]["name"].startswith("/device:"):
            device[e["pid"]] = int(e["args"]["name"].rsplit(":", 1)[1])
        if e.get("ph") == "M" and e["name"] == "thread_name":
            thread[e["pid"], e["tid"]] = e["args"]["name"]
    for e in document["traceEvents"]:
        if e.get("ph") == "X" and e["pid"] in device:
            name = thread.get((e["pid"], e["tid"]), "")
            if name == "XLA Ops" or name.startswith("Stream #"):
                start = ns(e["ts"])
                lines.setdefault((e["pid"], e["tid"]), []).append((start, -(start + ns(e["dur"])), e))
    spans = {}
    for (pid, _), line in lines.items():
        line.sort(key=lambda x: x[:2])
        out = spans.setdefault(device[pid], [])
        for i, (start, end, e) in enumerate(line):
            category = (e.get("args") or {}).get("hlo_category")
            inside = i + 1 < len(line) and line[i + 1][0] < -end and -line[i + 1][1] <= -end
            if category in ("while", "conditional", "call", "async-call") and (inside or cut):
                continue
            if (
                category in ("copy-start", "copy-done", "infeed", "outfeed")
                or "emcpy" in e["name"]
                or "emset" in e["name"]
            ):
                continue
            out.append((start, -end))
    return {d: s for d, s in spans.items() if s}


def meta(pid, name, tid=None):
    e = {"ph": "M", "pid": pid, "name": "process_name" if tid is None else "thread_name", "args": {"name": name}}
    return e if tid is None else dict(e, tid=tid)


events = [
    meta(3, "/device:TPU:0"),
    meta(3, "XLA Ops", 3),
    meta(3, "XLA Modules", 2),
    meta(3, "Steps", 1),
    meta(9, "/host:CPU"),
    meta(4, "/device:GPU:1"),
    meta(4, "Stream #7(Compute)", 7),
    meta(4, "XLA Ops", 2000),
]
t = 1000.25
for i in range(60):
    if i % 6 == 0:
        events.append(
            {
                "ph": "X",
                "pid": 3,
                "tid": 3,
                "ts": t,
                "dur": 50.0,
                "name": f"while.{i}",
                "args": {"hlo_category": "while"},
            }
        )
        events.append({"ph": "X", "pid": 3, "tid": 1, "ts": t, "dur": 60.5, "name": str(i // 6)})
    category = ["convolution fusion", "all-reduce", "copy-start"][i % 3]
    events.append(
        {
            "ph": "X",
            "pid": 3,
            "tid": 3,
            "ts": t,
            "dur": 7.125,
            "name": f"op.{i}",
            "args": {
                "hlo_category": category,
                "tf_op": "jit(f)/dot:",
                "shape_with_layout": "f32[8,128]{1,0:T(8,128)}",
                "bytes_accessed": "64",
            },
        }
    )
    events.append({"ph": "X", "pid": 3, "tid": 2, "ts": t, "dur": 9.0, "name": "jit_f(1)"})
    events.append({"ph": "X", "pid": 4, "tid": 7, "ts": t, "dur": 3.0009, "name": "gemm" if i % 4 else "MemcpyH2D"})
    events.append({"ph": "X", "pid": 9, "tid": 5, "ts": t, "dur": 3, "name": "$python"})
    t += 8.5 if i % 6 < 5 else 30.0
document = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events + [{}]}
text = json.dumps(document)
exact = json.loads(text, parse_float=str, parse_int=lambda x: int(x))
r, _ = report("viewer.json", text.encode())
check(
    r and [g for g in got(r)] == [w for w in rows(viewer_spans(exact))],
    f"viewer: {got(r) if r else r}, expected {rows(viewer_spans(exact))}",
)
info = subprocess.run([binary, "info", os.path.join(tmp, "viewer.json")], capture_output=True, text=True).stdout
check("(10 steps)" in info, f"viewer: {info}")
check(
    r and any(d["comm_total_ns"] > 0 for d in r["devices"]) and any(".xplane.pb" in n for n in r["notes"]),
    "viewer: no all-reduce, or no word of the source",
)
for percent in range(20, 100, 4):
    part = text[: len(text) * percent // 100]
    r, err = report("viewer cut.json", part.encode(), 3)
    want = rows(viewer_spans({"traceEvents": whole(part, "traceEvents")}, cut=True))
    check(r and got(r) == want, f"viewer cut at {percent} %: {got(r) if r else r}, expected {want}")
    check(r and r["inputs"][0]["damaged"] and "viewer cut.json" in err, f"viewer cut at {percent} %: {err}")
report("viewer cut early.json", text[:300].encode(), 1)
for name in ("t001", "t003"):
    path = os.path.join(public, name + ".json.gz")
    if not os.path.exists(path):
        print(f"no {path} here: it was not read")
        continue
    with gzip.open(path) as f:
        document = json.load(f, parse_float=str)
    r, _ = report(name, path)
    check(
        r and got(r) == rows(viewer_spans(document)),
        f"{name}: {got(r) if r else r}, expected {rows(viewer_spans(document))}",
    )

shutil.rmtree(tmp)
for f in failures:
    print(f)
print(f"{ran} reports, {len(failures)} differences")
sys.exit(1 if failures else 0)
