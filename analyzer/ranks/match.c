/* SPDX-License-Identifier: Apache-2.0 */
/* See match.h. Parts are never moved, only an order over them: callers hold indices. */
#define _GNU_SOURCE /* qsort_r */
#include "ranks/match.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "proto/wt_err.h"
#include "timeline/timeline.h"

const char *const wt_unmatched_texts[WT_UNMATCHED_REASONS] = {
	[WT_UNMATCHED_NOT] = "matched",
	[WT_UNMATCHED_ALONE] = "no other rank's recording has it",
	[WT_UNMATCHED_COUNTS] = "ranks recorded unequally many of this communicator",
	[WT_UNMATCHED_DISAGREE] = "ranks disagree about the operation or its size",
	[WT_UNMATCHED_CROWDED] = "more ranks than the communicator has look alike",
	[WT_UNMATCHED_UNTIMED] = "too few of its kernels have times",
	[WT_UNMATCHED_CLOCKS] = "it needs a common clock, and none is established",
	[WT_UNMATCHED_ENDS] = "it did not end together on all ranks, as it must",
	[WT_UNMATCHED_PEAK] = "it would have been faster than the link",
	[WT_UNMATCHED_ROOT] = "its root or other side is not known",
	[WT_UNMATCHED_SIZES] =
		"an all-to-all of unequal sizes: its length does not tell waiting from transfer",
};

int wt_match_syncs(uint8_t op)
{
	return op == WT_COLL_ALL_REDUCE || op == WT_COLL_ALL_GATHER ||
	       op == WT_COLL_REDUCE_SCATTER || op == WT_COLL_ALL_TO_ALL || op == WT_COLL_NONE;
}

/* Operations of which every rank states the same size. */
static int same_bytes(uint8_t op)
{
	return op == WT_COLL_ALL_REDUCE || op == WT_COLL_ALL_GATHER ||
	       op == WT_COLL_REDUCE_SCATTER || op == WT_COLL_BROADCAST || op == WT_COLL_REDUCE;
}

static int cmp(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int cmp_order(const void *pa, const void *pb, void *arg)
{
	const struct wt_part *parts = arg;
	uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
	const struct wt_part *x = &parts[i], *y = &parts[j];
	int c = cmp(x->key, y->key);

	c = c ? c : cmp(x->num, y->num);
	c = c ? c : cmp(x->seat, y->seat);
	return c ? c : cmp(i, j);
}

/* For the fallback: rows of one kind and seat, in their order in time. */
static int cmp_kind(const void *pa, const void *pb, void *arg)
{
	const struct wt_part *parts = arg;
	uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;
	const struct wt_part *x = &parts[i], *y = &parts[j];
	int c = cmp(x->key, y->key);

	c = c ? c : cmp(x->seat, y->seat);
	c = c ? c : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
	return c ? c : cmp(x->num, y->num);
}

/* Which keys more than one seat uses: seat + 1, or SHARED. */
#define SHARED UINT32_MAX

static int find_shared(const struct wt_part *parts, size_t n, struct wt_map *ret)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t *seat;

		if (parts[i].flags & WT_PART_SKIP)
			continue;
		seat = wt_map_slot(ret, parts[i].key, parts[i].seat + 1, NULL);
		if (!seat)
			return -WT_E_NOMEM;
		if (*seat != parts[i].seat + 1)
			*seat = SHARED;
	}
	return 0;
}

static uint64_t kind_key(const struct wt_part *p)
{
	uint64_t h = wt_mix64(0x6b696e64u ^ p->op);

	h = wt_mix64(h ^ p->dtype);
	h = wt_mix64(h ^ p->bytes);
	return wt_mix64(h ^ p->nranks) | 1;
}

/* Rows whose key nobody else has get one by kind, if another seat has rows of that kind too. */
static int fall_back(struct wt_part *parts, size_t n, uint32_t *scratch)
{
	struct wt_map shared = {.count = 0}, kinds = {.count = 0};
	int err = find_shared(parts, n, &shared);
	size_t m = 0;

	for (size_t i = 0; !err && i < n; i++) {
		struct wt_part *p = &parts[i];
		uint32_t seat, *first;

		if (p->flags & (WT_PART_SKIP | WT_PART_FAMILY) || p->nranks == 1 ||
		    p->op == WT_COLL_NONE)
			continue;
		if (p->key && wt_map_get(&shared, p->key, &seat) && seat == SHARED)
			continue;
		scratch[m++] = (uint32_t)i;
		first = wt_map_slot(&kinds, kind_key(p), p->seat + 1, NULL);
		if (!first)
			err = -WT_E_NOMEM;
		else if (*first != p->seat + 1)
			*first = SHARED;
	}
	for (size_t i = 0; !err && i < m; i++) {
		struct wt_part *p = &parts[scratch[i]];
		uint32_t seat;

		if (!wt_map_get(&kinds, kind_key(p), &seat) || seat != SHARED) {
			if (!p->key) /* not known is not the same */
				p->key = wt_mix64(p->seat + 1u) | 1;
			continue;
		}
		p->key = kind_key(p);
		p->flags |= WT_PART_FALLBACK | WT_PART_COUNTED;
	}
	if (!err && m)
		qsort_r(scratch, m, sizeof(*scratch), cmp_kind, parts);
	for (size_t i = 0, at = 0; !err && i < m; i++) {
		struct wt_part *p = &parts[scratch[i]];
		const struct wt_part *before = i ? &parts[scratch[i - 1]] : NULL;

		if (!(p->flags & WT_PART_FALLBACK))
			continue;
		at = before && before->key == p->key && before->seat == p->seat ? at + 1 : 0;
		p->num = at;
	}
	wt_map_release(&shared);
	wt_map_release(&kinds);
	return err;
}

