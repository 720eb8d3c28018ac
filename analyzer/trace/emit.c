/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of a trace -> the timeline's builder. Times of calls become nanoseconds of the device's clock here, ids become
 * indices; whatever an id does not lead to becomes "not known", never an error.
 */
#include <stdio.h>
#include <string.h>

#include "trace/trace.h"

#define DEFAULT_STREAM 7 /* as CUPTI numbers it */

void wt_trace_process(struct wt_trace *t)
{
	struct wt_process *p;
	const struct wt_window *first = t->windows.n ? &t->windows.p[0] : NULL;
	const struct wt_window *last = first ? &t->windows.p[t->windows.n - 1] : NULL;

	t->process = wt_builder_process(t->b, t->input, (int64_t)t->pid);
	p = wt_builder_process_at(t->b, t->process);
	p->rank = t->headers ? t->rank : -1;
	p->world = t->world;
	p->name = t->program;
	p->host = t->host;
	p->ended = t->ended;
	p->level = t->level >= 0 ? t->level : t->records.n ? 3 : t->rows.n ? 2 : 1;
	if (first) {
		p->begun = first->late ? 2 : 1;
		p->collect_start_ns =
			first->on_ns ? first->on_ns : wt_clockline_ns(&t->clock, first->on_tsc);
		if (last->off_ns)
			p->collect_end_ns = last->off_ns;
		else if (last->off_tsc != UINT64_MAX)
			p->collect_end_ns = wt_clockline_ns(&t->clock, last->off_tsc);
		else
			p->collect_end_ns = wt_trace_end_ns(t);
		if (p->collect_end_ns < p->collect_start_ns)
			p->collect_end_ns = p->collect_start_ns;
	}
	if (t->cost_seen) {
		p->hook_ns = t->cost[0];
		p->writer_cpu_ns = t->cost[1];
		p->cupti_ns = t->cost[2];
		p->bytes_out = t->cost[3];
		p->recorded_calls = t->cost[4];
	}
	wt_trace_audit(t, p);
	wt_builder_input_at(t->b, t->input)->rank = p->rank;
	for (size_t i = 0; i < t->environment.n; i++)
		wt_builder_environment(t->b, t->process,
				       wt_builder_get(t->b, t->environment.p[i].key),
				       wt_builder_get(t->b, t->environment.p[i].value));
	for (size_t i = 0; i < t->devices.n; i++)
		wt_trace_device(t, t->devices.p[i].id);
}

uint16_t wt_trace_device(struct wt_trace *t, uint32_t ordinal)
{
	static const uint8_t unknown[16];
	const struct wt_device_row *row = NULL;
	struct wt_device *d;
	uint16_t i;

	for (size_t k = 0; k < t->devices.n; k++)
		if (t->devices.p[k].id == ordinal)
			row = &t->devices.p[k];
	i = wt_builder_device(t->b, t->process, ordinal, row ? row->uuid : unknown);
	d = wt_builder_device_at(t->b, i);
	if (row && !d->name) {
		d->name = row->name;
		d->sm_count = row->sm_count;
		d->cc = row->cc;
		d->memory_bytes = row->memory_bytes;
		d->shared = row->shared;
	}
	return i;
}

uint32_t wt_trace_stream(struct wt_trace *t, const struct wt_place *p)
{
	uint16_t device = wt_trace_device(t, p->device);
	int64_t id = p->stream;

	/* CUPTI numbers streams per context; a second context of the device must not share the first one's row. */
	for (size_t i = 0; i < t->contexts.n; i++) {
		if (t->contexts.p[i].device != p->device || !t->contexts.p[i].cupti_id)
			continue;
		if (t->contexts.p[i].cupti_id != p->context)
			id |= (int64_t)p->context << 32;
		break;
	}
	return wt_builder_stream(t->b, t->process, device, id);
}

