/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of completeness, per context and kind (rule 12 of warptap-trace.5):
 *
 *   counted = timed + untimed + dropped by us + dropped by CUPTI + missing + in flight + device error
 *
 * `counted` comes from the counters, which survive what records do not; the right side from the fates of the calls
 * (complete.c) and, for calls whose host row is lost as well, from records that no row claims. The sum is asserted,
 * never adjusted: a difference becomes a note. Outside the windows of collection nothing is expected and nothing
 * counted.
 */
#include <inttypes.h>
#include <string.h>

#include "trace/trace.h"

#define KINDS 5 /* enum CountKind 1..5 = enum wt_count_kind 0..4 */

struct tally {
	uint32_t context, kind;			 /* kind: enum CountKind */
	int64_t counted, captured, failed, soft; /* from the counters */
	int64_t unrowed;			 /* likewise: done at level count */
	uint64_t rows,
		empty; /* calls that expect a record; successful ones that expect none, by their size */
	uint64_t fate[WT_FATE_DEVICE_ERROR + 1];
	uint64_t outside;	     /* calls outside the windows */
	uint64_t extra, extra_timed; /* records (groups) no row claims */
};

struct counter {
	struct wt_trace *t;
	struct wt_map index;
	WT_VEC(struct tally) tallies;
	uint64_t extra; /* records without a call, not even a lost one */
	int nomem;
};

static struct tally *tally(struct counter *c, uint32_t context, uint32_t kind)
{
	static struct tally nowhere;
	uint32_t *slot = wt_map_slot(&c->index, (uint64_t)context << 8 | kind, WT_NO_INDEX, NULL);
	struct tally *t;

	if (slot && *slot != WT_NO_INDEX)
		return &c->tallies.p[*slot];
	t = slot ? wt_vec_add(&c->tallies) : NULL;
	if (!t) {
		c->nomem = 1;
		return &nowhere;
	}
	*slot = (uint32_t)(c->tallies.n - 1);
	t->context = context;
	t->kind = kind;
	return t;
}

static void add_counts(struct counter *c, const struct wt_count_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct wt_count_row *r = &rows[i];
		int64_t v = r->n > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)r->n;
		struct tally *t;

		if (r->kind < 1 || r->kind > KINDS)
			continue;
		t = tally(c, r->context, r->kind);
		v = r->minus ? -v : v;
		if (r->state == WT_PB(COUNT_STATE, DONE))
			t->counted += v;
		else if (r->state == WT_PB(COUNT_STATE, CAPTURED))
			t->captured += v;
		else if (r->state == WT_PB(COUNT_STATE, FAILED))
			t->failed += v;
		else if (r->state == WT_PB(COUNT_STATE, SOFT))
			t->soft += v;
		else if (r->state == WT_PB(COUNT_STATE, UNROWED))
			t->unrowed += v;
	}
}

/* Calls outside the windows, by the rows they left: counted, and not compared. */
static void subtract_outside(struct counter *c)
{
	struct wt_trace *t = c->t;

	for (size_t i = 0; i < t->rows.n; i++) {
		const struct wt_row *r = &t->rows.p[i];
		struct tally *y;

		if (r->kind < 1 || r->kind > KINDS || wt_trace_in_window(t, r))
			continue;
		y = tally(c, r->context, r->kind);
		y->outside++;
		if (r->status)
			y->failed--;
		else if (r->flags & WT_PB(CALL_FLAG, CAPTURED))
			y->captured--;
		else if (r->flags & WT_PB(CALL_FLAG, SOFT))
			y->soft--;
		else
			y->counted--;
	}
}

/*
 * Totals of the time in which records were collected; of the whole file if they never were. Rows say exactly what of
 * DONE was outside the windows; what was done at level count is a state of its own. In files before minor 2 it was
 * not: there the counters as they stood near the change have to do.
 */
static void count_calls(struct counter *c)
{
	struct wt_trace *t = c->t;
	const struct wt_window *last = t->windows.n ? &t->windows.p[t->windows.n - 1] : NULL;

	if (!t->blind) {
		add_counts(c, t->counts.p, t->counts.n);
		if (last)
			subtract_outside(c);
		return;
	}
	add_counts(c, t->window_counts.p, t->window_counts.n);
	if (!last || last->off_tsc == UINT64_MAX || last->exit)
		add_counts(c, t->counts.p, t->counts.n);
}

