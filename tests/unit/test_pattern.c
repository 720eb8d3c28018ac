/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions: hand-made ones, what is left to the library, and made ones against the library's answers. */
#define _GNU_SOURCE /* stpcpy */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/pattern.h"

/* 1 and 0 for a match and none; -1: not known. */
static int finds(const char *expression, const char *text, int icase)
{
	struct wt_pattern *p = wt_pattern_new(expression, strlen(expression), icase);
	int rc = p ? wt_pattern_finds(p, text) : -1;

	wt_pattern_free(p);
	return rc;
}

static void test_by_hand(void **state)
{
	assert_int_equal(finds("ab", "xxab", 0), 1);
	assert_int_equal(finds("^ab", "xxab", 0), 0);
	assert_int_equal(finds("^ab", "abxx", 0), 1);
	assert_int_equal(finds("ab$", "abab", 0), 1);
	assert_int_equal(finds("ab$", "abba", 0), 0);
	assert_int_equal(finds("^$", "", 0), 1);
	assert_int_equal(finds("^$", "x", 0), 0);
	assert_int_equal(finds("(^|_)copy", "xcopy_copy", 0), 1);
	assert_int_equal(finds("(^|_)copy", "xcopy", 0), 0);
	assert_int_equal(finds("mha(_sm[0-9]+)?$", "kernel_mha_sm90", 0), 1);
	assert_int_equal(finds("mha(_sm[0-9]+)?$", "kernel_mha_sm", 0), 0);
	assert_int_equal(finds("[^a-z]x", "ax", 0), 0);
	assert_int_equal(finds("[^a-z]x", "Ax", 0), 1);
	assert_int_equal(finds("[^a-z]x", "AX", 1), 0);
	assert_int_equal(finds("[]^-]a", "-a", 0), 1);
	assert_int_equal(finds("a.*b", "a\xff\nb", 0), 1);
	assert_int_equal(finds("a|", "", 0), 1);
	assert_int_equal(finds("a\\.b", "axb", 0), 0);
}

static void test_left_to_the_library(void **state)
{
	static const char *const left[] = {"a{2}",   "*a",	    "(+a)",    "^*", "\\wx",
					   "(a)\\1", "[[:alpha:]]", "[[.a.]]", "(a", "a)",
					   "[a",     "[b-a]",	    "a\\"};
	char longest[130];

	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		if (finds(left[i], "a", 0) != -1)
			fail_msg("known: %s", left[i]);
	memset(longest, 'a', sizeof(longest));
	longest[129] = '\0';
	assert_int_equal(finds(longest, longest, 0), -1);
	longest[128] = '\0';
	assert_int_equal(finds(longest, longest, 0), 1);
}

/* A sound expression of a few letters; room for 64 more characters is needed. */
static char *make(unsigned *seed, char *to, int depth)
{
	static const char *const atoms[] = {"a", "b", "B", ".", "[ab]", "[^a]", "[a-c]", "c"};
	int n = 1 + rand_r(seed) % 3;

	for (int i = 0; i < n; i++) {
		unsigned which = (unsigned)rand_r(seed) % 10;

		if (which >= 8 && depth < 2) {
			*to++ = '(';
			to = make(seed, to, depth + 1);
			*to++ = ')';
		} else {
			to = stpcpy(to, atoms[which % 8]);
		}
		if (rand_r(seed) % 3 == 0)
			*to++ = "*+?"[rand_r(seed) % 3];
		if (rand_r(seed) % 6 == 0 && i + 1 < n)
			*to++ = '|';
	}
	*to = '\0';
	return to;
}

/* Anchors stand at the ends: what the library makes of others is its own. */
static void make_whole(unsigned *seed, char *to)
{
	static const char *const begins[] = {"", "", "", "^", "(^|b)"}, *const ends[] = {"", "", "",
											 "$",
											 "(c|$)"};

	to = make(seed, stpcpy(to, begins[rand_r(seed) % 5]), 0);
	strcpy(to, ends[rand_r(seed) % 5]);
}

static void test_made(void **state)
{
	unsigned seed = 3, yes = 0, no = 0;

	for (int i = 0; i < 4000; i++) {
		char expression[2048], text[16];
		int icase = i % 2, mine;
		regex_t re;

		make_whole(&seed, expression);
		assert_int_equal(regcomp(&re, expression,
					 REG_EXTENDED | REG_NOSUB | (icase ? REG_ICASE : 0)),
				 0);
		for (int k = 0; k < 8; k++) {
			size_t n = (size_t)rand_r(&seed) % sizeof(text);

			for (size_t j = 0; j < n; j++)
				text[j] = "abcAB\n"[rand_r(&seed) % 6];
			text[n] = '\0';
			mine = finds(expression, text, icase);
			if (mine != !regexec(&re, text, 0, NULL, 0))
				fail_msg("%s (case %d) in %s: %d", expression, icase, text, mine);
			yes += mine == 1;
			no += mine == 0;
		}
		regfree(&re);
	}
	assert_true(yes > 1000 && no > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_left_to_the_library),
		cmocka_unit_test(test_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
