/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See json_scan.h. The window always ends in zero bytes. NUL is no part of any JSON token, so the inner loops test for
 * the bytes they want and never for the end: whoever meets a NUL asks more(), which keeps the token at hand, refills
 * and lets it go on. Sixteen bytes may thus be loaded anywhere without looking.
 *
 * Speed rests on three things: strings are searched 16 bytes at a time, skipping is one loop with jumps instead of a
 * token per call, and nothing is copied unless a kept text would leave the window. Strings are decoded in place: the
 * decoded form is never longer.
 */
#include "import/json_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "import/json_escape.h"
#include "import/json_scan_impl.h"

#define USUAL_WINDOW_BYTES (256u << 10)
#define MIN_WINDOW_BYTES   16u
#define MAX_TOKEN_BYTES	   (64u << 20) /* of a string or number that must be held in one piece */
#define MAX_DEPTH	   (1u << 24)
#define PAD_BYTES	   64u

/* ---- errors and refilling ---- */

static int set_error(struct wt_json *js, enum wt_err err, const uint8_t *at, const char *what)
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

/* Something else than `what` stands at `at`: damage, or the end of a text that ends too early. */
static int unexpected(struct wt_json *js, const uint8_t *at, const char *what)
{
	const struct wt_diag *fault = wt_source_fault(js->src);
	long rc;
	char probe;

	if (js->error)
		return js->error;
	if (at < js->end || !js->ended)
		return set_error(js, WT_E_CORRUPT, at, what);
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
	return set_error(js, WT_E_TRUNCATED, at, what);
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
		return set_error(js, WT_E_LIMIT, js->buf, "a string or number of more than 64 MiB");
	buf = realloc(js->buf, room + PAD_BYTES);
	if (!buf)
		return set_error(js, WT_E_NOMEM, js->buf, "out of memory");
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
		set_error(js, WT_E_NOMEM, *from, "out of memory");
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
	memset((uint8_t *)js->end, 0, PAD_BYTES);
	*from = js->buf + from_at;
	*at = js->buf + at_at;
	js->mark = js->mark ? js->buf : NULL;
	return got > 0;
}

/* ---- white space, strings, numbers: all take and return a place in the window ---- */

/* The first byte that is no white space, for the case that there is some. */
static const uint8_t *skip_space_slow(struct wt_json *js, const uint8_t *p)
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

/* Compact text has one blank or none, indented text a line break and up to 15 blanks: two guesses, then the loop. */
static inline __attribute__((always_inline)) const uint8_t *skip_space(struct wt_json *js,
								       const uint8_t *p)
{
	if (*p > ' ')
		return p;
	if (p[1] > ' ' && *p == ' ')
		return p + 1;
#ifdef __SSE2__
	if (*p == '\n') {
		__m128i blank = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(p + 1)),
					       _mm_set1_epi8(' '));
		const uint8_t *q =
			p + 1 + __builtin_ctz(~(unsigned)_mm_movemask_epi8(blank) | 0x10000u);

		if (*q > ' ')
			return q;
	}
#endif
	return skip_space_slow(js, p);
}

/* The next byte that ends a run of plain string bytes: a quote, a backslash or a control character. */
static inline __attribute__((always_inline)) const uint8_t *plain_end(const uint8_t *p)
{
#ifdef __SSE2__
	for (;; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)p);
		__m128i stop = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
					    _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
		__m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
		unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(stop, control));

		if (mask)
			return p + __builtin_ctz(mask);
	}
#else
	while (*p != '"' && *p != '\\' && *p >= 0x20)
		p++;
	return p;
#endif
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
	unexpected(js, p, "expected an escape (\\n, \\\", \\u00e9 ...)");
	return NULL;
}

/*
 * The closing quote of a string whose text starts at p; NULL on error. *from is where to keep from (the text's start
 * if it is wanted), or NULL to keep nothing. *ret_escaped is set if there is an escape. `where` matters to a lenient
 * reading only.
 */
