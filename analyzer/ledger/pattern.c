/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See pattern.h. Each character of the expression is a place. What an expression can begin and end with, and which
 * places can follow one, are sets of places, put together while it is read (Glushkov's construction). Then the text is
 * gone through once with the set of places it may be at. Its beginning and end are symbols of their own, which ^ and $
 * stand for. Case is ignored as the library does it: expression and text are read in capitals.
 */
#include "ledger/pattern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PLACES	128
#define CLASSES 64
#define DEEPEST 16 /* groups in groups */

typedef unsigned __int128 places;

enum {
	BEGIN = 256,
	END,
	ANY,
	CLASS
}; /* what a place takes: a byte, or one of these; CLASS + which */

struct class
{
	uint64_t bits[4];
};
struct wt_pattern {
	int icase;
	unsigned n, nclasses;
	places first, last;
	int is_empty; /* the empty text matches */
	places *follow;
	struct class *classes;
	struct class starts; /* bytes that a match can begin with */
	uint16_t *takes;
};

/* While it is read. */
struct reader {
	const char *p, *end;
	int icase, bad;
	unsigned n, nclasses, depth;
	places follow[PLACES];
	struct class classes[CLASSES];
	uint16_t takes[PLACES];
};
struct part {
	places first, last;
	int is_empty; /* it may be left out */
};

static unsigned char folded(int icase, char c)
{
	return (unsigned char)(icase && c >= 'a' && c <= 'z' ? c - 0x20 : c);
}

static int has(const struct class *c, unsigned byte)
{
	return (int)(c->bits[byte >> 6] >> (byte & 63) & 1);
}

static void put(struct class *c, unsigned byte)
{
	c->bits[byte >> 6] |= UINT64_C(1) << (byte & 63);
}

static void link_places(struct reader *r, places from, places to)
{
	for (unsigned i = 0; from; i++, from >>= 1)
		if (from & 1)
			r->follow[i] |= to;
}

static struct part place(struct reader *r, unsigned takes)
{
	places bit = (places)1 << (r->n % PLACES);

	if (r->n == PLACES) {
		r->bad = 1;
		return (struct part){0, 0, 1};
	}
	r->takes[r->n++] = (uint16_t)takes;
	return (struct part){bit, bit, 0};
}

static int peek(const struct reader *r, const char *any_of)
{
	return r->p < r->end && *r->p && strchr(any_of, *r->p) != NULL;
}

/* The class whose bracket was read. */
static struct part read_class(struct reader *r)
{
	struct class *c = &r->classes[r->nclasses % CLASSES];
	int not_these = peek(r, "^");

	if (r->nclasses == CLASSES)
		r->bad = 1;
	memset(c, 0, sizeof(*c));
	r->p += not_these;
	for (int first = 1; r->p < r->end && (first || *r->p != ']'); first = 0) {
		unsigned low = folded(r->icase, *r->p), high = low;

		if (*r->p == '[' && r->end - r->p > 1 && strchr(".:=", r->p[1]))
			r->bad = 1;
		r->p++;
		if (r->end - r->p > 1 && *r->p == '-' && r->p[1] != ']') {
			high = folded(r->icase, r->p[1]);
			r->bad |= r->p[1] == '[' || high < low;
			r->p += 2;
		}
		for (; low <= high; low++)
			put(c, low);
	}
	r->bad |= r->p == r->end;
	r->p++;
	for (int i = 0; not_these && i < 4; i++)
		c->bits[i] = ~c->bits[i];
	return r->bad ? place(r, ANY) : place(r, CLASS + r->nclasses++);
}

static struct part read_alternatives(struct reader *r);

static struct part read_atom(struct reader *r)
{
	char c = *r->p++;
	struct part part;

	switch (c) {
	case '(':
		r->bad |= ++r->depth > DEEPEST;
		part = r->bad ? (struct part){0, 0, 1} : read_alternatives(r);
		r->bad |= !peek(r, ")");
		r->p++;
		r->depth--;
		return part;
	case '[':
		return read_class(r);
	case '.':
		return place(r, ANY);
	case '^':
	case '$':
		r->bad |= peek(r, "*+?");
		return place(r, c == '^' ? BEGIN : END);
	case '\\':
		r->bad |= !peek(r, "\\[](){}|*+?.^$/-_#@!%&=~,;:\"");
		return r->bad ? (struct part){0, 0, 1} : place(r, folded(r->icase, *r->p++));
	case '*':
	case '+':
	case '?':
	case '{':
	case '\0':
		r->bad = 1;
		return (struct part){0, 0, 1};
	default:
		return place(r, folded(r->icase, c));
	}
}

/* An atom and how often. */
static struct part read_repeated(struct reader *r)
{
	struct part part = read_atom(r);

	while (!r->bad && peek(r, "*+?")) {
		if (*r->p != '?')
			link_places(r, part.last, part.first);
		part.is_empty |= *r->p != '+';
		r->p++;
	}
	r->bad |= peek(r, "{");
	return part;
}

static struct part read_sequence(struct reader *r)
{
	struct part all = {0, 0, 1};

	while (!r->bad && r->p < r->end && !peek(r, "|)")) {
		struct part next = read_repeated(r);

		link_places(r, all.last, next.first);
		all.first |= all.is_empty ? next.first : 0;
		all.last = next.last | (next.is_empty ? all.last : 0);
		all.is_empty &= next.is_empty;
	}
	return all;
}

static struct part read_alternatives(struct reader *r)
{
	struct part all = read_sequence(r);

	while (!r->bad && peek(r, "|")) {
		struct part other;

		r->p++;
		other = read_sequence(r);
		all.first |= other.first;
		all.last |= other.last;
		all.is_empty |= other.is_empty;
	}
	return all;
}

static void find_starts(struct wt_pattern *p)
{
	for (unsigned i = 0; i < p->n; i++) {
		const struct class *of =
			p->takes[i] >= CLASS ? &p->classes[p->takes[i] - CLASS] : NULL;

		if (!(p->first >> i & 1))
			continue;
		if (p->takes[i] < BEGIN)
			put(&p->starts, p->takes[i]);
		for (int k = 0; k < 4; k++)
			p->starts.bits[k] |= of ? of->bits[k] : p->takes[i] == ANY ? UINT64_MAX : 0;
	}
}

struct wt_pattern *wt_pattern_new(const char *expression, size_t n, int icase)
{
	struct reader r = {.p = expression, .end = expression + n, .icase = icase};
	struct part all = read_alternatives(&r);
	struct wt_pattern *p;

	if (r.bad || r.p < r.end)
		return NULL;
	/* One piece of memory: the sets first, which want the most alignment. */
	p = aligned_alloc(16,
			  (sizeof(*p) + 15) / 16 * 16 + (r.n * (sizeof(places) + sizeof(uint16_t)) +
							 r.nclasses * sizeof(struct class) + 15) /
								16 * 16);
	if (!p)
		return NULL;
	*p = (struct wt_pattern){.icase = icase,
				 .n = r.n,
				 .nclasses = r.nclasses,
				 .first = all.first,
				 .last = all.last,
				 .is_empty = all.is_empty};
	p->follow = (places *)((char *)p + (sizeof(*p) + 15) / 16 * 16);
	p->classes = (struct class *)(p->follow + r.n);
	p->takes = (uint16_t *)(p->classes + r.nclasses);
	memcpy(p->follow, r.follow, r.n * sizeof(*p->follow));
	memcpy(p->classes, r.classes, r.nclasses * sizeof(*p->classes));
	memcpy(p->takes, r.takes, r.n * sizeof(*p->takes));
	find_starts(p);
	return p;
}

void wt_pattern_free(struct wt_pattern *p)
{
	free(p);
}

static int is_taken(const struct wt_pattern *p, unsigned place, unsigned symbol)
{
	unsigned takes = p->takes[place];

	if (takes == symbol)
		return 1;
	if (symbol >= BEGIN || takes < ANY)
		return 0;
	return takes == ANY || has(&p->classes[takes - CLASS], symbol);
}

/* The places after this symbol: of those that can follow, or begin a match, the ones that take it. */
static places step(const struct wt_pattern *p, places at, unsigned symbol)
{
	places next = p->first, taken = 0;

	for (int half = 0; half < 2; half++)
		for (uint64_t bits = (uint64_t)(at >> 64 * half); bits; bits &= bits - 1)
			next |= p->follow[64 * half + __builtin_ctzll(bits)];
	for (int half = 0; half < 2; half++) {
		for (uint64_t bits = (uint64_t)(next >> 64 * half); bits; bits &= bits - 1) {
			unsigned i = 64 * (unsigned)half + (unsigned)__builtin_ctzll(bits);

			if (is_taken(p, i, symbol))
				taken |= (places)1 << i;
		}
	}
	return taken;
}

int wt_pattern_finds(const struct wt_pattern *p, const char *text)
{
	places at = step(p, 0, BEGIN);
	uint64_t starts =
		p->starts.bits[0] | p->starts.bits[1] | p->starts.bits[2] | p->starts.bits[3];

	if (p->is_empty || at & p->last)
		return 1;
	for (; *text; text++) {
		unsigned c = folded(p->icase, *text);

		if (!at &&
		    !starts) /* only the beginning could begin it; or nothing but the end does */
			break;
		at = at || has(&p->starts, c) ? step(p, at, c) : 0;
		if (at & p->last)
			return 1;
	}
	/* Places that were left behind by the break are none. */
	return (step(p, at, END) & p->last) != 0;
}
