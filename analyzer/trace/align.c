/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Alignment of host calls with CUPTI's records; see align.h.
 *
 * Jobs repeat themselves, so signatures alone cannot tell the step a record belongs to: after a hole a record fits
 * every step. What decides is order from both ends and the correlation ids, which count the API calls of the process:
 * a hole of d host calls needs a jump of more than d ids. In order:
 *   1. equal prefix and equal suffix; if they meet and the ids show one unusual jump at most, there is one hole and its
 *      length is the difference;
 *   2. else the part between: at unusual jumps the hole's length is estimated from the ids an average call takes and
 *      the nearest length that fits is taken (place); small disorder is solved by dynamic programming (window);
 *      where host rows were lost too, such matches are only good for counting: all of them are ambiguous;
 *   3. records whose hole could as well lie beside them are marked ambiguous.
 * Time is not used: a clock can be set, and kernels may start long after their launch.
 */
#include "trace/align.h"

#include <stdlib.h>
#include <string.h>

#include "proto/wt_err.h"

#define RUN    48  /* records in a row that must fit for a place to be believed */
#define WINDOW 96  /* rows of local disorder solved exactly */
#define REACH  256 /* rows skipped without a jump of the ids to justify it */

struct align {
	const struct wt_align_host *h;
	struct wt_align_record *r;
	size_t nr;
	uint8_t *trace; /* WINDOW + 1 squared, made when first needed */
	float *usual;	/* median jump between two records of these signatures */
	double ids_per_call;
	uint64_t before, after; /* correlation of the known pairs around, 0 = none */
	int both;		/* WT_ALIGN_LOSSY_BOTH */
	int nomem;
};

/* 0 = cannot be the same call, 1 = can, 2 = has the same signature. */
static int fits(const struct align *a, size_t h, size_t r)
{
	const struct wt_align_host *x = &a->h[h];
	const struct wt_align_record *y = &a->r[r];

	if (x->class_ != y->class_ || (x->silent && y->device))
		return 0;
	if (!x->signature || !y->signature)
		return 1;
	return x->signature == y->signature ? 2 : 0;
}

/*
 * Ids between record r and the one before it: fewer than this many calls of ours lie between. Record nr is the known
 * pair behind, if there is one.
 */
static uint64_t jump(const struct align *a, size_t r)
{
	if (r == a->nr)
		return a->after > a->r[r - 1].correlation ? a->after - a->r[r - 1].correlation
							  : UINT64_MAX;
	return a->r[r].correlation - (r ? a->r[r - 1].correlation : a->before);
}

/* Is the jump before r known on both sides? */
static int bounded(const struct align *a, size_t r)
{
	return r ? r < a->nr || a->after : a->before != 0;
}

/* More ids than usual between these two records: something may be missing there. */
static int wide(const struct align *a, size_t r)
{
	return bounded(a, r) && (double)jump(a, r) > 2.0 * a->usual[r] + 4 * a->ids_per_call + 4;
}

/* How many calls fit into what is unusual of a jump. */
static double calls_in(const struct align *a, size_t r)
{
	double ids = (double)jump(a, r) - (bounded(a, r) ? a->usual[r] : 1);

	return ids > 0 ? ids / a->ids_per_call : 0;
}

/* How many records from r on fit host calls from h on, one by one, up to `max`. */
static size_t run(const struct align *a, size_t h, size_t h1, size_t r, size_t r1, size_t max)
{
	size_t n = 0;

	while (n < max && h + n < h1 && r + n < r1 && fits(a, h + n, r + n))
		n++;
	return n;
}

static void match(struct align *a, size_t h, size_t r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		a->r[r + i].match = (uint32_t)(h + i);
}

/*
 * One hole: `d` host calls without record lie before record `cut`, lo <= cut <= hi; hi == nr is the tail. Returns the
 * cut, or SIZE_MAX if the ids say that there is more than one hole.
 */
static size_t cut_records(const struct align *a, size_t lo, size_t hi, uint64_t d,
			  enum wt_align_how how)
{
	size_t best = SIZE_MAX, inside = 0;

