/* SPDX-License-Identifier: Apache-2.0 */
/* See strbuf.h. */
#include "base/strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void wt_strbuf_release(struct wt_strbuf *b)
{
	free(b->s);
	*b = (struct wt_strbuf){0};
}

void wt_strbuf_clear(struct wt_strbuf *b)
{
	b->n = 0;
	b->failed = 0;
	if (b->s)
		b->s[0] = '\0';
}

int wt_strbuf_reserve(struct wt_strbuf *b, size_t n)
{
	size_t room;
	char *s;

	if (b->failed || n > SIZE_MAX / 2 - b->n - 1) {
		b->failed = 1;
		return -1;
	}
	if (b->n + n < b->room)
		return 0;
	room = b->room * 2 > b->n + n + 1 ? b->room * 2 : b->n + n + 1;
	if (room < 64)
		room = 64;
	s = realloc(b->s, room);
	if (!s) {
		b->failed = 1;
		return -1;
	}
	b->s = s;
	b->room = room;
	return 0;
}

void wt_strbuf_add(struct wt_strbuf *b, const char *s, size_t n)
{
	if (wt_strbuf_reserve(b, n))
		return;
	if (n)
		memcpy(b->s + b->n, s, n);
	b->n += n;
	b->s[b->n] = '\0';
}

void wt_strbuf_adds(struct wt_strbuf *b, const char *s)
{
	wt_strbuf_add(b, s, strlen(s));
}

void wt_strbuf_addc(struct wt_strbuf *b, char c)
{
	wt_strbuf_add(b, &c, 1);
}

void wt_strbuf_vaddf(struct wt_strbuf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n >= 0 && !wt_strbuf_reserve(b, (size_t)n)) {
		vsnprintf(b->s + b->n, (size_t)n + 1, fmt, again);
		b->n += (size_t)n;
	}
	va_end(again);
}

void wt_strbuf_addf(struct wt_strbuf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	wt_strbuf_vaddf(b, fmt, ap);
	va_end(ap);
}

const char *wt_strbuf_text(const struct wt_strbuf *b)
{
	return b->s ? b->s : "";
}
