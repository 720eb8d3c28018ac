#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What HolisticTraceAnalysis says about Kineto files, as one JSON object per file: {"file", "error"} or the numbers of
its temporal breakdown, idle breakdown and communication overlap, in microseconds as it computes them.

The last profiler step is kept, times are not rounded. Run with the Python of build/hta-venv (scripts/setup hta).
usage: hta_oracle.py FILE...
"""
import json
import logging
import os
import sys

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
logging.disable(logging.CRITICAL)

from hta.analyzers.breakdown_analysis import BreakdownAnalysis  # noqa: E402
from hta.analyzers.communication_analysis import CommunicationAnalysis  # noqa: E402
from hta.common.trace import Trace  # noqa: E402


def analyse(path):
    t = Trace(trace_files={0: path}, trace_dir=os.path.dirname(path))
    t.load_traces(include_last_profiler_step=True, use_multiprocessing=False)
    row = BreakdownAnalysis.get_temporal_breakdown(t, visualize=False).iloc[0]
    out = {k: float(row[k + "_time(us)"]) for k in ("idle", "compute", "non_compute", "kernel")}
    try:
        out["overlap_pct"] = float(CommunicationAnalysis.get_comm_comp_overlap(t, visualize=False).iloc[0, 1])
    except Exception as e:  # e.g. no communication at all
        out["overlap_error"] = f"{type(e).__name__}: {e}"
    try:
        idle, _ = BreakdownAnalysis.get_idle_time_breakdown(t, 30, visualize=False)
        out["streams"] = [[int(r.stream), str(r.idle_category), float(r.idle_time)] for r in idle.itertuples()]
    except Exception as e:
        out["idle_error"] = f"{type(e).__name__}: {e}"
    return out


for path in sys.argv[1:]:
    try:
        result = analyse(os.path.abspath(path))
    except Exception as e:
        result = {"error": f"{type(e).__name__}: {e}"[:200]}
    print(json.dumps({"file": path, **result}), flush=True)
