/* SPDX-License-Identifier: Apache-2.0 */
/* See sort_rows.h: merges neighbouring runs, from one buffer to the other and back, until there is one. */
#define _GNU_SOURCE /* qsort_r */
#include "base/sort_rows.h"

#include <stdlib.h>
#include <string.h>

struct sort {
	size_t n, size;
	int (*compare)(const void *, const void *, void *);
	void *arg;
	size_t *ends; /* of the runs, in rows */
	size_t nruns;
};

static const char *row_at(const struct sort *s, const char *rows, size_t i)
{
	return rows + i * s->size;
}

/* 0, or -1 without memory. */
static int find_runs(struct sort *s, const char *rows)
{
	size_t room = 0;

	for (size_t i = 1; i <= s->n; i++) {
		if (i < s->n && s->compare(row_at(s, rows, i - 1), row_at(s, rows, i), s->arg) <= 0)
			continue;
		if (s->nruns == room) {
			size_t *ends;

			room = room ? room * 2 : 64;
			ends = realloc(s->ends, room * sizeof(*ends));
			if (!ends)
				return -1;
			s->ends = ends;
		}
		s->ends[s->nruns++] = i;
	}
	return 0;
}

/* Rows [first, middle) and [middle, last) of `from` to the same place of `to`. */
static void merge(const struct sort *s, const char *from, char *to, size_t first, size_t middle,
		  size_t last)
{
	const char *a = row_at(s, from, first), *m = row_at(s, from, middle), *b = m,
		   *end = row_at(s, from, last);

	to += first * s->size;
	while (a < m && b < end) {
		const char **least = s->compare(a, b, s->arg) <= 0 ? &a : &b;

		memcpy(to, *least, s->size);
		*least += s->size;
		to += s->size;
	}
	memcpy(to, a, (size_t)(m - a));
	memcpy(to + (m - a), b, (size_t)(end - b));
}

/* Neighbouring runs become one. */
static void merge_all(struct sort *s, const char *from, char *to)
{
	size_t first = 0, n = 0;

	for (size_t i = 0; i < s->nruns; i += 2) {
		size_t last = s->ends[i + 1 < s->nruns ? i + 1 : i];

		merge(s, from, to, first, s->ends[i], last);
		s->ends[n++] = last;
		first = last;
	}
	s->nruns = n;
}

void wt_sort_rows(void *rows, size_t n, size_t size,
		  int (*compare)(const void *, const void *, void *), void *arg)
{
	struct sort s = {.n = n, .size = size, .compare = compare, .arg = arg};
	char *from = rows, *to, *spare = NULL;
	int failed = n && find_runs(&s, rows);

	if (!failed && s.nruns > 1) {
		spare = malloc(n * size);
		failed = !spare;
	}
	for (to = spare; !failed && s.nruns > 1;) {
		char *merged = to;

		merge_all(&s, from, to);
		to = from;
		from = merged;
	}
	if (!failed && from != rows)
		memcpy(rows, from, n * size);
	if (failed)
		qsort_r(rows, n, size, compare, arg);
	free(spare);
	free(s.ends);
}
