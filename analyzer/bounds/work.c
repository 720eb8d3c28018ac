/* SPDX-License-Identifier: Apache-2.0 */
/* See work.h. */
#include "bounds/work.h"

#include <string.h>

static const struct {
	const char *name;
	double bytes;
	int matrix;
} dtypes[WT_DTYPES] = {
	[WT_DTYPE_UNKNOWN] = {"unknown", 0, 0}, [WT_DTYPE_FP64] = {"fp64", 8, 0},
	[WT_DTYPE_FP32] = {"fp32", 4, 0},	[WT_DTYPE_TF32] = {"tf32", 4, 1},
	[WT_DTYPE_BF16] = {"bf16", 2, 1},	[WT_DTYPE_FP16] = {"fp16", 2, 1},
	[WT_DTYPE_FP8] = {"fp8", 1, 1},		[WT_DTYPE_FP6] = {"fp6", 0.75, 1},
	[WT_DTYPE_FP4] = {"fp4", 0.5, 1},	[WT_DTYPE_INT8] = {"int8", 1, 1},
	[WT_DTYPE_INT32] = {"int32", 4, 0},	[WT_DTYPE_INT64] = {"int64", 8, 0},
};

double wt_dtype_bytes(enum wt_dtype t)
{
	return t < WT_DTYPES ? dtypes[t].bytes : 0;
}

const char *wt_dtype_name(enum wt_dtype t)
{
	return t < WT_DTYPES ? dtypes[t].name : "unknown";
}

int wt_dtype_is_matrix(enum wt_dtype t)
{
	return t < WT_DTYPES && dtypes[t].matrix;
}

static double attention_flops(const struct wt_work *w)
{
	double q = (double)w->m, s = (double)w->n, d = (double)w->k + (double)w->kv;
	double flops = 2 * q * s * d * (double)w->batch;

	/* The last of q queries sees all s keys, the one before it one less. */
	if (w->flags & WT_WORK_CAUSAL && q <= s)
		flops -= q * q * d * (double)w->batch;
	return flops;
}

double wt_work_flops(const struct wt_work *w)
{
	double complex_ = w->flags & WT_WORK_COMPLEX ? 4 : 1;

	switch (w->kind) {
	case WT_WORK_GEMM:
		return 2 * complex_ * (double)w->m * (double)w->n * (double)w->k * (double)w->batch;
	case WT_WORK_GEMM_SUM:
		return 2 * complex_ * (double)w->m;
	case WT_WORK_ATTENTION:
		return attention_flops(w);
	case WT_WORK_ATTENTION_BACKWARD:
		return 2.5 * attention_flops(w);
	case WT_WORK_STREAM:
		return (double)w->m * (double)w->k;
	case WT_WORK_SUMS:
		return 2 * complex_ * (double)w->m;
	default:
		return 0;
	}
}

static double gemm_bytes(const struct wt_work *w, double a, double b, double out)
{
	double batch = (double)w->batch;

	return (double)w->m * (double)w->k * a * (w->flags & WT_WORK_SHARED_A ? 1 : batch) +
	       (double)w->k * (double)w->n * b * (w->flags & WT_WORK_SHARED_B ? 1 : batch) +
	       (double)w->m * (double)w->n * out * batch;
}

double wt_work_bytes(const struct wt_work *w)
{
	double complex_ = w->flags & WT_WORK_COMPLEX ? 2 : 1;
	double a = wt_dtype_bytes(w->a) * complex_, b = wt_dtype_bytes(w->b) * complex_,
	       out = wt_dtype_bytes(w->out) * complex_;
	double batch = (double)w->batch, d = (double)w->k + (double)w->kv;
	double q = (double)w->m * d * batch,
	       kv = (double)w->n * d * batch / (w->group ? (double)w->group : 1);

	if (w->kind == WT_WORK_SUMS)
		return (double)w->n + (double)w->k;
	if (!(a > 0) || !(out > 0))
		return 0;
	switch (w->kind) {
	case WT_WORK_GEMM:
		return gemm_bytes(w, a, b, out);
	case WT_WORK_GEMM_SUM:
		return (double)w->n * a + (double)w->k * out;
	case WT_WORK_ATTENTION:
		return (q + kv) * a;
	case WT_WORK_ATTENTION_BACKWARD: /* Q and O, dO, dQ: one more of O's size */
		return (2 * q + (double)w->m * (double)w->kv * batch + 2 * kv) * a;
	case WT_WORK_STREAM:
		return (double)w->m * a + (double)w->n * out;
	default:
		return 0;
	}
}

/*
 * The narrowest operand decides, so formats of 8 bits and less come first. cuDNN's attention says f16 of either format
 * of 16 bits. Attention of two formats, of 8 and 16 bits, multiplies in the one or the other: not known.
 */
