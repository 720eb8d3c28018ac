/* SPDX-License-Identifier: Apache-2.0 */
/* See json_out.h. */
#include "report/json_out.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* The length of the UTF-8 sequence at s, 0 if it is not one (overlong, surrogate, too high, cut). */
static unsigned utf8_length(const unsigned char *s)
{
	static const struct {
		unsigned char lead, mask, low, high; /* first byte; the range of the second */
		unsigned n;
	} forms[] = {
		{0xc2, 0xe0, 0x80, 0xbf, 2}, {0xe0, 0xff, 0xa0, 0xbf, 3},
		{0xed, 0xff, 0x80, 0x9f, 3}, {0xe1, 0xf0, 0x80, 0xbf, 3},
		{0xf0, 0xff, 0x90, 0xbf, 4}, {0xf4, 0xff, 0x80, 0x8f, 4},
		{0xf1, 0xfc, 0x80, 0xbf, 4},
	};

	if (s[0] < 0x80)
		return 1;
	if (s[0] == 0xc0 || s[0] == 0xc1 || s[0] > 0xf4)
		return 0;
	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if ((s[0] & forms[i].mask) != (forms[i].lead & forms[i].mask))
			continue;
		if (s[1] < forms[i].low || s[1] > forms[i].high)
			return 0;
		for (unsigned k = 2; k < forms[i].n; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].n;
	}
	return 0;
}

static void quoted(struct wt_strbuf *out, const char *text)
{
	static const char plain[] = "\"\\\b\f\n\r\t", escapes[] = "\"\\bfnrt";
	const unsigned char *s = (const unsigned char *)text;

	wt_strbuf_addc(out, '"');
	while (*s) {
		const char *special = strchr(plain, *s);
		unsigned n = utf8_length(s);

		if (special) {
			wt_strbuf_addc(out, '\\');
			wt_strbuf_addc(out, escapes[special - plain]);
		} else if (*s < 0x20) {
			wt_strbuf_addf(out, "\\u%04x", *s);
		} else if (n) {
			wt_strbuf_add(out, (const char *)s, n);
		} else {
			wt_strbuf_adds(out, REPLACEMENT);
		}
		s += n ? n : 1;
	}
	wt_strbuf_addc(out, '"');
}

/* Comma, line, key. Below three levels everything stays on one line. */
static void lead(struct wt_jout *j, const char *key)
{
	if (!j->fresh)
		wt_strbuf_addc(j->out, ',');
	if (j->depth && j->depth < 3) {
		wt_strbuf_addc(j->out, '\n');
		for (int i = 0; i < j->depth; i++)
			wt_strbuf_addc(j->out, ' ');
	}
	if (key) {
		quoted(j->out, key);
		wt_strbuf_addc(j->out, ':');
	}
	j->fresh = 0;
}

void wt_jout_open(struct wt_jout *j, const char *key, char bracket)
{
	lead(j, key);
	wt_strbuf_addc(j->out, bracket);
	j->depth++;
	j->fresh = 1;
}

void wt_jout_close(struct wt_jout *j, char bracket)
{
	j->depth--;
	if (!j->fresh && j->depth < 2) {
		wt_strbuf_addc(j->out, '\n');
		for (int i = 0; i < j->depth; i++)
			wt_strbuf_addc(j->out, ' ');
	}
	wt_strbuf_addc(j->out, bracket);
	j->fresh = 0;
}

void wt_jout_string(struct wt_jout *j, const char *key, const char *s)
{
	lead(j, key);
	if (s)
		quoted(j->out, s);
	else
		wt_strbuf_adds(j->out, "null");
}

void wt_jout_int(struct wt_jout *j, const char *key, int64_t v)
{
	lead(j, key);
	wt_strbuf_addf(j->out, "%" PRId64, v);
}

void wt_jout_uint(struct wt_jout *j, const char *key, uint64_t v)
{
	lead(j, key);
	wt_strbuf_addf(j->out, "%" PRIu64, v);
}

void wt_jout_bool(struct wt_jout *j, const char *key, int v)
{
	lead(j, key);
	wt_strbuf_adds(j->out, v ? "true" : "false");
}

void wt_jout_null(struct wt_jout *j, const char *key)
{
	wt_jout_string(j, key, NULL);
}

void wt_jout_share(struct wt_jout *j, const char *key, double v)
{
	lead(j, key);
	if (v == 1.0)
		wt_strbuf_adds(j->out, "1.0");
	else
		wt_strbuf_addf(j->out, "%.9f", v);
}

void wt_jout_double(struct wt_jout *j, const char *key, double v)
{
	if (!isfinite(v)) {
		wt_jout_null(j, key);
		return;
	}
	lead(j, key);
	wt_strbuf_addf(j->out, "%.12g", v);
}

void wt_jout_count(struct wt_jout *j, const char *key, int64_t v)
{
	if (v < 0)
		wt_jout_null(j, key);
	else
		wt_jout_int(j, key, v);
}

void wt_text_name(struct wt_strbuf *out, const char *text, unsigned most)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned columns = 0;

	while (*s) {
		unsigned n = utf8_length(s);

		if (++columns > most - 3 && strlen((const char *)s) > 3) {
			wt_strbuf_adds(out, "...");
			return;
		}
		if (n == 1 && (*s < 0x20 || *s == 0x7f))
			wt_strbuf_addc(out, ' ');
		else if (n == 2 && s[0] == 0xc2 && s[1] < 0xa0) /* C1 controls */
			wt_strbuf_addc(out, ' ');
		else if (n)
			wt_strbuf_add(out, (const char *)s, n);
		else
			wt_strbuf_adds(out, REPLACEMENT);
		s += n ? n : 1;
	}
}
