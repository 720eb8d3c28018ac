/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POSIX extended expressions, as far as tables of kernel names need them: whether one matches anywhere in a text, and
 * nothing else. A set of places in the expression is one number, so time is the text's length times what is possible at
 * a place, whatever the expression; and one takes some hundred bytes where the C library's takes twenty thousand.
 * Thread-safe: pure functions.
 */
#ifndef WT_PATTERN_H
#define WT_PATTERN_H

#include <stddef.h>

struct wt_pattern;

/*
 * The expression of n bytes, in the C locale. NULL: no memory; or it has more than 128 places, or what is left to the
 * library: counts, classes by name, escapes of letters and digits, what POSIX leaves open.
 */
struct wt_pattern *wt_pattern_new(const char *expression, size_t n, int icase);
void wt_pattern_free(struct wt_pattern *p);
int wt_pattern_finds(const struct wt_pattern *p, const char *text);

#endif
