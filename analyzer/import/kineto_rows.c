/* SPDX-License-Identifier: Apache-2.0 */
/* See kineto_rows.h. */
#include "import/kineto_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "import/decimal.h"

#define DAY_NS		 (86400 * INT64_C(1000000000))
#define MAX_THREAD_NAMES (1u << 16)

/* ---- who and where ---- */

uint16_t wt_kineto_process_of(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	if (!k->has_main && (ev->flags & WT_KINETO_HAS_PID)) {
		k->has_main = 1;
		k->main_pid = ev->pid;
		wt_builder_process_at(k->b, k->process)->pid = ev->pid;
	}
	if (ev->pid == k->main_pid || !(ev->flags & WT_KINETO_HAS_PID))
		return k->process;
	return wt_builder_process(k->b, k->input, ev->pid);
}

static uint32_t thread_of(struct wt_kineto *k, const struct wt_kineto_event *ev, uint16_t process)
{
	uint64_t key = wt_mix64((uint64_t)ev->tid) ^ process;
	int isnew;
	uint32_t *at, thread;

	if (k->has_last && ev->tid == k->last_tid && process == k->last_process)
		return k->last_thread;
	at = wt_map_slot(&k->threads, key, 0, &isnew);
	k->has_last = 1;
	k->last_tid = ev->tid;
	k->last_process = process;
	/* The map only saves time: two threads of one key would be a wrong row, so the builder is asked in the end. */
	if (at && !isnew && wt_builder_thread_at(k->b, *at)->tid == ev->tid &&
	    wt_builder_thread_at(k->b, *at)->process == process)
		return k->last_thread = *at;
	thread = wt_builder_thread(k->b, process, ev->tid);
	if (at)
		*at = thread;
	return k->last_thread = thread;
}

/* The builder's index of the event's device; 0 and k->error if there are absurdly many. */
static uint16_t device_of(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	int64_t ordinal = ev->flags & WT_KINETO_HAS_DEVICE ? ev->device : ev->pid;
	uint32_t *at;
	uint16_t device;
	int isnew;

	at = wt_map_slot(&k->devices, (uint64_t)ordinal, 0, &isnew);
	if (!at) {
		k->error = -WT_E_NOMEM;
		return 0;
	}
	if (!isnew)
		return (uint16_t)*at;
	if (k->ndevices >= WT_KINETO_MAX_DEVICES) {
		k->error = -WT_E_LIMIT;
		return 0;
	}
	device = wt_builder_device(k->b, k->process, ordinal, NULL);
	*at = device;
	k->device_list[k->ndevices++] = device;
	return device;
}

static void note_start(struct wt_kineto *k, int64_t start_ns)
{
	if (start_ns > 0 && start_ns < k->first_ns)
		k->first_ns = start_ns;
}

/* ---- rows ---- */

/* Names are bytes; those that are no UTF-8 are kept as they are, counted, and replaced where they are printed. */
static uint32_t name_of(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	uint32_t id = wt_builder_string(k->b, ev->name.s, ev->name.n);

	if (id < k->checked)
		return id;
	k->checked = id + 1;
	if (!wt_utf8_valid(ev->name.s, ev->name.n) && !k->bad_text++)
		k->bad_text_at = wt_json_offset(k->js);
	return id;
}

static int set_aside(struct wt_kineto *k, const struct wt_kineto_late *row)
{
	if (k->nlate == k->late_room) {
		size_t room = k->late_room ? k->late_room * 2 : 64;
		struct wt_kineto_late *late = realloc(k->late, room * sizeof(*late));

		if (!late)
			return -WT_E_NOMEM;
		k->late = late;
		k->late_room = room;
	}
	k->late[k->nlate++] = *row;
	return 0;
}

