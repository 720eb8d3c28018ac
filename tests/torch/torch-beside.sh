#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# torch.profiler in a recorded process, in every order: its result is what it is without the agent; the agent steps
# aside, says so, comes back, and is complete outside the profiler's sessions. The clock of device records is the
# profiler's from its first session on.
. tests/torch/torch_env.sh
export WARPTAP_COOL_MS=300 WARPTAP_FLUSH_MS=100 WARPTAP_EXIT_MS=10000
for order in later first twice thread; do
	plain $order h100 test_beside.py $order 0 &
	record $order h100 test_beside.py $order 1.5
	wait $! || fail "$order fails without the agent"
	diff "$tmp/$order.plain" <(grep -E '^s[123] ' "$tmp/$order.out") || fail "$order: the profiler's result changes with the agent"
	python3 - "$tmp" $order <<'P' || fail "$order: the agent's account"
import collections, glob, json, sys
tmp, order = sys.argv[1:]
(path,) = glob.glob("%s/%s/truth.*.tsv" % (tmp, order))
rows = [l.rstrip("\n").split("\t") for l in open(path) if not l.startswith("#")]
made = collections.Counter(r[rows[0].index("kind")] for r in rows if r[0] == "op")
rep = json.load(open("%s/%s.json" % (tmp, order)))
c = rep["completeness"]
for kind, key in (("kernel", "launch"), ("memcpy", "copy"), ("memset", "memset")):
    assert c["counted"][key] + c["outside_windows"][key] == made[kind], (key, c, made)
    assert c["received"][key] == c["counted"][key], (key, c)
assert c["share"] == 1.0, c
assert c["counted"]["launch"] > 30 and c["outside_windows"]["launch"] > 30, c
# More than one where the machine is slow between two sessions; in "first" the agent may wake too late for any.
assert (len(c["holes"]) >= 1 or order == "first") and all(h["paused"] for h in c["holes"]), c["holes"]
(d,) = rep["devices"]
assert sum(d["leaves_ns"].values()) == d["window_ns"] < 60e9, d
assert d["kernels"]["without_launch"] == 0, d
assert any("libtorch" in n for n in rep["notes"]), rep["notes"]
P
	echo "$order: $(grep -c ' kernel ' "$tmp/$order.plain") kinds of kernels in the profiler's result, the same with the agent"
done
