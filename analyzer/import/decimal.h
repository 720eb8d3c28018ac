/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimal text to integers, exactly and never through double: microseconds since 1970 with three decimals need 61
 * bits, a double has 53.
 */
#ifndef WT_DECIMAL_H
#define WT_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

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

/* An id or count: digits only, up to 2^64 - 1; a negative one wraps as it did when it was printed signed. */
int wt_decimal_u64(const char *s, size_t n, uint64_t *ret);
int wt_decimal_i64(const char *s, size_t n, int64_t *ret);

#endif
