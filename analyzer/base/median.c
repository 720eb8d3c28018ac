/* SPDX-License-Identifier: Apache-2.0 */
/* See median.h. The side that holds it is halved again and again; values that resist, a file's choice, are sorted. */
#include "base/median.h"

#include <stdlib.h>

#define FEW    16
#define ROUNDS 64

static int cmp_ns(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return (a > b) - (a < b);
}

static int64_t middle_of(int64_t a, int64_t b, int64_t c)
{
	int64_t low = a < b ? a : b, high = a < b ? b : a;

	return c < low ? low : c > high ? high : c;
}

int64_t wt_median_ns(int64_t *v, size_t n)
{
	ptrdiff_t lo = 0, hi = (ptrdiff_t)n - 1, at = hi / 2; /* it is in [lo, hi] */

	for (int round = 0; hi - lo > FEW && round < ROUNDS; round++) {
		int64_t pivot = middle_of(v[lo], v[lo + (hi - lo) / 2], v[hi]);
		ptrdiff_t i = lo, j = hi;

		/* Values like the pivot change sides too: many equal ones are halved like others. */
		while (i <= j) {
			int64_t swap;

			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i > j)
				break;
			swap = v[i];
			v[i++] = v[j];
			v[j--] = swap;
		}
		if (at > j && at < i)
			return v[at];
		if (at <= j)
			hi = j;
		else
			lo = i;
	}
	qsort(v + lo, (size_t)(hi - lo + 1), sizeof(*v), cmp_ns);
	return v[at];
}
