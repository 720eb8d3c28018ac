/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock lines of a trace; see clockline.h. CLOCK_MONOTONIC and CLOCK_REALTIME are slewed alike, so between two rows
 * their difference changes only when somebody set the clock: steps are found even where the writer did not mark them.
 */
#include "trace/clockline.h"

#include <string.h>

#include "proto/wt_err.h"

#define STEP_NS 1000 /* beyond both rows' own errors: smaller is noise of reading three clocks */
#define FAR_NS	(INT64_MAX / 4)

int wt_clockline_add(struct wt_clockline *c, const struct wt_clockline_row *row)
{
	struct wt_clockline_row *r;

	if (row->real_ns > FAR_NS || row->mono_ns > FAR_NS || row->real_ns < 0 ||
	    row->mono_ns < 0) {
		c->dropped++;
		return 0;
	}
	r = wt_vec_add(&c->rows);
	if (!r)
		return -WT_E_NOMEM;
	*r = *row;
	return 0;
}

static int cmp_row(const void *pa, const void *pb)
{
	const struct wt_clockline_row *a = pa, *b = pb;

	if (a->tsc != b->tsc)
		return a->tsc < b->tsc ? -1 : 1;
	return (a->error_ns > b->error_ns) - (a->error_ns < b->error_ns);
}

static int jumped(const struct wt_clockline_row *a, const struct wt_clockline_row *b)
{
	int64_t change = (b->real_ns - b->mono_ns) - (a->real_ns - a->mono_ns);
	int64_t limit = STEP_NS + (int64_t)a->error_ns + b->error_ns;

	return change > limit || change < -limit || b->real_ns <= a->real_ns;
}

void wt_clockline_finish(struct wt_clockline *c)
{
	struct wt_clockline_row *r = c->rows.p;
	size_t n = 0;

	if (!c->rows.n)
		return;
	qsort(r, c->rows.n, sizeof(*r), cmp_row);
	for (size_t i = 0; i < c->rows.n; i++) {
		if (n && r[n - 1].tsc == r[i].tsc) {
			r[n - 1].stepped |= r[i].stepped;
			continue; /* the one with the smaller error stays */
		}
		r[n] = r[i];
		if (n)
			r[n].stepped |= jumped(&r[n - 1], &r[n]);
		n++;
	}
	c->rows.n = n;
}

/* a + (tsc - a.tsc) * num / den, rounded to nearest, saturating. */
static int64_t along(const struct wt_clockline_row *a, uint64_t tsc, uint64_t num, uint64_t den)
{
	__int128 d = (__int128)tsc - a->tsc;
	__int128 v = d * num;

	v = v >= 0 ? (v + den / 2) / den : -((-v + den / 2) / den);
	v += a->real_ns;
	return v > FAR_NS ? FAR_NS : v < -FAR_NS ? -FAR_NS : (int64_t)v;
}

/* The line through rows i and i + 1. */
static int64_t between(const struct wt_clockline *c, size_t i, uint64_t tsc)
{
	const struct wt_clockline_row *a = &c->rows.p[i], *b = a + 1;

	return along(a, tsc, (uint64_t)(b->real_ns - a->real_ns), b->tsc - a->tsc);
}

int64_t wt_clockline_ns(const struct wt_clockline *c, uint64_t tsc)
{
	const struct wt_clockline_row *r = c->rows.p, zero = {0};
	size_t n = c->rows.n, lo = 0, hi = n;

	if (!n)
		return along(&zero, tsc, 1000000000u, c->hz ? c->hz : 1000000000u);
	/* lo = the last row at or before tsc, or the first row of all */
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (r[mid].tsc <= tsc)
			lo = mid;
		else
			hi = mid;
	}
	if (lo + 1 < n && !r[lo + 1].stepped)
		return between(c, lo, tsc);
	if (lo > 0 && !r[lo].stepped)
		return between(c, lo - 1, tsc); /* prolonged: after the last row, or up to a step */
	return along(&r[lo], tsc, 1000000000u, c->hz ? c->hz : 1000000000u);
}

uint32_t wt_clockline_steps(const struct wt_clockline *c)
{
	uint32_t n = 0;

	for (size_t i = 1; i < c->rows.n; i++)
		n += c->rows.p[i].stepped != 0;
	return n;
}

void wt_clockline_release(struct wt_clockline *c)
{
	free(c->rows.p);
	memset(&c->rows, 0, sizeof(c->rows));
}
