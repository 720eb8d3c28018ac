/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When was what a call launched surely over? For calls that have no record: then it is missing, else it may still have
 * been in flight when the file ended. Called by complete.c.
 *
 * Over is what a stream held before a call of it that has a record; before a wait for the stream or its context; before
 * a copy to the host that the host waited for; and before the recording of an event that somebody has waited for: the
 * host, or another stream of which one of these things is known. One walk backwards in time carries along, for each
 * stream, context and recording, the earliest moment at which what lies before was over. A call counts as begun for
 * what it ends and as returned for what ends it, so that threads beside each other prove nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"

#define SOMETIME (INT64_MAX - 1) /* over, and nobody knows since when */

enum what {
	ASKED,	 /* arg: of dues */
	HAS,	 /* a call with a record */
	CONTEXT, /* waited for */
	STREAM,	 /* likewise */
	RECORDING,
	BY_STREAM, /* waits for a recording; arg: its row */
	BY_HOST,   /* likewise */
};

struct moment {
	uint64_t tsc;
	uint32_t row, arg;
	enum what what;
};

struct walk {
	struct wt_trace *t;
	uint64_t from; /* nothing before it matters */
	WT_VEC(struct moment) moments;
	struct wt_map index; /* scope -> ends */
	WT_VEC(int64_t) ends;
};

enum scope { OF_STREAM, OF_CONTEXT, OF_RECORDING };

static uint64_t key_of(enum scope scope, uint64_t id)
{
	return wt_mix64(id) * 4 + scope;
}

static int64_t end_of(const struct walk *w, enum scope scope, uint64_t id)
{
	uint32_t at;

	return wt_map_get(&w->index, key_of(scope, id), &at) ? w->ends.p[at] : INT64_MAX;
}

/* What lies before, in this scope, was over by then. */
static int set_end(struct walk *w, enum scope scope, uint64_t id, int64_t ns)
{
	uint32_t *at;
	int64_t *end;

	if (ns == INT64_MAX)
		return 0;
	at = wt_map_slot(&w->index, key_of(scope, id), (uint32_t)w->ends.n, NULL);
	if (!at)
		return -WT_E_NOMEM;
	if (*at < w->ends.n) {
		end = &w->ends.p[*at];
		*end = ns < *end ? ns : *end;
		return 0;
	}
	end = wt_vec_add(&w->ends);
	if (!end)
		return -WT_E_NOMEM;
	*end = ns;
	return 0;
}

static const char *name_of(const struct wt_trace *t, const struct wt_row *r)
{
	uint32_t op;

	return wt_map_get(&t->op_ids, r->op, &op)
		       ? wt_builder_get(t->b, wt_trace_string(t, t->ops.p[op].name))
		       : "";
}

/* It returns when the bytes have arrived: these two directions alone are promised to. */
static int is_sync_copy(const struct wt_trace *t, const struct wt_row *r)
{
	const char *name;

	if (r->kind != WT_PB(COUNT_KIND, COPY) || r->status || !r->bytes ||
	    !(r->flags & WT_PB(CALL_FLAG, BLOCKING)))
		return 0;
	name = name_of(t, r);
	return !strncmp(name, "cuMemcpyDtoH", 12) || !strncmp(name, "cuMemcpyAtoH", 12);
}

static int is_host_wait(const struct wt_trace *t, const struct wt_row *r, enum what *ret)
{
	const char *name;

	if (is_sync_copy(t, r)) {
		*ret = STREAM;
		return 1;
	}
	if (r->status ||
	    (r->kind != WT_PB(COUNT_KIND, SYNC) && r->kind != WT_PB(COUNT_KIND, EVENT)))
		return 0;
	name = name_of(t, r);
	*ret = CONTEXT;
	if (strstr(name, "CtxSynchronize") || strstr(name, "DeviceSynchronize"))
		return 1;
	*ret = STREAM;
	return r->stream && (strstr(name, "StreamSynchronize") || strstr(name, "StreamQuery"));
}

static int add(struct walk *w, uint64_t tsc, uint32_t row, enum what what, uint32_t arg)
{
	struct moment *m;

	if (tsc < w->from)
		return 0;
	m = wt_vec_add(&w->moments);
	if (!m)
		return -WT_E_NOMEM;
	*m = (struct moment){tsc, row, arg, what};
	return 0;
}

