/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that carry events -> rows of struct wt_trace. Columns are checked for equal length, differences are summed,
 * nothing else is believed or interpreted here.
 */
#include "trace/trace.h"

#define AT(m_, col_, i_) ((m_)->n_##col_ ? (m_)->col_[i_] : 0)

/* Steps of a column of differences; wraps like the writer's arithmetic, never undefined. */
static uint64_t step(uint64_t sum, int64_t d)
{
	return sum + (uint64_t)d;
}

void wt_trace_load_calls(struct wt_trace *t, const Warptap__V1__HostCalls *m)
{
	const size_t len[] = {m->n_start_gap,	m->n_dur,    m->n_op,	 m->n_context,
			      m->n_stream,	m->n_object, m->n_shape, m->n_bytes,
			      m->n_parent_back, m->n_status, m->n_flags, m->n_stack};
	size_t n = wt_trace_columns(t, len, sizeof(len) / sizeof(len[0]));
	uint64_t start, end = 0;

	for (size_t i = 0; i < n; i++) {
		struct wt_row *r = wt_vec_add(&t->rows);

		if (!r) {
			t->error = -WT_E_NOMEM;
			return;
		}
		r->thread = m->thread;
		r->ring = m->ring;
		r->seq = m->first_seq + i;
		/* A shift beyond 63 bits would be undefined; no writer uses one beyond a few. */
		start = step(end, AT(m, start_gap, i));
		end = start + AT(m, dur, i);
		r->start_tsc = start << (m->tick_shift & 63);
		r->dur_tsc = (end << (m->tick_shift & 63)) - r->start_tsc;
		r->op = AT(m, op, i);
		r->context = AT(m, context, i);
		r->stream = AT(m, stream, i);
		r->object = AT(m, object, i);
		r->shape = AT(m, shape, i);
		r->bytes = AT(m, bytes, i);
		r->parent_back = AT(m, parent_back, i);
		r->status = AT(m, status, i);
		r->flags = (uint16_t)AT(m, flags, i);
		r->group = r->parent = WT_NO_INDEX;
	}
}

static const struct {
	uint8_t runtime, class_;
	uint16_t first, last;
} cbids[] = {
#define WT_CBID(runtime_, first_, last_, class_)                                                   \
	{runtime_, WT_PB(COUNT_KIND, class_), first_, last_},
#include "trace/cbid.def"
#undef WT_CBID
};

static uint8_t class_of(uint32_t cbid, int runtime)
{
	for (size_t i = 0; i < sizeof(cbids) / sizeof(cbids[0]); i++)
		if (cbids[i].runtime == runtime && cbid >= cbids[i].first && cbid <= cbids[i].last)
			return cbids[i].class_;
	return 0;
}

static uint16_t window_now(const struct wt_trace *t)
{
	return t->windows.n < UINT16_MAX ? (uint16_t)t->windows.n : UINT16_MAX;
}

/* Row 0 of a message has its time, so that the order of a window has a place to begin. */
static void add_anchor(struct wt_trace *t, const Warptap__V1__ApiRecords *m, uint64_t correlation)
{
	struct wt_anchor *a;

	if (!m->first_ns || m->first_dur >= INT64_MAX / 4 || m->first_ns >= INT64_MAX / 4)
		return;
	a = wt_vec_add(&t->anchors);
	if (!a) {
		t->error = -WT_E_NOMEM;
		return;
	}
	*a = (struct wt_anchor){correlation, m->first_ns + m->first_dur / 2, m->thread_word,
				window_now(t)};
}

