#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# jax.profiler in a recorded process, after the recording began and before the first kernel: XLA takes CUPTI and ends
# it with cuptiFinalize; the agent stands back, comes back, and the profile is what it is without the agent. The profile
# and the trace of the same run agree on a step's kernels and busy time, and each with the truth on that and on steps'
# times, to the nanosecond.
. tests/jax/jax_env.sh
printf '[kernel]  . = 20us\n' >"$tmp/scenario"
export SIMGPU_SCENARIO=$tmp/scenario WARPTAP_COOL_MS=50
profile() {
	find "$tmp/$1" -name '*.xplane.pb' -exec "$build/warptap" report --json -o "$tmp/$1.json" {} +
}
for when in late early; do
	plain $when h100 test_jax_profiler.py $when "$tmp/$when-alone" "$tmp/$when-alone.steps"
	record $when h100 test_jax_profiler.py $when "$tmp/$when-beside" "$tmp/$when-beside.steps"
	diff "$tmp/$when.plain" "$tmp/$when.out" || fail "$when: the output changes with the agent"
	profile $when-alone
	profile $when-beside
	# The trace's kernels get their paths from the profile.
	find "$tmp/$when-beside" -name '*.xplane.pb' -exec "$build/warptap" report --json -o "$tmp/$when.json" \
		"$tmp/$when" --hlo {} \; || fail "$when: report --hlo exits $?"
	# So they do from one that lies where the job would have put it; of two the later one counts.
	mkdir -p "$tmp/$when/plugins/profile/2000_01_01_00_00_00"
	echo no profile >"$tmp/$when/plugins/profile/2000_01_01_00_00_00/host.xplane.pb"
	cp -r "$tmp/$when-beside/plugins" "$tmp/$when"
	"$build/warptap" report --json -o "$tmp/$when.found.json" "$tmp/$when" || fail "$when: report exits $?"
	python3 -c 'import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
assert a["modules"] == b["modules"] and a["phases"] == b["phases"]
assert [n for n in b["notes"] if "is from this profile" in n]' "$tmp/$when.json" "$tmp/$when.found.json" ||
		fail "$when: the profile in the folder is not taken"
	python3 tests/jax/jax_profile.py "$tmp/$when-alone.json" "$tmp/$when-beside.json" "$tmp/$when.json" \
		"$tmp/$when"/truth.*.tsv "$tmp/$when-beside.steps" || fail "$when: profile, trace and truth differ"
done
