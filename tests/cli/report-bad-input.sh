#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# warptap report on what is no trace: exit 1 and one line on stderr that names the file; on damaged traces: exit 3, a
# report of what was there, and what was lost. Also -o, usage errors, a folder of files, terminal escapes in names.
set -u
bin=$(realpath "${BUILD:-build}/warptap")
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
bad=0
fail() { echo "FAIL: $*"; bad=1; }

# refused WHAT PATH: exit 1, nothing on stdout, one line on stderr with the path in it
refused() {
	what=$1 path=$2
	"$bin" report "$path" >out 2>err; rc=$?
	[ $rc = 1 ] || fail "$what: exit $rc, expected 1"
	[ -s out ] && fail "$what: wrote a report"
	[ "$(wc -l <err)" = 1 ] || fail "$what: $(wc -l <err) lines on stderr: $(head -c 300 err)"
	grep -qF -- "$path" err || fail "$what: the error does not name $path: $(cat err)"
}

: >empty.wt
refused "empty file" empty.wt
: >empty.json
refused "empty file" empty.json
# 64 KiB that no generator of ours could have meant: the digits of a linear congruence
python3 -c "
x = 1
b = bytearray()
for _ in range(65536):
    x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
    b.append(x >> 56)
open('random.bin', 'wb').write(b)
open('random.wt', 'wb').write(b)"
refused "random bytes" random.bin
refused "random bytes" random.wt
printf 'dear diary\n' >text.txt
refused "text file" text.txt
grep -qi 'expected' err || fail "the error does not say what was expected: $(cat err)"
printf '{"hello": 1}\n' >other.json
refused "JSON without events" other.json
mkdir nothing
refused "empty folder" nothing
mkdir chaff && printf 'log\n' >chaff/a.log && printf 'row\tkind\n' >chaff/truth.1.tsv && printf 'notes\n' >chaff/b.txt
refused "folder without a trace" chaff
refused "no such file" nowhere.json
cp text.txt secret.json && chmod 000 secret.json
if [ "$(id -u)" = 0 ]; then
	if command -v setpriv >/dev/null; then
		chmod 755 "$tmp"
		setpriv --reuid=65534 --regid=65534 --clear-groups "$bin" report secret.json >/dev/null 2>err
		rc=$?
		# A build folder that nobody else can enter cannot be tried this way.
		if [ $rc != 126 ] && [ $rc != 127 ]; then
			[ $rc = 1 ] || fail "unreadable file: exit $rc, expected 1"
			grep -qF secret.json err || fail "unreadable file: $(cat err)"
		fi
	fi
else
	refused "unreadable file" secret.json
fi

python3 - <<'PY'
import gzip, json
events = []
for i in range(2000):
    t = 1000 + 20 * i
    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": t, "dur": 3,
                   "args": {"correlation": i + 1}})
    events.append({"ph": "X", "cat": "kernel", "name": "k\x1b[31m%d" % (i % 3), "pid": 0, "tid": 7, "ts": t + 5, "dur": 9,
                   "args": {"device": 0, "stream": 7, "correlation": i + 1}})
text = json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()
packed = gzip.compress(text)
open("whole.json", "wb").write(text)
open("cut.json", "wb").write(text[:len(text) // 2])
open("cut.json.gz", "wb").write(packed[:len(packed) // 2])
flipped = bytearray(packed)
flipped[len(flipped) // 2] ^= 0x10
open("flipped.json.gz", "wb").write(flipped)
PY
"$bin" report whole.json >out 2>err || fail "whole file: exit $?"
[ -s err ] && fail "whole file: $(cat err)"
grep -q $'\x1b' out && fail "an escape sequence of a kernel's name reached the terminal"

# Marks of direction, characters of no width, C1 controls, tags, line separators: in names of kernels, threads, devices,
# processes, annotations, in a file's own name and in what is wrong with it. Nothing of them reaches a terminal; JSON
# says what the file says.
python3 - <<'PY'
import json, os
evil = "".join(map(chr, [0x07, 0x1b, 0x7f, 0x85, 0x9b, 0xad, 0x61c, 0x200b, 0x200e, 0x2028, 0x202e, 0x2066, 0x2069, 0xfeff, 0xfff9, 0xe0041]))
events = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "p" + evil + "\nroot#"}},
          {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "t" + evil}}]
for i in range(200):
    t = 1000 + 20 * i
    events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": t, "dur": 3, "args": {"correlation": i + 1}},
               {"ph": "X", "cat": "kernel", "name": "k\u00e9" + evil, "pid": 0, "tid": 7, "ts": t + 5, "dur": 9,
                "args": {"device": 0, "stream": 7, "correlation": i + 1, "Collective name": "c" + evil, "Group size": 2, "Process Group Name": "g" + evil,
                         "Process Group Description": "d" + evil}},
               {"ph": "X", "cat": "user_annotation", "name": "a" + evil, "pid": 1, "tid": 1, "ts": t, "dur": 15}]
