/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scanner's window and its tokens: errors, refilling, strings, numbers, white space. Whoever meets a NUL asks for
 * more text, which keeps the token at hand, refills and lets it go on. Sixteen bytes may be loaded anywhere without
 * looking.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/json_escape.h"
#include "import/json_inline.h"

#define MAX_TOKEN_BYTES (64u << 20) /* of a string or number that must be held in one piece */

const uint8_t wt_json_value_kind[256] = {
	['{'] = WT_JSON_OBJECT, ['['] = WT_JSON_ARRAY,	['"'] = WT_JSON_STRING,
	['-'] = WT_JSON_NUMBER, ['0'] = WT_JSON_NUMBER, ['1'] = WT_JSON_NUMBER,
	['2'] = WT_JSON_NUMBER, ['3'] = WT_JSON_NUMBER, ['4'] = WT_JSON_NUMBER,
	['5'] = WT_JSON_NUMBER, ['6'] = WT_JSON_NUMBER, ['7'] = WT_JSON_NUMBER,
	['8'] = WT_JSON_NUMBER, ['9'] = WT_JSON_NUMBER, ['t'] = WT_JSON_TRUE,
	['f'] = WT_JSON_FALSE,	['n'] = WT_JSON_NULL,
};

/* ---- errors and refilling ---- */

int wt_json_fail(struct wt_json *js, enum wt_err err, const uint8_t *at, const char *what)
{
	int64_t offset = js->base + (at - js->buf);
	char found[32] = "";

	if (js->error)
		return js->error;
	js->error_at = offset;
	if (at < js->end)
		snprintf(found, sizeof(found),
			 *at > ' ' && *at < 127 ? ", found '%c'" : ", found byte 0x%02x", *at);
	else if (err == WT_E_TRUNCATED)
		snprintf(found, sizeof(found), ", found its end");
	js->error = wt_fail(&js->diag, err,
			    wt_source_is_gzip(js->src) ? wt_source_disk_offset(js->src) : offset,
			    "%s at byte %lld of the text%s", what, (long long)offset, found);
	strncpy(js->diag.path, wt_source_path(js->src), sizeof(js->diag.path) - 1);
	return js->error;
}

int wt_json_unexpected(struct wt_json *js, const uint8_t *at, const char *what)
{
	const struct wt_diag *fault = wt_source_fault(js->src);
	long rc;
	char probe;

	if (js->error)
		return js->error;
	if (at < js->end || !js->ended)
		return wt_json_fail(js, WT_E_CORRUPT, at, what);
	rc = wt_source_read(js->src, &probe, 1);
	if (rc < 0) {
		js->source_failed = 1;
		js->error = wt_fail(&js->diag, (enum wt_err) - rc, fault->offset,
				    "%.400s, after %lld bytes of text", fault->text,
				    (long long)wt_source_text_offset(js->src));
		js->diag.sys_errno = fault->sys_errno;
		memcpy(js->diag.path, fault->path, sizeof(js->diag.path));
		return js->error;
	}
	return wt_json_fail(js, WT_E_TRUNCATED, at, what);
}

/* Copies kept texts that lie in the window before it moves. */
static int save_kept(struct wt_json *js)
{
	const char *lo = (const char *)js->buf, *hi = (const char *)js->end;

	for (size_t i = 0; i < js->nkept; i++) {
		struct wt_json_text *t = &js->kept[i];

		if (!t->s || t->s < lo || t->s > hi)
			continue;
		t->s = wt_region_copy(&js->aside, t->s, t->n);
		if (!t->s) {
			t->n = 0;
			return -1;
		}
	}
	return 0;
}

static int grow(struct wt_json *js)
{
	size_t room = js->room * 2;
	uint8_t *buf;

	if (js->room >= MAX_TOKEN_BYTES)
		return wt_json_fail(js, WT_E_LIMIT, js->buf,
				    "a string or number of more than 64 MiB");
	buf = realloc(js->buf, room + WT_JSON_PAD_BYTES);
	if (!buf)
		return wt_json_fail(js, WT_E_NOMEM, js->buf, "out of memory");
	js->end = buf + (js->end - js->buf);
	js->buf = buf;
	js->room = room;
	return 0;
}