static uint32_t stream_of_call(struct wt_trace *t, const struct wt_row *r)
{
	uint32_t i;

	if (!r->stream || !wt_map_get(&t->stream_places, r->stream, &i))
		return UINT32_MAX;
	return wt_trace_stream(t, &t->places.p[i]);
}

uint32_t wt_trace_thread(struct wt_trace *t, uint64_t id)
{
	struct wt_thread_row *r;
	uint32_t i;

	if (!wt_map_get(&t->thread_ids, id, &i))
		return wt_builder_thread(t->b, t->process, -(int64_t)(id & 0xFFFFFFFF) - 1);
	r = &t->threads.p[i];
	if (r->thread == WT_NO_INDEX) {
		r->thread = wt_builder_thread(t->b, t->process, (int64_t)r->tid);
		wt_builder_thread_at(t->b, r->thread)->name = wt_trace_string(t, r->name);
	}
	return r->thread;
}

static const uint8_t call_kinds[32] = {
	[WT_PB(COUNT_KIND, LAUNCH)] = WT_CALL_LAUNCH,
	[WT_PB(COUNT_KIND, GRAPH_LAUNCH)] = WT_CALL_GRAPH_LAUNCH,
	[WT_PB(COUNT_KIND, COPY)] = WT_CALL_COPY,
	[WT_PB(COUNT_KIND, MEMSET)] = WT_CALL_MEMSET,
	[WT_PB(COUNT_KIND, COLLECTIVE)] = WT_CALL_COLLECTIVE,
	[WT_PB(COUNT_KIND, SYNC)] = WT_CALL_SYNC,
	[WT_PB(COUNT_KIND, ALLOC)] = WT_CALL_ALLOC,
	[WT_PB(COUNT_KIND, FREE)] = WT_CALL_FREE,
	[WT_PB(COUNT_KIND, MODULE)] = WT_CALL_MODULE,
	[WT_PB(COUNT_KIND, GRAPH)] = WT_CALL_GRAPH,
	[WT_PB(COUNT_KIND, COMM)] = WT_CALL_COMM,
	[WT_PB(COUNT_KIND, GEMM)] = WT_CALL_GEMM,
	[WT_PB(COUNT_KIND, MARK)] = WT_CALL_MARK,
	[WT_PB(COUNT_KIND, NCCL_EVENT)] = WT_CALL_MARK,
};

/* All rows in their order: row i becomes call base + i, so parents that lie ahead have their index already. */
static int32_t emit_calls(struct wt_trace *t)
{
	int32_t base = -1;

	for (size_t i = 0; i < t->rows.n; i++) {
		const struct wt_row *r = &t->rows.p[i];
		uint64_t end = r->start_tsc + r->dur_tsc;
		struct wt_call call = {.parent = -1, .status = (uint32_t)r->status};
		uint32_t op;
		int32_t index;

		call.start_ns = wt_clockline_ns(&t->clock, r->start_tsc);
		call.end_ns = wt_clockline_ns(&t->clock, end < r->start_tsc ? UINT64_MAX : end);
		/* what is in doubt counts as received, but nothing hangs on it */
		if (r->group != WT_NO_INDEX && !t->groups.p[r->group].ambiguous)
			call.correlation = t->groups.p[r->group].correlation;
		if (wt_map_get(&t->op_ids, r->op, &op))
			call.name = wt_trace_string(t, t->ops.p[op].name);
		call.thread = wt_trace_thread(t, r->thread);
		call.stream = stream_of_call(t, r);
		call.process = t->process;
		call.kind = call_kinds[r->kind & 31];
		if (r->parent != WT_NO_INDEX && base >= 0)
			call.parent = base + (int32_t)r->parent;
		else if (r->parent != WT_NO_INDEX)
			call.parent = (int32_t)r->parent; /* row 0: corrected below */
		if (r->flags & WT_PB(CALL_FLAG, CAPTURED))
			call.flags |= WT_CALL_CAPTURED;
		if (r->flags & WT_PB(CALL_FLAG, BLOCKING))
			call.flags |= WT_CALL_BLOCKING;
		if (r->status)
			call.flags |= WT_CALL_FAILED;
		index = wt_builder_call(t->b, &call);
		if (i == 0) {
			base = index;
			if (call.parent >= 0)
				wt_builder_call_at(t->b, index)->parent += base;
		}
	}
	return base;
}

