/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See gaps.h. A gap [s, e) on a device ends when O starts, which thread T launched by the call [a0, a1).
 *
 *  a0 > s   the queue was empty. [s, a0) is the host's: cut by what T was doing (causes.def), the rest is D8. Then the
 *           launch takes its time: D9, up to a cap.
 *  a0 <= s  O was queued already: D10 up to a floor; just launched: D9 up to the same cap after a0.
 *           A first launch that goes on for far longer than launches do was loading its kernel: D2.
 *  beyond   O was queued and did not start: E2 while a host thread sat in a blocking call that can have waited for
 *           work without records, between nodes of one graph D11, else D14. E2 also follows a graph launched in the
 *           gap that left no record of any node.
 *
 * "Waits for work without records" needs evidence too, or every slow wake-up would be a blind spot: there is a launch
 * that was issued since the wait before and has no record, or recording began in mid-run and this is the first wait.
 *
 * All look-ups are by thread or process and bounded: a search over sorted calls, then a walk through the gap itself.
 */
#include "ledger/gaps.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/gaps_impl.h"
#include "ledger/sweep.h"

#define FLOOR_NS    5000  /* between queued kernels */
#define CAP_NS	    20000 /* least cap of launch latency */
#define BLIND_NS    20000 /* a shorter wait proves nothing */
#define LOAD_FACTOR 10	  /* longer than the median launch: it loads its kernel */
#define NO_OP	    UINT32_MAX

/* The host's part of one gap, as causes see it. */
struct host_part {
	int64_t start_ns, end_ns; /* [s, min(a0, e)) */
	const struct wt_call *launch;
};

struct wt_gaps *wt_gaps_new(const struct wt_timeline *tl)
{
	struct wt_gaps *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->tl = tl;
	if (wt_host_init(&g->calls, tl) || wt_ranges_init(&g->ranges, tl)) {
		wt_gaps_free(g);
		return NULL;
	}
	return g;
}

void wt_gaps_free(struct wt_gaps *g)
{
	if (!g)
		return;
	wt_host_release(&g->calls);
	wt_ranges_release(&g->ranges);
	free(g->host.rows);
	free(g->found.rows);
	free(g->left.rows);
	free(g->rest.rows);
	free(g);
}

static void span_add(struct spans *s, const struct span *span)
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

/*
 * The blocking call that the launching thread was in when the device drained. If that thread did nothing from before
 * the wait to after it, the wait of another thread counts: work is handed over, as to the autograd thread.
 */
static int32_t wait_at(const struct wt_gaps *g, const struct host_part *h)
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
	size_t group = h->launch->thread, at = wt_host_at(&g->calls, x, group, h->start_ns);
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
		span_add(&g->found, &span);
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
		span_add(&g->found, &span);
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
		span_add(&g->found, &(struct span){.start_ns = c->start_ns,
						   .end_ns = h->end_ns,
						   .call = (int32_t)u->calls[at]});
		return;
	}
}

static void find_unrecorded(struct wt_gaps *g, const struct host_part *h)
{
	int32_t wait = wait_at(g, h);
	struct span span = {.start_ns = h->start_ns, .end_ns = h->start_ns, .call = wait};

	if (wait >= 0) {
		span.end_ns = g->tl->calls[wait].end_ns;
		span.end_ns = span.end_ns < h->end_ns ? span.end_ns : h->end_ns;
		if (span.end_ns - span.start_ns > BLIND_NS && can_be_unrecorded(g, wait))
			span_add(&g->found, &span);
	}
	/* What was launched before the wait ended is done. */
	find_silent_graph(g, h, span.end_ns);
}

static void find_wake_up(struct wt_gaps *g, const struct host_part *h)
{
	int32_t wait = wait_at(g, h);
	struct span span = {.start_ns = h->start_ns, .call = wait};

	if (wait < 0)
		return;
	span.end_ns = g->tl->calls[wait].end_ns;
	span.end_ns = span.end_ns < h->end_ns ? span.end_ns : h->end_ns;
	span_add(&g->found, &span);
}

