#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# examples/deploy/container without a container engine: what the Dockerfile's last stage copies lies in a root of its
# own with nothing but a shell, libc and a job on the simulated device; the ENV and ENTRYPOINT lines are the file's own.
# The job says what it says without us, is recorded if asked to, and runs where a part of ours is missing.
set -eu
B=$(realpath "${BUILD:-build}"); file=examples/deploy/container/Dockerfile
unshare -rm true 2>/dev/null || { echo "skip-ok: no user namespaces here"; exit 77; }
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT
die() { echo "FAIL: $*"; tail -n 15 "$T/log" 2>/dev/null; exit 1; }
unset LD_PRELOAD LD_LIBRARY_PATH WARPTAP_DIR WARPTAP_LEVEL WARPTAP_SKIP || :

# Every path that the stages name is there, and each COPY of the last one is done by hand.
R=$T/root; mkdir -p "$R"
make -s --no-print-directory O="$B" install DESTDIR="$T/out" prefix=/opt/warptap >"$T/log" 2>&1 || die "make install"
grep -q 'DESTDIR=/out prefix=/opt/warptap' $file && [ -x scripts/setup ] || die "the first stage"
mapfile -t copies < <(sed -n '/^FROM \${BASE}/,$ s/^COPY //p' $file)
[ ${#copies[@]} = 2 ] || die "COPY lines: ${copies[*]}"
for c in "${copies[@]}"; do
	case $c in
	--from=build*) c=${c#--from=build }; from=$T${c% *} ;;
	*) from=${c% *} ;;
	esac
	mkdir -p "$R$(dirname "${c##* }")"; cp -a "$from" "$R${c##* }"
done
eval "$(sed -n 's/^RUN mkdir -m 1777 -p \(.*\)/mkdir -m 1777 -p "$R\1"/p' $file)"
env_=$(sed -n 's/^ENV //p' $file | sed 's,\${PATH},/bin,'); entry=$(sed -n 's/^ENTRYPOINT \["\(.*\)"\]/\1/p' $file)
[ -d "$R/var/lib/warptap" ] && [ -x "$R$entry" ] || die "entry $entry"

# The job's own image.
mkdir -p "$R/bin" "$R/dev" "$R/proc" "$R/tmp" "$R/sim"
cp -a "$B"/simgpu/lib/*.so* "$R/sim/"; cp "$B/tests/cli/steady" "$R/bin/"
cp "$(readlink -f /bin/sh)" "$R/bin/sh"; cp /usr/bin/env "$R/bin/"; cp /bin/cat "$R/bin/"
for f in "$R/bin/sh" "$R/bin/env" "$R/bin/cat" "$R/bin/steady" "$R"/sim/*.so.*; do
	ldd "$f" 2>/dev/null | grep -o '/[^ ]*' | grep -v "^$B" || :
done | sort -u | while read -r l; do mkdir -p "$R$(dirname "$l")"; cp -L "$l" "$R$l"; done
: >"$R/dev/null"

run() { # [VAR=value...] -- COMMAND: its output; proc and /dev/null are the machine's
	local set=(); while [ "$1" != -- ]; do set+=("$1"); shift; done; shift
	unshare -rm sh -c 'mount --rbind /proc "$1/proc" && mount --bind /dev/null "$1/dev/null" &&
		mount -t tmpfs none "$1/tmp" && shift && exec "$@"' sh "$R" chroot "$R" /bin/env -i $env_ \
		LD_LIBRARY_PATH=/sim WARPTAP_EXIT_MS=10000 "${set[@]}" "$entry" "$@"
}
traces() { ls "$R/var/lib/warptap" | grep -c '\.wt$' || :; }
clear_() { rm -rf "$R"/var/lib/warptap/*; }

agent=/opt/warptap/lib/warptap/libwarptap.so
[ "$(run -- /bin/sh -c 'echo "$LD_PRELOAD $WARPTAP_LEVEL"; exit 3' || echo "exit $?")" = "$agent off
exit 3" ] || die "what a command is given"
run WARPTAP_LEVEL=trace -- steady seconds=1 rate=2000 >"$T/said" 2>"$T/log" || die "the job"
[ "$(traces)" = 1 ] || die "traces: $(ls "$R/var/lib/warptap")"
"$B/warptap" report --json "$R/var/lib/warptap" >"$T/report.json" || die "report"
python3 - "$T/report.json" "$(awk '/^launched/ { print $2 }' "$T/said")" <<'P' || die "what was recorded"
import json, sys
c = json.load(open(sys.argv[1]))["completeness"]
assert c["share"] == 1.0 and c["counted"]["launch"] >= int(sys.argv[2]) > 500, (c, sys.argv)
P
clear_
for how in WARPTAP_SKIP=1 WARPTAP_AGENT=/nowhere WARPTAP_DIR=/nowhere; do
	[ "$(run $how WARPTAP_LEVEL=trace -- /bin/sh -c 'echo "[$LD_PRELOAD]"')" = "[]" ] || die "preloaded with $how"
	run $how WARPTAP_LEVEL=trace -- steady seconds=1 rate=100 >"$T/said" 2>"$T/log" || die "the job with $how"
	grep -q '^launched' "$T/said" && [ "$(traces)" = 0 ] || die "with $how"
done
[ "$(run LD_PRELOAD=/sim/libcuda.so.1 -- /bin/sh -c 'echo "$LD_PRELOAD"')" = \
	"$agent:/sim/libcuda.so.1" ] || die "a preload of the image's own"

# What README says of the C library.
need=$(readelf -VW "$B/libwarptap.so" "$B/warptap" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
grep -q "glibc ${need#GLIBC_}" examples/deploy/README.md || die "the README names another glibc than $need"
echo ok
