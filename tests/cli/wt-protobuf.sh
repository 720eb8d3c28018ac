#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check: full
# A trace is what warptap-trace.5 promises: zstd -dc and any protobuf library read it. Python's reads every packet here,
# verifies each check, and must count what `warptap info` counts, type by type.
set -eu
build=${BUILD:-build}
python=build/venv/bin/python3
"$python" -c 'import google.protobuf' 2>/dev/null ||
	{ echo "no protobuf module in build/venv: run make setup"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
protoc -I proto --python_out="$tmp" proto/trace.proto
cat >"$tmp/count.py" <<'PY'
import collections, sys, zlib
from google.protobuf.internal.decoder import _DecodeVarint32
import trace_pb2
raw, at, n, rows = sys.stdin.buffer.read(), 0, collections.Counter(), collections.Counter()
while at < len(raw):
    size, at = _DecodeVarint32(raw, at)
    packet = trace_pb2.Packet.FromString(raw[at:at + size])
    assert packet.check == zlib.crc32(raw[at:at + size - 5]), "a check does not hold"
    assert raw[at + size - 5] == 0x7D, "check is not the last field"
    at += size
    kind = packet.WhichOneof("body")
    body = getattr(packet, kind)
    columns = [len(v) for f, v in body.ListFields() if f.label == f.LABEL_REPEATED and f.type != f.TYPE_MESSAGE]
    assert len(set(columns)) <= 1, f"columns of {kind} differ in length: {columns}"
    n[kind] += 1
    rows[kind] += max(columns or [1])
for kind in sorted(n):
    print(kind, n[kind], rows[kind])
PY
for name in basic every lossy no-api many; do
	"$build/tests/gen/gen_wt" "$name" >"$tmp/$name.wt"
	zstd -dcq <"$tmp/$name.wt" | PYTHONPATH=$tmp "$python" "$tmp/count.py" >"$tmp/python"
	"$build/warptap" info "$tmp/$name.wt" |
		awk '/^  packets/ { on = 1; next } on && NF == 5 { print $1, $2, $3 } on && !NF { exit }' | sort >"$tmp/info"
	[ -s "$tmp/info" ]
	diff -u "$tmp/python" "$tmp/info" || { echo "FAIL: $name: Python and warptap info count differently"; exit 1; }
	echo "ok: $name, $(wc -l <"$tmp/info") types of packets"
done
