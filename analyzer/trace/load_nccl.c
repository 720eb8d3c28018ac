/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL told the profiler plugin -> the collectives it is about. A plan was made inside an NCCL call: the enclosing
 * row is the collective's own, or the end of its group, in which plan and collective agree in operation and elements,
 * in order among equals. Plans made elsewhere (graphs that NCCL replays, groups it runs on a thread of its own) belong
 * to no call and are left out; so are events whose plan is not known.
 */
#include <inttypes.h>

#include "base/map.h"
#include "trace/trace.h"

#define LOOK_AHEAD	4096 /* of a group; no group of real jobs is as long */
#define AT(column_, i_) (m->n_##column_ ? m->column_[i_] : 0)

void wt_trace_load_nccl(struct wt_trace *t, const Warptap__V1__NcclEvents *m)
{
	const size_t len[] = {m->n_call_seq_d, m->n_what,     m->n_plan,    m->n_op,
			      m->n_algorithm,  m->n_protocol, m->n_channel, m->n_warps,
			      m->n_n,	       m->n_seq,      m->n_peer,    m->n_send,
			      m->n_steps,      m->n_start_ns, m->n_end_ns,  m->n_gpu,
			      m->n_peer_wait,  m->n_net,      m->n_flush};
	size_t n = wt_trace_columns(t, len, sizeof(len) / sizeof(len[0]));
	uint64_t seq = 0;

	for (size_t i = 0; i < n; i++) {
		struct wt_nccl_event *e = wt_vec_add(&t->nccl);

		if (!e) {
			t->error = -WT_E_NOMEM;
			return;
		}
		seq += AT(call_seq_d, i);
		*e = (struct wt_nccl_event){
			.ring = m->ring,
			.seq = seq,
			.what = AT(what, i),
			.plan = AT(plan, i),
			.op = AT(op, i),
			.algorithm = (uint8_t)AT(algorithm, i),
			.protocol = (uint8_t)AT(protocol, i),
			.channel = (uint8_t)AT(channel, i),
			.warps = (uint8_t)AT(warps, i),
			.n = AT(n, i),
			.start_ns = AT(start_ns, i),
			.end_ns = AT(end_ns, i),
			.gpu = AT(gpu, i),
			.peer = AT(peer_wait, i),
			.net = AT(net, i),
			.flush = AT(flush, i),
		};
	}
}

/*
 * The collective that a plan made inside this row is of: the first that agrees and has none yet. `open` has the first
 * without one of each group that was begun; NCCL plans nearly in the order of the calls, so few are looked at.
 */
static struct wt_coll_row *planned(struct wt_trace *t, const struct wt_nccl_event *e,
				   const struct wt_trace_groups *g, uint32_t row,
				   struct wt_map *open)
{
	uint32_t up = t->rows.p[row].parent, k = WT_NO_INDEX;

	if (up == WT_NO_INDEX)
		return NULL;
	if (!wt_map_get(open, up, &k))
		k = g->first[up];
	while (k != WT_NO_INDEX && t->collectives.p[k].planned)
		k = g->next[k];
	if (wt_map_put(open, up, k))
		return NULL;
	for (uint32_t seen = 0; k != WT_NO_INDEX && seen < LOOK_AHEAD; k = g->next[k], seen++) {
		struct wt_coll_row *c = &t->collectives.p[k];

		if (!c->planned && c->op == e->op && c->count == e->n)
			return c;
	}
	return NULL;
}

static int64_t ns_of(const struct wt_trace *t, uint64_t from_tsc, uint64_t ticks)
{
	return wt_clockline_ns(&t->clock, from_tsc + ticks) - wt_clockline_ns(&t->clock, from_tsc);
}

static void add_proxy(struct wt_trace *t, struct wt_coll_row *c, const struct wt_nccl_event *e)
{
	uint32_t row = wt_trace_row(t, e->ring, e->seq);
	uint64_t from;

	if (row == WT_NO_INDEX)
		return;
	from = t->rows.p[row].start_tsc;
	c->proxies++;
	c->proxy_bytes += e->n;
	c->proxy_ns += ns_of(t, from, t->rows.p[row].dur_tsc);
	c->proxy_gpu_ns += ns_of(t, from, e->gpu);
	c->proxy_peer_ns += ns_of(t, from, e->peer);
	c->proxy_net_ns += ns_of(t, from, e->net) + ns_of(t, from, e->flush);
}

/* From the first channel's start to the last one's end. */
static void add_kernel(struct wt_coll_row *c, const struct wt_nccl_event *e)
{
	if (!e->start_ns || e->end_ns < e->start_ns)
		return;
	if (!c->channel_start_ns || e->start_ns < c->channel_start_ns)
		c->channel_start_ns = e->start_ns;
	if (e->end_ns > c->channel_end_ns)
		c->channel_end_ns = e->end_ns;
}

int wt_trace_plans(struct wt_trace *t, const struct wt_trace_groups *g)
{
	struct wt_map of_plan = {.count = 0}, open = {.count = 0};
	uint64_t lost = 0;
	int err = 0;

	for (size_t i = 0; i < t->nccl.n && !err; i++) {
		const struct wt_nccl_event *e = &t->nccl.p[i];
		uint32_t row = e->what == WT_PB(NCCL_WHAT, PLAN) ? wt_trace_row(t, e->ring, e->seq)
								 : WT_NO_INDEX;
		struct wt_coll_row *c = row != WT_NO_INDEX ? planned(t, e, g, row, &open) : NULL;

		if (!c)
			continue;
		c->planned = 1;
		c->algorithm = e->algorithm;
		c->protocol = e->protocol;
		c->channels = e->channel;
		c->warps = e->warps;
		err = wt_map_put(&of_plan, e->plan, (uint32_t)(c - t->collectives.p));
	}
	for (size_t i = 0; i < t->nccl.n && !err; i++) {
		const struct wt_nccl_event *e = &t->nccl.p[i];
		uint32_t k;

		lost += e->what == WT_PB(NCCL_WHAT, LOST) ? e->n : 0;
		if (!wt_map_get(&of_plan, e->plan, &k))
			continue;
		if (e->what == WT_PB(NCCL_WHAT, PROXY))
			add_proxy(t, &t->collectives.p[k], e);
		if (e->what == WT_PB(NCCL_WHAT, KERNEL))
			add_kernel(&t->collectives.p[k], e);
	}
	if (lost && !err)
		wt_builder_note(
			t->b,
			"%" PRIu64
			" events of NCCL's proxies and channels found no room in the agent: "
			"their times are not in the collectives'",
			lost);
	wt_map_release(&of_plan);
	wt_map_release(&open);
	return err;
}
