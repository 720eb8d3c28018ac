/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which words a name must hold for a POSIX extended expression to match it: of each alternative the longest run of
 * plain characters that is in every match. Looking for words costs a hundredth of running the expression, and nearly
 * all questions end with no. Thread-safe: pure functions.
 */
#ifndef WT_PATTERN_WORDS_H
#define WT_PATTERN_WORDS_H

#include <stdint.h>

#define WT_PATTERN_ALTERNATIVES 40

struct wt_pattern_words {
	struct {
		uint16_t at, n; /* in the pattern */
	} word[WT_PATTERN_ALTERNATIVES];
	uint8_t n; /* 0: nothing can be said without running the expression */
};

void wt_pattern_words(const char *pattern, struct wt_pattern_words *ret);

/* 0 if the expression cannot match the name. */
int wt_pattern_may_match(const struct wt_pattern_words *w, const char *pattern, int icase,
			 const char *name);

#endif
