/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What XLA says of its launches in ranges (NVTX): the module that runs, XlaModule:#hlo_module=M,program_id=N#, and in
 * it the instruction at hand, Thunk:#name=PATH,hlo_op=I#. A graph is launched under an instruction of its own,
 * command_buffer, and of what is in it only the kernels are known: one's path is that of the instruction it is named
 * after (dots as underscores), wherever inside a run of the same program it was said. XLA says it where it compiles
 * in the first run; nobody does when a compilation cache answers.
 */
#include <stdlib.h>
#include <string.h>

#include "axes/axes_impl.h"
#include "base/strbuf.h"
#include "base/strtab.h"
#include "timeline/keyset.h"

enum what { NOT_ASKED, OTHER, MODULE, THUNK };

/* What a string of the timeline is, as the name of a range or of a kernel. Texts are the axes'. */
struct said {
	uint8_t what;
	uint8_t buffer;	 /* THUNK: a graph's launch */
	uint32_t module; /* MODULE: its name */
	uint32_t path;	 /* THUNK: 0 = not said */
	uint32_t symbol; /* THUNK: of the instruction; of a kernel: its own */
};
struct wt_xla {
	struct said *said;
	struct wt_keyset keys; /* (string of the module's range, symbol) */
	uint32_t *paths;       /* texts, parallel to keys */
	size_t room;
};

#define MODULE_TAG "XlaModule:#"
#define THUNK_TAG  "Thunk:#"
#define BUFFER_TAG "command_buffer"

static int starts(const char *s, const char *tag)
{
	return !strncmp(s, tag, strlen(tag));
}

/* The value of `key=` up to the next key that XLA writes behind it, or the end. */
static const char *value(const char *s, const char *key, const char *next, size_t *ret_n)
{
	const char *from = strstr(s, key), *to;

	*ret_n = 0;
	if (!from)
		return "";
	from += strlen(key);
	to = strstr(from, next);
	*ret_n = to ? (size_t)(to - from) : strcspn(from, "#");
	return from;
}

uint32_t wt_xla_symbol(const struct wt_axes *a, const char *s, size_t n)
{
	struct wt_strbuf text = {.n = 0};
	uint32_t id;

	for (size_t i = 0; i < n; i++)
		wt_strbuf_addc(&text, s[i] == '.' || s[i] == '-' ? '_' : s[i]);
	id = wt_strings_add(a->texts, wt_strbuf_text(&text), text.n);
	wt_strbuf_release(&text);
	return id;
}

static const struct said *said_of(const struct wt_axes *a, uint32_t string)
{
	struct said *s = &a->xla->said[string];
	const char *name = wt_timeline_string(a->ledger->tl, string), *at;
	size_t n;

	if (s->what)
		return s;
	s->what = OTHER;
	if (starts(name, MODULE_TAG)) {
		at = value(name, "hlo_module=", ",program_id=", &n);
		s->what = MODULE;
		s->module = wt_strings_add(a->texts, at, n);
	} else if (starts(name, THUNK_TAG)) {
		s->what = THUNK;
		/* Newer ones have the number of the instruction behind it. */
		at = value(name, "hlo_op=", ",unique_hlo_op_id=", &n);
		s->buffer = (uint8_t)starts(at, BUFFER_TAG);
		s->symbol = n ? wt_xla_symbol(a, at, n) : 0;
		at = value(name, "#name=", ",hlo_op=", &n);
		/* A name without an operation is that of a parameter. */
		if (memchr(at, '/', n) || memchr(at, '(', n))
			s->path = wt_strings_add(a->texts, at, n);
	} else {
		s->symbol = wt_xla_symbol(a, name, strlen(name));
	}
	return s;
}

/* Of the range at a position: the module's that it lies in, itself included; -1. */
static int32_t run_around(const struct wt_axes *a, int32_t at)
{
	const struct wt_ranges *x = &a->ranges;

	for (; at >= 0; at = x->parent[at])
		if (said_of(a, x->tl->ranges[x->order[at]].name)->what == MODULE)
			return at;
	return -1;
}