/* Start and end from the event; 1 if they are usable. */
static int times(const struct wt_kineto_event *ev, int64_t *ret_start, int64_t *ret_end)
{
	if (!(ev->flags & WT_KINETO_HAS_TS) || (ev->flags & WT_KINETO_BAD_TIME) || ev->dur_ns < 0)
		return 0;
	*ret_start = ev->ts_ns;
	return !__builtin_add_overflow(ev->ts_ns, ev->dur_ns, ret_end);
}

static uint32_t shape_of(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	struct wt_shape shape = {.dyn_smem = ev->smem, .regs = ev->regs};

	memcpy(shape.grid, ev->grid, sizeof(shape.grid));
	memcpy(shape.block, ev->block, sizeof(shape.block));
	return shape.grid[0] || shape.block[0] || shape.regs || shape.dyn_smem
		       ? wt_builder_shape(k->b, &shape)
		       : 0;
}

/* Whom a send goes to and a receive comes from, by rank in the job; -1 = not said. */
static int64_t peer_of(const struct wt_kineto_event *ev)
{
	if (ev->coll_op == WT_COLL_RECV && ev->flags & WT_KINETO_HAS_SRC)
		return ev->src;
	if (ev->coll_op == WT_COLL_SEND && ev->flags & WT_KINETO_HAS_DST)
		return ev->dst;
	return -1;
}

static int is_p2p(const struct wt_collective *c)
{
	return c->op == WT_COLL_SEND || c->op == WT_COLL_RECV;
}

static void fill_collective(struct wt_kineto *k, const struct wt_kineto_event *ev,
			    struct wt_kineto_late *row)
{
	struct wt_collective *c = &row->coll;
	uint64_t most = ev->in_elements > ev->out_elements ? ev->in_elements : ev->out_elements;

	*c = (struct wt_collective){
		.comm = ev->comm,
		.seq = ev->seq,
		.count = ev->in_elements,
		.dtype = ev->dtype,
		.name = wt_builder_cstring(k->b, ev->coll_name),
		.nranks = ev->group_size,
		.rank = UINT32_MAX,
		.call = -1,
		.peer = -1,
		.lead = -1,
		.group = strcmp(ev->group_desc, "undefined")
				 ? wt_builder_cstring(k->b, ev->group_desc)
				 : 0,
		.process = k->process,
		.op = ev->coll_op,
	};
	if (__builtin_mul_overflow(most, (uint64_t)ev->dtype_bytes, &c->bytes))
		c->bytes = 0;
	row->group_ranks = wt_builder_cstring(k->b, ev->group_ranks);
	row->rank = ev->flags & WT_KINETO_HAS_RANK ? ev->rank : -1;
	row->peer = peer_of(ev);
}

static int add_op(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	static const uint8_t kinds[] = {[WT_KINETO_KERNEL] = WT_OP_KERNEL,
					[WT_KINETO_COPY] = WT_OP_COPY,
					[WT_KINETO_MEMSET] = WT_OP_MEMSET};
	uint16_t device = device_of(k, ev);
	struct wt_kineto_late row = {.has_seq = (ev->flags & WT_KINETO_HAS_SEQ) != 0};
	struct wt_op *op = &row.op;
	int usable;

	*op = (struct wt_op){
		.correlation = ev->correlation,
		.bytes = ev->bytes,
		.name = name_of(k, ev),
		.stream =
			wt_builder_stream(k->b, k->process, device,
					  ev->flags & WT_KINETO_HAS_STREAM ? ev->stream : ev->tid),
		.shape = shape_of(k, ev),
		.call = -1,
		.collective = -1,
		.device = device,
		.process = k->process,
		.kind = kinds[ev->cat],
		.copy_kind = ev->cat == WT_KINETO_COPY ? ev->copy_kind : 0,
		.flags = (uint8_t)(ev->copy_flags | (ev->graph_node ? WT_OP_GRAPH_NODE : 0)),
	};
	usable = times(ev, &op->start_ns, &op->end_ns);
	if (!usable) {
		op->start_ns = op->end_ns = 0;
		op->flags |= WT_OP_UNTIMED;
		k->untimed++;
	}
	if (ev->cat == WT_KINETO_KERNEL && (ev->flags & WT_KINETO_HAS_COLLECTIVE))
		fill_collective(k, ev, &row);
	if (row.coll.name || (usable && op->start_ns <= 0))
		return set_aside(k, &row);
	note_start(k, op->start_ns);
	wt_builder_op(k->b, op);
	if (ev->cat == WT_KINETO_KERNEL)
		return wt_kineto_work_kernel(&k->works, k->b, ev->external);
	return 0;
}