static uint64_t returned(const struct wt_row *r)
{
	return r->start_tsc + r->dur_tsc;
}

static int gather(struct walk *w, const struct wt_due *dues, size_t n)
{
	struct wt_trace *t = w->t;
	enum what what;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		const struct wt_row *r = &t->rows.p[dues[i].row];

		if (r->fate != WT_FATE_TIMED)
			err = add(w, returned(r), dues[i].row, ASKED, (uint32_t)i);
		if (!err && r->stream && (r->fate == WT_FATE_TIMED || r->fate == WT_FATE_UNTIMED))
			err = add(w, r->start_tsc, dues[i].row, HAS, 0);
	}
	for (size_t i = 0; i < t->rows.n && !err; i++)
		if (t->rows.p[i].start_tsc >= w->from && is_host_wait(t, &t->rows.p[i], &what))
			err = add(w, t->rows.p[i].start_tsc, (uint32_t)i, what, 0);
	for (size_t i = 0; i < t->waits.n && !err; i++) {
		const struct wt_event_wait *e = &t->waits.p[i];
		const struct wt_row *r = &t->rows.p[e->row];

		if (e->record == WT_NO_INDEX)
			continue;
		err = add(w, r->start_tsc, e->row, r->stream ? BY_STREAM : BY_HOST, e->record);
		/* Once for each wait: the second time tells nothing new. */
		err = err ? err
			  : add(w, t->rows.p[e->record].start_tsc, e->record, RECORDING, e->record);
	}
	return err;
}

static int cmp_moment(const void *pa, const void *pb)
{
	const struct moment *a = pa, *b = pb;

	if (a->tsc != b->tsc)
		return a->tsc < b->tsc ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Of what was queued on the row's stream at this moment of the walk. */
static int64_t over(const struct walk *w, const struct wt_row *r)
{
	return sooner(end_of(w, OF_CONTEXT, r->context),
		      r->stream ? end_of(w, OF_STREAM, r->stream) : INT64_MAX);
}

static int see(struct walk *w, const struct moment *m, struct wt_due *dues)
{
	struct wt_trace *t = w->t;
	const struct wt_row *r = &t->rows.p[m->row];
	int64_t end = wt_clockline_ns(&t->clock, returned(r)), start, last;

	switch (m->what) {
	case ASKED:
		dues[m->arg].done_ns = sooner(over(w, r), is_sync_copy(t, r) ? end : INT64_MAX);
		return 0;
	case HAS:
		if (!wt_trace_span(t, r, &start, &last))
			start = SOMETIME;
		return set_end(w, OF_STREAM, r->stream, start);
	case CONTEXT:
		return set_end(w, OF_CONTEXT, r->context, end);
	case STREAM:
		return set_end(w, OF_STREAM, r->stream, end);
	case RECORDING:
		return set_end(w, OF_STREAM, r->stream, end_of(w, OF_RECORDING, m->arg));
	case BY_STREAM:
		return set_end(w, OF_RECORDING, m->arg, over(w, r));
	case BY_HOST:
		return set_end(w, OF_RECORDING, m->arg, end);
	}
	return 0;
}

int wt_trace_done(struct wt_trace *t, struct wt_due *dues, size_t n)
{
	struct walk w = {.t = t, .from = UINT64_MAX};
	int err;

	for (size_t i = 0; i < n; i++) {
		dues[i].done_ns = INT64_MAX;
		if (t->rows.p[dues[i].row].fate != WT_FATE_TIMED && dues[i].tsc < w.from)
			w.from = dues[i].tsc;
	}
	if (w.from == UINT64_MAX)
		return 0; /* everything has its record */
	err = gather(&w, dues, n);
	if (!err && w.moments.n)
		qsort(w.moments.p, w.moments.n, sizeof(struct moment), cmp_moment);
	for (size_t i = w.moments.n; i > 0 && !err; i--)
		err = see(&w, &w.moments.p[i - 1], dues);
	free(w.moments.p);
	free(w.ends.p);
	wt_map_release(&w.index);
	return err;
}