void wt_trace_load_api(struct wt_trace *t, const Warptap__V1__ApiRecords *m)
{
	const size_t len[] = {m->n_correlation_d, m->n_cbid, m->n_runtime};
	size_t n = wt_trace_columns(t, len, sizeof(len) / sizeof(len[0]));
	uint64_t correlation = 0;
	uint32_t last_cbid = 0;
	int last_runtime = -1;
	uint8_t class_ = 0;

	for (size_t i = 0; i < n; i++) {
		struct wt_api *a = wt_vec_add(&t->api);
		uint32_t cbid = AT(m, cbid, i);
		int runtime = AT(m, runtime, i) != 0;

		if (!a) {
			t->error = -WT_E_NOMEM;
			return;
		}
		if (cbid != last_cbid || runtime != last_runtime)
			class_ = class_of(cbid, runtime);
		last_cbid = cbid;
		last_runtime = runtime;
		correlation = step(correlation, AT(m, correlation_d, i));
		a->correlation = correlation;
		a->window = window_now(t);
		if (!i)
			add_anchor(t, m, correlation);
		a->thread_word = m->thread_word;
		a->class_ = class_;
		a->group = a->row = WT_NO_INDEX;
	}
}

void wt_trace_load_overheads(struct wt_trace *t, const Warptap__V1__Overheads *m)
{
	const size_t len[] = {m->n_start_gap, m->n_dur, m->n_kind};
	size_t n = wt_trace_columns(t, len, sizeof(len) / sizeof(len[0]));
	uint64_t end = 0;

	for (size_t i = 0; i < n; i++) {
		struct wt_overhead *o = wt_vec_add(&t->overheads);

		if (!o) {
			t->error = -WT_E_NOMEM;
			return;
		}
		o->start_ns = step(end, AT(m, start_gap, i));
		o->dur_ns = AT(m, dur, i);
		end = o->start_ns + o->dur_ns;
		o->thread_word = m->thread_word;
		o->kind = AT(m, kind, i);
		o->window = window_now(t);
	}
}

/* CUpti_ActivityMemcpyKind -> enum wt_copy_kind */
static const uint8_t copy_kinds[] = {
	[1] = WT_COPY_H2D, [2] = WT_COPY_D2H,  [3] = WT_COPY_H2D, [4] = WT_COPY_D2H,
	[5] = WT_COPY_D2D, [6] = WT_COPY_D2D,  [7] = WT_COPY_D2D, [8] = WT_COPY_D2D,
	[9] = WT_COPY_H2H, [10] = WT_COPY_P2P,
};
#define MEMSET_KIND 100

static struct wt_record *add_record(struct wt_trace *t, uint8_t kind, uint32_t device,
				    uint32_t context)
{
	struct wt_record *r = wt_vec_add(&t->records);

	if (!r) {
		t->error = -WT_E_NOMEM;
		return NULL;
	}
	r->kind = kind;
	r->device = device;
	r->context = context;
	r->group = WT_NO_INDEX;
	r->window = window_now(t);
	return r;
}

void wt_trace_load_kernels(struct wt_trace *t, const Warptap__V1__Kernels *m)
{
	const size_t len[] = {m->n_start_gap, m->n_dur,		  m->n_function,   m->n_stream,
			      m->n_shape,     m->n_correlation_d, m->n_graph_node, m->n_graph,
			      m->n_flags,     m->n_queued_d,	  m->n_submitted_d};
	size_t n = wt_trace_columns(t, len, sizeof(len) / sizeof(len[0]));
	uint64_t end = 0, correlation = 0;

	for (size_t i = 0; i < n; i++) {
		struct wt_record *r = add_record(t, WT_OP_KERNEL, m->device, m->context);

		if (!r)
			return;
		r->start_ns = step(end, AT(m, start_gap, i));
		r->dur_ns = AT(m, dur, i);
		end = r->start_ns + r->dur_ns;
		correlation = step(correlation, AT(m, correlation_d, i));
		r->correlation = correlation;
		r->function = AT(m, function, i);
		r->stream = AT(m, stream, i);
		r->shape = AT(m, shape, i);
		r->node = AT(m, graph_node, i);
		r->graph = AT(m, graph, i);
		r->flags = (uint8_t)AT(m, flags, i);
	}
}

