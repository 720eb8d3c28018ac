/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit of recorded steps against their neighbours: it finds what was put in, a drift of the job does not move it,
 * single blocks far off neither, and below WT_AUDIT_PAIRS it says nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "trace/trace.h"

#define TICKS 1000000.0 /* of a step */

static uint64_t random_state;

static double noise(void) /* -1 to 1 */
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (double)(random_state >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

/* n blocks by turns without and with recording; recorded steps take `longer` (of 1), all of them drift and vary. */
static struct wt_process audit(size_t n, double longer, double drift, double vary, size_t spoilt)
{
	struct wt_process p = {.audit_pairs = -1};
	struct wt_trace t = {.error = 0};

	random_state = 7;
	for (size_t i = 0; i < n; i++) {
		Warptap__V1__State s = WARPTAP__V1__STATE__INIT;
		int on = i % 2;
		double step = TICKS * (1 + drift * (double)i / (double)n) * (1 + vary * noise()) *
			      (1 + (on ? longer : 0));

		if (spoilt && i % spoilt == 5)
			step *= 50;
		s.steps = 8;
		s.step_ticks = (uint64_t)(8 * step);
		/* as the agent writes them: the block is told by the State that ends it */
		t.block_level = on ? 3 : 1;
		t.block_after_on = 0;
		wt_trace_load_steps(&t, &s, 0);
	}
	wt_trace_audit(&t, &p);
	assert_int_equal(t.error, 0);
	free(t.blocks.p);
	return p;
}

static void near(int64_t ppm, int64_t expected, int64_t within)
{
	assert_in_range(ppm, expected - within, expected + within);
}

static void test_finds_what_was_put_in(void **state)
{
	struct wt_process p = audit(300, 0.02, 0, 0.001, 0);

	(void)state;
	assert_int_equal(p.audit_pairs, 100);
	assert_int_equal(p.audit_steps, 100 * 16);
	assert_int_equal(p.audit_level, 1);
	assert_int_equal(p.audit_budget_ppm, 10000);
	near(p.audit_ppm, 20000, 300);
	assert_true(p.audit_low_ppm < 20000 && p.audit_high_ppm > 20000);
	assert_true(p.audit_high_ppm - p.audit_low_ppm < 600);
}

static void test_a_drift_does_not_move_it(void **state)
{
	/* twice as slow at the end: each block slower than the one before, which the order of pairs takes out */
	struct wt_process p = audit(301, 0.02, 1, 0, 0);

	(void)state;
	near(p.audit_ppm, 20000, 500);
	assert_true(p.audit_low_ppm <= p.audit_ppm && p.audit_ppm <= p.audit_high_ppm);
}

static void test_blocks_far_off_do_not_move_it(void **state)
{
	struct wt_process p = audit(300, 0.02, 0, 0.001, 20);

	(void)state;
	near(p.audit_ppm, 20000, 1500);
	assert_true(p.audit_low_ppm < 20000 && p.audit_high_ppm > 20000);
}

static void test_many_pairs_are_grouped(void **state)
{
	struct wt_process p = audit(30000, 0.001, 0, 0.01, 0);

	(void)state;
	assert_int_equal(p.audit_pairs, 10000);
	near(p.audit_ppm, 1000, 300);
}

static void test_too_few_say_nothing(void **state)
{
	size_t n = 3 * WT_AUDIT_PAIRS - 3;
	struct wt_process p = audit(n, 0.5, 0, 0, 0), one = audit(1, 0.5, 0, 0, 0);

	(void)state;
	assert_int_equal(p.audit_pairs, WT_AUDIT_PAIRS - 1);
	assert_int_equal(p.audit_ppm, 0);
	assert_int_equal(p.audit_high_ppm, 0);
	assert_int_equal(one.audit_pairs, -1);
	p = audit(n + 2, 0.5, 0, 0, 0);
	assert_int_equal(p.audit_pairs, WT_AUDIT_PAIRS);
	near(p.audit_ppm, 500000, 2);
}

/* What runs while a window is being opened or closed is in no block. */
static void test_switching_is_left_out(void **state)
{
	static const struct {
		uint32_t level, cupti;
	} states[] = {{1, 1}, {2, 1}, {3, 2}, {2, 1}, {1, 1}, {2, 1}};
	struct wt_trace t = {.error = 0};

	(void)state;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		Warptap__V1__State s = WARPTAP__V1__STATE__INIT;

		s.level = states[i].level;
		s.steps = i;
		s.step_ticks = 100 * i;
		wt_trace_load_steps(&t, &s, states[i].level == 3);
	}
	/* ended by states 1 (count), 3 (recorded) and 5 (count): not the api between */
	assert_int_equal(t.blocks.n, 3);
	assert_int_equal(t.blocks.p[0].level, 1);
	assert_int_equal(t.blocks.p[1].level, 3);
	assert_int_equal(t.blocks.p[1].steps, 3);
	assert_int_equal(t.blocks.p[2].level, 1);
	assert_int_equal(t.blocks.p[2].steps, 5);
	free(t.blocks.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_what_was_put_in),
		cmocka_unit_test(test_a_drift_does_not_move_it),
		cmocka_unit_test(test_blocks_far_off_do_not_move_it),
		cmocka_unit_test(test_many_pairs_are_grouped),
		cmocka_unit_test(test_too_few_say_nothing),
		cmocka_unit_test(test_switching_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