static const char *memory_name(uint8_t kind)
{
	static const char *const names[] = {"Unknown", "Pageable", "Pinned", "Device",
					    "Array",   "Managed",  "Device", "Managed"};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "Unknown";
}

static uint32_t name_of(struct wt_trace *t, const struct wt_record *r)
{
	static const char *const copies[] = {"", "HtoD", "DtoH", "DtoD", "PtoP", "HtoH"};
	char text[96];
	uint32_t f;

	if (r->kind == WT_OP_KERNEL) {
		uint32_t name = wt_map_get(&t->function_ids, r->function, &f)
					? wt_trace_string(t, t->functions.p[f].name)
					: 0;

		return name ? name : wt_builder_cstring(t->b, "[unknown kernel]");
	}
	if (r->kind == WT_OP_GRAPH)
		return wt_builder_cstring(t->b, "CUDA graph");
	if (r->kind == WT_OP_MEMSET)
		snprintf(text, sizeof(text), "Memset (%s)", memory_name(r->dst));
	else if (!r->src && !r->dst)
		snprintf(text, sizeof(text), "Memcpy %s", copies[r->copy_kind]);
	else
		snprintf(text, sizeof(text), "Memcpy %s (%s -> %s)", copies[r->copy_kind],
			 memory_name(r->src), memory_name(r->dst));
	return wt_builder_cstring(t->b, text);
}

/* What only the driver's own handle tells: the function of the host call, which device records do not name. */
static uint32_t max_threads_of(const struct wt_trace *t, const struct wt_record *r)
{
	const struct wt_group *g = &t->groups.p[r->group];
	uint32_t i;

	if (g->row == WT_NO_INDEX || g->ambiguous || g->class_ != WT_PB(COUNT_KIND, LAUNCH) ||
	    !wt_map_get(&t->function_ids, t->rows.p[g->row].object, &i))
		return 0;
	return t->functions.p[i].max_threads;
}

static uint32_t shape_of(struct wt_trace *t, const struct wt_record *r, uint32_t work)
{
	struct wt_shape shape = {0};
	uint32_t i;

	if (r->kind != WT_OP_KERNEL || (!wt_map_get(&t->shape_ids, r->shape, &i) && !work))
		return 0;
	if (wt_map_get(&t->shape_ids, r->shape, &i))
		shape = t->shapes.p[i];
	if (wt_map_get(&t->function_ids, r->function, &i)) {
		shape.static_smem = t->functions.p[i].static_smem;
		shape.regs = t->functions.p[i].regs;
		shape.local_bytes = t->functions.p[i].local_bytes;
	}
	shape.max_threads = max_threads_of(t, r);
	shape.work = work;
	return wt_builder_shape(t->b, &shape);
}

