/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order and signature decide which record belongs to which host call: no wrong join, whatever was lost; where two
 * answers are equally good the record is marked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "trace/align.h"

#define MOST 20000

/* The truth: n calls; what became of each on both sides. */
struct scene {
	struct wt_align_host h[MOST];
	struct wt_align_record r[MOST];
	uint32_t host_of_record[MOST]; /* WT_ALIGN_NONE = its host row was lost */
	size_t nh, nr, wrong, ambiguous, unmatched;
};
static struct scene s;

struct call {
	uint64_t signature;
	unsigned lose_record : 1, lose_host : 1, silent : 1;
	uint32_t ids; /* API calls before this one */
};
static struct call calls[MOST];
static size_t ncalls;

/* A training step of `period` calls, `steps` times. */
static void make_steps(size_t period, size_t steps, uint32_t ids)
{
	ncalls = 0;
	memset(calls, 0, sizeof(calls));
	for (size_t i = 0; i < steps; i++)
		for (size_t k = 0; k < period; k++) {
			calls[ncalls].signature = 100 + k / 2;
			calls[ncalls++].ids = ids + (k % 3 == 0);
		}
}

static void lose(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		calls[i].lose_record = 1;
}

static void align(int lossy)
{
	uint64_t correlation = 1;
	uint32_t lost = 0;

	memset(&s, 0, sizeof(s));
	for (size_t i = 0; i < ncalls; i++) {
		uint32_t host = WT_ALIGN_NONE;

		correlation += 1 + calls[i].ids;
		if (!calls[i].lose_host) {
			host = (uint32_t)s.nh;
			s.h[s.nh++] = (struct wt_align_host){calls[i].signature, lost, 1,
							     calls[i].silent};
			lost = 0;
		} else {
			lost++;
		}
		if (!calls[i].lose_record) {
			s.host_of_record[s.nr] = host;
			s.r[s.nr++] = (struct wt_align_record){
				.signature = calls[i].silent ? 0 : calls[i].signature,
				.correlation = correlation,
				.class_ = 1,
				.device = !calls[i].silent};
		}
	}
	assert_int_equal(wt_align(s.h, s.nh, s.r, s.nr, lossy, NULL), 0);
	for (size_t i = 0; i < s.nr; i++) {
		s.ambiguous += s.r[i].ambiguous;
		s.unmatched += s.r[i].match == WT_ALIGN_NONE;
		if (s.r[i].match != WT_ALIGN_NONE && s.r[i].match != s.host_of_record[i] &&
		    !s.r[i].ambiguous)
			s.wrong++;
	}
}

static void nothing_lost(void **state)
{
	make_steps(40, 400, 2);
	align(0);
	assert_int_equal(s.wrong + s.ambiguous + s.unmatched, 0);
	align(1);
	assert_int_equal(s.wrong + s.ambiguous + s.unmatched, 0);
}

static void one_hole_in_a_periodic_job(void **state)
{
	make_steps(40, 100, 1);
	lose(1220, 1927);
	align(1);
	assert_int_equal(s.wrong, 0);
	assert_int_equal(s.unmatched, 0);
	assert_true(s.ambiguous <= 2);
	/* exactly whole periods */
	make_steps(40, 100, 1);
	lose(1200, 2000);
	align(1);
	assert_int_equal(s.wrong, 0);
	assert_true(s.ambiguous <= 2);
	/* at the very start */
	make_steps(40, 100, 1);
	lose(0, 800);
	align(1);
	assert_int_equal(s.wrong, 0);
}

static void several_holes(void **state)
{
	make_steps(40, 400, 1);
	lose(1220, 1927);
	lose(5000, 5600);
	lose(9003, 9004);
	lose(12000, 14000);
	align(1);
	assert_int_equal(s.wrong, 0);
	assert_int_equal(s.unmatched, 0);
	assert_true(s.ambiguous <= 8);
}

static void equal_neighbours_of_a_hole_are_marked(void **state)
{
	/* one kernel only, other API calls between: the lost one could be any near it */
	make_steps(2, 500, 3);
	lose(300, 301);
	align(1);
	assert_int_equal(s.wrong, 0);
	assert_true(s.ambiguous > 0);
}

static void the_tail_is_in_flight(void **state)
{
	make_steps(2, 500, 3);
	lose(990, 1000);
	align(0);
	assert_int_equal(s.wrong + s.ambiguous + s.unmatched, 0);
	make_steps(40, 50, 1);
	lose(1990, 2000);
	align(1);
	assert_int_equal(s.wrong, 0);
}

static void host_rows_lost(void **state)
{
	make_steps(40, 200, 1);
	for (size_t i = 4010; i < 5023; i++)
		calls[i].lose_host = 1;
	align(0);
	assert_int_equal(s.wrong, 0);
	assert_true(s.unmatched >= 1013);
	assert_true(s.unmatched <= 1013 + 4);
}

static void silent_calls_never_own_device_records(void **state)
{
	make_steps(40, 100, 1);
	for (size_t i = 500; i < 900; i++)
		calls[i].silent = 1; /* a capture */
	for (size_t i = 2000; i < 2005; i++)
		calls[i].silent = 1, calls[i].lose_record = 1; /* failed, no record of the call */
	align(0);
	assert_int_equal(s.wrong, 0);
	for (size_t i = 0; i < s.nr; i++)
		if (s.r[i].match != WT_ALIGN_NONE && s.r[i].device)
			assert_false(s.h[s.r[i].match].silent);
}

static void random_losses(void **state)
{
	srand(7);
	for (int round = 0; round < 60; round++) {
		size_t period = 5 + (size_t)(rand() % 60), at = 0;

		make_steps(period, 4000 / period, (uint32_t)(rand() % 3));
		for (int holes = rand() % 4; holes >= 0; holes--) {
			size_t n = 20 + (size_t)(rand() % 700);

			at += 300 + (size_t)(rand() % 900);
			if (at + n < ncalls)
				lose(at, at + n);
			at += n;
		}
		align(1);
		assert_int_equal(s.wrong, 0);
	}
}

static void hostile(void **state)
{
	/* nothing in common, descending garbage, one side empty: no crash, no match */
	memset(&s, 0, sizeof(s));
	for (size_t i = 0; i < 3000; i++) {
		s.h[i] = (struct wt_align_host){1 + i % 7, 0, (uint8_t)(1 + i % 3), 0};
		s.r[i] = (struct wt_align_record){.signature = 1000 + i % 11,
						  .correlation = i % 13 * UINT64_MAX / 13,
						  .class_ = (uint8_t)(1 + i % 4),
						  .device = 1};
	}
	assert_int_equal(wt_align(s.h, 3000, s.r, 2999, 1, NULL), 0);
	for (size_t i = 0; i < 2999; i++)
		assert_int_equal(s.r[i].match, WT_ALIGN_NONE);
	assert_int_equal(wt_align(s.h, 0, s.r, 100, 1, NULL), 0);
	assert_int_equal(wt_align(s.h, 100, s.r, 0, 1, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_lost),
		cmocka_unit_test(one_hole_in_a_periodic_job),
		cmocka_unit_test(several_holes),
		cmocka_unit_test(equal_neighbours_of_a_hole_are_marked),
		cmocka_unit_test(the_tail_is_in_flight),
		cmocka_unit_test(host_rows_lost),
		cmocka_unit_test(silent_calls_never_own_device_records),
		cmocka_unit_test(random_losses),
		cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
