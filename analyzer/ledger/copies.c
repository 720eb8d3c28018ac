/* SPDX-License-Identifier: Apache-2.0 */
/* Whose time a copy is: see wt_gaps_copy_leaf() in gaps.h. */
#include "ledger/gaps_impl.h"

static enum wt_leaf by_kind(const struct wt_op *op)
{
	static const uint8_t leaf_of[] = {
		[WT_COPY_OTHER] = WT_C4, [WT_COPY_H2D] = WT_C2, [WT_COPY_D2H] = WT_C3,
		[WT_COPY_D2D] = WT_C4,	 [WT_COPY_P2P] = WT_C5, [WT_COPY_H2H] = WT_C4,
	};

	if (op->flags & WT_OP_INPUT)
		return WT_C1;
	return op->kind == WT_OP_COPY && op->copy_kind < sizeof(leaf_of) ? leaf_of[op->copy_kind]
									 : WT_C4;
}

/* 1 if the thread launched a kernel or a graph in [from, to). */
static int launched_between(const struct wt_gaps *g, uint32_t thread, int64_t from_ns,
			    int64_t to_ns)
{
	const struct wt_call_index *x = &g->calls.by_thread;
	size_t at = wt_host_at(&g->calls, x, thread, from_ns);

	for (; at < x->first[thread + 1]; at++) {
		const struct wt_call *c = &g->tl->calls[x->calls[at]];

		if (c->start_ns >= to_ns)
			return 0;
		if (c->kind == WT_CALL_LAUNCH || c->kind == WT_CALL_GRAPH_LAUNCH)
			return 1;
	}
	return 0;
}

enum wt_leaf wt_gaps_copy_leaf(const struct wt_gaps *g, const struct wt_op *op, uint8_t *ret_grade)
{
	const struct wt_call *c = op->call >= 0 ? &g->tl->calls[op->call] : NULL;
	int32_t range;

	*ret_grade = op->kind == WT_OP_KERNEL ? 2 : 3;
	if (!c || op->kind != WT_OP_COPY)
		return by_kind(op);
	if (wt_ranges_at(&g->ranges, c->thread, c->start_ns, WT_KIND_BIT(OFFLOAD)) >= 0)
		return WT_C6;
	if (op->copy_kind != WT_COPY_H2D || !(g->ranges.kinds & WT_KIND_BIT(INPUT)))
		return by_kind(op);
	if (wt_ranges_at(&g->ranges, c->thread, c->start_ns, WT_KIND_BIT(INPUT)) >= 0)
		return WT_C1;
	range = wt_ranges_before(&g->ranges, c->thread, c->start_ns, WT_KIND_BIT(INPUT));
	if (range < 0 || launched_between(g, c->thread, g->tl->ranges[range].end_ns, c->start_ns))
		return by_kind(op);
	*ret_grade = 2;
	return WT_C1;
}
