/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sweep.h. Two passes, since the cap of launch latency is a median over all gaps: nothing but the slices is kept,
 * which are most of the memory an analysis needs. In a pass two sorted lists (starts, ends) are merged; at one instant
 * ends come before starts, and operations of no length own no time. Several kernels at once: the one with the largest
 * share of the device owns the instant, then the earlier, then by stream and correlation. Owners come from one heap per
 * state whose dead entries are dropped when they reach the top, so a hundred thousand overlapping records cost n log n.
 */
#include "ledger/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort_rows.h"
#include "bounds/bound.h"
#include "ledger/gaps.h"

#define NO_OP	   UINT32_MAX
#define WHOLE_PPM  1000000u
#define SM_THREADS 2048u
#define SM_REGS	   65536u
#define SM_BLOCKS  32u

struct entry {
	uint32_t op, share;
};
struct heap {
	struct entry *ops;
	size_t n, room;
};
struct sweep {
	const struct wt_timeline *tl;
	struct wt_families *families;
	struct wt_bounds *bounds;
	struct wt_gaps *gaps;
	size_t first, last;
	uint8_t *state_of; /* log2 of WT_STATE_* per operation, from `first` */
	uint32_t *ends;	   /* operations by end */
	size_t nends;
	struct wt_gap
		*holes; /* of this device, in order, joined where they touch and are of a kind */
	uint8_t *kind;	/* enum piece, per hole */
	size_t nholes;
	uint32_t resident[WT_STATES];
	struct heap heaps[WT_STATES];
	size_t hole;	 /* the first that can still matter */
	int64_t *delays; /* NULL in the second pass */
	size_t ndelays, delays_room;
	int64_t cap_ns; /* of launch latency, known after the first pass */
	struct wt_slices *out;
};

enum wt_state wt_op_state(const struct wt_timeline *tl, struct wt_families *f,
			  const struct wt_op *op, const struct wt_family_row **ret_family)
{
	*ret_family = NULL;
	if (op->kind == WT_OP_COPY || op->kind == WT_OP_MEMSET)
		return WT_STATE_COPY;
	if (op->kind == WT_OP_KERNEL) {
		uint32_t name = wt_timeline_work_name(tl, op);

		*ret_family = wt_family_of(f, name, wt_timeline_string(tl, name));
		return wt_family_state_of(f, name, wt_timeline_string(tl, name));
	}
	return WT_STATE_COMPUTE;
}

/* Which part of the device a kernel can fill, in ppm; all of it if its shape is not known. */
static uint32_t share_ppm(const struct wt_timeline *tl, const struct wt_op *op)
{
	const struct wt_shape *s = &tl->shapes[op->shape];
	uint32_t sms = tl->devices[op->device].sm_count;
	uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
	uint64_t blocks = (uint64_t)s->grid[0] * s->grid[1] * s->grid[2], regs;
	uint32_t fit;

	/* Most kernels fill any device. */
	if (!sms || !threads || !blocks || threads > SM_THREADS ||
	    blocks >= (uint64_t)sms * SM_BLOCKS)
		return WHOLE_PPM;
	fit = SM_THREADS / (uint32_t)threads;
	regs = s->regs * threads;
	if (regs > SM_REGS)
		fit = 1;
	else if (regs && SM_REGS / (uint32_t)regs < fit)
		fit = SM_REGS / (uint32_t)regs;
	fit = fit > SM_BLOCKS ? SM_BLOCKS : fit ? fit : 1;
	if (blocks >= (uint64_t)sms * fit)
		return WHOLE_PPM;
	return (uint32_t)(blocks * WHOLE_PPM / ((uint64_t)sms * fit));
}

/* Whether a comes before b as owner of an instant. */
static int owns_before(const struct wt_timeline *tl, struct entry a, struct entry b)
{
	const struct wt_op *x = &tl->ops[a.op], *y = &tl->ops[b.op];
	int64_t s, t;

	if (a.share != b.share)
		return a.share > b.share;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns;
	s = tl->streams[x->stream].id;
	t = tl->streams[y->stream].id;
	if (s != t)
		return s < t;
	return x->correlation != y->correlation ? x->correlation < y->correlation : a.op < b.op;
}

static int heap_push(const struct wt_timeline *tl, struct heap *h, uint32_t op)
{
	struct entry new = {op, share_ppm(tl, &tl->ops[op])};
	size_t i;

	if (h->n == h->room) {
		size_t room = h->room ? h->room * 2 : 16;
		struct entry *ops = realloc(h->ops, room * sizeof(*ops));

		if (!ops)
			return -WT_E_NOMEM;
		h->ops = ops;
		h->room = room;
	}
	for (i = h->n++; i && owns_before(tl, new, h->ops[(i - 1) / 2]); i = (i - 1) / 2)
		h->ops[i] = h->ops[(i - 1) / 2];
	h->ops[i] = new;
	return 0;
}

