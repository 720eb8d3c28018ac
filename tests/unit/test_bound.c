/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds a kernel: products of known size and time on devices of known peaks, against times worked out by hand; the
 * rules that make an error of what is impossible; unknown devices; names where nothing else is known.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bounds/bound.h"
#include "timeline/builder.h"

/* The verdict on one kernel of that name, work and length. */
static struct wt_verdict judge(const char *device, const char *name, const struct wt_work *work,
			       int64_t ns)
{
	struct wt_builder *b = wt_builder_new();
	uint32_t input = wt_builder_input(b, "x", "test");
	uint16_t process = wt_builder_process(b, input, 1), d;
	struct wt_op op = {.start_ns = 1000,
			   .end_ns = 1000 + ns,
			   .call = -1,
			   .collective = -1,
			   .kind = WT_OP_KERNEL};
	struct wt_families *f = wt_families_new();
	struct wt_timeline *tl;
	struct wt_bounds *bounds;
	struct wt_verdict v;

	d = wt_builder_device(b, process, 0, NULL);
	wt_builder_device_at(b, d)->name = wt_builder_cstring(b, device);
	op.device = d;
	op.process = process;
	op.stream = wt_builder_stream(b, process, d, 7);
	op.name = wt_builder_cstring(b, name);
	if (work)
		op.shape = wt_builder_shape_work(b, 0, wt_builder_work(b, work));
	wt_builder_op(b, &op);
	assert_int_equal(wt_builder_finish(b, &tl, NULL), 0);
	bounds = wt_bounds_new(tl, f);
	assert_non_null(bounds);
	wt_bounds_of(bounds, &tl->ops[0], &v);
	wt_bounds_free(bounds);
	wt_families_free(f);
	wt_timeline_free(tl);
	return v;
}

#define H100 "NVIDIA H100 80GB HBM3" /* 989.4 TFLOP/s bf16, 66.9 fp32, 3352 GB/s, 50 MiB L2 */
static const char gemm_name[] = "nvjet_tst_128x256_64x4_1x2_h_bz_TNT";

static struct wt_work gemm(uint64_t m, uint64_t n, uint64_t k, enum wt_dtype t)
{
	return (struct wt_work){.kind = WT_WORK_GEMM,
				.source = WT_WORK_BY_ARGUMENTS,
				.m = m,
				.n = n,
				.k = k,
				.batch = 1,
				.a = t,
				.b = t,
				.out = t,
				.math = t};
}

static void test_compute_side(void **state)
{
	/* 2 * 8192^3 FLOP at 989.4e12 a second: 1111.3 us. */
	struct wt_work w = gemm(8192, 8192, 8192, WT_DTYPE_BF16);
	struct wt_verdict v = judge(H100, gemm_name, &w, 1700000);

	assert_int_equal(v.limit, WT_LIMIT_TENSOR);
	assert_int_equal(v.grade, 2);
	assert_int_equal(v.evidence, WT_EVIDENCE_MODELLED);
	assert_true(v.flops == 2.0 * 8192 * 8192 * 8192);
	assert_true(v.bytes == 3.0 * 2 * 8192 * 8192);
	assert_true(fabs(v.efficiency - 1111.3 / 1700) < 1e-4);
	assert_false(v.wrong || v.unverified || v.off_matrix);
	/* A third of that speed and less is no use of the pipe. */
	assert_int_equal(judge(H100, gemm_name, &w, 4000000).limit, WT_LIMIT_LATENCY);
	/* Faster than the peak by more than 5 %: an error, and no class. */
	v = judge(H100, gemm_name, &w, 1000000);
	assert_true(v.wrong);
	assert_int_equal(v.limit, WT_LIMIT_UNKNOWN);
	assert_int_equal(v.grade, 3);
	assert_false(judge(H100, gemm_name, &w, 1090000).wrong);
	/* The same in fp32 runs on the ordinary pipe: 16436 us at 66.9e12. */
	w = gemm(8192, 8192, 8192, WT_DTYPE_FP32);
	v = judge(H100, "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n", &w, 20000000);
	assert_int_equal(v.limit, WT_LIMIT_ALU);
	assert_true(v.off_matrix);
	assert_true(fabs(v.efficiency - 16435.2 / 20000) < 1e-3);
}

