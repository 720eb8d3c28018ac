// SPDX-License-Identifier: Apache-2.0
/*
 * agent/governor.c on a clock of the test's, which no machine can hold up: a load that costs many times the budget is
 * stepped down within five seconds of the first one that was above it, what is spent up to any moment is the budget and
 * what one tick spends, and with the load gone the level comes back. The parts around it are played here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/cost.h"
#include "agent/governor.h"
#include "agent/launches.h"
#include "agent/level.h"
#include "agent/pace.h"
#include "agent/totals.h"
#include "agent/windows.h"

#define SECOND_NS 1000000000ll

struct wt_pace wt_pace;
static struct {
	uint32_t ceiling;
	int64_t now_ns;
	double spent_ns;
	int changes;
	int64_t changed_ns;
} w;

void wt_totals_cost(struct wt_cost *ret)
{
	*ret = (struct wt_cost){.hook_ns = (uint64_t)w.spent_ns};
}

void wt_level_view(struct wt_level_view *ret)
{
	*ret = (struct wt_level_view){WT_LEVEL_TRACE, w.ceiling, w.ceiling, 0, 0};
}

void wt_level_ceiling(uint32_t level, uint32_t cost_ppm)
{
	w.ceiling = level;
	w.changes++;
	w.changed_ns = w.now_ns;
}

int wt_launches_known(void)
{
	return 0;
}

uint64_t wt_launches_ns(void)
{
	return 0;
}

uint64_t wt_launches_stall_ns(void)
{
	return 0;
}

int wt_windows_is_open(void)
{
	return 0;
}

uint64_t wt_windows_opened(void)
{
	return 0;
}

void wt_windows_give_up(uint32_t reason)
{
}

void wt_log(const char *fmt, ...)
{
}

/* What recording costs of a core at each level, under a load that would be 1 at level trace. */
static double cost_of(uint32_t level, double load)
{
	static const double share[] = {0, 0.001, 0.02, 0.3, 1};

	return share[level] * load;
}

/* As the control thread ticks. Returns when the level changed first, INT64_MAX = never. */
static int64_t run(double load, int64_t seconds, int64_t late_ns)
{
	int64_t until = w.now_ns + seconds * SECOND_NS, first = INT64_MAX;
	int64_t tick_ns = (int64_t)wt_config.budget_span_ms * 100000;
	int before = w.changes;

	if (tick_ns > SECOND_NS)
		tick_ns = SECOND_NS;
	tick_ns += late_ns;
	while (w.now_ns < until) {
		w.now_ns += tick_ns;
		w.spent_ns += cost_of(w.ceiling, load) * (double)tick_ns;
		wt_governor_tick(w.now_ns);
		if (first == INT64_MAX && w.changes > before)
			first = w.changed_ns;
	}
	return first;
}

static void begin(uint32_t budget_ppm, uint32_t span_ms)
{
	wt_config.budget_ppm = budget_ppm;
	wt_config.budget_span_ms = span_ms;
	w.ceiling = WT_LEVEL_TRACE;
	/* A second process in one: the account of the one before is paid off first. */
	w.now_ns += 4000 * SECOND_NS;
	wt_governor_start();
	wt_governor_tick(w.now_ns);
	w.now_ns += SECOND_NS;
	w.ceiling = WT_LEVEL_TRACE;
	wt_governor_tick(w.now_ns);
	w.ceiling = WT_LEVEL_TRACE;
	w.changes = 0;
}

/* budget, span, load (share of a core at level trace) */
static const struct {
	uint32_t ppm, span_ms;
	double load;
} cases[] = {{5000, 1000, 0.05}, {10000, 10000, 0.1}, {1000, 10000, 0.1}, {100, 1000, 0.01}};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static void test_down_and_back(void **state)
{
	for (size_t i = 0; i < CASES; i++) {
		int64_t begun, first;
		double spent, most;

		begin(cases[i].ppm, cases[i].span_ms);
		begun = w.now_ns;
		spent = w.spent_ns;
		first = run(cases[i].load, 60, 0);
		print_message("%u ppm over %u ms: down after %.1f s\n", cases[i].ppm,
			      cases[i].span_ms, (double)(first - begun) / 1e9);
		assert_true(first - begun <= 5 * SECOND_NS);
		/* budget x (time + span), and at each step what one tick spent before it was seen */
		most = cases[i].ppm / 1e6 * ((double)(w.now_ns - begun) + cases[i].span_ms * 1e6);
		most += w.changes * cases[i].load *
			(cases[i].span_ms < 10000 ? cases[i].span_ms * 1e5 : 1e9);
		assert_true(w.spent_ns - spent <= most);
		assert_true(w.ceiling < WT_LEVEL_TRACE);
		/* The load is gone. */
		run(0, 64 * 3 * (int64_t)cases[i].span_ms / 1000 + 10, 0);
		assert_int_equal(w.ceiling, WT_LEVEL_TRACE);
	}
}

/* A control thread that gets its core late decides at its first tick after the account is empty all the same. */
static void test_late(void **state)
{
	int64_t begun;

	begin(5000, 1000);
	begun = w.now_ns;
	assert_true(run(0.05, 60, 3 * SECOND_NS) - begun <= 2 * (3 * SECOND_NS + 100000000));
}

/* What fits is left alone. */
static void test_fits(void **state)
{
	begin(10000, 10000);
	run(0.009, 600, 0);
	assert_int_equal(w.changes, 0);
	begin(0, 10000); /* no budget */
	run(0.5, 60, 0);
	assert_int_equal(w.changes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_down_and_back),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
