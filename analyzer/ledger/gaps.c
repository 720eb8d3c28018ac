/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See gaps.h. A gap [s, e) on a device ends when O starts, which thread T launched by the call [a0, a1).
 *
 *  a0 > s   the queue was empty. [s, a0) is the host's: cut by what T was doing (causes.def), the rest is D8. Then the
 *           launch takes its time: D9, up to a cap.
 *  a0 <= s  O was queued already: D10 up to a floor; just launched: D9 up to the same cap after a0.
 *           A first launch that goes on for far longer than launches do was loading its kernel: D2.
 *  beyond   O was queued and did not start: D11 as long as its stream is known to have waited for work on another
 *           device or for a function of the host (what is left after that work: D10 up to the floor); E2 while a host
 *           thread sat in a blocking call that can have waited for work without records, E4 if it was one of another
 *           process on the device, between nodes of one graph D11, else D14. E2 also follows a graph launched in the
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

#include "base/median.h"
#include "ledger/gaps_impl.h"
#include "ledger/sweep.h"

#define FLOOR_NS    5000  /* between queued kernels */
#define CAP_NS	    20000 /* least cap of launch latency */
#define LOAD_FACTOR 10	  /* longer than the median launch: it loads its kernel */
#define NO_OP	    UINT32_MAX

static int cmp_user(const void *pa, const void *pb)
{
	const struct wt_stream *x = pa, *y = pb;

	return x->device != y->device ? x->device - y->device : x->process - y->process;
}

/* The processes of each device. */
static int list_users(struct wt_gaps *g)
{
	const struct wt_timeline *tl = g->tl;
	struct wt_stream *by = malloc((tl->nstreams + 1) * sizeof(*by));
	size_t n = 0;

	g->users = malloc((tl->nstreams + 1) * sizeof(*g->users));
	g->user_first = calloc(tl->ndevices + 2, sizeof(*g->user_first));
	if (!by || !g->users || !g->user_first) {
		free(by);
		return -WT_E_NOMEM;
	}
	if (tl->nstreams) {
		memcpy(by, tl->streams, tl->nstreams * sizeof(*by));
		qsort(by, tl->nstreams, sizeof(*by), cmp_user);
	}
	for (size_t i = 0; i < tl->nstreams; i++) {
		if (i && !cmp_user(&by[i - 1], &by[i]))
			continue;
		g->users[n++] = by[i].process;
		g->user_first[by[i].device + 1] = n;
	}
	for (size_t i = 0; i < tl->ndevices; i++)
		if (g->user_first[i + 1] < g->user_first[i])
			g->user_first[i + 1] = g->user_first[i];
	free(by);
	return 0;
}

/* Where each process's calls begin; they are sorted by process. */
static int list_calls(struct wt_gaps *g)
{
	const struct wt_timeline *tl = g->tl;

	g->takes = calloc(tl->nprocesses + 1, 1);
	g->call_first = calloc(tl->nprocesses + 1, sizeof(*g->call_first));
	if (!g->takes || !g->call_first)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < tl->ncalls; i++)
		g->call_first[tl->calls[i].process + 1] = (uint32_t)i + 1;
	for (size_t p = 0; p < tl->nprocesses; p++)
		if (g->call_first[p + 1] < g->call_first[p])
			g->call_first[p + 1] = g->call_first[p];
	return 0;
}

int wt_gaps_device(struct wt_gaps *g, uint16_t device)
{
	struct wt_host *h = &g->calls;
	int others = 0;

	for (size_t i = g->user_first[device]; i < g->user_first[device + 1]; i++)
		others |= !g->takes[g->users[i]];
	if (h->tl && !others)
		return 0;
	wt_host_release(h);
	*h = (struct wt_host){.tl = g->tl, .takes = g->takes, .from = UINT32_MAX};
	memset(g->takes, 0, g->tl->nprocesses);
	for (size_t i = g->user_first[device]; i < g->user_first[device + 1]; i++) {
		uint16_t p = g->users[i];

		g->takes[p] = 1;
		h->from = g->call_first[p] < h->from ? g->call_first[p] : h->from;
		h->to = g->call_first[p + 1] > h->to ? g->call_first[p + 1] : h->to;
	}
	if (h->from > h->to)
		h->from = h->to;
	return wt_host_init(h);
}

struct wt_gaps *wt_gaps_new(const struct wt_timeline *tl)
{
	struct wt_gaps *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->tl = tl;
	if (wt_ranges_init(&g->ranges, tl) || wt_depends_init(&g->depends, tl) || list_users(g) ||
	    list_calls(g)) {
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
	wt_depends_release(&g->depends);
	free(g->takes);
	free(g->call_first);
	free(g->users);
	free(g->user_first);
	free(g->host.rows);
	free(g->found.rows);
	free(g->left.rows);
	free(g->rest.rows);
	free(g);
}

/* Gives what was found, as far as it is left, to a cause. Both lists are in order and free of overlaps. */
static void take_found(struct wt_gaps *g, const struct wt_cause *cause)
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
			wt_span_add(&g->rest, &before);
			wt_span_add(&g->host, &hit);
			left.start_ns = hit.end_ns;
		}
		wt_span_add(&g->rest, &left);
	}
	swap = g->left;
	g->left = g->rest;
	g->rest = swap;
}

static int emit(struct wt_slices *ret, int64_t start_ns, int64_t end_ns,
		const struct wt_slice *like)
{
	struct wt_slice slice = *like;

	slice.start_ns = start_ns;
	slice.end_ns = end_ns;
	return wt_slices_add(ret, &slice);
}

