/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The alternatives of a POSIX extended expression, and which word a name must hold for one to match it: the longest run
 * of plain characters that is in every match. Looking for words costs a hundredth of running an expression, nearly all
 * questions end with no, and most alternatives are nothing but a word. Thread-safe: pure functions.
 */
#ifndef WT_PATTERN_WORDS_H
#define WT_PATTERN_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* Which pairs of neighbouring characters a text holds, letters without case: a hash of each pair is a bit. */
struct wt_pairs {
	uint64_t bits[4];
};

struct wt_alternative {
	uint16_t at, n;		  /* in the pattern */
	uint16_t word_at, word_n; /* the same; word_n 0: no word says anything */
	uint8_t is_word;	  /* it is its word: a name that holds it matches */
	struct wt_pairs pairs;	  /* of the word */
};

/* The alternative that begins at `at`; where the next one does, or -1 behind the last. Patterns below 64 KiB. */
int32_t wt_pattern_alternative(const char *pattern, int32_t at, struct wt_alternative *ret);

void wt_pairs_of(const char *text, size_t n, struct wt_pairs *ret);

/* 0 if the alternative cannot match the name, whose pairs are given. */
int wt_alternative_may_match(const struct wt_alternative *a, const char *pattern, int icase,
			     const char *name, const struct wt_pairs *pairs);

#endif
