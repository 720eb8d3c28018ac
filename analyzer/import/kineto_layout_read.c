/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See kineto_layout.h: reading by what is remembered. Compiled twice: kineto_layout_wide.c takes it in for processors
 * with 64-byte vectors, where a comparison of a step's text is one instruction.
 */
#include <stddef.h>
#include <string.h>

#include "import/decimal.h"
#include "import/json_inline.h"
#include "import/kineto_layout_impl.h"

#ifndef WT_KINETO_LAYOUT_READ
#define WT_KINETO_LAYOUT_READ wt_kineto_layout_read_any
#endif

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
#if WT_JSON_WIDE
	/* What is behind the text is the step's own, or the window's padding. */
	uint64_t other =
		_mm512_cmpneq_epi8_mask(_mm512_loadu_si512(s->text), _mm512_loadu_si512(p));

	if (__builtin_expect(s->n <= SHORT_TEXT, 1))
		return !_bzhi_u64(other, s->n);
#elif defined(__SSE2__)
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

	if (WT_DECIMAL_IS_LITTLE) {
		unsigned n = wt_decimal_upto_eight((const char *)p, &v);

		p += n;
		if (n < 8 && n && (*from != '0' || n == 1)) {
			*ret = v;
			return !*p || *p == '.' || (*p | 0x20) == 'e' ? NULL : p;
		}
	}
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

int WT_KINETO_LAYOUT_READ(struct wt_kineto_parser *ps)
{
	struct step *s = ps->js->lenient ? NULL : begin(ps->layout, ps->js->p);
	int rc = 0;

	while (s) {
		rc = read_one(ps, s);
		s = rc > 0 && ps->unwanted ? next_event(ps) : NULL;
	}
	return rc;
}
