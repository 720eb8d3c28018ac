/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of an iteration's batch: by its name, and how many of a rounded number of tokens there are, by copies
 * and by fills. Whole iterations: test_axes.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "axes/axes_impl.h"

#define N 4

static void test_filled(void **state)
{
	static const struct {
		uint64_t filled[N];
		int64_t requests, rounded, want;
	} rows[] = {
		{{11, 5}, 1, 16, 11},
		{{16}, 1, 16, 16},
		{{1}, 1, 1, 1},
		{{0}, 1, 16, -1},	  /* not read */
		{{11, 4}, 1, 16, -1},	  /* of something else */
		{{11}, 1, 16, -1},	  /* half of it */
		{{3, 11, 5}, 1, 16, 11},  /* something else before */
		{{16, 11, 5}, 1, 16, 11}, /* two that add up are no chance */
		{{16, 5, 3}, 1, 16, 16},
		{{1, 15}, 2, 16, -1}, /* each request has a token at least */
		{{11, 5}, 0, 16, -1}, /* none known */
		{{11, 5}, -1, 16, -1},
		{{11, 5}, 1, -1, -1},	       /* no graph */
		{{17, UINT64_MAX}, 1, 16, -1}, /* adds up only by wrapping */
		{{505, 7}, 12, 512, 505},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
			wt_tokens_filled(rows[i].filled, N, rows[i].requests, rows[i].rounded),
			rows[i].want);
	assert_int_equal(wt_tokens_filled(NULL, 0, 1, 16), -1);
}

static void test_copied(void **state)
{
	static const struct {
		uint64_t copied[N];
		int64_t requests, rounded, want;
	} rows[] = {
		{{44, 88, 88, 8}, 2, 16, 11},
		{{36, 88, 8, 8}, 2, 16, -1},  /* one alone is chance */
		{{56, 28, 28, 8}, 2, 16, -1}, /* a smaller graph would do */
		{{16, 16, 8, 8}, 2, 3, 2},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
			wt_tokens_copied(rows[i].copied, N, rows[i].requests, rows[i].rounded),
			rows[i].want);
}

static void test_annotations(void **state)
{
	static const struct {
		const char *name;
		struct wt_batch want;
	} rows[] = {
		{"execute_context_2(8192)_generation_3(3)",
		 {8195, 5, 2, 8192, 3, 3, 0, 1, 2, -1, -1, -1}},
		{"execute_context_1(888_788544)_generation_0(0)",
		 {888, 1, 1, 888, 0, 0, 0, 1, 2, -1, -1, -1}},
		{"execute_41_context_1(sq40sk40sqsq9sqsk9)_generation_1(sq1sk7sqsq1sqsk7)",
		 {41, 2, 1, 40, 1, 1, 0, 1, 2, 47, 10, 16}},
		{"step[EXTEND bs=15 toks=15360]",
		 {15360, 15, 15, 15360, 0, 0, 0, 1, 2, -1, -1, -1}},
		{"step[DECODE bs=32]", {32, 32, 0, 0, 32, 32, 0, 1, 2, -1, -1, -1}},
		{"step[MIXED bs=4 toks=100]", {100, 4, -1, -1, -1, -1, 0, 1, 2, -1, -1, -1}},
		{"execute_context_99999999999999999999(1)_generation_1(1)",
		 {2, -1, -1, 1, 1, 1, 0, 0, 0, -1, -1, -1}},
		{"ProfilerStep#3", {-1, -1, -1, -1, -1, -1, 0, 0, 0, -1, -1, -1}},
		{"context_(", {-1, -1, -1, -1, -1, -1, 0, 0, 0, -1, -1, -1}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wt_batch b, want = rows[i].want;

		assert_int_equal(wt_batch_of_name(rows[i].name, &b), want.source != 0);
		assert_int_equal(b.tokens, want.tokens);
		assert_int_equal(b.requests, want.requests);
		assert_int_equal(b.context_requests, want.context_requests);
		assert_int_equal(b.context_tokens, want.context_tokens);
		assert_int_equal(b.generation_requests, want.generation_requests);
		assert_int_equal(b.generation_tokens, want.generation_tokens);
		assert_int_equal(b.kv_tokens, want.kv_tokens);
		assert_int_equal(b.squares, want.squares);
		assert_int_equal(b.pairs, want.pairs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filled),
		cmocka_unit_test(test_copied),
		cmocka_unit_test(test_annotations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
