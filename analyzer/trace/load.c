/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets -> tables of struct wt_trace: everything but the events themselves (load_rows.c). A packet that breaks a rule
 * of the format is counted and left out; an unknown body is skipped, as a newer minor may bring one. Memory is tied to
 * the bytes the file has: a small file that inflates to billions of rows is refused.
 */
#include <string.h>

#include "trace/trace.h"

size_t wt_trace_columns(struct wt_trace *t, const size_t *lengths, size_t n)
{
	size_t rows = 0;

	for (size_t i = 0; i < n; i++) {
		if (!lengths[i])
			continue;
		if (rows && lengths[i] != rows) {
			t->malformed++;
			return 0;
		}
		rows = lengths[i];
	}
	return wt_trace_room(t, rows) ? rows : 0;
}

int wt_trace_room(struct wt_trace *t, size_t rows)
{
	int64_t bytes = t->src ? wt_source_disk_offset(t->src) : 0;

	/* Real rows take several bytes each; eight rows a byte cannot be real. And indices have 32 bits. */
	t->rows_total += rows;
	if (t->rows_total <= (1u << 20) + 8 * (uint64_t)bytes && t->rows_total < INT32_MAX)
		return 1;
	t->error = -WT_E_LIMIT;
	return 0;
}

/* The row of a table for an id: found, or added. NULL when memory runs out. */
#define ROW_FOR(t_, map_, vec_, id_)                                                               \
	({                                                                                         \
		uint32_t *slot_ = wt_map_slot(&(t_)->map_, (id_), WT_NO_INDEX, NULL);              \
		__typeof__((t_)->vec_.p) row_ = NULL;                                              \
		if (slot_ && *slot_ != WT_NO_INDEX) {                                              \
			row_ = &(t_)->vec_.p[*slot_];                                              \
		} else if (slot_) {                                                                \
			*slot_ = (uint32_t)(t_)->vec_.n;                                           \
			row_ = wt_vec_add(&(t_)->vec_);                                            \
		}                                                                                  \
		if (!row_)                                                                         \
			(t_)->error = -WT_E_NOMEM;                                                 \
		row_;                                                                              \
	})
#define AT(m_, col_, i_) ((m_)->n_##col_ ? (m_)->col_[i_] : 0)
#define COLUMNS(t_, ...)                                                                           \
	wt_trace_columns(t_, (const size_t[]){__VA_ARGS__},                                        \
			 sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t))

static void copy16(uint8_t to[16], const ProtobufCBinaryData *from)
{
	memset(to, 0, 16);
	if (from->len)
		memcpy(to, from->data, from->len < 16 ? from->len : 16);
}

static void load_pair(struct wt_trace *t, const char *key, const char *value)
{
	struct wt_kv *kv = wt_vec_add(&t->environment);

	if (!kv) {
		t->error = -WT_E_NOMEM;
		return;
	}
	kv->key = wt_builder_cstring(t->b, key);
	kv->value = wt_builder_cstring(t->b, value);
}

static void load_device(struct wt_trace *t, const Warptap__V1__Device *m)
{
	struct wt_device_row *d = NULL;

	for (size_t i = 0; i < t->devices.n; i++)
		if (t->devices.p[i].id == m->id)
			d = &t->devices.p[i];
	/* CUDA itself ends at 128 devices in a process; the search above must stay short. */
	if (!d && t->devices.n < 1024)
		d = wt_vec_add(&t->devices);
	if (!d)
		return;
	d->id = m->id;
	d->name = wt_builder_cstring(t->b, m->name);
	copy16(d->uuid, m->mig_uuid.len ? &m->mig_uuid : &m->uuid);
	d->sm_count = m->sm_count;
	d->cc = m->cc;
	d->shared = m->shared != 0;
	d->memory_bytes = m->memory_bytes;
}

