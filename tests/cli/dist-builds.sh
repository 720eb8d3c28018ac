#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# What make dist packs builds by itself, with no repository around it, and what it installs records and reports. Nothing
# is written beside its own build folder.
set -eu
top=$PWD
[ -d .git ] && git rev-parse HEAD >/dev/null 2>&1 || { echo "skip-ok: no repository here, nothing to pack"; exit 77; }
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
unset LD_PRELOAD WARPTAP_DIR WARPTAP_LEVEL MAKEFLAGS MAKELEVEL MFLAGS BUILD O || :
die() { echo "FAIL: $*"; tail -n 30 "$T/log"; exit 1; }
tar=$(make -s --no-print-directory O="$T/o" dist 2>"$T/log" | tail -n 1)
[ -s "$tar" ] || die "make dist"
mkdir "$T/src"; tar -xzf "$tar" -C "$T/src"; src=$(echo "$T"/src/*)
(cd "$src" && find . -type f | sort) >"$T/before"
# Headers that scripts/setup fetched are no part of it.
[ ! -d build/cuda ] || { mkdir -p "$src/build" && ln -s "$PWD/build/cuda" "$src/build/cuda"; }
make -C "$src" --no-print-directory -j2 all examples >"$T/log" 2>&1 || die "make in the archive"
(cd "$src" && find . -path ./build -prune -o -type f -print | sort) | diff "$T/before" - >"$T/log" || die "written beside build"
make -C "$src" --no-print-directory install prefix="$T/wt" >"$T/log" 2>&1 || die "make install in the archive"
grep -rqIF "$top" "$T/wt" && die "a path of the tree it was packed from"
"$T/wt/bin/warptap" run -q -o "$T/d" --sim h100 -- "$src/build/examples/train2/train2" --steps 2 >"$T/log" 2>&1 || die "run"
"$T/wt/bin/warptap" report --json "$T/d" >"$T/r.json" 2>"$T/log" || die "report"
python3 -c 'import json, sys; c = json.load(open(sys.argv[1]))["completeness"]; assert c["share"] == 1.0, c' "$T/r.json"
echo ok
