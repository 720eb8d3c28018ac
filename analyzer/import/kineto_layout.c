/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See kineto_layout.h. A step's text goes from behind the value before it up to its own value; ph and cat, which say
 * what an event is, are part of the text. An event's end is a step without a value. Steps that can follow the same one
 * are a list, the one met last in front.
 */
#include "import/kineto_layout.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/region.h"
#include "import/decimal.h"
#include "import/json_inline.h"
#include "import/kineto_event_impl.h"

/* Bounds of what a file can make us remember, and of what looking costs. */
#define MAX_STEPS    512
#define MAX_LEARNED  4096 /* events */
#define MAX_EVENT    8192 /* bytes */
#define MAX_TEXT     512
#define MAX_BRANCHES 16
#define SHORT_TEXT   48u

enum value { V_END, V_SKIP, V_NAME, V_TS, V_DUR, V_PID, V_TID, V_U64, V_U32, V_VEC3, V_FIELD };

/* What every comparison and every value needs is in one cache line. */
struct step {
	uint8_t text[SHORT_TEXT]; /* the beginning, padded */
	struct step *next;	  /* what can follow */
	uint16_t n;
	uint8_t value;
	uint8_t depth;	/* of the value */
	uint8_t enters; /* arguments begin in the text */
	uint8_t says;	/* ph or cat is in the text */
	uint8_t has_cat, cat;

	struct step *other;		     /* what can come instead */
	const uint8_t *more;		     /* the text's rest, padded */
	const struct wt_kineto_field *field; /* of V_U64, V_U32, V_VEC3, V_FIELD */
	struct wt_json_text key;
	struct step *guess; /* of an event's end: how the next one began the last time */
	char ph;	    /* 0 = not in the text */
} __attribute__((aligned(64)));

struct wt_kineto_layout {
	struct step *first;
	struct step *last; /* the end of the event before this one; NULL: not known */
	struct wt_region texts;
	unsigned nsteps, learned;
	struct step steps[MAX_STEPS];
};

struct wt_kineto_layout *wt_kineto_layout_new(void)
{
	const size_t size = sizeof(struct wt_kineto_layout);
	struct wt_kineto_layout *l = aligned_alloc(64, (size + 63) / 64 * 64);

	/* Steps are filled in one by one: most are never touched. */
	if (l)
		memset(l, 0, offsetof(struct wt_kineto_layout, steps));
	return l;
}

void wt_kineto_layout_free(struct wt_kineto_layout *l)
{
	if (!l)
		return;
	wt_region_release(&l->texts);
	free(l);
}

/* ---- reading ---- */

/* 1 if n bytes are the same. The window's zero bytes end every comparison, and the text t is padded. */
static inline __attribute__((always_inline)) int is_same(const uint8_t *t, const uint8_t *p,
							 size_t n)
{
#ifdef __SSE2__
	for (;; t += 16, p += 16, n -= 16) {
		__m128i same = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)t),
					      _mm_loadu_si128((const __m128i *)p));
		unsigned other = ~(unsigned)_mm_movemask_epi8(same) & 0xffffu;

		if (n <= 16)
			return !(other & ((1u << n) - 1));
		if (other)
			return 0;
	}
#else
	return !strncmp((const char *)p, (const char *)t, n);
#endif
}

#ifdef __SSE2__
/* A bit for each of 16 bytes that are the same. */
static inline __attribute__((always_inline)) uint64_t same_bits(const uint8_t *t, const uint8_t *p)
{
	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)t),
							  _mm_loadu_si128((const __m128i *)p)));
}
#endif

