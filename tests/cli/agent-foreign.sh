#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Another user of CUPTI's activity API in the job, in every order: it gets exactly the records it would get alone, in
# its own buffers; the agent steps aside before, says so, comes back after, and what it records meanwhile is complete.
set -eu
build=${BUILD:-build}
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
client=$build/tests/cli/foreign_cupti
export PYTHONDONTWRITEBYTECODE=1

beside() { # NAME WORDS...: under the agent
	local name=$1 rc=0; shift
	WARPTAP_COOL_MS=${COOL:-150} WARPTAP_FLUSH_MS=50 WARPTAP_EXIT_MS=10000 "$build/warptap" run --sim h100 -o "$dir/$name" -- \
		"$client" "$@" >"$dir/$name.out" 2>"$dir/$name.err" || rc=$?
	[ $rc = 0 ] || { echo "FAIL: $name: exit $rc"; cat "$dir/$name.err"; exit 1; }
	"$build/warptap" report --json "$dir/$name" >"$dir/$name.json" || { echo "FAIL: $name: no report"; exit 1; }
}
joined() { # NAME [LATE]: every operation hangs on the call that made it
	"$build/tests/e2e/join_check" "$dir/$1" 0 "${2:-0}" || { echo "FAIL: $1: joined wrong"; exit 1; }
}

beside first init work=300 session work=100 wait=400 work=300 &
beside twice init work=100 session work=50 session wait=400 work=100 session work=20 &
wait -n; wait -n
# The quiet time must not pass between `register` and `session`, on a busy machine either.
COOL=1500 beside before register init work=50 session wait=2500 work=100 &
beside busy init load wait=150 session wait=400 other wait=400 work=50 unload &
wait -n; wait -n
beside clock init work=60 clock wait=400 work=60 session wait=400 work=200 wait=150 work=50 &
beside byname dlsym init work=100 other wait=400 work=100 &
wait -n; wait -n
# Failed calls take nothing; a child is none of our business; a subscriber takes nothing; finalize gives all up.
beside odd init work=40 bad wait=400 work=40 fork session subscribe wait=400 work=40 unsubscribe finalize wait=400 work=40 &
# Enabled and never given up: the agent stays away.
beside held init work=40 register enable begin work=60 end flush wait=500 work=40 &
wait -n; wait -n
# A lasting guest: windows that are not worth it make the quiet time longer.
COOL=60 beside often init session wait=250 session wait=250 session wait=250 session wait=300 work=10
for name in first twice before byname odd held often; do joined $name; done
joined busy 6 # of two threads that go on launching while collection begins anew

python3 - "$dir" <<'P'
import collections, glob, json, sys
dir = sys.argv[1]

def truth(name):
    (path,) = glob.glob("%s/%s/truth.*.tsv" % (dir, name))
    rows = [l.rstrip("\n").split("\t") for l in open(path) if not l.startswith("#")]
    return [dict(zip(rows[0], r)) for r in rows[1:] if r[0] == "op"]

def check(name, sessions, pauses, more=0, exact=True):
    """more: pauses without a session that has an end"""
    ops = truth(name)
    lines = [l.split() for l in open("%s/%s.out" % (dir, name))]
    spans = {l[1]: (int(l[2]), int(l[3])) for l in lines if l[0] == "session"}
    assert len(spans) == sessions, (name, spans)
    got = collections.defaultdict(collections.Counter)
    apis = collections.Counter()
    for l in lines:
        if l[0] == "record" and l[2] != "api":
            got[l[1]][tuple(l[2:])] += 1
        elif l[0] == "record":
            apis[l[1]] += 1
    for s, (a, b) in spans.items():
        # While others go on launching, what was under way at the end is not due: nobody waits for it.
        want = [o for o in ops if a <= int(o["submit_ns"]) < b and (name != "busy" or int(o["end_ns"]) < b)]
        inside = collections.Counter((o["kind"], o["correlation"], o["start_ns"], o["end_ns"]) for o in want)
        mine = got[s]
        if not exact:
            inside = collections.Counter(k[:2] for k in inside.elements())
            mine = collections.Counter(k[:2] for k in mine.elements())
        # And a few more are right: submitted while its kinds were on, in this session or at an earlier one's end.
        early = {(o["kind"], o["correlation"], o["start_ns"], o["end_ns"])[:4 if exact else 2] for o in ops
                 if any(x - 50000000 <= int(o["submit_ns"]) < y + 50000000 for x, y in spans.values())}
        assert len(want) >= 60 and not inside - mine, (name, s, len(want), list(inside - mine)[:3])
        assert set(mine - inside) <= (early if name == "busy" else set()), (name, s, list(mine - inside)[:3])
        assert apis[s] >= len(want), (name, s, apis[s], len(want))
    assert set(got) <= set(spans), (name, set(got), set(spans))

    rep = json.load(open("%s/%s.json" % (dir, name)))
    c = rep["completeness"]
    made = collections.Counter(o["kind"] for o in ops)
    for kind, key in (("kernel", "launch"), ("memcpy", "copy"), ("memset", "memset")):
        assert c["counted"][key] + c["outside_windows"][key] == made[kind], (name, key, c, made)
        assert c["received"][key] == c["counted"][key] or name == "busy", (name, key, c)
    assert c["share"] == 1.0 and not c["missing"], (name, c)
    holes = c["holes"]
    assert len(holes) == pauses and all(h["paused"] for h in holes), (name, holes)
    (d,) = rep["devices"]
    assert sum(d["leaves_ns"].values()) == d["window_ns"], (name, d)
    if holes:
        assert 0 < d["leaves_ns"]["E1"] <= sum(h["end_ns"] - h["start_ns"] for h in holes), (name, d)
        for h in holes:  # nothing of the profiler's session is idle time of ours
            for a, b in spans.values():
                assert b <= h["start_ns"] or a >= h["end_ns"] or h["start_ns"] <= a < b <= h["end_ns"] or not exact, (name, h, a, b)
    said = [n for n in rep["notes"] if "stood back" in n]
    assert len(said) == 1 or name == "before", (name, rep["notes"])
    assert ("did not begin again" in said[0]) == (name == "held") if said else True, (name, said)
    return rep, ops

check("first", 1, 1)
check("twice", 3, 1)
check("before", 1, 0)
check("busy", 2, 2)
check("byname", 1, 1)
check("odd", 1, 3)
check("held", 1, 0)
log = open(glob.glob(dir + "/often/*.log")[0]).read()
rep, _ = check("often", 4, log.count(" back") )
assert log.count("steps aside") == log.count(" back"), log

# On the other tool's clock: counts of ticks, told apart and turned into nanoseconds within a microsecond or two.
rep, ops = check("clock", 1, 2, exact=False)
(d,) = rep["devices"]
kernels = [o for o in ops if o["kind"] == "kernel"]
assert d["kernels"]["count"] == rep["completeness"]["counted"]["launch"] >= 310, (d, len(kernels))
mean = sum(int(o["end_ns"]) - int(o["start_ns"]) for o in kernels) / len(kernels)
assert abs(d["kernels"]["sum_ns"] / d["kernels"]["count"] - mean) < 100, (d, mean)
assert d["window_ns"] < 10e9, d
P
echo ok
