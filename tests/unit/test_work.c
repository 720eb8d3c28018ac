/* SPDX-License-Identifier: Apache-2.0 */
/* FLOPs and bytes of what kernels were asked to compute, against sums done by hand; formats by kernel names. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bounds/work.h"

static void near(double got, double want)
{
	if (fabs(got - want) > 1e-9 * fabs(want))
		fail_msg("%.17g, expected %.17g", got, want);
}

static void test_products(void **state)
{
	struct wt_work w = {.kind = WT_WORK_GEMM,
			    .m = 3,
			    .n = 5,
			    .k = 7,
			    .batch = 2,
			    .a = WT_DTYPE_BF16,
			    .b = WT_DTYPE_FP8,
			    .out = WT_DTYPE_FP32};

	near(wt_work_flops(&w), 2 * 3 * 5 * 7 * 2);
	near(wt_work_bytes(&w), 2 * (3 * 7 * 2 + 7 * 5 * 1 + 3 * 5 * 4));
	w.flags = WT_WORK_SHARED_B;
	near(wt_work_bytes(&w), 2 * (3 * 7 * 2) + 7 * 5 * 1 + 2 * (3 * 5 * 4));
	w = (struct wt_work){.kind = WT_WORK_GEMM,
			     .m = 3,
			     .n = 5,
			     .k = 7,
			     .batch = 1,
			     .flags = WT_WORK_COMPLEX,
			     .a = WT_DTYPE_FP32,
			     .b = WT_DTYPE_FP32,
			     .out = WT_DTYPE_FP32};
	near(wt_work_flops(&w), 8 * 3 * 5 * 7);
	near(wt_work_bytes(&w), 8 * (3 * 7 + 7 * 5 + 3 * 5));
	/* Sums of groups: multiply-adds, elements read, elements written. */
	w = (struct wt_work){.kind = WT_WORK_GEMM_SUM,
			     .m = 1000,
			     .n = 300,
			     .k = 40,
			     .a = WT_DTYPE_FP16,
			     .b = WT_DTYPE_FP16,
			     .out = WT_DTYPE_FP16};
	near(wt_work_flops(&w), 2000);
	near(wt_work_bytes(&w), 680);
	/* A format without a size: bytes are not known. */
	w.a = WT_DTYPE_UNKNOWN;
	near(wt_work_bytes(&w) + 1, 1);
}

/* Counted pair by pair. */
static double pairs(int q, int s, int causal)
{
	double n = 0;

	for (int i = 0; i < q; i++)
		for (int k = 0; k < s; k++)
			n += !causal || k < s - q + i + 1;
	return n;
}

static void test_attention(void **state)
{
	struct wt_work w = {.kind = WT_WORK_ATTENTION,
			    .m = 64,
			    .n = 64,
			    .k = 128,
			    .kv = 96,
			    .batch = 6,
			    .a = WT_DTYPE_BF16,
			    .b = WT_DTYPE_BF16,
			    .out = WT_DTYPE_BF16};

	near(wt_work_flops(&w), 2 * (128 + 96) * pairs(64, 64, 0) * 6);
	near(wt_work_bytes(&w), 2. * 6 * (64 * 128 + 64 * 96 + 64 * 128 + 64 * 96));
	w.group = 3; /* two heads of keys and values */
	near(wt_work_bytes(&w), 2. * (6 * (64 * 128 + 64 * 96) + 2 * (64 * 128 + 64 * 96)));
	/* Half of the square: the formula leaves out half a diagonal. */
	w.flags = WT_WORK_CAUSAL;
	assert_true(fabs(wt_work_flops(&w) / (2 * (128 + 96) * pairs(64, 64, 1) * 6) - 1) <
		    1.0 / 64);
	/* A later chunk of 64 queries on 1024 keys. */
	w.n = 1024;
	assert_true(fabs(wt_work_flops(&w) / (2 * (128 + 96) * pairs(64, 1024, 1) * 6) - 1) <
		    1.0 / 1024);
	w.kind = WT_WORK_ATTENTION_BACKWARD;
	near(wt_work_flops(&w), 2.5 * (2. * 64 * 1024 - 64 * 64) * 224 * 6);
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		enum wt_dtype dtype;
	} names[] = {
		{"nvjet_tst_128x256_64x4_1x2_h_bz_TNT", WT_DTYPE_BF16},
		{"nvjet_sm100_tst_128x256_64x6_2x1_2cta_v_bz_", WT_DTYPE_BF16},
		{"nvjet_qqtst_128x256_128x6_2x1_2cta_v_bz_", WT_DTYPE_FP8},
		{"nvjet_hsh_128x64_64x4_1x1_v_bz_NNT", WT_DTYPE_FP16},
		{"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn", WT_DTYPE_BF16},
		{"volta_sgemm_128x64_nn", WT_DTYPE_FP32},
		{"volta_h884gemm_256x128_ldg8_nn", WT_DTYPE_FP16},
		{"sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x64x32", WT_DTYPE_TF32},
		{"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x64x8", WT_DTYPE_FP32},
		{"my_own_kernel", WT_DTYPE_UNKNOWN},
		/* A type's name in the name says nothing; a cache of another format than the queries leaves it open. */
		{"void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16, __hip_bfloat16, "
		 "(vllm::Fp8KVCacheDataType)0, 1, 128, 256, false, 4, 1>(__hip_bfloat16 const*)",
		 WT_DTYPE_BF16},
		{"void vllm::paged_attention_v1_kernel<unsigned short, unsigned char, 128, 16, "
		 "128, "
		 "(vllm::Fp8KVCacheDataType)1, false>(float*)",
		 WT_DTYPE_FP32},
		{"void flashinfer::BatchDecodeWithPagedKVCacheKernel<__nv_bfloat16, __nv_fp8_e4m3>",
		 WT_DTYPE_UNKNOWN},
		{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_e4m3_knob_7",
		 WT_DTYPE_FP8},
		{"cutlass_gemm_e4m3_bf16_128x128", WT_DTYPE_FP8},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (wt_dtype_of_name(names[i].name) != names[i].dtype)
			fail_msg("%s: %s", names[i].name,
				 wt_dtype_name(wt_dtype_of_name(names[i].name)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_attention),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
