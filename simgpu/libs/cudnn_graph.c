/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See cudnn_graph.h. Two products in one graph are attention, as PyTorch's front end writes it; five are its backward
 * pass. FLOPs come from the shapes of the operands, so a causal mask is not seen.
 */
#include "simgpu/libs/cudnn_graph.h"

#include <stdio.h>

#include "simgpu/libs/lib_kernel.h"

static const struct {
	int op, operand[3];
} operands[] = {
	{CUDNN_OP_CONV_FORWARD, {CUDNN_CONV_FORWARD_W, CUDNN_CONV_FORWARD_X, CUDNN_CONV_FORWARD_Y}},
	{CUDNN_OP_CONV_BWD_DATA,
	 {CUDNN_CONV_BWD_DATA_W, CUDNN_CONV_BWD_DATA_DX, CUDNN_CONV_BWD_DATA_DY}},
	{CUDNN_OP_CONV_BWD_FILTER,
	 {CUDNN_CONV_BWD_FILTER_DW, CUDNN_CONV_BWD_FILTER_X, CUDNN_CONV_BWD_FILTER_DY}},
	{CUDNN_OP_MATMUL, {CUDNN_MATMUL_A, CUDNN_MATMUL_B, CUDNN_MATMUL_C}},
	{CUDNN_OP_SDPA_FWD, {CUDNN_SDPA_FWD_Q, CUDNN_SDPA_FWD_K, CUDNN_SDPA_FWD_O}},
	{CUDNN_OP_SDPA_BWD, {CUDNN_SDPA_BWD_Q, CUDNN_SDPA_BWD_K, CUDNN_SDPA_BWD_O}},
};

int cudnn_operand(int op_type, int index)
{
	for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++)
		if (operands[i].op == op_type)
			return operands[i].operand[index];
	return 0;
}

/* cudnnDataType_t: float, double, half, int8, int32, ..., bfloat16 = 9, int64, ..., fp8 = 12, 13 */
uint32_t cudnn_type_bytes(int type)
{
	static const uint8_t bytes[] = {4, 8, 2, 1, 4, 4, 1, 4, 4, 2, 8, 1, 1, 1, 1, 1};

	return type >= 0 && type < (int)sizeof(bytes) ? bytes[type] : 4;
}

static double elements(const struct cudnn_dims *d)
{
	double n = d->n ? 1 : 0;

	for (int i = 0; i < d->n; i++)
		n *= (double)d->dim[i];
	return n;
}

static double contracted(const struct cudnn_operation *op)
{
	const struct cudnn_dims *w = &op->operand[0], *a = &op->operand[0];

	switch (op->type) {
	case CUDNN_OP_MATMUL:
		return a->n ? (double)a->dim[a->n - 1] : 0;
	case CUDNN_OP_CONV_FORWARD:
	case CUDNN_OP_CONV_BWD_DATA:
	case CUDNN_OP_CONV_BWD_FILTER:
		return w->n && w->dim[0] ? elements(w) / (double)w->dim[0] : 0;
	}
	return 0;
}

static void add_attention(struct cudnn_graph *g, const struct cudnn_operation *op, double products)
{
	const struct cudnn_dims *q = &op->operand[0], *k = &op->operand[1];

	g->q = *q;
	g->k = *k;
	g->attention = op->type;
	if (q->n == 4 && k->n == 4)
		g->flops += products * 2 * elements(q) * (double)k->dim[2];
}

void cudnn_graph_add(struct cudnn_graph *g, const struct cudnn_operation *op)
{
	if (!g->bytes)
		g->type = op->operand[0].type;
	for (int i = 0; i < 3; i++)
		g->bytes += elements(&op->operand[i]) * cudnn_type_bytes(op->operand[i].type);
	switch (op->type) {
	case CUDNN_OP_SDPA_FWD:
		add_attention(g, op, 2);
		return;
	case CUDNN_OP_SDPA_BWD:
		add_attention(g, op, 5);
		return;
	case CUDNN_OP_MATMUL:
		if (!g->products++)
			g->q = op->operand[0];
		break;
	case CUDNN_OP_CONV_FORWARD:
	case CUDNN_OP_CONV_BWD_DATA:
	case CUDNN_OP_CONV_BWD_FILTER:
		g->convolution = op->type;
		break;
	case CUDNN_OP_NORM_FORWARD:
	case CUDNN_OP_NORM_BACKWARD:
		g->norm = op->type;
		return;
	case CUDNN_OP_RESAMPLE_FWD:
	case CUDNN_OP_RESAMPLE_BWD:
		g->resample = op->type;
		return;
	default:
		g->pointwise++;
		return;
	}
	g->flops += 2 * elements(&op->operand[2]) * contracted(op);
}

