/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second readings of bad JSON (json_scan.h: mark, retry, resync). Never on the path of sound text.
 *
 * A value that fails is read again from its mark, first with everything let pass that writers of traces are known to
 * get wrong and that has one meaning: bare NaN and infinities (no value), escapes that are none (the backslash stands
 * for itself), bare control characters, commas before a closing bracket, quotes inside a string. Whether a quote closes
 * its string is judged by what follows. Then once more with \" also taken as a backslash and a closing quote, where
 * that fits what follows (Windows folders). If that fails too the value is given up, and the search goes forward for
 * what can only be the next one.
 */
#include <ctype.h>
#include <string.h>

#include "import/json_scan_impl.h"

#define LOOK_BYTES    512 /* how far to look ahead for what decides */
#define MAX_KEY_BYTES 64

/* What is visible from a place on: never more than LOOK_BYTES, so that the window's size decides nothing. */
struct view {
	const uint8_t *p, *limit;
	int whole; /* the text ends at the limit */
};

static struct view view_at(const struct wt_json *js, const uint8_t *p)
{
	struct view v = {p, js->end, 1};

	if (js->end - p > LOOK_BYTES)
		v = (struct view){p, p + LOOK_BYTES, 0};
	return v;
}

/* The next byte that is no white space; 0 at the limit. */
static uint8_t next(struct view *v)
{
	while (v->p < v->limit && (*v->p == ' ' || *v->p == '\n' || *v->p == '\r' || *v->p == '\t'))
		v->p++;
	return v->p < v->limit ? *v->p : 0;
}

static uint8_t next_but_one(struct view *v)
{
	v->p++;
	return next(v);
}

static int at_end(const struct view *v)
{
	return v->whole && v->p == v->limit;
}

/* 1 if "key": comes next; *ret is the key. */
static int key_next(struct view v, struct wt_json_text *ret)
{
	const uint8_t *q;

	if (next(&v) != '"')
		return 0;
	for (q = ++v.p; v.p < v.limit && *v.p >= ' ' && *v.p != '"' && *v.p != '\\'; v.p++)
		if (v.p - q >= MAX_KEY_BYTES)
			return 0;
	*ret = (struct wt_json_text){(const char *)q, (size_t)(v.p - q)};
	return next(&v) == '"' && next_but_one(&v) == ':';
}

/* Makes LOOK_BYTES of text visible at *p, or all there is. */
static void look_ahead(struct wt_json *js, const uint8_t **from, const uint8_t **p)
{
	while (js->end - *p < LOOK_BYTES && wt_json_more(js, from, p))
		;
}

/* 1 if v, behind a value, may be where its object or array goes on or ends. */
static int goes_on(struct view v, int in_object)
{
	struct wt_json_text key;
	uint8_t c = next(&v);

	if (c == ',') {
		v.p++;
		if (in_object)
			return key_next(v, &key);
		c = next(&v);
		return c && strchr("\"{[-0123456789tfn", c);
	}
	if (c != (in_object ? '}' : ']'))
		return at_end(&v);
	c = next_but_one(&v);
	return c == ',' || c == '}' || c == ']' || at_end(&v);
}

/* 1 if the quote at p can be a closing one. */
static int fits(const struct wt_json *js, const uint8_t *p, enum wt_json_where where)
{
	struct view v = view_at(js, p);

	v.p++;
	if (where == WT_JSON_IN_KEY)
		return next(&v) == ':' || at_end(&v);
	return goes_on(v, where == WT_JSON_IN_OBJECT);
}

/* 1 if the text before p ends in these bytes, given back to front, white space aside. */
static int stands_behind(const struct wt_json *js, const uint8_t *p, const char *before)
{
	const uint8_t *from = js->mark ? js->mark : js->buf;

	if (p - from > LOOK_BYTES)
		from = p - LOOK_BYTES;
	while (p > from && *before) {
		p--;
		if (*p == (uint8_t)*before)
			before++;
		else if (*p != ' ' && *p != '\n' && *p != '\r' && *p != '\t')
			return 0;
	}
	return !*before;
}

/* 1 if the quote at p begins the next object of a list, or what follows the list: the string was never closed. */
static int begins_next(const struct wt_json *js, const uint8_t *p)
{
	return stands_behind(js, p, "{,}") || stands_behind(js, p, ",]}");
}

int wt_json_closes(struct wt_json *js, const uint8_t **from, const uint8_t **p,
		   enum wt_json_where where)
{
	look_ahead(js, from, p);
	if (fits(js, *p, where))
		return 1;
	if (begins_next(js, *p))
		return -1;
	wt_json_repaired(js);
	return 0;
}

