#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An engine that ends before its work is done: each process that used the GPU has a trace, in which every launch is
counted; what CUPTI had not handed over is said to be missing, launch by launch.

usage: ended.py HOW WARPTAP SIM TRACES OUTPUT CMD...
HOW: kill (the engine's process, by SIGKILL), term (the process that was started), or ctrl-c (all of them at once)
"""
import glob
import json
import os
import signal
import subprocess
import sys
import time

HOW, WARPTAP, SIM, TRACES, OUTPUT = sys.argv[1:6]
ENGINE = b"VLLM::EngineCore"


def fresh():
    """As from a terminal: a process group of its own, and Ctrl-C means something."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def below(pid):
    """All processes under one."""
    found = []
    for path in glob.glob("/proc/%d/task/*/children" % pid):
        try:
            found += [int(c) for c in open(path).read().split()]
        except OSError:
            pass
    return found + [g for c in found for g in below(c)]


def cmdline(pid):
    try:
        return open("/proc/%d/cmdline" % pid, "rb").read()
    except OSError:
        return b""


def alive(pid):
    """Until the last of its threads has let go of its files: its black box is read only then."""
    try:
        state = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0]
        return state not in "ZX" or len(os.listdir("/proc/%d/task" % pid)) > 1
    except OSError:
        return False


def soon(condition, seconds):
    for _ in range(seconds * 10):
        if condition():
            return True
        time.sleep(0.1)
    return False


def operations(path):
    """Kernels, copies and fills of the truth: those launched one by one, and launches of graphs."""
    single, graphs = 0, set()
    for line in open(path, errors="replace"):
        v = line.rstrip("\n").split("\t")
        if v[0] != "op" or len(v) < 18:
            continue
        if int(v[6] or 0):
            graphs.add(v[5])
        else:
            single += 1
    return single + len(graphs)


def check(took):
    report = subprocess.run([WARPTAP, "report", "--json", TRACES], capture_output=True, text=True)
    assert report.returncode in (0, 3), (report.returncode, report.stderr)
    r = json.loads(report.stdout)
    used = {}
    for path in glob.glob(TRACES + "/truth.*.tsv"):
        n = operations(path)
        if n:
            used[int(path.split(".")[-2])] = n
    assert used, "nothing used the GPU"
    for pid in used:
        assert glob.glob(TRACES + "/*.%d.wt" % pid), "process %d used the GPU and has no trace" % pid
    c = r["completeness"]
    of = [k for k in c["counted"] if k != "collective"]
    counted, received = (sum(c[x][k] for k in of) for x in ("counted", "received"))
    truth = sum(used.values())
    print("%s: %d operations counted, %d recorded, %d missing, %d in flight; %d in the truth; ended after %.1f s" %
          (HOW, counted, received, c["missing"], c["in_flight"], truth, took))
    assert counted - received == c["missing"] + c["in_flight"], c
    # What had not ended is not in the truth: a stream holds 1,024 at most.
    assert truth <= counted <= truth + 1024 and received <= truth, (truth, c)
    assert not c["missing"] or any("had not handed over" in n for n in r["notes"]), r["notes"]
    assert not any(i["damaged"] for i in r["inputs"]), r["inputs"]


def main():
    with open(OUTPUT, "w") as out:
        job = subprocess.Popen([WARPTAP, "run", "--sim", SIM, "-o", TRACES, "--"] + sys.argv[6:], stdout=out, stderr=out,
                               preexec_fn=fresh)
    try:
        said = lambda: job.poll() is not None or "Iteration(20)" in open(OUTPUT, errors="replace").read()
        assert soon(said, 600) and job.poll() is None, open(OUTPUT, errors="replace").read()[-3000:]
        start = time.monotonic()
        procs = below(job.pid)
        if HOW == "ctrl-c":
            os.killpg(job.pid, signal.SIGINT)
        elif HOW == "kill":
            (engine,) = [p for p in procs if cmdline(p).startswith(ENGINE)]
            os.kill(engine, signal.SIGKILL)
        # vLLM may wait for ever for an engine that is no more, agent or not.
        if HOW == "term" or not soon(lambda: job.poll() is not None, 20):
            os.kill(procs[0], signal.SIGTERM)
        assert soon(lambda: job.poll() is not None, 120), "it does not end"
        took = time.monotonic() - start
        # An engine may go on for a while without the process that started it.
        if not soon(lambda: not any(alive(p) for p in procs), 20):
            for p in procs:
                if cmdline(p).startswith(ENGINE):
                    os.kill(p, signal.SIGKILL)
            assert soon(lambda: not any(alive(p) for p in procs), 30), "it cannot be killed"
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
    assert job.returncode, "the exit code hides it"
    check(took)


main()
