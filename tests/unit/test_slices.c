/* SPDX-License-Identifier: Apache-2.0 */
/* ledger/slices.c: what was added comes back, whatever it was and in whatever order it is read; and in few bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/ledger.h"

#define N 100000 /* more than are kept as they are */

static uint64_t dice;

static uint32_t roll(void)
{
	dice = dice * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(dice >> 32);
}

static int same(const struct wt_slice *a, const struct wt_slice *b)
{
	return a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->op == b->op &&
	       a->call == b->call && a->leaf == b->leaf && a->grade == b->grade &&
	       a->mask == b->mask && a->why == b->why && a->crowded == b->crowded;
}

/* wild: anything a slice can hold, with holes between them; else as a job's are. */
static void make(int wild, struct wt_slice *ret)
{
	int64_t at = wild ? -(INT64_MAX / 3) : 1700000000000000000;

	for (uint32_t i = 0; i < N; i++) {
		struct wt_slice *s = &ret[i];
		int64_t len =
			1 + (wild && roll() % 4 == 0 ? roll() * INT64_C(20000) : roll() % 20000);

		at += wild && roll() % 3 == 0 ? roll() : 0;
		*s = (struct wt_slice){.start_ns = at,
				       .end_ns = at + len,
				       .op = i / 2,
				       .call = i % 2 ? (int32_t)(i / 2) : -1,
				       .leaf = (uint8_t)(i % 2 ? WT_D10 : roll() % WT_B1),
				       .grade = (uint8_t)(1 + roll() % 3),
				       .mask = i % 2 ? 0 : 1};
		if (wild) {
			s->op = roll() % 5 ? roll() : UINT32_MAX;
			s->call = roll() % 2 ? -1 : (int32_t)(roll() & INT32_MAX);
			s->leaf = (uint8_t)(roll() % WT_LEAVES);
			s->mask = roll() % (1 << WT_STATES);
			s->why = roll() % 8 & 15;
			s->crowded = roll() & 1;
		}
		at += len;
	}
}

static void comes_back(void **state)
{
	static struct wt_slice rows[N];

	dice = 7;
	for (int k = 0; k < 4; k++) {
		int wild = k & 1;
		size_t n = k & 2 ? N : 5000; /* kept as they are; packed */
		struct wt_slices s = {.n = 0};

		make(wild, rows);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(wt_slices_add(&s, &rows[i]), 0);
		assert_int_equal(s.n, n);
		for (size_t i = 0; i < n; i++)
			assert_true(same(wt_slices_at(&s, i), &rows[i]));
		for (int round = 0; round < 20000; round++) {
			size_t i = roll() % n;
			int64_t t = rows[i].start_ns + roll() % 3 - 1;
			size_t want = 0;

			assert_true(same(wt_slices_at(&s, i), &rows[i]));
			if (round % 100)
				continue;
			while (want < n && rows[want].end_ns <= t)
				want++;
			assert_int_equal(wt_slices_find(&s, t), want);
		}
		assert_int_equal(wt_slices_find(&s, rows[n - 1].end_ns), n);
		assert_null(wt_slices_until(&s, n, INT64_MAX));
		assert_null(wt_slices_until(&s, 3, rows[3].start_ns));
		assert_ptr_equal(wt_slices_until(&s, 3, rows[3].start_ns + 1), wt_slices_at(&s, 3));
		wt_slices_release(&s);
	}
}

static void neighbours_join(void **state)
{
	struct wt_slices s = {.n = 0};

	assert_int_equal(wt_slices_find(&s, 0), 0);
	for (int64_t i = 0; i < 2000; i++)
		assert_int_equal(wt_slices_add(&s, &(struct wt_slice){.start_ns = i,
								      .end_ns = i + 1,
								      .call = -1,
								      .leaf = WT_D8}),
				 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(wt_slices_at(&s, 0)->end_ns, 2000);
	/* One of no length is none. */
	assert_int_equal(wt_slices_add(&s, &(struct wt_slice){.start_ns = 2000, .end_ns = 2000}),
			 0);
	assert_int_equal(s.n, 1);
	wt_slices_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(neighbours_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
