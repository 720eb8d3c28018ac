/* SPDX-License-Identifier: Apache-2.0 */
/* agent/clock.c: rows agree with the clocks they name, steps are found, slewing and noise are not steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "agent/clock.h"

static uint64_t now(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Each row lies between readings made around it, on all three clocks, within what it says of its error. */
static void test_rows(void **state)
{
	struct wt_clock c;
	struct wt_clock_row row;
	uint64_t last = 0;

	wt_clock_start(&c);
	assert_true(c.tsc_hz > 100000000u && c.tsc_hz < 20000000000u);
	for (int i = 0; i < 100; i++) {
		uint64_t t0 = __builtin_ia32_rdtsc(), m0 = now(CLOCK_MONOTONIC),
			 r0 = now(CLOCK_REALTIME);
		uint64_t t1, m1, r1;

		wt_clock_sample(&c, &row);
		r1 = now(CLOCK_REALTIME);
		m1 = now(CLOCK_MONOTONIC);
		t1 = __builtin_ia32_rdtsc();
		assert_true(row.tsc >= t0 && row.tsc <= t1 && row.tsc > last);
		assert_true(row.monotonic_ns + row.error_ns >= m0 &&
			    row.monotonic_ns <= m1 + row.error_ns);
		assert_true(row.realtime_ns + row.error_ns >= r0 &&
			    row.realtime_ns <= r1 + row.error_ns);
		assert_true(row.error_ns > 0);
		last = row.tsc;
	}
}

static void test_ticks(void **state)
{
	struct wt_clock c = {.tsc_hz = 2000000000};

	assert_int_equal(wt_clock_ticks_to_ns(&c, 2000), 1000);
	/* 100 years of ticks do not overflow on the way */
	assert_int_equal(wt_clock_ticks_to_ns(&c, 6311520000000000000ull), 3155760000000000000ull);
	c.tsc_hz = 0;
	assert_int_equal(wt_clock_ticks_to_ns(&c, 5), 0);
}

static int stepped(struct wt_clock *c, uint64_t mono, uint64_t real, uint32_t error)
{
	struct wt_clock_row row = {.monotonic_ns = mono, .realtime_ns = real, .error_ns = error};

	wt_clock_judge(c, &row);
	return row.stepped;
}

static void test_steps(void **state)
{
	struct wt_clock c = {.tsc_hz = 2000000000};
	const uint64_t base = 1700000000000000000ull;

	assert_int_equal(stepped(&c, 1000, base, 50), 0); /* the first has nothing before it */
	assert_int_equal(stepped(&c, 1000001000, base + 1000000000, 50), 0);
	/* a bracket that was disturbed explains its own error */
	assert_int_equal(stepped(&c, 2000001000, base + 2000000000 + 40000, 45000), 0);
	assert_int_equal(stepped(&c, 3000001000, base + 3000000000, 50), 0);
	assert_int_equal(stepped(&c, 4000001000, base + 4000000000 + 5000000, 50), 1); /* +5 ms */
	assert_int_equal(stepped(&c, 5000001000, base + 5000000000 + 5000000, 50), 0);
	assert_int_equal(stepped(&c, 6000001000, base + 6000000000 - 3600000000000ull, 50),
			 1); /* -1 h */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_ticks),
		cmocka_unit_test(test_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
