/* SPDX-License-Identifier: Apache-2.0 */
/* See host.h. Calls come sorted by (process, thread, start); groups by process are sorted again. */
#include "ledger/host.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/median.h"
#include "base/sort_rows.h"

static int is_work(const struct wt_call *c)
{
	return !(c->flags & (WT_CALL_CAPTURED | WT_CALL_FAILED)) &&
	       (c->kind == WT_CALL_LAUNCH || c->kind == WT_CALL_GRAPH_LAUNCH ||
		c->kind == WT_CALL_COPY || c->kind == WT_CALL_MEMSET);
}

/* What a call is: which indices have it. */
enum { IS_CALL = 1, IS_BLOCKING = 2, IS_SYNC = 4, IS_UNMATCHED = 8 };

/* By contract, or because its copy was over when it returned: async copies of pageable memory wait as well. */
static int is_blocking(const struct wt_host *h, uint32_t i)
{
	const struct wt_call *c = &h->tl->calls[i];

	if (c->flags & (WT_CALL_FAILED | WT_CALL_CAPTURED))
		return 0;
	if (c->kind == WT_CALL_SYNC || c->flags & WT_CALL_BLOCKING)
		return 1;
	return c->kind == WT_CALL_COPY && h->last_op_ns[i - h->from] != INT64_MIN &&
	       h->last_op_ns[i - h->from] <= c->end_ns;
}

static int is_sync(const struct wt_host *h, uint32_t i)
{
	return h->tl->calls[i].kind == WT_CALL_SYNC && !(h->tl->calls[i].flags & WT_CALL_FAILED);
}

/*
 * Work that was issued and has no record. Where records of our own process could not be tied to calls (losses on both
 * sides), a call without one proves nothing: its record may be among the loose ones, and what is known to be missing
 * has its holes.
 */
static int is_unmatched(const struct wt_host *h, uint32_t i)
{
	if (h->loose[h->tl->calls[i].process])
		return 0;
	return is_work(&h->tl->calls[i]) && h->last_op_ns[i - h->from] == INT64_MIN;
}

/* Calls are sorted by (process, thread, start); within a process their starts have to be sorted again. */
static int cmp_start(const void *pa, const void *pb, void *arg)
{
	const struct wt_call *calls = arg;
	uint32_t i = *(const uint32_t *)pa, j = *(const uint32_t *)pb;

	if (calls[i].start_ns != calls[j].start_ns)
		return calls[i].start_ns < calls[j].start_ns ? -1 : 1;
	return (i > j) - (i < j);
}

static int is_of(const struct wt_host *h, uint32_t i)
{
	return h->takes[h->tl->calls[i].process];
}

/* For each call from h->from on; NULL without memory. */
static uint8_t *say_what(const struct wt_host *h)
{
	uint8_t *what = calloc(h->to - h->from + 1, 1);

	for (uint32_t i = h->from; what && i < h->to; i++) {
		int is_call = h->tl->calls[i].kind != WT_CALL_MARK;

		if (!is_of(h, i))
			continue;
		what[i - h->from] =
			(uint8_t)((is_call ? IS_CALL : 0) | (is_blocking(h, i) ? IS_BLOCKING : 0) |
				  (is_sync(h, i) ? IS_SYNC : 0) |
				  (is_unmatched(h, i) ? IS_UNMATCHED : 0));
	}
	return what;
}

static int fill_index(const struct wt_host *h, struct wt_call_index *x, int by_thread,
		      const uint8_t *what, uint8_t wanted)
{
	const struct wt_timeline *tl = h->tl;
	size_t *at = calloc(x->ngroups + 1, sizeof(*at));

	if (!at)
		return -WT_E_NOMEM;
	for (uint32_t i = h->from; i < h->to; i++)
		if (what[i - h->from] & wanted)
			x->first[(by_thread ? tl->calls[i].thread : tl->calls[i].process) + 1]++;
	for (size_t i = 0; i < x->ngroups; i++) {
		x->first[i + 1] += x->first[i];
		at[i] = x->first[i];
	}
	x->calls = malloc((x->first[x->ngroups] + 1) * sizeof(*x->calls));
	x->reach_ns = malloc((x->first[x->ngroups] + 1) * sizeof(*x->reach_ns));
	for (uint32_t i = h->from; x->calls && i < h->to; i++)
		if (what[i - h->from] & wanted)
			x->calls[at[by_thread ? tl->calls[i].thread : tl->calls[i].process]++] = i;
	free(at);
	return x->calls && x->reach_ns ? 0 : -WT_E_NOMEM;
}

