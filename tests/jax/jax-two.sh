#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# Two devices: both in one process, whose device threads launch and call NCCL (or XLA's own all-reduce kernels), and one
# each in two processes of jax.distributed. Output as without the agent, every process's trace complete, collectives
# among its calls.
. tests/jax/jax_env.sh
steps=4
nccl=--xla_gpu_unsupported_use_all_reduce_one_shot_kernel=false
# both NAME: in one process
both() {
	plain "$1" h100,devices=2 test_jax_two.py $steps
	record "$1" h100,devices=2 test_jax_two.py $steps
	complete "$1"
	traced "$1" 1
	diff "$tmp/$1.plain" "$tmp/$1.out" || fail "$1: the output changes with the agent"
}
both own
XLA_FLAGS="$XLA_FLAGS $nccl"
both nccl
grep -qx 'psum True' "$tmp/nccl.out" || fail "NCCL's sum is wrong"
# One of each device for the sum and for each step.
[ "$(counted nccl collective)" = $((2 * (steps + 1))) ] || fail "nccl: $(counted nccl collective) collectives"

# Two processes; the first is the coordinator, on a loopback port that is free now. RANK is as launchers set it.
port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("localhost", 0))
print(s.getsockname()[1])')
cat >"$tmp/pair.sh" <<'P'
export WORLD_SIZE=2
RANK=0 "$@" 0 >"$OUT.0" & first=$!
RANK=1 "$@" 1 >"$OUT.1"; rc=$?
wait $first && exit $rc
P
OUT=$tmp/pair.out; export OUT
"$build/warptap" run --sim h100,devices=2 -o "$tmp/pair" -- sh "$tmp/pair.sh" "$python" "$jobs/test_jax_two.py" $steps \
	$port >"$tmp/pair.log" 2>&1 || { cat "$tmp/pair.log"; fail "pair: the job fails under the agent"; }
report pair
complete pair
traced pair 2
for rank in 0 1; do
	printf 'devices 2 here 1\npsum True\ndone\n' | diff - "$tmp/pair.out.$rank" || fail "pair: output of rank $rank"
done
[ "$(counted pair collective)" = $((2 * (steps + 1))) ] || fail "pair: $(counted pair collective) collectives"