	for (size_t c = lo; c <= hi; c++) {
		if (!wide(a, c))
			continue;
		inside++;
		if (jump(a, c) > d && calls_in(a, c) < 2.0 * (double)d + 8 &&
		    calls_in(a, c) > 0.5 * (double)d - 8)
			best = c;
	}
	if (inside)
		return inside == 1 ? best : SIZE_MAX;
	if (hi == a->nr && how == WT_ALIGN_LOSSY_CUT && !a->after)
		return hi;
	/* no unusual jump: the least usual of those that can hold the hole */
	for (size_t c = lo; c <= hi; c++)
		if (bounded(a, c) && jump(a, c) > d &&
		    (best == SIZE_MAX || calls_in(a, c) > calls_in(a, best)))
			best = c;
	/* the first record's id counts from the start of the process: weak evidence, taken where there is no better */
	if (!lo && !a->before && jump(a, 0) > d &&
	    (best == SIZE_MAX || calls_in(a, best) < 0.5 * (double)d))
		best = 0;
	return best != SIZE_MAX ? best : hi;
}

/* One hole on the other side: records without host call lie before host call `cut`. */
static size_t cut_hosts(const struct align *a, size_t h1, size_t lo, size_t hi)
{
	size_t best = hi;
	uint32_t most = 0;

	for (size_t c = lo; c <= hi && c < h1; c++) {
		if (a->h[c].lost > most) {
			most = a->h[c].lost;
			best = c;
		}
	}
	return best;
}

/*
 * Dynamic programming with affine gaps over a window: scores 4 for a signature, 1 for a mere fit, -5 for opening a gap.
 * Matches what it finds.
 */
struct cell {
	int m, x, y; /* best score ending in a match, a host call skipped, a record skipped */
};
#define NEVER (-1000000)

static int best3(int m, int x, int y, int *ret)
{
	*ret = m >= x && m >= y ? 0 : x >= y ? 1 : 2;
	return *ret == 0 ? m : *ret == 1 ? x : y;
}

static void fill_window(struct align *a, size_t h0, size_t n, size_t r0, size_t k)
{
	struct cell prev[WINDOW + 1], cur[WINDOW + 1];

	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= k; j++) {
			struct cell *c = &cur[j];
			int from_m = 0, from_x = 0, from_y = 0, f;

			c->m = c->x = c->y = NEVER;
			if (i == 0 && j == 0)
				c->m = 0;
			if (i && j && (f = fits(a, h0 + i - 1, r0 + j - 1)))
				c->m = (f == 2 ? 4 : 1) +
				       best3(prev[j - 1].m, prev[j - 1].x, prev[j - 1].y, &from_m);
			if (i)
				c->x = best3(prev[j].m - 5, prev[j].x, prev[j].y - 5, &from_x);
			if (j)
				c->y = best3(cur[j - 1].m - 5, cur[j - 1].x - 5, cur[j - 1].y,
					     &from_y);
			a->trace[i * (WINDOW + 1) + j] =
				(uint8_t)(from_m | from_x << 2 | from_y << 4);
		}
		memcpy(prev, cur, (k + 1) * sizeof(cur[0]));
		if (i == n) /* the caller starts its way back at the best of the last row */
			a->trace[(WINDOW + 1) * (WINDOW + 1)] =
				(uint8_t)(cur[k].m >= cur[k].x && cur[k].m >= cur[k].y ? 0
					  : cur[k].x >= cur[k].y		       ? 1
										       : 2);
	}
}

static int solve_window(struct align *a, size_t h0, size_t n, size_t r0, size_t k)
{
	size_t i = n, j = k;
	int state;

	if (!a->trace) {
		a->trace = malloc((WINDOW + 1) * (WINDOW + 1) + 1);
		if (!a->trace) {
			a->nomem = 1;
			return 0;
		}
	}
	fill_window(a, h0, n, r0, k);
	state = a->trace[(WINDOW + 1) * (WINDOW + 1)];
	while (i || j) {
		int t = a->trace[i * (WINDOW + 1) + j];

		if (state == 0) {
			if (!i || !j)
				break;
			a->r[r0 + j - 1].match = (uint32_t)(h0 + i - 1);
			i--, j--;
			state = t & 3;
		} else if (state == 1) {
			i--;
			state = t >> 2 & 3;
		} else {
			j--;
			state = t >> 4 & 3;
		}
	}
	return 1;
}