#define CALL_ASKED  0x200u
#define CALL_BLOCKS 0x100u

/* The kind of a call and whether it blocks, looked up once per name. */
static unsigned call_kind(struct wt_kineto *k, uint32_t name)
{
	const char *text;
	unsigned kind;

	if (name < k->call_kinds_room && k->call_kinds[name])
		return k->call_kinds[name];
	if (name >= k->call_kinds_room) {
		size_t room = (size_t)name + 256;
		uint16_t *kinds = realloc(k->call_kinds, room * sizeof(*kinds));

		if (kinds) {
			memset(kinds + k->call_kinds_room, 0,
			       (room - k->call_kinds_room) * sizeof(*kinds));
			k->call_kinds = kinds;
			k->call_kinds_room = room;
		}
	}
	text = wt_builder_get(k->b, name);
	kind = (unsigned)wt_call_kind_by_name(text) | CALL_ASKED;
	if (wt_call_blocks_by_name(text))
		kind |= CALL_BLOCKS;
	if (name < k->call_kinds_room)
		k->call_kinds[name] = (uint16_t)kind;
	return kind;
}

static void add_call(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	uint16_t process = wt_kineto_process_of(k, ev);
	struct wt_call call = {
		.correlation = ev->correlation,
		.stream = UINT32_MAX,
		.parent = -1,
		.process = process,
	};
	unsigned kind;

	if (!times(ev, &call.start_ns, &call.end_ns))
		return;
	call.name = name_of(k, ev);
	call.thread = thread_of(k, ev, process);
	kind = call_kind(k, call.name);
	call.kind = (uint8_t)kind;
	call.flags = kind & CALL_BLOCKS ? WT_CALL_BLOCKING : 0;
	note_start(k, call.start_ns);
	wt_builder_call(k->b, &call);
}

static void add_range(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	static const char prefix[] = "ProfilerStep#";
	const size_t n = sizeof(prefix) - 1;
	struct wt_range range = {.process = k->process, .kind = WT_RANGE_USER};

	if (!times(ev, &range.start_ns, &range.end_ns))
		return;
	range.name = name_of(k, ev);
	range.thread = thread_of(k, ev, k->process);
	if (ev->name.n > n && !memcmp(ev->name.s, prefix, n) &&
	    !wt_decimal_i64(ev->name.s + n, ev->name.n - n, &range.step))
		range.kind = WT_RANGE_STEP;
	wt_builder_range(k->b, &range);
}

/* Around what launches on its thread: a frame of Python, or an operator by its stack. */
static void add_frame(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	struct wt_frame frame = {.process = k->process};

	if (!times(ev, &frame.start_ns, &frame.end_ns))
		return;
	frame.name = wt_builder_string(k->b, ev->site.s, ev->site.n);
	frame.thread = thread_of(k, ev, k->process);
	wt_builder_frame(k->b, &frame);
}

static int add_host(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	if (ev->site.n &&
	    (ev->cat == WT_KINETO_FRAME || (ev->cat == WT_KINETO_OPERATOR && *ev->site.s)))
		add_frame(k, ev);
	if (ev->cat == WT_KINETO_RANGE || wt_kineto_is_told(&ev->name))
		add_range(k, ev);
	else if (ev->cat == WT_KINETO_OPERATOR)
		return wt_kineto_work_add(&k->works, k->b, ev);
	return 0;
}

