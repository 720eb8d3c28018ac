# SPDX-License-Identifier: Apache-2.0
"""See nsys-generated.sh. usage: nsys_generated.py BIN"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

binary = os.path.realpath(sys.argv[1])
tmp = tempfile.mkdtemp()
failures = []
ran = 0


def check(ok, text):
    if not ok:
        failures.append(text)


def make(name, *args):
    path = os.path.join(tmp, name)
    lines = subprocess.run(
        [sys.executable, "tests/gen/gen_nsys.py", "-o", path, *args], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    truth = {}
    for line in lines:
        key, *rest = line.split("\t")
        truth[key] = list(map(int, rest))
    return path, truth


def report(path, code):
    global ran
    ran += 1
    before = sorted(os.listdir(tmp))
    run = subprocess.run([binary, "report", "--json", path], capture_output=True, text=True)
    name = os.path.basename(path)
    check(run.returncode == code, f"{name}: exit {run.returncode}, expected {code}: {run.stderr[:300]}")
    check(sorted(os.listdir(tmp)) == before, f"{name}: something was written beside it")
    check("swordfish" not in run.stdout + run.stderr, f"{name}: the environment was read")
    r = json.loads(run.stdout) if run.stdout else None
    for d in r["devices"] if r else []:
        check(sum(d["leaves_ns"].values()) == d["window_ns"], f"{name}: leaves do not sum to the window")
    return r, run.stderr


def kernels(r):
    return sorted([d["kernels"][k] for k in ("count", "union_ns", "sum_ns", "without_launch")] for d in r["devices"])


def wanted(truth):
    return sorted(v[1:] for k, v in truth.items() if k.isdigit())


def same(name, *args, launches=True, devices=True, code=0):
    path, truth = make(name, *args)
    r, _ = report(path, code)
    if not r:
        return None, truth
    got, want = kernels(r), wanted(truth)
    if not launches:
        got, want = [g[:3] for g in got], [w[:3] for w in want]
    check(got == want, f"{name}: kernels {got}, expected {want}")
    return r, truth


for schema in ("2021", "2023", "2026"):
    r, truth = same(f"plain{schema}.sqlite", "--schema", schema, "--seed", schema, "--processes", "3")
    check(r and all(d["name"].startswith("NVIDIA") for d in r["devices"]), f"{schema}: a device has no name")
    check(
        r and len(r["steps"]) == truth["steps"][0], f"{schema}: {len(r['steps'])} steps, {truth['steps'][0]} expected"
    )
same("versioned.sqlite", "--fault", "versioned")
same("nokey.sqlite", "--fault", "no-key")
same("nopid.sqlite", "--fault", "no-pid", "--processes", "1")
same("graph.sqlite", "--fault", "graph", "--processes", "4")
same("absurd.sqlite", "--fault", "absurd")
same("secrets.sqlite", "--fault", "secrets")
r, _ = same("level.sqlite", "--fault", "graph", "--fault", "graph-level", "--processes", "1")
check(
    r and r["devices"][0]["compute_ns"] > r["devices"][0]["kernels"]["union_ns"],
    "a graph recorded as a whole owns no time",
)

r, truth = same("nccl.sqlite", "--fault", "nccl", "--processes", "2")
if r:
    calls = [c for c in r["collectives"] if c["name"] == "ncclAllReduce"]
    check(
        sum(c["count"] for c in calls) == truth["collectives"][0],
        f"collectives: {r['collectives']}, expected {truth['collectives']}",
    )
    check(
        sum(c["bytes"] for c in calls) == truth["collectives"][1],
        f"bytes: {[c['bytes'] for c in calls]}, expected {truth['collectives']}",
    )
    check(
        sum(c["kernels"] for c in calls) == truth["collectives"][2],
        f"kernels of collectives: {[c['kernels'] for c in calls]}, expected {truth['collectives']}",
    )
    check(sorted(d["rank"] for d in r["devices"]) == [0, 1], "NCCL's ranks are not those of the devices")

# Two machines, their sessions 5 ms apart: the same work is 5 ms later on one clock.
paths = [
    make(
        f"host{i}.sqlite",
        "--processes",
        "1",
        "--fault",
        "no-gpu",
        "--session",
        str(1_700_000_000_000_000_000 + 5_000_000 * i),
    )[0]
    for i in range(2)
]
run = subprocess.run([binary, "report", "--json", *paths], capture_output=True, text=True)
starts = sorted(d["window_start_ns"] for d in json.loads(run.stdout)["devices"])
check(len(starts) == 2 and starts[1] - starts[0] == 5_000_000, f"two sessions: {starts}")

for fault, word in (
    ("no-kernel", "KERNEL"),
    ("no-runtime", "RUNTIME"),
    ("no-memcpy", "MEMCPY"),
    ("no-nvtx", "NVTX_EVENTS"),
):
    path, truth = make(f"{fault}.sqlite", "--fault", fault)
    r, _ = report(path, 0)
    check(
        r and any("not in this export" in n and word in n for n in r["notes"]), f"{fault}: the report does not say so"
    )
    if r and fault == "no-runtime":
        check(all(k[3] == k[0] for k in kernels(r)), "no-runtime: kernels have launches")
same("no-gpu.sqlite", "--fault", "no-gpu")

path, truth = make("page.sqlite", "--fault", "page", "--kernels", "3000", "--processes", "1")
r, err = report(path, 3)
if r:
    got, want = kernels(r)[0][0], wanted(truth)[0][0]
    check(want - 120 < got < want, f"page: {got} of {want} kernels: more than one page is lost, or nothing")
    check(r["inputs"][0]["damaged"] and "KERNEL" in r["inputs"][0]["lost"]["text"], "page: it does not say which table")
for kernels_asked in ("3000", "40000"):
    path, truth = make(f"cut{kernels_asked}.sqlite", "--fault", "cut", "--kernels", kernels_asked, "--processes", "1")
    r, err = report(path, 3)
    if r:
        check(0 < kernels(r)[0][0], "cut: nothing was read")
        check(
            r["inputs"][0]["lost"]["bytes"] > 0 and r["inputs"][0]["damaged"], "cut: it does not say how much is lost"
        )


# What is no export: refused by name, exit 1.
def database(name, sql):
    path = os.path.join(tmp, name)
    db = sqlite3.connect(path)
    db.executescript(sql)
    db.close()
    return path


for path, word in (
    (database("other.sqlite", "CREATE TABLE t (a)"), "no Nsight Systems export"),
    (
        database(
            "nvprof.nvvp", "CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (start); CREATE TABLE StringTable (id)"
        ),
        "nvprof",
    ),
    (database("rocpd.db", "CREATE TABLE rocpd_string_x (id)"), "rocpd convert"),
    # views and generated columns are somebody else's program: not run
    (
        database("view.sqlite", "CREATE VIEW StringIds AS SELECT 1 AS id; CREATE VIEW NVTX_EVENTS AS SELECT 2"),
        "no Nsight",
    ),
):
    r, err = report(path, 1)
    check(r is None and word in err, f"{os.path.basename(path)}: {err}")
endless = """CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId AS (length(zeroblob(900000000)) + length(hex(zeroblob(200000000)))));
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2);"""
r, err = report(database("generated.sqlite", endless), 0)
with open(os.path.join(tmp, "header.sqlite"), "wb") as f:
    f.write(b"SQLite format 3\0" + bytes(50))
r, err = report(os.path.join(tmp, "header.sqlite"), 1)
check("100 bytes" in err, f"header: {err}")
with open(os.path.join(tmp, "noise.sqlite"), "wb") as f:
    f.write(b"SQLite format 3\0" + bytes((i * 37 + 11) & 0xFF for i in range(8000)))
report(os.path.join(tmp, "noise.sqlite"), 1)
with open(os.path.join(tmp, "x.nsys-rep"), "wb") as f:
    f.write(b"NVIDIA Tegra Profiler Report 2025.3 \0\1\2")
r, err = report(os.path.join(tmp, "x.nsys-rep"), 1)
check("nsys export --type sqlite" in err, f".nsys-rep: {err}")
odd = os.path.join(tmp, "odd name %41?#.sqlite")
shutil.copy(os.path.join(tmp, "graph.sqlite"), odd)
report(odd, 0)

shutil.rmtree(tmp)
for f in failures:
    print(f)
print(f"{ran} reports, {len(failures)} differences")
sys.exit(1 if failures else 0)