static const uint8_t *string_end(struct wt_json *js, const uint8_t **from, const uint8_t *p,
				 int *ret_escaped, enum wt_json_where where)
{
	for (;;) {
		const uint8_t *here = p = plain_end(p);

		if (*p == '"' && !js->lenient)
			return p;
		if (*p == '"') {
			int closes = wt_json_closes(js, from ? from : &here, &p, where);

			if (closes > 0)
				return p;
			if (closes < 0) {
				set_error(js, WT_E_CORRUPT, p,
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
				set_error(js, WT_E_CORRUPT, p,
					  "expected no bare control character in a string");
				return NULL;
			}
			wt_json_repaired(js);
			p++;
		} else if (!wt_json_more(js, from ? from : &p, &p)) {
			unexpected(js, p, "expected the string to end");
			return NULL;
		}
	}
}

static inline const uint8_t *skip_string(struct wt_json *js, const uint8_t *p,
					 enum wt_json_where where)
{
	int escaped;

	p = plain_end(p);
	return *p == '"' && !js->lenient ? p : string_end(js, NULL, p, &escaped, where);
}

static inline int is_digit(uint8_t c)
{
	return (uint8_t)(c - '0') < 10;
}

/* Behind the number at p, as far as the window shows; *ret_sound says whether that is a whole one. */
static inline const uint8_t *number_end(const uint8_t *p, int *ret_sound)
{
	*ret_sound = 0;
	p += *p == '-';
	if (*p == '0') {
		p++;
	} else {
		if (!is_digit(*p))
			return p;
		while (is_digit(*p))
			p++;
	}
	if (*p == '.') {
		if (!is_digit(*++p))
			return p;
		while (is_digit(*p))
			p++;
	}
	if ((*p | 0x20) == 'e') {
		p++;
		p += *p == '+' || *p == '-';
		if (!is_digit(*p))
			return p;
		while (is_digit(*p))
			p++;
	}
	*ret_sound = 1;
	return p;
}

/* Behind the number at *from, which stays in the window; NULL on error. */
static const uint8_t *scan_number(struct wt_json *js, const uint8_t **from)
{
	const uint8_t *p;
	int sound;

	do
		p = number_end(*from, &sound);
	while (p == js->end && wt_json_more(js, from, &p));
	if (!sound) {
		size_t word = js->lenient ? wt_json_lenient_word(js, from) : 0;

		if (word) {
			wt_json_repaired(js);
			return *from + word;
		}
		p = number_end(*from, &sound);
		unexpected(js, p, "expected a digit");
		return NULL;
	}
	return js->error ? NULL : p;
}

static const struct literal {
	char text[6];
	uint8_t n, kind;
} literals[] = {{"true", 4, WT_JSON_TRUE}, {"false", 5, WT_JSON_FALSE}, {"null", 4, WT_JSON_NULL}};

/* Behind true, false or null at p; NULL on error. */
static const uint8_t *skip_literal(struct wt_json *js, const uint8_t *p)
{
	const struct literal *l = &literals[*p == 't' ? 0 : *p == 'f' ? 1 : 2];
	size_t word;

	while (p + l->n > js->end && wt_json_more(js, &p, &p))
		;
	if (!memcmp(p, l->text, l->n))
		return p + l->n;
	word = js->lenient ? wt_json_lenient_word(js, &p) : 0;
	if (word) {
		wt_json_repaired(js);
		return p + word;
	}
	for (size_t i = 0; i < l->n && *p == (uint8_t)l->text[i]; i++)
		p++;
	unexpected(js, p, "expected a value");
	return NULL;
}

/* What a value starts with; 0: no value. */
static const uint8_t value_kind[256] = {
	['{'] = WT_JSON_OBJECT, ['['] = WT_JSON_ARRAY,	['"'] = WT_JSON_STRING,
	['-'] = WT_JSON_NUMBER, ['0'] = WT_JSON_NUMBER, ['1'] = WT_JSON_NUMBER,
	['2'] = WT_JSON_NUMBER, ['3'] = WT_JSON_NUMBER, ['4'] = WT_JSON_NUMBER,
	['5'] = WT_JSON_NUMBER, ['6'] = WT_JSON_NUMBER, ['7'] = WT_JSON_NUMBER,
	['8'] = WT_JSON_NUMBER, ['9'] = WT_JSON_NUMBER, ['t'] = WT_JSON_TRUE,
	['f'] = WT_JSON_FALSE,	['n'] = WT_JSON_NULL,
};

/* ---- skipping ---- */

/* Where a skip stands: `word` holds the kinds of the innermost levels, the rest lies in js->nesting. */
struct nest {
	uint64_t word;
	uint32_t depth;
};

static int push(struct wt_json *js, struct nest *n, const uint8_t *p, unsigned is_object)
{
	if (n->depth && n->depth % 64 == 0) {
		size_t i = n->depth / 64 - 1;

		if (n->depth >= MAX_DEPTH)
			return set_error(js, WT_E_LIMIT, p,
					 "nested more than 16 million levels deep");
		if (i == js->nesting_words) {
			size_t words = i ? i * 2 : 16;
			uint64_t *more_words = realloc(js->nesting, words * sizeof(*more_words));

			if (!more_words)
				return set_error(js, WT_E_NOMEM, p, "out of memory");
			js->nesting = more_words;
			js->nesting_words = words;
		}
		js->nesting[i] = n->word;
		n->word = 0;
	}
	n->word = n->word << 1 | is_object;
	n->depth++;
	return 0;
}

static void pop(const struct wt_json *js, struct nest *n)
{
	n->word >>= 1;
	n->depth--;
	if (n->depth && n->depth % 64 == 0)
		n->word = js->nesting[n->depth / 64 - 1];
}

/*
 * Skips one value at p (rest = 0), or what is left of the object p stands in, behind one of its values (rest = 1).
 * Longer than a function should be: it is the inner loop of every import, and its states are its labels.
 */
static int skip_nested(struct wt_json *js, const uint8_t *p, int rest)
{
	struct nest n = {.word = 1, .depth = (uint32_t)rest};
	const uint8_t *q;
	int sound, comma = 0;
	size_t word;

	if (rest)
		goto after;
value:
	p = skip_space(js, p);
	switch (value_kind[*p]) {
	case WT_JSON_STRING:
		p = skip_string(js, p + 1,
				(enum wt_json_where)(n.depth ? n.word & 1 : js->in_object));
		if (!p)
			return js->error;
		p++;
		break;
	case WT_JSON_NUMBER:
		q = number_end(p, &sound);
		if (!sound || q == js->end) {
			q = scan_number(js, &p);
			if (!q)
				return js->error;
		}
		p = q;
		break;
	case WT_JSON_OBJECT:
		if (push(js, &n, p, 1))
			return js->error;
		p = skip_space(js, p + 1);
		if (*p != '}')
			goto key;
		pop(js, &n);
		p++;
		break;
	case WT_JSON_ARRAY:
		if (push(js, &n, p, 0))
			return js->error;
		p = skip_space(js, p + 1);
		if (*p != ']')
			goto value;
		pop(js, &n);
		p++;
		break;
	case 0:
		if (js->lenient && (word = wt_json_lenient_word(js, &p))) {
			wt_json_repaired(js);
			p += word;
			break;
		}
		if (js->lenient && *p == ']' && comma && n.depth && !(n.word & 1)) {
			wt_json_repaired(js);
			goto after;
		}
		return unexpected(js, p, "expected a value");
	default:
		p = skip_literal(js, p);
		if (!p)
			return js->error;
	}
after:
	if (!n.depth) {
		js->p = p;
		js->first = 0;
		return js->error;
	}
	p = skip_space(js, p);
	if (*p == ',') {
		p++;
		if (!(n.word & 1)) {
			comma = 1;
			goto value;
		}
		p = skip_space(js, p);
		goto key;
	}
	if (*p != (n.word & 1 ? '}' : ']'))
		return unexpected(js, p,
				  n.word & 1 ? "expected ',' or '}'" : "expected ',' or ']'");
	pop(js, &n);
	p++;
	goto after;
key:
	if (*p == '}' && js->lenient) { /* behind a comma */
		wt_json_repaired(js);
		goto after;
	}
	if (*p != '"')
		return unexpected(js, p, "expected a key");
	p = skip_string(js, p + 1, WT_JSON_IN_KEY);
	if (!p)
		return js->error;
	p = skip_space(js, p + 1);
	if (*p != ':')
		return unexpected(js, p, "expected ':'");
	p++;
	goto value;
}

int wt_json_skip(struct wt_json *js)
{
	return js->error ? js->error : skip_nested(js, js->p, 0);
}

int wt_json_skip_rest(struct wt_json *js)
{
	return js->error ? js->error : skip_nested(js, js->p, 1);
}

/* ---- reading ---- */

/* The kind of the value at js->p; 0: no value. */
static inline int kind_here(struct wt_json *js)
{
	if (js->lenient && wt_json_lenient_word(js, &js->p))
		return WT_JSON_NULL;
	return value_kind[*js->p];
}

int wt_json_peek(struct wt_json *js)
{
	int kind;

	if (js->error)
		return js->error;
	js->p = skip_space(js, js->p);
	kind = kind_here(js);
	if (kind)
		return kind;
	if (js->p == js->end && js->ended && !wt_source_fault(js->src)->text[0])
		return WT_JSON_END;
	return unexpected(js, js->p, "expected a value");
}

static int enter(struct wt_json *js, uint8_t bracket, const char *what)
{
	if (js->error)
		return js->error;
	js->p = skip_space(js, js->p);
	if (*js->p != bracket)
		return unexpected(js, js->p, what);
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
	p = skip_space(js, js->p);
	if (*p == close) {
		js->p = p + 1;
		js->first = 0;
		return 0;
	}
	if (js->first) {
		js->first = 0;
	} else if (*p == ',') {
		p = skip_space(js, p + 1);
	} else {
		return unexpected(js, p, what);
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
	return unexpected(js, js->p, "expected a value");
}

/* The string whose text starts at `from` and that is not closed within the window, or has escapes. */
static int read_string_slow(struct wt_json *js, const uint8_t *from, struct wt_json_text *ret,
			    enum wt_json_where where)
{
	int escaped = 0;
	const uint8_t *p = string_end(js, &from, from, &escaped, where);
	char *text = (char *)from;
	size_t n;

	if (!p)
		return js->error;
	n = (size_t)(p - from);
	/* What may be read again must stay as it is. */
	text = escaped && js->mark ? wt_region_copy(&js->aside, (const char *)from, n)
				   : (char *)from;
	if (!text)
		return set_error(js, WT_E_NOMEM, from, "out of memory");
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
	const uint8_t *end = plain_end(p + 1);

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
	p = skip_space(js, js->p);
	return *p == '"' ? read_string(js, p, ret, (enum wt_json_where)js->in_object)
			 : unexpected(js, p, "expected a string");
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
		return unexpected(js, js->p, "expected a key");
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
			return unexpected(js, p, "expected ':'");
	}
	js->p = p + 1;
	return 1;
}

/* The number at p. */
static inline __attribute__((always_inline)) int
read_number(struct wt_json *js, const uint8_t *from, struct wt_json_text *ret)
{
	int sound;
	const uint8_t *p = number_end(from, &sound);

	if (!sound || p == js->end) {
		p = scan_number(js, &from);
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
	p = skip_space(js, js->p);
	if (value_kind[*p] != WT_JSON_NUMBER)
		return unexpected(js, p, "expected a number");
	return read_number(js, p, ret);
}

int wt_json_scalar(struct wt_json *js, struct wt_json_text *ret)
{
	const uint8_t *p;
	int kind, rc;

	if (js->error)
		return js->error;
	js->p = skip_space(js, js->p);
	kind = kind_here(js);
	p = js->p;
	if (kind == WT_JSON_STRING)
		rc = read_string(js, p, ret, (enum wt_json_where)js->in_object);
	else if (kind == WT_JSON_NUMBER)
		rc = read_number(js, p, ret);
	else
		rc = skip_nested(js, p, 0);
	return rc ? rc : kind;
}

int wt_json_finish(struct wt_json *js)
{
	int kind;

	if (js->error)
		return js->error;
	js->p = skip_space(js, js->p);
	if (js->p < js->end)
		return set_error(js, WT_E_CORRUPT, js->p,
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
	js->room = window_bytes ? window_bytes : USUAL_WINDOW_BYTES;
	if (js->room < MIN_WINDOW_BYTES)
		js->room = MIN_WINDOW_BYTES;
	js->buf = malloc(js->room + PAD_BYTES);
	if (!js->buf) {
		free(js);
		return NULL;
	}
	memset(js->buf, 0, PAD_BYTES);
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