/* thread_name and process_name; applied at the end, when it is known who is who. */
static int add_name(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	int is_thread = ev->name.n == 11 && !memcmp(ev->name.s, "thread_name", 11);
	int is_process = ev->name.n == 12 && !memcmp(ev->name.s, "process_name", 12);

	if ((!is_thread && !is_process) || !ev->arg_name.n || k->nnames >= MAX_THREAD_NAMES)
		return 0;
	if (k->nnames == k->names_room) {
		size_t room = k->names_room ? k->names_room * 2 : 64;
		struct wt_kineto_name *names = realloc(k->names, room * sizeof(*names));

		if (!names)
			return -WT_E_NOMEM;
		k->names = names;
		k->names_room = room;
	}
	k->names[k->nnames++] = (struct wt_kineto_name){
		.pid = ev->pid,
		.tid = ev->tid,
		.name = wt_builder_string(k->b, ev->arg_name.s, ev->arg_name.n),
		.is_process = is_process,
	};
	return 0;
}

static void add_aside(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	int on_stream = wt_kineto_is_aside(ev) && ev->flags & WT_KINETO_HAS_STREAM;
	struct wt_aside a = {.process = k->process,
			     .first = k->nitems == 1,
			     .stream = on_stream ? ev->stream : -1,
			     .correlation = ev->correlation};

	if (ev->ph != 'X' || !(ev->flags & WT_KINETO_HAS_DUR) || !times(ev, &a.start_ns, &a.end_ns))
		return;
	a.name = name_of(k, ev);
	wt_builder_aside(k->b, &a);
}

/* Of devices alone; old rows say neither device nor totals. Devices beyond the table's are none. */
static void add_memory(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	struct wt_kineto_memory *m = NULL;

	if (!(ev->flags & WT_KINETO_HAS_MEMORY) || !ev->memory_type ||
	    ev->memory_device > INT32_MAX || ev->total_allocated > INT64_MAX ||
	    ev->total_reserved > INT64_MAX)
		return;
	for (size_t i = 0; i < k->nmemories && !m; i++)
		if (k->memories[i].row.device == (int64_t)ev->memory_device)
			m = &k->memories[i];
	if (!m) {
		if (k->nmemories == WT_KINETO_MEMORIES)
			return;
		m = &k->memories[k->nmemories++];
		*m = (struct wt_kineto_memory){
			.last_ns = INT64_MIN,
			.row = {.device = (int64_t)ev->memory_device, .source = WT_MEMORY_ROWS}};
	}
	m->row.events++;
	if (ev->total_allocated > m->row.peak_allocated)
		m->row.peak_allocated = ev->total_allocated;
	if (ev->total_reserved > m->row.peak_reserved)
		m->row.peak_reserved = ev->total_reserved;
	/* Rows are in no order. */
	if (!(ev->flags & WT_KINETO_HAS_TS) || ev->ts_ns < m->last_ns)
		return;
	m->last_ns = ev->ts_ns;
	m->row.allocated = ev->total_allocated;
	m->row.reserved = ev->total_reserved;
}

void wt_kineto_deliver_memory(struct wt_kineto *k)
{
	for (size_t i = 0; i < k->nmemories; i++) {
		k->memories[i].row.process = k->process;
		wt_builder_memory(k->b, &k->memories[i].row);
	}
}

int wt_kineto_deliver(struct wt_kineto *k, const struct wt_kineto_event *ev)
{
	if (ev->ph == 'M')
		return add_name(k, ev);
	if (ev->ph == 'i') {
		add_memory(k, ev);
		return 0;
	}
	if (ev->ph == 'C')
		return wt_kineto_count(k, ev);
	if (wt_builder_keeps_asides(k->b) && (k->nitems == 1 || wt_kineto_is_aside(ev)))
		add_aside(k, ev);
	switch (ev->cat) {
	case WT_KINETO_CALL:
		add_call(k, ev);
		return k->error;
	case WT_KINETO_IGNORED: /* an aside */
		return 0;
	case WT_KINETO_RANGE:
	case WT_KINETO_OPERATOR:
	case WT_KINETO_FRAME:
		return add_host(k, ev) ? -WT_E_NOMEM : k->error;
	default:
		return add_op(k, ev) ? -WT_E_NOMEM : k->error;
	}
}

