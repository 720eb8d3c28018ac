#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# The simulated math libraries: their ELF side (sonames, version nodes, exports, layering), what they launch and how
# long it takes, and, where a toolkit is, that the table of signatures says what its headers say.
set -eu
build=${BUILD:-build}
lib=$build/simgpu/lib
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "sim-libs.sh: $*"
	exit 1
}

# soname, version node ("-" = none), a needed library or "-"
while read -r soname node needed; do
	readelf -dW "$lib/$soname" >"$dir/dyn"
	grep -q "Library soname: \[$soname\]" "$dir/dyn" || fail "$soname calls itself otherwise"
	grep NEEDED "$dir/dyn" | grep -qE 'cudart|libcuda' && fail "$soname links the runtime or the driver"
	[ "$needed" = - ] || grep -q "Shared library: \[$needed\]" "$dir/dyn" || fail "$soname does not need $needed"
	readelf -VW "$lib/$soname" | grep -q "Name: $node" || [ "$node" = - ] || fail "$soname has no node $node"
	nm -D --defined-only "$lib/$soname" | awk '$3 ~ /^_?_?(cuda[A-Z]|rt_|sim_)/' >"$dir/leak"
	[ ! -s "$dir/leak" ] || fail "$soname exports what is its own: $(head -3 "$dir/leak")"
done <<'EOF'
libcublas.so.13 libcublas.so.13 libcublasLt.so.13
libcublasLt.so.13 libcublasLt.so.13 -
libcudnn.so.9 libcudnn.so.9 -
libcufft.so.12 libcufft.so.12 -
libcurand.so.10 libcurand.so.10 -
libcusparse.so.12 libcusparse.so.12 -
libcusparseLt.so.0 - -
libcusolver.so.12 libcusolver.so.12 -
libcufile.so.0 - -
libnvrtc.so.13 libnvrtc.so.13 -
libnvJitLink.so.13 libnvJitLink.so.13 -
libnvshmem_host.so.3 NVSHMEM -
libnvidia-ml.so.1 - -
EOF
# Every function of the tables is there.
cat simgpu/libs/signatures*.tsv | grep -v '^#' | cut -f2 | sort -u >"$dir/want"
for f in "$lib"/lib*.so.*; do nm -D --defined-only "$f"; done | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u >"$dir/have"
comm -23 "$dir/want" "$dir/have" >"$dir/absent"
[ ! -s "$dir/absent" ] || fail "in the table and not exported: $(head -5 "$dir/absent")"

cuda=${CUDA_HOME:-/usr/local/cuda}
if [ -f "$cuda/include/cublas_v2.h" ] && [ -f "$cuda/include/cudnn.h" ] && grep -q 'CUDA_VERSION 13000' "$cuda/include/cuda.h"; then
	python3 simgpu/gen/gen_libs.py extract --inc "$cuda/include" --table "$dir/table" >/dev/null
	diff "$dir/table" simgpu/libs/signatures.tsv >"$dir/diff" || fail "signatures.tsv differs: $(head -3 "$dir/diff")"
fi

# NVML alone must not make this a CUDA process: no truth.
export LD_LIBRARY_PATH=$lib SIMGPU_DEVICES=2
mkdir "$dir/nvml" "$dir/all"
SIMGPU_TRUTH=$dir/nvml "$build/tests/cli/sim_libs" nvml || fail "nvml"
[ -z "$(ls "$dir/nvml")" ] || fail "NVML started the driver"

# Handles given back while work is under way.
printf "[kernel]\n. = 30ms, 0%%\n" >"$dir/slow.ini"
SIMGPU_SCENARIO=$dir/slow.ini "$build/tests/cli/sim_libs" destroy >"$dir/out" || fail "destroy: $(cat "$dir/out")"

SIMGPU_TRUTH=$dir/all "$build/tests/cli/sim_libs" >"$dir/out" || fail "$(cat "$dir/out")"
grep -qx ok "$dir/out" || fail "$(cat "$dir/out")"
awk -F'\t' 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
	$c["row"] == "op" && $c["kind"] == "kernel" { print $c["name"], $c["grid"], $c["end_ns"] - $c["start_ns"] }' \
	"$dir"/all/truth.*.tsv >"$dir/kernels"
sed 's/ .*//' "$dir/kernels" >"$dir/names"
diff - "$dir/names" <<'EOF' || fail "other kernels than asked for"
sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas
nvjet_tst_64x64_64x4_1x1_v_bz_NNT
axpy_kernel_val
nvjet_tst_128x128_64x4_1x1_v_bz_TNT
sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn
regular_fft_c2c_kernel
cusolver_getrf_kernel
EOF
# 4096 x 512 x 1024 in bf16 takes at least what the device's peak asks for (4.3 GFLOP at 989 TFLOPS), and not ten
# times that.
ns=$(awk '/^nvjet_tst_128x128/ { print $3 }' "$dir/kernels")
[ "$ns" -ge 4343 ] && [ "$ns" -le 43430 ] || fail "a product of 4.3 GFLOP took $ns ns"
echo ok
