/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See pattern_words.h. Only the outermost level of a pattern is looked at: what stands in groups and classes ends a
 * run and adds nothing. What is not understood counts as nothing, so a word is always one that must be there.
 */
#define _GNU_SOURCE /* strcasestr */
#include "ledger/pattern_words.h"

#include <string.h>

#define SHORTEST 3u /* shorter words are in most names */
#define LONGEST	 127u

/* Behind the class that starts at p. */
static const char *behind_class(const char *p)
{
	p += p[1] == '^' ? 2 : 1;
	p += *p == ']';
	while (*p && *p != ']') {
		const char *end = NULL;

		if (*p == '[' && (p[1] == ':' || p[1] == '.' || p[1] == '='))
			end = strchr(p + 2, ']');
		p = end ? end + 1 : p + 1;
	}
	return *p ? p + 1 : p;
}

/* Behind the group that starts at p. */
static const char *behind_group(const char *p)
{
	int depth = 0;

	while (*p) {
		if (*p == '\\' && p[1]) {
			p += 2;
			continue;
		}
		if (*p == '[') {
			p = behind_class(p);
			continue;
		}
		depth += *p == '(';
		depth -= *p == ')';
		p++;
		if (!depth)
			break;
	}
	return p;
}

static int is_plain(char c)
{
	return c && !strchr("\\[](){}|*+?.^$", c);
}

/* The longest run of the alternative at p; returns its end. */
static const char *longest_run(const char *p, const char **ret_run, size_t *ret_n)
{
	*ret_n = 0;
	while (*p && *p != '|') {
		const char *run = p;
		size_t n;

		while (is_plain(*p))
			p++;
		n = (size_t)(p - run);
		/* The last one may be absent. */
		if (n && *p && strchr("*?{", *p))
			n--;
		if (n > *ret_n) {
			*ret_run = run;
			*ret_n = n;
		}
		if (*p == '\\')
			p += p[1] ? 2 : 1;
		else if (*p == '[')
			p = behind_class(p);
		else if (*p == '(')
			p = behind_group(p);
		else if (*p == '{')
			p += strcspn(p, "}");
		else if (*p && *p != '|')
			p++;
	}
	return p;
}

int32_t wt_pattern_alternative(const char *pattern, int32_t at, struct wt_alternative *ret)
{
	const char *from = pattern + at, *run = from, *end;
	size_t n;

	end = longest_run(from, &run, &n);
	*ret = (struct wt_alternative){.at = (uint16_t)at, .n = (uint16_t)(end - from)};
	if (n >= SHORTEST) {
		ret->word_at = (uint16_t)(run - pattern);
		ret->word_n = (uint16_t)n;
		ret->is_word = n == ret->n && n <= LONGEST;
		wt_pairs_of(run, n, &ret->pairs);
	}
	return *end ? (int32_t)(end + 1 - pattern) : -1;
}

static int holds(const char *name, const char *word, size_t n, int icase)
{
	char copy[LONGEST + 1];

	/* The head of a long word will do. */
	n = n < LONGEST ? n : LONGEST;
	memcpy(copy, word, n);
	copy[n] = '\0';
	return (icase ? strcasestr(name, copy) : strstr(name, copy)) != NULL;
}

void wt_pairs_of(const char *text, size_t n, struct wt_pairs *ret)
{
	*ret = (struct wt_pairs){{0}};
	for (size_t i = 0; i + 1 < n; i++) {
		/* 0x20 is what tells cases apart; that it makes other characters alike costs a look at worst. */
		unsigned a = (unsigned char)text[i] | 0x20, b = (unsigned char)text[i + 1] | 0x20,
			 bit = (a * 37 + b * 11) & 255;

		ret->bits[bit >> 6] |= UINT64_C(1) << (bit & 63);
	}
}

static int holds_pairs(const struct wt_pairs *in, const struct wt_pairs *of)
{
	return !((of->bits[0] & ~in->bits[0]) | (of->bits[1] & ~in->bits[1]) |
		 (of->bits[2] & ~in->bits[2]) | (of->bits[3] & ~in->bits[3]));
}

int wt_alternative_may_match(const struct wt_alternative *a, const char *pattern, int icase,
			     const char *name, const struct wt_pairs *pairs)
{
	return !a->word_n || (holds_pairs(pairs, &a->pairs) &&
			      holds(name, pattern + a->word_at, a->word_n, icase));
}