void wt_trace_load_copies(struct wt_trace *t, const Warptap__V1__Copies *m)
{
	const size_t len[] = {m->n_start_gap,	m->n_dur,	    m->n_kind,	     m->n_bytes,
			      m->n_stream,	m->n_correlation_d, m->n_graph_node, m->n_graph,
			      m->n_peer_device, m->n_flags,	    m->n_src_mem,    m->n_dst_mem};
	size_t n = wt_trace_columns(t, len, sizeof(len) / sizeof(len[0]));
	uint64_t end = 0, correlation = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t kind = AT(m, kind, i);
		struct wt_record *r = add_record(t, kind == MEMSET_KIND ? WT_OP_MEMSET : WT_OP_COPY,
						 m->device, m->context);

		if (!r)
			return;
		r->start_ns = step(end, AT(m, start_gap, i));
		r->dur_ns = AT(m, dur, i);
		end = r->start_ns + r->dur_ns;
		correlation = step(correlation, AT(m, correlation_d, i));
		r->correlation = correlation;
		r->bytes = AT(m, bytes, i);
		r->stream = AT(m, stream, i);
		r->node = AT(m, graph_node, i);
		r->graph = AT(m, graph, i);
		r->flags = (uint8_t)AT(m, flags, i);
		r->src = (uint8_t)AT(m, src_mem, i);
		r->dst = (uint8_t)AT(m, dst_mem, i);
		if (kind < sizeof(copy_kinds))
			r->copy_kind = AT(m, peer_device, i) ? WT_COPY_P2P : copy_kinds[kind];
	}
}

void wt_trace_load_graph_runs(struct wt_trace *t, const Warptap__V1__GraphRuns *m)
{
	const size_t len[] = {m->n_start_gap, m->n_dur,		  m->n_graph,
			      m->n_stream,    m->n_correlation_d, m->n_flags};
	size_t n = wt_trace_columns(t, len, sizeof(len) / sizeof(len[0]));
	uint64_t end = 0, correlation = 0;

	for (size_t i = 0; i < n; i++) {
		struct wt_record *r = add_record(t, WT_OP_GRAPH, m->device, m->context);

		if (!r)
			return;
		r->start_ns = step(end, AT(m, start_gap, i));
		r->dur_ns = AT(m, dur, i);
		end = r->start_ns + r->dur_ns;
		correlation = step(correlation, AT(m, correlation_d, i));
		r->correlation = correlation;
		r->graph = AT(m, graph, i);
		r->stream = AT(m, stream, i);
		r->flags = (uint8_t)AT(m, flags, i);
	}
}

void wt_trace_load_collectives(struct wt_trace *t, const Warptap__V1__Collectives *m)
{
	const size_t len[] = {m->n_seq_d,	 m->n_op,     m->n_count,  m->n_dtype,
			      m->n_root_or_peer, m->n_stream, m->n_thread, m->n_ring,
			      m->n_call_seq,	 m->n_group,  m->n_flags,  m->n_redop};
	size_t n = wt_trace_columns(t, len, sizeof(len) / sizeof(len[0]));
	uint64_t seq = 0;

	for (size_t i = 0; i < n; i++) {
		struct wt_coll_row *c = wt_vec_add(&t->collectives);

		if (!c) {
			t->error = -WT_E_NOMEM;
			return;
		}
		seq = step(seq, AT(m, seq_d, i));
		c->comm = m->comm;
		c->seq = seq;
		c->op = AT(m, op, i);
		c->count = AT(m, count, i);
		c->dtype = AT(m, dtype, i);
		c->root_or_peer = AT(m, root_or_peer, i);
		c->stream = AT(m, stream, i);
		c->thread = AT(m, thread, i);
		c->ring = AT(m, ring, i);
		c->call_seq = AT(m, call_seq, i);
		c->group = AT(m, group, i);
		c->flags = AT(m, flags, i);
		c->row = WT_NO_INDEX;
		c->index = -1;
	}
}