static void heap_pop(const struct wt_timeline *tl, struct heap *h)
{
	struct entry last = h->ops[--h->n];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < h->n) {
		if (child + 1 < h->n && owns_before(tl, h->ops[child + 1], h->ops[child]))
			child++;
		if (!owns_before(tl, h->ops[child], last))
			break;
		h->ops[i] = h->ops[child];
		i = child;
	}
	h->ops[i] = last;
}

/* The owner among those still resident at now. */
static uint32_t owner_at(const struct wt_timeline *tl, struct heap *h, int64_t now_ns)
{
	while (h->n && tl->ops[h->ops[0].op].end_ns <= now_ns)
		heap_pop(tl, h);
	return h->n ? h->ops[0].op : NO_OP;
}

static void compute_leaf(const struct sweep *w, const struct wt_op *op, struct wt_slice *ret)
{
	static const uint8_t leaf_of[WT_LIMITS] = {
		[WT_LIMIT_TENSOR] = WT_A1, [WT_LIMIT_ALU] = WT_A2,     [WT_LIMIT_DRAM] = WT_A3,
		[WT_LIMIT_CACHE] = WT_A4,  [WT_LIMIT_LATENCY] = WT_A5, [WT_LIMIT_UNKNOWN] = WT_A6,
	};
	struct wt_verdict v;

	wt_bounds_of(w->bounds, op, &v);
	ret->grade = (uint8_t)v.grade;
	ret->leaf = leaf_of[v.limit];
}

/* Leaf and grade of a busy instant by its owner; s is log2 of the owner's state. */
static void busy_leaf(const struct sweep *w, int s, struct wt_slice *ret)
{
	const struct wt_op *op = &w->tl->ops[ret->op];

	switch (1u << s) {
	case WT_STATE_COMPUTE:
		compute_leaf(w, op, ret);
		break;
	case WT_STATE_COMM: /* by its name, or by a record of the collective */
		ret->leaf = WT_B5;
		ret->grade = op->collective >= 0 ? 3 : 2;
		break;
	case WT_STATE_COPY:
		ret->leaf = wt_gaps_copy_leaf(w->gaps, op, &ret->grade);
		break;
	default:
		ret->leaf = WT_B6;
		ret->grade = 2;
	}
}

static int add_delay(struct sweep *w, int64_t delay_ns)
{
	if (delay_ns <= 0)
		return 0;
	if (w->ndelays == w->delays_room) {
		size_t room = w->delays_room * 2;
		int64_t *delays = realloc(w->delays, room * sizeof(*delays));

		if (!delays)
			return -WT_E_NOMEM;
		w->delays = delays;
		w->delays_room = room;
	}
	w->delays[w->ndelays++] = delay_ns;
	return 0;
}

/* Time in which nothing is recorded: inside the records, known to be lost, or outside of all records. */
enum piece {
	PIECE_GAP,
	PIECE_HOLE,
	PIECE_PAUSED,
	PIECE_CHOSEN,
	PIECE_IN_FLIGHT,
	PIECE_EDGE,
	PIECES
};
static const struct {
	uint8_t leaf, grade, why;
} pieces[PIECES] = {
	[PIECE_HOLE] = {WT_E1, 3, WT_WHY_NONE},
	[PIECE_PAUSED] = {WT_E1, 3, WT_WHY_PAUSED},
	[PIECE_CHOSEN] = {WT_E1, 3, WT_WHY_CHOSEN},
	[PIECE_IN_FLIGHT] = {WT_E2, 2, WT_WHY_IN_FLIGHT},
	[PIECE_EDGE] = {WT_E5, 3, WT_WHY_NONE},
};

static int piece(struct sweep *w, int64_t start_ns, int64_t end_ns, uint32_t op, enum piece kind)
{
	struct wt_gap gap = {.start_ns = start_ns, .end_ns = end_ns, .op = op};
	struct wt_slice slice = {.start_ns = start_ns,
				 .end_ns = end_ns,
				 .op = NO_OP,
				 .call = -1,
				 .leaf = pieces[kind].leaf,
				 .grade = pieces[kind].grade,
				 .why = pieces[kind].why};

	if (start_ns >= end_ns)
		return 0;
	if (w->delays)
		return kind == PIECE_GAP && op != NO_OP
			       ? add_delay(w, wt_gaps_launch_delay_ns(w->gaps, &gap))
			       : 0;
	if (kind == PIECE_GAP)
		return wt_gap_cut(w->gaps, &gap, w->cap_ns, w->out);
	return wt_slices_add(w->out, &slice);
}

