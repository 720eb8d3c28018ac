/* SPDX-License-Identifier: Apache-2.0 */
/* See dnn_graph.h. */
#include "collectors/dnn_graph.h"

#include <string.h>

enum rule {
	RULE_NONE,
	RULE_CONVOLUTION,
	RULE_MATMUL,
	RULE_ATTENTION,
	RULE_ATTENTION_BACKWARD,
	RULE_PAGED
};

static const struct op_row {
	uint8_t type, kind, rule;
	uint16_t a, b, c;
} rows[] = {
#define WT_DNN_OP(type_, kind_, rule_, a_, b_, c_)                                                 \
	{WT_DNN_OP_##type_, WT_DNN_##kind_, RULE_##rule_, a_, b_, c_},
#include "collectors/dnn_ops.def"
#undef WT_DNN_OP
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static const uint16_t outs[] = {
#define WT_DNN_OUT(name_) name_,
#include "collectors/dnn_ops.def"
#undef WT_DNN_OUT
};

/*
 * By cudnnDataType_t: cudaDataType_t (255 = none), and how many bits an element has. In order: float, double, half,
 * int8, int32, int8x4, uint8, uint8x4, int8x32, bfloat16, int64, boolean, e4m3, e5m2, a fast float, e8m0, e2m1, int4,
 * uint4, uint32, complex, double complex.
 */
static const struct {
	uint8_t cuda, bits;
} types[] = {
	{0, 32},  {1, 64},  {2, 16},  {3, 8},	{10, 32}, {3, 32},  {8, 8},  {8, 32},
	{3, 255}, {14, 16}, {24, 64}, {255, 8}, {28, 8},  {29, 8},  {0, 32}, {30, 8},
	{33, 4},  {16, 4},  {18, 4},  {12, 32}, {4, 64},  {5, 128},
};
#define TYPES (sizeof(types) / sizeof(types[0]))

uint32_t wt_dnn_type(unsigned type)
{
	return type < TYPES ? types[type].cuda : 255;
}

static uint64_t bits_of(uint8_t cuda)
{
	for (size_t i = 0; i < TYPES; i++)
		if (types[i].cuda == cuda)
			return types[i].bits;
	return 0;
}

static const struct op_row *row_of(unsigned type)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

/* Asked of every descriptor that is made. */
int wt_dnn_is_op(unsigned type)
{
#define WT_DNN_OP(type_, kind_, rule_, a_, b_, c_) | UINT64_C(1) << WT_DNN_OP_##type_
	static const uint64_t types_of_ops = 0
#include "collectors/dnn_ops.def"
		;
#undef WT_DNN_OP

	return type < 64 && types_of_ops >> type & 1;
}

static int is_out(unsigned name)
{
	for (size_t i = 0; i < sizeof(outs) / sizeof(outs[0]); i++)
		if (outs[i] == name)
			return 1;
	return 0;
}

uint64_t wt_dnn_elements(const struct wt_dnn_tensor *t)
{
	uint64_t n = t->n ? 1 : 0;

	for (int i = 0; i < t->n; i++)
		if (t->dim[i] < 0 || __builtin_mul_overflow(n, (uint64_t)t->dim[i], &n))
			return 0;
	return n;
}

/* Of memory: a dimension that is repeated counts once. */
uint64_t wt_dnn_bytes(const struct wt_dnn_tensor *t)
{
	uint64_t n = wt_dnn_elements(t);

	for (int i = 0; i < t->n && n; i++)
		if (t->broadcast >> i & 1 && t->dim[i] > 0)
			n /= (uint64_t)t->dim[i];
	return n >> 48 ? 0 : n * bits_of(t->type) / 8;
}

static uint32_t dim_of(const struct wt_dnn_tensor *t, int i)
{
	return i >= 0 && i < t->n && t->dim[i] >= 0 && t->dim[i] <= UINT32_MAX ? (uint32_t)t->dim[i]
									       : 0;
}

void wt_dnn_op_add(struct wt_dnn_op *op, unsigned name, const struct wt_dnn_tensor *t)
{
	struct wt_dnn_ref *r = NULL;

	for (uint16_t i = 0; i < op->n && !r; i++) /* set once more: only lists have several */
		if (op->ref[i].name == name && op->ref[i].uid == t->uid)
			r = &op->ref[i];
	if (!r && op->n == WT_DNN_REFS) {
		op->cut = 1;
		return;
	}
	r = r ? r : &op->ref[op->n++];
	*r = (struct wt_dnn_ref){
		.uid = t->uid,
		.bytes = wt_dnn_bytes(t),
		.elements = wt_dnn_elements(t),
		.first = dim_of(t, 0),
		.second = dim_of(t, 1),
		.row = dim_of(t, t->n - 2),
		.column = dim_of(t, t->n - 1),
		.name = (uint16_t)name,
		.type = t->type,
		.in_memory = !t->is_virtual && !t->by_value,
		.by_value = t->by_value,
	};
	op->at_most |= t->ragged;
}

void wt_dnn_op_masked(struct wt_dnn_op *op, const struct wt_dnn_work *graph)
{
	op->masks = graph->masks;
	op->shifted = graph->shifted;
	op->at_most |= !graph->known || graph->flags & WT_GEMM_AT_MOST;
}

static const struct wt_dnn_ref *ref_of(const struct wt_dnn_op *op, unsigned name)
{
	for (uint16_t i = 0; name && i < op->n; i++)
		if (op->ref[i].name == name)
			return &op->ref[i];
	return NULL;
}

void wt_dnn_sum_begin(struct wt_dnn_sum *s)
{
	memset(s, 0, sizeof(*s));
	s->rank = ROWS;
}

/* ---- bytes ---- */

static void count_tensor(struct wt_dnn_sum *s, const struct wt_dnn_ref *r, uint64_t bytes)
{
	int i = 0, written = is_out(r->name);

	if (!r->in_memory)
		return;
	while (i < s->nseen && s->seen[i].uid != r->uid)
		i++;
	if (i == WT_DNN_SUM_SEEN)
		return; /* at least */
	if (i == s->nseen) {
		s->nseen++;
		s->seen[i].uid = r->uid;
		s->seen[i].bytes = bytes;
	}
	s->seen[i].written |= written;
}

/* ---- masks ---- */

static int index_of(const struct wt_dnn_sum *s, const struct wt_dnn_ref *r)
{
	for (int i = 0; r && i < s->nindex; i++)
		if (s->index[i].uid == r->uid)
			return i;
	return -1;
}

/* An operation of its own: lengths of sequences, a bound to the left, a shift of the one to the right. */
static void look_at_mask(struct wt_dnn_sum *s, const struct wt_dnn_op *op)
{
	s->masks += ref_of(op, 3003) ? 2 : 1;
	s->shifted |= ref_of(op, 3004) != NULL;
	if (ref_of(op, 3001) || ref_of(op, 3002))
		s->work.flags |= WT_GEMM_AT_MOST;
}

/* Numbers of rows and columns, compared with each other (causal), or with lengths that the device has (padding). */
static void look_for_mask(struct wt_dnn_sum *s, const struct wt_dnn_op *op)
{
	const struct wt_dnn_ref *x = ref_of(op, 751), *b = ref_of(op, 752), *y = ref_of(op, 753);
	int ix = index_of(s, x), ib = index_of(s, b);

	if (op->mode >= WT_DNN_CMP_GT && op->mode <= WT_DNN_CMP_LE) {
		if (ix >= 0 && ib >= 0) {
			s->masks++;
			s->shifted |= s->index[ix].shifted | s->index[ib].shifted;
		} else if ((ix >= 0 && b && b->in_memory) || (ib >= 0 && x && x->in_memory)) {
			s->work.flags |= WT_GEMM_AT_MOST;
		} else if (ix >= 0 || ib >= 0) {
			s->masks++; /* with a number: a window */
		}
		return;
	}
	if (!y || s->nindex == WT_DNN_SUM_INDEX)
		return;
	if (op->mode == WT_DNN_GEN_INDEX) {
		s->index[s->nindex].uid = y->uid;
		s->index[s->nindex++].shifted = 0;
	} else if ((op->mode == WT_DNN_ADD || op->mode == WT_DNN_SUB) && (ix >= 0 || ib >= 0)) {
		/* Shifted by lengths that the device has: neither is known. */
		if ((ix >= 0 && b && b->in_memory) || (ib >= 0 && x && x->in_memory))
			s->work.flags |= WT_GEMM_AT_MOST;
		s->index[s->nindex].uid = y->uid;
		s->index[s->nindex++].shifted = 1;
	}
}

/* ---- multiply-adds ---- */

static void add_product(struct wt_dnn_sum *s, uint64_t macs, const struct wt_dnn_ref *a,
			const struct wt_dnn_ref *b, const struct wt_dnn_ref *c)
{
	s->products++;
	if (__builtin_add_overflow(s->work.macs, macs, &s->work.macs))
		s->unknown = 1;
	if (s->products > 1 && macs <= s->largest)
		return;
	s->largest = macs;
	s->work.type_a = a->type;
	s->work.type_b = b ? b->type : a->type;
	s->work.type_c = c->type;
}

static uint64_t times(struct wt_dnn_sum *s, uint64_t a, uint64_t b)
{
	uint64_t r;

	if (__builtin_mul_overflow(a, b, &r)) {
		s->unknown = 1;
		return 0;
	}
	return r;
}

static void attend(struct wt_dnn_sum *s, int backward, const struct wt_dnn_ref *q,
		   const struct wt_dnn_ref *k, const struct wt_dnn_ref *v)
{
	uint64_t scores = times(s, times(s, q->first, q->second), times(s, q->row, k->row));
	uint64_t depth =
		backward ? 3ull * q->column + 2ull * v->column : (uint64_t)q->column + v->column;

	s->q = q->row;
	s->s = k->row;
	add_product(s, times(s, scores, depth), q, k, v);
}

/* w is [outputs, inputs of a group, window]; of w, x and y one is the result. */
static void convolve(struct wt_dnn_sum *s, unsigned kind, const struct wt_dnn_ref *w,
		     const struct wt_dnn_ref *x, const struct wt_dnn_ref *y)
{
	uint64_t macs = w->first ? times(s, y->elements, w->elements / w->first) : 0;

	if (kind == WT_DNN_CONVOLUTION_FORWARD)
		add_product(s, macs, x, w, y);
	else if (kind == WT_DNN_CONVOLUTION_DATA)
		add_product(s, macs, y, w, x);
	else
		add_product(s, macs, x, y, w);
}

static void multiply(struct wt_dnn_sum *s, const struct op_row *row, const struct wt_dnn_op *op)
{
	const struct wt_dnn_ref *a = ref_of(op, row->a), *b = ref_of(op, row->b),
				*c = ref_of(op, row->c);

	if (row->rule == RULE_NONE || row->rule == RULE_PAGED) {
		if (!s->products && s->rank == ROWS && a && c) {
			s->work.type_a = s->work.type_b = a->type;
			s->work.type_c = c->type;
		}
		return;
	}
	if (!a || !b || !c) {
		s->unknown = 1;
		return;
	}
	if (row->rule == RULE_CONVOLUTION) {
		convolve(s, row->kind, a, b, c);
	} else if (row->rule == RULE_MATMUL) {
		if (!s->products) {
			s->q = c->row;
			s->s = c->column;
		}
		add_product(s, times(s, c->elements, a->column), a, b, c);
	} else {
		attend(s, row->rule == RULE_ATTENTION_BACKWARD, a, b, c);
	}
}

void wt_dnn_sum_add(struct wt_dnn_sum *s, const struct wt_dnn_op *op)
{
	const struct op_row *row = row_of(op->type);
	const struct wt_dnn_ref *out;

	if (!row) {
		s->unknown = 1;
		return;
	}
	out = ref_of(op, row->c);
	if (op->at_most)
		s->work.flags |= WT_GEMM_AT_MOST;
	for (uint16_t i = 0; i < op->n; i++) {
		uint64_t bytes = op->ref[i].bytes;

		/* Of a pool of pages as much is read as comes out. */
		if (row->rule == RULE_PAGED && op->ref[i].name == row->a && out &&
		    out->bytes < bytes)
			bytes = out->bytes;
		count_tensor(s, &op->ref[i], bytes);
	}
	multiply(s, row, op);
	s->masks += op->masks;
	s->shifted |= op->shifted;
	if (op->type == WT_DNN_OP_POINTWISE)
		look_for_mask(s, op);
	if (op->type == WT_DNN_OP_MASK)
		look_at_mask(s, op);
	if (row - rows < s->rank) {
		s->rank = (int)(row - rows);
		s->work.kind = row->kind;
	}
}

/* The last of q queries sees all s keys, or, where columns are not shifted, q of them. */
static void leave_out(struct wt_dnn_sum *s)
{
	double seen = 1;

	if (s->masks > 1 || s->q > s->s || !s->s) {
		s->work.flags |= WT_GEMM_AT_MOST;
		return;
	}
	seen = (double)s->q / (2 * (double)s->s);
	if (s->shifted)
		seen = 1 - seen;
	s->work.macs = (uint64_t)((double)s->work.macs * seen + 0.5);
	s->work.flags |= WT_GEMM_CAUSAL;
}

void wt_dnn_sum_end(struct wt_dnn_sum *s, struct wt_dnn_work *ret)
{
	for (int i = 0; i < s->nseen; i++)
		if (s->seen[i].written)
			s->work.written += s->seen[i].bytes;
		else
			s->work.read += s->seen[i].bytes;
	if (s->work.kind == WT_DNN_MATMUL && s->products > 1)
		s->work.kind = s->products > 2 ? WT_DNN_ATTENTION_BACKWARD : WT_DNN_ATTENTION;
	if (s->masks &&
	    (s->work.kind == WT_DNN_ATTENTION || s->work.kind == WT_DNN_ATTENTION_BACKWARD))
		leave_out(s);
	s->work.known = !s->unknown && s->rank < (int)ROWS;
	s->work.masks = (uint8_t)(s->masks < 255 ? s->masks : 255);
	s->work.shifted = (uint8_t)(s->shifted != 0);
	*ret = s->work;
}

void wt_dnn_convolution(unsigned kind, const struct wt_dnn_tensor *w, const struct wt_dnn_tensor *x,
			const struct wt_dnn_tensor *y, struct wt_dnn_work *ret)
{
	uint64_t outputs = wt_dnn_elements(y),
		 bytes[3] = {wt_dnn_bytes(w), wt_dnn_bytes(x), wt_dnn_bytes(y)};
	/* Which of w, x and y is the result. */
	int out = kind == WT_DNN_CONVOLUTION_WEIGHTS ? 0 : kind == WT_DNN_CONVOLUTION_DATA ? 1 : 2;
	const struct wt_dnn_tensor *all[3] = {w, x, y};

	if (w->dim[0] <= 0 ||
	    __builtin_mul_overflow(outputs, wt_dnn_elements(w) / (uint64_t)w->dim[0], &ret->macs))
		return;
	ret->kind = (uint8_t)kind;
	ret->type_a = all[out == 1 ? 2 : 1]->type;
	ret->type_b = all[out == 0 ? 2 : 0]->type;
	ret->type_c = all[out]->type;
	ret->written = bytes[out];
	ret->read = bytes[0] + bytes[1] + bytes[2] - bytes[out];
}
