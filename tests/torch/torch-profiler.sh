#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# torch.profiler on the simulated CUPTI: every operation of its session, by kind, each with the call that launched it.
. tests/torch/torch_env.sh
plain profiler h100 test_profiler.py "$tmp/kineto.json" "$tmp/session"
cat "$tmp/profiler.plain"
# kinds TRUTH SESSION: what the truth says was submitted inside the session, in the job's own words.
awk -F'\t' 'NR == FNR { split($0, s, " "); next }
	FNR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
	$c["row"] == "op" && $c["submit_ns"] >= s[1] && $c["submit_ns"] < s[2] { seen[$c["kind"]]++; all++ }
	END { printf "kernel %d\ngpu_memcpy %d\ngpu_memset %d\nlinked %d of %d\n",
		seen["kernel"], seen["memcpy"], seen["memset"], all, all }' \
	"$tmp/session" "$tmp"/profiler.truth/truth.*.tsv >"$tmp/want"
grep -E '^(kernel|gpu_|linked)' "$tmp/profiler.plain" | diff "$tmp/want" - || fail "the profiler's trace differs from the truth"
grep -q '^addmm 6 device time True$' "$tmp/profiler.plain" || fail "no device time by operator"