static void find_refill(struct wt_gaps *g, const struct host_part *h)
{
	int32_t wait = wait_at(g, h);

	if (wait >= 0)
		span_add(&g->found, &(struct span){.start_ns = g->tl->calls[wait].end_ns,
						   .end_ns = h->end_ns,
						   .call = wait});
}

struct cause {
	enum wt_leaf leaf;
	uint8_t grade;
	void (*find)(struct wt_gaps *g, const struct host_part *h);
};
static const struct cause causes[] = {
#define WT_CAUSE(leaf_, grade_, find_) {WT_##leaf_, grade_, find_},
#include "ledger/causes.def"
#undef WT_CAUSE
};

/* Gives what was found, as far as it is left, to a cause. Both lists are in order and free of overlaps. */
static void take_found(struct wt_gaps *g, const struct cause *cause)
{
	struct spans swap;
	size_t j = 0;

	g->rest.n = 0;
	for (size_t i = 0; i < g->left.n; i++) {
		struct span left = g->left.rows[i];

		while (j < g->found.n && g->found.rows[j].end_ns <= left.start_ns)
			j++;
		for (size_t k = j; k < g->found.n && g->found.rows[k].start_ns < left.end_ns; k++) {
			struct span hit = g->found.rows[k], before = left;

			if (hit.start_ns < left.start_ns)
				hit.start_ns = left.start_ns;
			if (hit.end_ns > left.end_ns)
				hit.end_ns = left.end_ns;
			hit.leaf = cause->leaf;
			hit.grade = cause->grade;
			before.end_ns = hit.start_ns;
			span_add(&g->rest, &before);
			span_add(&g->host, &hit);
			left.start_ns = hit.end_ns;
		}
		span_add(&g->rest, &left);
	}
	swap = g->left;
	g->left = g->rest;
	g->rest = swap;
}

static int cmp_span(const void *pa, const void *pb)
{
	const struct span *x = pa, *y = pb;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int emit(struct wt_slices *ret, int64_t start_ns, int64_t end_ns,
		const struct wt_slice *like)
{
	struct wt_slice slice = *like;

	slice.start_ns = start_ns;
	slice.end_ns = end_ns;
	return wt_slices_add(ret, &slice);
}

static int cut_host(struct wt_gaps *g, const struct host_part *h, const struct wt_slice *like,
		    struct wt_slices *ret)
{
	int err = 0;

	g->host.n = g->left.n = 0;
	span_add(&g->left, &(struct span){.start_ns = h->start_ns, .end_ns = h->end_ns});
	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]) && g->left.n; i++) {
		g->found.n = 0;
		if (!causes[i].find)
			continue;
		causes[i].find(g, h);
		if (g->found.n)
			take_found(g, &causes[i]);
	}
	for (size_t i = 0; i < g->left.n; i++) {
		g->left.rows[i].leaf = WT_D8;
		g->left.rows[i].grade = 2;
		g->left.rows[i].call = like->call;
		span_add(&g->host, &g->left.rows[i]);
	}
	if (g->host.failed || g->found.failed || g->left.failed || g->rest.failed)
		return -WT_E_NOMEM;
	if (g->host.n > 1)
		qsort(g->host.rows, g->host.n, sizeof(*g->host.rows), cmp_span);
	for (size_t i = 0; !err && i < g->host.n; i++) {
		struct wt_slice slice = *like;

		slice.leaf = g->host.rows[i].leaf;
		slice.grade = g->host.rows[i].grade;
		slice.call = g->host.rows[i].call;
		err = emit(ret, g->host.rows[i].start_ns, g->host.rows[i].end_ns, &slice);
	}
	return err;
}

