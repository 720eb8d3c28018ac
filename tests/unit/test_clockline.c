/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TSC -> ns: exact between rows, prolonged at the ends, never across a step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "trace/clockline.h"

#define REAL0 1700000000000000000ll
#define MONO0 1000000000000ll

static void add(struct wt_clockline *c, uint64_t tsc, int64_t real_ns, int64_t mono_ns, int stepped)
{
	struct wt_clockline_row row = {tsc, real_ns, mono_ns, 20, stepped};

	assert_int_equal(wt_clockline_add(c, &row), 0);
}

static void linear(void **state)
{
	struct wt_clockline c = {.hz = 2000000000};

	/* 3 GHz; rows out of order, one twice */
	add(&c, 6000000000, REAL0 + 2000000000, MONO0 + 2000000000, 0);
	add(&c, 3000000000, REAL0 + 1000000000, MONO0 + 1000000000, 0);
	add(&c, 0, REAL0, MONO0, 0);
	add(&c, 3000000000, REAL0 + 1000000000, MONO0 + 1000000000, 0);
	wt_clockline_finish(&c);
	assert_int_equal(wt_clockline_steps(&c), 0);
	assert_int_equal(wt_clockline_ns(&c, 0), REAL0);
	assert_int_equal(wt_clockline_ns(&c, 3), REAL0 + 1);
	assert_int_equal(wt_clockline_ns(&c, 4500000000), REAL0 + 1500000000);
	assert_int_equal(wt_clockline_ns(&c, 9000000000), REAL0 + 3000000000);
	wt_clockline_release(&c);
}

static void slewed(void **state)
{
	struct wt_clockline c = {.hz = 1000000000};

	/* the clock runs 500 ppm faster in the second second */
	add(&c, 0, REAL0, MONO0, 0);
	add(&c, 1000000000, REAL0 + 1000000000, MONO0 + 1000000000, 0);
	add(&c, 2000000000, REAL0 + 2000500000, MONO0 + 2000500000, 0);
	wt_clockline_finish(&c);
	assert_int_equal(wt_clockline_steps(&c), 0);
	assert_int_equal(wt_clockline_ns(&c, 500000000), REAL0 + 500000000);
	assert_int_equal(wt_clockline_ns(&c, 1500000000), REAL0 + 1500250000);
	wt_clockline_release(&c);
}

static void a_step_is_never_crossed(void **state)
{
	for (int marked = 0; marked < 2; marked++) {
		struct wt_clockline c = {.hz = 1000000000};

		add(&c, 0, REAL0, MONO0, 0);
		add(&c, 1000000000, REAL0 + 1000000000, MONO0 + 1000000000, 0);
		/* set back by an hour between these two, marked or not */
		add(&c, 2000000000, REAL0 + 2000000000 - 3600000000000, MONO0 + 2000000000, marked);
		add(&c, 3000000000, REAL0 + 3000000000 - 3600000000000, MONO0 + 3000000000, 0);
		wt_clockline_finish(&c);
		assert_int_equal(wt_clockline_steps(&c), 1);
		assert_int_equal(wt_clockline_ns(&c, 1900000000), REAL0 + 1900000000);
		assert_int_equal(wt_clockline_ns(&c, 2000000000),
				 REAL0 + 2000000000 - 3600000000000);
		assert_int_equal(wt_clockline_ns(&c, 2500000000),
				 REAL0 + 2500000000 - 3600000000000);
		wt_clockline_release(&c);
	}
}

static void little_and_bad_input(void **state)
{
	struct wt_clockline c = {.hz = 2000000000}, none = {0};

	assert_int_equal(wt_clockline_ns(&none, 5), 5);
	add(&c, 1000, REAL0, MONO0, 0);
	wt_clockline_finish(&c);
	assert_int_equal(wt_clockline_ns(&c, 3000), REAL0 + 1000);
	assert_int_equal(wt_clockline_ns(&c, 0), REAL0 - 500);
	/* absurd rows: no overflow */
	add(&c, UINT64_MAX, INT64_MAX, INT64_MAX, 0);
	add(&c, 2, -5, -5, 0);
	add(&c, 2000, REAL0 - 7, MONO0, 0);
	add(&c, UINT64_MAX - 1, REAL0 * 3 / 4, MONO0, 0);
	wt_clockline_finish(&c);
	assert_int_equal(c.dropped, 2);
	for (int i = 0; i < 64; i++) {
		int64_t ns = wt_clockline_ns(&c, 1ull << i);

		assert_true(ns > -INT64_MAX / 2 && ns < INT64_MAX / 2);
	}
	wt_clockline_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear),
		cmocka_unit_test(slewed),
		cmocka_unit_test(a_step_is_never_crossed),
		cmocka_unit_test(little_and_bad_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