/*
 * At host call h and record r something is missing. Finds how many host calls to skip: the length nearest to what the
 * jump of the ids says, among those from which the records fit on. Returns 0 = none, 1 and *ret_skip, 2 = and another
 * length is nearly as good.
 */
static int place(const struct align *a, size_t h, size_t h1, size_t r, size_t r1, size_t *ret_skip)
{
	uint64_t ids = jump(a, r), limit = ids ? ids - 1 : 0;
	double want = calls_in(a, r), best = 0, second = -1, slack = 2 + 0.02 * want;
	size_t deficit = h1 - h > r1 - r ? (h1 - h) - (r1 - r) : 0, need;
	int found = 0;

	if (limit > deficit + REACH)
		limit = deficit + REACH;
	need = r1 - r < RUN ? r1 - r : RUN;
	for (size_t d = 0; d <= limit && h + d < h1; d++) {
		double off = (double)d > want ? (double)d - want : want - (double)d;
		size_t got;

		if (second >= 0 && off >= second)
			continue;
		got = run(a, h + d, h1, r, r1, need);
		/* a second hole may come before RUN records are through: some of them, with a jump behind, will do */
		if (got < need && (got < 4 || r + got >= r1 || !wide(a, r + got)))
			continue;
		if (found && off >= best) {
			second = off;
			continue;
		}
		if (found)
			second = best;
		found = 1;
		best = off;
		*ret_skip = d;
	}
	return found ? 1 + (second >= 0 && second - best <= slack) : 0;
}

/* A record of a window that could as well belong to a host call left over there. */
static void mark_window(struct align *a, size_t h, size_t n, size_t r, size_t k)
{
	for (size_t j = r; j < r + k; j++) {
		size_t own = a->r[j].match;

		if (own == WT_ALIGN_NONE)
			continue;
		for (size_t i = h; i < h + n && !a->r[j].ambiguous; i++) {
			int taken = 0;

			if (i == own || !fits(a, i, j))
				continue;
			for (size_t q = r; q < r + k && !taken; q++)
				taken = a->r[q].match == i;
			a->r[j].ambiguous = !taken;
		}
		a->r[j].ambiguous |= a->both != 0;
	}
}

/* One window of disorder at (*h, *r): solved, and its first half kept. Returns 0 when there is nothing behind it. */
static int cross_window(struct align *a, size_t *h, size_t h1, size_t *r, size_t r1)
{
	size_t n = h1 - *h < WINDOW ? h1 - *h : WINDOW;
	size_t k = r1 - *r < WINDOW ? r1 - *r : WINDOW;
	size_t half = (k + 1) / 2, h0 = *h;

	if (!solve_window(a, h0, n, *r, k))
		return 0;
	mark_window(a, h0, n, *r, k);
	if (n == h1 - h0 && k == r1 - *r)
		return 0;
	/* what lies at the far edge was decided without what follows */
	for (size_t i = 0; i < half; i++)
		if (a->r[*r + i].match != WT_ALIGN_NONE)
			*h = (size_t)a->r[*r + i].match + 1;
	for (size_t i = half; i < k; i++) {
		a->r[*r + i].match = WT_ALIGN_NONE;
		a->r[*r + i].ambiguous = 0;
	}
	*r += half;
	return 1;
}

static void solve_middle(struct align *a, size_t h, size_t h1, size_t r, size_t r1)
{
	uint8_t doubt = a->both != 0;

	while (h < h1 && r < r1 && !a->nomem) {
		int hole = h1 - h > r1 - r && wide(a, r), placed;
		size_t skip = 0;

		if (hole || !fits(a, h, r)) {
			placed = place(a, h, h1, r, r1, &skip);
			if (!placed) {
				doubt = a->both != 0;
				if (!cross_window(a, &h, h1, &r, r1))
					return;
				continue;
			}
			h += skip;
			doubt = a->both || placed == 2;
		}
		a->r[r].ambiguous = doubt;
		a->r[r++].match = (uint32_t)h++;
	}
}

