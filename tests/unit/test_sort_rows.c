/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in order, stable, whatever order they come in, of any size; and no more work than their runs ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sort_rows.h"

struct row {
	int32_t key;
	uint32_t place;
	char more[40];
};

static size_t compared;

static int by_key(const void *pa, const void *pb, void *arg)
{
	const struct row *a = pa, *b = pb;

	assert_ptr_equal(arg, &compared);
	compared++;
	return (a->key > b->key) - (a->key < b->key);
}

static uint64_t state = 1234567;

static unsigned below(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

/* Rows of n with `runs` ascending runs, keys below `keys`. */
static struct row *make(size_t n, size_t runs, unsigned keys)
{
	struct row *rows = calloc(n + 1, sizeof(*rows));

	for (size_t i = 0; i < n; i++) {
		size_t in_run = i % (n / runs + 1);

		rows[i].key = runs == n ? (int32_t)below(keys) : (int32_t)(in_run * keys / n);
		rows[i].place = (uint32_t)i;
		memset(rows[i].more, (int)(rows[i].key & 0xff), sizeof(rows[i].more));
	}
	return rows;
}

static void check(size_t n, size_t runs, unsigned keys)
{
	struct row *rows = make(n, runs, keys);
	size_t rounds = 1;

	compared = 0;
	wt_sort_rows(rows, n, sizeof(*rows), by_key, &compared);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < sizeof(rows[i].more); k++)
			assert_int_equal((uint8_t)rows[i].more[k], rows[i].key & 0xff);
		if (!i)
			continue;
		assert_true(rows[i - 1].key <= rows[i].key);
		if (rows[i - 1].key == rows[i].key)
			assert_true(rows[i - 1].place < rows[i].place);
	}
	while ((size_t)1 << rounds < runs)
		rounds++;
	assert_true(compared <= n * (rounds + 2));
	free(rows);
}

static void test_orders(void **state_)
{
	for (size_t n = 0; n < 40; n++)
		for (unsigned keys = 1; keys < 50; keys += 7)
			check(n, n ? n : 1, keys);
	check(5000, 5000, 1000000);
	check(5000, 5000, 3);
	check(5000, 1, 5000);
	check(5000, 2, 5000);
	check(5000, 7, 5000);
	check(5000, 100, 20);
	(void)state_;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