static void load_header(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Header *m = p->header;

	if (!t->headers++) {
		copy16(t->file_id, &m->file_id);
		t->pid = m->pid;
	}
	t->minor = m->minor;
	t->rank = m->rank;
	t->world = m->world;
	t->clock.hz = m->tsc_hz;
	t->device_clock = (int)m->device_clock;
	t->host = wt_builder_cstring(t->b, m->host);
	t->program = wt_builder_cstring(t->b, m->program);
	for (size_t i = 0; i < m->n_devices; i++)
		load_device(t, m->devices[i]);
	/* every segment repeats them; the newest header counts */
	t->environment.n = 0;
	for (size_t i = 0; i < m->n_environment; i++)
		load_pair(t, m->environment[i]->key, m->environment[i]->value);
	for (size_t i = 0; i < m->n_settings; i++)
		load_pair(t, m->settings[i]->key, m->settings[i]->value);
}

/* Is the other tool's clock the TSC itself? Only asked where one row is all there is. */
static int ticks_like(uint64_t device, uint64_t tsc)
{
	uint64_t off = device > tsc ? device - tsc : tsc - device;

	return off < 1000000;
}

static void load_clocks(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Clocks *m = p->clocks;
	size_t n = COLUMNS(t, m->n_tsc, m->n_monotonic_ns, m->n_realtime_ns, m->n_error_ns,
			   m->n_stepped, m->n_device);

	for (size_t i = 0; i < n; i++) {
		struct wt_clockline_row row = {.tsc = AT(m, tsc, i),
					       .real_ns = (int64_t)AT(m, realtime_ns, i),
					       .mono_ns = (int64_t)AT(m, monotonic_ns, i),
					       .error_ns = AT(m, error_ns, i),
					       .stepped = AT(m, stepped, i) != 0};

		if (wt_clockline_add(&t->clock, &row))
			t->error = -WT_E_NOMEM;
		if (row.tsc > t->last_tsc)
			t->last_tsc = row.tsc;
		if (!AT(m, device, i))
			continue;
		t->foreign.hz = ticks_like(AT(m, device, i), row.tsc) ? t->clock.hz : 1000000000u;
		row.tsc = AT(m, device, i);
		if (wt_clockline_add(&t->foreign, &row))
			t->error = -WT_E_NOMEM;
	}
}

static void load_strings(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Strings *m = p->strings;

	if (!wt_trace_room(t, m->n_text))
		return;
	for (size_t i = 0; i < m->n_text; i++)
		if (wt_map_put(&t->string_ids, m->first_id + i,
			       wt_builder_cstring(t->b, m->text[i])))
			t->error = -WT_E_NOMEM;
}

static void load_functions(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Functions *m = p->functions;
	size_t n = COLUMNS(t, m->n_id, m->n_name, m->n_module, m->n_regs, m->n_static_smem,
			   m->n_local_bytes, m->n_max_threads);

	for (size_t i = 0; i < n; i++) {
		struct wt_function *f = ROW_FOR(t, function_ids, functions, AT(m, id, i));

		if (!f)
			return;
		*f = (struct wt_function){AT(m, name, i),	 AT(m, module, i),
					  AT(m, regs, i),	 AT(m, static_smem, i),
					  AT(m, local_bytes, i), AT(m, max_threads, i)};
	}
}

static void load_shapes(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Shapes *m = p->shapes;
	size_t n = COLUMNS(t, m->n_id, m->n_gx, m->n_gy, m->n_gz, m->n_bx, m->n_by, m->n_bz,
			   m->n_dyn_smem, m->n_cluster, m->n_attrs);

	for (size_t i = 0; i < n; i++) {
		struct wt_shape *s = ROW_FOR(t, shape_ids, shapes, AT(m, id, i));

		if (!s)
			return;
		*s = (struct wt_shape){.grid = {AT(m, gx, i), AT(m, gy, i), AT(m, gz, i)},
				       .block = {AT(m, bx, i), AT(m, by, i), AT(m, bz, i)},
				       .dyn_smem = AT(m, dyn_smem, i)};
	}
}

