#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# A rank whose kernels last 1.3 times as long, on 2 and 4 ranks, on one clock and on clocks that differ and drift: the
# report names it, and how long each rank waited on it, within 5 % of the truth. An even job has no straggler.
. tests/torch/straggler_env.sh
straggler even 2
python3 - "$tmp/even.json" <<-'EOF'
	import json, sys

	r = json.load(open(sys.argv[1]))["ranks"]
	print("even: %.3f ms waited, persistent: %s" % (r["wait_ns"] / 1e6, [s["rank"] for s in r["stragglers"] if s["persistent"]]))
	sys.exit(any(s["persistent"] for s in r["stragglers"]))
EOF
straggler late2 2 1
straggler late4 4 2
straggler skewed2 2 1 'skew = 1:+3ms' 3:1
straggler skewed4 4 2 'skew = 1:-40ms, 3:+250ms
drift = 3:50ppm' -40:1 250:3
