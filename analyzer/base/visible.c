/* SPDX-License-Identifier: Apache-2.0 */
/* See visible.h. */
#include "base/visible.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Shown as nothing, or as an order to whoever shows the others: Unicode's format characters and separators of lines. */
static const struct {
	uint32_t first, last;
} unseen[] = {
	{0x00ad, 0x00ad},   {0x034f, 0x034f},	{0x061c, 0x061c}, {0x115f, 0x1160},
	{0x17b4, 0x17b5},   {0x180b, 0x180f},	{0x200b, 0x200f}, {0x2028, 0x202e},
	{0x2060, 0x206f},   {0x3164, 0x3164},	{0xfe00, 0xfe0f}, {0xfeff, 0xfeff},
	{0xffa0, 0xffa0},   {0xfff0, 0xfffb},	{0xfffe, 0xffff}, {0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

static uint32_t code_point(const unsigned char *s, unsigned n)
{
	uint32_t c = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));

	for (unsigned i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3fu);
	return c;
}

static int is_unseen(uint32_t c)
{
	for (size_t i = 0; i < sizeof(unseen) / sizeof(*unseen); i++)
		if (c <= unseen[i].last)
			return c >= unseen[i].first;
	return 0;
}

unsigned wt_visible_add(struct wt_strbuf *out, const unsigned char *s)
{
	unsigned n = wt_utf8_length(s);
	uint32_t c = n ? code_point(s, n) : 0;

	if (n && (c < 0x20 || (c >= 0x7f && c < 0xa0)))
		wt_strbuf_addc(out, ' ');
	else if (!n || is_unseen(c))
		wt_strbuf_adds(out, REPLACEMENT);
	else
		wt_strbuf_add(out, (const char *)s, n);
	return n ? n : 1;
}

void wt_visible_adds(struct wt_strbuf *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s)
		s += wt_visible_add(out, s);
}

/* Bytes from s on that need no second look. */
static size_t plain(const unsigned char *s)
{
	size_t n = 0;

	while ((s[n] >= 0x20 && s[n] < 0x7f) || s[n] == '\n')
		n++;
	return n;
}

/* Our own orders to the terminal. */
static size_t own(const unsigned char *s)
{
	static const char *const orders[] = {"\033[1m", "\033[0m"};

	for (size_t i = 0; i < 2; i++)
		if (!strncmp((const char *)s, orders[i], strlen(orders[i])))
			return strlen(orders[i]);
	return 0;
}

void wt_visible_output(struct wt_strbuf *text, int colour)
{
	const unsigned char *s = (const unsigned char *)wt_strbuf_text(text);
	struct wt_strbuf out = {.n = 0};
	size_t n = plain(s);

	if (!s[n] && n == text->n)
		return;
	for (s = (const unsigned char *)wt_strbuf_text(text);
	     s < (const unsigned char *)wt_strbuf_text(text) + text->n;) {
		n = plain(s);
		n = n || !colour ? n : own(s);
		if (n)
			wt_strbuf_add(&out, (const char *)s, n);
		else
			n = wt_visible_add(&out, s);
		s += n;
	}
	out.failed |= text->failed;
	wt_strbuf_release(text);
	*text = out;
}
