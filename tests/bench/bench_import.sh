#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whole reports of Kineto files on one core, against HolisticTraceAnalysis 0.5.0 (load and three analyses) in the same
# run: MB of text per second of CPU time, which other work on the machine changes least (the import of Python modules is
# left out of HTA's), and peak memory as a share of the text. Made files of 200 MB (plain and gzip) and public ones; a
# made one of 1 GB for memory; 0 megabytes: the public ones alone. Of public ones the best of 40 runs, of HTA's of 3.
# usage: tests/bench/bench_import.sh [MEGABYTES [no-hta]]
set -eu
BUILD=${BUILD:-build}
dir=$BUILD/bench-import
mkdir -p "$dir" && trap 'rm -rf "$dir"' EXIT
hta=$BUILD/hta-venv/bin/python
[ "${2:-}" = no-hta ] && hta= || scripts/setup hta >"$dir/setup.log" 2>&1 || { hta=; echo "HolisticTraceAnalysis is not here: its rows are left out"; }
size=${1:-200}
if [ "$size" -gt 0 ]; then
	python3 tests/gen/gen_big.py "$size" -o "$dir/made.json"
	gzip -4 -k -n "$dir/made.json"
	python3 tests/gen/gen_big.py 1000 -o "$dir/large.json"
fi
make -s "$BUILD/tests/bench/bench_import"
exec python3 - "$BUILD/warptap" "$BUILD/tests/bench/bench_import" "$hta" "$dir" ../shared/traces/kineto/k0{11,12,26,32}.json.gz <<'PY'
import gzip, os, subprocess, sys
binary, launcher, hta, tmp = sys.argv[1:5]
public = [p for p in sys.argv[5:] if os.path.exists(p)]
core = sorted(os.sched_getaffinity(0))[-1]
HTA = """
import os, sys, logging, time
os.environ["HTA_DISABLE_NS_ROUNDING"] = os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
logging.disable(logging.CRITICAL)
from hta.analyzers.breakdown_analysis import BreakdownAnalysis as B
from hta.analyzers.communication_analysis import CommunicationAnalysis as C
from hta.common.trace import Trace
start = time.process_time()
path = os.path.abspath(sys.argv[1])
t = Trace(trace_files={0: path}, trace_dir=os.path.dirname(path))
t.load_traces(include_last_profiler_step=True, use_multiprocessing=False)
B.get_temporal_breakdown(t, visualize=False)
for f in (lambda: C.get_comm_comp_overlap(t, visualize=False), lambda: B.get_gpu_kernel_breakdown(t, visualize=False)):
    try:
        f()
    except Exception:
        pass
print(time.process_time() - start)
"""


def output(command):
    """Pinned to one core."""
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    if p.returncode:
        sys.exit(f"{command}: failed")
    return p.stdout


def report(path, times):
    """Least CPU seconds of several runs, most memory (bytes)."""
    seconds, most = output([launcher, str(times), binary, "report", "--json", path]).split()
    return float(seconds), int(most)


def text_bytes(path):
    if not path.endswith(".gz"):
        return os.path.getsize(path)
    n = 0
    with gzip.open(path) as f:
        while chunk := f.read(1 << 24):
            n += len(chunk)
    return n


def figures(path, n, took, rss):
    return f"{os.path.relpath(path):42} {n / 1e6:8.1f} {took:9.4f} {n / 1e6 / took:7.0f} {rss / 2**20:9.1f} {rss / n:8.3f}"


print(f"{'file':42} {'MB text':>8} {'report s':>9} {'MB/s':>7} {'peak MiB':>9} {'of text':>8} {'HTA s':>7} {'HTA MB/s':>9} {'ratio':>7}")
made = [f"{tmp}/made.json", f"{tmp}/made.json.gz", f"{tmp}/large.json"]
for path in [p for p in made if os.path.exists(p)] + public:
    n = text_bytes(path)
    took, rss = report(path, 1 if "large" in path else 5 if "made" in path else 20)
    row = figures(path, n, took, rss)
    if hta and "large" not in path and not path.startswith(f"{tmp}/made.json.gz"):
        seconds = min(float(output([hta, "-c", HTA, path]).split()[-1]) for _ in range(1 if "made" in path else 3))
        again, most = report(path, 5 if "made" in path else 20)  # before and after: the machine is shared
        took, rss = min(took, again), max(rss, most)
        row = figures(path, n, took, rss)
        row += f" {seconds:7.2f} {n / 1e6 / seconds:9.1f} {seconds / took:7.1f}"
    print(row, flush=True)
PY