/* Counters decide before sizes do, by what was busy. */
static void test_by_counters(void **state)
{
	static const struct {
		uint16_t sm, tensor, dram, l2, l1; /* %, 0 = not measured: + 1 in hundredths */
		enum wt_limit limit;
		int balanced;
	} want[] = {
		{70, 90, 20, 30, 10, WT_LIMIT_TENSOR, 0},  {85, 10, 20, 30, 10, WT_LIMIT_ALU, 0},
		{85, 43, 80, 30, 10, WT_LIMIT_TENSOR, 1},  {30, 20, 88, 60, 10, WT_LIMIT_DRAM, 0},
		{30, 20, 40, 75, 10, WT_LIMIT_CACHE, 0},   {30, 20, 40, 10, 76, WT_LIMIT_CACHE, 0},
		{30, 20, 59, 10, 40, WT_LIMIT_LATENCY, 0}, {61, 0, 20, 0, 0, WT_LIMIT_ALU, 0},
		{60, 60, 60, 60, 60, WT_LIMIT_TENSOR, 1},
	};
	struct wt_work w = gemm(8192, 8192, 8192, WT_DTYPE_BF16);
	struct wt_verdict v;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		w.sm = want[i].sm ? (uint16_t)(100 * want[i].sm + 1) : 0;
		w.tensor = want[i].tensor ? (uint16_t)(100 * want[i].tensor + 1) : 0;
		w.dram = want[i].dram ? (uint16_t)(100 * want[i].dram + 1) : 0;
		w.l2 = want[i].l2 ? (uint16_t)(100 * want[i].l2 + 1) : 0;
		w.l1 = want[i].l1 ? (uint16_t)(100 * want[i].l1 + 1) : 0;
		v = judge(H100, gemm_name, &w, 1700000);
		assert_int_equal(v.limit, want[i].limit);
		assert_int_equal(v.balanced, want[i].balanced);
		assert_int_equal(v.evidence, WT_EVIDENCE_MEASURED);
		assert_int_equal(v.grade, 3);
		assert_true(v.flops == 2.0 * 8192 * 8192 * 8192 && v.product && !v.wrong);
	}
	/* No peaks needed; what took another time when it was counted is less sure. */
	w.pass_ns = 1400000;
	v = judge("Imagination Nothing 9000", gemm_name, &w, 1700000);
	assert_int_equal(v.grade, 3);
	assert_true(fabs(v.efficiency - 0.6) < 1e-9);
	w.pass_ns = 1300000;
	assert_int_equal(judge(H100, gemm_name, &w, 1700000).grade, 2);
	/* One side alone decides nothing. */
	w.dram = w.l2 = w.l1 = 0;
	assert_int_equal(judge(H100, gemm_name, &w, 1700000).evidence, WT_EVIDENCE_MODELLED);
}

static void test_memory_side(void **state)
{
	/* 16 rows against 8192 x 8192 weights: 134.7 MB, 40.2 us at 3352 GB/s; 2.2 us of FLOPs. */
	struct wt_work w = gemm(16, 8192, 8192, WT_DTYPE_BF16);
	struct wt_verdict v = judge(H100, gemm_name, &w, 60000);

	assert_int_equal(v.limit, WT_LIMIT_DRAM);
	assert_true(fabs(v.efficiency - 40.197 / 60) < 1e-3);
	/* More bytes than L2 holds, faster than memory can: an error. */
	assert_true(judge(H100, gemm_name, &w, 41000).wrong);
	assert_false(judge(H100, gemm_name, &w, 43000).wrong);
	/* What fits L2 can be faster than memory: 33.6 MB, 10.0 us. */
	w = gemm(16, 4096, 4096, WT_DTYPE_BF16);
	v = judge(H100, gemm_name, &w, 9000);
	assert_int_equal(v.limit, WT_LIMIT_CACHE);
	assert_false(v.wrong);
}

