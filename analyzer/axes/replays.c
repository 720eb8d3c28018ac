/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps of a job whose work is in executable graphs (a captured step), or in compiled programs whose runs are marked
 * (XLA): a step begins where the graph that carries most of the time is launched again, or a graph that is launched as
 * often and always before it; of programs likewise, whether their runs are graphs or single launches.
 * A graph is known by what its launch ran, not by its handle: new parameters for its nodes leave it the same.
 * What ran before the first launch (autotuning, tracing, the first steps in eager mode) is in no step.
 */
#include <stdlib.h>

#include "axes/axes_impl.h"
#include "base/map.h"

#define MIN_TIMES 3
/* Of the time of all operations between its first and last launch, in percent, for graphs launched as often as it. */
#define CARRIES_PCT 50

struct replay {
	size_t row; /* of its first operation */
	uint32_t graph;
	int64_t ns;
};
struct graph {
	uint32_t times;
	int64_t ns;
	size_t first, last; /* replays */
};
struct found {
	struct replay *replays;
	size_t n;
	struct graph *graphs;
	size_t ngraphs;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

/* Rows [from, ret) are the nodes of one launch; *ret_key is the same whatever their order. */
static size_t one_replay(const struct wt_axes *a, const struct wt_launches *l, size_t from,
			 uint64_t *ret_key, int64_t *ret_ns)
{
	const struct wt_op *ops = a->ledger->tl->ops;
	int32_t call = ops[l->rows[from].op].call;
	size_t i = from;

	*ret_key = 0;
	*ret_ns = 0;
	for (; i < l->n && l->rows[i].later && ops[l->rows[i].op].call == call; i++) {
		const struct wt_op *op = &ops[l->rows[i].op];

		*ret_key += mix(l->rows[i].key);
		*ret_ns += op->flags & WT_OP_UNTIMED ? 0 : op->end_ns - op->start_ns;
	}
	*ret_key = mix(*ret_key + (i - from));
	return i;
}

/* The same for one run of a program; what other threads launch meanwhile (copies) is passed over. */
static size_t one_run(const struct wt_axes *a, const struct wt_launches *l, size_t from,
		      uint64_t *ret_key, int64_t *ret_ns)
{
	const struct wt_timeline *tl = a->ledger->tl;
	uint32_t program = 0, other;
	int32_t run = wt_xla_run(a, &tl->calls[tl->ops[l->rows[from].op].call], &program);
	size_t i = from;

	*ret_key = program;
	*ret_ns = 0;
	for (; i < l->n; i++) {
		const struct wt_op *op = &tl->ops[l->rows[i].op];
		int32_t at = wt_xla_run(a, &tl->calls[op->call], &other);

		if (at >= 0 && at != run)
			break;
		if (at >= 0 && !(op->flags & WT_OP_UNTIMED))
			*ret_ns += op->end_ns - op->start_ns;
	}
	return i;
}

static int is_of_any(const struct wt_axes *a, const struct wt_launch *r, int programs)
{
	const struct wt_timeline *tl = a->ledger->tl;
	uint32_t program;

	return programs ? wt_xla_run(a, &tl->calls[tl->ops[r->op].call], &program) >= 0 : r->later;
}

static int collect(const struct wt_axes *a, const struct wt_launches *l, int programs,
		   struct found *f)
{
	struct wt_map index = {.count = 0};
	int err = 0;

	f->replays = malloc((l->n + 1) * sizeof(*f->replays));
	f->graphs = malloc((l->n + 1) * sizeof(*f->graphs));
	if (!f->replays || !f->graphs)
		return -WT_E_NOMEM;
	for (size_t i = 0; !err && i < l->n;) {
		uint64_t key = 0;
		int64_t ns = 0;
		size_t next;
		uint32_t *slot;
		int isnew;

		if (!is_of_any(a, &l->rows[i], programs)) {
			i++;
			continue;
		}
		next = (programs ? one_run : one_replay)(a, l, i, &key, &ns);
		slot = wt_map_slot(&index, key, (uint32_t)f->ngraphs, &isnew);
		if (!slot) {
			err = -WT_E_NOMEM;
			break;
		}
		if (isnew)
			f->graphs[f->ngraphs++] = (struct graph){.first = f->n};
		f->graphs[*slot].times++;
		f->graphs[*slot].ns += ns;
		f->graphs[*slot].last = f->n;
		f->replays[f->n++] = (struct replay){i, *slot, ns};
		i = next;
	}
	wt_map_release(&index);
	return err;
}

/* Are the graphs that are launched as often as `best` most of what runs between its first and its last launch? */
static int carries(const struct wt_axes *a, const struct wt_launches *l, int programs,
		   const struct found *f, const struct graph *best)
{
	const struct wt_op *ops = a->ledger->tl->ops;
	size_t from = f->replays[best->first].row, to = f->replays[best->last].row;
	int64_t all_ns = 0, ours_ns = 0;

	for (size_t i = from; i < to; i++) {
		const struct wt_op *op = &ops[l->rows[i].op];

		/* A collective beside the graphs lasts as long as others make it wait. */
		if (!programs && op->kind == WT_OP_KERNEL && !l->rows[i].kernel &&
		    !l->rows[i].later)
			continue;
		all_ns += op->flags & WT_OP_UNTIMED ? 0 : op->end_ns - op->start_ns;
	}
	for (size_t i = best->first; i < best->last; i++)
		if (f->graphs[f->replays[i].graph].times == best->times)
			ours_ns += f->replays[i].ns;
	return ours_ns > 0 && ours_ns >= all_ns / 100 * CARRIES_PCT;
}

/* Is g launched once before each launch of best, never twice between two of them? */
static int goes_before(const struct found *f, uint32_t g, uint32_t best)
{
	int turn = 0; /* 1: g was launched, best is next */

	for (size_t i = 0; i < f->n; i++) {
		if (f->replays[i].graph == g) {
			if (turn++)
				return 0;
		} else if (f->replays[i].graph == best) {
			if (turn-- != 1)
				return 0;
		}
	}
	return 1;
}

static int borders_of(const struct found *f, uint32_t g, size_t **ret_rows, size_t *ret_n)
{
	size_t *rows = malloc((f->graphs[g].times + 1) * sizeof(*rows)), n = 0;

	if (!rows)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < f->n && n < f->graphs[g].times; i++)
		if (f->replays[i].graph == g)
			rows[n++] = f->replays[i].row;
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}

int wt_replays_find(const struct wt_axes *a, const struct wt_launches *l, int programs,
		    size_t **ret_rows, size_t *ret_n)
{
	struct found f = {.replays = NULL};
	uint32_t best = 0, begin;
	int err = collect(a, l, programs, &f);

	*ret_rows = NULL;
	*ret_n = 0;
	for (uint32_t g = 0; !err && g < f.ngraphs; g++)
		if (f.graphs[g].times >= MIN_TIMES &&
		    (f.graphs[best].times < MIN_TIMES || f.graphs[g].ns > f.graphs[best].ns))
			best = g;
	if (!err && f.ngraphs && f.graphs[best].times >= MIN_TIMES &&
	    carries(a, l, programs, &f, &f.graphs[best])) {
		begin = best;
		for (uint32_t g = 0; g < f.ngraphs; g++)
			if (f.graphs[g].times == f.graphs[best].times &&
			    f.graphs[g].first < f.graphs[begin].first && goes_before(&f, g, best))
				begin = g;
		err = borders_of(&f, begin, ret_rows, ret_n);
	}
	free(f.replays);
	free(f.graphs);
	return err;
}
