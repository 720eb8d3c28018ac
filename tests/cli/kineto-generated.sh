#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Generated Kineto files of every spelling: the report's sweep equals what the generator says, to the nanosecond.
set -eu
BUILD=${BUILD:-build}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
n=0
while read -r -a args; do
	python3 tests/gen/gen_kineto.py "${args[@]}" --truth -o "$tmp/$n.json.gz" >"$tmp/$n.truth"
	"$BUILD/warptap" report --json "$tmp/$n.json.gz" >"$tmp/$n.report"
	echo "${args[*]}" >"$tmp/$n.args"
	n=$((n + 1))
done <<'CASES'
--seed 1
--seed 2 --style old --pretty
--seed 3 --style rocm --array --shuffle --quoted
--seed 4 --nccl --world 2 --rank 1 --noise
--seed 5 --header-last --empty --untimed --pretty --noise
--seed 6 --devices 3 --steps 5 --nccl --world 8
--seed 7 --base 1712106658012345678 --steps 4
--seed 8 --base 0
CASES
python3 - "$tmp" "$n" <<'PY'
import json, sys
tmp, n, failed = sys.argv[1], int(sys.argv[2]), 0
keys = ("device", "window_ns", "compute_ns", "comm_exposed_ns", "copy_exposed_ns", "none_ns", "comm_total_ns",
        "comm_hidden_ns")
for i in range(n):
    want = [list(map(int, row.split("\t")[:8])) for row in open(f"{tmp}/{i}.truth")]
    devices = json.load(open(f"{tmp}/{i}.report"))["devices"]
    got = sorted([d[k] for k in keys] for d in devices)
    if got != want or not want or any(sum(d["leaves_ns"].values()) != d["window_ns"] for d in devices):
        failed = 1
        print("differs:", open(f"{tmp}/{i}.args").read(), "want", want, "got", got)
print(n, "files")
sys.exit(failed or n != 8)
PY