static void test_what_is_not_known(void **state)
{
	struct wt_work w = gemm(8192, 8192, 8192, WT_DTYPE_BF16);
	struct wt_verdict v = judge("Imagination Nothing 9000", gemm_name, &w, 1700000);

	/* An unknown device has no peaks: the name decides, and says so. */
	assert_int_equal(v.evidence, WT_EVIDENCE_ESTIMATED);
	assert_int_equal(v.grade, 1);
	assert_int_equal(v.limit, WT_LIMIT_TENSOR);
	assert_true(v.flops > 0 && v.efficiency == 0);
	/* fp8 on a part that has none: no peak to compare with. */
	w = gemm(8192, 8192, 8192, WT_DTYPE_FP8);
	assert_int_equal(judge("NVIDIA A100-SXM4-80GB", gemm_name, &w, 1700000).evidence,
			 WT_EVIDENCE_ESTIMATED);
	/* A peak that nobody has read. */
	w = gemm(8192, 8192, 8192, WT_DTYPE_BF16);
	assert_true(judge("NVIDIA A10", gemm_name, &w, 10000000).unverified);
	/* Nothing known but the name; not even that. */
	v = judge(H100, "volta_sgemm_128x64_nn", NULL, 50000);
	assert_int_equal(v.limit, WT_LIMIT_ALU);
	assert_true(v.off_matrix && v.dtype_by_name && v.dtype == WT_DTYPE_FP32);
	/* Single precision by its name: on the ordinary pipe, unless the name says how it got onto the other. */
	v = judge("Tesla V100-SXM2-32GB",
		  "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)",
		  NULL, 50000);
	assert_int_equal(v.limit, WT_LIMIT_ALU);
	assert_true(v.off_matrix);
	v = judge(
		H100,
		"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma",
		NULL, 50000);
	assert_int_equal(v.limit, WT_LIMIT_ALU);
	assert_true(v.off_matrix);
	v = judge(H100, "cutlass::conv::kernel::ImplicitGemm<cutlass::tfloat32_t, float>", NULL,
		  50000);
	assert_int_equal(v.dtype, WT_DTYPE_TF32);
	assert_false(v.off_matrix);
	v = judge(H100, "fmha_cutlassF_f32_aligned_64x64_rf_sm80", NULL, 50000);
	assert_int_equal(v.limit, WT_LIMIT_TENSOR);
	/* cuDNN's attention says f16 of bf16 too. */
	v = judge(H100, "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7", NULL,
		  50000);
	assert_int_equal(v.dtype, WT_DTYPE_UNKNOWN);
	assert_int_equal(v.limit, WT_LIMIT_TENSOR);
	/* Templates' formats are letters in a name as the compiler writes it. */
	v = judge(H100,
		  "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"
		  "addIfEESt5arrayIPcLm3EELb0EEE"
		  "viT0_T1_",
		  NULL, 50000);
	assert_true(v.dtype_by_name && v.dtype == WT_DTYPE_FP32);
	v = judge(H100, "my_very_own_thing", NULL, 50000);
	assert_int_equal(v.limit, WT_LIMIT_UNKNOWN);
	assert_int_equal(v.grade, 3);
	assert_false(v.off_matrix);
}

static void test_streams(void **state)
{
	/* 64 Mi elements of bf16 read and written: 268 MB, 80.1 us. */
	struct wt_work w = {.kind = WT_WORK_STREAM,
			    .m = 64 << 20,
			    .n = 64 << 20,
			    .k = 4,
			    .a = WT_DTYPE_BF16,
			    .b = WT_DTYPE_BF16,
			    .out = WT_DTYPE_BF16,
			    .math = WT_DTYPE_FP32};
	struct wt_verdict v = judge(H100, "vectorized_layer_norm_kernel", &w, 100000);

	assert_int_equal(v.limit, WT_LIMIT_DRAM);
	assert_true(fabs(v.efficiency - 0.8008) < 1e-3);
	assert_false(v.product || v.off_matrix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compute_side), cmocka_unit_test(test_by_counters),
		cmocka_unit_test(test_memory_side),  cmocka_unit_test(test_what_is_not_known),
		cmocka_unit_test(test_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
