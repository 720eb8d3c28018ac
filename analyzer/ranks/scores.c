/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How late each seat is, robustly. A window is a step where 20 or more are known, else one operation; in it a seat's
 * lateness is how much less it waited than the median of the others did (arrivals before a common end: no clock is
 * needed), the most that one of the window's operations shows: it is carried from one to the next, and a sum would
 * count it each time. The scale is 1.4826 times the median absolute deviation of a seat's
 * lateness from its own median, over all windows and seats, and at least the residual of the clocks and a
 * microsecond: what is late by the same amount each time stands out, what is late by chance does not. Persistent: a
 * score above 3.5 in at least half of 20 windows or more. Rotating: nobody is, and in half of the windows another seat
 * is latest than in the window before.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/wt_err.h"
#include "ranks/ranks_impl.h"

#define SCORE	     3.5
#define SCALE_MIN_NS 1000

struct late {
	uint32_t seat, window;
	int64_t ns;
};

static int cmp_late(const void *pa, const void *pb)
{
	const struct late *x = pa, *y = pb;

	if (x->seat != y->seat)
		return x->seat < y->seat ? -1 : 1;
	return (x->window > y->window) - (x->window < y->window);
}

static int cmp_ns(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return (a > b) - (a < b);
}

static int64_t median(int64_t *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), cmp_ns);
	return n ? v[(n - 1) / 2] : 0;
}

static int counts(const struct wt_part *p)
{
	return !p->why && wt_match_syncs(p->op) && wt_part_timed(p);
}

/* One row per seat and operation. */
static size_t list(struct wt_ranks *r, struct late *ret, int64_t *scratch,
		   const struct wt_rank_window *windows, const uint32_t *numbers, size_t nwindows)
{
	const struct wt_matches *m = &r->matches;
	size_t n = 0;

	for (size_t i = 0; i < m->ninstances; i++) {
		const struct wt_instance *x = &m->instances[i];

		uint32_t waits = 0, mid;

		for (uint32_t k = 0; k < x->n; k++)
			if (counts(&r->parts[m->order[x->first + k]]))
				scratch[waits++] = r->parts[m->order[x->first + k]].wait_ns;
		if (waits < 2)
			continue;
		median(scratch, waits); /* sorts */
		mid = (waits - 2) / 2;	/* of all but one */
		for (uint32_t k = 0; k < x->n; k++) {
			const struct wt_part *p = &r->parts[m->order[x->first + k]];
			uint32_t window = (uint32_t)i;
			size_t at;

			if (!counts(p))
				continue;
			if (nwindows) {
				at = wt_rank_window_at(windows, nwindows, r->seats[p->seat].process,
						       p->start_ns);
				if (at == SIZE_MAX)
					continue;
				window = numbers[at];
			}
			/* Its own place is left out of the order. */
			ret[n++] = (struct late){p->seat, window,
						 scratch[mid + (p->wait_ns <= scratch[mid])] -
							 p->wait_ns};
		}
	}
	return n;
}

/* Of the rows of one seat and window, the one farthest from 0; sorted by both. */
static size_t merge(struct late *rows, size_t n)
{
	size_t m = 0;

	if (n)
		qsort(rows, n, sizeof(*rows), cmp_late);
	for (size_t i = 0; i < n; i++) {
		if (!m || rows[m - 1].seat != rows[i].seat || rows[m - 1].window != rows[i].window)
			rows[m++] = rows[i];
		else if (llabs(rows[i].ns) > llabs(rows[m - 1].ns))
			rows[m - 1].ns = rows[i].ns;
	}
	return m;
}

static void score_seat(struct wt_straggler *s, const struct late *rows, size_t n, double scale_ns,
		       int64_t *scratch)
{
	for (size_t i = 0; i < n; i++) {
		scratch[i] = rows[i].ns;
		s->flagged += (double)rows[i].ns > SCORE * scale_ns;
	}
	s->windows = (uint32_t)n;
	s->late_ns = median(scratch, n);
	s->score = (double)s->late_ns / scale_ns;
	s->persistent = n >= WT_RANK_WINDOWS_LEAST && s->flagged * 2 >= n;
}

