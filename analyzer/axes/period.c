/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the sequence of kernels begins anew, for jobs that say nothing about steps and have no optimizer. A candidate
 * is a kernel (name and shape) whose appearances lie equally far apart most of the time, counted in kernels; a period
 * is believed if at least AGREE of the kernels equal the one a period later. Of all candidates the longest period that
 * still appears MIN_TIMES times is taken: shorter ones are layers of a step.
 */
#include <stdlib.h>
#include <string.h>

#include "axes/axes_impl.h"
#include "base/map.h"

#define MIN_TIMES  4
#define MIN_PERIOD 4
#define AGREE_PCT  90
#define CANDIDATES 16

struct seen {				 /* one kernel of name and shape */
	uint32_t last, times, gap, same; /* gap: to the one before; same: how often it was that */
	uint32_t first;
};
struct sequence {
	const struct wt_launch **rows;
	size_t n;
};

/* How many in a hundred kernels equal the one a period later. */
static unsigned agreement(const struct sequence *s, size_t period)
{
	size_t same = 0, all = s->n > period ? s->n - period : 0;

	for (size_t i = 0; i < all; i++)
		same += s->rows[i]->key == s->rows[i + period]->key;
	return all ? (unsigned)(same * 100 / all) : 0;
}

static int count_gaps(const struct sequence *s, struct seen **ret, size_t *ret_n)
{
	struct wt_map index = {.count = 0};
	struct seen *seen = malloc((s->n + 1) * sizeof(*seen));
	size_t n = 0;
	int err = seen ? 0 : -WT_E_NOMEM;

	for (uint32_t i = 0; !err && i < s->n; i++) {
		int isnew;
		uint32_t *slot = wt_map_slot(&index, s->rows[i]->key, (uint32_t)n, &isnew);
		struct seen *k;

		if (!slot) {
			err = -WT_E_NOMEM;
			break;
		}
		if (isnew)
			seen[n++] = (struct seen){.last = i, .times = 1, .first = i};
		k = &seen[*slot];
		if (isnew)
			continue;
		k->same = i - k->last == k->gap ? k->same + 1 : 0;
		k->gap = i - k->last;
		k->last = i;
		k->times++;
	}
	wt_map_release(&index);
	*ret = seen;
	*ret_n = n;
	return err;
}

static int by_gap(const void *pa, const void *pb)
{
	const struct seen *x = pa, *y = pb;

	if (x->gap != y->gap)
		return x->gap > y->gap ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* The kernels that could begin a period to the front, longest gap first. */
static size_t candidates(const struct sequence *s, struct seen *seen, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (seen[i].times >= MIN_TIMES && seen[i].gap >= MIN_PERIOD &&
		    seen[i].same + 2 >= MIN_TIMES - 1 &&
		    (size_t)seen[i].gap * (MIN_TIMES - 1) <= s->n)
			seen[kept++] = seen[i];
	if (kept)
		qsort(seen, kept, sizeof(*seen), by_gap);
	return kept;
}

static int borders_of(const struct wt_launches *l, const struct sequence *s, const struct seen *k,
		      size_t **ret_rows, size_t *ret_n)
{
	uint64_t key = s->rows[k->last]->key;
	size_t *rows = malloc((k->times + 1) * sizeof(*rows)), n = 0;

	if (!rows)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < s->n && n < k->times; i++)
		if (s->rows[i]->key == key)
			rows[n++] = (size_t)(s->rows[i] - l->rows);
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}

int wt_period_find(const struct wt_launches *l, size_t **ret_rows, size_t *ret_n)
{
	struct sequence s = {.rows = malloc((l->n + 1) * sizeof(*s.rows))};
	struct seen *seen = NULL;
	size_t n = 0, tried = 0;
	uint32_t last_gap = 0;
	int err = s.rows ? 0 : -WT_E_NOMEM;

	for (size_t i = 0; !err && i < l->n; i++)
		if (l->rows[i].kernel)
			s.rows[s.n++] = &l->rows[i];
	if (!err)
		err = count_gaps(&s, &seen, &n);
	n = err ? 0 : candidates(&s, seen, n);
	for (size_t i = 0; !err && i < n && tried < CANDIDATES; i++) {
		if (seen[i].gap == last_gap)
			continue;
		last_gap = seen[i].gap;
		tried++;
		if (agreement(&s, seen[i].gap) < AGREE_PCT)
			continue;
		err = borders_of(l, &s, &seen[i], ret_rows, ret_n);
		break;
	}
	free(seen);
	free(s.rows);
	return err;
}