/* Of the parts of one number: what keeps them from being one operation. */
static enum wt_unmatched judge(const struct wt_part *parts, const uint32_t *order, uint32_t n,
			       const struct wt_match_comm *c)
{
	const struct wt_part *a = &parts[order[0]];

	for (uint32_t i = 1; i < n; i++) {
		const struct wt_part *b = &parts[order[i]];

		if (b->seat == parts[order[i - 1]].seat || b->op != a->op || b->dtype != a->dtype ||
		    (same_bytes(a->op) && b->bytes != a->bytes))
			return WT_UNMATCHED_DISAGREE;
	}
	if (a->nranks && n > a->nranks)
		return WT_UNMATCHED_CROWDED;
	if (n < c->seats && a->flags & WT_PART_COUNTED)
		return WT_UNMATCHED_COUNTS;
	return n > 1 ? WT_UNMATCHED_NOT : WT_UNMATCHED_ALONE;
}

static uint32_t count_seats(const struct wt_part *parts, const uint32_t *order, size_t n,
			    uint8_t *seen)
{
	uint32_t seats = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t *s = &seen[parts[order[i]].seat];

		seats += !*s;
		*s = 1;
	}
	for (size_t i = 0; i < n; i++)
		seen[parts[order[i]].seat] = 0;
	return seats;
}

/* Whether some number lacks a seat. */
static int is_uneven(const struct wt_part *parts, const uint32_t *order, size_t n, uint32_t seats)
{
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && parts[order[end]].num == parts[order[i]].num;)
			end++;
		if (end - i != seats)
			return 1;
	}
	return 0;
}

/*
 * All numbers of one communicator, in order. For kernels without records it is a stretch between anchors: all of it or
 * nothing.
 */
static void match_comm(struct wt_part *parts, struct wt_matches *m, struct wt_match_comm *c,
		       size_t first, size_t last)
{
	if (parts[m->order[first]].flags & WT_PART_FAMILY && c->seats > 1 && c->uneven)
		c->stopped = WT_UNMATCHED_COUNTS;
	for (size_t i = first, end; i < last; i = end) {
		enum wt_unmatched why = c->stopped;
		const struct wt_part *p = &parts[m->order[i]];

		for (end = i + 1; end < last && parts[m->order[end]].num == p->num;)
			end++;
		if (!why)
			why = c->seats < 2 ? WT_UNMATCHED_ALONE
					   : judge(parts, m->order + i, (uint32_t)(end - i), c);
		if (!c->stopped && (why == WT_UNMATCHED_COUNTS || why == WT_UNMATCHED_DISAGREE)) {
			c->stopped = why;
			c->stopped_at = p->num;
		}
		for (size_t k = i; k < end; k++) {
			parts[m->order[k]].why = why;
			parts[m->order[k]].instance = why ? -1 : (int32_t)m->ninstances;
		}
		if (why)
			c->unmatched += end - i;
		else
			c->matched += end - i;
		if (why)
			continue;
		m->instances[m->ninstances++] = (struct wt_instance){.first = (uint32_t)i,
								     .n = (uint32_t)(end - i),
								     .comm = (uint32_t)m->ncomms};
		c->n++;
	}
}

int wt_match(struct wt_part *parts, size_t n, struct wt_matches *ret)
{
	struct wt_matches m = {.order = malloc((n + 1) * sizeof(*m.order))};
	uint32_t seats = 0;
	uint8_t *seen = NULL;
	int err = m.order ? fall_back(parts, n, m.order) : -WT_E_NOMEM;

	for (size_t i = 0; !err && i < n; i++) {
		seats = parts[i].seat >= seats ? parts[i].seat + 1 : seats;
		parts[i].instance = parts[i].last = -1;
		parts[i].ideal_ns = -1;
		if (!(parts[i].flags & WT_PART_SKIP))
			m.order[m.norder++] = (uint32_t)i;
	}
	if (!err) {
		m.instances = malloc((m.norder / 2 + 1) * sizeof(*m.instances));
		m.comms = malloc((m.norder + 1) * sizeof(*m.comms));
		seen = calloc(seats + 1u, 1);
		err = m.instances && m.comms && seen ? 0 : -WT_E_NOMEM;
	}
	if (!err && m.norder)
		qsort_r(m.order, m.norder, sizeof(*m.order), cmp_order, parts);
	for (size_t i = 0, end; !err && i < m.norder; i = end) {
		struct wt_match_comm *c = &m.comms[m.ncomms];

		*c = (struct wt_match_comm){.key = parts[m.order[i]].key,
					    .first = (uint32_t)m.ninstances};
		for (end = i; end < m.norder && parts[m.order[end]].key == c->key; end++)
			if (parts[m.order[end]].nranks > c->nranks)
				c->nranks = parts[m.order[end]].nranks;
		c->seats = count_seats(parts, m.order + i, end - i, seen);
		c->uneven = parts[m.order[i]].flags & WT_PART_COUNTED &&
			    is_uneven(parts, m.order + i, end - i, c->seats);
		match_comm(parts, &m, c, i, end);
		m.ncomms++;
	}
	free(seen);
	if (!err && m.ncomms) { /* room was made for the worst case */
		void *less = realloc(m.comms, m.ncomms * sizeof(*m.comms));

		m.comms = less ? less : m.comms;
	}
	if (err)
		wt_matches_release(&m);
	else
		*ret = m;
	return err;
}

void wt_matches_release(struct wt_matches *m)
{
	free(m->order);
	free(m->instances);
	free(m->comms);
	*m = (struct wt_matches){.order = NULL};
}