static void load_gemms(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Gemms *m = p->gemms;
	size_t n = COLUMNS(t, m->n_id, m->n_m, m->n_n, m->n_k, m->n_batch, m->n_type_a, m->n_type_b,
			   m->n_type_c, m->n_compute, m->n_trans, m->n_flags, m->n_epilogue,
			   m->n_work);

	for (size_t i = 0; i < n; i++) {
		struct wt_gemm_row *g = ROW_FOR(t, gemm_ids, gemms, AT(m, id, i));

		if (!g)
			return;
		*g = (struct wt_gemm_row){AT(m, m, i),	    AT(m, n, i),	AT(m, k, i),
					  AT(m, batch, i),  AT(m, type_a, i),	AT(m, type_b, i),
					  AT(m, type_c, i), AT(m, compute, i),	AT(m, trans, i),
					  AT(m, flags, i),  AT(m, epilogue, i), AT(m, work, i)};
	}
}

static void load_counters(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Counters *m = p->counters;
	size_t n = COLUMNS(t, m->n_correlation_d, m->n_graph_node, m->n_sm, m->n_tensor, m->n_dram,
			   m->n_l2, m->n_l1, m->n_pass_ns);
	uint64_t correlation = 0;

	for (size_t i = 0; i < n; i++) {
		struct wt_counter_row *c = wt_vec_add(&t->counters);

		if (!c) {
			t->error = -WT_E_NOMEM;
			return;
		}
		correlation += (uint64_t)AT(m, correlation_d, i);
		*c = (struct wt_counter_row){correlation,  AT(m, graph_node, i), AT(m, pass_ns, i),
					     AT(m, sm, i), AT(m, tensor, i),	 AT(m, dram, i),
					     AT(m, l2, i), AT(m, l1, i)};
	}
}

static void load_contexts(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Contexts *m = p->contexts;
	size_t n = COLUMNS(t, m->n_id, m->n_cupti_id, m->n_device);

	for (size_t i = 0; i < n; i++) {
		struct wt_context_row *c = ROW_FOR(t, context_ids, contexts, AT(m, id, i));

		if (!c)
			return;
		*c = (struct wt_context_row){AT(m, id, i), AT(m, cupti_id, i), AT(m, device, i)};
		if (c->cupti_id && wt_map_put(&t->cupti_contexts, c->cupti_id, c->id))
			t->error = -WT_E_NOMEM;
	}
}

static void load_streams(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Streams *m = p->streams;
	size_t n = COLUMNS(t, m->n_id, m->n_handle, m->n_cupti_id, m->n_context, m->n_device,
			   m->n_flags, m->n_priority, m->n_green_context);

	for (size_t i = 0; i < n; i++) {
		struct wt_stream_row *s = ROW_FOR(t, stream_ids, streams, AT(m, id, i));

		if (!s)
			return;
		*s = (struct wt_stream_row){AT(m, id, i), AT(m, handle, i), AT(m, cupti_id, i),
					    AT(m, context, i), AT(m, device, i)};
	}
}

static void load_threads(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Threads *m = p->threads;
	size_t n = COLUMNS(t, m->n_id, m->n_tid, m->n_pthread, m->n_name);

	for (size_t i = 0; i < n; i++) {
		struct wt_thread_row *r = ROW_FOR(t, thread_ids, threads, AT(m, id, i));

		if (!r)
			return;
		*r = (struct wt_thread_row){AT(m, id, i), AT(m, tid, i), AT(m, pthread, i),
					    AT(m, name, i), WT_NO_INDEX};
	}
}

static uint64_t hash_bytes(const uint8_t *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	h = wt_mix64(h);
	return n ? h | 1 : 0; /* 0 is "not known" */
}

static void load_comms(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Comms *m = p->comms;
	size_t n = COLUMNS(t, m->n_id, m->n_key, m->n_rank, m->n_nranks, m->n_name, m->n_parent,
			   m->n_device);

	for (size_t i = 0; i < n; i++) {
		struct wt_comm_row *c = ROW_FOR(t, comm_ids, comms, AT(m, id, i));

		if (!c)
			return;
		*c = (struct wt_comm_row){AT(m, id, i),
					  m->n_key ? hash_bytes(m->key[i].data, m->key[i].len) : 0,
					  AT(m, name, i), AT(m, rank, i), AT(m, nranks, i)};
	}
}

