/* SPDX-License-Identifier: Apache-2.0 */
/* Words of expressions: those of hand-made ones, and never a no where the expression itself says yes. */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/families.h"
#include "ledger/pattern_words.h"

/* The words joined by '|'; "-": nothing can be said. */
static const char *words_of(const char *pattern)
{
	static char text[256];
	struct wt_pattern_words w;

	wt_pattern_words(pattern, &w);
	text[0] = '\0';
	for (unsigned i = 0; i < w.n; i++) {
		strncat(text, i ? "|" : "", 2);
		strncat(text, pattern + w.word[i].at, w.word[i].n);
	}
	return w.n ? text : "-";
}

static void test_words(void **state)
{
	assert_string_equal(words_of("nccl(Dev)?Kernel[_A-Z]*(Send|Recv)"), "Kernel");
	assert_string_equal(words_of("^gemm|matmul$"), "gemm|matmul");
	assert_string_equal(words_of("abcd?"), "abc");
	assert_string_equal(words_of("abcd+efg"), "abcd");
	assert_string_equal(words_of("abc{0,2}defg*h"), "def");
	assert_string_equal(words_of("[]abcd]xyz"), "xyz");
	assert_string_equal(words_of("[^]abcd]xyz[[:digit:]abcd]"), "xyz");
	assert_string_equal(words_of("(a\\)bcde|f(g)[)])hij"), "hij");
	assert_string_equal(words_of("long_one|ab"),
			    "-"); /* the second is too short to be of use */
	assert_string_equal(words_of("(only|groups)"), "-");
	assert_string_equal(words_of("abc|"), "-"); /* an empty alternative matches all */
	assert_string_equal(words_of(""), "-");
}

/* Names put together from pieces of the table's own patterns, so that a good part of them matches something. */
static void make_name(unsigned *seed, char *name)
{
	size_t n = 0;

	for (unsigned piece = 0; piece < 4; piece++) {
		const char *p = wt_family_rows[rand_r(seed) % (unsigned)wt_nfamily_rows].pattern;
		size_t all = strlen(p), from = (size_t)rand_r(seed) % all,
		       count = 1 + (size_t)rand_r(seed) % 24;

		for (size_t i = from; i < all && count; i++, count--)
			if (!strchr("\\[](){}|*+?.^$", p[i]))
				name[n++] = (char)(rand_r(seed) % 16 ? p[i] : p[i] ^ 0x20);
	}
	name[n] = '\0';
}

static void test_never_a_wrong_no(void **state)
{
	unsigned seed = 7, matched = 0, spared = 0;

	for (int row = 0; row < wt_nfamily_rows; row++) {
		const struct wt_family_row *r = &wt_family_rows[row];
		struct wt_pattern_words w;
		regex_t re;

		wt_pattern_words(r->pattern, &w);
		assert_int_equal(regcomp(&re, r->pattern,
					 REG_EXTENDED | REG_NOSUB | (r->icase ? REG_ICASE : 0)),
				 0);
		for (int i = 0; i < 400; i++) {
			struct wt_pairs pairs;
			char name[128];
			int yes, may;

			make_name(&seed, name);
			yes = !regexec(&re, name, 0, NULL, 0);
			wt_pairs_of(name, strlen(name), &pairs);
			may = wt_pattern_may_match(&w, r->pattern, r->icase, name, &pairs);
			if (yes && !may)
				fail_msg("%s matches %s", name, r->pattern);
			matched += (unsigned)yes;
			spared += !may;
		}
		regfree(&re);
	}
	/* The test looks at something, and so does the filter. */
	assert_true(matched > 100);
	assert_true(spared > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_never_a_wrong_no),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
