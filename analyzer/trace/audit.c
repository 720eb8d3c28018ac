/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Do steps take longer while they are recorded? An audit of what the job itself shows, beside the costs that the
 * recorder measures directly: steps inside windows against steps of the same run outside of them.
 *
 *   blocks   of steps between two changes of level (State.steps); the steps at a change are in none
 *   pairs    of neighbours, one recorded and one not; each block in one pair at most, and the recorded one first in
 *            every second pair, so that a job that slowly gets faster or slower moves the pairs apart, not their middle
 *   middle   Hodges-Lehmann: the median of the means of all two pairs; it and the interval (of the signed-rank test,
 *            which asks for no distribution) stay where they are when single blocks are far off
 *
 * With less than WT_AUDIT_PAIRS pairs nothing is said.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/wt_err.h"
#include "trace/trace.h"

#define RECORDED  3u
#define PAIRS_MAX 512  /* more are averaged in groups: all two of them are looked at */
#define Z_95	  1.96 /* of the normal distribution */
#define PPM_MAX	  1e12

/*
 * Steps are told by the State that ends them. Between READY and OURS, and from the end of collection to the State with
 * the level that stays, the recorder is at work for the window: such steps are neither inside nor outside.
 */
void wt_trace_load_steps(struct wt_trace *t, const Warptap__V1__State *m, int on)
{
	int between = t->block_level != RECORDED && (on || t->block_after_on);

	if (m->steps && m->step_ticks && !between && wt_trace_room(t, 1)) {
		struct wt_step_block *b = wt_vec_add(&t->blocks);

		if (b)
			*b = (struct wt_step_block){t->block_level, m->steps, m->step_ticks};
		else
			t->error = -WT_E_NOMEM;
	}
	t->block_after_on = t->block_level == RECORDED;
	t->block_level = on ? RECORDED : m->level < 2 ? m->level : 2;
}

struct pairs {
	double *d; /* by how much recorded steps took longer, of 1 */
	size_t n;
	uint64_t steps;
};

static double step_ticks(const struct wt_step_block *b)
{
	return (double)b->ticks / (double)b->steps;
}

/* Neighbouring blocks of one kind are one; others than `level` and recorded ones are left out. */
static size_t chain(const struct wt_trace *t, uint32_t level, struct wt_step_block *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < t->blocks.n; i++) {
		const struct wt_step_block *b = &t->blocks.p[i];

		if (b->level != level && b->level != RECORDED)
			continue;
		if (n && ret[n - 1].level == b->level) {
			ret[n - 1].steps += b->steps;
			ret[n - 1].ticks += b->ticks;
		} else {
			ret[n++] = *b;
		}
	}
	return n;
}

static void pair_up(const struct wt_step_block *b, size_t n, struct pairs *ret)
{
	ret->n = ret->steps = 0;
	/* Two of a pair, then one left out, which puts the other kind first. */
	for (size_t i = 0; i + 1 < n; i += 3) {
		int first = b[i].level == RECORDED;
		double with = step_ticks(&b[first ? i : i + 1]);

		ret->d[ret->n++] = with / step_ticks(&b[first ? i + 1 : i]) - 1;
		ret->steps += b[i].steps + b[i + 1].steps;
	}
}

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Averages of equal groups, PAIRS_MAX at most; what is left over at the end is left out. */
static size_t in_groups(double *d, size_t n)
{
	size_t each = (n + PAIRS_MAX - 1) / PAIRS_MAX, groups = n / each;

	for (size_t g = 0; g < groups; g++) {
		double sum = 0;

		for (size_t i = 0; i < each; i++)
			sum += d[g * each + i];
		d[g] = sum / (double)each;
	}
	return groups;
}

static int64_t ppm(double v)
{
	v *= 1e6;
	return (int64_t)llround(v < -PPM_MAX ? -PPM_MAX : v > PPM_MAX ? PPM_MAX : v);
}

static int estimate(double *d, size_t n, struct wt_process *p)
{
	size_t means = 0, cut;
	double *mean, all, off;

	n = in_groups(d, n);
	mean = malloc(n * (n + 1) / 2 * sizeof(*mean));
	if (!mean)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k <= i; k++)
			mean[means++] = (d[i] + d[k]) / 2;
	qsort(mean, means, sizeof(*mean), cmp_double);
	all = (double)n * (double)(n + 1);
	off = all / 4 - Z_95 * sqrt(all * (double)(2 * n + 1) / 24) - 0.5;
	cut = off > 0 ? (size_t)off : 0;
	p->audit_ppm = ppm((mean[(means - 1) / 2] + mean[means / 2]) / 2);
	p->audit_low_ppm = ppm(mean[cut]);
	p->audit_high_ppm = ppm(mean[means - 1 - cut]);
	free(mean);
	return 0;
}

static int64_t budget_ppm(struct wt_trace *t)
{
	double percent = 0;

	for (size_t i = 0; i < t->environment.n; i++)
		if (!strcmp(wt_builder_get(t->b, t->environment.p[i].key), "WARPTAP_BUDGET"))
			percent = strtod(wt_builder_get(t->b, t->environment.p[i].value), NULL);
	return percent > 0 && percent <= 100 ? ppm(percent / 100) : 10000; /* none: what is usual */
}

/* Against the level outside of windows with which most pairs are to be had. */
static int audit(struct wt_trace *t, struct wt_process *p, struct wt_step_block *b, double *d)
{
	struct pairs pairs = {.d = d};
	int level = 0;
	size_t most = 0;

	for (int l = 0; l < (int)RECORDED; l++) {
		pair_up(b, chain(t, (uint32_t)l, b), &pairs);
		if (pairs.n > most) {
			most = pairs.n;
			level = l;
		}
	}
	pair_up(b, chain(t, (uint32_t)level, b), &pairs);
	p->audit_pairs = (int64_t)pairs.n;
	p->audit_steps = (int64_t)(pairs.steps & INT64_MAX);
	p->audit_level = level;
	p->audit_budget_ppm = budget_ppm(t);
	return pairs.n < WT_AUDIT_PAIRS ? 0 : estimate(d, pairs.n, p);
}

void wt_trace_audit(struct wt_trace *t, struct wt_process *p)
{
	struct wt_step_block *b;
	double *d;

	if (t->blocks.n < 2)
		return;
	b = malloc(t->blocks.n * sizeof(*b));
	d = malloc(t->blocks.n * sizeof(*d));
	if (!b || !d || audit(t, p, b, d))
		t->error = -WT_E_NOMEM;
	free(b);
	free(d);
}
