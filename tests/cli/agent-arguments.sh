#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Arguments of kernels that are read (agent_arguments.c): the number of the kernels of arguments.def is in the trace, of
# whatever way of launching; nothing is read of other kernels, of one without the parameter, where the driver says it is
# of another size, or where shared memory is in the way. Likewise from the black box of a killed job. With it the report
# has the tokens of an engine whose grids are rounded; without it says that it has not.
set -eu
build=$(realpath "${BUILD:-build}")
here=$(realpath "$(dirname "$0")")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
die() { echo "FAIL: $*"; exit 1; }

record() { # NAME EXPECTED_RC [VAR=VALUE...] -- ARGS...
	local name=$1 want=$2 rc=0 vars=(); shift 2
	while [ "$1" != -- ]; do vars+=("$1"); shift; done; shift
	mkdir "$dir/$name"
	env LD_LIBRARY_PATH="$build/simgpu/lib" WARPTAP_DIR="$dir/$name" WARPTAP_EXIT_MS=10000 LD_PRELOAD="$build/libwarptap.so" \
		"${vars[@]}" "$build/tests/cli/agent_arguments" "$@" >"$dir/$name.out" 2>&1 || rc=$?
	[ "$rc" = "$want" ] || { cat "$dir/$name.out"; die "$name: exit $rc, not $want"; }
}
record plain 0 --
record api 0 WARPTAP_LEVEL=api --
record killed 137 WARPTAP_FLUSH_MS=60000 -- kill 2>/dev/null
"$build/warptap" recover "$dir/killed" >"$dir/recovered" 2>&1 || { cat "$dir/recovered"; die "recover"; }
printf "[fail]\ncuFuncGetParamInfo = 1+:1\n" >"$dir/fails"
record refused 0 SIMGPU_SCENARIO="$dir/fails" --
record count 0 WARPTAP_LEVEL=count --

PYTHONDONTWRITEBYTECODE=1 python3 - "$dir" "$here" <<'P' || die "what was read of arguments"
import glob, os, sys
sys.path.insert(0, sys.argv[2])
import wt_wire

def read(name):
    (wt,) = glob.glob(os.path.join(sys.argv[1], name, "*.wt"))
    launches = [c for c in wt_wire.Trace(wt).calls if c["kind"] == 1]
    assert [c["shape"][0] for c in launches] == list(range(1, 16)), launches
    # The shared memory is what was asked for, whatever stood in its place meanwhile.
    assert [c["shape"][6] for c in launches] == [64 if c["shape"][0] == 5 else 0 for c in launches], launches
    return {c["shape"][0]: c["bytes"] for c in launches if c["bytes"]}

want = {1: 11, 2: 5, 3: 499, 8: 6, 11: 77, 12: 78, 15: 23}
for name in ("plain", "api", "killed"):
    assert read(name) == want, (name, read(name))
got = read("refused")
assert got == {11: 77, 12: 78}, got  # of kernels another call is asked
P

for how in serve silent; do
	record $how 0 -- serve $([ $how = serve ] || echo silent)
	"$build/warptap" report --json "$dir/$how" >"$dir/$how.json" || die "report of $how"
done
python3 tests/vllm/iterations.py "$dir/serve.json" "$dir/serve.out" 100 || die "tokens by arguments"
python3 tests/vllm/iterations.py "$dir/silent.json" "$dir/silent.out" 95 >"$dir/said" 2>&1 && die "rounded tokens are equal to the log"
grep -q 'more but for rounded tokens' "$dir/said" || { cat "$dir/said"; die "it is not said that tokens are rounded"; }
echo ok
