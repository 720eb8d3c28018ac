#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# The simulated runtime: right data from C and from nvcc's code, and the shape of the libraries.
set -eu
build=${BUILD:-build}
lib=$build/simgpu/lib
export LD_LIBRARY_PATH=$lib

out=$("$build/tests/cli/sim_cudart")
[ "$out" = ok ] || { echo "sim_cudart said: $out"; exit 1; }

# Only dlopen may lead to the driver, and every name carries the version programs ask for.
readelf -dW "$lib/libcudart.so.13" | grep -q 'SONAME.*libcudart.so.13'
! readelf -dW "$lib/libcudart.so.13" | grep -E 'NEEDED.*libcuda\.'
bad=$(nm -D --defined-only "$lib/libcudart.so.13" | awk '$2 != "A" && $3 !~ /^(__)?cuda[A-Z].*@@libcudart\.so\.13$/')
[ -z "$bad" ] || { echo "unexpected exports: $bad"; exit 1; }

# The real library, where there is one, exports the same names.
cuda=${CUDA_HOME:-/usr/local/cuda}
real=$cuda/lib64/libcudart.so.13
if [ -e "$real" ] && grep -q 'CUDART_VERSION *13000' "$cuda/include/cuda_runtime_api.h"; then
	names() { nm -D --defined-only "$1" | awk '{print $3}' | sort; }
	diff <(names "$real") <(names "$lib/libcudart.so.13")
fi

# Without a driver the answer is an error, not a crash.
empty=$(mktemp -d); trap 'rm -rf "$empty"' EXIT
cp "$lib/libcudart.so.13" "$empty"
rc=0; LD_LIBRARY_PATH=$empty "$build/tests/cli/sim_cudart" 2>"$empty/err" || rc=$?
[ $rc = 1 ] && grep -qE 'answered (35|100)' "$empty/err" ||
	{ cat "$empty/err"; echo "exit $rc without a driver"; exit 1; }

if [ -x "$build/tests/cli/sim_nvcc" ]; then
	SIMGPU_TRUTH=$empty "$build/tests/cli/sim_nvcc" | grep -qx ok
	[ "$(grep -c '_Z5scalePffi' "$empty"/truth.*.tsv)" = 5 ]
	[ "$(grep -c '_Z4fillIiEvPT_S0_i' "$empty"/truth.*.tsv)" = 1 ]
else
	echo "no nvcc: its part is left out"
fi
echo ok
