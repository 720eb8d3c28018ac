/* SPDX-License-Identifier: Apache-2.0 */
/* See json_escape.h. Decoding in place works because no escape is shorter than the UTF-8 it stands for. */
#include "import/json_escape.h"

static const char simple[256] = {
	['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
	['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
};

static int hex(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t wt_json_escape_length(const uint8_t *p)
{
	if (p[1] != 'u')
		return simple[p[1]] ? 2 : 0;
	for (int i = 2; i < 6; i++)
		if (hex(p[i]) < 0)
			return 0;
	return 6;
}

static uint32_t unit(const uint8_t *p)
{
	return (uint32_t)(hex(p[0]) << 12 | hex(p[1]) << 8 | hex(p[2]) << 4 | hex(p[3]));
}

static uint8_t *put_utf8(uint8_t *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (uint8_t)c;
	} else if (c < 0x800) {
		*to++ = (uint8_t)(0xc0 | c >> 6);
		*to++ = (uint8_t)(0x80 | (c & 0x3f));
	} else {
		if (c < 0x10000) {
			*to++ = (uint8_t)(0xe0 | c >> 12);
		} else {
			*to++ = (uint8_t)(0xf0 | c >> 18);
			*to++ = (uint8_t)(0x80 | (c >> 12 & 0x3f));
		}
		*to++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		*to++ = (uint8_t)(0x80 | (c & 0x3f));
	}
	return to;
}

/* Decodes \uXXXX, or a pair of them, at p; how many bytes it was. */
static size_t decode_unicode(const uint8_t *p, size_t left, uint32_t *ret)
{
	uint32_t c = unit(p + 2), low;

	*ret = c;
	if (c < 0xd800 || c > 0xdfff)
		return 6;
	*ret = 0xfffd;
	if (c > 0xdbff || left < 12 || p[6] != '\\' || p[7] != 'u')
		return 6;
	low = unit(p + 8);
	if (low < 0xdc00 || low > 0xdfff)
		return 6;
	*ret = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	return 12;
}

size_t wt_json_unescape(uint8_t *s, size_t n)
{
	const uint8_t *p = s, *end = s + n;
	uint8_t *to = s;
	uint32_t c;

	while (p < end) {
		if (*p != '\\') {
			*to++ = *p++;
		} else if (end - p < 2 || (p[1] == 'u' ? end - p < 6 : 0) ||
			   !wt_json_escape_length(p)) {
			*to++ = *p++;
		} else if (p[1] != 'u') {
			*to++ = (uint8_t)simple[p[1]];
			p += 2;
		} else {
			p += decode_unicode(p, (size_t)(end - p), &c);
			to = put_utf8(to, c);
		}
	}
	return (size_t)(to - s);
}
