/* SPDX-License-Identifier: Apache-2.0 */
/* The median is what sorting finds, of values in any order, many of them equal or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/median.h"

#define MOST 3000

static uint64_t state = 7654321;

static uint64_t draw(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 33;
}

static int cmp(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return (a > b) - (a < b);
}

static void check(const int64_t *v, size_t n)
{
	static int64_t sorted[MOST], mixed[MOST];

	memcpy(sorted, v, n * sizeof(*v));
	memcpy(mixed, v, n * sizeof(*v));
	qsort(sorted, n, sizeof(*sorted), cmp);
	assert_int_equal(wt_median_ns(mixed, n), sorted[(n - 1) / 2]);
	qsort(mixed, n, sizeof(*mixed), cmp);
	assert_memory_equal(mixed, sorted, n * sizeof(*v)); /* the same values are there */
}

static void test_any_order(void **unused)
{
	static int64_t v[MOST];

	for (int round = 0; round < 2000; round++) {
		size_t n = 1 + draw() % (round < 1000 ? 40 : MOST);
		uint64_t kinds = 1 + draw() % (round % 3 ? n : 3);

		for (size_t i = 0; i < n; i++)
			v[i] = (int64_t)(draw() % kinds) - (int64_t)kinds / 2;
		check(v, n);
	}
}

static void test_shapes(void **unused)
{
	static int64_t v[MOST];

	for (size_t n = 1; n < MOST; n += 1 + n / 7) {
		for (int shape = 0; shape < 5; shape++) {
			for (size_t i = 0; i < n; i++) {
				int64_t at = (int64_t)i, last = (int64_t)n - 1;

				v[i] = shape == 0   ? at
				       : shape == 1 ? last - at
				       : shape == 2 ? 5
				       : shape == 3 ? (at < last - at ? at : last - at)
						    : (i & 1 ? INT64_MAX : INT64_MIN);
			}
			check(v, n);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