/* The slot for the path of a program's instruction; NULL when memory runs out. */
static uint32_t *slot_of(struct wt_xla *x, uint32_t program, uint32_t symbol)
{
	int isnew;
	int64_t i = wt_keyset_add(&x->keys, (uint64_t[]){program, symbol}, &isnew);

	if (i >= 0 && (size_t)i >= x->room) {
		size_t room = x->room ? x->room * 2 : 64;
		uint32_t *paths = realloc(x->paths, room * sizeof(*paths));

		if (!paths)
			return NULL;
		x->paths = paths;
		x->room = room;
	}
	if (i >= 0 && isnew)
		x->paths[i] = 0;
	return i < 0 ? NULL : &x->paths[i];
}

int wt_xla_init(struct wt_axes *a)
{
	const struct wt_timeline *tl = a->ledger->tl;
	const struct wt_ranges *r = &a->ranges;

	if (!(r->kinds & WT_KIND_BIT(MODULE)))
		return 0;
	a->xla = calloc(1, sizeof(*a->xla));
	if (a->xla)
		a->xla->said = calloc(wt_timeline_nstrings(tl) + 1, sizeof(*a->xla->said));
	if (!a->xla || !a->xla->said)
		return -WT_E_NOMEM;
	a->xla->keys.words = 2;
	for (size_t i = 0; i < r->n; i++) {
		const struct said *s;
		int32_t run;
		uint32_t *slot;

		if (r->kind[r->order[i]] != WT_RANGE_MODULE)
			continue;
		s = said_of(a, tl->ranges[r->order[i]].name);
		run = s->what == THUNK && s->path && s->symbol ? run_around(a, (int32_t)i) : -1;
		if (run < 0)
			continue;
		slot = slot_of(a->xla, tl->ranges[r->order[run]].name, s->symbol);
		if (!slot)
			return -WT_E_NOMEM;
		*slot = s->path;
	}
	return 0;
}

void wt_xla_free(struct wt_axes *a)
{
	if (!a->xla)
		return;
	wt_keyset_release(&a->xla->keys);
	free(a->xla->paths);
	free(a->xla->said);
	free(a->xla);
}

int32_t wt_xla_run(const struct wt_axes *a, const struct wt_call *call, uint32_t *ret_program)
{
	int32_t run = a->xla ? run_around(a, wt_module_at(a, call)) : -1;

	if (run >= 0)
		*ret_program = a->ledger->tl->ranges[a->ranges.order[run]].name;
	return run;
}

uint32_t wt_xla_path(const struct wt_axes *a, const struct wt_op *op)
{
	const struct wt_ranges *x = &a->ranges;
	const struct wt_timeline *tl = a->ledger->tl;
	int32_t at = a->xla && op->call >= 0 ? wt_module_at(a, &tl->calls[op->call]) : -1;
	const struct said *thunk, *own;
	struct wt_strbuf text = {.n = 0};
	uint32_t program, *slot, symbol;
	int32_t run = at < 0 ? -1 : run_around(a, at);

	if (run < 0)
		return 0;
	program = tl->ranges[x->order[run]].name;
	thunk = said_of(a, tl->ranges[x->order[at]].name);
	own = said_of(a, op->name);
	symbol = thunk->what != THUNK || thunk->buffer || !thunk->symbol ? own->symbol
									 : thunk->symbol;
	slot = slot_of(a->xla, program, symbol);
	if (slot && !*slot) {
		wt_strbuf_addf(&text, "%s / %s", wt_axes_text(a, said_of(a, program)->module),
			       wt_axes_text(a, symbol));
		*slot = wt_strings_add(a->texts, wt_strbuf_text(&text), text.n);
		wt_strbuf_release(&text);
	}
	return slot ? *slot : 0;
}
