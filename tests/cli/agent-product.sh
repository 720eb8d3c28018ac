#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# The product, not the flags: what libwarptap.so needs, exports and maps; and its lists against the driver's headers.
set -eu
B=$(realpath "${BUILD:-build}"); lib=$B/libwarptap.so
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
die() { echo "FAIL: $*"; exit 1; }

needed=$(readelf -dW "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ "$needed" = libc.so.6 ] || die "DT_NEEDED: $needed"
readelf -dW "$lib" | grep -q 'FLAGS_1.*NODELETE' || die "can be unloaded"
readelf -dW "$lib" | grep -q 'TEXTREL' && die "text relocations"
readelf -lW "$lib" | grep -q 'GNU_RELRO' || die "no relro"
readelf -lW "$lib" | awk '/LOAD|GNU_STACK/ && /RWE/ { exit 1 }' || die "a segment or the stack is writable and executable"
readelf -lW "$lib" | grep -q 'GNU_STACK' || die "no GNU_STACK: the stack would be executable"
tls=$(($(readelf -lW "$lib" | awk '$1 == "TLS" { print $6 }')))
[ "${tls:-999}" -gt 0 ] && [ "$tls" -le 256 ] || die "thread-local storage: $tls bytes"
nm -D --undefined-only "$lib" | grep -q '__tls_get_addr' && die "TLS is not initial-exec"

# Exports are the lists and the gates, no more and no less.
nm -D --defined-only "$lib" | awk '{ print $3 }' | sort >"$T/exports"
{ printf '%s\n' dlsym dlvsym _exit _Exit warptap_mark InitializeInjectionNvtx2 ncclProfiler_v{1..6}
  printf '#include "hook_forms.h"\n#define WT_ROW(f_, pt_, l_, k_, v_, n_, ...) @ n_ v_ pt_ l_ @\n#include WT_HOOKS_CUDA\n#include WT_HOOKS_NCCL\n#include WT_HOOKS_CUBLAS\n#include WT_HOOKS_CUDNN\n#include WT_HOOKS_CUPTI\n' |
	${CC:-gcc} -E -P -x c -Iagent - | tr '@' '\n' | sed -n 's/^ *\([a-z][A-Za-z0-9_]*\) .*/\1/p'; } | sort >"$T/lists"
[ "$(wc -l <"$T/lists")" -gt 200 ] || die "the lists could not be read"
diff "$T/lists" "$T/exports" || die "exports are not the lists (< listed, > exported)"
nm -D --undefined-only "$lib" | awk '{ print $2 }' | grep -E '^(cu|nccl|ZSTD|protobuf)' && die "binds to the job's libraries"

# Nothing in it may end or print for the job. abort and assert come with protobuf-c's archive alone.
nm -D --undefined-only "$lib" | awk '{ sub(/@.*/, "", $2); print $2 }' |
	grep -xE 'exit|abort|printf|puts|fprintf|perror|err|errx|system|fork' && die "calls what guests may not"

# Versions: each row is an ABI of cudaTypedefs.h, and none between a name's oldest row and the newest known is left out.
inc=${CUDA_HOME:-/usr/local/cuda}/include; [ -f "$inc/cudaTypedefs.h" ] || inc=build/cuda/include
if [ -f "$inc/cudaTypedefs.h" ]; then
	printf '#include "hook_forms.h"\n#define WT_ROW(f_, pt_, l_, k_, v_, n_, ...) @ROW n_ l_ pt_ v_ @\n#include WT_HOOKS_CUDA\n' |
		${CC:-gcc} -E -P -x c -Iagent - | tr '@' '\n' | grep '^ROW ' >"$T/rows"
	python3 - "$T/rows" "$inc/cudaTypedefs.h" <<'P'
import re, sys
rows = set()
for line in open(sys.argv[1]):
    _, name, _, pt, since = line.split(None, 4)
    since = eval(since.replace("?", " and ").replace(":", " or ")) if "?" in since else int(since)
    base = re.sub(r"(_v\d)?(_pt[sd][sz])?$", "", name)
    rows.add((base, int(since), int(pt)))
known = {(n, int(v), int(bool(p))) for n, v, p in re.findall(r"PFN_(cu\w+?)_v(\d+)(_pt[ds][sz])?\b", open(sys.argv[2]).read())}
assert len(known) > 500 and len(rows) > 150, (len(known), len(rows))
bad = sorted(rows - known)
oldest = {}
for b, v, p in rows:
    oldest[b, p] = min(v, oldest.get((b, p), v))
# Before CUDA 7 an entry had no twin: the header gives such names a second, plain version 7000, the same ABI.
left = sorted(k for k in known - rows if (k[0], k[2]) in oldest and k[1] > oldest[k[0], k[2]] and not (k[1] == 7000 and not k[2]))
assert not bad, bad
assert not left, left
P
fi
echo ok
