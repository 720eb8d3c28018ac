/* SPDX-License-Identifier: Apache-2.0 */
/* See decimal.h. A short form (at most 18 digits, no exponent) takes the first path: all of Kineto's times do. */
#include "import/decimal.h"

#include "proto/wt_err.h"

static int is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* A decimal taken apart: digits without the point (a view of two runs), and where the point stood. */
struct parts {
	const char *whole, *frac;
	size_t nwhole, nfrac;
	int negative;
	int64_t exponent;
};

static int take_exponent(const char *s, size_t n, int64_t *ret)
{
	int negative = n && *s == '-';
	size_t i = negative || (n && *s == '+');
	int64_t e = 0;

	if (i == n)
		return -WT_E_FORMAT;
	for (; i < n; i++) {
		if (!is_digit(s[i]))
			return -WT_E_FORMAT;
		/* Beyond this every result is 0 or out of range, however long the digits. */
		if (e < 1000000000000)
			e = e * 10 + (s[i] - '0');
	}
	*ret = negative ? -e : e;
	return 0;
}

static int take_apart(const char *s, size_t n, struct parts *p)
{
	size_t i = 0;

	*p = (struct parts){0};
	if (n && (*s == '-' || *s == '+'))
		p->negative = s[i++] == '-';
	p->whole = s + i;
	while (i < n && is_digit(s[i]))
		i++;
	p->nwhole = (size_t)(s + i - p->whole);
	if (i < n && s[i] == '.') {
		p->frac = s + ++i;
		while (i < n && is_digit(s[i]))
			i++;
		p->nfrac = (size_t)(s + i - p->frac);
	}
	if (!p->nwhole && !p->nfrac)
		return -WT_E_FORMAT;
	if (i == n)
		return 0;
	if ((s[i] | 0x20) != 'e')
		return -WT_E_FORMAT;
	return take_exponent(s + i + 1, n - i - 1, &p->exponent);
}

static unsigned digit_at(const struct parts *p, size_t i)
{
	return (unsigned)((i < p->nwhole ? p->whole[i] : p->frac[i - p->nwhole]) - '0');
}

/* The general case: digits one by one. */
static int scale_slowly(const struct parts *p, int scale, int64_t *ret)
{
	size_t ndigits = p->nwhole + p->nfrac, i = 0;
	/* How many of the digits stand before the point of the result. */
	int64_t keep = (int64_t)p->nwhole + p->exponent + scale;
	uint64_t most = (uint64_t)INT64_MAX + (uint64_t)p->negative, v = 0;

	while (i < ndigits && digit_at(p, i) == 0)
		i++;
	if (i == ndigits) {
		*ret = 0;
		return 0;
	}
	if (keep > (int64_t)i + 19)
		return -WT_E_LIMIT;
	for (; (int64_t)i < keep; i++) {
		unsigned digit = i < ndigits ? digit_at(p, i) : 0;

		if (v > (most - digit) / 10)
			return -WT_E_LIMIT;
		v = v * 10 + digit;
	}
	/* With leading zeros skipped beyond `keep`, the first digit cut off is one of them: nothing to round. */
	if (keep == (int64_t)i && i < ndigits && digit_at(p, i) >= 5) {
		if (v == most)
			return -WT_E_LIMIT;
		v++;
	}
	*ret = p->negative ? (int64_t)(0 - v) : (int64_t)v;
	return 0;
}

/* Plain digits with an optional point, 18 at most: 1, or 0 if it is not that simple. */
static int scale_fast(const char *s, size_t n, int scale, int64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0, decimals;

	if (n > 20 || scale != 3)
		return 0;
	while (i < n && is_digit(s[i]))
		v = v * 10 + (uint64_t)(s[i++] - '0');
	if (!i)
		return 0;
	if (i == n) {
		if (n > 15)
			return 0;
		*ret = (int64_t)(v * 1000);
		return 1;
	}
	decimals = n - i - 1;
	if (s[i] != '.' || i > 15 || !decimals)
		return 0;
	for (size_t d = 0; d < decimals; d++) {
		char c = s[i + 1 + d];

		if (!is_digit(c))
			return 0;
		if (d < 3)
			v = v * 10 + (uint64_t)(c - '0');
	}
	if (decimals > 3)
		v += s[i + 4] >= '5';
	for (; decimals < 3; decimals++)
		v *= 10;
	*ret = (int64_t)v;
	return 1;
}

int wt_decimal_scaled(const char *s, size_t n, int scale, int64_t *ret)
{
	struct parts p;
	int rc;

	if (scale_fast(s, n, scale, ret))
		return 0;
	rc = take_apart(s, n, &p);
	return rc ? rc : scale_slowly(&p, scale, ret);
}

int wt_decimal_u64(const char *s, size_t n, uint64_t *ret)
{
	int negative = n && *s == '-';
	size_t i = (size_t)negative;
	uint64_t v = 0;

	if (i == n)
		return -WT_E_FORMAT;
	for (; i < n; i++) {
		unsigned digit = (unsigned)(unsigned char)s[i] - '0';

		if (digit > 9)
			return -WT_E_FORMAT;
		if (v > (UINT64_MAX - digit) / 10)
			return -WT_E_LIMIT;
		v = v * 10 + digit;
	}
	*ret = negative ? 0 - v : v;
	return 0;
}

int wt_decimal_i64(const char *s, size_t n, int64_t *ret)
{
	return wt_decimal_scaled(s, n, 0, ret);
}