static int build_index(const struct wt_host *h, struct wt_call_index *x, int by_thread,
		       const uint8_t *what, uint8_t wanted)
{
	struct wt_call *calls = h->tl->calls;

	x->ngroups = by_thread ? h->tl->nthreads : h->tl->nprocesses;
	x->first = calloc(x->ngroups + 1, sizeof(*x->first));
	if (!x->first || fill_index(h, x, by_thread, what, wanted))
		return -WT_E_NOMEM;
	for (size_t k = 0; k < x->ngroups; k++) {
		size_t first = x->first[k], n = x->first[k + 1] - first;
		int64_t reach_ns = INT64_MIN;

		if (!by_thread && n)
			wt_sort_rows(x->calls + first, n, sizeof(*x->calls), cmp_start, calls);
		for (size_t i = first; i < first + n; i++) {
			if (calls[x->calls[i]].end_ns > reach_ns)
				reach_ns = calls[x->calls[i]].end_ns;
			x->reach_ns[i] = reach_ns;
		}
	}
	return 0;
}

static void free_index(struct wt_call_index *x)
{
	free(x->calls);
	free(x->reach_ns);
	free(x->first);
}

/* Whether operations of these processes can lie on a device. */
static int uses(const struct wt_host *h, size_t device)
{
	const struct wt_timeline *tl = h->tl;

	for (size_t i = 0; i < tl->nstreams; i++)
		if (tl->streams[i].device == device && h->takes[tl->streams[i].process])
			return 1;
	return 0;
}

static void match_op(struct wt_host *h, const struct wt_op *op)
{
	size_t i;

	if (op->call < 0) {
		h->loose[op->process] |= h->tl->processes[op->process].level >= 0;
		return;
	}
	i = (size_t)op->call - h->from;
	if (op->start_ns < h->first_op_ns[i])
		h->first_op_ns[i] = op->start_ns;
	if (op->end_ns > h->last_op_ns[i])
		h->last_op_ns[i] = op->end_ns;
}

/* An operation of one of these processes, whose call, if it has one, is among theirs. */
static int takes_op(const struct wt_host *h, const struct wt_op *op)
{
	return h->takes[op->process] &&
	       (op->call < 0 || ((uint32_t)op->call >= h->from && (uint32_t)op->call < h->to));
}

/* Whether another call than the operation's can bear its correlation: not as a rule, which spares a table of them. */
static int may_be_shared(const struct wt_timeline *tl, const struct wt_op *op)
{
	return !tl->correlates_once || tl->calls[op->call].correlation != op->correlation;
}

/* When each call's operations ran. A driver call in a runtime call can bear the same correlation: they are its too. */
static int match_ops(struct wt_host *h)
{
	const struct wt_timeline *tl = h->tl;
	struct wt_map winners = {.count = 0};
	uint32_t winner;

	h->first_op_ns = malloc((h->to - h->from + 1) * sizeof(*h->first_op_ns));
	h->last_op_ns = malloc((h->to - h->from + 1) * sizeof(*h->last_op_ns));
	h->loose = calloc(tl->nprocesses + 1, 1);
	if (!h->first_op_ns || !h->last_op_ns || !h->loose)
		return -WT_E_NOMEM;
	for (uint32_t i = 0; i < h->to - h->from; i++) {
		h->first_op_ns[i] = INT64_MAX;
		h->last_op_ns[i] = INT64_MIN;
	}
#define KEY(row_) ((row_)->correlation ^ wt_mix64((row_)->process + 1u))
	for (size_t d = 0; d < tl->ndevices; d++) {
		for (size_t i = uses(h, d) ? tl->device_first[d] : tl->device_first[d + 1];
		     i < tl->device_first[d + 1]; i++) {
			const struct wt_op *op = &tl->ops[i];

			if (!takes_op(h, op))
				continue;
			match_op(h, op);
			if (op->call >= 0 && op->correlation && may_be_shared(tl, op) &&
			    wt_map_put(&winners, KEY(op), (uint32_t)op->call))
				break;
		}
	}
	for (uint32_t i = h->from; i < h->to; i++) {
		const struct wt_call *c = &tl->calls[i];

		if (is_of(h, i) && h->last_op_ns[i - h->from] == INT64_MIN && c->correlation &&
		    wt_map_get(&winners, KEY(c), &winner)) {
			h->first_op_ns[i - h->from] = h->first_op_ns[winner - h->from];
			h->last_op_ns[i - h->from] = h->last_op_ns[winner - h->from];
		}
	}
#undef KEY
	wt_map_release(&winners);
	return 0;
}

