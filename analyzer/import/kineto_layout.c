/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See kineto_layout.h. A step's text goes from behind the value before it up to its own value; ph and cat, which say
 * what an event is, are part of the text. An event's end is a step without a value. Steps that can follow the same one
 * are a list, the one met last in front.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "import/json_inline.h"
#include "import/kineto_layout_impl.h"

/* Bounds of what a file can make us remember, and of what looking costs. */
#define MAX_LEARNED  4096 /* events */
#define MAX_EVENT    8192 /* bytes */
#define MAX_TEXT     512
#define MAX_BRANCHES 16

int wt_kineto_layout_narrow;

static int is_wide(void)
{
#if defined(__x86_64__)
	return !wt_kineto_layout_narrow && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
	return 0;
#endif
}

struct wt_kineto_layout *wt_kineto_layout_new(void)
{
	const size_t size = sizeof(struct wt_kineto_layout);
	struct wt_kineto_layout *l = aligned_alloc(64, (size + 63) / 64 * 64);

	/* Steps are filled in one by one: most are never touched. */
	if (l) {
		memset(l, 0, offsetof(struct wt_kineto_layout, steps));
		l->read = is_wide() ? wt_kineto_layout_read_wide : wt_kineto_layout_read_any;
	}
	return l;
}

void wt_kineto_layout_free(struct wt_kineto_layout *l)
{
	if (!l)
		return;
	wt_region_release(&l->texts);
	free(l);
}

int wt_kineto_layout_read(struct wt_kineto_parser *ps)
{
	return ps->layout->read(ps);
}

/* ---- learning: the text is known to be sound ---- */

struct walk {
	struct wt_kineto_parser *ps;
	struct step **list;
	const uint8_t *p, *end;
	const uint8_t *from; /* of the step's text */
	struct step step;    /* the one that is being put together */
};

static const uint8_t *past_space(const uint8_t *p)
{
	while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
		p++;
	return p;
}

static const uint8_t *past_string(const uint8_t *p, const uint8_t *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\';
	return p + 1;
}

static const uint8_t *past_value(const uint8_t *p, const uint8_t *end)
{
	unsigned depth = 0;

	do {
		if (*p == '"') {
			p = past_string(p, end);
			continue;
		}
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
		p++;
	} while (p < end && (depth || !memchr(" \t\r\n,}]", *p, 7)));
	return p;
}

static int has_text(const struct step *s, const uint8_t *text, size_t n)
{
	size_t head = n < SHORT_TEXT ? n : SHORT_TEXT;

	return s->n == n && !memcmp(s->text, text, head) &&
	       (n <= SHORT_TEXT || !memcmp(s->more, text + SHORT_TEXT, n - SHORT_TEXT));
}

/* A new step like w->step with the text at w->from. NULL: it does not fit. */
static struct step *new_step(struct walk *w, size_t n)
{
	struct wt_kineto_layout *l = w->ps->layout;
	struct step *s = &l->steps[l->nsteps];
	char text[MAX_TEXT + 64] = "";
	const char *kept;

	if (l->nsteps == MAX_STEPS)
		return NULL;
	memcpy(text, w->from, n);
	kept = wt_region_copy(&l->texts, text, n + 64);
	if (!kept)
		return NULL;
	l->nsteps++;
	*s = w->step;
	memcpy(s->text, text, SHORT_TEXT);
	s->more = (const uint8_t *)kept + SHORT_TEXT;
	if (s->key.s)
		s->key.s = kept + (s->key.s - (const char *)w->from);
	s->n = (uint16_t)n;
	return s;
}

/* Puts the step at hand, whose text ends at `to`, into the tree. 0, or -1 if it does not fit. */
static int add(struct walk *w, const uint8_t *to, enum value value, uint8_t depth)
{
	size_t n = (size_t)(to - w->from);
	unsigned branches = 0;
	struct step *s;

	if (n > MAX_TEXT)
		return -1;
	for (s = *w->list; s && !has_text(s, w->from, n); s = s->other)
		branches++;
	if (!s) {
		s = branches < MAX_BRANCHES ? new_step(w, n) : NULL;
		if (!s)
			return -1;
		s->value = (uint8_t)value;
		s->depth = depth;
		s->other = *w->list;
		*w->list = s;
	}
	w->list = &s->next;
	memset(&w->step, 0, sizeof(w->step));
	return 0;
}