static const struct {
	const char *word;
	uint8_t dtype;
} words[] = {
	{"nvfp4", WT_DTYPE_FP4},	 {"mxfp4", WT_DTYPE_FP4},     {"e2m1", WT_DTYPE_FP4},
	{"E2m1", WT_DTYPE_FP4},		 {"_fp4", WT_DTYPE_FP4},      {"e4m3", WT_DTYPE_FP8},
	{"E4m3", WT_DTYPE_FP8},		 {"e5m2", WT_DTYPE_FP8},      {"fp8", WT_DTYPE_FP8},
	{"float8", WT_DTYPE_FP8},	 {"Float8", WT_DTYPE_FP8},    {"Fp8", WT_DTYPE_FP8},
	{"_i8", WT_DTYPE_INT8},		 {"s8_", WT_DTYPE_INT8},      {"int8", WT_DTYPE_INT8},
	{"igemm", WT_DTYPE_INT8},	 {"bf16", WT_DTYPE_BF16},     {"BFloat16", WT_DTYPE_BF16},
	{"bfloat16", WT_DTYPE_BF16},	 {"Bfloat16", WT_DTYPE_BF16}, {"_B_", WT_DTYPE_BF16},
	{"tf32", WT_DTYPE_TF32},	 {"TF32", WT_DTYPE_TF32},     {"tfloat32", WT_DTYPE_TF32},
	{"s1688gemm", WT_DTYPE_TF32},	 {"h884", WT_DTYPE_FP16},     {"h16816", WT_DTYPE_FP16},
	{"wgmma_f16", WT_DTYPE_UNKNOWN}, {"f16", WT_DTYPE_FP16},      {"fp16", WT_DTYPE_FP16},
	{"Half", WT_DTYPE_FP16},	 {"half", WT_DTYPE_FP16},     {"hgemm", WT_DTYPE_FP16},
	{"dgemm", WT_DTYPE_FP64},	 {"double", WT_DTYPE_FP64},   {"sgemm", WT_DTYPE_FP32},
	{"scudnn", WT_DTYPE_FP32},	 {"float", WT_DTYPE_FP32},    {"fp32", WT_DTYPE_FP32},
	{"f32", WT_DTYPE_FP32},
};

/* cuBLASLt's newest kernels, nvjet_sm100_tst_128x256_..., say operands, sums and results by a letter each. */
static enum wt_dtype nvjet(const char *letters)
{
	static const struct {
		const char *begin;
		uint8_t dtype;
	} sorts[] = {
		{"tst", WT_DTYPE_BF16}, {"hsh", WT_DTYPE_FP16}, {"qq", WT_DTYPE_FP8},
		{"oo", WT_DTYPE_FP4},	{"sss", WT_DTYPE_TF32},
	};

	if (!strncmp(letters, "sm", 2) && strchr(letters, '_'))
		letters = strchr(letters, '_') + 1;
	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		if (!strncmp(letters, sorts[i].begin, strlen(sorts[i].begin)))
			return sorts[i].dtype;
	return WT_DTYPE_UNKNOWN;
}

/* Where the word stands in a name, but in a type's own name that says nothing of what it is here. */
static const char *find_word(const char *name, const char *word)
{
	static const char cache[] = "Fp8KVCacheDataType"; /* vLLM's: 0 of it is no fp8 */
	const char *at = strstr(name, word);

	while (at && !strncmp(at, cache, sizeof(cache) - 1))
		at = strstr(at + 1, word);
	return at;
}

static enum wt_dtype format_after(const char *name, size_t from, size_t *ret_next)
{
	for (size_t i = from; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!find_word(name, words[i].word))
			continue;
		*ret_next = i + 1;
		return words[i].dtype;
	}
	return WT_DTYPE_UNKNOWN;
}

/* Attention keeps keys and values narrower than it multiplies, or multiplies narrower than it writes: two formats. */
static int is_attention(const char *name)
{
	static const char *const marks[] = {"ttention", "attn", "fmha", "BatchDecode",
					    "BatchPrefill"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(name, marks[i]))
			return 1;
	return 0;
}

enum wt_dtype wt_dtype_of_name(const char *name)
{
	const char *at = strstr(name, "nvjet_");
	enum wt_dtype first, other;
	size_t next = 0;

	if (at)
		return nvjet(at + strlen("nvjet_"));
	first = format_after(name, 0, &next);
	if (first < WT_DTYPE_FP8 || first > WT_DTYPE_FP4 || !is_attention(name))
		return first;
	while ((other = format_after(name, next, &next)) == first)
		;
	return other == WT_DTYPE_BF16 || other == WT_DTYPE_FP16 ? WT_DTYPE_UNKNOWN : first;
}
