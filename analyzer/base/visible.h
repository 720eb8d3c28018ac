/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from files as it may be put on a terminal. What would move the cursor, change the order in which the rest is
 * shown, or show nothing at all (controls, marks of direction, characters of no width, tags) is replaced: C0 and C1 by
 * a blank, the others, and bytes that are no UTF-8, by U+FFFD. Pure functions.
 */
#ifndef WT_VISIBLE_H
#define WT_VISIBLE_H

#include <stddef.h>

#include "base/strbuf.h"

/* Adds the character at s, which ends in NUL; the bytes it took. */
unsigned wt_visible_add(struct wt_strbuf *out, const unsigned char *s);
/* Adds all of s. */
void wt_visible_adds(struct wt_strbuf *out, const char *s);
/*
 * The n bytes of a whole output, made visible in place, line ends kept, and with `colour` the two sequences for bold
 * and plain text: the last door, whatever the doors before it let through. Memory may run out: then it stays empty.
 */
void wt_visible_output(struct wt_strbuf *text, int colour);

#endif