static void load_ops(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Ops *m = p->ops;
	size_t n = COLUMNS(t, m->n_id, m->n_name, m->n_kind);

	for (size_t i = 0; i < n; i++) {
		struct wt_op_row *o = ROW_FOR(t, op_ids, ops, AT(m, id, i));

		if (!o)
			return;
		*o = (struct wt_op_row){AT(m, name, i), AT(m, kind, i)};
	}
}

static void load_graphs(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Graphs *m = p->graphs;
	size_t n = COLUMNS(t, m->n_node, m->n_kind, m->n_function, m->n_shape, m->n_bytes,
			   m->n_call_seq, m->n_enabled);
	struct wt_exec_row now = {.exec = m->exec, .known = m->complete && !m->has_conditional};
	struct wt_exec_row *e;
	size_t before = t->execs.n;

	for (size_t i = 0; i < n; i++) {
		uint32_t kind = AT(m, kind, i);

		now.nodes +=
			AT(m, enabled, i) &&
			(kind == WT_PB(COUNT_KIND, LAUNCH) || kind == WT_PB(COUNT_KIND, MEMSET) ||
			 (kind == WT_PB(COUNT_KIND, COPY) && (!m->n_bytes || m->bytes[i])));
	}
	e = ROW_FOR(t, exec_ids, execs, m->exec);
	if (!e)
		return;
	/* Which launch ran which revision is not in the file: revisions that differ are "not known". */
	if (t->execs.n == before && (e->nodes != now.nodes || !now.known))
		e->known = 0;
	else if (t->execs.n != before)
		*e = now;
}

static void load_nccl(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	wt_trace_load_nccl(t, p->nccl);
}

static void load_marks(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	wt_trace_load_marks(t, p->marks);
}

static void load_calls(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	wt_trace_load_calls(t, p->calls);
}

static void load_api(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	wt_trace_load_api(t, p->api);
}

static void load_overheads(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	wt_trace_load_overheads(t, p->overheads);
}

static void load_kernels(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	wt_trace_load_kernels(t, p->kernels);
}

static void load_copies(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	wt_trace_load_copies(t, p->copies);
}

static void load_graph_runs(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	wt_trace_load_graph_runs(t, p->graph_runs);
}

static void load_collectives(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	wt_trace_load_collectives(t, p->collectives);
}

static void load_counts(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Counts *m = p->counts;
	size_t n = COLUMNS(t, m->n_context, m->n_kind, m->n_state, m->n_n);

	if (m->tsc > t->last_tsc)
		t->last_tsc = m->tsc;
	t->counts.n = 0; /* totals: the newest packet replaces those before */
	for (size_t i = 0; i < n; i++) {
		struct wt_count_row *c = wt_vec_add(&t->counts);

		if (!c) {
			t->error = -WT_E_NOMEM;
			return;
		}
		*c = (struct wt_count_row){AT(m, n, i), AT(m, context, i), AT(m, kind, i),
					   AT(m, state, i), 0};
	}
}

static void load_loss(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Loss *m = p->loss;
	int cupti =
		m->where == WT_PB(LOSS_WHERE, CUPTI) || m->where == WT_PB(LOSS_WHERE, CUPTI_BUFFER);

	if (cupti)
		t->dropped_cupti += m->n;
	else if (m->where == WT_PB(LOSS_WHERE, OPEN_BUFFER))
		t->open_buffers += m->n;
	else
		t->dropped_agent += m->n;
	if (m->where == WT_PB(LOSS_WHERE, DISK))
		t->disk_stopped = 1;
	/* Buffers that were being filled when the process was killed: the last of each thread and stream. */
	if (m->where != WT_PB(LOSS_WHERE, POOL_EMPTY) && m->where != WT_PB(LOSS_WHERE, OPEN_BUFFER))
		t->lossy = 1;
}

