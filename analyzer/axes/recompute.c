/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forward once more, inside backward: activation checkpointing runs the forward of a part of the model again, on
 * autograd's thread. It is the same kernels of the same shapes in the same order, which backward's own work is not. A
 * run of backward's kernels is recompute if it repeats a run of the step's forward kernels, is MIN_RUN long, and has a
 * matrix product or attention and MIN_DIFFERENT different kernels in it: elementwise kernels alone repeat by chance.
 */
#include <stdlib.h>

#include "axes/axes_impl.h"
#include "base/map.h"

#define GRAM	      4
#define MIN_RUN	      5
#define MIN_DIFFERENT 4

struct side {
	const struct wt_launch **rows;
	size_t n;
};

static uint64_t gram(const struct side *s, size_t i)
{
	uint64_t h = 0;

	for (size_t k = 0; k < GRAM; k++)
		h = wt_mix64(h ^ s->rows[i + k]->key);
	return h;
}

static int is_telling(const struct side *s, size_t i, size_t n)
{
	int different = 0, matrix = 0;

	if (n < MIN_RUN)
		return 0;
	for (size_t k = i; k < i + n; k++) {
		size_t j = i;

		matrix |= s->rows[k]->matrix;
		while (j < k && s->rows[j]->key != s->rows[k]->key)
			j++;
		different += j == k;
		if (matrix && different >= MIN_DIFFERENT)
			return 1;
	}
	return 0;
}

static size_t run_at(const struct side *f, size_t i, const struct side *b, size_t j)
{
	size_t n = 0;

	while (i + n < f->n && j + n < b->n && f->rows[i + n]->key == b->rows[j + n]->key)
		n++;
	return n;
}

static int mark_runs(struct wt_axes *a, const struct side *f, const struct side *b)
{
	struct wt_map first = {.count = 0}; /* gram of forward -> its first place */
	uint32_t at;
	int err = 0;

	for (size_t i = f->n >= GRAM ? f->n - GRAM + 1 : 0; !err && i-- > 0;)
		err = wt_map_put(&first, gram(f, i), (uint32_t)i);
	for (size_t j = 0; !err && j + GRAM <= b->n;) {
		size_t n = wt_map_get(&first, gram(b, j), &at) ? run_at(f, at, b, j) : 0;

		if (!is_telling(b, j, n)) {
			/* No part of the run tells more; what begins at its end may. */
			j += n > GRAM ? n - GRAM + 1 : 1;
			continue;
		}
		for (size_t k = j; k < j + n; k++) {
			a->phase[b->rows[k]->op] = WT_PHASE_RECOMPUTE;
			a->phase_grade[b->rows[k]->op] = 2;
		}
		j += n;
	}
	wt_map_release(&first);
	return err;
}

int wt_recompute_find(struct wt_axes *a, const struct wt_launches *l, size_t from, size_t to)
{
	struct side f = {.rows = malloc((to - from + 1) * sizeof(*f.rows))},
		    b = {.rows = malloc((to - from + 1) * sizeof(*b.rows))};
	int err = f.rows && b.rows ? 0 : -WT_E_NOMEM;

	for (size_t i = from; !err && i < to; i++) {
		const struct wt_launch *r = &l->rows[i];

		if (!r->kernel)
			continue;
		if (a->phase[r->op] == WT_PHASE_FORWARD)
			f.rows[f.n++] = r;
		else if (a->phase[r->op] == WT_PHASE_BACKWARD && a->phase_grade[r->op] < 3)
			b.rows[b.n++] = r;
	}
	if (!err && f.n && b.n)
		err = mark_runs(a, &f, &b);
	free(f.rows);
	free(b.rows);
	return err;
}
