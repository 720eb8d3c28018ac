#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# A whole job: a folder, a list and a pattern of ranks give one report, the same on one core and on many; duplicates and
# gaps in ranks are said; ranks whose files count from different bases are on one clock; a bomb is refused.
set -u
BUILD=${BUILD:-build}
bin=$(realpath "$BUILD/warptap")
gen=$(realpath tests/gen/gen_kineto.py)
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
bad=0
fail() { echo "FAIL: $*"; bad=1; }
cd "$tmp" || exit 1
mkdir job
for r in 0 1 2 10; do
	zip=.gz; [ $r = 1 ] && zip=
	python3 "$gen" --nccl --world 12 --rank $r --seed $r --steps 3 -o job/rank$r.json$zip --truth >truth.$r
done
"$bin" report --json job >folder.out 2>err || fail "folder: exit $? $(cat err)"
"$bin" report --json job/rank0.json.gz job/rank1.json job/rank2.json.gz job/rank10.json.gz >list.out || fail "list: exit $?"
"$bin" report --json 'job/rank*[0-9].json*' >pattern.out || fail "pattern: exit $?"
taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')" "$bin" report --json job >one.out || fail "one core: exit $?"
cmp folder.out list.out || fail "a folder and the list of its files differ"
cmp folder.out one.out || fail "one core and many differ"
for r in 0 1 2 10; do "$bin" report --json job/rank$r.json* >single.$r || fail "rank $r: exit $?"; done
python3 - <<'PY' || bad=1
import json
for name in ("folder.out", "pattern.out"):
    r = json.load(open(name))
    ranks = [d["rank"] for d in r["devices"]]
    assert sorted(ranks) == [0, 1, 2, 10], (name, ranks)
    for d in r["devices"]:
        one = json.load(open(f"single.{d['rank']}"))["devices"][0]
        assert d["kernels"] == one["kernels"] and d["name"] == one["name"], (d["kernels"], one["kernels"])
        row = list(map(int, open(f"truth.{d['rank']}").read().split("\t")))
        assert one["window_ns"] == row[1] and one["compute_ns"] == row[2], (d["rank"], row)
    assert any("8 of 12 ranks are not among the files: 3-9, 11" in n for n in r["notes"]), r["notes"]
assert [i["rank"] for i in json.load(open("folder.out"))["inputs"]] == [0, 1, 2, 10]
PY
# A folder a rank; folders beside traces, and those below the least deep level with a trace, are not looked into.
mkdir -p nest/r0/deep nest/r1 nest/.hidden empty/a/b
cp job/rank0.json.gz nest/r0/t.json.gz
cp job/rank1.json nest/r1/t.json
cp job/rank2.json.gz nest/r0/deep/t.json.gz
cp job/rank2.json.gz nest/.hidden/t.json.gz
cp job/rank2.json.gz empty/a/b/t.json.gz
ranks() { python3 -c 'import json; print(*sorted(d["rank"] for d in json.load(open("out"))["devices"]))'; }
"$bin" report --json nest >out 2>err || fail "folders in a folder: exit $? $(cat err)"
[ "$(ranks)" = "0 1" ] || fail "folders in a folder: ranks $(ranks)"
cp job/rank10.json.gz nest/top.json.gz
"$bin" report --json nest >out 2>err || fail "traces beside folders: exit $? $(cat err)"
[ "$(ranks)" = 10 ] || fail "traces beside folders: ranks $(ranks)"
"$bin" report --json empty >out 2>err && [ "$(ranks)" = 2 ] || fail "two levels down: $(cat err)"
mkdir -p deep/1/2/3/4/5 && cp job/rank2.json.gz deep/1/2/3/4/5/
"$bin" report --json deep >out 2>err
[ $? = 1 ] && grep -q 'nor 4 levels of folders down' err || fail "five levels down: $(cat err)"
# A file named twice, under two names, is one.
ln -s rank0.json.gz job/.link.gz
"$bin" report --json job/rank0.json.gz job/.link.gz job/rank1.json job/rank0.json.gz >out 2>err || fail "named twice: exit $?"
[ "$(ranks)" = "0 1" ] && grep -q '2 of the files named were named before' out || fail "named twice: ranks $(ranks)"
# Two files of one rank, and one that is no trace.
cp job/rank2.json.gz job/again.json.gz
echo text >job/notes.txt
"$bin" report --json job >out 2>err || fail "two claims: exit $?"
python3 -c 'import json; n = [x for x in json.load(open("out"))["notes"] if "again.json" in x and "rank 2" in x]; print(n); assert len(n) == 1 and n[0].startswith("rank 2 is claimed by two files, job/again.json.gz and job/rank2.json.gz"), n' >err 2>&1 || fail "two claims on rank 2 are not said once: $(cat err)"
"$bin" report --json job/rank0.json.gz job/notes.txt >out 2>err
[ $? = 3 ] && grep -q notes.txt err || fail "a bad file beside a good one: $(cat err)"
"$bin" report --json 'job/nothing*' >out 2>err
[ $? = 1 ] && grep -q 'no such file' err || fail "a pattern without a match: $(cat err)"

# One moment, two bases: both files start at the same nanosecond.
for base in 1700000000000000000 1712345678000000000; do
	python3 - $base >base.$base.json <<'PY'
import json, sys
base, at = int(sys.argv[1]), 1712345678901234567
rel = at - base
print(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": base, "distributedInfo": {"rank": int(base > 17 * 10**17), "world_size": 2},
    "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": "@", "dur": 1.5, "args": {"device": 0, "stream": 7}}]}
    ).replace('"@"', f"{rel // 1000}.{rel % 1000:03d}"))
PY
	"$bin" info base.$base.json | grep -q 'device time 1712345678901234567 to 1712345678901236067 ns' ||
		fail "base $base: $("$bin" info base.$base.json)"
done

# A bomb: 40 MB of blanks in an event, in 40 KB.
{ printf '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, "args": {"device": 0, "stream": 1}}'
  head -c 40000000 /dev/zero | tr '\0' ' '; printf ']}'; } | gzip -9 >bomb.json.gz
"$bin" report bomb.json.gz >out 2>err
[ $? = 1 ] && grep -q 'any-ratio' err && [ ! -s out ] || fail "bomb: $(cat err)"
"$bin" report --any-ratio --json bomb.json.gz >out 2>err || fail "--any-ratio: exit $? $(cat err)"
"$bin" info bomb.json.gz >out 2>err
[ $? = 1 ] || fail "info takes the bomb"
"$bin" info --any-ratio bomb.json.gz >out 2>err || fail "info --any-ratio: $(cat err)"
exit $bad
