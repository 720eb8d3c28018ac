/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See ranges.h. Ranges of one thread nest (they are pushed and popped); where a file has two that cross, the later one
 * counts as inside the earlier as long as both are open.
 */
#include "ledger/ranges.h"

#include <stdlib.h>

#include "base/sort_rows.h"
#include "proto/wt_err.h"

#define LOOK_BACK 256 /* ranges before t that are asked whether they are of a kind */

/* Ranges that begin and end on different threads nest in nothing. */
static int nests(const struct wt_ranges *x, uint32_t range)
{
	return x->kind[range] != WT_RANGE_REQUEST;
}

static int classify(struct wt_ranges *x)
{
	const struct wt_timeline *tl = x->tl;
	size_t nnames = wt_timeline_nstrings(tl);
	struct {
		int64_t number;
		uint8_t kind; /* 0 = not asked yet */
	} *known = calloc(nnames + 1, sizeof(*known));

	if (!known)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < tl->nranges; i++) {
		const struct wt_range *r = &tl->ranges[i];
		uint32_t name = r->name < nnames ? r->name : 0;

		x->kind[i] = r->kind;
		x->number[i] = r->kind == WT_RANGE_STEP ? r->step : -1;
		if (r->kind == WT_RANGE_USER && !known[name].kind)
			known[name].kind = (uint8_t)wt_range_kind_by_name(
				wt_timeline_string(tl, name), &known[name].number);
		if (r->kind == WT_RANGE_USER) {
			x->kind[i] = known[name].kind;
			x->number[i] = known[name].number;
		}
		x->kinds |= 1u << x->kind[i];
	}
	free(known);
	return 0;
}

static int by_thread(const void *pa, const void *pb, void *arg)
{
	const struct wt_range *ranges = arg;
	uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
	const struct wt_range *a = &ranges[i], *b = &ranges[j];

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	return (i > j) - (i < j);
}

/* Who encloses whom. order is sorted. */
static void nest(struct wt_ranges *x)
{
	const struct wt_range *ranges = x->tl->ranges;

	for (size_t i = 0; i < x->n; i++) {
		const struct wt_range *r = &ranges[x->order[i]];
		int32_t up = (int32_t)i - 1;

		if (up >= 0 && ranges[x->order[up]].thread != r->thread)
			up = -1;
		while (up >= 0 && ranges[x->order[up]].end_ns <= r->start_ns)
			up = x->parent[up];
		x->parent[i] = up;
	}
}

int wt_ranges_init(struct wt_ranges *x, const struct wt_timeline *tl)
{
	size_t *at;

	x->tl = tl;
	x->kind = malloc(tl->nranges + 1);
	x->number = malloc((tl->nranges + 1) * sizeof(*x->number));
	x->order = malloc((tl->nranges + 1) * sizeof(*x->order));
	x->parent = malloc((tl->nranges + 1) * sizeof(*x->parent));
	x->first = calloc(tl->nthreads + 2, sizeof(*x->first));
	if (!x->kind || !x->number || !x->order || !x->parent || !x->first || classify(x))
		return -WT_E_NOMEM;
	at = malloc((tl->nthreads + 1) * sizeof(*at));
	if (!at)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < tl->nranges; i++)
		x->first[tl->ranges[i].thread + 1] += (size_t)nests(x, (uint32_t)i);
	for (size_t i = 0; i <= tl->nthreads; i++) {
		x->first[i + 1] += x->first[i];
		at[i] = x->first[i];
	}
	/* They come by start, the longer first: each thread's are in order. */
	for (size_t i = 0; i < tl->nranges; i++)
		if (nests(x, (uint32_t)i))
			x->order[at[tl->ranges[i].thread]++] = (uint32_t)i;
	free(at);
	x->n = x->first[tl->nthreads + 1];
	wt_sort_rows(x->order, x->n, sizeof(*x->order), by_thread, tl->ranges);
	nest(x);
	return 0;
}

void wt_ranges_release(struct wt_ranges *x)
{
	free(x->kind);
	free(x->number);
	free(x->order);
	free(x->parent);
	free(x->first);
}

/* The first position of a thread whose range starts after t. */
static size_t after(const struct wt_ranges *x, uint32_t thread, int64_t t_ns)
{
	size_t lo = x->first[thread], hi = x->first[thread + 1];

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (x->tl->ranges[x->order[mid]].start_ns <= t_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int is_of(const struct wt_ranges *x, uint32_t range, uint32_t kinds)
{
	return (kinds & 1u << x->kind[range]) != 0;
}

int32_t wt_ranges_at(const struct wt_ranges *x, uint32_t thread, int64_t t_ns, uint32_t kinds)
{
	size_t at = after(x, thread, t_ns);

	if (at == x->first[thread])
		return -1;
	for (int32_t i = (int32_t)at - 1; i >= 0; i = x->parent[i])
		if (x->tl->ranges[x->order[i]].end_ns > t_ns && is_of(x, x->order[i], kinds))
			return (int32_t)x->order[i];
	return -1;
}

int32_t wt_ranges_of_call(const struct wt_ranges *x, const struct wt_call *call, uint32_t kinds)
{
	const struct wt_timeline *tl = x->tl;
	int32_t best;

	if (!(kinds & x->kinds))
		return -1;
	best = wt_ranges_at(x, call->thread, call->start_ns, kinds);
	for (uint32_t k = 0; best < 0 && k < tl->nthreads; k++) {
		int32_t other = -1;

		if (k != call->thread && x->first[k] < x->first[k + 1] &&
		    tl->threads[k].process == call->process)
			other = wt_ranges_at(x, k, call->start_ns, kinds);
		if (other < 0)
			continue;
		best = other;
		for (k++; k < tl->nthreads; k++) {
			if (x->first[k] == x->first[k + 1] ||
			    tl->threads[k].process != call->process)
				continue;
			other = wt_ranges_at(x, k, call->start_ns, kinds);
			if (other >= 0 && tl->ranges[other].start_ns > tl->ranges[best].start_ns)
				best = other;
		}
	}
	return best;
}

int32_t wt_ranges_before(const struct wt_ranges *x, uint32_t thread, int64_t t_ns, uint32_t kinds)
{
	size_t at = after(x, thread, t_ns);

	for (int n = 0; n < LOOK_BACK && at > x->first[thread]; n++) {
		uint32_t i = x->order[--at];

		if (is_of(x, i, kinds) && x->tl->ranges[i].end_ns <= t_ns)
			return (int32_t)i;
	}
	return -1;
}

int32_t wt_ranges_next(const struct wt_ranges *x, uint32_t thread, int64_t from_ns, int64_t to_ns,
		       uint32_t kinds, size_t *cursor)
{
	const struct wt_range *ranges = x->tl->ranges;
	size_t at = *cursor;

	if (!(kinds & x->kinds))
		return -1;
	if (at == SIZE_MAX) {
		/* From the outermost range that is open at `from`. */
		int32_t up;

		at = after(x, thread, from_ns);
		up = at > x->first[thread] ? (int32_t)at - 1 : -1;
		for (; up >= 0; up = x->parent[up])
			if (ranges[x->order[up]].end_ns > from_ns && is_of(x, x->order[up], kinds))
				at = (size_t)up;
	}
	for (; at < x->first[thread + 1] && ranges[x->order[at]].start_ns < to_ns; at++) {
		if (!is_of(x, x->order[at], kinds) || ranges[x->order[at]].end_ns <= from_ns)
			continue;
		*cursor = at + 1;
		return (int32_t)x->order[at];
	}
	return -1;
}
