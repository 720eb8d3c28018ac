/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies below the scanner's tokens: escapes inside strings. Pure functions.
 */
#ifndef WT_JSON_ESCAPE_H
#define WT_JSON_ESCAPE_H

#include <stddef.h>
#include <stdint.h>

/* Length of the escape whose backslash is at p (2 or 6), 0 if it is none. Stops at the first wrong byte. */
size_t wt_json_escape_length(const uint8_t *p);
/*
 * Decodes n bytes of string text in place; the new length. A lone surrogate becomes U+FFFD; a backslash that begins no
 * escape stays (only a lenient reading lets one come here).
 */
size_t wt_json_unescape(uint8_t *s, size_t n);

#endif
