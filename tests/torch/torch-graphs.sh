#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# CUDA graphs by capture and by make_graphed_callables: replays are counted, their nodes are all there.
. tests/torch/torch_env.sh
record graphs h100 test_graphs.py
complete graphs
# Ten replays, and a forward and a backward graph in each of five steps.
[ "$(counted graphs graph_launch)" = 20 ] || fail "$(counted graphs graph_launch) graph launches, 20 made"
# Five kernels in each of ten replays; the truth names the graph each operation belongs to.
awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
	$c["row"] == "op" && $c["graph"] > 0 { seen[$c["graph"]]++ }
	END { for (g in seen) if (seen[g] == 50) found++; exit found != 1 }' "$tmp"/graphs/truth.*.tsv ||
	fail "no graph with fifty operations"
# Products replayed from graphs are products: three eager and ten replayed of 64 x 64 x 64; and of two linear layers of
# 8 x 64 x 64, two forward and three backward, three times to warm up and five replayed.
python3 - "$tmp/graphs.json" <<'P' || fail "FLOPs of replayed products"
import json, sys
got = json.load(open(sys.argv[1]))["bounds"]["product_flops"]
want = (3 + 10) * 2 * 64**3 + (3 + 5) * 5 * 2 * 8 * 64 * 64
assert got == want, (got, want)
P
