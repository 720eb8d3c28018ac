#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# A tiny batch is bound by the host's launches, a large one by the device; the ledger must tell them apart. How long
# the host takes depends on the machine, so categories are compared, not numbers.
. tests/torch/dist_env.sh
mkdir -p "$tmp/account"
export ACCOUNT_DIR=$tmp/account
record small h100 test_llm.py --batch 1 --seq 64 --steps 10
record large h100 test_llm.py --size 124m --batch 32 --steps 4
for name in small large; do
	complete $name
	python3 - "$tmp/$name.json" $name <<-'EOF'
		import json, sys

		# Of whole steps: loading modules before the first takes as long as the disk does.
		steps = [s["leaves_ns"] for s in json.load(open(sys.argv[1]))["steps"] if not s["partial"]]
		late, compute, inside = (sum(v for s in steps for k, v in s.items() if k.startswith(which))
		                         for which in (("D8", "D9"), "A", ""))
		print("%s: %d steps, of %.1f ms computing %.1f ms, launched too late %.1f ms" %
		      (sys.argv[2], len(steps), inside / 1e6, compute / 1e6, late / 1e6))
		assert len(steps) >= 2
		if sys.argv[2] == "small":
		    sys.exit(not late > inside / 3)  # how much more: as the host is slow
		sys.exit(not (compute > inside / 2 and compute > late))
	EOF
done