/* Of the launches of one kernel in one process the earliest. */
static int add_first_launch(struct wt_host *h, struct wt_map *firsts, const struct wt_op *op)
{
	const struct wt_call *calls = h->tl->calls;
	int isnew;
	uint32_t *first = wt_map_slot(firsts, (uint64_t)op->process << 32 | op->name,
				      (uint32_t)op->call, &isnew);

	if (!first)
		return -WT_E_NOMEM;
	if (isnew || calls[op->call].start_ns < calls[*first].start_ns) {
		h->is_first_launch[*first - h->from] = 0;
		h->is_first_launch[(uint32_t)op->call - h->from] = 1;
		*first = (uint32_t)op->call;
	}
	return 0;
}

/* Each process loads a kernel itself, at its first launch. */
static int find_first_launches(struct wt_host *h)
{
	const struct wt_timeline *tl = h->tl;
	struct wt_map firsts = {.count = 0};
	int err = 0;

	h->is_first_launch = calloc(h->to - h->from + 1, 1);
	if (!h->is_first_launch)
		return -WT_E_NOMEM;
	for (size_t d = 0; d < tl->ndevices; d++) {
		for (size_t i = uses(h, d) ? tl->device_first[d] : tl->device_first[d + 1];
		     !err && i < tl->device_first[d + 1]; i++)
			if (tl->ops[i].kind == WT_OP_KERNEL && tl->ops[i].call >= 0 &&
			    takes_op(h, &tl->ops[i]))
				err = add_first_launch(h, &firsts, &tl->ops[i]);
	}
	wt_map_release(&firsts);
	return err;
}

/* How long launches take here. */
static int learn_launches(struct wt_host *h)
{
	const struct wt_timeline *tl = h->tl;
	int64_t *took_ns = malloc((h->to - h->from + 1) * sizeof(*took_ns));
	size_t n = 0;

	if (!took_ns)
		return -WT_E_NOMEM;
	for (uint32_t i = h->from; i < h->to; i++)
		if (is_of(h, i) && tl->calls[i].kind == WT_CALL_LAUNCH)
			took_ns[n++] = tl->calls[i].end_ns - tl->calls[i].start_ns;
	if (n)
		h->launch_ns = wt_median_ns(took_ns, n);
	free(took_ns);
	return 0;
}

int wt_host_init(struct wt_host *h)
{
	uint8_t *what;
	int err;

	if (match_ops(h) || learn_launches(h) || find_first_launches(h))
		return -WT_E_NOMEM;
	what = say_what(h);
	err = !what || build_index(h, &h->by_thread, 1, what, IS_CALL) ||
	      build_index(h, &h->blocking_thread, 1, what, IS_BLOCKING) ||
	      build_index(h, &h->blocking, 0, what, IS_BLOCKING) ||
	      build_index(h, &h->syncs, 0, what, IS_SYNC) ||
	      build_index(h, &h->unmatched, 0, what, IS_UNMATCHED);
	free(what);
	return err ? -WT_E_NOMEM : 0;
}

void wt_host_release(struct wt_host *h)
{
	free_index(&h->by_thread);
	free_index(&h->blocking_thread);
	free_index(&h->blocking);
	free_index(&h->syncs);
	free_index(&h->unmatched);
	free(h->loose);
	free(h->first_op_ns);
	free(h->last_op_ns);
	free(h->is_first_launch);
}

size_t wt_host_at(const struct wt_host *h, const struct wt_call_index *x, size_t group,
		  int64_t t_ns)
{
	size_t lo = x->first[group], hi = x->first[group + 1];

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (h->tl->calls[x->calls[mid]].start_ns < t_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int32_t wt_host_reaching(const struct wt_host *h, const struct wt_call_index *x, size_t group,
			 int64_t t_ns, int64_t limit_ns)
{
	size_t at = wt_host_at(h, x, group, t_ns);
	int32_t best = -1;

	for (int n = 0; n < WT_HOST_NESTING && at > x->first[group] && x->reach_ns[at - 1] >= t_ns;
	     n++) {
		int64_t end_ns = h->tl->calls[x->calls[--at]].end_ns;

		if (end_ns >= t_ns && end_ns <= limit_ns &&
		    (best < 0 || end_ns > h->tl->calls[best].end_ns))
			best = (int32_t)x->calls[at];
	}
	return best;
}