/* What was counted outside the windows expects no records. */
static void remember_counts(struct wt_trace *t, int minus)
{
	if (!wt_trace_room(t, t->counts.n))
		return;
	for (size_t i = 0; i < t->counts.n; i++) {
		struct wt_count_row *c = wt_vec_add(&t->window_counts);

		if (!c) {
			t->error = -WT_E_NOMEM;
			return;
		}
		*c = t->counts.p[i];
		c->minus = minus;
	}
}

static void load_state(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__State *m = p->state;
	struct wt_window *w = t->windows.n ? &t->windows.p[t->windows.n - 1] : NULL;
	int open = w && w->off_tsc == UINT64_MAX;
	int on = m->level == 3 && m->cupti == WT_PB(CUPTI_STATE, OURS) &&
		 m->reason != WT_PB(STATE_REASON, EXIT);
	int64_t ns = m->device_ns && m->device_ns < INT64_MAX / 4 ? (int64_t)m->device_ns : 0;

	wt_trace_load_steps(t, m, on);
	t->level_now = (int)(m->level < 4 ? m->level : 3);
	if (t->level_now > t->level)
		t->level = t->level_now;
	if (m->holder && m->reason == WT_PB(STATE_REASON, FOREIGN)) {
		uint32_t name = wt_trace_string(t, m->holder);

		t->holders |= t->holder && t->holder != name;
		t->holder = name;
	}
	/* from here on until it is on again, rows are not to be had, and counts do not say which are without */
	t->blind |= t->minor < 2 && !on && m->level < 2 && m->reason != WT_PB(STATE_REASON, EXIT);
	if (w && m->tsc < (open ? w->on_tsc : w->off_tsc)) { /* ticks of one process only grow */
		t->malformed++;
		return;
	}
	if (m->cupti == WT_PB(CUPTI_STATE, READY))
		t->ready_tsc = m->tsc;
	if (on && !open) {
		remember_counts(t, /* minus= */ 1);
		w = wt_trace_room(t, 1) ? wt_vec_add(&t->windows) : NULL;
		if (!w) {
			t->error = t->error ? t->error : -WT_E_NOMEM;
			return;
		}
		*w = (struct wt_window){.ready_tsc = t->ready_tsc,
					.on_tsc = m->tsc,
					.off_tsc = UINT64_MAX,
					.on_ns = ns,
					.late = m->reason != WT_PB(STATE_REASON, START),
					.foreign = m->clock != WT_PB(DEVICE_CLOCK, REALTIME)};
	} else if (!on && open) {
		w->off_tsc = m->tsc;
		w->off_ns = ns;
		w->exit = m->reason == WT_PB(STATE_REASON, EXIT);
		w->chosen = m->reason == WT_PB(STATE_REASON, COMMAND) ||
			    m->reason == WT_PB(STATE_REASON, BUDGET) ||
			    m->reason == WT_PB(STATE_REASON, WINDOW) ||
			    m->reason == WT_PB(STATE_REASON, SKEW);
		if (!w->exit)
			remember_counts(t, 0);
	}
}

static void load_cost(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	const Warptap__V1__Cost *m = p->cost;
	const uint64_t v[5] = {m->hook_ns, m->writer_cpu_ns, m->cupti_ns, m->bytes_out, m->calls};

	t->cost_seen = 1;
	for (int i = 0; i < 5; i++)
		t->cost[i] = v[i] > INT64_MAX ? INT64_MAX : (int64_t)v[i];
}

static void load_end(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	t->how = (int)p->end->how;
	/* the trace is whole, and its process died all the same: what has no record was in flight */
	t->recovered = t->how == WT_PB(END_HOW, RECOVERED);
	t->ended = !t->recovered;
	t->end_packets = p->end->packets;
}

static void load_troubles(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	wt_trace_load_troubles(t, p->troubles);
}

