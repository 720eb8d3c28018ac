/* SPDX-License-Identifier: Apache-2.0 */
/* See json_out.h. */
#include "report/json_out.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/demangle.h"
#include "base/utf8.h"
#include "base/visible.h"

#define REPLACEMENT "\xef\xbf\xbd"

static void quoted(struct wt_strbuf *out, const char *text)
{
	static const char plain[] = "\"\\\b\f\n\r\t", escapes[] = "\"\\bfnrt";
	const unsigned char *s = (const unsigned char *)text;

	wt_strbuf_addc(out, '"');
	while (*s) {
		const unsigned char *from = s;
		const char *special;
		unsigned n;

		/* Most characters are those that stand for themselves. */
		while (*s >= 0x20 && *s < 0x80 && *s != '"' && *s != '\\')
			s++;
		wt_strbuf_add(out, (const char *)from, (size_t)(s - from));
		if (!*s)
			break;
		special = strchr(plain, *s);
		n = wt_utf8_length(s);
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
	/* FLOPs and the like are whole numbers, and stay so as far as a double can count. */
	wt_strbuf_addf(j->out, v == trunc(v) && fabs(v) < 9007199254740992.0 ? "%.0f" : "%.12g", v);
}

void wt_jout_count(struct wt_jout *j, const char *key, int64_t v)
{
	if (v < 0)
		wt_jout_null(j, key);
	else
		wt_jout_int(j, key, v);
}

static void text_name(struct wt_strbuf *out, const char *name, unsigned most, int keep_tail)
{
	const unsigned char *s = (const unsigned char *)name;
	/* Templates of one kind begin alike: of theirs the end is kept too. */
	unsigned tail = keep_tail && strlen(name) > most ? most * 2 / 5 : 0, columns = 0;

	while (*s) {
		if (++columns > most - 3 - tail && strlen((const char *)s) > 3 + tail) {
			wt_strbuf_adds(out, "...");
			if (!tail)
				return;
			s += strlen((const char *)s) - tail;
			while ((*s & 0xc0) == 0x80)
				s++;
			tail = 0;
			columns = most - 3 - (unsigned)strlen((const char *)s);
		} else {
			s += wt_visible_add(out, s);
		}
	}
}

void wt_text_name(struct wt_strbuf *out, const char *text, unsigned most)
{
	char plain[1024];
	const char *name = wt_demangle(text, plain, sizeof(plain));

	if (name == text)
		name = wt_plain(text, plain, sizeof(plain));
	text_name(out, name, most, name == plain);
}
