/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimal text to integers, exactly and never through double: microseconds since 1970 with three decimals need 61
 * bits, a double has 53.
 */
#ifndef WT_DECIMAL_H
#define WT_DECIMAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WT_DECIMAL_IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/*
 * [-+]digits[.digits][e[-+]digits] times 10^scale, rounded to an integer: the first digit cut off decides, 5 and above
 * away from zero. 0, -WT_E_FORMAT (not such a text) or -WT_E_LIMIT (beyond int64).
 */
int wt_decimal_scaled(const char *s, size_t n, int scale, int64_t *ret);

/* Microseconds as text to nanoseconds: the fourth decimal is rounded half up. */
static inline int wt_decimal_us_to_ns(const char *s, size_t n, int64_t *ret_ns)
{
	return wt_decimal_scaled(s, n, 3, ret_ns);
}

/* The value of eight digits, of which the first is the lowest byte; -1: not all are digits. */
static inline int64_t wt_decimal_eight(uint64_t w)
{
	const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0);

	if (((w & high) | (((w + UINT64_C(0x0606060606060606)) & high) >> 4)) !=
	    UINT64_C(0x3333333333333333))
		return -1;
	w -= UINT64_C(0x3030303030303030);
	w = w * 10 + (w >> 8);
	w = ((w & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
	     ((w >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >>
	    32;
	return (int64_t)(w & 0xffffffffu);
}

/* Of eight bytes the digits they begin with: how many, and their value. */
static inline unsigned wt_decimal_upto_eight(const char *s, uint64_t *ret)
{
	const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0);
	uint64_t w, other;
	unsigned n;

	memcpy(&w, s, sizeof(w));
	/* A byte that is no digit has another high nibble than 3, at once or with 6 added; the first one's is found. */
	other = ((w & high) ^ UINT64_C(0x3030303030303030)) |
		(((w & ~high) + UINT64_C(0x0606060606060606)) & high);
	n = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
	if (!n)
		return 0;
	/* The digits at the end, zeros before them. */
	w = (w - UINT64_C(0x3030303030303030)) << (64 - 8 * n);
	w = w * 10 + (w >> 8);
	*ret = (((w & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
		 ((w >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >>
		32) &
	       0xffffffffu;
	return n;
}

/*
 * The same from text that goes on: behind the number, if it is a plain one (no sign, no exponent, no leading zeros)
 * that fits and something other than a zero byte follows; else NULL. Looks eight bytes ahead.
 */
static inline const char *wt_decimal_us_take(const char *s, int64_t *ret_ns)
{
	const char *p = s;
	uint64_t v = 0, w;
	int64_t eight;

	for (int i = 0; i < 2; i++) {
		memcpy(&w, p, sizeof(w));
		eight = WT_DECIMAL_IS_LITTLE ? wt_decimal_eight(w) : -1;
		if (eight < 0)
			break;
		v = v * 100000000 + (uint64_t)eight;
		p += 8;
	}
	while ((unsigned char)(*p - '0') < 10 && p - s < 17)
		v = v * 10 + (uint64_t)(*p++ - '0');
	if (p == s || p - s > 16 || (*s == '0' && p - s > 1) || v >= INT64_MAX / 1000)
		return NULL;
	v *= 1000;
	if (*p == '.') {
		static const uint16_t weights[] = {100, 10, 1};
		int i = 0;

		for (p++; (unsigned char)(*p - '0') < 10; p++, i++) {
			unsigned digit = (unsigned char)(*p - '0');

			if (i < 3)
				v += digit * weights[i];
			else if (i == 3)
				v += digit >= 5;
		}
		if (!i)
			return NULL;
	}
	*ret_ns = (int64_t)v;
	return !*p || (*p | 0x20) == 'e' ? NULL : p;
}

/* An id or count: digits only, up to 2^64 - 1; a negative one wraps as it did when it was printed signed. */
int wt_decimal_u64(const char *s, size_t n, uint64_t *ret);
int wt_decimal_i64(const char *s, size_t n, int64_t *ret);

#endif