static void emit_records(struct wt_trace *t, int32_t base, const int32_t *collective_of_row,
			 const uint32_t *works)
{
	for (size_t i = 0; i < t->records.n; i++) {
		const struct wt_record *r = &t->records.p[i];
		const struct wt_group *g = &t->groups.p[r->group];
		struct wt_place place = {r->context, r->stream, r->device};
		struct wt_op op = {.call = -1, .collective = -1};

		op.start_ns = (int64_t)r->start_ns;
		op.end_ns = (int64_t)(r->start_ns + r->dur_ns);
		if (r->flags & WT_PB(RECORD_FLAG, UNTIMED) || !r->start_ns ||
		    r->start_ns >= INT64_MAX / 4 || r->dur_ns >= INT64_MAX / 4)
			op.flags |= WT_OP_UNTIMED;
		op.correlation = r->correlation;
		op.bytes = r->bytes;
		op.name = name_of(t, r);
		op.stream = wt_trace_stream(t, &place);
		op.shape = shape_of(t, r, works[i]);
		op.device = wt_trace_device(t, r->device);
		op.process = t->process;
		op.kind = r->kind;
		op.copy_kind = r->copy_kind;
		if (r->kind == WT_OP_COPY && (r->src == 1 || r->dst == 1))
			op.flags |= WT_OP_PAGEABLE;
		if (g->class_ == WT_PB(COUNT_KIND, GRAPH_LAUNCH) && r->kind != WT_OP_GRAPH)
			op.flags |= WT_OP_GRAPH_NODE;
		if (g->ambiguous)
			op.flags |= WT_OP_AMBIGUOUS;
		if (g->row != WT_NO_INDEX && !g->ambiguous) {
			if (r->kind == WT_OP_KERNEL && g->class_ == WT_PB(COUNT_KIND, LAUNCH))
				op.bytes = t->rows.p[g->row].bytes;
			op.call = base + (int32_t)g->row;
			op.collective = collective_of_row[g->row];
		}
		wt_builder_op(t->b, &op);
	}
}

#define GROUP_STREAMS 1024 /* looked at in one group */

/* ncclDataType_t -> bytes */
static const uint8_t dtype_bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

static const struct {
	const char *name;
	uint8_t op, times_ranks; /* the size by convention is what all ranks hold together */
} coll_ops[] = {
	[WT_PB(COLLECTIVE_OP, ALL_REDUCE)] = {"AllReduce", WT_COLL_ALL_REDUCE, 0},
	[WT_PB(COLLECTIVE_OP, ALL_GATHER)] = {"AllGather", WT_COLL_ALL_GATHER, 1},
	[WT_PB(COLLECTIVE_OP, REDUCE_SCATTER)] = {"ReduceScatter", WT_COLL_REDUCE_SCATTER, 1},
	[WT_PB(COLLECTIVE_OP, BROADCAST)] = {"Broadcast", WT_COLL_BROADCAST, 0},
	[WT_PB(COLLECTIVE_OP, REDUCE)] = {"Reduce", WT_COLL_REDUCE, 0},
	[WT_PB(COLLECTIVE_OP, SEND)] = {"Send", WT_COLL_SEND, 0},
	[WT_PB(COLLECTIVE_OP, RECV)] = {"Recv", WT_COLL_RECV, 0},
	[WT_PB(COLLECTIVE_OP, ALL_TO_ALL)] = {"AllToAll", WT_COLL_ALL_TO_ALL, 1},
	[WT_PB(COLLECTIVE_OP, GATHER)] = {"Gather", WT_COLL_GATHER, 1},
	[WT_PB(COLLECTIVE_OP, SCATTER)] = {"Scatter", WT_COLL_SCATTER, 1},
};

static int rooted(uint32_t op)
{
	static const uint8_t yes[] = {
		[WT_PB(COLLECTIVE_OP, BROADCAST)] = 1, [WT_PB(COLLECTIVE_OP, REDUCE)] = 1,
		[WT_PB(COLLECTIVE_OP, SEND)] = 1,      [WT_PB(COLLECTIVE_OP, RECV)] = 1,
		[WT_PB(COLLECTIVE_OP, GATHER)] = 1,    [WT_PB(COLLECTIVE_OP, SCATTER)] = 1,
	};

	return op < sizeof(yes) && yes[op];
}

