/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See lib_gemm.h. Names follow what profiles of each generation show: ampere_* and cutlass_80_* on compute capability
 * 8, nvjet_* on 9 and 10 for 16-bit and 8-bit inputs, the older ffma kernels for plain fp32. Tiles are chosen as large
 * as still leaves a block for most SMs; that is a guess at the heuristic, not a copy of it.
 */
#include "simgpu/libs/lib_gemm.h"

#include <stdio.h>

struct tile {
	uint32_t m, n;
};
static const struct tile tiles[] = {{256, 128}, {128, 128}, {128, 64}, {64, 64}, {64, 32}};
#define N_TILES (sizeof(tiles) / sizeof(tiles[0]))

static const struct type_row {
	int type;
	uint8_t bits;
	char letter; /* in nvjet names */
	const char *word;
} types[] = {
	{CUDA_R_16BF, 16, 't', "bf16"},	 {CUDA_R_16F, 16, 'h', "fp16"},
	{CUDA_R_32F, 32, 's', "f32"},	 {CUDA_R_64F, 64, 'd', "f64"},
	{CUDA_R_8F_E4M3, 8, 'q', "fp8"}, {CUDA_R_8F_E5M2, 8, 'r', "fp8"},
	{CUDA_R_4F_E2M1, 4, 'f', "fp4"}, {CUDA_R_8I, 8, 'i', "i8"},
	{CUDA_R_32I, 32, 'i', "i32"},	 {CUDA_C_32F, 64, 'c', "c32"},
	{CUDA_C_64F, 128, 'z', "c64"},
};

static const struct type_row *type_row(int type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == type)
			return &types[i];
	return &types[2];
}

uint32_t sim_type_bits(int type)
{
	return type_row(type)->bits;
}

static int is_complex(int type)
{
	return type == CUDA_C_32F || type == CUDA_C_64F;
}

static enum sim_dtype math_of(const struct sim_gemm *g)
{
	uint32_t bits = sim_type_bits(g->type_a);

	if (g->type_a == CUDA_R_64F || g->type_a == CUDA_C_64F)
		return SIM_DTYPE_FP64;
	if (bits == 4)
		return SIM_DTYPE_FP4;
	if (bits == 8)
		return g->type_a == CUDA_R_8I ? SIM_DTYPE_INT8 : SIM_DTYPE_FP8;
	if (bits == 16)
		return g->type_a == CUDA_R_16F ? SIM_DTYPE_FP16 : SIM_DTYPE_BF16;
	switch (g->compute) {
	case SIM_COMPUTE_FAST_TF32:
		return SIM_DTYPE_TF32;
	case SIM_COMPUTE_FAST_16F:
		return SIM_DTYPE_FP16;
	case SIM_COMPUTE_FAST_16BF:
		return SIM_DTYPE_BF16;
	}
	return SIM_DTYPE_FP32;
}

static struct tile choose_tile(const struct sim_gemm *g, uint32_t sms)
{
	for (size_t i = 0; i < N_TILES; i++) {
		double blocks = (double)((g->m + tiles[i].m - 1) / tiles[i].m) *
				(double)((g->n + tiles[i].n - 1) / tiles[i].n) * (double)g->batch;
		if (blocks >= sms * 0.75)
			return tiles[i];
	}
	return tiles[g->n <= 32 ? N_TILES - 1 : N_TILES - 2];
}

static char op(int trans)
{
	return trans ? 't' : 'n';
}

static void nvjet_name(const struct sim_gemm *g, struct tile t, int cc, char *buf, size_t n)
{
	const struct type_row *a = type_row(g->type_a), *d = type_row(g->type_d);
	char in[3] = {a->letter, a->bits == 8 ? type_row(g->type_b)->letter : 0, 0};

	snprintf(buf, n, "nvjet_%s%s%c%c_%ux%u_%dx%d_%s_v_bz_%c%cT", cc >= 10 ? "sm100_" : "", in,
		 a->bits == 16 && g->compute == SIM_COMPUTE_16F ? 'h' : 's', d->letter, t.m, t.n,
		 a->bits == 8 ? 128 : 64, cc >= 10 ? 6 : 4, t.m == 256 ? "2x1" : "1x1",
		 op(g->trans_a) - 32, op(g->trans_b) - 32);
}

static void cutlass_name(const char *core, const struct sim_gemm *g, struct tile t, int k,
			 int stages, char *buf, size_t n)
{
	char plain[128];

	snprintf(plain, sizeof(plain), "cutlass_80_%s_%ux%u_%dx%d_%c%c_align%d", core, t.m, t.n, k,
		 stages, op(g->trans_a), op(g->trans_b), g->k % 4 ? 1 : 4);
	snprintf(buf, n, "_ZN7cutlass7Kernel2I%zu%sEEvNT_6ParamsE", __builtin_strlen(plain), plain);
}

