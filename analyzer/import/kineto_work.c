/* SPDX-License-Identifier: Apache-2.0 */
/* See kineto_work.h. */
#include "import/kineto_work.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ELEMENTS (UINT64_C(1) << 48)
#define NORM_FLOPS    8 /* an element, about: a stream's bytes decide */

enum op_kind { KIND_MATRIX, KIND_BATCH, KIND_ATTENTION, KIND_ATTENTION_BACKWARD, KIND_STREAM };
struct op_row {
	const char *name;
	uint8_t n, kind, a, b, causal;
};
static const struct op_row op_rows[] = {
#define WT_KINETO_OP(name_, kind_, a_, b_, causal_)                                                \
	{name_, sizeof(name_) - 1, KIND_##kind_, a_, b_, causal_},
#include "import/kineto_ops.def"
#undef WT_KINETO_OP
};

static const struct op_row *row_of(const struct wt_json_text *name)
{
	for (size_t i = 0; i < sizeof(op_rows) / sizeof(op_rows[0]); i++)
		if (op_rows[i].n == name->n && !memcmp(op_rows[i].name, name->s, name->n))
			return &op_rows[i];
	return NULL;
}

/* Most names are told from the table's by their length, or by that and their last two letters. */
int wt_kineto_is_shaped(const struct wt_json_text *name)
{
#define WT_KINETO_OP(name_, kind_, a_, b_, causal_) | UINT64_C(1) << (sizeof(name_) - 1)
	const uint64_t lengths = 0
#include "import/kineto_ops.def"
		;
#undef WT_KINETO_OP
#define BIT(n_, last_, before_) UINT64_C(1) << (((n_)*7 + (last_)*3 + (before_)) & 63)
#define WT_KINETO_OP(name_, kind_, a_, b_, causal_)                                                \
	| BIT(sizeof(name_) - 1, (unsigned)(name_)[sizeof(name_) - 2],                             \
	      (unsigned)(name_)[sizeof(name_) - 3])
	const uint64_t ends = 0
#include "import/kineto_ops.def"
		;
#undef WT_KINETO_OP
	const unsigned char *end = (const unsigned char *)name->s + name->n;

	return name->n - 2 < 62 && lengths >> name->n & 1 &&
	       ends & BIT((unsigned)name->n, end[-1], end[-2]) && row_of(name) != NULL;
#undef BIT
}

static uint64_t elements(const struct wt_kineto_tensor *t)
{
	uint64_t n = 1;

	for (int i = 0; i < t->ndims; i++)
		if (__builtin_mul_overflow(n, t->dims[i], &n))
			return 0;
	return t->ndims ? n : 0;
}

static int matrix(const struct wt_kineto_tensor *a, const struct wt_kineto_tensor *b, int batched,
		  struct wt_work *ret)
{
	if (a->ndims != 2 + batched || b->ndims != 2 + batched ||
	    (batched && a->dims[0] != b->dims[0]))
		return 0;
	ret->kind = WT_WORK_GEMM;
	ret->batch = batched ? a->dims[0] : 1;
	ret->m = a->dims[batched];
	ret->k = a->dims[batched + 1];
	ret->n = b->dims[batched + 1];
	return b->dims[batched] == ret->k;
}

/* [batch, tokens, heads, size] of queries, keys, values. Where nothing says whether it is causal: no work. */
static int attention(const struct wt_kineto_event *ev, const struct op_row *row,
		     struct wt_work *ret)
{
	const struct wt_kineto_tensor *q = &ev->in[row->a], *k = &ev->in[row->b], *v = k + 1;

	if (!(ev->flags & WT_KINETO_HAS_CONCRETE) || q->ndims != 4 || k->ndims != 4 ||
	    v->ndims != 4 || !k->dims[2] || q->dims[2] % k->dims[2])
		return 0;
	ret->kind = row->kind == KIND_ATTENTION ? WT_WORK_ATTENTION : WT_WORK_ATTENTION_BACKWARD;
	ret->batch = q->dims[0] * q->dims[2];
	ret->group = (uint32_t)(q->dims[2] / k->dims[2]);
	ret->m = q->dims[1];
	ret->n = k->dims[1];
	ret->k = q->dims[3];
	ret->kv = (uint32_t)v->dims[3];
	if (ev->yes >> row->causal & 1)
		ret->flags |= WT_WORK_CAUSAL;
	return 1;
}

static int work_of(const struct wt_kineto_event *ev, const struct op_row *row, struct wt_work *ret)
{
	const struct wt_kineto_tensor *a = &ev->in[row->a], *b = &ev->in[row->b];

	*ret = (struct wt_work){.source = WT_WORK_BY_SHAPES};
	/* No product of sizes below can overflow. */
	if (elements(a) > MOST_ELEMENTS || elements(b) > MOST_ELEMENTS || !elements(a) ||
	    !elements(b))
		return 0;
	ret->a = a->dtype;
	ret->b = b->dtype;
	ret->out = a->dtype;
	/* How fp32 is multiplied is a setting, which the kernel's name tells; fp8 and int8 give other types. */
	ret->math = a->dtype == WT_DTYPE_FP32 ? WT_DTYPE_UNKNOWN : a->dtype;
	if (a->dtype == WT_DTYPE_FP8 || a->dtype == WT_DTYPE_INT8)
		ret->out = WT_DTYPE_UNKNOWN;
	switch (row->kind) {
	case KIND_MATRIX:
		return matrix(a, b, 0, ret);
	case KIND_BATCH:
		return matrix(a, b, 1, ret);
	case KIND_STREAM:
		ret->kind = WT_WORK_STREAM;
		ret->m = elements(a);
		ret->n = elements(b);
		ret->k = NORM_FLOPS;
		ret->math = WT_DTYPE_UNKNOWN;
		return 1;
	default:
		return attention(ev, row, ret);
	}
}

int wt_kineto_work_add(struct wt_kineto_works *w, struct wt_builder *b,
		       const struct wt_kineto_event *ev)
{
	const struct op_row *row = row_of(&ev->name);
	struct wt_work work;
	uint32_t *slot;
	int isnew;

	if (!row || !ev->external || !work_of(ev, row, &work))
		return 0;
	if (w->n == w->room) {
		size_t room = w->room ? w->room * 2 : 256;
		struct wt_kineto_owner *rows = realloc(w->rows, room * sizeof(*rows));

		if (!rows)
			return -WT_E_NOMEM;
		w->rows = rows;
		w->room = room;
	}
	slot = wt_map_slot(&w->by_id, ev->external, (uint32_t)w->n, &isnew);
	if (!slot)
		return -WT_E_NOMEM;
	if (isnew)
		w->rows[w->n++] = (struct wt_kineto_owner){.work = wt_builder_work(b, &work)};
	return 0;
}

/* Of two kernels of one operator the longer has its work, of equal ones the first. */
static void claim(struct wt_kineto_owner *o, struct wt_builder *b, uint32_t op)
{
	if (!o->op || wt_builder_op_ns(b, o->op - 1) < wt_builder_op_ns(b, op - 1))
		o->op = op;
}

int wt_kineto_work_kernel(struct wt_kineto_works *w, struct wt_builder *b, uint64_t external)
{
	uint32_t i, op = (uint32_t)wt_builder_ops(b);

	if (!external)
		return 0;
	if (w->n && wt_map_get(&w->by_id, external, &i)) {
		claim(&w->rows[i], b, op);
		return 0;
	}
	if (external > UINT32_MAX)
		return 0;
	if (w->nearly == w->early_room) {
		size_t room = w->early_room ? w->early_room * 2 : 1024;
		struct wt_kineto_early *early = realloc(w->early, room * sizeof(*early));

		if (!early)
			return -WT_E_NOMEM;
		w->early = early;
		w->early_room = room;
	}
	w->early[w->nearly++] = (struct wt_kineto_early){(uint32_t)external, op};
	return 0;
}

void wt_kineto_work_finish(struct wt_kineto_works *w, struct wt_builder *b)
{
	uint32_t owner;

	for (size_t i = 0; w->n && i < w->nearly; i++)
		if (wt_map_get(&w->by_id, w->early[i].external, &owner))
			claim(&w->rows[owner], b, w->early[i].op);
	for (size_t i = 0; i < w->n; i++)
		if (w->rows[i].op)
			wt_builder_op_work(b, w->rows[i].op - 1, w->rows[i].work);
	wt_map_release(&w->by_id);
	free(w->rows);
	free(w->early);
	*w = (struct wt_kineto_works){.n = 0};
}
