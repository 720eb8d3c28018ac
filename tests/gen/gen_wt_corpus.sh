#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the fuzz seeds of tests/fuzz/corpus/{frame,wt}. Those of wt are packets alone, each behind two bytes of length.
# usage: tests/gen/gen_wt_corpus.sh [BUILD]     from the repository's root
set -eu
gen=${1:-build}/tests/gen/gen_wt
corpus=tests/fuzz/corpus
mkdir -p $corpus/frame $corpus/wt
for n in tiny every; do $gen $n >$corpus/frame/$n; done
$gen killed | head -c 1500 >$corpus/frame/cut
{ $gen tiny; printf 'junk'; $gen tiny; } >$corpus/frame/junk_between
$gen tiny | head -c 40 >$corpus/frame/marker
{ $gen tiny | head -c 600; printf '\377\377'; $gen tiny | tail -c +603; } >$corpus/frame/flipped
for n in tiny every basic marks lossy no-api killed clock-step no-device; do
	$gen $n | zstd -dcq 2>/dev/null | python3 -c '
import sys
raw, at, out = sys.stdin.buffer.read(), 0, b""
while at < len(raw):
    size = shift = 0
    while True:
        b = raw[at]; at += 1
        size |= (b & 127) << shift; shift += 7
        if b < 128: break
    body = raw[at:at + size - 5]; at += size
    out += len(body).to_bytes(2, "little") + body
sys.stdout.buffer.write(out[:12000])' >$corpus/wt/$n || true
done
du -sb $corpus/frame $corpus/wt
