/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes by name, grid and model: against FLOPs and bytes worked out by hand, and where the three do not agree, none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bounds/bound.h"
#include "bounds/named.h"
#include "bounds/work.h"
#include "ledger/ledger.h"
#include "timeline/builder.h"

#define FLASH(kind_, flags_)                                                                       \
	"void pytorch_flash::flash_" kind_ "_kernel_traits<64, 128, 128, 4, false, false, "        \
	"cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<64, 128, 128, 4, "                \
	"cutlass::bfloat16_t> >, " flags_ ", false>(pytorch_flash::Flash_fwd_params)"
#define FORWARD(flags_) FLASH("fwd_kernel<pytorch_flash::Flash_fwd", flags_)
#define LOOP		"bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::Flash_bwd"

static struct wt_model model(const char *text)
{
	struct wt_model m;
	struct wt_diag diag;

	assert_int_equal(wt_model_parse(&m, text, strlen(text), &diag), 0);
	return m;
}

#define GPT "layers=4,hidden=1024,heads=16,ffn=4096,vocab=50304,seq=2000"

static void test_flash(void **state)
{
	struct wt_model m = model(GPT);
	struct wt_shape s = {.grid = {16, 4, 16},
			     .block = {128, 1, 1}}; /* 2000 / 128, sequences, heads */
	struct wt_work w;
	double full = 4.0 * 4 * 16 * 2000 * 2000 * 64;

	assert_int_equal(wt_named_work(FORWARD("false, true, false"), &s, &m, &w), 1);
	assert_true(wt_work_flops(&w) == full / 2);
	assert_true(wt_work_bytes(&w) == 4.0 * 4 * 16 * 2000 * 64 * 2); /* Q K V O */
	assert_int_equal(w.math, WT_DTYPE_BF16);
	assert_int_equal(wt_named_work(FORWARD("true, false, false"), &s, &m, &w), 1);
	assert_true(wt_work_flops(&w) == full);
	s.grid[2] = 4; /* of four tensor-parallel ranks */
	assert_int_equal(wt_named_work(FORWARD("false, true, false"), &s, &m, &w), 1);
	assert_true(wt_work_flops(&w) == full / 8);
	assert_int_equal(wt_named_work(FLASH(LOOP, "false, true, false"), &s, &m, &w), 1);
	assert_true(wt_work_flops(&w) == 2.5 * full / 8);
	/* A window; another sequence, head count, head size than the model's; a name cut short. */
	assert_int_equal(wt_named_work(FORWARD("false, true, true"), &s, &m, &w), 0);
	s.grid[0] = 15;
	assert_int_equal(wt_named_work(FORWARD("false, true, false"), &s, &m, &w), 0);
	s.grid[0] = 16;
	s.grid[2] = 5;
	assert_int_equal(wt_named_work(FORWARD("false, true, false"), &s, &m, &w), 0);
	s.grid[2] = 16;
	m = model(GPT ",head_dim=128");
	assert_int_equal(wt_named_work(FORWARD("false, true, false"), &s, &m, &w), 0);
	m = model(GPT);
	assert_int_equal(wt_named_work("flash_fwd_kernel<Flash_fwd_kernel_traits<64", &s, &m, &w),
			 0);
	assert_int_equal(wt_named_work("flash_fwd_splitkv_kernel<half>", &s, &m, &w), 0);
}

static void test_memory_efficient(void **state)
{
	static const char name[] =
		"fmha_cutlassF_f16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::"
		"AttentionKernel<cutlass::half_t>::Params)";
	struct wt_model m = model(GPT ",causal=0,kv_heads=4");
	struct wt_shape s = {.grid = {32, 16, 2}, .block = {32, 4, 1}};
	struct wt_work w;

	assert_int_equal(wt_named_work(name, &s, &m, &w), 1);
	assert_true(wt_work_flops(&w) == 4.0 * 2 * 16 * 2000 * 2000 * 64);
	assert_true(wt_work_bytes(&w) == (2.0 * 16 + 2 * 4) * 2 * 2000 * 64 * 2);
	assert_int_equal(w.math, WT_DTYPE_FP16);
}

static void test_norms(void **state)
{
	static const char layer[] =
		"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<"
		"c10::BFloat16, float>(int, float, c10::BFloat16 const*)";
	struct wt_model m = model(GPT);
	struct wt_shape s = {.grid = {8192, 1, 1}, .block = {32, 4, 1}};
	struct wt_work w;

	assert_int_equal(wt_named_work(layer, &s, &m, &w), 1);
	assert_true(wt_work_bytes(&w) == 2.0 * 8192 * 1024 * 2);
	assert_int_equal(
		wt_named_work("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>", &s, &m, &w),
		1);
	assert_true(wt_work_bytes(&w) == 4.0 * 8192 * 1024 * 2);
	s.grid[1] = 2;
	assert_int_equal(wt_named_work(layer, &s, &m, &w), 0);
	assert_int_equal(wt_named_is("ampere_sgemm_128x64_nn"), 0);
}

/* The ledger's leaves have it: the model is there before the account is made. */
static void test_in_the_ledger(void **state)
{
	struct wt_model m = model(GPT);
	int64_t a1[2], a5[2];

	for (int with = 0; with < 2; with++) {
		struct wt_builder *b = wt_builder_new();
		uint32_t input = wt_builder_input(b, "x", "test");
		uint16_t process = wt_builder_process(b, input, 1);
		uint16_t d = wt_builder_device(b, process, 0, NULL);
		struct wt_shape s = {.grid = {16, 4, 16}, .block = {128, 1, 1}};
		struct wt_op op = {.start_ns = 0,
				   .end_ns = 200000,
				   .call = -1,
				   .collective = -1,
				   .kind = WT_OP_KERNEL,
				   .device = d,
				   .process = process};
		struct wt_timeline *tl;
		struct wt_ledger *l;

		wt_builder_device_at(b, d)->name = wt_builder_cstring(b, "NVIDIA H100 80GB HBM3");
		op.stream = wt_builder_stream(b, process, d, 7);
		op.name = wt_builder_cstring(b, FORWARD("false, true, false"));
		op.shape = wt_builder_shape(b, &s);
		wt_builder_op(b, &op);
		assert_int_equal(wt_builder_finish(b, &tl, NULL), 0);
		assert_int_equal(
			wt_ledger_build_with(&l, tl, wt_families_new(), with ? &m : NULL, NULL), 0);
		a1[with] = l->devices[0].account.leaves_ns[WT_A1];
		a5[with] = l->devices[0].account.leaves_ns[WT_A5];
		wt_ledger_free(l);
		wt_timeline_free(tl);
	}
	/* By its family attention is compute; but 32.8 GFLOP are 33.1 us of the peak's time, a sixth of it. */
	assert_int_equal(a1[0], 200000);
	assert_int_equal(a5[1], 200000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flash),
		cmocka_unit_test(test_memory_efficient),
		cmocka_unit_test(test_norms),
		cmocka_unit_test(test_in_the_ledger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
