#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# warptap convert: the report of the converted file equals that of the original but for the names of files, for
# generated files of every style, jobs, damaged files, native traces, and every public trace that is here.
set -u
BUILD=${BUILD:-build}
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
gen() { python3 tests/gen/gen_kineto.py "$@"; }
gen --seed 1 --noise -o "$tmp/a.json"
gen --seed 2 --style old --pretty -o "$tmp/b.json.gz"
gen --seed 3 --style rocm --array --shuffle --quoted -o "$tmp/c.json"
gen --seed 4 --nccl --world 2 --rank 1 --untimed --devices 2 -o "$tmp/d.json"
gen --seed 5 --cut -900 -o "$tmp/cut.json"
sed 's/"ph": "X", "cat": "kernel"/"ph": "X" "cat": "kernel"/3' "$tmp/a.json" >"$tmp/comma.json"
printf '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "caf\351", "ts": 1, "dur": 2, "args": {"device": 0, "stream": 1}}]}' >"$tmp/latin.json"
mkdir "$tmp/job"
for r in 0 1 3; do gen --seed 1$r --nccl --world 4 --rank $r --steps 4 -o "$tmp/job/rank$r.json.gz"; done
python3 - "$BUILD/warptap" "$tmp" <<'PY'
import glob, json, os, subprocess, sys
binary, tmp = sys.argv[1:]
out, bad, done = f"{tmp}/out.wt", 0, 0

def report(path):
    run = subprocess.run([binary, "report", "-q", "--json", path], capture_output=True)
    return run.returncode, json.loads(run.stdout) if run.stdout else None, run.stderr.decode()

def check(path, must=True):
    """1 if the original gives a report at all."""
    global bad, done
    rc, a, err = report(path)
    if a is None:
        if must:
            bad += 1
            print(f"{path}: {err}")
        return
    run = subprocess.run([binary, "convert", "-q", path, "-o", out], capture_output=True)
    rc2, b, err = report(out)
    done += 1
    if run.returncode != rc or rc2 != rc:
        bad += 1
        print(f"{path}: report exits {rc}, convert {run.returncode}, report of the result {rc2}: {err}")
        return
    for key in a:
        if key == "inputs":
            was = [sum(i["lost"][k] or 0 for i in a[key]) for k in ("packets", "bytes", "events", "repairs")]
            now = [b[key][0]["lost"][k] or 0 for k in ("packets", "bytes", "events", "repairs")]
            if was != now or any(i["damaged"] for i in a[key]) != b[key][0]["damaged"]:
                bad += 1
                print(f"{path}: inputs: {a[key]} became {b[key]}")
        elif a[key] != b.get(key):
            bad += 1
            print(f"{path}: {key}: {json.dumps(a[key])[:400]} became {json.dumps(b.get(key))[:400]}")

for path in sorted(glob.glob(f"{tmp}/*.json*")) + [f"{tmp}/job"] + sorted(glob.glob("tests/golden/v1/*.wt")):
    check(path)
mine = done
for path in sorted(glob.glob("../shared/traces/*/*")):
    if os.path.isfile(path):
        check(path, must=False)
print(f"{mine} own and {done - mine} public traces converted")
sys.exit(bool(bad) or mine < 9)
PY
bad=$?
fail() { echo "FAIL: $*"; bad=1; }
bin=$BUILD/warptap
"$bin" convert "$tmp/a.json" 2>"$tmp/err"; [ $? = 2 ] || fail "no -o: not wrong use"
"$bin" convert "$tmp/absent.json" -o "$tmp/x.wt" 2>"$tmp/err"; [ $? = 1 ] && [ ! -e "$tmp/x.wt" ] || fail "an absent file"
"$bin" convert "$tmp/a.json" -o "$tmp/no/such/x.wt" 2>"$tmp/err"; [ $? = 1 ] && grep -q 'no/such/x.wt' "$tmp/err" || fail "-o to nowhere"
"$bin" convert "$tmp/a.json" -o "$tmp/x.wt" || fail "convert"
[ ! -e "$tmp/x.wt.part" ] || fail "its scaffold stays"
"$bin" info "$tmp/x.wt" | grep -q 'converted  from kineto' || fail "info does not say what it was: $("$bin" info "$tmp/x.wt")"
# Cut anywhere: what is there, or a refusal; never a crash.
for cut in 10 30 60 90; do
	head -c $(($(stat -c %s "$tmp/x.wt") * cut / 100)) "$tmp/x.wt" >"$tmp/y.wt"
	"$bin" report "$tmp/y.wt" >"$tmp/out" 2>"$tmp/err"; rc=$?
	[ $rc = 1 ] || [ $rc = 3 ] || fail "cut at $cut %: exit $rc"
done
exit $bad