/* [start, end) is not the host's fault: a blind spot while somebody waited for unrecorded work, else unresolved. */
static int cut_rest(struct wt_gaps *g, uint16_t process, int64_t start_ns, int64_t end_ns,
		    const struct wt_slice *like, struct wt_slices *ret)
{
	const struct wt_call_index *x = &g->calls.blocking;
	size_t at = wt_host_at(&g->calls, x, process, end_ns);
	struct wt_slice slice = *like;
	int err = 0;

	g->found.n = 0;
	for (int n = 0;
	     n < WT_HOST_NESTING && at > x->first[process] && x->reach_ns[at - 1] > start_ns; n++) {
		const struct wt_call *c = &g->tl->calls[x->calls[--at]];
		struct span span = {.start_ns = c->start_ns > start_ns ? c->start_ns : start_ns,
				    .end_ns = c->end_ns < end_ns ? c->end_ns : end_ns,
				    .call = (int32_t)x->calls[at]};

		if (span.end_ns - span.start_ns > BLIND_NS && can_be_unrecorded(g, span.call))
			span_add(&g->found, &span);
	}
	if (g->found.failed)
		return -WT_E_NOMEM;
	if (g->found.n > 1)
		qsort(g->found.rows, g->found.n, sizeof(*g->found.rows), cmp_span);
	slice.leaf = WT_E2;
	slice.grade = 2;
	for (size_t i = 0; !err && i < g->found.n; i++) {
		const struct span *f = &g->found.rows[i];
		int64_t from_ns = f->start_ns > start_ns ? f->start_ns : start_ns;

		if (f->end_ns <= start_ns)
			continue;
		err = emit(ret, start_ns, from_ns, like);
		slice.call = f->call;
		err = err ? err : emit(ret, from_ns, f->end_ns, &slice);
		start_ns = f->end_ns;
	}
	return err ? err : emit(ret, start_ns, end_ns, like);
}

/* Of the operations that start when the gap ends, the one launched first; the first of them if none has a launch. */
static uint32_t ender_of(const struct wt_timeline *tl, const struct wt_gap *gap)
{
	uint32_t best = gap->op;

	for (size_t i = gap->op; i < tl->nops && tl->ops[i].device == tl->ops[gap->op].device &&
				 tl->ops[i].start_ns == gap->end_ns;
	     i++) {
		const struct wt_op *op = &tl->ops[i];

		if (op->call < 0 || op->flags & WT_OP_UNTIMED)
			continue;
		if (tl->ops[best].call < 0 ||
		    tl->calls[op->call].start_ns < tl->calls[tl->ops[best].call].start_ns)
			best = (uint32_t)i;
	}
	return best;
}

static int cmp_ns(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return (a > b) - (a < b);
}

int64_t wt_gaps_launch_delay_ns(const struct wt_gaps *g, const struct wt_gap *gap)
{
	int32_t call = g->tl->ops[ender_of(g->tl, gap)].call;
	int64_t a0 = call < 0 ? INT64_MIN : g->tl->calls[call].start_ns;

	return a0 > gap->start_ns && a0 < gap->end_ns ? gap->end_ns - a0 : 0;
}

int64_t wt_gaps_launch_cap_ns(int64_t *delays, size_t n)
{
	int64_t cap_ns = CAP_NS;

	if (!n)
		return cap_ns;
	qsort(delays, n, sizeof(*delays), cmp_ns);
	return delays[(n - 1) / 2] * 4 > cap_ns ? delays[(n - 1) / 2] * 4 : cap_ns;
}

/* The first launch of a kernel, taking far longer than launches do: the driver was loading it. */
static int loads(const struct wt_gaps *g, const struct wt_op *op)
{
	const struct wt_call *c = &g->tl->calls[op->call];

	return op->kind == WT_OP_KERNEL && c->kind == WT_CALL_LAUNCH &&
	       g->calls.is_first_launch[op->call] &&
	       (c->end_ns - c->start_ns) / LOAD_FACTOR > g->calls.launch_ns;
}

