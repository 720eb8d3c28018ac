#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Memory of the simulated device: accounting to the byte, pools, virtual memory management, sharing between processes,
# laziness, running out (scenes of tests/cli/src/sim_memory.c), and what the truth says of it.
set -eu
build=$(cd "${BUILD:-build}" && pwd)
prog=$build/tests/cli/sim_memory
export LD_LIBRARY_PATH=$build/simgpu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset SIMGPU_DEVICE SIMGPU_DEVICES SIMGPU_SCENARIO SIMGPU_TRUTH SIMGPU_LOG RANK LOCAL_RANK OMPI_COMM_WORLD_RANK SLURM_PROCID PMI_RANK
fail() { echo "sim-memory.sh: $*" >&2; exit 1; }

scene() { # NAME [VAR=VALUE...]
	local name=$1; shift
	mkdir "$tmp/$name"
	env SIMGPU_TRUTH="$tmp/$name" "$@" timeout 60 "$prog" "$name" >"$tmp/out" 2>"$tmp/err" ||
		fail "scene $name: exit $?: $(cat "$tmp/err")"
	grep -qx ok "$tmp/out" || fail "scene $name: $(cat "$tmp/out")"
}
note() { awk -F'\t' -v k="$2" '$1 == "note" && $2 == k { print $18 }' "$tmp/$1"/truth.*.tsv; }
expect() { [ "$2" = "$3" ] || fail "$1: $2, not $3"; }

scene account
expect "peak of the device" "$(note account peak_bytes)" "0 74405441"
expect "peak of pinned memory" "$(note account peak_pinned_bytes)" 12345
# The rows say the same: replayed, they reach that peak, every free has its allocation, and one is left.
python3 - "$tmp"/account/truth.*.tsv <<'P'
import sys
live, peak, kinds = {}, 0, set()
for r in (l.rstrip("\n").split("\t") for l in open(sys.argv[1])):
    if r[0] not in ("alloc", "free"):
        continue
    row, kind, device, size, tid, address = r[0], r[1], int(r[2]), int(r[14]), int(r[15]), r[16]
    assert len(r) == 18 and device == 0 and tid > 0 and int(r[9]) > 10**18, r
    kinds.add(kind)
    if row == "alloc":
        assert address not in live, r
        live[address] = kind, size
    else:
        assert live.pop(address) == (kind, size), r
    peak = max(peak, sum(s for k, s in live.values() if k in ("device", "async", "vmm")))
assert kinds == {"device", "async", "pinned", "managed"}, kinds
assert peak == 74405441, peak
assert list(live.values()) == [("device", 5)], live
P
scene pools
scene vmm
# Three pieces of 20 MiB, then one of 60 MiB, never more at a time; the frees come when handle and mapping are gone.
expect "peak of mapped memory" "$(note vmm peak_bytes)" "0 62914560"
expect "pieces made and freed" "$(awk -F'\t' '$2 == "vmm" { n[$1]++ } END { print n["alloc"], n["free"] }' \
	"$tmp"/vmm/truth.*.tsv)" "4 4"
scene vmm-export
scene ipc
# What another process shared is its memory, not this one's.
expect "allocations of the two processes" "$(for f in "$tmp"/ipc/truth.*.tsv; do
	awk -F'\t' '$1 == "alloc" && $2 == "device" { n++ } END { print n + 0 }' "$f"; done | sort -n | xargs)" "1 4"
scene lazy
scene absent
printf '[device] memory = 1GiB\n' >"$tmp/oom.ini"
scene oom SIMGPU_SCENARIO="$tmp/oom.ini"
expect "peak where there is no more" "$(note oom peak_bytes)" "0 $((1024 << 20))"
printf '[device] memory = none\n' >"$tmp/bad.ini"
if SIMGPU_SCENARIO="$tmp/bad.ini" "$prog" oom >"$tmp/out" 2>"$tmp/err"; then fail "accepted a bad size"; fi
grep -q 'device.memory = none: expected a size' "$tmp/err" || fail "for a bad size it said: $(cat "$tmp/err")"
echo "all scenes as expected"
