#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# The truth's peak is PyTorch's own to the byte, with both of its allocators over the driver; running out is an error
# and not the end; a tensor is shared with another process, by IPC handle and by file descriptor.
. tests/torch/torch_env.sh
for conf in expandable_segments:False expandable_segments:True; do
	name=${conf#*:}
	PYTORCH_ALLOC_CONF=$conf plain "$name" h100 test_memory.py
	peak=$(awk '$1 == "peak" && $3 == "ok" { print $2 }' "$tmp/$name.plain")
	awk -F'\t' -v p="0 $peak" '$1 == "note" && $2 == "peak_bytes" && $18 == p { n++ } END { exit n != 1 }' \
		"$tmp/$name.truth"/truth.*.tsv || fail "$conf: PyTorch's peak is $peak, the truth: $(grep -h peak_bytes "$tmp/$name.truth"/*)"
	case $name in True) kind=vmm ;; *) kind=device ;; esac
	grep -q $'^alloc\t'"$kind"$'\t' "$tmp/$name.truth"/truth.*.tsv || fail "$conf: no allocation of kind $kind"
done
echo ok
