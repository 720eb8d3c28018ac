/* SPDX-License-Identifier: Apache-2.0 */
/* The same waits by step: how much each step lost, and to whom most of it. Steps come from outside (axes). */
#include <stdlib.h>

#include "proto/wt_err.h"
#include "ranks/ranks_impl.h"

static int cmp_window(const void *pa, const void *pb)
{
	const struct wt_rank_window *x = pa, *y = pb;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

size_t wt_rank_window_at(const struct wt_rank_window *windows, size_t n, uint16_t process,
			 int64_t ns)
{
	struct wt_rank_window key = {.process = process, .start_ns = ns};
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (cmp_window(&windows[mid], &key) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || windows[lo - 1].process != process || windows[lo - 1].end_ns <= ns)
		return SIZE_MAX;
	return lo - 1;
}

/* So that rows of one step, culprit and leaf meet. */
static int cmp_same(const void *pa, const void *pb)
{
	const struct wt_step_blame *x = pa, *y = pb;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (x->culprit != y->culprit)
		return x->culprit < y->culprit ? -1 : 1;
	return x->leaf - y->leaf;
}

/* Of a step, what cost most first. */
static int cmp_step(const void *pa, const void *pb)
{
	const struct wt_step_blame *x = pa, *y = pb;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (x->wait_ns != y->wait_ns)
		return x->wait_ns > y->wait_ns ? -1 : 1;
	return cmp_same(pa, pb);
}

static void sum_up(struct wt_ranks *r)
{
	size_t n = 0, m = 0;

	if (r->nsteps)
		qsort(r->steps, r->nsteps, sizeof(*r->steps), cmp_same);
	for (size_t i = 0; i < r->nsteps; i++) {
		if (n && !cmp_same(&r->steps[n - 1], &r->steps[i]))
			r->steps[n - 1].wait_ns += r->steps[i].wait_ns;
		else
			r->steps[n++] = r->steps[i];
	}
	if (n)
		qsort(r->steps, n, sizeof(*r->steps), cmp_step);
	for (size_t i = 0; i < n; i++) {
		if (m && r->steps[m - 1].step == r->steps[i].step) {
			r->steps[m - 1].all_ns += r->steps[i].wait_ns;
			continue;
		}
		r->steps[m] = r->steps[i];
		r->steps[m].all_ns = r->steps[m].wait_ns;
		m++;
	}
	r->nsteps = m;
}

int wt_ranks_steps(struct wt_ranks *r, struct wt_rank_window *windows, size_t n)
{
	uint32_t *numbers = malloc((n + 1) * sizeof(*numbers));
	struct wt_map seen = {.count = 0};
	int err;

	free(r->steps);
	r->steps = malloc((r->nwaits + 1) * sizeof(*r->steps));
	r->nsteps = 0;
	err = numbers && r->steps ? 0 : -WT_E_NOMEM;
	if (!err && n)
		qsort(windows, n, sizeof(*windows), cmp_window);
	for (size_t i = 0; !err && i < n; i++) {
		uint32_t *at =
			wt_map_slot(&seen, (uint64_t)windows[i].number, (uint32_t)seen.count, NULL);

		err = at ? 0 : -WT_E_NOMEM;
		numbers[i] = at ? *at : 0;
	}
	for (size_t i = 0; !err && n && i < r->nwaits; i++) {
		const struct wt_rank_wait *w = &r->waits[i];
		const struct wt_part *p = &r->parts[w->part];
		size_t at = wt_rank_window_at(windows, n, r->seats[p->seat].process, p->start_ns);

		if (at != SIZE_MAX)
			r->steps[r->nsteps++] = (struct wt_step_blame){.step = windows[at].number,
								       .culprit = w->culprit,
								       .leaf = w->leaf,
								       .wait_ns = p->exposed_ns};
	}
	if (!err)
		sum_up(r);
	/* Few steps prove nothing of habits; the operations in them may. */
	if (seen.count < WT_RANK_WINDOWS_LEAST)
		n = 0;
	err = err ? err : wt_ranks_scores(r, windows, numbers, n, (uint32_t)seen.count);
	wt_map_release(&seen);
	free(numbers);
	return err;
}