static int by_start(const void *pa, const void *pb)
{
	const struct wt_kineto_late *a = pa, *b = pb;

	if (a->op.start_ns != b->op.start_ns)
		return a->op.start_ns < b->op.start_ns ? -1 : 1;
	return a->op.correlation < b->op.correlation ? -1 : a->op.correlation > b->op.correlation;
}

/* Own rank and the other side's, in the group. "Rank" of a send or receive is the other side's, in the group. */
static void set_ranks(struct wt_kineto *k, struct wt_kineto_late *row)
{
	const char *ranks = wt_builder_get(k->b, row->group_ranks);
	int64_t own = row->rank >= 0 && !is_p2p(&row->coll) ? row->rank : k->header.rank;
	uint32_t peer;

	row->coll.rank = wt_kineto_rank_in(ranks, own);
	if (!is_p2p(&row->coll))
		return;
	peer = row->peer >= 0	? wt_kineto_rank_in(ranks, row->peer)
	       : row->rank >= 0 ? (uint32_t)row->rank
				: UINT32_MAX;
	row->coll.peer = peer <= INT32_MAX ? (int32_t)peer : -1;
}

int wt_kineto_deliver_late(struct wt_kineto *k)
{
	for (size_t i = 0; i < k->nlate; i++)
		note_start(k, k->late[i].op.start_ns);
	if (k->nlate)
		qsort(k->late, k->nlate, sizeof(*k->late), by_start);
	for (size_t i = 0; i < k->nlate; i++) {
		struct wt_kineto_late *row = &k->late[i];
		struct wt_op *op = &row->op;
		uint32_t *seq;
		int64_t before_ns;

		if (!(op->flags & WT_OP_UNTIMED) && op->start_ns <= 0 && k->first_ns != INT64_MAX &&
		    (__builtin_sub_overflow(k->first_ns, op->start_ns, &before_ns) ||
		     before_ns > DAY_NS)) {
			op->start_ns = op->end_ns = 0;
			op->flags |= WT_OP_UNTIMED;
			k->untimed++;
		}
		if (row->coll.name) {
			seq = wt_map_slot(&k->seqs, row->coll.comm, 0, NULL);
			if (!seq)
				return -WT_E_NOMEM;
			/* Ranks send and receive unequally often: those are not numbered. */
			if (is_p2p(&row->coll))
				row->coll.seq = 0;
			else if (!row->has_seq)
				row->coll.seq = *seq;
			*seq += !is_p2p(&row->coll);
			if (!row->has_seq)
				row->coll.flags |= WT_COLL_SEQ_COUNTED;
			set_ranks(k, row);
			op->collective = wt_builder_collective(k->b, &row->coll);
		}
		wt_builder_op(k->b, op);
	}
	return 0;
}

void wt_kineto_apply_names(struct wt_kineto *k)
{
	for (size_t i = 0; i < k->nnames; i++) {
		const struct wt_kineto_name *n = &k->names[i];
		uint32_t thread;

		if (n->is_process && (!k->has_main || n->pid != k->main_pid))
			continue;
		if (n->is_process)
			wt_builder_process_at(k->b, k->process)->name = n->name;
		else if (wt_map_get(&k->threads, wt_mix64((uint64_t)n->tid) ^ k->process,
				    &thread) &&
			 wt_builder_thread_at(k->b, thread)->tid == n->tid)
			wt_builder_thread_at(k->b, thread)->name = n->name;
	}
}
