#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# A rank whose kernels last 1.3 times as long: the ledger shows it as communication wait on the other rank.
# Device times are modelled, so what is compared is made of them; AllReduce alone is looked at, because the broadcasts
# of the start wait for how fast the host brings up the other process.
. tests/torch/dist_env.sh
train() {
	mkdir -p "$tmp/$1"
	ACCOUNT_DIR=$tmp/$1 record_ranks "$1" 2 --ddp --size 124m --batch 16 --steps 6
	complete "$1"
}
train even
printf '[straggler]\nrank = 1\nfactor = 1.3\n' >"$tmp/late.scenario"
scenario=$tmp/late.scenario train late
for name in even late; do
	for trace in "$tmp/$name"/*.wt; do
		"$build/warptap" report --json "$trace" >"$tmp/$name/$(basename "$trace" .wt).json"
	done
done
python3 - "$tmp" <<-'EOF'
	import glob, json, sys

	def ranks(name):
	    """Per rank: computing, exposed all-reduce, all of its exposed communication."""
	    out = {}
	    for path in glob.glob("%s/%s/*.json" % (sys.argv[1], name)):
	        r = json.load(open(path))
	        for d in r["devices"]:
	            reduce = sum(c["exposed_ns"] for c in r["collectives"] if c["name"] == "AllReduce")
	            out[d["rank"]] = d["compute_ns"], reduce, sum(v for k, v in d["leaves_ns"].items() if k[0] == "B")
	    return out

	even, late = ranks("even"), ranks("late")
	for name, r in ("even", even), ("late", late):
	    for rank in 0, 1:
	        print("%s, rank %d: computing %.1f ms, all-reduce exposed %.1f ms, B %.1f ms" %
	              (name, rank, *(x / 1e6 for x in r[rank])))
	busy = even[0][0]
	said = {
	    "rank 1 computes 1.3 times as long": 1.25 < late[1][0] / even[1][0] < 1.35,
	    "rank 0 computes as long as before": 0.97 < late[0][0] / even[0][0] < 1.03,
	    "rank 0 waits, rank 1 does not": late[0][1] - late[1][1] > 0.15 * busy,
	    # A busy host makes either rank of the even run late now and then: what counts is how far the two are apart.
	    "they are further apart than without": (late[0][1] - late[1][1]) - (even[0][1] - even[1][1]) > 0.1 * busy,
	    "the ledger books it as B": late[0][2] >= late[0][1],
	}
	for what, true in said.items():
	    print("ok " if true else "WRONG", what)
	sys.exit(not all(said.values()))
EOF