static void align_all(struct align *a, size_t nh, enum wt_align_how how)
{
	size_t nr = a->nr, least = nh < nr ? nh : nr, f, g, cut;

	f = run(a, 0, nh, 0, nr, least);
	/* Where nothing is lost, host calls without record are the last ones: not delivered yet. */
	if (f == nr && (nh == nr || (how == WT_ALIGN_WHOLE && !a->after))) {
		match(a, 0, 0, nr);
		return;
	}
	for (g = 0; g < least && fits(a, nh - 1 - g, nr - 1 - g); g++)
		;
	if (nh > nr && f + g >= nr && !a->both) {
		cut = cut_records(a, nr - g, f, nh - nr, how);
		if (cut != SIZE_MAX) {
			match(a, 0, 0, cut);
			match(a, nh - nr + cut, cut, nr - cut);
			return;
		}
	}
	if (nh < nr && f + g >= nh && !a->both) {
		cut = cut_hosts(a, nh, nh - g, f);
		match(a, 0, 0, cut);
		match(a, cut, nr - nh + cut, nh - cut);
		return;
	}
	/* A mere fit next to the trouble may be part of it; beyond an unusual jump a fit may be a period off. */
	while (f && fits(a, f - 1, f - 1) < 2)
		f--;
	while (g && fits(a, nh - g, nr - g) < 2)
		g--;
	for (size_t i = 0; i < f; i++)
		if (wide(a, i) || (a->both && a->h[i].lost))
			f = i;
	for (size_t i = 0; i < g; i++)
		if (wide(a, nr - i) || (a->both && i && a->h[nh - i].lost))
			g = i;
	/* What a killed job had in flight, or a tail of rows that is lost, shifts the end: only the front is firm. */
	if (how != WT_ALIGN_LOSSY && !a->after)
		g = 0;
	if (f + g > least)
		g = least - f;
	match(a, 0, 0, f);
	match(a, nh - g, nr - g, g);
	solve_middle(a, f, nh - g, f, nr - g);
}

struct pair {
	uint64_t key, jump;
	uint32_t at;
};

static int cmp_pair(const void *pa, const void *pb)
{
	const struct pair *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->jump > b->jump) - (a->jump < b->jump);
}

/*
 * What a jump usually is, by the signatures on both sides: jobs pause at the same places of each step, so a pause is
 * usual there. Pairs seen less than three times say nothing: they get the median of all. Fills usual[0 .. nr].
 */
static int learn_usual(const struct wt_align_record *r, size_t nr, float *usual)
{
	struct pair *p = malloc(nr * sizeof(*p));
	double all;

	if (!p)
		return -WT_E_NOMEM;
	for (size_t i = 1; i < nr; i++)
		p[i - 1] = (struct pair){0, r[i].correlation - r[i - 1].correlation, (uint32_t)i};
	qsort(p, nr - 1, sizeof(*p), cmp_pair);
	all = nr > 1 ? (double)p[(nr - 1) / 2].jump : 1;
	usual[0] = usual[nr] = (float)all;
	for (size_t i = 0; i + 1 < nr; i++)
		p[i].key = r[p[i].at].signature * 0x9E3779B97F4A7C15u + r[p[i].at - 1].signature;
	qsort(p, nr - 1, sizeof(*p), cmp_pair);
	for (size_t i = 0, j; i + 1 < nr; i = j) {
		for (j = i; j + 1 < nr && p[j].key == p[i].key; j++)
			;
		for (size_t k = i; k < j; k++)
			usual[p[k].at] = (float)(j - i < 3 ? all : (double)p[i + (j - i) / 2].jump);
	}
	free(p);
	return 0;
}

static double mean_ids(const struct wt_align_record *r, size_t nr, const float *usual)
{
	double sum = 0, mean;

	for (size_t i = 1; i < nr; i++) {
		double j = (double)(r[i].correlation - r[i - 1].correlation);

		sum += j < usual[i] ? j : usual[i];
	}
	mean = nr > 1 ? sum / (double)(nr - 1) : 1;
	return mean >= 1 ? mean : 1;
}

double wt_align_ids_per_call(const struct wt_align_record *r, size_t nr)
{
	float *usual = nr ? malloc((nr + 1) * sizeof(*usual)) : NULL;
	double mean = usual && !learn_usual(r, nr, usual) ? mean_ids(r, nr, usual) : 1;

	free(usual);
	return mean;
}

/*
 * A hole of d host calls lies before record r. Could it as well lie before record c? Not without ids enough; nor where
 * they are usual, if the jump before r is unusual and so explains itself.
 */
