#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# warptap run --sim arranges what JAX wants of a machine with a GPU: a file below /dev, and a toolkit's programs. What
# cannot be arranged is said, and the command runs as it would.
set -eu
B=$(realpath "${BUILD:-build}"); W=$B/warptap
T=$(mktemp -d); trap 'rm -rf "$T"' EXIT; cd "$T"
unset LD_PRELOAD WARPTAP_DIR WARPTAP_LEVEL XLA_FLAGS || :
die() { echo "FAIL: $*"; cat "$T/err" 2>/dev/null; exit 1; }
hint='^warptap: JAX saw no GPU: .*touch /dev/nvidiactl'
there() { [ -e /dev/nvidia0 ] || [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; }

if there; then
	echo "a device file is here already: /dev is not looked at"
else
	if unshare -m true 2>err; then
		ls -A /dev >outside
		shm=$(mktemp /dev/shm/run-sim.XXXXXX); trap 'rm -rf "$T" "$shm" "$shm.back"' EXIT # others come and go there
		"$W" run --sim h100 -o d -- sh -c 'ls -A /dev >inside; cat /dev/nvidiactl; echo x >/dev/null &&
			head -c 2 /dev/zero | wc -c && readlink /dev/fd && ls "$1" && touch "$1.back"' sh "$shm" >out 2>err || die "exit $?"
		diff <(sort outside - <<<nvidiactl) <(sort inside) || die "/dev is another one"
		[ -e "$shm.back" ] || die "/dev/shm is another one"
		[ "$(cat out)" = "2
/proc/self/fd
$shm" ] || die "/dev does not work: $(cat out)"
		! grep -q "$hint" err || die "a hint where nothing is missing"
		there && die "the file can be seen outside"
		# Those of other runs at this moment do not stay.
		for left in $(find /tmp -maxdepth 1 -name 'warptap-dev-*' -newer outside); do
			for _ in $(seq 300); do [ -e "$left" ] || break; sleep 0.1; done
			[ ! -e "$left" ] || die "a folder is left: $left"
		done
	fi
	# Whoever may not is told once, and the command ends as it ends.
	if [ "$(id -u)" != 0 ]; then nobody=; else nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"; fi
	chmod 777 . && mkdir -m 777 n
	rc=0; $nobody "$W" run --sim h100 -o n -- sh -c 'exit 5' 2>err || rc=$?
	[ $rc = 5 ] && [ "$(grep -c "$hint" err)" = 1 ] || die "without the right: exit $rc"
	$nobody "$W" run -q --sim h100 -o n -- true 2>err && [ ! -s err ] || die "-q is not quiet"
fi

# The toolkit: ours only where none is, and never instead of the one that is named.
flags() { "$W" run -q --sim h100 -o d -- sh -c 'echo "$XLA_FLAGS"' 2>err; }
tools=/usr/local/cuda
if [ -e $tools/bin/ptxas ] && [ -e $tools/bin/nvlink ] && [ -e $tools/nvvm/libdevice/libdevice.10.bc ]; then
	[ -z "$(flags)" ] || die "a toolkit is here: $(flags)"
	flags() { unshare -m sh -c "mount -t tmpfs none $(realpath $tools) &&
		'$W' run -q --sim h100 -o d -- sh -c 'echo \"\$XLA_FLAGS\"'" 2>err; }
	unshare -m true 2>/dev/null || unset -f flags
fi
if declare -F flags >/dev/null; then # without a toolkit
	here=--xla_gpu_cuda_data_dir=$B/simgpu/lib/../toolkit
	[ "$(flags)" = "$here" ] || die "no toolkit: $(flags)"
	[ "$(XLA_FLAGS=--a flags)" = "$here --a" ] || die "flags are lost"
	# A value without a dash names a file of flags.
	printf -- '--a\n--b="c d"\n' >flags.txt
	[ "$(XLA_FLAGS=flags.txt flags)" = "$here --a
--b=\"c d\"" ] || die "flags of a file: $(XLA_FLAGS=flags.txt flags)"
	echo --xla_gpu_cuda_data_dir=/x >flags.txt
	[ "$(XLA_FLAGS=flags.txt flags)" = flags.txt ] || die "the toolkit of a file"
	[ "$(XLA_FLAGS=none.txt flags)" = none.txt ] || die "a file that is not there"
	[ "$(XLA_FLAGS=/dev/zero flags)" = /dev/zero ] || die "a file without an end"
fi
flags() { "$W" run -q --sim h100 -o d -- sh -c 'echo "$XLA_FLAGS"' 2>err; }
[ "$(XLA_FLAGS=--xla_gpu_cuda_data_dir=/x flags)" = --xla_gpu_cuda_data_dir=/x ] || die "another toolkit was named"

# What XLA asks the programs, and what they do.
bin=$B/simgpu/toolkit/bin
for p in ptxas nvlink; do "$bin/$p" --version | grep -qE 'release [0-9.]+, V[0-9]+\.[0-9]+\.[0-9]+' || die "$p --version"; done
! "$bin/ptxas" --input-as-string ".version 99.99" 2>err || die "no such PTX"
grep -qE "Unsupported .version 99.99; current version is '[0-9.]+'" err || die "the newest PTX"
echo one >1.ptx; echo two >2.ptx
"$bin/ptxas" 1.ptx -o 1.cubin -arch=sm_90a --warn-on-spills -v && cmp 1.ptx 1.cubin || die "ptxas"
"$bin/nvlink" -arch=sm_90a 1.cubin 2.ptx -o both && [ "$(cat both)" = "one
two" ] || die "nvlink"
! "$bin/ptxas" -o x none.ptx 2>/dev/null && ! "$bin/ptxas" 2>/dev/null || die "no input"
if command -v clang >/dev/null; then
	clang -Wno-override-module -x ir -S -emit-llvm -o lib.ll "$bin/../nvvm/libdevice/libdevice.10.bc" || die "libdevice is no bitcode"
fi
echo ok
