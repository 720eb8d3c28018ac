#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Other allocators and a sanitizer in the same process, before and after ours: same output, same exit code, everything
# counted. An interposer of dlsym that comes before ours and goes past everybody may hide the job from us, no more.
set -u
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
unset LD_PRELOAD WARPTAP_DIR || :
printf '[model]\nkernel = 2us\n' >"$dir/quick"
ours=$build/libwarptap.so
fail() { echo "FAIL: $*"; exit 1; }
library() { find /usr/lib /usr/local/lib -name "$1" 2>/dev/null | head -1; }

beside() { # NAME PRELOAD HOW: HOW whole = all is recorded, any = what there is is right
	local name=$1 preload=$2 how=$3 rc=0
	mkdir "$dir/$name"
	env LD_LIBRARY_PATH="$build/simgpu/lib" SIMGPU_SCENARIO="$dir/quick" WARPTAP_DIR="$dir/$name" WARPTAP_EXIT_MS=20000 WARPTAP_CONTROL_DIR="$dir/$name.control" \
		ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$preload" "$build/tests/cli/agent_life" "${job[@]}" >"$dir/$name.out" 2>&1 </dev/null || rc=$?
	# The other interposer of dlsym says what it has seen.
	[ $rc = 0 ] && ! grep -qvx "their launches: $launches" "$dir/$name.out" || fail "$name: exit $rc: $(head -20 "$dir/$name.out")"
	if [ $how = whole ] || ls "$dir/$name"/*.wt >/dev/null 2>&1; then
		rc=0; "$build/warptap" report --json "$dir/$name" >"$dir/$name.json" 2>"$dir/$name.err" || rc=$?
		[ $rc = 0 ] || fail "$name: report: exit $rc: $(cat "$dir/$name.err")"
		python3 - "$dir/$name.json" $how "$launches" <<'P' || fail "$name: the report"
import json, sys
c = json.load(open(sys.argv[1]))["completeness"]
assert c["counted"]["launch"] == c["received"]["launch"], c
assert sys.argv[2] == "any" or c["counted"]["launch"] == int(sys.argv[3]) and c["share"] == 1.0, c
P
	fi
	echo "$name: ok"
}
tried=0
for lib in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
	path=$(library "$lib")
	[ -n "$path" ] || { echo "$lib is not installed"; continue; }
	tried=$((tried + 1))
	job=(threads 60) launches=60
	beside "$lib-before" "$path:$ours" whole
	beside "$lib-after" "$ours:$path" whole
	job=(fork 1 libc) launches=40 # by a bare call an allocator's locks stay as another thread has them just then
	beside "$lib-fork" "$ours:$path" whole
done
# The sanitizer's runtime must be first of all, as it says itself.
asan=$(gcc -print-file-name=libasan.so)
asan=$(realpath "$asan" 2>/dev/null)
if [ -e "$asan" ]; then
	tried=$((tried + 1))
	job=(signals 500) launches=500 # not threads: ASan's own thread data does not stand a bare exit of a thread
	beside asan "$asan:$ours" whole
	job=(fork 1 libc) launches=40
	beside asan-fork "$asan:$ours" whole
fi
job=(plain 200) launches=200
beside dlsym-after "$ours:$build/tests/cli/libother_dlsym.so" whole
beside dlsym-before "$build/tests/cli/libother_dlsym.so:$ours" any
# A second agent, of another installation: one of the two has CUPTI, the other stands back; everything is there once.
mkdir "$dir/second"; cp "$ours" "$dir/second"
beside twice "$ours:$dir/second/libwarptap.so" whole
[ "$(ls "$dir/twice" | grep -c '\.wt$')" = 2 ] || fail "twice: $(ls "$dir/twice")"
[ $tried = 3 ] || fail "only $tried of three other preloads are here"