/* Cuts a stretch by the holes; what is left keeps the operation that ended it, or NO_OP before a hole. */
static int stretch(struct sweep *w, const struct wt_gap *whole, enum piece kind)
{
	int64_t at_ns = whole->start_ns;
	size_t i = w->hole;
	int err = 0;

	for (; !err && i < w->nholes && w->holes[i].start_ns < whole->end_ns; i++) {
		int64_t from_ns = w->holes[i].start_ns, to_ns = w->holes[i].end_ns;

		from_ns = from_ns < at_ns ? at_ns : from_ns;
		to_ns = to_ns > whole->end_ns ? whole->end_ns : to_ns;
		if (from_ns >= to_ns)
			continue;
		err = piece(w, at_ns, from_ns, NO_OP, kind);
		err = err ? err : piece(w, from_ns, to_ns, NO_OP, (enum piece)w->kind[i]);
		at_ns = to_ns;
	}
	/* A hole that reaches into the next stretch is looked at again. */
	while (w->hole < i && w->holes[w->hole].end_ns <= whole->end_ns)
		w->hole++;
	return err ? err : piece(w, at_ns, whole->end_ns, whole->op, kind);
}

/* [start, end) had the mask of what is resident; `next` is the first operation that starts at end. */
static int interval(struct sweep *w, int64_t start_ns, int64_t end_ns, uint32_t next)
{
	struct wt_slice slice = {.start_ns = start_ns, .end_ns = end_ns, .op = NO_OP, .call = -1};

	for (int s = WT_STATES - 1; s >= 0; s--) {
		if (!w->resident[s])
			continue;
		slice.mask |= 1u << s;
		if (!w->delays)
			slice.op = owner_at(w->tl, &w->heaps[s], start_ns);
	}
	if (!slice.mask)
		return stretch(w, &(struct wt_gap){start_ns, end_ns, next}, PIECE_GAP);
	if (w->delays)
		return 0;
	slice.crowded = w->resident[0] > 1;
	for (int s = 0; s < WT_STATES; s++) {
		if (w->resident[s]) {
			busy_leaf(w, s, &slice);
			break;
		}
	}
	return wt_slices_add(w->out, &slice);
}

static int timed(const struct wt_op *op)
{
	return !(op->flags & WT_OP_UNTIMED);
}

/* Merges starts and ends. ops are sorted by start, w->ends by end. */
static int merge(struct sweep *w)
{
	const struct wt_op *ops = w->tl->ops;
	size_t i = w->first, j = 0;
	int64_t now_ns, at_ns;
	int err = 0;

	while (i < w->last && !timed(&ops[i]))
		i++;
	now_ns = i < w->last ? ops[i].start_ns : 0;
	while (!err) {
		while (i < w->last && !timed(&ops[i]))
			i++;
		if (i == w->last && j == w->nends)
			break;
		at_ns = j < w->nends && (i == w->last || ops[w->ends[j]].end_ns <= ops[i].start_ns)
				? ops[w->ends[j]].end_ns
				: ops[i].start_ns;
		if (at_ns > now_ns)
			err = interval(w, now_ns, at_ns,
				       i < w->last && ops[i].start_ns == at_ns ? (uint32_t)i
									       : NO_OP);
		now_ns = at_ns;
		for (; j < w->nends && ops[w->ends[j]].end_ns == at_ns; j++)
			w->resident[w->state_of[w->ends[j] - w->first]]--;
		for (; !err && i < w->last && (ops[i].start_ns == at_ns || !timed(&ops[i])); i++) {
			uint8_t s = w->state_of[i - w->first];

			if (!timed(&ops[i]) || ops[i].start_ns == ops[i].end_ns)
				continue;
			w->resident[s]++;
			if (!w->delays)
				err = heap_push(w->tl, &w->heaps[s], (uint32_t)i);
		}
	}
	return err;
}

/* The range of the records, and of the holes that reach beyond it. */
static void extent(const struct sweep *w, struct wt_gap *ret_before, struct wt_gap *ret_after)
{
	int64_t r0 = INT64_MAX, r1 = INT64_MIN, h0, h1;

	for (size_t i = w->first; i < w->last; i++) {
		const struct wt_op *op = &w->tl->ops[i];

		if (!timed(op))
			continue;
		r0 = op->start_ns < r0 ? op->start_ns : r0;
		r1 = op->end_ns > r1 ? op->end_ns : r1;
	}
	h0 = r0;
	h1 = r1;
	for (size_t i = 0; i < w->nholes; i++) {
		h0 = w->holes[i].start_ns < h0 ? w->holes[i].start_ns : h0;
		h1 = w->holes[i].end_ns > h1 ? w->holes[i].end_ns : h1;
	}
	if (r0 > r1) /* holes and no record: one stretch */
		r0 = h1;
	*ret_before = (struct wt_gap){.start_ns = h0, .end_ns = r0, .op = NO_OP};
	*ret_after = (struct wt_gap){.start_ns = r1 < r0 ? r0 : r1, .end_ns = h1, .op = NO_OP};
}

