#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# make install, uninstall and dist: from a DESTDIR, then from the same files moved elsewhere. What is installed is all
# that is needed: warptap run records from there, with the simulated stack too, a program compiles against
# warptap.pc, man pages are found, and uninstall leaves nothing.
set -eu
B=$(realpath "${BUILD:-build}"); top=$PWD
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
unset LD_PRELOAD WARPTAP_DIR WARPTAP_LEVEL MAKEFLAGS MAKELEVEL MFLAGS || :
die() { echo "FAIL: $*"; cat "$T/log" "$T/out" "$T/err" 2>/dev/null | tail -n 30; exit 1; }
installed() { make -s --no-print-directory O="$B" "$@" >"$T/log" 2>&1 || die "make $*"; }

# Below a DESTDIR: nothing outside the prefix, and no path of the DESTDIR or of this tree in what was installed.
installed install DESTDIR="$T/stage" prefix=/opt/wt
[ "$(ls "$T/stage")" = opt ] && [ "$(ls "$T/stage/opt")" = wt ] || die "files outside the prefix"
P=$T/stage/opt/wt
for f in bin/warptap lib/warptap/libwarptap.so lib/warptap/simgpu/lib/libcuda.so.1 include/warptap/annotate.h \
	lib/pkgconfig/warptap.pc share/man/man1/warptap.1 share/man/man1/warptap-run.1 share/man/man5/warptap-trace.5; do
	[ -s "$P/$f" ] || die "not installed: $f"
done
grep -rlIe "$T" -e "$top" "$P" && die "text that names a folder of the build"
find "$P" -type f -perm /022 | grep . && die "others may write it"
find "$P" -xtype l | grep . && die "links to nothing"
readelf -dW "$P/bin/warptap" "$P"/lib/warptap/*.so | grep -E 'RPATH|RUNPATH' && die "a run path"

# Every command has its man page, and man finds them below the prefix.
"$P/bin/warptap" --help >"$T/out"
for m in "$P"/share/man/man*/*; do mandoc -Tlint -Werror "$m" >"$T/log" 2>&1 || die "man page ${m##*/}"; done
for c in $("$P/bin/warptap" --help | sed -n 's/^  *\([a-z]\{3,\}\)  .*/\1/p'); do
	case $c in help|version) continue ;; esac
	[ -s "$P/share/man/man1/warptap-$c.1" ] || grep -q "\.Ic $c\|warptap $c\|Nm.*$c" "$P/share/man/man1/warptap.1" ||
		die "no man page tells of warptap $c"
done

works() { # PREFIX
	local p=$1 v
	export PKG_CONFIG_PATH=$p/lib/pkgconfig
	v=$(pkg-config --modversion warptap); [ "warptap $v" = "$("$p/bin/warptap" version | head -n 1)" ] || die "version: $v"
	cat >"$T/user.c" <<-'C'
	#include <stdio.h>
	#include <warptap/annotate.h>
	int main(void) { wt_step_begin(1); wt_step_end(); return puts("annotated") < 0; }
	C
	(cd "$T" && ${CC:-gcc} -std=c89 -pedantic -Wno-long-long -Wall -Werror $(pkg-config --cflags warptap) -o user user.c \
		$(pkg-config --libs warptap)) || die "a program against warptap.pc"
	[ "$("$T/user")" = annotated ] || die "the program"
	(cd "$T" && rm -rf d && env -i PATH=/usr/bin:/bin HOME="$T" WARPTAP_EXIT_MS=20000 "$p/bin/warptap" run -o d --sim h100 -- \
		"$B/examples/train2/train2" --steps 4) >"$T/out" 2>"$T/err" || die "run --sim from $p"
	"$p/bin/warptap" report --json "$T/d" >"$T/r.json" || die "report"
	python3 - "$T/r.json" <<-'P' || die "what was recorded from $p"
	import json, sys
	r = json.load(open(sys.argv[1]))
	assert r["completeness"]["share"] == 1.0, r["completeness"]
	assert r["devices"] and all(d["kernels"]["count"] > 0 for d in r["devices"]), r["devices"]
	P
}
works "$P"
mkdir -p "$T/else where"; mv "$P" "$T/moved"; works "$T/moved"
# The loader takes no blank in LD_PRELOAD: a prefix with one is refused by name, before the command runs.
cp -a "$T/moved" "$T/else where/wt"
(cd "$T" && "$T/else where/wt/bin/warptap" run -q -o d -- touch "$T/ran") >"$T/out" 2>"$T/err" && die "a prefix with a blank"
grep -q 'else where.*the loader takes no path with a space' "$T/err" && [ ! -e "$T/ran" ] || die "a prefix with a blank"
# Called through a link, as /usr/local/bin often is.
mkdir "$T/bin"; ln -s "$T/moved/bin/warptap" "$T/bin/warptap"
(cd "$T" && rm -rf d && PATH=$T/bin:$PATH warptap run -q -o d --sim h100 -- "$B/examples/train2/train2" --steps 2) >"$T/out" 2>"$T/err" &&
	ls "$T"/d/*.wt >"$T/log" || die "through a link"

# A second time changes nothing; uninstall leaves no file.
mkdir -p "$T/stage/opt"; mv "$T/moved" "$P"
(cd "$P" && find . -type f | sort) >"$T/first"
installed install DESTDIR="$T/stage" prefix=/opt/wt
(cd "$P" && find . -type f | sort) | diff "$T/first" - || die "installed twice"
touch "$P/bin/other"
installed uninstall DESTDIR="$T/stage" prefix=/opt/wt
[ "$(cd "$P" && find . ! -type d)" = ./bin/other ] || die "left by uninstall: $(cd "$P" && find . ! -type d)"

# The archive holds the committed tree, and make works in it.
[ -d .git ] && git rev-parse HEAD >/dev/null 2>&1 || { echo "ok, without make dist: no repository here"; exit 0; }
tar=$(make -s --no-print-directory O="$T/o" dist 2>"$T/log" | tail -n 1)
[ -s "$tar" ] || die "make dist: $tar"
mkdir "$T/src"; tar -xzf "$tar" -C "$T/src"
src=$(echo "$T"/src/*); [ "${src##*/}" = "$(basename "$tar" .tar.gz)" ] || die "the archive's folder: $src"
diff <(git ls-files | sort) <(cd "$src" && find . ! -type d -printf '%P\n' | sort) || die "the archive is not the tree"
# Headers that scripts/setup fetched are no part of it.
[ ! -d build/cuda ] || { mkdir -p "$src/build" && ln -s "$top/build/cuda" "$src/build/cuda"; }
make -C "$src" -n all >"$T/log" 2>&1 || die "make in the archive"
echo ok
