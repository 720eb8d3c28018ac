#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# A black box that was damaged after the job died: recovery refuses it with a reason or gives a trace that can be read;
# it never crashes, and never changes what it was given.
set -eu
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
export WARPTAP_CONTROL_DIR=$dir/control WARPTAP_BUDGET=0 PYTHONDONTWRITEBYTECODE=1
: >"$dir/out"
"$build/warptap" run -q --sim h100 -o "$dir/t" -- "$build/tests/cli/steady" seconds=60 threads=3 rate=2000 step=50 \
	>"$dir/out" 2>&1 & runner=$!
for _ in $(seq 200); do pid=$(sed -n 's/^ready //p' "$dir/out"); [ -z "$pid" ] || break; sleep 0.05; done
sleep 0.6
kill -9 "$pid"; wait $runner 2>/dev/null || :
python3 - "$build/warptap" "$dir" "${CASES:-60}" <<'P'
import glob, os, random, struct, subprocess, sys
warptap, dir, cases = sys.argv[1], sys.argv[2], int(sys.argv[3])
(ring,), (trace,) = glob.glob(dir + "/t/*.ring"), glob.glob(dir + "/t/*.wt")
whole, told = open(ring, "rb").read(), open(trace, "rb").read()
seed = random.randrange(1 << 32)
print("seed", seed)
rng = random.Random(seed)
words = [0, 1, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 0xffffffffffffffff, 1 << 62]
# where something is: zero pages teach nothing
used = [i for i in range(0, len(whole), 4096) if whole[i:i + 4096].strip(b"\0")]

def damage(n):
    b = bytearray(whole)
    if n % 10 == 9:
        return bytes(b[:rng.choice([0, 10, 65536, 4 << 20, rng.randrange(len(b))])])
    for _ in range(rng.choice([1, 4, 40, 400])):
        at = rng.choice(used) + rng.randrange(4096) if n % 3 else rng.randrange(0, 65536)
        size = rng.choice([1, 4, 8])
        b[at:at + size] = struct.pack("<Q", rng.choice(words + [rng.randrange(1 << 64)]))[:size]
    return bytes(b[:len(whole)])

good = bad = 0
for n in range(cases):
    open(ring, "wb").write(damage(n))
    r = subprocess.run([warptap, "recover", "-k", "-q", "-o", dir + "/out.wt", ring], capture_output=True, text=True, timeout=60)
    what = "case %d, seed %d: exit %d: %s" % (n, seed, r.returncode, r.stderr[-300:])
    assert r.returncode in (0, 1), what
    assert open(trace, "rb").read() == told, what
    if r.returncode:
        assert r.stderr.startswith("warptap recover: ") and not os.path.exists(dir + "/out.wt"), what
        bad += 1
        continue
    good += 1
    r = subprocess.run([warptap, "report", dir + "/out.wt"], capture_output=True, text=True, timeout=60)
    assert r.returncode in (0, 1, 3), "case %d, seed %d: report exit %d: %s" % (n, seed, r.returncode, r.stderr[-300:])
    os.unlink(dir + "/out.wt")
print("%d recovered, %d refused" % (good, bad))
assert good > cases / 4 and bad, "nothing was tested"
P
