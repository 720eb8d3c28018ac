/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can explain the host's part of a gap: the functions of causes.def, and what tells a blind spot. All look-ups are
 * by thread or process and bounded: a search over sorted calls, then a walk through the gap itself.
 *
 * "Waits for work without records" needs evidence too, or every slow wake-up would be a blind spot: there is a launch
 * that was issued since the wait before and has no record, or recording began in mid-run and this is the first wait.
 */
#include <stdlib.h>

#include "ledger/gaps_impl.h"

#define BLIND_NS 20000 /* a shorter wait proves nothing */

void wt_span_add(struct spans *s, const struct span *span)
{
	if (span->start_ns >= span->end_ns)
		return;
	if (s->n == s->room) {
		size_t room = s->room ? s->room * 2 : 32;
		struct span *rows = realloc(s->rows, room * sizeof(*rows));

		if (!rows) {
			s->failed = 1;
			return;
		}
		s->rows = rows;
		s->room = room;
	}
	s->rows[s->n++] = *span;
}

int wt_span_cmp(const void *pa, const void *pb)
{
	const struct span *x = pa, *y = pb;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/*
 * The blocking call that the launching thread was in when the device drained. If that thread did nothing from before
 * the wait to after it, the wait of another thread counts: work is handed over, as to the autograd thread.
 */
int32_t wt_gaps_wait_at(const struct wt_gaps *g, const struct host_part *h)
{
	const struct wt_call *c = h->launch;
	int32_t wait = wt_host_reaching(&g->calls, &g->calls.blocking_thread, c->thread,
					h->start_ns, INT64_MAX),
		last;
	size_t at;

	if (wait >= 0)
		return wait;
	wait = wt_host_reaching(&g->calls, &g->calls.blocking, c->process, h->start_ns, h->end_ns);
	if (wait < 0)
		return -1;
	at = wt_host_at(&g->calls, &g->calls.by_thread, c->thread, g->tl->calls[wait].end_ns);
	if (at == g->calls.by_thread.first[c->thread])
		return wait;
	last = (int32_t)g->calls.by_thread.calls[at - 1];
	return g->tl->calls[last].end_ns <= g->tl->calls[wait].start_ns ? wait : -1;
}

/* Whether a wait can have been for device work of which there is no record. */
static int can_be_unrecorded(const struct wt_gaps *g, int32_t wait)
{
	const struct wt_call *w = &g->tl->calls[wait];
	const struct wt_call_index *x = &g->calls.syncs, *u = &g->calls.unmatched;
	size_t at = wt_host_at(&g->calls, x, w->process, w->start_ns), first;
	int64_t since_ns = INT64_MIN;
	int found = 0;

	for (int n = 0; n < WT_HOST_NESTING && at > x->first[w->process] && !found; n++) {
		const struct wt_call *before = &g->tl->calls[x->calls[--at]];

		if (before->end_ns <= w->start_ns) {
			since_ns = before->start_ns;
			found = 1;
		}
	}
	/* The first wait of a capture that began in mid-run; our own traces count from the start. */
	if (!found && g->tl->processes[w->process].level < 0)
		return 1;
	first = wt_host_at(&g->calls, u, w->process, since_ns);
	return first < u->first[w->process + 1] &&
	       g->tl->calls[u->calls[first]].start_ns <= w->start_ns;
}

/* Lists the time in which the launching thread was in calls of these kinds. */
static void find_kinds(struct wt_gaps *g, const struct host_part *h, unsigned kinds)
{
	const struct wt_call_index *x = &g->calls.by_thread;
	size_t group = h->launch->thread, at = h->at;
	int64_t done_ns = h->start_ns;

	for (int n = 0;
	     n < WT_HOST_NESTING && at > x->first[group] && x->reach_ns[at - 1] > h->start_ns; n++)
		at--;
	for (; at < x->first[group + 1]; at++) {
		const struct wt_call *c = &g->tl->calls[x->calls[at]];
		struct span span = {.start_ns = c->start_ns > done_ns ? c->start_ns : done_ns,
				    .end_ns = c->end_ns < h->end_ns ? c->end_ns : h->end_ns,
				    .call = (int32_t)x->calls[at]};

		if (c->start_ns >= h->end_ns)
			break;
		if (!(kinds & 1u << c->kind) || span.end_ns <= span.start_ns)
			continue;
		wt_span_add(&g->found, &span);
		done_ns = span.end_ns;
	}
}

/* Whether the launching thread made no call in all of the gap: what it waited for, another thread did. */
static int is_quiet(const struct wt_gaps *g, const struct host_part *h)
{
	const struct wt_call_index *x = &g->calls.by_thread;
	size_t group = h->launch->thread, at = wt_host_at(&g->calls, x, group, h->end_ns);

	return at == x->first[group] || x->reach_ns[at - 1] <= h->start_ns;
}

static void find_on_thread(struct wt_gaps *g, const struct host_part *h, uint32_t thread,
			   uint32_t kinds)
{
	int64_t done_ns = h->start_ns;
	size_t cursor = SIZE_MAX;
	int32_t i;

	while ((i = wt_ranges_next(&g->ranges, thread, h->start_ns, h->end_ns, kinds, &cursor)) >=
	       0) {
		const struct wt_range *r = &g->tl->ranges[i];
		struct span span = {.start_ns = r->start_ns > done_ns ? r->start_ns : done_ns,
				    .end_ns = r->end_ns < h->end_ns ? r->end_ns : h->end_ns,
				    .call = -1};

		if (span.end_ns <= span.start_ns)
			continue;
		wt_span_add(&g->found, &span);
		done_ns = span.end_ns;
	}
}

/* Lists the time in which the launching thread was in ranges of these kinds; if it did nothing, the process. */
static void find_ranges(struct wt_gaps *g, const struct host_part *h, uint32_t kinds)
{
	const struct wt_timeline *tl = g->tl;

	if (!(kinds & g->ranges.kinds))
		return;
	find_on_thread(g, h, h->launch->thread, kinds);
	for (uint32_t k = 0; !g->found.n && k < tl->nthreads && is_quiet(g, h); k++)
		if (tl->threads[k].process == h->launch->process)
			find_on_thread(g, h, k, kinds);
}

/* Other tools' records do not always say which thread it was: then any of the process. */
static void find_anywhere(struct wt_gaps *g, const struct host_part *h, uint32_t kinds)
{
	if (g->tl->processes[h->launch->process].level >= 0) {
		find_ranges(g, h, kinds);
		return;
	}
	for (uint32_t k = 0; kinds & g->ranges.kinds && k < g->tl->nthreads && !g->found.n; k++)
		if (g->tl->threads[k].process == h->launch->process)
			find_on_thread(g, h, k, kinds);
}

static void find_profiler(struct wt_gaps *g, const struct host_part *h)
{
	find_anywhere(g, h, WT_KIND_BIT(PROFILER));
}

static void find_loading(struct wt_gaps *g, const struct host_part *h)
{
	find_anywhere(g, h, WT_KIND_BIT(LOADING));
}

static void find_input(struct wt_gaps *g, const struct host_part *h)
{
	find_ranges(g, h, WT_KIND_BIT(INPUT));
}

static void find_checkpoint(struct wt_gaps *g, const struct host_part *h)
{
	find_ranges(g, h, WT_KIND_BIT(CHECKPOINT));
}

static void find_no_work(struct wt_gaps *g, const struct host_part *h)
{
	find_ranges(g, h, WT_KIND_BIT(NO_WORK));
}

static void find_module(struct wt_gaps *g, const struct host_part *h)
{
	find_kinds(g, h, 1u << WT_CALL_MODULE | 1u << WT_CALL_GRAPH);
}

static void find_alloc(struct wt_gaps *g, const struct host_part *h)
{
	find_kinds(g, h, 1u << WT_CALL_ALLOC | 1u << WT_CALL_FREE);
}

static void find_comm_setup(struct wt_gaps *g, const struct host_part *h)
{
	find_ranges(g, h, WT_KIND_BIT(COMM_SETUP));
	if (!g->found.n) /* else its calls are inside the ranges */
		find_kinds(g, h, 1u << WT_CALL_COMM);
}

/* From the first graph launched in [from, end) that left no record at all: it ran for a time nobody knows. */
static void find_silent_graph(struct wt_gaps *g, const struct host_part *h, int64_t from_ns)
{
	const struct wt_call_index *u = &g->calls.unmatched;
	size_t group = h->launch->process;

	for (size_t at = wt_host_at(&g->calls, u, group, from_ns); at < u->first[group + 1]; at++) {
		const struct wt_call *c = &g->tl->calls[u->calls[at]];

		if (c->start_ns >= h->end_ns)
			return;
		if (c->kind != WT_CALL_GRAPH_LAUNCH)
			continue;
		wt_span_add(&g->found, &(struct span){.start_ns = c->start_ns,
						      .end_ns = h->end_ns,
						      .call = (int32_t)u->calls[at]});
		return;
	}
}

static void find_unrecorded(struct wt_gaps *g, const struct host_part *h)
{
	int32_t wait = h->wait;
	struct span span = {.start_ns = h->start_ns, .end_ns = h->start_ns, .call = wait};

	if (wait >= 0) {
		span.end_ns = g->tl->calls[wait].end_ns;
		span.end_ns = span.end_ns < h->end_ns ? span.end_ns : h->end_ns;
		if (span.end_ns - span.start_ns > BLIND_NS && can_be_unrecorded(g, wait))
			wt_span_add(&g->found, &span);
	}
	/* What was launched before the wait ended is done. */
	find_silent_graph(g, h, span.end_ns);
}

static void find_wake_up(struct wt_gaps *g, const struct host_part *h)
{
	int32_t wait = h->wait;
	struct span span = {.start_ns = h->start_ns, .call = wait};

	if (wait < 0)
		return;
	span.end_ns = g->tl->calls[wait].end_ns;
	span.end_ns = span.end_ns < h->end_ns ? span.end_ns : h->end_ns;
	wt_span_add(&g->found, &span);
}

static void find_refill(struct wt_gaps *g, const struct host_part *h)
{
	int32_t wait = h->wait;

	if (wait >= 0)
		wt_span_add(&g->found, &(struct span){.start_ns = g->tl->calls[wait].end_ns,
						      .end_ns = h->end_ns,
						      .call = wait});
}

void wt_gaps_blind(struct wt_gaps *g, uint16_t process, int64_t start_ns, int64_t end_ns)
{
	const struct wt_call_index *x = &g->calls.blocking;
	size_t at = wt_host_at(&g->calls, x, process, end_ns), kept = 0;

	g->found.n = 0;
	for (int n = 0;
	     n < WT_HOST_NESTING && at > x->first[process] && x->reach_ns[at - 1] > start_ns; n++) {
		const struct wt_call *c = &g->tl->calls[x->calls[--at]];
		struct span span = {.start_ns = c->start_ns > start_ns ? c->start_ns : start_ns,
				    .end_ns = c->end_ns < end_ns ? c->end_ns : end_ns,
				    .call = (int32_t)x->calls[at]};

		if (span.end_ns - span.start_ns > BLIND_NS && can_be_unrecorded(g, span.call))
			wt_span_add(&g->found, &span);
	}
	if (g->found.n > 1)
		qsort(g->found.rows, g->found.n, sizeof(*g->found.rows), wt_span_cmp);
	for (size_t i = 0; i < g->found.n; i++) {
		struct span f = g->found.rows[i];

		if (kept && f.start_ns < g->found.rows[kept - 1].end_ns)
			f.start_ns = g->found.rows[kept - 1].end_ns;
		if (f.start_ns < f.end_ns)
			g->found.rows[kept++] = f;
	}
	g->found.n = kept;
}

const struct wt_cause wt_causes[WT_CAUSES] = {
#define WT_CAUSE(leaf_, grade_, find_) {WT_##leaf_, grade_, find_},
#include "ledger/causes.def"
#undef WT_CAUSE
};
