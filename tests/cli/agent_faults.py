# SPDX-License-Identifier: Apache-2.0
"""Makes what the agent calls fail, one after the other: agent_faults.py BUILD DIR names|places|sim

names   each system call the agent makes, everywhere; places: at each place of the agent's apart
sim     each call of the driver's and CUPTI's that it makes on its own account, by the simulated ones
Each time the job has the same output and exit code, nothing grows while it runs on, nothing is left behind, and what the
trace lacks against that of a healthy run is told in its notes; or there is no trace, and no file that looks like one.
"""
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

BUILD, TOP = os.path.abspath(sys.argv[1]), sys.argv[2]

# How a machine in trouble answers.
ERRORS = {
    "accept4": "EMFILE", "bind": "EACCES", "clock_nanosleep": "EINTR", "clone3": "EAGAIN ENOSYS",
    "close": "EIO", "fallocate": "ENOSPC EOPNOTSUPP", "fchmodat": "EPERM", "fcntl": "EMFILE", "ftruncate": "EIO",
    "futex": "EPERM", "getrandom": "ENOSYS", "getsockopt": "EINVAL", "listen": "EOPNOTSUPP", "madvise": "EINVAL",
    "mkdir": "EACCES", "mmap": "ENOMEM", "mprotect": "ENOMEM", "munmap": "EINVAL", "newfstatat": "EACCES",
    "openat": "EMFILE EACCES ENOENT", "pipe2": "EMFILE", "ppoll": "ENOMEM", "prlimit64": "EPERM", "pwrite64": "ENOSPC EIO",
    "read": "EIO", "readlink": "EACCES", "recvfrom": "EIO", "renameat": "EACCES", "rt_sigpending": "EFAULT", "rt_sigprocmask": "EINVAL",
    "rt_sigtimedwait": "EAGAIN", "sched_getaffinity": "EPERM", "sched_setscheduler": "EPERM", "sendto": "EIO",
    "socket": "EMFILE", "statfs": "ENOSYS", "uname": "EFAULT", "unlink": "EACCES", "unlinkat": "ENOENT", "write": "ENOSPC",
    "12": "ENOMEM", "13": "EINVAL", "79": "EACCES",  # brk, rt_sigaction, getcwd
}
# Never fail: clock_gettime, getpid, gettid, geteuid, exit; set_robust_list and rseq (334) are libc's in any thread, and
# it ends the process where rseq fails; tgkill (234) with signal 0 asks whether a thread lives; nanosleep (35) waits.
NEVER = {"clock_gettime", "getpid", "gettid", "geteuid", "set_robust_list", "334", "234", "35"}
# Of these one failure can leave a file behind: the call is the one that removes it.
REMOVERS = ("unlink:", "unlink@")

# What the agent asks on its own account; the job makes none of these calls.
DRIVER = """cuDeviceGet cuDeviceGetName cuDeviceGetUuid cuDeviceGetUuid_v2 cuDeviceGetAttribute cuDeviceTotalMem_v2
cuDeviceGetCount cuDriverGetVersion cuCtxGetCurrent cuCtxGetDevice cuDevicePrimaryCtxGetState cuFuncGetAttribute
cuFuncGetName cuKernelGetName cuGraphGetNodes cuGraphNodeGetType cuGraphNodeGetEnabled cuGraphMemcpyNodeGetParams
cuGraphMemsetNodeGetParams cuGraphChildGraphNodeGetGraph cuPointerGetAttribute cuStreamIsCapturing""".split()
CUPTI = """cuptiActivityRegisterCallbacks cuptiActivityEnable cuptiActivityDisable cuptiActivityFlushAll
cuptiActivityGetNextRecord cuptiGetTimestamp cuptiActivityGetNumDroppedRecords cuptiActivityEnableRuntimeApi
cuptiActivityEnableDriverApi cuptiGetVersion cuptiGetContextId cuptiGetStreamIdEx""".split()


def run(name, spec=None, fail="", preload=True):
    d = os.path.join(TOP, name)
    os.makedirs(d + "/trace")
    os.makedirs(d + "/ring")
    os.makedirs(d + "/control", 0o700)
    with open(d + "/scenario", "w") as f:
        f.write("[model]\nkernel = 2us\n[fail]\n%s\n" % fail)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("WARPTAP_", "LD_"))}
    env.update(LD_LIBRARY_PATH=BUILD + "/simgpu/lib", SIMGPU_SCENARIO=d + "/scenario", MALLOC_ARENA_MAX="1",
               WARPTAP_FLUSH_MS="100", WARPTAP_BUDGET="0", WARPTAP_EXIT_MS="20000", WARPTAP_DIR=d + "/trace",
               WARPTAP_RING_DIR=d + "/ring", WARPTAP_CONTROL_DIR=d + "/control")
    job = [BUILD + "/tests/cli/agent_faults", d + "/measure", BUILD + "/warptap"]
    if preload:
        job = ["env", "LD_PRELOAD=%s/libwarptap.so" % BUILD] + job
    if spec:
        job = [BUILD + "/tests/cli/fault_calls", spec, d + "/calls", "--"] + job
    with open(d + "/out", "w") as out:
        rc = subprocess.run(job, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, timeout=120).returncode
    with open(d + "/out") as out:
        return d, (rc, out.read())


