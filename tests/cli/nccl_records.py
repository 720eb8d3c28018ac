# SPDX-License-Identifier: Apache-2.0
"""See nccl-records.sh. usage: nccl_records.py BIN PUBLIC-FILE"""

import json
import os
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


def report(what, *paths, code=0):
    global ran
    ran += 1
    run = subprocess.run([binary, "report", "--json", *paths], capture_output=True, text=True)
    check(run.returncode == code, f"{what}: exit {run.returncode}, expected {code}: {run.stderr[:300]}")
    return (json.loads(run.stdout) if run.stdout else None), run.stderr


def put(name, text):
    path = os.path.join(tmp, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def inspector(rank, sn, coll="AllReduce", comm=0x7F8C496AE9F661, ranks=4, size=1 << 20, verbose=None):
    perf = {"coll": coll, "coll_sn": sn, "coll_msg_size_bytes": size, "coll_exec_time_us": 12, "coll_algobw_gbs": 1.5}
    if verbose:
        start, stop = verbose
        perf["event_trace_ts"] = {
            "coll_start_ts": start - 9,
            "coll_stop_ts": start - 5,
            "kernel_events": [
                {"channel_id": 0, "kernel_start_ts": start + 1, "kernel_stop_ts": stop},
                {"channel_id": 1, "kernel_start_ts": start, "kernel_stop_ts": stop - 1},
            ],
        }
    return {
        "header": {"id": hex(comm), "rank": rank, "n_ranks": ranks, "nnodes": 1},
        "metadata": {"inspector_output_format_version": "v4.0", "hostname": "h", "pid": 100 + rank},
        "coll_perf": perf,
    }


for name, show in (
    ("lines", lambda o: json.dumps(o) + "\n"),
    ("pretty", lambda o: json.dumps(o, indent=2) + "\n"),
    ("one line", json.dumps),
):
    paths = [
        put(f"{name}-{rank}.log", "".join(show(inspector(rank, sn, size=sn * 10)) for sn in range(1, 51)))
        for rank in range(4)
    ]
    r, _ = report(name, *paths)
    got = [
        (c["name"], c["ranks"] if "ranks" in c else c.get("nranks"), c["count"], c["bytes"]) for c in r["collectives"]
    ]
    check(got == [("AllReduce", 4, 200, 4 * 10 * sum(range(1, 51)))], f"{name}: {got}")
    check(sorted(i["rank"] for i in r["inputs"]) == [0, 1, 2, 3], f"{name}: ranks")
    check(r["progress"]["suspects"] == [] and r["progress"]["communicators"][0]["agrees"], f"{name}: {r['progress']}")

# A rank that saw fewer: uneven, and nobody is accused, since nothing unfinished is on record.
paths = [
    put(f"short-{rank}.log", "".join(json.dumps(inspector(rank, sn)) + "\n" for sn in range(1, 51 - 10 * (rank == 2))))
    for rank in range(4)
]
r, _ = report("short", *paths)
c = r["progress"]["communicators"][0]
check((c["least_called"], c["most_called"], c["agrees"], c["dumps"]) == (40, 50, False, 4), f"short: {c}")
check(r["progress"]["suspects"] == [], f"short: {r['progress']['suspects']}")

# Verbose records have the kernel's times: first start to last stop of all channels.
lines, sums = "", 0
for sn in range(20):
    start = 1752867229000000 + 1000 * sn
    lines += json.dumps(inspector(0, sn, verbose=(start, start + 100 + sn), ranks=2)) + "\n"
    sums += (100 + sn) * 1000
r, _ = report("verbose", put("verbose.log", lines))
check(
    [(d["kernels"]["count"], d["kernels"]["sum_ns"], d["comm_total_ns"]) for d in r["devices"]] == [(20, sums, sums)],
    f"verbose: {r['devices']}",
)

text = "".join(json.dumps(inspector(0, sn)) + "\n" for sn in range(1, 101))
r, err = report("cut", put("cut.log", text[: len(text) // 2 + 17]), code=3)
check(r and 40 < r["collectives"][0]["count"] < 60 and "inside a record" in err, f"cut: {err}")
lines = text.split("\n")
lines[10], lines[20], lines[30] = lines[10][:50], '{"header": nonsense}', '{"header": {"id": "never closed'
r, err = report("broken", put("broken.log", "\n".join(lines)), code=3)
check(
    r and r["collectives"][0]["count"] in (96, 97) and r["inputs"][0]["lost"]["events"] >= 2,
    f"broken: {r['collectives'][0] if r else err}, {err}",
)
r, err = report("not ours", put("notours.json", '{"header": 1, "coll_perf": 2}\n{"header": 3}\n'), code=1)
check("NCCL Inspector" in err, f"not ours: {err}")
r, err = report(
    "absurd",
    put(
        "absurd.log",
        json.dumps(inspector(-5, 2**70))
        + "\n"
        + json.dumps(inspector(2**40, 1))
        + "\n"
        + json.dumps(inspector(1, -3, size=-1, ranks=2**60))
        + "\n",
    ),
)
check(r and r["collectives"][0]["count"] == 1, f"absurd: {r['collectives'] if r else err}")
r, err = report("giant", put("giant.log", text + '{"header": "' + "x" * (2 << 20) + '"}\n' + text), code=3)
check(r and r["collectives"][0]["count"] == 200 and r["inputs"][0]["lost"]["events"] == 1, f"a giant record: {err}")

if os.path.exists(public):
    r, _ = report("c001", public)
    rows, kernels = [], []
    with open(public) as f:
        for line in f:
            o = json.loads(
                line,
                parse_float=lambda t: int(
                    t.replace(".", "").ljust(len(t.split(".")[0]) + 3, "0")[: len(t.split(".")[0]) + 3]
                ),
            )
            if o.get("type") == "ncclProfileColl":
                rows.append(o)
            if o.get("recordType") == "cuptiActivity" and o["type"] == "KERNEL":
                kernels.append(o["stop"]["ts"] - o["start"]["ts"])
    recorded = [c for c in r["collectives"] if c["count"] is not None]
    check(sum(c["count"] for c in recorded) == len(rows) == 8, f"c001: {r['collectives']}")
    check(sum(c["bytes"] for c in recorded) == 4 * sum(o["details"]["count"] for o in rows), "c001: bytes")
    check(sorted(d["kernels"]["sum_ns"] for d in r["devices"]) == sorted(kernels), f"c001: kernels {kernels}")
    check(
        sorted(d["rank"] for d in r["devices"]) == [0, 1, 2, 3]
        and all(d["kernels"]["without_launch"] == 0 for d in r["devices"]),
        "c001: kernels are not with their ranks and launches",
    )
    check(
        r["progress"]["suspects"] == [] and all(c["agrees"] for c in r["progress"]["communicators"]),
        "c001: somebody is accused",
    )
else:
    print(f"no {public} here: the public records were not read")
shutil.rmtree(tmp)
for f in failures:
    print(f)
print(f"{ran} reports, {len(failures)} differences")
sys.exit(1 if failures else 0)