int wt_json_more(struct wt_json *js, const uint8_t **from, const uint8_t **at)
{
	const uint8_t *keep = *from;
	size_t held, from_at, at_at;
	long got;

	if (js->ended || js->error)
		return 0;
	if (js->nkept && save_kept(js)) {
		wt_json_fail(js, WT_E_NOMEM, *from, "out of memory");
		return 0;
	}
	if (js->mark && *from - js->mark > (ptrdiff_t)WT_JSON_MARK_BYTES)
		js->mark = NULL;
	keep = js->mark ? js->mark : keep;
	held = (size_t)(js->end - keep);
	from_at = (size_t)(*from - keep);
	at_at = (size_t)(*at - keep);
	js->base += keep - js->buf;
	memmove(js->buf, keep, held);
	js->end = js->buf + held;
	got = held == js->room && grow(js) ? -1 : 0;
	if (!got) {
		got = wt_source_read(js->src, js->buf + held, js->room - held);
		js->ended = got <= 0;
		js->end = js->buf + held + (got > 0 ? got : 0);
	}
	memset((uint8_t *)js->end, 0, WT_JSON_PAD_BYTES);
	*from = js->buf + from_at;
	*at = js->buf + at_at;
	js->mark = js->mark ? js->buf : NULL;
	return got > 0;
}

/* ---- white space, strings, numbers: all take and return a place in the window ---- */

const uint8_t *wt_json_space_slow(struct wt_json *js, const uint8_t *p)
{
	for (;;) {
		while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t') {
#ifdef __SSE2__
			/* Runs of blanks are indentation: long and all alike. */
			__m128i blank = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(p + 1)),
						       _mm_set1_epi8(' '));
			unsigned other = ~(unsigned)_mm_movemask_epi8(blank);

			p += 1 + __builtin_ctz(other | 0x10000u);
#else
			p++;
#endif
		}
		if (*p || p < js->end || !wt_json_more(js, &p, &p))
			return p;
	}
}

static int is_hex_digit(uint8_t c)
{
	return (uint8_t)(c - '0') < 10 || (uint8_t)((c | 0x20) - 'a') < 6;
}

/* A backslash at p: behind the escape; NULL if it is none (error set). *from is kept. */
static const uint8_t *skip_escape(struct wt_json *js, const uint8_t **from, const uint8_t *p)
{
	size_t n;

	while (p + 6 > js->end && wt_json_more(js, from, &p))
		;
	n = wt_json_escape_length(p);
	if (js->lenient)
		return wt_json_lenient_escape(js, from, p, n);
	if (n)
		return p + n;
	if (*++p == 'u')
		for (p++; is_hex_digit(*p);)
			p++;
	wt_json_unexpected(js, p, "expected an escape (\\n, \\\", \\u00e9 ...)");
	return NULL;
}

const uint8_t *wt_json_string_end(struct wt_json *js, const uint8_t **from, const uint8_t *p,
				  int *ret_escaped, enum wt_json_where where)
{
	for (;;) {
		const uint8_t *here = p = wt_json_plain_end(p);

		if (*p == '"' && !js->lenient)
			return p;
		if (*p == '"') {
			int closes = wt_json_closes(js, from ? from : &here, &p, where);

			if (closes > 0)
				return p;
			if (closes < 0) {
				wt_json_fail(js, WT_E_CORRUPT, p,
					     "expected the string to end before the next object");
				return NULL;
			}
			p++;
		} else if (*p == '\\') {
			*ret_escaped = 1;
			js->where = (uint8_t)where;
			p = skip_escape(js, from ? from : &here, p);
			if (!p)
				return NULL;
		} else if (*p || p < js->end) {
			if (!js->lenient) {
				wt_json_fail(js, WT_E_CORRUPT, p,
					     "expected no bare control character in a string");
				return NULL;
			}
			wt_json_repaired(js);
			p++;
		} else if (!wt_json_more(js, from ? from : &p, &p)) {
			wt_json_unexpected(js, p, "expected the string to end");
			return NULL;
		}
	}
}

const uint8_t *wt_json_number_slow(struct wt_json *js, const uint8_t **from)
{
	const uint8_t *p;
	int sound;

	do
		p = wt_json_number_end(*from, &sound);
	while (p == js->end && wt_json_more(js, from, &p));
	if (!sound) {
		size_t word = js->lenient ? wt_json_lenient_word(js, from) : 0;

		if (word) {
			wt_json_repaired(js);
			return *from + word;
		}
		p = wt_json_number_end(*from, &sound);
		wt_json_unexpected(js, p, "expected a digit");
		return NULL;
	}
	return js->error ? NULL : p;
}