/* What found a cause, and the rest with the leaf and grade given, in the order of time. */
static int emit_found(struct wt_gaps *g, uint8_t leaf, uint8_t grade, const struct wt_slice *like,
		      struct wt_slices *ret)
{
	int err = 0;

	for (size_t i = 0; i < g->left.n; i++) {
		g->left.rows[i].leaf = leaf;
		g->left.rows[i].grade = grade;
		g->left.rows[i].call = like->call;
		wt_span_add(&g->host, &g->left.rows[i]);
	}
	if (g->host.failed || g->found.failed || g->left.failed || g->rest.failed)
		return -WT_E_NOMEM;
	if (g->host.n > 1)
		qsort(g->host.rows, g->host.n, sizeof(*g->host.rows), wt_span_cmp);
	for (size_t i = 0; !err && i < g->host.n; i++) {
		struct wt_slice slice = *like;

		slice.leaf = g->host.rows[i].leaf;
		slice.grade = g->host.rows[i].grade;
		slice.call = g->host.rows[i].call;
		err = emit(ret, g->host.rows[i].start_ns, g->host.rows[i].end_ns, &slice);
	}
	return err;
}

static int cut_host(struct wt_gaps *g, const struct host_part *h, const struct wt_slice *like,
		    struct wt_slices *ret)
{
	g->host.n = g->left.n = 0;
	wt_span_add(&g->left, &(struct span){.start_ns = h->start_ns, .end_ns = h->end_ns});
	for (size_t i = 0; i < WT_CAUSES && g->left.n; i++) {
		g->found.n = 0;
		if (!wt_causes[i].find)
			continue;
		wt_causes[i].find(g, h);
		if (g->found.n)
			take_found(g, &wt_causes[i]);
	}
	return emit_found(g, WT_D8, 2, like, ret);
}

/*
 * [start, end) is not the host's fault: a blind spot while somebody waited for unrecorded work, another process's while
 * one that uses the same device did, else unresolved.
 */
static int cut_rest(struct wt_gaps *g, uint16_t process, int64_t start_ns, int64_t end_ns,
		    const struct wt_slice *like, struct wt_slices *ret)
{
	static const struct wt_cause own = {WT_E2, 2, NULL}, other = {WT_E4, 2, NULL};
	uint16_t device = g->tl->ops[like->op].device;

	g->host.n = g->left.n = 0;
	wt_span_add(&g->left, &(struct span){.start_ns = start_ns, .end_ns = end_ns});
	wt_gaps_blind(g, process, start_ns, end_ns);
	take_found(g, &own);
	for (size_t i = g->user_first[device]; i < g->user_first[device + 1] && g->left.n; i++) {
		if (g->users[i] == process)
			continue;
		wt_gaps_blind(g, g->users[i], start_ns, end_ns);
		take_found(g, &other);
	}
	return emit_found(g, like->leaf, like->grade, like, ret);
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

int64_t wt_gaps_launch_delay_ns(const struct wt_gaps *g, const struct wt_gap *gap)
{
	int32_t call = g->tl->ops[ender_of(g->tl, gap)].call;
	int64_t a0 = call < 0 ? INT64_MIN : g->tl->calls[call].start_ns;

	return a0 > gap->start_ns && a0 < gap->end_ns ? gap->end_ns - a0 : 0;
}

int64_t wt_gaps_launch_cap_ns(int64_t *delays, size_t n)
{
	int64_t cap_ns = CAP_NS, median_ns;

	if (!n)
		return cap_ns;
	median_ns = wt_median_ns(delays, n);
	return median_ns * 4 > cap_ns ? median_ns * 4 : cap_ns;
}

/* The first launch of a kernel, taking far longer than launches do: the driver was loading it. */
static int loads(const struct wt_gaps *g, const struct wt_op *op)
{
	const struct wt_call *c = &g->tl->calls[op->call];

	return op->kind == WT_OP_KERNEL && c->kind == WT_CALL_LAUNCH &&
	       g->calls.is_first_launch[(uint32_t)op->call - g->calls.from] &&
	       (c->end_ns - c->start_ns) / LOAD_FACTOR > g->calls.launch_ns;
}

/* What of [*from, end of the gap) O's stream is known to have waited for something else; *from: what follows that. */
static int cut_waited(const struct wt_gaps *g, const struct wt_gap *gap, int64_t *from_ns,
		      const struct wt_slice *like, struct wt_slices *ret)
{
	struct wt_slice slice = *like;
	uint8_t why;
	int64_t until_ns = wt_depends_until(&g->depends, like->op, gap, &why);
	int err;

	if (until_ns <= *from_ns)
		return 0;
	slice.leaf = WT_D11;
	slice.why = why;
	err = emit(ret, *from_ns, until_ns, &slice);
	*from_ns = until_ns;
	if (err || gap->end_ns - until_ns > FLOOR_NS)
		return err;
	slice.leaf = WT_D10;
	slice.why = WT_WHY_NONE;
	*from_ns = gap->end_ns;
	return emit(ret, until_ns, gap->end_ns, &slice);
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
	int inside_graph = call->kind == WT_CALL_GRAPH_LAUNCH &&
			   g->calls.first_op_ns[(uint32_t)op->call - g->calls.from] < gap->end_ns;
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
	err = err ? err : cut_waited(g, gap, &launched_ns, like, ret);
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
	h.at = wt_host_at(&g->calls, &g->calls.by_thread, h.launch->thread, h.start_ns);
	h.wait = wt_gaps_wait_at(g, &h);
	err = cut_host(g, &h, &slice, ret);
	if (err || h.end_ns == gap->end_ns)
		return err;
	return cut_queue(g, gap, launch_cap_ns, &slice, ret);
}
