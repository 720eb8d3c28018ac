#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Memory of allocators from Kineto's [memory] rows: peaks and ends per device as an independent reading of the same file
# says, for made rows in any order and with any keys first, and for public files; the same after conversion.
set -u
exec python3 - "$(realpath "${BUILD:-build}/warptap")" ../shared/traces/kineto <<'PY'
import glob, gzip, json, os, random, subprocess, sys, tempfile

binary, public = sys.argv[1:3]
tmp = tempfile.mkdtemp()
bad = 0


def fail(text):
    global bad
    bad = 1
    print("FAIL:", text)


def want(document):
    rows = {}
    events = document if isinstance(document, list) else document["traceEvents"]
    for e in events:
        a = e.get("args") or {}
        if e.get("ph") != "i" or e.get("name") != "[memory]" or a.get("Device Type", 0) == 0 or a.get("Device Id", -1) < 0:
            continue
        rows.setdefault(a["Device Id"], []).append((float(e["ts"]), a.get("Total Allocated", 0), a.get("Total Reserved", 0)))
    out = {}
    for device, r in rows.items():
        end = max(range(len(r)), key=lambda i: (r[i][0], i))
        peaks = max(x[1] for x in r), max(x[2] for x in r)
        ends = r[end][1:] if any(peaks) else (None, None)
        out[device] = (peaks[0] or None, peaks[1] or None, *ends, len(r))
    return out


def got(path):
    run = subprocess.run([binary, "report", "--json", path], capture_output=True, text=True)
    if run.returncode:
        fail(f"{path}: exit {run.returncode} {run.stderr}")
        return None
    keys = ("peak_allocated_bytes", "peak_reserved_bytes", "end_allocated_bytes", "end_reserved_bytes", "events")
    return {m["device"]: tuple(m[k] for k in keys) for m in json.loads(run.stdout)["memory"]}


rnd = random.Random(5)
for variant in range(4):
    events = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 5, "dur": 1, "args": {"device": 0, "stream": 7}}]
    for i in range(300):
        # Host rows, one device that says no totals, counters of the same name, and instants of others.
        kind, device = [(0, -1), (1, 0), (1, 1), (1, 3)][rnd.randrange(4)]
        args = {"Device Type": kind, "Device Id": device, "Bytes": rnd.randrange(-99, 99), "Addr": 2**63 + i}
        if device != 3:
            args.update({"Total Allocated": rnd.randrange(2**40), "Total Reserved": rnd.randrange(2**41)})
        e = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": i + rnd.random() / 4}
        e["args"] = args
        if i % 50 == 0:
            e["ph"], e["name"] = [("C", "[memory]"), ("i", "other")][i // 50 % 2]
        if variant % 2:  # args and cat before name and ph
            e = dict(sorted(e.items()))
        events.append(e)
    if variant > 1:
        rnd.shuffle(events)
    path = os.path.join(tmp, f"made{variant}.json")
    with open(path, "w") as f:
        json.dump({"traceEvents": events}, f)
    w = want({"traceEvents": events})
    if set(w) != {0, 1, 3} or got(path) != w:
        fail(f"made {variant}: {got(path)}, expected {w}")
    subprocess.run([binary, "convert", path, "-o", path + ".wt"], check=True, capture_output=True)
    if got(path + ".wt") != w:
        fail(f"made {variant}, converted: {got(path + '.wt')}, expected {w}")
text = subprocess.run([binary, "report", path], capture_output=True, text=True).stdout
if f"device 0: {w[0][0] / 2**30:.3f} GiB allocated at most, {w[0][1] / 2**30:.3f} GiB reserved at most" not in text:
    fail("the text does not say it: " + "\n".join(x for x in text.splitlines() if "GiB" in x))
n = 0
for path in sorted(glob.glob(public + "/*.gz")):
    with gzip.open(path) as f:
        raw = f.read()
    if b"[memory]" not in raw:
        continue
    n += 1
    if got(path) != want(json.loads(raw)):
        fail(f"{path}: {got(path)}, expected {want(json.loads(raw))}")
print(f"4 made files, {n} public ones" + ("" if n else ": they are not here"))
sys.exit(bad)
PY