static int as_well(const struct align *a, size_t r, size_t c, size_t d)
{
	return jump(a, c) > d && (r == a->nr || !wide(a, r) || wide(a, c));
}

/*
 * How far could the hole be moved to the left, so that the records passed belong to the calls d further on? Returns the
 * first record in doubt; `before` is the one behind the last record in front of the hole.
 */
static size_t doubt_left(const struct align *a, size_t before, size_t r, size_t d, size_t *budget)
{
	size_t first = before;

	for (size_t i = before; i > 0 && a->r[i - 1].match != WT_ALIGN_NONE && *budget; i--) {
		size_t h = a->r[i - 1].match;

		--*budget;
		/* a hole that is there already explains its jump */
		if (!fits(a, h + d, i - 1) || (i > 1 && h && a->r[i - 2].match != h - 1))
			break;
		if (as_well(a, r, i - 1, d))
			first = i - 1;
	}
	return first;
}

/* The same to the right: returns the record behind the last in doubt. */
static size_t doubt_right(const struct align *a, size_t r, size_t d, enum wt_align_how how,
			  size_t *budget)
{
	size_t last = r;

	for (size_t i = r; i < a->nr && a->r[i].match != WT_ALIGN_NONE && *budget; i++) {
		size_t h = a->r[i].match;

		--*budget;
		if ((i > r && a->r[i - 1].match != h - 1) || h < d || !fits(a, h - d, i))
			break;
		if (i + 1 == a->nr && !a->after) {
			if (how == WT_ALIGN_LOSSY_CUT && !wide(a, r))
				last = i + 1;
		} else if ((i + 1 == a->nr || a->r[i + 1].match == h + 1) &&
			   as_well(a, r, i + 1, d)) {
			last = i + 1;
		}
	}
	return last;
}

static void mark_ambiguous(struct align *a, size_t nh, enum wt_align_how how)
{
	size_t budget = 64 * (a->nr + 1024); /* hostile input has a hole everywhere */

	for (size_t r = 0, before = 0; r <= a->nr; r++) {
		size_t from, to, i;

		if (r < a->nr && a->r[r].match == WT_ALIGN_NONE)
			continue;
		if (r == a->nr && how == WT_ALIGN_WHOLE)
			break;
		/* before = behind the last matched record */
		from = before ? (size_t)a->r[before - 1].match + 1 : 0;
		to = r < a->nr ? a->r[r].match : nh;
		if (to > from) {
			for (i = doubt_left(a, before, r, to - from, &budget); i < before; i++)
				a->r[i].ambiguous = 1;
			for (i = doubt_right(a, r, to - from, how, &budget); i > r; i--)
				a->r[i - 1].ambiguous = 1;
		}
		before = r + 1;
	}
}

int wt_align(const struct wt_align_host *h, size_t nh, struct wt_align_record *r, size_t nr,
	     enum wt_align_how how, const struct wt_align_around *around)
{
	struct align a = {.h = h, .r = r, .nr = nr};
	int err;

	for (size_t i = 0; i < nr; i++) {
		r[i].match = WT_ALIGN_NONE;
		r[i].ambiguous = 0;
	}
	if (!nh || !nr)
		return 0;
	if (around) {
		a.before = around->before;
		a.after = around->after;
	}
	a.usual = malloc((nr + 1) * sizeof(*a.usual));
	if (!a.usual)
		return -WT_E_NOMEM;
	err = learn_usual(r, nr, a.usual);
	if (!err) {
		a.ids_per_call = mean_ids(r, nr, a.usual);
		if (around && around->ids_per_call > 0) {
			a.ids_per_call = around->ids_per_call;
			/* few records know little of what is usual */
			for (size_t i = 0; i <= nr; i++)
				if (nr < 64 && a.usual[i] > a.ids_per_call)
					a.usual[i] = (float)a.ids_per_call;
		}
		a.both = how == WT_ALIGN_LOSSY_BOTH;
		align_all(&a, nh, how);
		err = a.nomem ? -WT_E_NOMEM : 0;
	}
	if (!err)
		mark_ambiguous(&a, nh, how);
	free(a.usual);
	free(a.trace);
	return err;
}
