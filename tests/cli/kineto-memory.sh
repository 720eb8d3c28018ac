#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Memory of a report stays below 16 times the text and 64 MiB, whatever the text is made of; and below 0.35 of it for a
# large file of the usual kind.
set -u
BUILD=${BUILD:-build}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
python3 tests/gen/gen_big.py 120 -o "$tmp/usual.json" || exit 1
exec python3 - "$BUILD/warptap" "$tmp" <<'PY'
import os, subprocess, sys
binary, tmp = sys.argv[1:]
bad = 0
K = '{"ph":"X","cat":"Kernel","ts":%d,"dur":1'
SHAPES = {
    "no times": lambda i: '{"ph":"X","cat":"Kernel","ts":0,"dur":1}',
    "kernels": lambda i: K % (3 * i + 1) + "}",
    "streams": lambda i: K % 1 + ',"tid":%d}' % i,
    "names": lambda i: K % 1 + ',"name":"%x"}' % i,
    "calls and threads": lambda i: '{"ph":"X","cat":"Runtime","ts":%d,"tid":%d}' % (i, i),
    "processes": lambda i: '{"ph":"X","cat":"Runtime","ts":1,"pid":%d}' % i,
    "names of threads": lambda i: '{"ph":"M","name":"thread_name","tid":%d,"args":{"name":"%x"}}' % (i, i),
    "communicators": lambda i: K % 1 + ',"args":{"Collective name":"","Process Group Name":"%x"}}' % i,
    "shapes": lambda i: K % 1 + ',"args":{"grid":[%d,1,1]}}' % i,
    "steps": lambda i: '{"ph":"X","cat":"user_annotation","ts":%d,"dur":1,"name":"ProfilerStep#%d"}' % (i, i),
    "operators": lambda i: '{"ph":"X","cat":"cpu_op","ts":%d,"dur":1,"name":"aten::mm","args":{"Input Dims":[[8,%d],[8,8]]}}' % (i, i),
    "faults": lambda i: '{"ph":"X","cat":"Kernel","ts":nan}',
    "empty": lambda i: "{}",
}


def peak(path):
    p = subprocess.Popen([binary, "report", "--json", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    return p.returncode, usage.ru_maxrss * 1024


def judge(what, path, limit):
    global bad
    exit, rss = peak(path)
    print(f"{what:20} exit {exit}, {os.path.getsize(path) / 1e6:.1f} MB of text, {rss / 2**20:.0f} of {limit / 2**20:.0f} MiB")
    if rss > limit or exit not in (0, 1):
        bad = 1
        print(f"FAIL: {what}")


judge("the usual", f"{tmp}/usual.json", 0.35 * os.path.getsize(f"{tmp}/usual.json"))
for what, event in SHAPES.items():
    with open(f"{tmp}/made.json", "w") as f:
        size = i = 0
        f.write("[")
        while size < 8_000_000:
            size += f.write(("," if i else "") + event(i))
            i += 1
        f.write("]")
    judge(what, f"{tmp}/made.json", 16 * os.path.getsize(f"{tmp}/made.json") + (64 << 20))
sys.exit(bad)
PY
