/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products of cuBLAS, and what cuDNN computes: which kernel computed which. A product's launches have its call
 * as parent; of the kernels they made the longest has the work (the others reduce, convert, clear), so a call's work
 * is there once.
 *
 * A kernel of a graph has no such parent: see graph_work.c. Hardware counters are laid over what a kernel has.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"

static const struct {
	uint8_t type, dtype, complex_;
} types[] = {
	/* cudaDataType_t */
	{0, WT_DTYPE_FP32, 0},	{1, WT_DTYPE_FP64, 0},	 {2, WT_DTYPE_FP16, 0},
	{3, WT_DTYPE_INT8, 0},	{4, WT_DTYPE_FP32, 1},	 {5, WT_DTYPE_FP64, 1},
	{6, WT_DTYPE_FP16, 1},	{7, WT_DTYPE_INT8, 1},	 {8, WT_DTYPE_INT8, 0},
	{9, WT_DTYPE_INT8, 1},	{10, WT_DTYPE_INT32, 0}, {14, WT_DTYPE_BF16, 0},
	{15, WT_DTYPE_BF16, 1}, {28, WT_DTYPE_FP8, 0},	 {29, WT_DTYPE_FP8, 0},
	{31, WT_DTYPE_FP6, 0},	{32, WT_DTYPE_FP6, 0},	 {33, WT_DTYPE_FP4, 0},
};

static uint8_t dtype_of(uint32_t type, uint8_t *flags)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i].type != type)
			continue;
		if (types[i].complex_)
			*flags |= WT_WORK_COMPLEX;
		return types[i].dtype;
	}
	return WT_DTYPE_UNKNOWN;
}

/* The pipe that multiplies: by operands; fp32 operands by how they may be converted. */
static uint8_t math_of(const struct wt_work *w, uint32_t compute, uint32_t flags)
{
	static const struct {
		uint8_t compute, math;
	} by_compute[] = {
		/* cublasComputeType_t, of fp32 operands */
		{68, WT_DTYPE_FP32}, {69, WT_DTYPE_FP32}, {74, WT_DTYPE_FP16},
		{75, WT_DTYPE_BF16}, {77, WT_DTYPE_TF32},
	};

	if (w->a == WT_DTYPE_FP32 && w->b == WT_DTYPE_FP32) {
		if (flags & WT_PB(GEMM_FLAG, TF32))
			return WT_DTYPE_TF32;
		for (size_t i = 0; i < sizeof(by_compute) / sizeof(by_compute[0]); i++)
			if (by_compute[i].compute == compute)
				return by_compute[i].math;
		return WT_DTYPE_UNKNOWN; /* emulated: neither peak is its own */
	}
	if (w->a == WT_DTYPE_FP64 && compute == 79)
		return WT_DTYPE_UNKNOWN;
	/* fp4 beside fp8 runs at the wider one's rate; the list of formats goes from wide to narrow. */
	return w->a < w->b ? w->a : w->b;
}

/* A call of cuDNN. What is known at most, or in part, is no work: bounds and utilisation would be claimed of it. */
static uint32_t sums_of(struct wt_trace *t, const struct wt_gemm_row *g)
{
	struct wt_work w = {.kind = WT_WORK_SUMS,
			    .source = WT_WORK_BY_DESCRIPTORS,
			    .m = g->m,
			    .n = g->n,
			    .k = g->k,
			    .batch = 1};

	if (!g->n || !g->k || g->flags & WT_PB(GEMM_FLAG, AT_MOST))
		return 0;
	w.flags = g->flags & WT_PB(GEMM_FLAG, CAUSAL) ? WT_WORK_CAUSAL : 0;
	w.a = dtype_of(g->type_a, &w.flags);
	w.b = dtype_of(g->type_b, &w.flags);
	w.out = dtype_of(g->type_c, &w.flags);
	if (w.m && w.a != WT_DTYPE_FP32)
		w.math = w.a < w.b ? w.a : w.b;
	return wt_builder_work(t->b, &w);
}