/* The part of a gap after the launch of O began. */
static int cut_queue(struct wt_gaps *g, const struct wt_gap *gap, int64_t cap_ns,
		     const struct wt_slice *like, struct wt_slices *ret)
{
	const struct wt_timeline *tl = g->tl;
	const struct wt_op *op = &tl->ops[like->op];
	const struct wt_call *call = &tl->calls[op->call];
	int64_t a0 = call->start_ns, q_ns = gap->start_ns, launched_ns, returned_ns = call->end_ns;
	struct wt_slice slice = *like;
	int inside_graph =
		call->kind == WT_CALL_GRAPH_LAUNCH && g->calls.first_op_ns[op->call] < gap->end_ns;
	int err;

	if (a0 > q_ns)
		q_ns = a0;
	else if (gap->end_ns - q_ns <= FLOOR_NS) {
		slice.leaf = WT_D10;
		return emit(ret, q_ns, gap->end_ns, &slice);
	}
	if (inside_graph) {
		slice.leaf = WT_D11;
		slice.why = WT_WHY_GRAPH_NODE;
		return emit(ret, q_ns, gap->end_ns, &slice);
	}
	launched_ns = a0 > INT64_MAX - cap_ns ? INT64_MAX : a0 + cap_ns;
	launched_ns = launched_ns < q_ns	  ? q_ns
		      : launched_ns > gap->end_ns ? gap->end_ns
						  : launched_ns;
	slice.leaf = WT_D9;
	err = emit(ret, q_ns, launched_ns, &slice);
	returned_ns = returned_ns < launched_ns	  ? launched_ns
		      : returned_ns > gap->end_ns ? gap->end_ns
						  : returned_ns;
	if (!err && loads(g, op)) {
		slice.leaf = WT_D2;
		slice.why = WT_WHY_FIRST_LAUNCH;
		err = emit(ret, launched_ns, returned_ns, &slice);
		launched_ns = returned_ns;
	} else if (!err) {
		/* Nothing says that it was queued before its call returned. */
		slice.leaf = WT_D8;
		slice.why = WT_WHY_LAUNCHING;
		err = cut_rest(g, op->process, launched_ns, returned_ns, &slice, ret);
		launched_ns = returned_ns;
	}
	slice.leaf = WT_D14;
	slice.why = WT_WHY_QUEUED;
	return err ? err : cut_rest(g, op->process, launched_ns, gap->end_ns, &slice, ret);
}

/* Emits the time before the launching process was there, another process's or nobody's; *ret_start: what follows it. */
static int cut_before_process(const struct wt_gaps *g, const struct wt_gap *gap,
			      const struct wt_slice *like, struct wt_slices *ret,
			      int64_t *ret_start_ns)
{
	const struct wt_call *launch = &g->tl->calls[like->call];
	int64_t born_ns = g->tl->processes[launch->process].collect_start_ns;
	struct wt_slice slice = *like;

	if (born_ns > launch->start_ns)
		born_ns = launch->start_ns;
	if (born_ns > gap->end_ns)
		born_ns = gap->end_ns;
	*ret_start_ns = born_ns > gap->start_ns ? born_ns : gap->start_ns;
	slice.call = -1;
	slice.why = WT_WHY_NO_PROCESS;
	return emit(ret, gap->start_ns, *ret_start_ns, &slice);
}

int wt_gap_cut(struct wt_gaps *g, const struct wt_gap *whole, int64_t launch_cap_ns,
	       struct wt_slices *ret)
{
	const struct wt_timeline *tl = g->tl;
	struct wt_slice slice = {.op = NO_OP, .call = -1, .leaf = WT_D14, .grade = 2};
	struct wt_gap part = *whole;
	const struct wt_gap *gap = &part;
	struct host_part h;
	int err;

	if (gap->op == NO_OP) {
		slice.why = WT_WHY_BEFORE_HOLE;
		return emit(ret, gap->start_ns, gap->end_ns, &slice);
	}
	slice.op = ender_of(tl, gap);
	slice.call = tl->ops[slice.op].call;
	if (slice.call < 0) {
		slice.why = WT_WHY_NO_LAUNCH_RECORD;
		return cut_rest(g, tl->ops[slice.op].process, gap->start_ns, gap->end_ns, &slice,
				ret);
	}
	err = cut_before_process(g, whole, &slice, ret, &part.start_ns);
	if (err || part.start_ns == part.end_ns)
		return err;
	h.launch = &tl->calls[slice.call];
	h.start_ns = gap->start_ns;
	h.end_ns = h.launch->start_ns < gap->end_ns ? h.launch->start_ns : gap->end_ns;
	if (h.launch->start_ns <= gap->start_ns)
		return cut_queue(g, gap, launch_cap_ns, &slice, ret);
	err = cut_host(g, &h, &slice, ret);
	if (err || h.end_ns == gap->end_ns)
		return err;
	return cut_queue(g, gap, launch_cap_ns, &slice, ret);
}
