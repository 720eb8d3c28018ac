/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See json_scan.h. Reading, on top of json_tokens.c; json_skip.c skips, json_lenient.c reads again what is bad.
 *
 * Speed rests on three things: strings are searched 16 bytes at a time, skipping is one loop with jumps instead of a
 * token per call, and nothing is copied unless a kept text would leave the window. Strings are decoded in place: the
 * decoded form is never longer.
 */
#include "import/json_scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/rows.h"
#include "import/json_escape.h"
#include "import/json_inline.h"

#define USUAL_WINDOW_BYTES (256u << 10)
#define MIN_WINDOW_BYTES   16u
#define POPULATED_FROM	   (64 << 10) /* on disk: such a file fills the window */

/* The kind of the value at js->p; 0: no value. */
static inline int kind_here(struct wt_json *js)
{
	if (js->lenient && wt_json_lenient_word(js, &js->p))
		return WT_JSON_NULL;
	return wt_json_value_kind[*js->p];
}

int wt_json_peek(struct wt_json *js)
{
	int kind;

	if (js->error)
		return js->error;
	js->p = wt_json_space(js, js->p);
	kind = kind_here(js);
	if (kind)
		return kind;
	if (js->p == js->end && js->ended && !wt_source_fault(js->src)->text[0])
		return WT_JSON_END;
	return wt_json_unexpected(js, js->p, "expected a value");
}

static int enter(struct wt_json *js, uint8_t bracket, const char *what)
{
	if (js->error)
		return js->error;
	js->p = wt_json_space(js, js->p);
	if (*js->p != bracket)
		return wt_json_unexpected(js, js->p, what);
	js->p++;
	js->first = 1;
	return 0;
}

int wt_json_enter_object(struct wt_json *js)
{
	return enter(js, '{', "expected an object");
}

int wt_json_enter_array(struct wt_json *js)
{
	return enter(js, '[', "expected an array");
}

/* Past the comma before the next element: 1; 0 when it closed. */
static inline __attribute__((always_inline)) int step(struct wt_json *js, uint8_t close,
						      const char *what)
{
	const uint8_t *p;

	if (js->error)
		return js->error;
	p = wt_json_space(js, js->p);
	if (*p == close) {
		js->p = p + 1;
		js->first = 0;
		return 0;
	}
	if (js->first) {
		js->first = 0;
	} else if (*p == ',') {
		p = wt_json_space(js, p + 1);
	} else {
		return wt_json_unexpected(js, p, what);
	}
	js->p = p;
	return 1;
}

int wt_json_item(struct wt_json *js)
{
	int rc = step(js, ']', "expected ',' or ']'");

	js->in_object = 0;
	if (rc <= 0 || kind_here(js))
		return rc;
	if (js->lenient && *js->p == ']') {
		wt_json_repaired(js);
		js->p++;
		js->first = 0;
		return 0;
	}
	return wt_json_unexpected(js, js->p, "expected a value");
}

/* The string whose text starts at `from` and that is not closed within the window, or has escapes. */
static int read_string_slow(struct wt_json *js, const uint8_t *from, struct wt_json_text *ret,
			    enum wt_json_where where)
{
	int escaped = 0;
	const uint8_t *p = wt_json_string_end(js, &from, from, &escaped, where);
	char *text = (char *)from;
	size_t n;

	if (!p)
		return js->error;
	n = (size_t)(p - from);
	/* What may be read again must stay as it is. */
	text = escaped && js->mark ? wt_region_copy(&js->aside, (const char *)from, n)
				   : (char *)from;
	if (!text)
		return wt_json_fail(js, WT_E_NOMEM, from, "out of memory");
	ret->s = text;
	ret->n = escaped ? wt_json_unescape((uint8_t *)text, n) : n;
	js->p = p + 1;
	return 0;
}

/* The string whose quote is at p. */
static inline __attribute__((always_inline)) int read_string(struct wt_json *js, const uint8_t *p,
							     struct wt_json_text *ret,
							     enum wt_json_where where)
{
	const uint8_t *end = wt_json_plain_end(p + 1);

	if (*end != '"' || js->lenient)
		return read_string_slow(js, p + 1, ret, where);
	ret->s = (const char *)p + 1;
	ret->n = (size_t)(end - p - 1);
	js->p = end + 1;
	return 0;
}

int wt_json_string(struct wt_json *js, struct wt_json_text *ret)
{
	const uint8_t *p;

	if (js->error)
		return js->error;
	p = wt_json_space(js, js->p);
	return *p == '"' ? read_string(js, p, ret, (enum wt_json_where)js->in_object)
			 : wt_json_unexpected(js, p, "expected a string");
}

