/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing text, always NUL-terminated. When memory runs out it keeps what it has, remembers the failure and ignores
 * further text: callers check `failed` once, at the end.
 */
#ifndef WT_STRBUF_H
#define WT_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

struct wt_strbuf {
	char *s; /* never NULL after the first add; use wt_strbuf_text() before */
	size_t n, room;
	int failed;
};

/* All zero is an empty buffer: no init. */
void wt_strbuf_release(struct wt_strbuf *b);
void wt_strbuf_clear(struct wt_strbuf *b); /* keeps the memory */
void wt_strbuf_add(struct wt_strbuf *b, const char *s, size_t n);
void wt_strbuf_adds(struct wt_strbuf *b, const char *s);
void wt_strbuf_addc(struct wt_strbuf *b, char c);
void wt_strbuf_addf(struct wt_strbuf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void wt_strbuf_vaddf(struct wt_strbuf *b, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
/* Room for n more bytes: 0, or -1 when memory ran out. */
int wt_strbuf_reserve(struct wt_strbuf *b, size_t n);
const char *wt_strbuf_text(const struct wt_strbuf *b); /* never NULL */

#endif
