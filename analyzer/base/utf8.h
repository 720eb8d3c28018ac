/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 by the book: no overlong forms, no surrogates, nothing above U+10FFFF. Pure functions. */
#ifndef WT_UTF8_H
#define WT_UTF8_H

#include <stddef.h>

/* Bytes of the sequence at s, 0 if there is none. Reads no further than the first byte that does not fit. */
unsigned wt_utf8_length(const unsigned char *s);
/* 1 if n bytes are whole sequences. */
int wt_utf8_valid(const char *s, size_t n);

#endif