/* All of the device's time once: in the first pass for the launches' delays alone, in the second for its slices. */
static int pass(struct sweep *w)
{
	struct wt_gap before, after;
	int err;

	w->hole = 0;
	extent(w, &before, &after);
	err = stretch(w, &before, PIECE_EDGE);
	err = err ? err : merge(w);
	return err ? err : stretch(w, &after, PIECE_EDGE);
}

static int find_cap(struct sweep *w)
{
	int err;

	w->delays_room = 64;
	w->delays = malloc(w->delays_room * sizeof(*w->delays));
	if (!w->delays)
		return -WT_E_NOMEM;
	err = pass(w);
	w->cap_ns = wt_gaps_launch_cap_ns(w->delays, w->ndelays);
	free(w->delays);
	w->delays = NULL;
	return err;
}

static int cmp_end(const void *pa, const void *pb, void *arg)
{
	const struct wt_op *ops = arg;
	int64_t x = ops[*(const uint32_t *)pa].end_ns, y = ops[*(const uint32_t *)pb].end_ns;

	return (x > y) - (x < y);
}

static uint8_t kind_of(const struct wt_hole *h)
{
	return h->in_flight	? PIECE_IN_FLIGHT
	       : h->paused == 2 ? PIECE_CHOSEN
	       : h->paused	? PIECE_PAUSED
				: PIECE_HOLE;
}

/* Holes of all streams are one: nobody knows what ran on the others meanwhile. */
static int join_holes(struct sweep *w, const struct wt_hole *holes, size_t n)
{
	w->holes = malloc((n + 1) * sizeof(*w->holes));
	w->kind = malloc(n + 1);
	if (!w->holes || !w->kind)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		struct wt_gap *last = w->nholes ? &w->holes[w->nholes - 1] : NULL;

		if (holes[i].start_ns >= holes[i].end_ns)
			continue;
		if (last && holes[i].start_ns <= last->end_ns) {
			if (holes[i].end_ns <= last->end_ns)
				continue;
			if (w->kind[w->nholes - 1] == kind_of(&holes[i])) {
				last->end_ns = holes[i].end_ns;
				continue;
			}
		}
		w->kind[w->nholes] = kind_of(&holes[i]);
		w->holes[w->nholes++] = (struct wt_gap){
			.start_ns = last && holes[i].start_ns < last->end_ns ? last->end_ns
									     : holes[i].start_ns,
			.end_ns = holes[i].end_ns,
			.op = NO_OP};
	}
	return 0;
}

static int prepare(struct sweep *w)
{
	size_t n = w->last - w->first;
	int in_order = 1;

	w->state_of = malloc(n + 1);
	w->ends = malloc((n + 1) * sizeof(*w->ends));
	if (!w->state_of || !w->ends)
		return -WT_E_NOMEM;
	for (size_t i = w->first; i < w->last; i++) {
		const struct wt_op *op = &w->tl->ops[i];
		const struct wt_family_row *row;
		unsigned state = wt_op_state(w->tl, w->families, op, &row);
		uint8_t log2 = 0;

		while (state >> (log2 + 1))
			log2++;
		w->state_of[i - w->first] = log2;
		if (!timed(op) || op->start_ns == op->end_ns)
			continue;
		if (w->nends && w->tl->ops[w->ends[w->nends - 1]].end_ns > op->end_ns)
			in_order = 0;
		w->ends[w->nends++] = (uint32_t)i;
	}
	if (!in_order)
		wt_sort_rows(w->ends, w->nends, sizeof(*w->ends), cmp_end, (void *)w->tl->ops);
	return 0;
}

int wt_sweep(const struct wt_timeline *tl, struct wt_families *f, struct wt_bounds *bounds,
	     struct wt_gaps *gaps, size_t first, size_t last, const struct wt_hole *holes,
	     size_t nholes, struct wt_slices *ret, int64_t *ret_launch_cap_ns)
{
	struct sweep w = {.tl = tl,
			  .families = f,
			  .bounds = bounds,
			  .gaps = gaps,
			  .first = first,
			  .last = last,
			  .out = ret};
	int err = prepare(&w);

	err = err ? err : join_holes(&w, holes, nholes);
	err = err ? err : find_cap(&w);
	err = err ? err : pass(&w);
	*ret_launch_cap_ns = w.cap_ns;
	for (int s = 0; s < WT_STATES; s++)
		free(w.heaps[s].ops);
	free(w.state_of);
	free(w.ends);
	free(w.holes);
	free(w.kind);
	return err;
}
