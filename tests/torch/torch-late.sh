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

		d, = json.load(open(sys.argv[1]))["devices"]
		leaves = d["leaves_ns"]
		late = leaves["D8"] + leaves["D9"]
		inside = d["window_ns"] - leaves["E5"]
		print("%s: of %.1f ms computing %.1f ms, launched too late %.1f ms, largest leaf %s" %
		      (sys.argv[2], inside / 1e6, d["compute_ns"] / 1e6, late / 1e6,
		       max((v, k) for k, v in leaves.items() if k != "E5")[1]))
		if sys.argv[2] == "small":
		    sys.exit(not (late > inside / 2 and late > d["compute_ns"]))
		sys.exit(not (d["compute_ns"] > inside / 2 and d["compute_ns"] > late))
	EOF
done