/* 1 if the text at p is the step's. Without a loop: its length is what cannot be predicted. */
static inline __attribute__((always_inline)) int is_here(const struct step *s, const uint8_t *p)
{
#ifdef __SSE2__
	uint64_t bits = same_bits(s->text, p) | same_bits(s->text + 16, p + 16) << 16 |
			same_bits(s->text + 32, p + 32) << 32;

	if (__builtin_expect(s->n <= SHORT_TEXT, 1))
		return !(~bits & ((UINT64_C(1) << s->n) - 1));
#else
	if (__builtin_expect(s->n <= SHORT_TEXT, 1))
		return is_same(s->text, p, s->n);
#endif
	return is_same(s->text, p, SHORT_TEXT) &&
	       is_same(s->more, p + SHORT_TEXT, s->n - SHORT_TEXT);
}

/* The step of the list whose text stands at p, now in front; NULL: none. */
static inline __attribute__((always_inline)) struct step *find(struct step **list, const uint8_t *p)
{
	struct step *s = *list, **from;

	if (s && is_here(s, p))
		return s;
	if (!s)
		return NULL;
	for (from = &s->other; (s = *from); from = &s->other) {
		if (!is_here(s, p))
			continue;
		*from = s->other;
		s->other = *list;
		*list = s;
		return s;
	}
	return NULL;
}

/* Behind the plain string or number at p, skipped; NULL: it is something else. */
static inline const uint8_t *skip_plain(const uint8_t *p)
{
	int sound;

	if (*p == '"') {
		p = wt_json_plain_end(p + 1);
		return *p == '"' ? p + 1 : NULL;
	}
	p = wt_json_number_end(p, &sound);
	return sound && *p ? p : NULL;
}

/* The same for a list of such, and of lists of such (shapes, types, strides); nothing else is that frequent. */
static const uint8_t *skip_list(const uint8_t *p)
{
	unsigned depth = 0;

	for (;;) {
		if (*p == '[') {
			depth++;
			p++;
			if (*p != ']')
				continue;
		} else {
			p = skip_plain(p);
			if (!p)
				return NULL;
		}
		while (*p == ']') {
			p++;
			if (!--depth)
				return p;
		}
		if (*p++ != ',')
			return NULL;
		p += *p == ' ';
	}
}

static inline const uint8_t *skip(const uint8_t *p)
{
	return *p == '[' ? skip_list(p) : skip_plain(p);
}

/* Behind the count or id at p; NULL: it is not that plain. */
static inline const uint8_t *take_u64(const uint8_t *p, uint64_t *ret)
{
	const uint8_t *from = p;
	uint64_t v = 0;

	while (wt_json_is_digit(*p))
		v = v * 10 + (uint64_t)(*p++ - '0');
	if (p == from || p - from > 18 || (*from == '0' && p - from > 1))
		return NULL;
	*ret = v;
	return !*p || *p == '.' || (*p | 0x20) == 'e' ? NULL : p;
}

static inline const uint8_t *take_time(struct wt_kineto_event *ev, const uint8_t *p, int64_t *ret,
				       uint32_t flag)
{
	p = (const uint8_t *)wt_decimal_us_take((const char *)p, ret);
	if (p)
		ev->flags |= flag;
	return p;
}

/* The text of the plain string at p, and what is behind it; NULL: it is something else. */
static inline const uint8_t *take_text(const uint8_t *p, struct wt_json_text *ret)
{
	const uint8_t *end;

	if (*p != '"')
		return NULL;
	end = wt_json_plain_end(p + 1);
	*ret = (struct wt_json_text){(const char *)p + 1, (size_t)(end - p - 1)};
	return *end == '"' ? end + 1 : NULL;
}

/* "7", "stream 7" */
static const uint8_t *take_quoted_id(struct wt_kineto_event *ev, const uint8_t *p, int64_t *ret,
				     uint32_t flag)
{
	struct wt_json_text t;

	p = take_text(p, &t);
	if (p && wt_kineto_id(t, ret))
		ev->flags |= flag;
	return p;
}

