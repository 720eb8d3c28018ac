/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which words a name must hold for a POSIX extended expression to match it: of each alternative the longest run of
 * plain characters that is in every match. Looking for words costs a hundredth of running the expression, and nearly
 * all questions end with no. Thread-safe: pure functions.
 */
#ifndef WT_PATTERN_WORDS_H
#define WT_PATTERN_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define WT_PATTERN_ALTERNATIVES 40

/* Which pairs of neighbouring characters a text holds, letters without case: a hash of each pair is a bit. */
struct wt_pairs {
	uint64_t bits[4];
};

struct wt_pattern_words {
	struct {
		uint16_t at, n; /* in the pattern */
		struct wt_pairs pairs;
	} word[WT_PATTERN_ALTERNATIVES];
	uint8_t n; /* 0: nothing can be said without running the expression */
};

void wt_pattern_words(const char *pattern, struct wt_pattern_words *ret);

void wt_pairs_of(const char *text, size_t n, struct wt_pairs *ret);

/* 0 if the expression cannot match the name, whose pairs are given. */
int wt_pattern_may_match(const struct wt_pattern_words *w, const char *pattern, int icase,
			 const char *name, const struct wt_pairs *pairs);

#endif