static void load_table(struct wt_trace *t, const Warptap__V1__Packet *p)
{
	t->is_converted = 1;
	wt_trace_load_table(t, p->table);
}

static void (*const loaders[])(struct wt_trace *t, const Warptap__V1__Packet *p) = {
#define BODY(name_, fn_) [WARPTAP__V1__PACKET__BODY_##name_] = fn_
	BODY(HEADER, load_header),
	BODY(CLOCKS, load_clocks),
	BODY(STRINGS, load_strings),
	BODY(FUNCTIONS, load_functions),
	BODY(SHAPES, load_shapes),
	BODY(GEMMS, load_gemms),
	BODY(COUNTERS, load_counters),
	BODY(STREAMS, load_streams),
	BODY(THREADS, load_threads),
	BODY(COMMS, load_comms),
	BODY(GRAPHS, load_graphs),
	BODY(OPS, load_ops),
	BODY(CONTEXTS, load_contexts),
	BODY(CALLS, load_calls),
	BODY(API, load_api),
	BODY(KERNELS, load_kernels),
	BODY(COPIES, load_copies),
	BODY(GRAPH_RUNS, load_graph_runs),
	BODY(COLLECTIVES, load_collectives),
	BODY(MARKS, load_marks),
	BODY(NCCL, load_nccl),
	BODY(COUNTS, load_counts),
	BODY(LOSS, load_loss),
	BODY(STATE, load_state),
	BODY(COST, load_cost),
	BODY(END, load_end),
	BODY(TABLE, load_table),
	BODY(OVERHEADS, load_overheads),
	BODY(TROUBLES, load_troubles),
#undef BODY
};

int wt_trace_load(struct wt_trace *t, const uint8_t *packet, size_t n)
{
	Warptap__V1__Packet *p = warptap__v1__packet__unpack(NULL, n, packet);
	size_t body;

	if (!p) {
		t->malformed++;
		return 0;
	}
	t->packets++;
	/* Numbers that go back are a second writer or damage; only a gap says how many are lost. */
	if (p->seq > t->seq_last) {
		t->seq_lost += p->seq - t->seq_last - 1;
		t->seq_last = p->seq;
	}
	body = (size_t)p->body_case;
	if (body < sizeof(loaders) / sizeof(loaders[0]) && loaders[body])
		loaders[body](t, p);
	else
		t->unknown++;
	warptap__v1__packet__free_unpacked(p, NULL);
	return t->error;
}

uint32_t wt_trace_string(const struct wt_trace *t, uint64_t id)
{
	uint32_t s;

	return id && wt_map_get(&t->string_ids, id, &s) ? s : 0;
}

void wt_trace_release(struct wt_trace *t)
{
	struct wt_map *maps[] = {&t->string_ids,     &t->function_ids, &t->shape_ids,
				 &t->stream_ids,     &t->thread_ids,   &t->context_ids,
				 &t->cupti_contexts, &t->comm_ids,     &t->op_ids,
				 &t->exec_ids,	     &t->gemm_ids};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		wt_map_release(maps[i]);
	wt_builder_free(t->converted);
	free(t->functions.p);
	free(t->shapes.p);
	free(t->gemms.p);
	free(t->counters.p);
	free(t->streams.p);
	free(t->threads.p);
	free(t->contexts.p);
	free(t->comms.p);
	free(t->execs.p);
	free(t->ops.p);
	free(t->devices.p);
	free(t->rows.p);
	free(t->records.p);
	free(t->groups.p);
	free(t->api.p);
	free(t->anchors.p);
	free(t->collectives.p);
	free(t->marks.p);
	free(t->waits.p);
	free(t->overheads.p);
	free(t->nccl.p);
	free(t->counts.p);
	free(t->window_counts.p);
	free(t->blocks.p);
	free(t->places.p);
	wt_map_release(&t->stream_places);
	free(t->windows.p);
	free(t->environment.p);
	wt_clockline_release(&t->clock);
	wt_clockline_release(&t->foreign);
}