static void count_rows(struct counter *c)
{
	struct wt_trace *t = c->t;

	for (size_t i = 0; i < t->rows.n; i++) {
		const struct wt_row *r = &t->rows.p[i];
		struct tally *y;

		if (!wt_row_expects(r) || !wt_trace_in_window(t, r))
			continue;
		y = tally(c, r->context, r->kind);
		y->rows += r->fate != WT_FATE_NONE;
		y->fate[r->fate]++;
		y->empty += r->fate == WT_FATE_NONE && !r->status && !r->bytes &&
			    !(r->flags & (WT_PB(CALL_FLAG, CAPTURED) | WT_PB(CALL_FLAG, SOFT)));
	}
	for (size_t i = 0; i < t->groups.n; i++) {
		const struct wt_group *g = &t->groups.p[i];
		const struct wt_record *r = &t->records.p[g->first];
		uint32_t context = 0;
		struct tally *y;

		if (g->row != WT_NO_INDEX || r->flags & WT_PB(RECORD_FLAG, DEVICE_LAUNCHED))
			continue;
		wt_map_get(&t->cupti_contexts, r->context, &context);
		y = tally(c, context, g->class_);
		y->extra++;
		y->extra_timed += !(r->flags & WT_PB(RECORD_FLAG, UNTIMED)) && r->start_ns;
	}
}

/* ---- collectives: covered through the launches made inside the call, or inside the call that closed its group ---- */

static void fate_of_children(const struct wt_trace *t, uint8_t *worst, uint8_t *any)
{
	/* order of the enum is order of badness */
	for (size_t i = 0; i < t->rows.n; i++) {
		const struct wt_row *r = &t->rows.p[i];

		for (uint32_t p = r->parent, depth = 0;
		     r->fate != WT_FATE_NONE && p != WT_NO_INDEX && depth < 8; depth++) {
			any[p] = 1;
			if (r->fate > worst[p])
				worst[p] = r->fate;
			p = t->rows.p[p].parent;
		}
	}
}

static int count_collectives(struct counter *c)
{
	struct wt_trace *t = c->t;
	uint8_t *worst = calloc(t->rows.n + 1, 1), *any = calloc(t->rows.n + 1, 1);
	int open = !t->windows.n && !t->records.n; /* nothing collected */

	if (!worst || !any) {
		free(worst);
		free(any);
		return -WT_E_NOMEM;
	}
	fate_of_children(t, worst, any);
	for (size_t i = 0; i < t->collectives.n; i++) {
		const struct wt_coll_row *k = &t->collectives.p[i];
		const struct wt_row *r;
		uint32_t at = k->row, comm;
		struct tally *y;
		uint8_t fate = WT_FATE_TIMED;

		if (at == WT_NO_INDEX || open)
			continue;
		r = &t->rows.p[at];
		if (r->status || r->flags & WT_PB(CALL_FLAG, CAPTURED) || !wt_trace_in_window(t, r))
			continue;
		if (!any[at])
			at = wt_trace_group_end(t, at);
		if (at != WT_NO_INDEX && any[at])
			fate = worst[at];
		else if (k->count && (!wt_map_get(&t->comm_ids, k->comm, &comm) ||
				      t->comms.p[comm].nranks != 1))
			fate = t->ended ? WT_FATE_MISSING : WT_FATE_IN_FLIGHT;
		y = tally(c, r->context, WT_PB(COUNT_KIND, COLLECTIVE));
		y->rows++;
		y->fate[fate]++;
	}
	free(worst);
	free(any);
	return 0;
}

/* ---- from tallies to the identity ---- */

static uint64_t take(uint64_t *from, uint64_t most)
{
	uint64_t n = *from < most ? *from : most;

	*from -= n;
	return n;
}

/*
 * Counters know a limited number of contexts and put the rest into one; then some contexts have more rows than counts
 * and another fewer. What cancels out is no loss. Returns the rows over count that nobody lacks.
 */