static void emit_collectives(struct wt_trace *t, int32_t base, const struct wt_trace_groups *g)
{
	for (size_t i = 0; i < t->collectives.n; i++) {
		struct wt_coll_row *k = &t->collectives.p[i];
		struct wt_collective c = {.call = -1,
					  .peer = rooted(k->op) ? k->root_or_peer : -1,
					  .lead = -1,
					  .seq = k->seq,
					  .count = k->count,
					  .dtype = k->dtype,
					  .process = t->process,
					  .flags = k->in_flight ? 0 : WT_COLL_COMPLETED,
					  .rank = (uint32_t)t->rank};
		uint32_t comm;
		uint64_t bytes;

		if (k->row != WT_NO_INDEX)
			c.call = base + (int32_t)k->row;
		if (wt_map_get(&t->comm_ids, k->comm, &comm)) {
			c.comm = t->comms.p[comm].key;
			c.nranks = t->comms.p[comm].nranks;
			c.rank = t->comms.p[comm].rank;
			c.group = wt_trace_string(t, t->comms.p[comm].name);
		}
		bytes = k->dtype < sizeof(dtype_bytes) ? dtype_bytes[k->dtype] : 0;
		if (__builtin_mul_overflow(bytes, k->count, &bytes))
			bytes = 0;
		if (k->op < sizeof(coll_ops) / sizeof(coll_ops[0]) && coll_ops[k->op].name) {
			c.op = coll_ops[k->op].op;
			c.name = wt_builder_cstring(t->b, coll_ops[k->op].name);
			if (coll_ops[k->op].times_ranks &&
			    __builtin_mul_overflow(bytes, (uint64_t)(c.nranks ? c.nranks : 1),
						   &bytes))
				bytes = 0;
		}
		c.bytes = bytes;
		c.algorithm = k->algorithm;
		c.protocol = k->protocol;
		c.channels = k->channels;
		c.warps = k->warps;
		c.proxies = k->proxies;
		c.proxy_bytes = k->proxy_bytes;
		c.proxy_ns = k->proxy_ns;
		c.proxy_gpu_ns = k->proxy_gpu_ns;
		c.proxy_peer_ns = k->proxy_peer_ns;
		c.proxy_net_ns = k->proxy_net_ns;
		c.channel_ns = (int64_t)(k->channel_end_ns - k->channel_start_ns);
		if (k->planned)
			c.flags |= WT_COLL_PLANNED;
		/* the leader comes first: its index is known, and ours is the next one otherwise */
		if (g->lead[i] < i)
			c.lead = t->collectives.p[g->lead[i]].index;
		k->index = wt_builder_collective(t->b, &c);
	}
}

uint32_t wt_trace_group_end(const struct wt_trace *t, uint32_t row)
{
	uint64_t ring = t->rows.p[row].ring;

	for (size_t i = row + 1; i < t->rows.n && i - row < 65536 && t->rows.p[i].ring == ring;
	     i++) {
		const struct wt_row *r = &t->rows.p[i];
		uint32_t op;

		if (r->kind == WT_PB(COUNT_KIND, COMM) && wt_map_get(&t->op_ids, r->op, &op) &&
		    strstr(wt_builder_get(t->b, wt_trace_string(t, t->ops.p[op].name)), "GroupEnd"))
			return (uint32_t)i;
	}
	return WT_NO_INDEX;
}

static void groups_release(struct wt_trace_groups *g)
{
	free(g->first);
	free(g->next);
	free(g->lead);
}

static int groups_find(const struct wt_trace *t, struct wt_trace_groups *g)
{
	g->first = malloc((t->rows.n + 1) * sizeof(*g->first));
	g->next = malloc((t->collectives.n + 1) * sizeof(*g->next));
	g->lead = malloc((t->collectives.n + 1) * sizeof(*g->lead));
	if (!g->first || !g->next || !g->lead)
		return -WT_E_NOMEM;
	memset(g->first, 0xFF, (t->rows.n + 1) * sizeof(*g->first));
	for (size_t i = t->collectives.n; i > 0; i--) {
		const struct wt_coll_row *k = &t->collectives.p[i - 1];
		uint32_t end;

		g->next[i - 1] = WT_NO_INDEX;
		g->lead[i - 1] = (uint32_t)(i - 1);
		if (k->row == WT_NO_INDEX)
			continue;
		g->first[k->row] = (uint32_t)(i - 1);
		end = k->group ? wt_trace_group_end(t, k->row) : WT_NO_INDEX;
		if (end == WT_NO_INDEX)
			continue;
		g->next[i - 1] = g->first[end];
		g->first[end] = (uint32_t)(i - 1);
	}
	for (size_t i = 0; i < t->rows.n; i++) {
		for (uint32_t k = g->first[i]; k != WT_NO_INDEX; k = g->next[k]) {
			uint32_t lead = g->first[i];

			for (int steps = 0;
			     lead != k && steps < GROUP_STREAMS &&
			     t->collectives.p[lead].stream != t->collectives.p[k].stream;
			     steps++)
				lead = g->next[lead];
			if (t->collectives.p[lead].stream == t->collectives.p[k].stream)
				g->lead[k] = lead;
		}
	}
	return 0;
}

