/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernel families: every line compiles, every golden name is what it should be, states follow roles. */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/families.h"

static void test_every_line_compiles(void **state)
{
	assert_int_equal(wt_nfamily_rows, 64);
	for (int i = 0; i < wt_nfamily_rows; i++) {
		regex_t re;

		if (regcomp(&re, wt_family_rows[i].pattern, REG_EXTENDED | REG_NOSUB))
			fail_msg("line %d does not compile: %s", i + 2, wt_family_rows[i].pattern);
		regfree(&re);
	}
}

static void test_golden_names(void **state)
{
	FILE *in = fopen("tests/golden/kernel_names.tsv", "r");
	struct wt_families *f = wt_families_new();
	char line[4096];
	uint32_t n = 0;

	assert_non_null(in);
	assert_non_null(fgets(line, sizeof(line), in));
	while (fgets(line, sizeof(line), in)) {
		char *name = strtok(line, "\t\n"), *family = strtok(NULL, "\t\n"),
		     *role = strtok(NULL, "\t\n");
		const struct wt_family_row *row = wt_family_of(f, ++n, name);

		if (!row || strcmp(row->family, family) || strcmp(row->role, role))
			fail_msg("%s: %s / %s, expected %s / %s", name, row ? row->family : "none",
				 row ? row->role : "none", family, role);
		assert_ptr_equal(wt_family_of(f, n, name), row);
	}
	assert_int_equal(n, 62);
	fclose(in);
	wt_families_free(f);
}

static enum wt_state state_of(struct wt_families *f, uint32_t id, const char *name)
{
	return wt_family_state(wt_family_of(f, id, name));
}

static void test_states(void **state)
{
	struct wt_families *f = wt_families_new();

	assert_int_equal(state_of(f, 1, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"), WT_STATE_COMM);
	/* Both at once: compute, and told apart by its role. */
	assert_int_equal(state_of(f, 101, "kernel_consumer_gemm_rs_persistent"), WT_STATE_COMPUTE);
	assert_string_equal(wt_family_of(f, 102, "void flux::ag_gemm<float>")->role, "fused");
	assert_int_equal(state_of(f, 2, "multimem_all_reduce_kernel"), WT_STATE_COMM);
	assert_int_equal(state_of(f, 3, "spin_kernel"), WT_STATE_SPIN);
	assert_int_equal(state_of(f, 4, "__amd_rocclr_copyBuffer"), WT_STATE_COPY);
	/* The role `copy` is a label: casts, fills and transposes compute. */
	assert_int_equal(state_of(f, 5, "CatArrayBatchedCopy"), WT_STATE_COMPUTE);
	assert_int_equal(state_of(f, 6, "my_very_own_thing"), WT_STATE_COMPUTE);
	assert_null(wt_family_of(f, 6, "my_very_own_thing"));
	wt_families_free(f);
}

static enum wt_bound bound_of(struct wt_families *f, uint32_t id, const char *name, int64_t ns)
{
	return wt_family_bound(wt_family_of(f, id, name), name, ns);
}

static void test_bounds(void **state)
{
	struct wt_families *f = wt_families_new();

	assert_int_equal(bound_of(f, 1, "nvjet_tst_128x256_64x4_1x2_h_bz_TNT", 50000),
			 WT_BOUND_COMPUTE);
	/* Short kernels are bound by latency, whatever they do. */
	assert_int_equal(bound_of(f, 1, "nvjet_tst_128x256_64x4_1x2_h_bz_TNT", 9999),
			 WT_BOUND_LATENCY);
	/* A tile of 8 or 16 rows: weights are streamed. */
	assert_int_equal(bound_of(f, 2, "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 50000),
			 WT_BOUND_MEMORY);
	assert_int_equal(bound_of(f, 3, "Cijk_Alik_Bljk_BBS_BH_MT16x16x256_MI16x16x1", 50000),
			 WT_BOUND_MEMORY);
	assert_int_equal(bound_of(f, 4, "Cijk_Alik_Bljk_BBS_BH_MT256x128x64_MI16x16x1", 50000),
			 WT_BOUND_COMPUTE);
	assert_int_equal(bound_of(f, 5, "void at::native::reduce_kernel<512>", 50000),
			 WT_BOUND_MEMORY);
	/* A collective is bound by communication however short it is. */
	assert_int_equal(bound_of(f, 7, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 5000),
			 WT_BOUND_COMM);
	assert_int_equal(bound_of(f, 6, "my_very_own_thing", 5), WT_BOUND_UNKNOWN);
	wt_families_free(f);
}

static int matrix(struct wt_families *f, uint32_t id, const char *name)
{
	return wt_family_is_matrix(wt_family_of(f, id, name), name);
}

/* A matrix product in FP32 runs on the ordinary pipes: it must not be said to use tensor cores. */
static void test_matrix_pipe(void **state)
{
	struct wt_families *f = wt_families_new();

	assert_int_equal(matrix(f, 1, "volta_sgemm_64x64_nt"), 0);
	assert_int_equal(matrix(f, 2, "cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1"), 0);
	assert_int_equal(matrix(f, 3, "void cudnn::detail::dgrad_engine<float, 512, 6>"), 0);
	assert_int_equal(matrix(f, 4, "cutlass_80_simt_sgemm_128x32_8x5_nn_align1"), 0);
	assert_int_equal(matrix(f, 5, "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn"), 1);
	assert_int_equal(matrix(f, 6, "ampere_bf16_s16816gemm_bf16_64x64_ldg8_tn"), 1);
	assert_int_equal(matrix(f, 7, "cutlass_80_tensorop_s1688gemm_256x64_16x4_nn"), 1);
	assert_int_equal(matrix(f, 8, "nvjet_tst_128x256_64x4_1x2_h_bz_TNT"), 1);
	assert_int_equal(matrix(f, 9, "void at::native::reduce_kernel<512>"), 0);
	assert_int_equal(matrix(f, 10, "my_very_own_thing"), 0);
	wt_families_free(f);
}

/* A name of a megabyte costs what a long name costs. */
static void test_endless_name(void **state)
{
	static char name[1 << 20];
	struct wt_families *f = wt_families_new();

	memset(name, 'x', sizeof(name) - 1);
	assert_null(wt_family_of(f, 1, name));
	memcpy(name, "nvjet_", 6);
	assert_non_null(wt_family_of(f, 2, name));
	wt_families_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_line_compiles),
		cmocka_unit_test(test_golden_names),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_matrix_pipe),
		cmocka_unit_test(test_endless_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