static inline const uint8_t *take_id(struct wt_kineto_event *ev, const uint8_t *p, int64_t *ret,
				     uint32_t flag)
{
	uint64_t v;

	if (*p == '"')
		return take_quoted_id(ev, p, ret, flag);
	p = take_u64(p, &v);
	if (!p)
		return NULL;
	*ret = (int64_t)v;
	ev->flags |= flag;
	return p;
}

static inline const uint8_t *take_number(struct wt_kineto_event *ev, const struct step *s,
					 const uint8_t *p)
{
	char *at = (char *)ev + s->field->offset;
	uint64_t v;

	p = take_u64(p, &v);
	if (!p)
		return NULL;
	if (s->value == V_U64)
		memcpy(at, &v, sizeof(v));
	else if (v <= UINT32_MAX)
		*(uint32_t *)at = (uint32_t)v;
	ev->flags |= s->field->flag;
	return p;
}

/* Behind the list of three counts at p; NULL: it is something else. */
static inline const uint8_t *take_vec3(struct wt_kineto_event *ev, const struct step *s,
				       const uint8_t *p)
{
	uint32_t *ret = (uint32_t *)((char *)ev + s->field->offset);
	uint64_t v[3];

	for (int i = 0; i < 3; i++) {
		if (*p++ != "[,,"[i])
			return NULL;
		p = take_u64(p + (*p == ' '), &v[i]);
		if (!p || v[i] > UINT32_MAX)
			return NULL;
	}
	if (*p != ']')
		return NULL;
	for (int i = 0; i < 3; i++)
		ret[i] = (uint32_t)v[i];
	return p + 1;
}

/* A field that is neither a count nor three: its text, or lists that nobody may want. */
static const uint8_t *take_field(struct wt_kineto_parser *ps, const struct wt_kineto_field *f,
				 const uint8_t *p)
{
	struct wt_json_text t;

	if (f->kind >= WT_KINETO_F_DIMS)
		return ps->wants_inputs ? NULL : skip(p);
	p = take_text(p, &t);
	if (p)
		wt_kineto_set_text(ps, f, t);
	return p;
}

/* Behind the plain value at p, taken as the step says; NULL: it is not plain, and nothing was taken. */
static inline const uint8_t *take(struct wt_kineto_parser *ps, const struct step *s,
				  const uint8_t *p)
{
	struct wt_kineto_event *ev = &ps->ev;
	struct wt_json_text t;

	switch (s->value) {
	case V_NAME:
		p = take_text(p, &t);
		if (p)
			ps->texts[0] = t;
		return p;
	case V_TS:
		return take_time(ev, p, &ev->ts_ns, WT_KINETO_HAS_TS);
	case V_DUR:
		return take_time(ev, p, &ev->dur_ns, WT_KINETO_HAS_DUR);
	case V_PID:
		return take_id(ev, p, &ev->pid, WT_KINETO_HAS_PID);
	case V_TID:
		return take_id(ev, p, &ev->tid, 0);
	case V_U64:
	case V_U32:
		return take_number(ev, s, p);
	case V_VEC3:
		return take_vec3(ev, s, p);
	case V_FIELD:
		return take_field(ps, s->field, p);
	default:
		return skip(p);
	}
}

/* The same for a value that is not plain, by the ordinary reader. */
static int take_slowly(struct wt_kineto_parser *ps, const struct step *s, int skips,
		       const uint8_t **p)
{
	struct wt_json *js = ps->js;
	int rc;

	js->p = *p;
	js->first = 0;
	js->in_object = 1;
	if (skips || s->value == V_SKIP)
		rc = wt_json_skip(js);
	else if (s->field)
		rc = wt_kineto_read_field(ps, s->field);
	else
		rc = wt_kineto_read_key(ps, s->key);
	*p = js->p;
	return rc;
}

