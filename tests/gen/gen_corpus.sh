#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the fuzz seeds of tests/fuzz/corpus/{json,kineto,convert,gzip}. The first byte of a seed chooses the small
# window.
# usage: tests/gen/gen_corpus.sh     from the repository's root; the same bytes every time
set -eu
corpus=tests/fuzz/corpus
gen() { python3 tests/gen/gen_kineto.py --steps 1 --layers 1 "$@"; }
seed() { # DIR NAME: standard input behind the window byte
	mkdir -p "$corpus/$1"
	{ printf '@'; cat; } >"$corpus/$1/$2"
}
gen --nccl --world 2 | seed kineto new_nccl
gen --style old --pretty | seed kineto old_pretty
gen --style rocm --array --shuffle --quoted | seed kineto rocm_array
gen --header-last --empty --untimed --noise | seed kineto header_last
gen --cut -700 | seed kineto cut
printf '[{}, {"ph": "X", "cat": "kernel", "ts": -1e3, "dur": 1E+2, "args": {"device": 7, "stream": "stream 9"}}]' |
	seed kineto tiny
printf '{"traceEvents": [{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy PtoP", "ts": 1, "dur": 1e18}' |
	seed kineto overflow
printf '{"traceEvents": [%s, %s, %s, {"args": {"v": "1e2"}, "name": "n", "ts": 1, "pid": 9, "ph": "C"}]}' \
	'{"ph": "C", "name": "c", "pid": 1, "ts": 3, "args": {"a": 0.25, "b": "-7", "x": [1], "y": null, "a": 9e99}}' \
	'{"ph": "C", "name": "c", "pid": 1, "ts": 2, "args": {"a": -4.5, "bytes": 7, "c": NaN}}' \
	'{"ph": "X", "cat": "cuda_runtime", "name": "cudaMalloc", "pid": 1, "tid": 1, "ts": 1, "dur": 1}' |
	seed kineto counters
{
	printf '{"traceEvents": ['
	for stack in 'torch/a.py(1): f;train.py(2): g' '' '/x/lib/python3.9/b.py(3): h\\n c.py(4): \\u00e9' ';;; ' '/lib/python3.' '/a-packages/'; do
		printf '{"ph": "X", "cat": "cpu_op", "name": "aten::to", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"Call stack": "%b"}},' "$stack"
		printf '{"ph": "X", "cat": "python_function", "name": "%b", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"Python id": 1}},' "$stack"
	done
	printf '{"ph": "X", "cat": "cpu_op", "name": "b", "args": {"stack": 7}}, {"args": {"stack": "d.py(1): f"}, "cat": "cpu_op", "ph": "X", "ts": 1}]}'
} | seed kineto stacks
{
	printf '{"traceEvents": ['
	for dims in '[[4, 3], [], [1]]' '[]' '[[[1,2],[]], "a, ]"]' '[[1, 2,], 3]' '[[1 , 2], {"a": [1]}]' '[[1, tru]]' '[[1, 2]'; do
		printf '{"ph": "X", "cat": "cpu_op", "name": "aten::to", "pid": 1, "ts": 1, "dur": 1, "args": {"Input Dims": %s, "Ev Idx": 1}},' "$dims"
	done
	printf '{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2}]}'
} | seed kineto lists
faults=$(mktemp -d) && trap 'rm -rf "$faults"' EXIT
python3 tests/gen/kineto_faults.py "$faults"
for f in "$faults"/*.json; do
	name=$(basename "$f" .json)
	[ "$name" != expect ] && [ "$(stat -c %s "$f")" -lt 4000 ] || continue
	seed kineto "$name" <"$f"
done
gen --nccl --world 2 | seed convert nccl
gen --devices 2 --untimed --noise | seed convert devices
printf '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1}]}' | seed convert tiny
printf '{"a": [1, -0.5e-3, true, false, null, "x\\u00e9\\ud83d\\ude00\\n\\"", {}, []], "b": {"c": {"d": [[[]]]}}}' |
	seed json all_tokens
printf ' [ "a\\\\" , 0 , 12.5E+10 ,\r\n\t{ "k" : "v" } ] ' | seed json spaces
printf '"%s"' "$(printf 'long string %.0s' 1 2 3 4 5 6 7 8 9 10)" | seed json long_string
printf '[1, 2' | seed json cut
printf '{"a": NaN}' | seed json nan
printf '["bad \\x escape"]' | seed json bad_escape
printf '123456789012345678901234567890.123456789e-12' | seed json number
z() { gzip -9 -n -c; }
printf '{"traceEvents": []}' | z | seed gzip one_member
{ printf '{"trace' | z; printf '' | z; printf 'Events": []}' | z; } | seed gzip members
{ printf 'text text text text' | z; printf 'trailing\0\0\0'; } | seed gzip trailing
# Refers to text before its start, behind 40 sound bytes: the same 40 must come out however small the reads.
printf '\037\213\010\0\0\0\0\0\002\003;V*)JLN\210-K\315+\324)V\262R\210\216\037Q\257\023\0\0\0' | seed gzip lookback
# After this error the inflater's own count of what is left is wrong.
{
	printf '\037\213\010\000\000\000\211\000\002\003\053\354\354\354\354\354\354\354\354\373\377\377\377\354'
	printf '\111\255\050\121\050\101\041\000\362\141\227\233\151\156\147\000\000\000'
} | seed gzip wrong_count
head -c 20000 /dev/zero | z | seed gzip zeros
printf 'plain text' | seed gzip plain
printf 'cut in the middle of what would have been a longer text' | z | head -c 40 | seed gzip cut