int wt_json_key(struct wt_json *js, struct wt_json_text *ret_key)
{
	int rc = step(js, '}', "expected ',' or '}'");
	const uint8_t *p, *key;

	if (rc <= 0)
		return rc;
	if (*js->p == '}' && js->lenient) {
		wt_json_repaired(js);
		js->p++;
		return 0;
	}
	if (*js->p != '"')
		return wt_json_unexpected(js, js->p, "expected a key");
	rc = read_string(js, js->p, ret_key, WT_JSON_IN_KEY);
	js->in_object = 1;
	if (rc)
		return rc;
	p = js->p;
	if (*p != ':') {
		/* Rare white space, or the window's end: the key must stay, unless it was decoded elsewhere. */
		int inside =
			ret_key->s >= (const char *)js->buf && ret_key->s <= (const char *)js->end;

		key = (const uint8_t *)ret_key->s;
		for (;;) {
			if (p < js->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
				p++;
			else if (p < js->end || !wt_json_more(js, inside ? &key : &p, &p))
				break;
		}
		ret_key->s = inside ? (const char *)key : ret_key->s;
		if (*p != ':')
			return wt_json_unexpected(js, p, "expected ':'");
	}
	js->p = p + 1;
	return 1;
}

/* The number at p. */
static inline __attribute__((always_inline)) int
read_number(struct wt_json *js, const uint8_t *from, struct wt_json_text *ret)
{
	int sound;
	const uint8_t *p = wt_json_number_end(from, &sound);

	if (!sound || p == js->end) {
		p = wt_json_number_slow(js, &from);
		if (!p)
			return js->error;
	}
	ret->s = (const char *)from;
	ret->n = (size_t)(p - from);
	js->p = p;
	return 0;
}

int wt_json_number(struct wt_json *js, struct wt_json_text *ret)
{
	const uint8_t *p;

	if (js->error)
		return js->error;
	p = wt_json_space(js, js->p);
	if (wt_json_value_kind[*p] != WT_JSON_NUMBER)
		return wt_json_unexpected(js, p, "expected a number");
	return read_number(js, p, ret);
}

int wt_json_scalar(struct wt_json *js, struct wt_json_text *ret)
{
	const uint8_t *p;
	int kind, rc;

	if (js->error)
		return js->error;
	js->p = wt_json_space(js, js->p);
	kind = kind_here(js);
	p = js->p;
	if (kind == WT_JSON_STRING)
		rc = read_string(js, p, ret, (enum wt_json_where)js->in_object);
	else if (kind == WT_JSON_NUMBER)
		rc = read_number(js, p, ret);
	else
		rc = wt_json_skip(js);
	return rc ? rc : kind;
}

int wt_json_finish(struct wt_json *js)
{
	int kind;

	if (js->error)
		return js->error;
	js->p = wt_json_space(js, js->p);
	if (js->p < js->end)
		return wt_json_fail(js, WT_E_CORRUPT, js->p,
				    "expected nothing after the outermost value");
	kind = wt_json_peek(js);
	return kind < 0 ? kind : 0;
}

void wt_json_keep(struct wt_json *js, struct wt_json_text *texts, size_t n)
{
	js->kept = texts;
	js->nkept = n;
	wt_json_drop(js);
}

void wt_json_drop(struct wt_json *js)
{
	for (size_t i = 0; i < js->nkept; i++)
		js->kept[i] = (struct wt_json_text){NULL, 0};
	if (js->aside.blocks)
		wt_region_release(&js->aside);
}

int wt_json_error(const struct wt_json *js)
{
	return js->error;
}

const struct wt_diag *wt_json_diag(const struct wt_json *js)
{
	return &js->diag;
}

int64_t wt_json_offset(const struct wt_json *js)
{
	return js->base + (js->p - js->buf);
}

struct wt_json *wt_json_new(struct wt_source *src, size_t window_bytes)
{
	struct wt_json *js = calloc(1, sizeof(*js));

	if (!js)
		return NULL;
	js->src = src;
	js->base = wt_source_text_offset(src);
	js->room = window_bytes ? window_bytes : USUAL_WINDOW_BYTES;
	if (js->room < MIN_WINDOW_BYTES)
		js->room = MIN_WINDOW_BYTES;
	js->buf = malloc(js->room + WT_JSON_PAD_BYTES);
	if (!js->buf) {
		free(js);
		return NULL;
	}
	if (wt_source_size(src) >= POPULATED_FROM)
		wt_rows_populate(js->buf, js->room);
	memset(js->buf, 0, WT_JSON_PAD_BYTES);
	js->p = js->end = js->buf;
	js->mark_at = -1;
	return js;
}

void wt_json_free(struct wt_json *js)
{
	if (!js)
		return;
	wt_region_release(&js->aside);
	free(js->nesting);
	free(js->buf);
	free(js);
}
