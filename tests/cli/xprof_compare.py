# SPDX-License-Identifier: Apache-2.0
"""Compares reports with XProf, file by file: what both say of device time and steps.

usage: xprof_compare.py WARPTAP FILE...      prints a line a file, exit 1 when one differs

XProf counts picoseconds, a report whole ns per operation: they may differ by one ns at each end of an operation. What
XProf calls busy on a TPU is its line of operations, loops with their own time, but for infeed and outfeed, whose files
are not to be given here; a report's busy time has asynchronous transfers too, and not a loop's own time. A
TPU's span begins for XProf with the first operation, for us with the wait for a peer before it, so it is not compared.
On a GPU XProf sums those records whose operation it knows: all kernels, and some of the copies that are kernels.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import xplane_wire as wire

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from xprof.convert import raw_to_tool_data  # noqa: E402
from xprof.protobuf import op_stats_pb2  # noqa: E402


def xprof(path):
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "host.xplane.pb")
        shutil.copy(path, copy)
        os.chmod(copy, 0o644)
        raw_to_tool_data.xspace_to_tool_data([copy], "overview_page", {})
        stats = op_stats_pb2.OpStats()
        with open(glob.glob(folder + "/*op_stats*")[0], "rb") as f:
            stats.ParseFromString(f.read())
    return stats


def difference_ns(path):
    """What XProf calls busy and we do not, of all TPU cores: by the reader that shares nothing with ours."""
    total = 0
    for f, plane in wire.fields(open(path, "rb").read()):
        plane = list(wire.fields(plane)) if f == 1 else []
        if not any(k == 2 and v.startswith(b"/device:TPU:") for k, v in plane):
            continue
        names, kinds = (wire.table([v for k, v in plane if k == n]) for n in (5, 4))
        spans = {"op": [], "control": [], "async": []}
        for line in (list(wire.fields(v)) for k, v in plane if k == 3):
            title = dict(line).get(2)
            for k, event in line if title in (b"XLA Ops", b"Async XLA Ops") else ():
                if k == 4:
                    e = dict(wire.fields(event))
                    stats = dict(wire.stat_value(s, names) for s in kinds[e[1]][1])
                    start = e.get(2, 0)
                    control = stats.get("hlo_category") in wire.CONTROL
                    kind = "async" if title != b"XLA Ops" else "control" if control else "op"
                    spans[kind].append((start, start + e.get(3, 0)))
        total += wire.union(spans["op"] + spans["control"]) - wire.union(spans["op"] + spans["async"])
    return total / 1000


def compare(report, stats, path):
    """Pairs (what, ours in ns, XProf's in ns, ns they may differ by)."""
    devices, db = report["devices"], stats.device_op_metrics_db
    tpu = "TPU" in stats.run_environment.device_type
    count = sum(d["kernels"]["count"] for d in devices)
    slack = 2 * count + 2 * len(devices) + 1
    total = lambda f: sum(f(d) for d in devices)
    yield "devices with records", len(devices), stats.run_environment.device_core_count if tpu else len(devices), 0
    if devices and not tpu:
        yield "span", total(lambda d: d["window_ns"]), db.total_time_ps / 1000, slack
    if tpu:
        busy = total(lambda d: d["window_ns"] - d["none_ns"] - d["spin_ns"]) + difference_ns(path)
        yield "busy", busy, db.busy_time_ps / 1000, slack
    elif db.total_op_time_ps:
        copies = sum(k["sum_ns"] for k in report["kernels"] if k["family"] == "memcpy")
        kernels = sum(k["sum_ns"] for k in report["kernels"]) - copies
        theirs = db.total_op_time_ps / 1000
        yield "time of operations", max(kernels, min(theirs, kernels + copies)), theirs, slack
    ours = sorted({(s["step"], s["window_ns"]) for s in report["steps"]})
    for step in stats.step_db.step_sequence:
        for info in step.step_info_per_core.values():
            near = [w for n, w in ours if n == step.step_num]
            theirs = info.duration_ps / 1000
            yield f"step {step.step_num}", min(near, key=lambda w: abs(w - theirs)) if near else -1, theirs, 1


def main():
    failed = 0
    for path in sys.argv[2:]:
        report = json.loads(subprocess.run([sys.argv[1], "report", "--json", path], check=True, capture_output=True).stdout)
        rows = list(compare(report, xprof(path), path))
        bad = [r for r in rows if abs(r[1] - r[2]) > r[3]]
        failed |= bool(bad) or not rows
        print(os.path.basename(path), "differs:" if bad else "agrees:",
              "; ".join(f"{w} {a:.0f} {b:.3f}" for w, a, b, _ in (bad or rows)))
    return failed


if __name__ == "__main__":
    sys.exit(main())