const uint8_t *wt_json_lenient_escape(struct wt_json *js, const uint8_t **from, const uint8_t *p,
				      size_t n)
{
	if (n && (js->lenient < 2 || p[1] != '"'))
		return p + n;
	if (n) {
		look_ahead(js, from, &p);
		if (!fits(js, p + 1, (enum wt_json_where)js->where))
			return p + n;
	}
	wt_json_repaired(js);
	return p + 1;
}

size_t wt_json_lenient_word(struct wt_json *js, const uint8_t **p)
{
	static const char *const words[] = {"nan", "infinity", "inf", "1.#"};
	const uint8_t *q;

	look_ahead(js, p, p);
	q = *p + (**p == '-' || **p == '+');
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = 0;

		while (words[i][n] && tolower(q[n]) == words[i][n])
			n++;
		if (words[i][n])
			continue;
		q += n;
		while (*q == '(' || *q == ')' || isalnum(*q)) /* nan(ind), 1.#QNAN */
			q++;
		return (size_t)(q - *p);
	}
	return 0;
}

/* ---- going back, going on ---- */

void wt_json_mark(struct wt_json *js)
{
	if (js->error)
		return;
	js->repairs += js->tried;
	js->tried = 0;
	js->lenient = 0;
	js->mark = js->p;
	js->mark_at = js->base + (js->p - js->buf);
}

void wt_json_unmark(struct wt_json *js)
{
	wt_json_mark(js);
	if (!js->error)
		js->mark = NULL;
}

int wt_json_retry(struct wt_json *js)
{
	if (!js->mark || js->source_failed ||
	    (js->error != -WT_E_CORRUPT && js->error != -WT_E_TRUNCATED) ||
	    js->error_at - js->mark_at > (int64_t)WT_JSON_MARK_BYTES)
		return 0;
	if (!js->lenient) {
		js->strict = js->diag;
		js->strict_at = js->error_at;
		js->strict_error = js->error;
	}
	if (js->lenient == 2) { /* what is wrong with it is what a strict reading says */
		js->diag = js->strict;
		js->error_at = js->strict_at;
		js->error = js->strict_error;
		return 0;
	}
	js->lenient++;
	js->tried = 0;
	js->error = 0;
	js->first = 0;
	js->p = js->mark;
	return 1;
}

int wt_json_was_repaired(struct wt_json *js)
{
	if (js->error || !js->lenient)
		return 0;
	if (!js->fault.text[0])
		js->fault = js->strict;
	return 1;
}

/* 1 if the ']' at p can only be the one that ends the list of values: by what follows it. */
static int ends_list(const struct wt_json *js, const uint8_t *p, int in_array,
		     int (*is_key)(struct wt_json_text key, int of_item))
{
	struct view v = view_at(js, p);
	struct wt_json_text key;
	uint8_t c = next_but_one(&v);

	if (c == ',' && !in_array) {
		v.p++;
		return key_next(v, &key) && is_key(key, 0);
	}
	if (c == '}' && !in_array)
		next_but_one(&v);
	return at_end(&v);
}

static int begins_item(const struct wt_json *js, const uint8_t *p,
		       int (*is_key)(struct wt_json_text key, int of_item))
{
	struct view v = view_at(js, p);
	struct wt_json_text key;

	v.p++;
	return key_next(v, &key) && is_key(key, 1);
}

int wt_json_resync(struct wt_json *js, int in_array,
		   int (*is_key)(struct wt_json_text key, int of_item))
{
	const uint8_t *p = js->buf + (js->error_at - js->base);
	int err = js->error;
	uint8_t before = 0;

	if (err != -WT_E_CORRUPT || js->source_failed)
		return 0;
	js->tried = 0;
	js->lenient = 0;
	js->mark = NULL;
	js->error = 0;
	for (;; p++) {
		if (js->end - p < LOOK_BYTES)
			look_ahead(js, &p, &p);
		if (p >= js->end || js->error)
			break;
		if ((*p == '{' && before != ':' && before != '[' && begins_item(js, p, is_key)) ||
		    (*p == ']' && ends_list(js, p, in_array, is_key))) {
			js->p = p;
			js->first = 1;
			if (!js->fault.text[0])
				js->fault = js->diag;
			return before ? 2 : 1;
		}
		if (*p > ' ')
			before = *p;
	}
	js->error = js->error ? js->error : err;
	js->p = p;
	return 0;
}

uint64_t wt_json_repairs(const struct wt_json *js)
{
	return js->repairs + js->tried;
}

const struct wt_diag *wt_json_fault(const struct wt_json *js)
{
	return &js->fault;
}