text = json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU" + evil}], "traceEvents": events}, ensure_ascii=False)
os.mkdir("evil")
with open("evil/good\u202e\x1b\nx.json", "w") as f: f.write(text)
with open("evil/cut\u202e\x1b\nx.json", "w") as f: f.write(text[:len(text) // 2] + evil)
with open("evil/bad\u202e\x1b\nx.txt", "w") as f: f.write("dear diary" + evil)
PY
for what in "report evil" "report --as hta evil" "info evil/good*" "info evil/cut*" "info evil/bad*" "report evil/bad*" "report evil/cut*" \
	"convert evil/cut* -o evil.wt" "info evil.wt" "info --packets evil.wt" "report evil.wt" "report $(printf 'no\u202e\x1bsuch')" \
	"report --$(printf 'o\u202e\x1b')" "$(printf 'o\u202e\x1b')" "report evil/good* --step 999"; do
	# shellcheck disable=SC2086 # words of a command
	n=$((${n:-0} + 1))
	"$bin" $what >"seen.$n" 2>&1
done
python3 - <<'PY' || bad=1
import glob, unicodedata
for name in glob.glob("seen.*"):
    text = open(name, "rb").read().decode()
    assert text, f"{name}: nothing was printed"
    found = sorted({hex(ord(c)) for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")})
    assert not found, (name, found, text[:300])
    assert not any(l.startswith(("x.json", "root#")) for l in text.split("\n")), f"{name}: a line of its own"
PY
"$bin" report --json evil/good* >out 2>err && python3 -c 'import json
k, = json.load(open("out"))["kernels"]
assert "\u202e" in k["name"] and "\x1b" in k["name"] and "\U000e0041" in k["name"], k["name"]' || fail "JSON: names are not as the file has them"

# damaged FILE: exit 3, a report with devices and closed sums, the damage in it and on stderr
damaged() {
	"$bin" report --json "$1" >out 2>err; rc=$?
	[ $rc = 3 ] || fail "$1: exit $rc, expected 3"
	grep -qF "$1" err || fail "$1: stderr says nothing of it"
	python3 - "$1" <<'PY' || bad=1
import json, sys
r = json.load(open("out"))
i, = r["inputs"]
assert i["damaged"] is True, "not marked as damaged"
assert i["lost"]["text"], "does not say what is wrong"
d, = r["devices"]
assert 0 < d["kernels"]["count"] < 2000, d["kernels"]
assert sum(d["leaves_ns"].values()) == d["window_ns"], "does not close"
PY
	"$bin" report -q "$1" >out 2>err
	[ -s err ] && fail "$1: -q, and yet: $(cat err)"
	grep -q 'Damaged input' out || fail "$1: the text report does not say it"
}
damaged cut.json
damaged cut.json.gz
"$bin" report --json flipped.json.gz >out 2>err; rc=$?
[ $rc = 3 ] || [ $rc = 1 ] || fail "flipped byte: exit $rc"
[ $rc = 1 ] || python3 -c 'import json
lost = json.load(open("out"))["inputs"][0]["lost"]
assert lost["bytes"] > 0 or lost["events"] > 0' ||
	fail "flipped byte: it does not say how much is lost"

# A good and a bad file together: the good one is reported, the exit code tells.
"$bin" report --json whole.json text.txt >out 2>err; rc=$?
[ $rc = 3 ] || fail "good and bad file: exit $rc, expected 3"
python3 -c "import json; assert json.load(open('out'))['devices'][0]['kernels']['count'] == 2000" || bad=1
grep -qF text.txt err || fail "good and bad file: stderr does not name the bad one"

# A folder: traces are found by content, the rest is passed over.
mkdir job && cp whole.json chaff/* job/
"$bin" report --json job >out 2>err || fail "folder: exit $?"
[ -s err ] && fail "folder: $(cat err)"

"$bin" report whole.json -o report.txt >out 2>err || fail "-o: exit $?"
[ -s out ] && fail "-o: wrote to stdout as well"
grep -q 'Ledger of' report.txt || fail "-o: no report in the file"
"$bin" report whole.json -o no/such/folder/x >out 2>err; rc=$?
[ $rc = 1 ] && grep -qF no/such/folder/x err || fail "-o to nowhere: exit $rc, $(cat err)"
"$bin" report whole.json >/dev/full 2>err; rc=$?
[ $rc = 1 ] || fail "full disk: exit $rc, expected 1"

for args in "report" "report --no-such-option x" "report x -o" "nonsense" ""; do
	# shellcheck disable=SC2086
	"$bin" $args >out 2>err; rc=$?
	[ $rc = 2 ] && [ -s err ] || fail "warptap $args: exit $rc, expected 2 and a word on stderr"
done
"$bin" report --help | grep -q usage || fail "report --help"
"$bin" version -h | grep -q usage || fail "version -h"
"$bin" help | grep -q report || fail "help"
"$bin" version | grep -q '^warptap [0-9]' || fail "version"
exit $bad