/* What a step's text says of the event. */
static inline void heed(struct wt_kineto_parser *ps, const struct step *s)
{
	if (s->says) {
		ps->ev.flags |= WT_KINETO_IS_EVENT;
		ps->ev.ph = s->ph ? s->ph : ps->ev.ph;
		ps->ev.cat = s->has_cat ? s->cat : ps->ev.cat;
		ps->unwanted |= wt_kineto_unwanted(ps);
	}
	if (s->enters) {
		ps->wants_args = (uint8_t)wt_kineto_wants_args(ps);
		ps->has_args |= ps->wants_args;
		ps->wants_inputs = (uint8_t)(ps->wants_args && wt_kineto_wants_inputs(ps));
	}
}

/* The first step of the event at p. Events of different kinds come in turns, so the one before it says which to try. */
static inline __attribute__((always_inline)) struct step *begin(struct wt_kineto_layout *l,
								const uint8_t *p)
{
	struct step *s = l->last ? l->last->guess : NULL;

	if (s && is_here(s, p))
		return s;
	s = find(&l->first, p);
	if (l->last)
		l->last->guess = s;
	return s;
}

static int is_whole(struct wt_kineto_parser *ps, struct step *end, const uint8_t *p)
{
	ps->layout->last = end;
	ps->js->p = p;
	ps->js->first = 0;
	return 1;
}

/* The same from the value of step s on, which nobody wants: nothing is looked at but whether it is as foreseen. */
static int skip_event(struct wt_kineto_parser *ps, struct step *s, const uint8_t *p)
{
	struct step **list;
	const uint8_t *q;
	int rc;

	for (;;) {
		q = skip(p);
		if (q) {
			p = q;
		} else {
			rc = take_slowly(ps, s, 1, &p);
			if (rc < 0)
				return rc;
		}
		list = &s->next;
		ps->open = s->depth;
		s = find(list, p);
		if (!s)
			break;
		p += s->n;
		if (s->value == V_END)
			return is_whole(ps, s, p);
	}
	ps->layout->last = NULL;
	ps->js->p = p;
	ps->js->first = 0;
	return 0;
}

/* After an event that nobody wants: the first step of the next one, at the scanner's place; NULL: not foreseen. */
static struct step *next_event(struct wt_kineto_parser *ps)
{
	struct wt_json *js = ps->js;
	const uint8_t *p = js->p;
	struct step *s;

	if (*p != ',')
		return NULL;
	for (p++; *p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'; p++)
		;
	if (*p != '{')
		return NULL;
	s = begin(ps->layout, p);
	if (!s)
		return NULL;
	js->p = p;
	wt_json_mark(js);
	ps->seen++;
	ps->passed++;
	wt_kineto_begin(ps);
	return s;
}

/* One event whose first step's text stands at the scanner's place. */
static int read_one(struct wt_kineto_parser *ps, struct step *s)
{
	const uint8_t *p = ps->js->p, *q;
	struct step **list;
	int skips, rc;

	for (; s; s = find(list, p)) {
		heed(ps, s);
		p += s->n;
		if (s->value == V_END)
			return is_whole(ps, s, p);
		if (ps->unwanted)
			return skip_event(ps, s, p);
		skips = s->depth == 2 && !ps->wants_args;
		q = skips ? skip(p) : take(ps, s, p);
		if (q) {
			p = q;
		} else {
			rc = take_slowly(ps, s, skips, &p);
			if (rc < 0)
				return rc;
		}
		ps->open = s->depth;
		if (s->value == V_NAME)
			ps->unwanted = (uint8_t)wt_kineto_unwanted(ps);
		list = &s->next;
	}
	ps->layout->last = NULL;
	if (ps->open) {
		ps->js->p = p;
		ps->js->first = 0;
	}
	return 0;
}

int wt_kineto_layout_read(struct wt_kineto_parser *ps)
{
	struct step *s = ps->js->lenient ? NULL : begin(ps->layout, ps->js->p);
	int rc = 0;

	while (s) {
		rc = read_one(ps, s);
		s = rc > 0 && ps->unwanted ? next_event(ps) : NULL;
	}
	return rc;
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