/* Windows in which another seat was latest than in the one before, of all windows. */
static int rotates(const struct late *rows, size_t n, size_t nwindows, double scale_ns)
{
	struct late *latest = calloc(nwindows + 1, sizeof(*latest));
	size_t changes = 0, used = 0;
	uint32_t before = UINT32_MAX;

	if (!latest)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (rows[i].ns > latest[rows[i].window].ns)
			latest[rows[i].window] = rows[i];
	for (size_t i = 0; i < nwindows; i++) {
		if ((double)latest[i].ns <= SCORE * scale_ns)
			continue;
		changes += used && latest[i].seat != before;
		before = latest[i].seat;
		used++;
	}
	free(latest);
	return used >= WT_RANK_WINDOWS_LEAST && changes * 2 >= used;
}

static int cmp_straggler(const void *pa, const void *pb)
{
	const struct wt_straggler *x = pa, *y = pb;

	if (x->caused_ns != y->caused_ns)
		return x->caused_ns > y->caused_ns ? -1 : 1;
	return (x->seat > y->seat) - (x->seat < y->seat);
}

static void score_all(struct wt_ranks *r, struct late *rows, size_t n, size_t nwindows,
		      int64_t *scratch, int64_t *devs)
{
	double scale_ns;
	int persistent = 0;

	for (size_t i = 0, end; i < n; i = end) {
		int64_t mid_ns;

		for (end = i; end < n && rows[end].seat == rows[i].seat; end++)
			scratch[end - i] = rows[end].ns;
		mid_ns = median(scratch, end - i);
		for (size_t k = i; k < end; k++)
			devs[k] = rows[k].ns > mid_ns ? rows[k].ns - mid_ns : mid_ns - rows[k].ns;
	}
	scale_ns = 1.4826 * (double)median(devs, n);
	scale_ns = scale_ns > (double)r->residual_ns ? scale_ns : (double)r->residual_ns;
	scale_ns = scale_ns > SCALE_MIN_NS ? scale_ns : SCALE_MIN_NS;
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && rows[end].seat == rows[i].seat;)
			end++;
		score_seat(&r->stragglers[rows[i].seat], rows + i, end - i, scale_ns, scratch);
		persistent |= r->stragglers[rows[i].seat].persistent;
	}
	r->rotating = !persistent && rotates(rows, n, nwindows, scale_ns);
}

int wt_ranks_scores(struct wt_ranks *r, const struct wt_rank_window *windows,
		    const uint32_t *numbers, size_t n, uint32_t nnumbers)
{
	size_t room = r->matches.norder, nrows;
	struct late *rows = malloc((room + 1) * sizeof(*rows));
	int64_t *scratch = malloc((room + r->nseats + 1) * sizeof(*scratch)),
		*devs = malloc((room + 1) * sizeof(*devs));
	int err = rows && scratch && devs ? 0 : -WT_E_NOMEM;

	free(r->stragglers);
	r->stragglers = calloc(r->nseats + 1, sizeof(*r->stragglers));
	err = r->stragglers ? err : -WT_E_NOMEM;
	r->windows_are_steps = n > 0;
	r->nstragglers = err ? 0 : r->nseats;
	if (!err) {
		for (uint32_t i = 0; i < r->nseats; i++)
			r->stragglers[i].seat = i;
		nrows = merge(rows, list(r, rows, scratch, windows, numbers, n));
		score_all(r, rows, nrows, n ? nnumbers : r->matches.ninstances, scratch, devs);
		for (size_t i = 0; i < r->nblames; i++) {
			r->stragglers[r->blames[i].waiter].waited_ns += r->blames[i].wait_ns;
			if (r->blames[i].leaf != WT_LEAVES)
				r->stragglers[r->blames[i].culprit].caused_ns +=
					r->blames[i].wait_ns;
		}
		qsort(r->stragglers, r->nstragglers, sizeof(*r->stragglers), cmp_straggler);
	}
	free(rows);
	free(scratch);
	free(devs);
	return err;
}
