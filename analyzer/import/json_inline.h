/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner's inner loops, for those that read text a byte at a time: they look at the window and nowhere else. The
 * window ends in zero bytes, and NUL is no part of any JSON token, so none of them tests for its end.
 */
#ifndef WT_JSON_INLINE_H
#define WT_JSON_INLINE_H

#if defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__BMI2__)
#define WT_JSON_WIDE 1
#include <immintrin.h>
#else
#define WT_JSON_WIDE 0
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#endif

#include "import/json_scan_impl.h"

/* The next byte that ends a run of plain string bytes: a quote, a backslash or a control character. */
static inline __attribute__((always_inline)) const uint8_t *wt_json_plain_end(const uint8_t *p)
{
#if WT_JSON_WIDE
	for (;; p += 64) {
		__m512i v = _mm512_loadu_si512(p);
		uint64_t mask = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"')) |
				_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\')) |
				_mm512_cmple_epu8_mask(v, _mm512_set1_epi8(0x1f));

		if (mask)
			return p + __builtin_ctzll(mask);
	}
#elif defined(__SSE2__)
	for (;; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)p);
		__m128i stop = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
					    _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
		__m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
		unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(stop, control));

		if (mask)
			return p + __builtin_ctz(mask);
	}
#else
	while (*p != '"' && *p != '\\' && *p >= 0x20)
		p++;
	return p;
#endif
}

static inline int wt_json_is_digit(uint8_t c)
{
	return (uint8_t)(c - '0') < 10;
}

/* The first byte from p on that is no digit. */
static inline __attribute__((always_inline)) const uint8_t *wt_json_digits_end(const uint8_t *p)
{
#if WT_JSON_WIDE
	for (;; p += 16) {
		__m128i v = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)p), _mm_set1_epi8('0'));
		unsigned other = _mm_cmpgt_epu8_mask(v, _mm_set1_epi8(9));

		if (other)
			return p + __builtin_ctz(other);
	}
#elif defined(__SSE2__)
	for (;; p += 16) {
		__m128i v = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)p), _mm_set1_epi8('0'));
		__m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(9)), v);
		unsigned other = ~(unsigned)_mm_movemask_epi8(digit) & 0xffffu;

		if (other)
			return p + __builtin_ctz(other);
	}
#else
	while (wt_json_is_digit(*p))
		p++;
	return p;
#endif
}

/* Behind the number at p, as far as the window shows; *ret_sound says whether that is a whole one. */
static inline const uint8_t *wt_json_number_end(const uint8_t *p, int *ret_sound)
{
	*ret_sound = 0;
	p += *p == '-';
	if (*p == '0') {
		p++;
	} else {
		if (!wt_json_is_digit(*p))
			return p;
		p = wt_json_digits_end(p);
	}
	if (*p == '.') {
		if (!wt_json_is_digit(*++p))
			return p;
		p = wt_json_digits_end(p);
	}
	if ((*p | 0x20) == 'e') {
		p++;
		p += *p == '+' || *p == '-';
		if (!wt_json_is_digit(*p))
			return p;
		while (wt_json_is_digit(*p))
			p++;
	}
	*ret_sound = 1;
	return p;
}

/* Compact text has one blank or none, indented text a line break and up to 15 blanks: two guesses, then the loop. */
static inline __attribute__((always_inline)) const uint8_t *wt_json_space(struct wt_json *js,
									  const uint8_t *p)
{
	if (*p > ' ')
		return p;
	if (p[1] > ' ' && *p == ' ')
		return p + 1;
#ifdef __SSE2__
	if (*p == '\n') {
		__m128i blank = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(p + 1)),
					       _mm_set1_epi8(' '));
		const uint8_t *q =
			p + 1 + __builtin_ctz(~(unsigned)_mm_movemask_epi8(blank) | 0x10000u);

		if (*q > ' ')
			return q;
	}
#endif
	return wt_json_space_slow(js, p);
}

#endif
