/* SPDX-License-Identifier: Apache-2.0 */
/* See clocks.h. Differences of times are small and kept in int64; only slopes are doubles. */
#include "ranks/clocks.h"

#include <stdlib.h>
#include <string.h>

#include "proto/wt_err.h"

#define FAR_NS	    (INT64_MAX / 3) /* of a time: 97 years from its zero */
#define APART_NS    (INT64_MAX / 4) /* of two clocks: then sums of a few differences stay in range */
#define DRIFT_MOST  0.01
#define BUCKETS	    32
#define DRIFT_LEAST 8 /* samples, below which no drift is looked for */

struct pair { /* b against a */
	uint32_t a, b, samples;
	int64_t at_ns, offset_ns, residual_ns; /* of b's clock: b - a = offset + drift * (b - at) */
	double drift;
	uint8_t used;
};

static int cmp_sample(const void *pa, const void *pb)
{
	const struct wt_clock_sample *x = pa, *y = pb;

	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	if (x->b != y->b)
		return x->b < y->b ? -1 : 1;
	return (x->b_ns > y->b_ns) - (x->b_ns < y->b_ns);
}

static int cmp_ns(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return (a > b) - (a < b);
}

static int cmp_double(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

static int64_t quantile(int64_t *v, size_t n, int percent)
{
	qsort(v, n, sizeof(*v), cmp_ns);
	return v[(n - 1) * (size_t)percent / 100];
}

static int beyond(int64_t ns, int64_t most_ns)
{
	return ns > most_ns || ns < -most_ns;
}

static int64_t rest_of(const struct wt_clock_sample *s, const struct pair *p, double drift)
{
	return s->b_ns - s->a_ns - p->offset_ns - (int64_t)(drift * (double)(s->b_ns - p->at_ns));
}

static int64_t residual(const struct wt_clock_sample *s, size_t n, const struct pair *p,
			double drift, int64_t *scratch)
{
	for (size_t i = 0; i < n; i++) {
		scratch[i] = rest_of(&s[i], p, drift);
		scratch[i] = scratch[i] < 0 ? -scratch[i] : scratch[i];
	}
	return quantile(scratch, n, 95);
}

/* The median slope between the medians of equal shares of the samples. */
static double slope_of(const struct wt_clock_sample *s, size_t n, int64_t *scratch)
{
	size_t buckets = n / 2 < BUCKETS ? n / 2 : BUCKETS, nslopes = 0;
	int64_t at[BUCKETS], diff[BUCKETS];
	double slopes[BUCKETS * BUCKETS / 2] = {0};

	for (size_t k = 0; k < buckets; k++) {
		size_t from = n * k / buckets, to = n * (k + 1) / buckets;

		for (size_t i = from; i < to; i++)
			scratch[i - from] = s[i].b_ns - s[i].a_ns;
		diff[k] = quantile(scratch, to - from, 50);
		at[k] = s[from + (to - from) / 2].b_ns;
	}
	for (size_t i = 0; i < buckets; i++)
		for (size_t j = i + 1; j < buckets; j++)
			if (at[j] > at[i])
				slopes[nslopes++] =
					(double)(diff[j] - diff[i]) / (double)(at[j] - at[i]);
	if (!nslopes)
		return 0;
	qsort(slopes, nslopes, sizeof(*slopes), cmp_double);
	return slopes[(nslopes - 1) / 2];
}

static void fit_pair(const struct wt_clock_sample *s, size_t n, struct pair *p, int64_t *scratch)
{
	struct pair sloped;
	double drift;

	*p = (struct pair){.a = s->a, .b = s->b, .samples = (uint32_t)n};
	for (size_t i = 0; i < n; i++)
		scratch[i] = s[i].b_ns - s[i].a_ns;
	p->offset_ns = quantile(scratch, n, 50);
	p->at_ns = s[n / 2].b_ns;
	p->residual_ns = residual(s, n, p, 0, scratch);
	if (n < DRIFT_LEAST)
		return;
	sloped = *p;
	drift = slope_of(s, n, scratch);
	if (!(drift > -DRIFT_MOST && drift < DRIFT_MOST))
		return;
	for (size_t i = 0; i < n; i++)
		scratch[i] =
			s[i].b_ns - s[i].a_ns - (int64_t)(drift * (double)(s[i].b_ns - p->at_ns));
	sloped.offset_ns = quantile(scratch, n, 50);
	sloped.residual_ns = residual(s, n, &sloped, drift, scratch);
	sloped.drift = drift;
	if (sloped.residual_ns <= p->residual_ns / 2)
		*p = sloped;
}

static int cmp_pair(const void *pa, const void *pb)
{
	const struct pair *x = pa, *y = pb;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	if (x->a != y->a)
		return x->a < y->a ? -1 : 1;
	return (x->b > y->b) - (x->b < y->b);
}

int64_t wt_clock_to_root(const struct wt_clock *c, int64_t own_ns)
{
	return own_ns - c->offset_ns - (int64_t)(c->drift * (double)(own_ns - c->at_ns));
}

int64_t wt_clock_from_root(const struct wt_clock *c, int64_t root_ns)
{
	/* own - offset - drift (own - at) = root, solved for own - at */
	double ahead = (double)(root_ns - (c->at_ns - c->offset_ns)) / (1 - c->drift);
	int64_t flat_ns = root_ns + c->offset_ns;

	return flat_ns + (int64_t)(ahead - (double)(flat_ns - c->at_ns));
}

/* Maps `other` onto the root through its pair with a clock that is known already. */
static void attach(struct wt_clock *clocks, uint32_t known, uint32_t other, const struct pair *p)
{
	const struct wt_clock *k = &clocks[known];
	struct wt_clock *c = &clocks[other];
	/* other minus known at other's time at: of the pair as fitted, or turned round */
	int64_t at_ns = other == p->b ? p->at_ns : p->at_ns - p->offset_ns;
	int64_t diff_ns = other == p->b ? p->offset_ns : -p->offset_ns;
	double drift = other == p->b ? p->drift : -p->drift / (1 - p->drift);
	int64_t known_ns = at_ns - diff_ns;

	if (beyond(known_ns, FAR_NS) || beyond(wt_clock_to_root(k, known_ns), FAR_NS))
		return;
	c->root = k->root;
	c->state = WT_CLOCK_FITTED;
	c->at_ns = at_ns;
	c->offset_ns = at_ns - wt_clock_to_root(k, known_ns);
	c->drift = 1 - (1 - drift) * (1 - k->drift);
	c->residual_ns = p->residual_ns + k->residual_ns;
	c->samples = p->samples;
}

/* Best pairs first; a pair joins when one of its clocks is known. Pairs are few: seats that share a communicator. */
static void join_pairs(struct pair *pairs, size_t npairs, struct wt_clock *clocks, size_t n)
{
	for (size_t r = 0; r < n; r++) {
		int grew = 1;

		if (clocks[r].state != WT_CLOCK_UNKNOWN)
			continue;
		while (grew) {
			grew = 0;
			for (size_t i = 0; i < npairs && !grew; i++) {
				struct pair *p = &pairs[i];
				int a = clocks[p->a].state || p->a == r,
				    b = clocks[p->b].state || p->b == r;

				if (p->used || a == b)
					continue;
				p->used = 1;
				if (clocks[r].state == WT_CLOCK_UNKNOWN)
					clocks[r].state = WT_CLOCK_ROOT;
				attach(clocks, a ? p->a : p->b, a ? p->b : p->a, p);
				grew = 1;
			}
		}
	}
}

int wt_clocks_fit(struct wt_clock_sample *samples, size_t nsamples, struct wt_clock *clocks,
		  size_t n)
{
	int64_t *scratch = malloc((nsamples + 1) * sizeof(*scratch));
	struct pair *pairs = NULL;
	size_t npairs = 0, room = 0;
	int err = scratch ? 0 : -WT_E_NOMEM;

	for (size_t i = 0; i < n; i++)
		clocks[i] = (struct wt_clock){.root = (uint32_t)i};
	for (size_t i = 0, kept = 0, all = nsamples; i < all; i++, nsamples = kept)
		if (!beyond(samples[i].a_ns, FAR_NS) && !beyond(samples[i].b_ns, FAR_NS) &&
		    !beyond(samples[i].b_ns - samples[i].a_ns, APART_NS))
			samples[kept++] = samples[i];
	if (nsamples)
		qsort(samples, nsamples, sizeof(*samples), cmp_sample);
	for (size_t i = 0, end; !err && i < nsamples; i = end) {
		for (end = i; end < nsamples && samples[end].a == samples[i].a &&
			      samples[end].b == samples[i].b;)
			end++;
		if (npairs == room) {
			struct pair *more = realloc(pairs, (room = room * 2 + 16) * sizeof(*pairs));

			if (!more) {
				err = -WT_E_NOMEM;
				break;
			}
			pairs = more;
		}
		fit_pair(samples + i, end - i, &pairs[npairs++], scratch);
	}
	if (npairs)
		qsort(pairs, npairs, sizeof(*pairs), cmp_pair);
	if (!err)
		join_pairs(pairs, npairs, clocks, n);
	free(scratch);
	free(pairs);
	return err;
}