/*
 * Which collective the work launched by a row belongs to. Work launched inside the collective's own call is its own;
 * work launched when a group closes belongs to the group: to the first collective on the same stream, else to the
 * first.
 */
static uint32_t collective_of(const struct wt_trace *t, const struct wt_trace_groups *g, size_t row)
{
	const struct wt_row *r = &t->rows.p[row];
	uint32_t p = r->parent, k;
	int steps = 0;

	while (p != WT_NO_INDEX && g->first[p] == WT_NO_INDEX && steps++ < 8)
		p = t->rows.p[p].parent;
	if (p == WT_NO_INDEX || g->first[p] == WT_NO_INDEX)
		return WT_NO_INDEX;
	k = g->first[p];
	for (steps = 0; k != WT_NO_INDEX && steps < GROUP_STREAMS; k = g->next[k], steps++)
		if (t->collectives.p[k].stream == r->stream && r->stream)
			return k;
	return g->first[p];
}

static void mark_in_flight(struct wt_trace *t, const struct wt_trace_groups *g)
{
	for (size_t i = 0; i < t->rows.n; i++) {
		uint32_t k = t->rows.p[i].fate == WT_FATE_IN_FLIGHT ? collective_of(t, g, i)
								    : WT_NO_INDEX;

		if (k != WT_NO_INDEX)
			t->collectives.p[k].in_flight = 1;
	}
	for (size_t k = 0; k < t->collectives.n; k++)
		t->collectives.p[k].in_flight |= t->collectives.p[g->lead[k]].in_flight;
}

/*
 * A process of no job that recorded calls and no device: its streams tell which devices it used, and so whose idle time
 * it can explain. Ranks are left alone: what takes part in collectives is counted by streams.
 */
static void emit_places_of_calls(struct wt_trace *t)
{
	if (t->records.n || t->level != 2 || t->rank >= 0)
		return;
	for (size_t i = 0; i < t->contexts.n; i++)
		wt_trace_stream(t, &(struct wt_place){.context = t->contexts.p[i].cupti_id,
						      .stream = DEFAULT_STREAM,
						      .device = t->contexts.p[i].device});
}

int wt_trace_emit(struct wt_trace *t)
{
	int32_t *collective_of_row = malloc((t->rows.n + 1) * sizeof(*collective_of_row));
	struct wt_trace_groups g = {.first = NULL};
	uint32_t *works = NULL;
	int err = groups_find(t, &g);
	int32_t base;

	err = err ? err : wt_trace_works(t, &works);
	err = err ? err : wt_trace_plans(t, &g);

	if (!err && collective_of_row) {
		base = emit_calls(t);
		mark_in_flight(t, &g);
		wt_trace_emit_waits(t, base);
		err = wt_trace_stand(t);
		emit_collectives(t, base, &g);
		for (size_t i = 0; i < t->rows.n; i++) {
			uint32_t k = collective_of(t, &g, i);

			collective_of_row[i] = k == WT_NO_INDEX ? -1 : t->collectives.p[k].index;
		}
		emit_records(t, base, collective_of_row, works);
	}
	groups_release(&g);
	free(works);
	err = collective_of_row ? err : -WT_E_NOMEM;
	free(collective_of_row);
	emit_places_of_calls(t);
	wt_trace_emit_overheads(t);
	return err ? err : wt_trace_emit_marks(t);
}