/* fp16 and bf16 carry the same "f16" in cuDNN's own names. */
static const char *word(int type)
{
	return cudnn_type_bytes(type) == 4 ? "f32" : cudnn_type_bytes(type) == 1 ? "e4m3" : "f16";
}

static void sdpa_name(const struct cudnn_graph *g, int backward, int cc, char *buf, size_t n)
{
	long long head = g->q.n == 4 ? (long long)g->q.dim[3] : 64;
	const char *unit = cc == 9 ? "wgmma" : cc >= 10 ? "tcgen05" : "tensorop";

	snprintf(buf, n,
		 "cudnn_generated_fort_native_sdpa_sm%d_flash_%s_%s_%s_knob_%d_64x%dx%lld_%s_"
		 "kernel0_0",
		 cc >= 10 ? 100 : cc * 10, backward ? "bprop" : "fprop", unit, word(g->type),
		 backward ? 3 : 7, 128, head, backward ? "1x1x1_cga1x1x1" : "4x1x1");
}

static void conv_name(const struct cudnn_graph *g, int cc, char *buf, size_t n)
{
	static const char *const kinds[] = {"fprop", "wgrad", "dgrad"};
	const char *kind = kinds[g->convolution - CUDNN_OP_CONV_FORWARD], *t = word(g->type);

	snprintf(buf, n,
		 "sm%d_xmma_%s_implicit_gemm_%s%s_%sf32_f32_nhwckrsc_nhwc_tilesize128x128x64_"
		 "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
		 cc >= 9 ? 90 : 80, kind, t, t, cudnn_type_bytes(g->type) == 4 ? "tf32" : t);
}

static enum sim_dtype dtype_of(int type)
{
	switch (cudnn_type_bytes(type)) {
	case 1:
		return SIM_DTYPE_FP8;
	case 2:
		return type == 2 ? SIM_DTYPE_FP16 : SIM_DTYPE_BF16;
	case 8:
		return SIM_DTYPE_FP64;
	}
	return SIM_DTYPE_TF32;
}

static enum sim_cost_kind kind_of(const struct cudnn_graph *g)
{
	if (g->attention || g->products > 1)
		return SIM_COST_ATTENTION;
	if (g->convolution || g->products)
		return SIM_COST_GEMM;
	return g->norm ? SIM_COST_NORM : SIM_COST_ELEMENTWISE;
}

int cudnn_graph_launch(const struct cudnn_graph *g, void *stream)
{
	struct sim_lib_work w = {.regs = 168};
	int cc = sim_lib_cc_major();
	double blocks = g->bytes / 65536 + 1;
	char name[200];

	if (g->attention || g->products > 1)
		sdpa_name(g, g->attention ? g->attention == CUDNN_OP_SDPA_BWD : g->products > 2, cc,
			  name, sizeof(name));
	else if (g->convolution)
		conv_name(g, cc, name, sizeof(name));
	else if (g->norm)
		snprintf(name, sizeof(name), "cudnn_norm_%s_kernel",
			 g->norm == CUDNN_OP_NORM_FORWARD ? "fwd" : "bwd");
	else if (g->products)
		snprintf(name, sizeof(name), "cudnn_generated_fort_native_matmul_%s_kernel0",
			 word(g->type));
	else if (g->resample)
		snprintf(name, sizeof(name), "cudnn_resample_%s_kernel",
			 g->resample == CUDNN_OP_RESAMPLE_FWD ? "fwd" : "bwd");
	else
		snprintf(name, sizeof(name), "cudnn_generated_fort_native_pointwise_kernel0");
	w.name = name;
	w.cost = (struct sim_cost){
		.kind = kind_of(g),
		.dtype = dtype_of(g->type),
		.flops = g->flops < 9e18 ? (uint64_t)g->flops : (uint64_t)9e18,
		.bytes = g->bytes < 9e18 ? (uint64_t)g->bytes : (uint64_t)9e18,
	};
	w.grid[0] = blocks < 65536 ? (uint32_t)blocks : 65536;
	w.grid[1] = w.grid[2] = 1;
	w.block[0] = cc >= 9 ? 384 : 256;
	w.block[1] = w.block[2] = 1;
	return sim_lib_launch(&w, stream);
}