def measures(d):
    with open(d + "/measure") as f:
        lines = [[int(x) for x in l.split()] for l in f]
    return lines[:2], lines[2][0]


def facts(d):
    """None = no trace; else what a reader gets from it, and the notes."""
    traces = glob.glob(d + "/trace/*.wt")
    if not traces:
        return None
    r = subprocess.run([BUILD + "/warptap", "report", "--json"] + traces, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert r.returncode == 0, "the report: exit %d: %s" % (r.returncode, r.stderr)
    r = json.loads(r.stdout)
    c = r["completeness"]
    with open(d + "/packets", "w") as f:
        subprocess.run([BUILD + "/warptap", "info", "--packets"] + traces, stdout=f, check=True)
    with open(d + "/packets") as f:
        head = f.readline().split()
    words = [w.split("=")[0] for w in head if not w.endswith(("=0", '=""', "="))]
    return {"counted": c["counted"], "received": c["received"], "share": c["share"], "untimed": c["untimed"],
            "devices": [(x["name"], bool(x.get("uuid"))) for x in r["devices"]], "kernels": [x["kernels"]["count"] for x in r["devices"]],
            "head": words, "asked": measures(d)[1]}, {re.sub(r"pid \d+", "pid", n) for n in r["notes"]}


def judge(d, ended, want, healthy, removes):
    """What is wrong, in words."""
    if ended != want:
        return ["the job ends with %d and says %r" % ended]
    bad = []
    (then, now), _ = measures(d)
    (then0, now0), _ = measures(healthy["dir"])
    if now[0] > then[0] or then[0] > then0[0]:
        bad.append("descriptors: %d, then %d; healthy %d" % (then[0], now[0], then0[0]))
    if now[1] > then[1] + 1024 or now[1] > now0[1] + 4096:
        bad.append("kB mapped: %d, then %d; healthy %d" % (then[1], now[1], now0[1]))
    left = glob.glob(d + "/ring/*") + glob.glob(d + "/control/*") + glob.glob(d + "/control/.*") + [p for p in glob.glob(d + "/trace/*") if not p.endswith((".wt", ".log"))]
    if left and not removes:
        bad.append("left behind: %s" % left)
    got = facts(d)
    if got and got[0] != healthy["facts"]:
        lacks = {k: v for k, v in got[0].items() if v != healthy["facts"][k]}
        if not got[1] - healthy["notes"]:
            bad.append("not told: %s" % lacks)
        elif "-v" in sys.argv:
            print("    lacks", lacks)
    if "-v" in sys.argv:
        print("    notes", sorted(got[1] - healthy["notes"]) if got else "no trace")
    return bad


def system_calls(how, sites):
    specs = set()
    for name, at, _ in sites:
        for e in ERRORS.get(name, "").split():
            if how == "names":
                specs.add("%s:%s" % (name, e))
            elif at != "0" and name != "futex":
                specs.add("%s@%s:%s" % (name, at, e))
    unknown = {s[0] for s in sites} - set(ERRORS) - NEVER
    assert not unknown, "the agent makes system calls that no list here has: %s" % unknown
    return sorted(specs)


def main():
    how = sys.argv[3]
    _, want = run("without", preload=False)
    d, ended = run("healthy", "list")
    assert ended == want, ended
    with open(d + "/calls") as f:
        sites = [l.split() for l in f]
    got, notes = facts(d)
    assert got["counted"] == got["received"] and got["share"] == 1.0 and got["asked"] == 0, got
    healthy = {"dir": d, "facts": got, "notes": notes}
    jobs = {}
    if how == "sim":
        for call in DRIVER + CUPTI:
            for number in ("1", "1+"):
                jobs["%s-%s" % (call, number)] = (None, "%s = %s:999" % (call, number))
    else:
        for spec in system_calls(how, sites):
            jobs[spec.replace("@", "-").replace(":", "-")] = (spec, "")

    def one(name):
        spec, fail = jobs[name]
        try:
            d, ended = run(name, spec, fail)
        except subprocess.TimeoutExpired:
            return name, ["hangs"]
        if spec and os.path.getsize(d + "/calls") and ended[0] == want[0]:
            with open(d + "/calls") as f:
                if int(f.read()) == 0:
                    return name, []  # a place that is not always passed
        try:
            return name, judge(d, ended, want, healthy, (spec or "").startswith(REMOVERS))
        except AssertionError as e:
            return name, [str(e)]

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, bad in pool.map(one, sorted(jobs)):
            if bad:
                failed += 1
            if bad or "-v" in sys.argv:
                print("%s: %s" % (name, "; ".join(bad) or "ok"), flush=True)
    print("%d ways to fail, %d of them badly" % (len(jobs), failed))
    return 1 if failed or not jobs else 0


sys.exit(main())
