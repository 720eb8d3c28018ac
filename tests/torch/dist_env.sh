# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts that train with several ranks, from the repository root.
. tests/torch/torch_env.sh
export OMP_NUM_THREADS=1

# ranks NAME N ARGS: train.py on N ranks (test_llm.py), without the agent and under it: the same output, a complete
# trace of each rank, collectives and memory as the truth has them. A scenario in $scenario goes to both.
ranks() {
	local name=$1 n=$2 start=$SECONDS
	shift 2
	mkdir -p "$tmp/account"
	export SIMGPU_SCENARIO=${scenario:-}
	[ -n "$SIMGPU_SCENARIO" ] || unset SIMGPU_SCENARIO
	SIMGPU_DEVICES=$n ACCOUNT_DIR=$tmp/account plain "$name" h100 test_llm.py --ranks "$n" "$@"
	ACCOUNT_DIR=$tmp/$name record_ranks "$name" "$n" "$@"
	# Lines of different ranks come in any order.
	diff <(sort "$tmp/$name.plain") <(sort "$tmp/$name.out") || fail "$name: the output changes with the agent"
	complete "$name"
	echo "$name: $((SECONDS - start)) s"
}

record_ranks() {
	local name=$1 n=$2
	shift 2
	mkdir -p "$tmp/$name"
	record "$name" "h100,devices=$n${scenario:+,scenario=$scenario}" test_llm.py --ranks "$n" "$@"
	python3 tests/torch/rank_check.py "$tmp/$name.json" "$tmp/$name" "$n" || fail "$name: ranks, collectives or memory"
}