static int is_key(const struct wt_json_text *key, const char *word)
{
	return key->n == strlen(word) && !memcmp(key->s, word, key->n);
}

/* ph and cat, whose values stay in the text: 1; 0: another key; -1: they are not what they should be. */
static int add_word(struct walk *w, const struct wt_json_text *key, const uint8_t *v)
{
	int is_ph = is_key(key, "ph");
	const uint8_t *q = v + 1;

	if (!is_ph && !is_key(key, "cat"))
		return 0;
	if (*v != '"')
		return -1;
	q = wt_json_plain_end(q);
	if (*q != '"')
		return -1;
	w->step.says = 1;
	if (is_ph) {
		w->step.ph = q - v == 2 ? (char)v[1] : '?';
	} else {
		w->step.cat = (uint8_t)wt_kineto_category((const char *)v + 1, (size_t)(q - v - 1));
		w->step.has_cat = 1;
	}
	w->p = q + 1;
	return 1;
}

static enum value value_of(struct walk *w, const struct wt_json_text *key, uint8_t depth)
{
	static const struct {
		const char *key;
		uint8_t value;
	} known[] = {
		{"name", V_NAME}, {"ts", V_TS}, {"dur", V_DUR}, {"pid", V_PID}, {"tid", V_TID}};

	w->step.key = *key;
	if (depth == 2) {
		w->step.field = wt_kineto_find_field(w->ps, *key);
		if (!w->step.field)
			return V_SKIP;
		return w->step.field->kind == WT_KINETO_F_U64	 ? V_U64
		       : w->step.field->kind == WT_KINETO_F_U32	 ? V_U32
		       : w->step.field->kind == WT_KINETO_F_VEC3 ? V_VEC3
								 : V_FIELD;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (is_key(key, known[i].key))
			return (enum value)known[i].value;
	return V_SKIP;
}

/* The key at w->p, with its value, in an object of that depth. *depth becomes 2 where arguments begin. */
static int learn_key(struct walk *w, uint8_t *depth)
{
	struct wt_json_text key = {(const char *)w->p + 1, 0};
	const uint8_t *v = wt_json_plain_end(w->p + 1);
	int rc;

	if (*w->p != '"' || *v != '"')
		return -1;
	key.n = (size_t)(v - w->p - 1);
	v = past_space(past_space(v + 1) + 1); /* the colon */
	rc = *depth == 1 ? add_word(w, &key, v) : 0;
	if (rc)
		return rc < 0 ? rc : 0;
	if (*depth == 1 && is_key(&key, "args")) {
		/* Nothing else than an object; and one: a second would be another event's. */
		if (*v != '{' || w->step.enters)
			return -1;
		w->step.enters = 1;
		*depth = 2;
		w->p = v + 1;
		return 0;
	}
	if (add(w, v, value_of(w, &key, *depth), *depth))
		return -1;
	w->p = w->from = past_value(v, w->end);
	return 0;
}

void wt_kineto_layout_learn(struct wt_kineto_parser *ps)
{
	struct wt_json *js = ps->js;
	struct walk w = {.ps = ps, .list = &ps->layout->first, .p = js->mark, .end = js->p};
	uint8_t depth = 1;

	if (!js->mark || js->lenient || js->p - js->mark > MAX_EVENT || *js->mark != '{' ||
	    ps->layout->learned == MAX_LEARNED)
		return;
	ps->layout->learned++;
	w.from = w.p++;
	for (;;) {
		w.p = past_space(w.p);
		if (*w.p == ',') {
			w.p++;
		} else if (*w.p == '}') {
			w.p++;
			if (!--depth) {
				add(&w, w.p, V_END, 0);
				return;
			}
		} else if (learn_key(&w, &depth)) {
			return;
		}
	}
}