static uint32_t work_of(struct wt_trace *t, const struct wt_gemm_row *g)
{
	struct wt_work w = {.kind = WT_WORK_GEMM,
			    .source = WT_WORK_BY_ARGUMENTS,
			    .m = g->m,
			    .n = g->n,
			    .k = g->k,
			    .batch = g->batch};

	if (g->work)
		return sums_of(t, g);
	if (g->flags & WT_PB(GEMM_FLAG, GROUPED))
		w.kind = WT_WORK_GEMM_SUM;
	else if (!g->batch) /* sizes could not be read */
		return 0;
	w.a = dtype_of(g->type_a, &w.flags);
	w.b = dtype_of(g->type_b, &w.flags);
	w.out = dtype_of(g->type_c, &w.flags);
	w.flags |= g->flags & WT_PB(GEMM_FLAG, SHARED_A) ? WT_WORK_SHARED_A : 0;
	w.flags |= g->flags & WT_PB(GEMM_FLAG, SHARED_B) ? WT_WORK_SHARED_B : 0;
	w.math = math_of(&w, g->compute, g->flags);
	return wt_builder_work(t->b, &w);
}

static uint32_t product_around(const struct wt_trace *t, const struct wt_record *r)
{
	const struct wt_group *g = &t->groups.p[r->group];
	uint32_t row = r->kind == WT_OP_KERNEL && g->row != WT_NO_INDEX && !g->ambiguous
			       ? t->rows.p[g->row].parent
			       : WT_NO_INDEX;

	return row != WT_NO_INDEX && t->rows.p[row].kind == WT_PB(COUNT_KIND, GEMM) &&
			       !t->rows.p[row].status
		       ? row
		       : WT_NO_INDEX;
}

uint32_t wt_trace_product_work(struct wt_trace *t, uint32_t row)
{
	uint32_t gemm;

	if (row == WT_NO_INDEX || t->rows.p[row].kind != WT_PB(COUNT_KIND, GEMM) ||
	    t->rows.p[row].status || !wt_map_get(&t->gemm_ids, t->rows.p[row].object, &gemm))
		return 0;
	return work_of(t, &t->gemms.p[gemm]);
}

static int by_record(const void *a, const void *b)
{
	const struct wt_counter_row *x = a, *y = b;

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static uint16_t share(uint32_t v)
{
	return (uint16_t)(v > 10001 ? 10001 : v);
}

static void add_counters(struct wt_trace *t, uint32_t *works)
{
	struct wt_counter_row *rows = t->counters.p, key, *c;

	qsort(rows, t->counters.n, sizeof(*rows), by_record);
	for (size_t i = 0; i < t->records.n; i++) {
		const struct wt_record *r = &t->records.p[i];
		struct wt_work w;

		key = (struct wt_counter_row){.correlation = r->correlation, .node = r->node};
		c = r->kind == WT_OP_KERNEL && r->correlation
			    ? bsearch(&key, rows, t->counters.n, sizeof(*rows), by_record)
			    : NULL;
		if (!c)
			continue;
		w = *wt_builder_work_at(t->b, works[i]);
		w.sm = share(c->sm);
		w.tensor = share(c->tensor);
		w.dram = share(c->dram);
		w.l2 = share(c->l2);
		w.l1 = share(c->l1);
		w.pass_ns = (uint32_t)(c->pass_ns < UINT32_MAX ? c->pass_ns : UINT32_MAX);
		works[i] = wt_builder_work(t->b, &w);
	}
}

int wt_trace_works(struct wt_trace *t, uint32_t **ret)
{
	uint32_t *works = calloc(t->records.n + 1, sizeof(*works));
	uint32_t *longest = NULL; /* per row: the record, + 1 */
	int err = 0;

	if (works && t->gemms.n)
		longest = calloc(t->rows.n + 1, sizeof(*longest));
	if (!works || (t->gemms.n && !longest)) {
		free(works);
		return -WT_E_NOMEM;
	}
	for (size_t i = 0; longest && i < t->records.n; i++) {
		uint32_t row = product_around(t, &t->records.p[i]);

		if (row != WT_NO_INDEX && (!longest[row] || t->records.p[longest[row] - 1].dur_ns <
								    t->records.p[i].dur_ns))
			longest[row] = (uint32_t)i + 1;
	}
	for (size_t row = 0; longest && row < t->rows.n; row++)
		if (longest[row])
			works[longest[row] - 1] = wt_trace_product_work(t, (uint32_t)row);
	free(longest);
	if (t->gemms.n)
		err = wt_trace_graph_works(t, works);
	if (!err && t->counters.n)
		add_counters(t, works);
	if (err)
		free(works);
	else
		*ret = works;
	return err;
}
