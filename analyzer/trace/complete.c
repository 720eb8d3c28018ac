/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of each call that must end in a device record (rules 1 to 10 of warptap-trace.5): timed, untimed,
 * missing, in flight, lost to a device error. count.c makes the identity of it, holes.c the time nobody observed.
 *
 * A call without record is missing if a later call of its stream has one, or if what it launched was surely over
 * (done.c); else the device may simply not have got there.
 */
#include <string.h>

#include "trace/trace.h"

struct completer {
	struct wt_trace *t;
	WT_VEC(struct wt_due) orders; /* by stream, in order of launch */
	struct wt_map errors;	      /* contexts with a sticky error */
};

/* A call that was under way when collection began may have begun too early for a record: it is outside. */
size_t wt_trace_window(const struct wt_trace *t, const struct wt_row *r)
{
	size_t lo = 0, hi = t->windows.n;

	while (lo < hi) { /* lo = the first window that opened after the call began */
		size_t mid = lo + (hi - lo) / 2;

		if (t->windows.p[mid].on_tsc <= r->start_tsc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && r->start_tsc + r->dur_tsc <= t->windows.p[lo - 1].off_tsc ? lo : 0;
}

int wt_trace_in_window(const struct wt_trace *t, const struct wt_row *r)
{
	if (wt_trace_window(t, r))
		return 1;
	/* no State packet at all: an old or damaged file; with records in it, everything was collected */
	return !t->windows.n && t->records.n;
}

int64_t wt_trace_end_ns(const struct wt_trace *t)
{
	int64_t end = t->last_tsc ? wt_clockline_ns(&t->clock, t->last_tsc) : INT64_MIN;

	for (size_t i = 0; i < t->records.n; i++) {
		const struct wt_record *r = &t->records.p[i];

		if (r->start_ns < INT64_MAX / 4 && r->dur_ns < INT64_MAX / 4 &&
		    (int64_t)(r->start_ns + r->dur_ns) > end)
			end = (int64_t)(r->start_ns + r->dur_ns);
	}
	return end;
}

static int untimed(const struct wt_record *r)
{
	return r->flags & WT_PB(RECORD_FLAG, UNTIMED) || !r->start_ns ||
	       r->start_ns >= INT64_MAX / 4 || r->dur_ns >= INT64_MAX / 4;
}

int wt_trace_span(const struct wt_trace *t, const struct wt_row *row, int64_t *ret_start,
		  int64_t *ret_end)
{
	const struct wt_group *g;
	int found = 0;

	if (row->group == WT_NO_INDEX)
		return 0;
	g = &t->groups.p[row->group];
	for (uint32_t i = 0; i < g->n; i++) {
		const struct wt_record *r = &t->records.p[g->first + i];
		int64_t start = (int64_t)r->start_ns, end = (int64_t)(r->start_ns + r->dur_ns);

		if (untimed(r))
			continue;
		if (!found || start < *ret_start)
			*ret_start = start;
		if (!found || end > *ret_end)
			*ret_end = end;
		found = 1;
	}
	return found;
}

static uint8_t fate_of_group(const struct wt_trace *t, const struct wt_row *row)
{
	const struct wt_group *g = &t->groups.p[row->group];
	uint32_t timed = 0, whole = 0, exec;

	for (uint32_t i = 0; i < g->n; i++) {
		timed += !untimed(&t->records.p[g->first + i]);
		whole += t->records.p[g->first + i].kind == WT_OP_GRAPH;
	}
	if (row->kind == WT_PB(COUNT_KIND, GRAPH_LAUNCH) && !whole &&
	    wt_map_get(&t->exec_ids, row->object, &exec) && t->execs.p[exec].known &&
	    g->n < t->execs.p[exec].nodes)
		return WT_FATE_MISSING; /* part of it */
	return timed ? WT_FATE_TIMED : WT_FATE_UNTIMED;
}

/* Does this call have to end in a record? (rules 1, 3, 4, 5, 8, 11) */
static int expects(const struct wt_trace *t, const struct wt_row *r)
{
	if (!wt_row_expects(r) || r->status || !wt_trace_in_window(t, r))
		return 0;
	if (r->flags & (WT_PB(CALL_FLAG, CAPTURED) | WT_PB(CALL_FLAG, SOFT)))
		return 0;
	return r->bytes || r->group != WT_NO_INDEX || r->kind == WT_PB(COUNT_KIND, LAUNCH) ||
	       r->kind == WT_PB(COUNT_KIND, GRAPH_LAUNCH);
}

static int cmp_order(const void *pa, const void *pb)
{
	const struct wt_due *a = pa, *b = pb;

	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->tsc != b->tsc)
		return a->tsc < b->tsc ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

/* Results after which a context does no more work. */
static int sticky(int32_t status)
{
	static const int16_t results[] = {214, 220, 700, 702, 710, 714, 715, 716, 717, 718, 719};

	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (status == results[i])
			return 1;
	return 0;
}

static int collect(struct completer *c)
{
	struct wt_trace *t = c->t;

	for (size_t i = 0; i < t->rows.n; i++) {
		struct wt_row *r = &t->rows.p[i];
		struct wt_due *o;

		if (sticky(r->status) && wt_map_put(&c->errors, r->context, 1))
			return -WT_E_NOMEM;
		if (!expects(t, r))
			continue;
		r->fate = WT_FATE_IN_FLIGHT;
		if (r->group != WT_NO_INDEX)
			r->fate = fate_of_group(t, r);
		o = wt_vec_add(&c->orders);
		if (!o)
			return -WT_E_NOMEM;
		*o = (struct wt_due){r->stream, r->start_tsc, INT64_MAX, (uint32_t)i};
	}
	if (c->orders.n)
		qsort(c->orders.p, c->orders.n, sizeof(struct wt_due), cmp_order);
	return wt_trace_done(t, c->orders.p, c->orders.n);
}

/* From the end of each stream: once a record is seen, all calls before it are overdue. */
static void decide(struct completer *c)
{
	struct wt_trace *t = c->t;
	int later = 0;

	for (size_t i = c->orders.n; i > 0; i--) {
		const struct wt_due *o = &c->orders.p[i - 1];
		struct wt_row *r = &t->rows.p[o->row];
		uint32_t unused;

		if (i == c->orders.n || c->orders.p[i].stream != o->stream)
			later = 0;
		if (r->fate == WT_FATE_IN_FLIGHT) {
			if ((later && r->stream) || o->done_ns != INT64_MAX)
				r->fate = WT_FATE_MISSING;
			else if (wt_map_get(&c->errors, r->context, &unused))
				r->fate = WT_FATE_DEVICE_ERROR;
		}
		later |= r->fate == WT_FATE_TIMED || r->fate == WT_FATE_UNTIMED;
	}
}

struct hole {
	int open;
	int64_t start_ns, done_ns; /* done: all of it was over by then, INT64_MAX = not known */
	uint64_t n;
	const struct wt_row *first;
	int in_flight; /* all of it */
};

/* On which stream a row's work runs, as far as the file tells; stream 0 = only the device is known. */
static int place_of(const struct wt_trace *t, const struct wt_row *r, struct wt_place *ret)
{
	uint32_t i;

	if (wt_map_get(&t->stream_places, r->stream, &i)) {
		*ret = t->places.p[i];
		return 1;
	}
	if (wt_map_get(&t->context_ids, r->context, &i)) {
		*ret = (struct wt_place){t->contexts.p[i].cupti_id, 0, t->contexts.p[i].device};
		return 1;
	}
	return 0;
}

static void close_hole(struct wt_trace *t, struct hole *h, int64_t end_ns)
{
	struct wt_place place;
	struct wt_hole out = {
		.missing = h->n, .process = t->process, .in_flight = h->in_flight != 0};

	if (!h->open)
		return;
	h->open = 0;
	out.start_ns = h->start_ns;
	if (h->in_flight) {
		/* Nothing is lost, so the device was idle until it was launched. */
		int64_t launched_ns = wt_clockline_ns(&t->clock, h->first->start_tsc);

		out.start_ns = launched_ns > out.start_ns ? launched_ns : out.start_ns;
	}
	out.end_ns = end_ns < h->done_ns ? end_ns : h->done_ns;
	if (!place_of(t, h->first, &place) || out.end_ns <= out.start_ns)
		return;
	out.device = wt_trace_device(t, place.device);
	out.stream = place.stream ? wt_trace_stream(t, &place) : UINT32_MAX;
	wt_builder_hole(t->b, &out);
}

/*
 * Per stream: from the end of the last record before the first call without one, to the next start or the return of a
 * covering wait; at the end of the file, to the end of collection.
 */
static void find_holes(struct completer *c)
{
	struct wt_trace *t = c->t;
	int64_t last = wt_trace_end_ns(t), prev = INT64_MIN;
	struct hole h = {0};

	if (t->windows.n && t->windows.p[t->windows.n - 1].off_ns)
		last = t->windows.p[t->windows.n - 1].off_ns;
	for (size_t i = 0; i < c->orders.n; i++) {
		const struct wt_row *r = &t->rows.p[c->orders.p[i].row];
		int64_t start = 0, end = 0;
		int got;

		if (i && c->orders.p[i].stream != c->orders.p[i - 1].stream) {
			close_hole(t, &h, last);
			prev = INT64_MIN;
		}
		got = wt_trace_span(t, r, &start, &end);
		if (got)
			close_hole(t, &h, start);
		if (r->fate != WT_FATE_TIMED) {
			if (!h.open) {
				h = (struct hole){.open = 1,
						  .done_ns = INT64_MAX,
						  .first = r,
						  .in_flight = 1};
				h.start_ns = prev != INT64_MIN
						     ? prev
						     : wt_clockline_ns(&t->clock, r->start_tsc);
			}
			h.n++;
			h.in_flight &= r->fate == WT_FATE_IN_FLIGHT;
			h.done_ns = c->orders.p[i].done_ns;
		}
		if (got && end > prev)
			prev = end;
	}
	close_hole(t, &h, last);
}

/* Between two windows nobody looked: all devices of the process, all streams. */
static void find_gaps(struct wt_trace *t)
{
	for (size_t i = 1; i < t->windows.n; i++) {
		const struct wt_window *a = &t->windows.p[i - 1], *b = &t->windows.p[i];
		struct wt_hole hole = {
			.stream = UINT32_MAX, .process = t->process, .paused = a->chosen ? 2 : 1};

		hole.start_ns = a->off_ns ? a->off_ns : wt_clockline_ns(&t->clock, a->off_tsc);
		hole.end_ns = b->on_ns ? b->on_ns : wt_clockline_ns(&t->clock, b->on_tsc);
		for (size_t d = 0; d < t->devices.n && hole.end_ns > hole.start_ns; d++) {
			hole.device = wt_trace_device(t, t->devices.p[d].id);
			wt_builder_hole(t->b, &hole);
		}
	}
}

int wt_trace_complete(struct wt_trace *t)
{
	struct completer c = {.t = t};
	int err = collect(&c);

	if (!err) {
		decide(&c);
		find_holes(&c);
		find_gaps(t);
		err = wt_trace_count(t);
	}
	free(c.orders.p);
	wt_map_release(&c.errors);
	return err;
}
