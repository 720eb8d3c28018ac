#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# The simulated driver: its scenes (tests/cli/src/sim_driver.c), and what they leave in the truth.
set -eu
build=$(cd "${BUILD:-build}" && pwd)
prog=$build/tests/cli/sim_driver
export LD_LIBRARY_PATH=$build/simgpu/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset SIMGPU_DEVICE SIMGPU_DEVICES SIMGPU_SCENARIO SIMGPU_TRUTH SIMGPU_LOG RANK LOCAL_RANK OMPI_COMM_WORLD_RANK SLURM_PROCID PMI_RANK
fail() { echo "sim-driver.sh: $*" >&2; exit 1; }

# scene NAME [VAR=VALUE...]: runs it, its truth in $tmp/NAME.tsv
scene() {
	local name=$1; shift
	mkdir "$tmp/truth"
	env SIMGPU_TRUTH="$tmp/truth" "$@" timeout 60 "$prog" "$name" >"$tmp/$name.out" || fail "scene $name: exit $?"
	cat "$tmp"/truth/truth.*.tsv >"$tmp/$name.tsv"
	[ "$(find "$tmp/truth" -type f | wc -l)" = 1 ] || fail "scene $name: more than one process wrote a truth"
	rm -r "$tmp/truth"
	python3 "$tmp/truth.py" check "$tmp/$name.tsv" || fail "scene $name: not a valid truth"
}
# Times are 19 digits: more than awk's numbers hold.
cat >"$tmp/truth.py" <<'PY'
import collections, sys
what, path = sys.argv[1:3]
rows = [line.rstrip("\n").split("\t") for line in open(path)]
def bad(why, r): sys.exit(f"{path}: {why}: {r}")
if rows[0][0] != "row" or any(len(r) != 18 for r in rows): bad("columns", rows[0])
col = {name: i for i, name in enumerate(rows[0])}
Op = collections.namedtuple("Op", "kind stream corr submit start end tid name")
ops = [Op(r[1], (r[3], r[4]), int(r[5]), int(r[8]), int(r[9]), int(r[10]), r[col["tid"]], r[17]) for r in rows[1:] if r[0] == "op"]
if what == "check":
    # A stream runs one operation at a time, in order of submission; nothing starts before it was submitted and the
    # launch latency is over; operations are listed in order of their ends, as far as those were known. Correlations
    # are given out as calls begin: of two threads on one stream the one that called first may come second.
    last, calls = {}, {}
    for o in ops:
        if o.end < o.start: bad("ends before it starts", o)
        if o.start < o.submit + 3000: bad("starts before submission and latency", o)
        p = last.get(o.stream)
        if p and (o.start < p.end or o.submit < p.submit): bad("overlaps or overtakes the one before", (p, o))
        if o.corr < calls.get((o.stream, o.tid), 0): bad("overtakes a call of its own thread", o)
        calls[o.stream, o.tid] = o.corr
        last[o.stream] = o
elif what == "legacy":
    legacy = [o for o in ops if o.stream[1] == "7"]
    free = {sys.argv[3]}  # ids of non-blocking streams
    if not legacy: bad("nothing on the legacy stream", "")
    for l in legacy:
        for o in ops:
            if o.stream[1] not in free | {"7"} and o.start < l.end and o.end > l.start: bad("beside the legacy stream", (l, o))
elif what == "durations":
    print(*sorted({o.end - o.start for o in ops if o.name == sys.argv[3] or sys.argv[3] == "*"}))
elif what == "relative":
    origin = min(o.start for o in ops)
    if origin != min(o.submit for o in ops) + 50000000: bad("the hold is not 50 ms", ops[0])
    for o in sorted(ops, key=lambda o: (o.start, o.stream)): print(o.stream[1], o.start - origin, o.end - origin, o.name)
PY
count() { awk -F'\t' -v k="$2" '$1 == "op" && $2 == k { n++ } END { print n + 0 }' "$tmp/$1.tsv"; }
expect() { [ "$2" = "$3" ] || fail "$1: $2, not $3"; }

scene streams
expect "kernels of streams" "$(count streams kernel)" 54
# The legacy kernel starts when both blocking streams are through (b waited for a), the next of b when it is through.
python3 "$tmp/truth.py" legacy "$tmp/streams.tsv" 10 || fail "the legacy stream does not exclude blocking ones"
scene copies
scene host
scene graphs
# Three full replays of 5 nodes, one of 4; all nodes of a launch share its correlation and have ids of their own.
expect "replays" "$(awk -F'\t' '$1 == "op" && $7 { n[$6]++; if (seen[$6, $8]++) exit 1 }
	END { for (c in n) a[n[c]]++; print a[5], a[4], a[7] }' "$tmp/graphs.tsv")" "3 1 2"
expect "node parameters" "$(awk -F'\t' '$12 == "77,1,1" { n++ } END { print n }' "$tmp/graphs.tsv")" 2
scene proc
scene contexts SIMGPU_DEVICES=2
expect "peer copies" "$(count contexts memcpy)" 3
scene threads
expect "kernels of threads" "$(count threads kernel)" $((4 * (2000 + 55 + 4)))

