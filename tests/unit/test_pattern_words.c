/* SPDX-License-Identifier: Apache-2.0 */
/* Words of expressions: those of hand-made ones; and what they and pattern.h say of names is what the library says. */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/families.h"
#include "ledger/pattern.h"
#include "ledger/pattern_words.h"

/* The words joined by '|'; "-": nothing can be said; "=" before one that is all of its alternative. */
static const char *words_of(const char *pattern)
{
	static char text[256];
	int32_t at = 0;

	text[0] = '\0';
	do {
		struct wt_alternative a;

		strcat(text, at ? "|" : "");
		at = wt_pattern_alternative(pattern, at, &a);
		strcat(text, a.is_word ? "=" : a.word_n ? "" : "-");
		strncat(text, pattern + a.word_at, a.word_n);
	} while (at >= 0);
	return text;
}

static void test_words(void **state)
{
	assert_string_equal(words_of("nccl(Dev)?Kernel[_A-Z]*(Send|Recv)"), "Kernel");
	assert_string_equal(words_of("^gemm|matmul$|gemv"), "gemm|matmul|=gemv");
	assert_string_equal(words_of("abcd?"), "abc");
	assert_string_equal(words_of("abcd+efg"), "abcd");
	assert_string_equal(words_of("abc{0,2}defg*h"), "def");
	assert_string_equal(words_of("[]abcd]xyz"), "xyz");
	assert_string_equal(words_of("[^]abcd]xyz[[:digit:]abcd]"), "xyz");
	assert_string_equal(words_of("(a\\)bcde|f(g)[)])hij"), "hij");
	assert_string_equal(words_of("long_one|ab"), "=long_one|-"); /* too short to be of use */
	assert_string_equal(words_of("(only|groups)"), "-");
	assert_string_equal(words_of("abc|"), "=abc|-"); /* an empty alternative matches all */
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

/* What the alternatives' words and wt_pattern say of a name, as families.c asks them. */
static int finds(const struct wt_family_row *r, const char *name, unsigned *spared)
{
	struct wt_pairs pairs;
	int32_t at = 0;
	int found = 0;

	wt_pairs_of(name, strlen(name), &pairs);
	do {
		struct wt_alternative a;
		struct wt_pattern *p;

		at = wt_pattern_alternative(r->pattern, at, &a);
		if (!wt_alternative_may_match(&a, r->pattern, r->icase, name, &pairs)) {
			++*spared;
			continue;
		}
		p = wt_pattern_new(r->pattern + a.at, a.n, r->icase);
		if (!p)
			fail_msg("not known: %.*s of %s", a.n, r->pattern + a.at, r->pattern);
		if (a.is_word && !wt_pattern_finds(p, name))
			fail_msg("%s holds a word, and no match, of %s", name, r->pattern);
		found |= wt_pattern_finds(p, name);
		wt_pattern_free(p);
	} while (at >= 0);
	return found;
}

/* Every line of the table is known, and gives the library's answers. */
static void test_as_the_library(void **state)
{
	unsigned seed = 7, matched = 0, spared = 0;

	for (int row = 0; row < wt_nfamily_rows; row++) {
		const struct wt_family_row *r = &wt_family_rows[row];
		regex_t re;

		assert_int_equal(regcomp(&re, r->pattern,
					 REG_EXTENDED | REG_NOSUB | (r->icase ? REG_ICASE : 0)),
				 0);
		for (int i = 0; i < 200; i++) {
			char name[128];
			int yes;

			make_name(&seed, name);
			yes = !regexec(&re, name, 0, NULL, 0);
			if (yes != finds(r, name, &spared))
				fail_msg("%s: the library says %d to %s", r->pattern, yes, name);
			matched += (unsigned)yes;
		}
		regfree(&re);
	}
	/* The test looks at something, and so does the filter. */
	assert_true(matched > 50);
	assert_true(spared > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_as_the_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