static uint64_t surplus_of(struct counter *c, uint32_t kind)
{
	uint64_t surplus = 0;

	for (size_t i = 0; i < c->tallies.n; i++) {
		const struct tally *y = &c->tallies.p[i];

		if (y->kind == kind && y->counted < (int64_t)y->rows)
			surplus += y->rows - (uint64_t)(y->counted > 0 ? y->counted : 0);
	}
	return surplus;
}

static void finish(struct counter *c, struct tally *y, uint64_t *surplus, uint64_t *by_cupti,
		   uint64_t *by_agent)
{
	struct wt_trace *t = c->t;
	struct wt_count out = {
		.process = t->process, .context = y->context, .kind = (uint16_t)(y->kind - 1)};
	uint64_t lack = 0, sum, found, timed;
	int collected = t->windows.n || t->records.n;

	out.outside = y->outside + (y->unrowed > 0 && collected ? (uint64_t)y->unrowed : 0);
	out.captured = y->captured > 0 ? (uint64_t)y->captured : 0;
	out.failed = y->failed > 0 ? (uint64_t)y->failed : 0;
	out.soft = y->soft > 0 ? (uint64_t)y->soft : 0;
	if (y->counted > (int64_t)y->rows) {
		lack = (uint64_t)y->counted - y->rows;
		out.soft += take(&lack, y->empty);
		lack -= take(surplus, lack);
	}
	out.counted = y->rows + lack;
	if (!collected) { /* never meant to have records */
		out.counted = (y->counted > 0 ? (uint64_t)y->counted : 0) +
			      (y->unrowed > 0 ? (uint64_t)y->unrowed : 0);
		wt_builder_count(t->b, &out);
		return;
	}
	out.timed = y->fate[WT_FATE_TIMED];
	out.untimed = y->fate[WT_FATE_UNTIMED];
	out.in_flight = y->fate[WT_FATE_IN_FLIGHT];
	out.device_error = y->fate[WT_FATE_DEVICE_ERROR];
	out.missing = y->fate[WT_FATE_MISSING];
	out.extra = y->extra;
	/* calls whose row is lost: their record may be there */
	timed = y->extra_timed;
	found = take(&timed, lack);
	out.timed += found;
	out.extra -= found;
	c->extra += out.extra;
	lack -= found;
	if (!t->ended)
		out.in_flight += take(&lack, lack);
	out.dropped_agent = take(by_agent, lack);
	out.missing += lack - out.dropped_agent;
	out.dropped_cupti = take(by_cupti, out.missing);
	out.missing -= out.dropped_cupti;
	sum = out.timed + out.untimed + out.dropped_agent + out.dropped_cupti + out.missing +
	      out.in_flight + out.device_error;
	if (sum != out.counted)
		wt_builder_note(t->b,
				"completeness does not add up in context %u, kind %u: %" PRIu64
				" counted, %" PRIu64 " accounted for",
				out.context, y->kind, out.counted, sum);
	wt_builder_count(t->b, &out);
}

static void explain_extra(struct counter *c)
{
	if (c->extra && !c->t->lossy)
		wt_builder_note(c->t->b,
				"%" PRIu64 " device operations have no host call: launched before "
				"recording began, by another tool, or past our hooks",
				c->extra);
}

int wt_trace_count(struct wt_trace *t)
{
	struct counter c = {.t = t};
	uint64_t by_cupti = t->dropped_cupti, by_agent = t->dropped_agent;
	int err;

	count_calls(&c);
	count_rows(&c);
	err = count_collectives(&c);
	for (uint32_t kind = 1; kind <= KINDS && !err && !c.nomem; kind++) {
		uint64_t surplus = surplus_of(&c, kind);

		for (size_t i = 0; i < c.tallies.n; i++)
			if (c.tallies.p[i].kind == kind)
				finish(&c, &c.tallies.p[i], &surplus, &by_cupti, &by_agent);
	}
	explain_extra(&c);
	if (c.nomem)
		err = -WT_E_NOMEM;
	free(c.tallies.p);
	wt_map_release(&c.index);
	return err;
}