printf '[fail]\ncuMemAlloc_v2 = 3:2\ncuStreamCreate = 2+:801\n' >"$tmp/fail.ini"
scene fail SIMGPU_SCENARIO="$tmp/fail.ini"

scene stub SIMGPU_LOG="$tmp/log"
expect "lines of the log" "$(grep -c 'cuTexObjectCreate: not simulated' "$tmp/log")" 1

scene export
expect "notes of a library" "$(awk -F'\t' '$2 == "remark" { print $18 }' "$tmp/export.tsv")" "1 of them"

scene fork
expect "kernels beside forks" "$(count fork kernel)" 100

# Ends at once with two and a half seconds of kernels queued; what is listed is a prefix.
printf '[kernel]\nbeta = 5ms, 0%%\nalpha = 5us\n' >"$tmp/exit.ini"
scene exit SIMGPU_SCENARIO="$tmp/exit.ini"
expect "exit's output" "$(cat "$tmp/exit.out")" "after the driver"
[ "$(count exit kernel)" -lt 400 ] || fail "kernels completed that had no time to"
expect "durations of the scenario" "$(python3 "$tmp/truth.py" durations "$tmp/exit.tsv" beta)" 5000000
grep -q $'^note\tend' "$tmp/exit.tsv" || fail "no end note"

# With a hold the relative schedule is the same in every run, another seed gives another one.
printf '[device] hold = 50ms\n[model] seed = 5\n[kernel] alpha = 20us, 30%%\n' >"$tmp/hold.ini"
relative() { python3 "$tmp/truth.py" relative "$tmp/hold.tsv" | md5sum; }
scene hold SIMGPU_SCENARIO="$tmp/hold.ini"; one=$(relative)
scene hold SIMGPU_SCENARIO="$tmp/hold.ini"; two=$(relative)
expect "held schedule" "$one" "$two"
sed -i 's/seed = 5/seed = 6/' "$tmp/hold.ini"
scene hold SIMGPU_SCENARIO="$tmp/hold.ini"
[ "$(relative)" != "$one" ] || fail "the seed changes nothing"
# The straggler is that rank and no other.
printf '[kernel] .* = 10us, 0%%\n[straggler] rank = 1   factor = 1.3\n' >"$tmp/slow.ini"
for rank in 0 1; do
	scene hold SIMGPU_SCENARIO="$tmp/slow.ini" RANK=$rank
	expect "duration on rank $rank" "$(python3 "$tmp/truth.py" durations "$tmp/hold.tsv" '*')" $((10000 + rank * 3000))
done

# Two processes see the same device, by identity.
scene host; one=$(awk -F'\t' '$2 == "device" { print $18 }' "$tmp/host.tsv")
scene copies
expect "device of two processes" "$(awk -F'\t' '$2 == "device" { print $18 }' "$tmp/copies.tsv")" "$one"
scene copies SIMGPU_DEVICE=a100
awk -F'\t' '$2 == "device" { print $18 }' "$tmp/copies.tsv" | grep -q A100 || fail "SIMGPU_DEVICE is not heeded"

# A bad scenario says file and line, and cuInit fails.
bad() { # TEXT PATTERN
	printf '%b' "$1" >"$tmp/bad.ini"
	if SIMGPU_SCENARIO="$tmp/bad.ini" "$prog" streams 2>"$tmp/err"; then fail "accepted: $1"; fi
	grep -q "$2" "$tmp/err" || fail "for \"$1\" it said: $(cat "$tmp/err")"
	grep -q 'answered 1' "$tmp/err" || fail "cuInit did not answer CUDA_ERROR_INVALID_VALUE"
}
bad 'x = 1\n' 'line 1: a setting before'
bad '[devices]\n' 'line 1: unknown section'
bad '[device]\ncolour = red\n' 'line 2: \[device\] has no key'
bad '[kernel]\na( = 3us\n' 'line 2: .*regular expression'
bad '[kernel]\nabc = fast\n' 'line 2: .*duration'
bad '[fail]\ncuMemAlloc = 3\n' 'line 2: .*expected call:result'
bad '[fail]\ncuNoSuch = 3:1\n' 'line 2: .*exports no'
bad '[straggler]\nfactor = -1\n' 'expected a number'
bad '[device] name = tpu\n' 'no device "tpu"'
if SIMGPU_SCENARIO=$tmp "$prog" streams 2>"$tmp/err"; then fail "a directory is a scenario"; fi
grep -q 'cannot read' "$tmp/err" || fail "no word about a directory"
# kill -9 in the middle leaves whole rows.
mkdir "$tmp/truth"
SIMGPU_TRUTH=$tmp/truth "$prog" forever & pid=$!
while [ "$(cat "$tmp"/truth/*.tsv 2>/dev/null | wc -l)" -lt 200 ] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -9 $pid || fail "it ended before it was killed"
wait $pid 2>/dev/null || true
awk -F'\t' 'NF != 18 { exit 1 } END { exit NR < 100 }' "$tmp"/truth/*.tsv || fail "torn rows after kill -9"
echo "all scenes as expected"