static void ampere_name(const struct sim_gemm *g, struct tile t, char *buf, size_t n)
{
	const char *word = type_row(g->type_a)->word, *out = type_row(g->type_d)->word;

	snprintf(buf, n, "ampere_%s_s16816gemm_%s_%ux%u_ldg8_f2f_stages_64x%d_%c%c", word, out, t.m,
		 t.n, t.m == 256 ? 3 : 4, op(g->trans_a), op(g->trans_b));
}

static void name_of(const struct sim_gemm *g, enum sim_dtype math, struct tile t, int cc, char *buf,
		    size_t n)
{
	if (is_complex(g->type_a))
		cutlass_name(math == SIM_DTYPE_FP64 ? "tensorop_z884gemm" : "simt_cgemm", g, t, 8,
			     5, buf, n);
	else if (math == SIM_DTYPE_FP64)
		cutlass_name("tensorop_d884gemm", g, t, 16, 4, buf, n);
	else if (math == SIM_DTYPE_FP32 && cc < 9)
		snprintf(buf, n, "ampere_sgemm_%ux%u_%c%c", t.m, t.n, op(g->trans_a),
			 op(g->trans_b));
	else if (math == SIM_DTYPE_FP32)
		snprintf(buf, n,
			 "sm80_xmma_gemm_f32f32_f32f32_f32_%c%c_n_tilesize%ux%ux8_stage3_"
			 "warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
			 op(g->trans_a), op(g->trans_b), t.m, t.n);
	else if (math == SIM_DTYPE_TF32 && cc == 9)
		snprintf(buf, n,
			 "sm90_xmma_gemm_f32f32_tf32f32_f32_%c%c_n_tilesize%ux%ux32_"
			 "warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
			 op(g->trans_a), op(g->trans_b), t.m, t.n);
	else if (math == SIM_DTYPE_TF32)
		cutlass_name("tensorop_s1688gemm", g, t, 32, 3, buf, n);
	else if (cc >= 9)
		nvjet_name(g, t, cc, buf, n);
	else if (type_row(g->type_a)->bits == 16)
		ampere_name(g, t, buf, n);
	else
		cutlass_name("tensorop_i16832gemm_s8", g, t, 64, 3, buf, n);
}

/* Sizes come from a caller: a product may pass 64 bits. */
static uint64_t whole(double x)
{
	return x < 9e18 ? (uint64_t)x : (uint64_t)9e18;
}

int sim_gemm_launch(const struct sim_gemm *g, void *stream)
{
	uint32_t sms = (uint32_t)sim_lib_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	enum sim_dtype math = math_of(g);
	double m = (double)g->m, n = (double)g->n, k = (double)g->k, batch = (double)g->batch;
	double blocks, in = sim_type_bits(g->type_a) / 8.0, out = sim_type_bits(g->type_d) / 8.0;
	int cc = sim_lib_cc_major();
	struct sim_lib_work w = {.regs = 168};
	struct tile t;
	char name[200];

	if (g->m < 0 || g->n < 0 || g->k < 0 || g->batch < 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!g->m || !g->n || !g->batch)
		return CUDA_SUCCESS;
	t = choose_tile(g, sms);
	name_of(g, math, t, cc, name, sizeof(name));
	blocks = (double)((g->m + t.m - 1) / t.m) * (double)((g->n + t.n - 1) / t.n);
	w.name = name;
	/* nvjet kernels are persistent: no more blocks than SMs. */
	if (cc >= 9 && math >= SIM_DTYPE_BF16 && blocks * batch > sms) {
		w.grid[0] = t.m == 256 ? sms / 2 * 2 : sms;
		w.grid[1] = w.grid[2] = 1;
	} else {
		w.grid[0] = blocks < 2147483647.0 ? (uint32_t)blocks : 2147483647u;
		w.grid[1] = 1;
		w.grid[2] = g->batch < 65535 ? (uint32_t)g->batch : 65535;
	}
	w.block[0] = cc >= 9 && math != SIM_DTYPE_FP32 ? 384 : t.m * t.n >= 128 * 128 ? 256 : 128;
	w.block[1] = w.block[2] = 1;
	w.dyn_smem = (t.m + t.n) * 64 * 2 * (t.m == 256 ? 3 : 2);
	w.cost = (struct sim_cost){
		.kind = SIM_COST_GEMM,
		.dtype = math,
		.flops = whole((is_complex(g->type_a) ? 8 : 2) * m * n * k * batch),
		.bytes = whole(
			batch * (m * k * in + k * n * in + m * n * out * (g->reads_c ? 2 : 1)) +
			g->aux_bytes),
		.m = (uint64_t)g->m,
		.n = (uint64_t)g->n,
		.k = (uint64_t)g->k,
		.batch = (uint64_t)g->batch,
	};
	return sim_lib_launch(&w, stream);
}
