/* SPDX-License-Identifier: Apache-2.0 */
/* See sites.h. */
#include "report/sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/sort_rows.h"
#include "proto/wt_err.h"

struct sum { /* of a row's kernels launched from one place */
	size_t row;
	uint32_t site;
	uint64_t count;
	int64_t ns;
};
struct wt_sites {
	const struct wt_timeline *tl;
	uint32_t *of_call; /* a string; 0 = none */
	struct wt_map index;
	struct sum *sums;
	size_t n, room;
};

static int cmp_frame(const void *pa, const void *pb, void *arg)
{
	const struct wt_timeline *tl = arg;
	const struct wt_frame *x = &tl->frames[*(const uint32_t *)pa],
			      *y = &tl->frames[*(const uint32_t *)pb];

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns); /* the enclosing one first */
}

/* One pass over the calls and the frames of a thread, in the order of their starts; `open` has room for all frames. */
static void walk_thread(struct wt_sites *s, size_t first, size_t last, const uint32_t *order,
			size_t norder, uint32_t *open)
{
	const struct wt_frame *frames = s->tl->frames;
	size_t at = 0, depth = 0;

	for (size_t i = first; i < last; i++) {
		int64_t now_ns = s->tl->calls[i].start_ns;

		for (; at < norder && frames[order[at]].start_ns <= now_ns; at++) {
			while (depth &&
			       frames[open[depth - 1]].end_ns <= frames[order[at]].start_ns)
				depth--;
			open[depth++] = order[at];
		}
		while (depth && frames[open[depth - 1]].end_ns <= now_ns)
			depth--;
		if (depth)
			s->of_call[i] = frames[open[depth - 1]].name;
	}
}

/* Finds the frames of the thread; they are sorted by it. */
static size_t begin_of(const struct wt_timeline *tl, const uint32_t *order, uint32_t thread)
{
	size_t low = 0, high = tl->nframes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tl->frames[order[middle]].thread < thread)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int walk(struct wt_sites *s)
{
	const struct wt_timeline *tl = s->tl;
	uint32_t *order = malloc(tl->nframes * sizeof(*order));
	uint32_t *open = malloc(tl->nframes * sizeof(*open));
	int ok = order && open;

	for (size_t i = 0; ok && i < tl->nframes; i++)
		order[i] = (uint32_t)i;
	if (ok)
		wt_sort_rows(order, tl->nframes, sizeof(*order), cmp_frame, (void *)tl);
	for (size_t first = 0, last; ok && first < tl->ncalls; first = last) {
		uint32_t thread = tl->calls[first].thread;
		size_t begin = begin_of(tl, order, thread);

		for (last = first + 1; last < tl->ncalls && tl->calls[last].thread == thread;)
			last++;
		walk_thread(s, first, last, order + begin, begin_of(tl, order, thread + 1) - begin,
			    open);
	}
	free(order);
	free(open);
	return ok ? 0 : -WT_E_NOMEM;
}

int wt_sites_new(struct wt_sites **ret, const struct wt_timeline *tl)
{
	struct wt_sites *s;

	*ret = NULL;
	if (!tl->nframes || !tl->ncalls)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -WT_E_NOMEM;
	s->tl = tl;
	s->of_call = calloc(tl->ncalls, sizeof(*s->of_call));
	if (!s->of_call || walk(s)) {
		wt_sites_free(s);
		return -WT_E_NOMEM;
	}
	*ret = s;
	return 0;
}

int wt_sites_add(struct wt_sites *s, size_t row, const struct wt_op *op)
{
	uint32_t site = s && op->call >= 0 ? s->of_call[op->call] : 0;
	struct sum *sums;
	uint32_t *at;
	int isnew;

	if (!site)
		return 0;
	at = wt_map_slot(&s->index, (uint64_t)row << 32 | site, (uint32_t)s->n, &isnew);
	if (!at)
		return -WT_E_NOMEM;
	if (isnew && s->n == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		sums = realloc(s->sums, s->room * sizeof(*sums));
		if (!sums)
			return -WT_E_NOMEM;
		s->sums = sums;
	}
	if (isnew)
		s->sums[s->n++] = (struct sum){.row = row, .site = site};
	s->sums[*at].count++;
	s->sums[*at].ns += op->flags & WT_OP_UNTIMED ? 0 : op->end_ns - op->start_ns;
	return 0;
}

/* By time, then how often, then by name: the same on every run. */
static int is_more(const struct wt_timeline *tl, const struct sum *a, const struct sum *b)
{
	if (a->ns != b->ns)
		return a->ns > b->ns;
	if (a->count != b->count)
		return a->count > b->count;
	return strcmp(wt_timeline_string(tl, a->site), wt_timeline_string(tl, b->site)) < 0;
}

void wt_sites_finish(const struct wt_sites *s, struct wt_kernel_row *rows)
{
	for (size_t i = 0; s && i < s->n; i++) {
		const struct sum *sum = &s->sums[i];
		struct wt_kernel_row *row = &rows[sum->row];
		struct sum best = {.site = row->site, .count = row->site_count, .ns = row->site_ns};

		if (row->site && !is_more(s->tl, sum, &best))
			continue;
		row->site = sum->site;
		row->site_count = sum->count;
		row->site_ns = sum->ns;
	}
}

void wt_sites_free(struct wt_sites *s)
{
	if (!s)
		return;
	wt_map_release(&s->index);
	free(s->of_call);
	free(s->sums);
	free(s);
}
