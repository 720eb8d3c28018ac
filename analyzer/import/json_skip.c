/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Skipping, as strict as reading: one loop with jumps instead of a token a call.
 */
#include <stdlib.h>
#include <string.h>

#include "import/json_inline.h"

#define MAX_DEPTH (1u << 24)

static inline const uint8_t *skip_string(struct wt_json *js, const uint8_t *p,
					 enum wt_json_where where)
{
	int escaped;

	p = wt_json_plain_end(p);
	return *p == '"' && !js->lenient ? p : wt_json_string_end(js, NULL, p, &escaped, where);
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
	wt_json_unexpected(js, p, "expected a value");
	return NULL;
}

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
			return wt_json_fail(js, WT_E_LIMIT, p,
					    "nested more than 16 million levels deep");
		if (i == js->nesting_words) {
			size_t words = i ? i * 2 : 16;
			uint64_t *more_words = realloc(js->nesting, words * sizeof(*more_words));

			if (!more_words)
				return wt_json_fail(js, WT_E_NOMEM, p, "out of memory");
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
 * Skips one value at p (rest = 0), or what is left of the `rest` innermost objects p stands in, behind a value.
 * Longer than a function should be: it is the inner loop of every import, and its states are its labels.
 */
static int skip_nested(struct wt_json *js, const uint8_t *p, unsigned rest)
{
	struct nest n = {.word = (UINT64_C(1) << rest) - 1, .depth = rest};
	const uint8_t *q;
	int sound, comma = 0;
	size_t word;

	if (rest)
		goto after;
value:
	p = wt_json_space(js, p);
	switch (wt_json_value_kind[*p]) {
	case WT_JSON_STRING:
		p = skip_string(js, p + 1,
				(enum wt_json_where)(n.depth ? n.word & 1 : js->in_object));
		if (!p)
			return js->error;
		p++;
		break;
	case WT_JSON_NUMBER:
		q = wt_json_number_end(p, &sound);
		if (!sound || q == js->end) {
			q = wt_json_number_slow(js, &p);
			if (!q)
				return js->error;
		}
		p = q;
		break;
	case WT_JSON_OBJECT:
		if (push(js, &n, p, 1))
			return js->error;
		p = wt_json_space(js, p + 1);
		if (*p != '}')
			goto key;
		pop(js, &n);
		p++;
		break;
	case WT_JSON_ARRAY:
		if (push(js, &n, p, 0))
			return js->error;
		p = wt_json_space(js, p + 1);
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
		return wt_json_unexpected(js, p, "expected a value");
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
	p = wt_json_space(js, p);
	if (*p == ',') {
		p++;
		if (!(n.word & 1)) {
			comma = 1;
			goto value;
		}
		p = wt_json_space(js, p);
		goto key;
	}
	if (*p != (n.word & 1 ? '}' : ']'))
		return wt_json_unexpected(
			js, p, n.word & 1 ? "expected ',' or '}'" : "expected ',' or ']'");
	pop(js, &n);
	p++;
	goto after;
key:
	if (*p == '}' && js->lenient) { /* behind a comma */
		wt_json_repaired(js);
		goto after;
	}
	if (*p != '"')
		return wt_json_unexpected(js, p, "expected a key");
	p = skip_string(js, p + 1, WT_JSON_IN_KEY);
	if (!p)
		return js->error;
	p = wt_json_space(js, p + 1);
	if (*p != ':')
		return wt_json_unexpected(js, p, "expected ':'");
	p++;
	goto value;
}

int wt_json_skip(struct wt_json *js)
{
	return js->error ? js->error : skip_nested(js, js->p, 0);
}

int wt_json_skip_rest(struct wt_json *js, unsigned objects)
{
	return js->error ? js->error : skip_nested(js, js->p, objects);
}
