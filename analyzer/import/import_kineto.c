/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kineto (torch.profiler) and other Chrome JSON files with GPU rows -> timeline, in one pass, in memory that grows
 * with the device operations and host calls alone.
 *
 * Rules: device work is complete events (ph X) of the categories kernel, gpu_memcpy, gpu_memset in either spelling;
 * the device is args.device, else the pid. Times are decimal microseconds taken as text; start and duration are
 * rounded each, end = start + duration. They stay as the file has them: baseTimeNanoseconds goes to the environment.
 *
 * A file is one process: device rows name a GPU instead of a process, so they belong to the process of the first host
 * call. Calls of another pid get a process of their own, which never joins device rows: correlation ids are unique in
 * one process only. Annotations stay with the first: in a container their pid is of another namespace than CUPTI's.
 * What the header says may come after the events, so it is applied at the end.
 *
 * Rows set aside until the end: those at or before time zero (lost time stamps, unless all of the file is there) and
 * collectives (their sequence number is their rank in time on their communicator).
 *
 * On the first syntax error it stops; what came before is delivered and the input is marked damaged.
 */
#include "import/import_kineto.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "import/decimal.h"
#include "import/kineto_event.h"
#include "import/kineto_header.h"

#define DAY_NS		 (86400 * INT64_C(1000000000))
#define MAX_DEVICES	 4096u
#define MAX_THREAD_NAMES (1u << 16)

/* A row that waits for the end of the file. */
struct late {
	struct wt_op op;
	struct wt_collective coll; /* .name 0: no collective */
	uint32_t group_ranks;	   /* string: "[0, 1]" */
	int64_t rank;		   /* as the row says; -1 = not said */
	int64_t peer;		   /* of a send or receive, by rank in the job; -1 = not said */
	int has_seq;
};
struct thread_name {
	int64_t pid, tid;
	uint32_t name;
	int is_process;
};

struct kineto {
	struct wt_builder *b;
	struct wt_json *js;
	struct wt_kineto_parser *ps;
	struct wt_kineto_header header;
	uint32_t input;
	uint16_t process;
	int64_t main_pid;
	int has_main;
	int64_t first_ns; /* earliest start above zero of all rows */
	uint64_t untimed;
	struct wt_map devices, threads, calls, seqs;
	uint16_t device_list[MAX_DEVICES]; /* builder's indices, in order of appearance */
	size_t ndevices;
	int has_events;	 /* there was an array of events */
	int is_array;	 /* without a header around it */
	uint64_t nitems; /* of it */
	struct late *late;
	size_t nlate, late_room;
	struct thread_name *names;
	size_t nnames, names_room;
	int error; /* our own, beside the scanner's: -WT_E_NOMEM, -WT_E_LIMIT */
};

/* ---- who and where ---- */

/* Of a call. */
static uint16_t process_of(struct kineto *k, const struct wt_kineto_event *ev)
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

static uint32_t thread_of(struct kineto *k, const struct wt_kineto_event *ev, uint16_t process)
{
	uint64_t key = wt_mix64((uint64_t)ev->tid) ^ process;
	int isnew;
	uint32_t *at = wt_map_slot(&k->threads, key, 0, &isnew);
	uint32_t thread;

	/* The map only saves time: two threads of one key would be a wrong row, so the builder is asked in the end. */
	if (at && !isnew && wt_builder_thread_at(k->b, *at)->tid == ev->tid &&
	    wt_builder_thread_at(k->b, *at)->process == process)
		return *at;
	thread = wt_builder_thread(k->b, process, ev->tid);
	if (at)
		*at = thread;
	return thread;
}

/* The builder's index of the event's device; 0 and k->error if there are absurdly many. */
static uint16_t device_of(struct kineto *k, const struct wt_kineto_event *ev)
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
	if (k->ndevices >= MAX_DEVICES) {
		k->error = -WT_E_LIMIT;
		return 0;
	}
	device = wt_builder_device(k->b, k->process, ordinal, NULL);
	*at = device;
	k->device_list[k->ndevices++] = device;
	return device;
}

static void note_start(struct kineto *k, int64_t start_ns)
{
	if (start_ns > 0 && start_ns < k->first_ns)
		k->first_ns = start_ns;
}

/* ---- rows ---- */

static int set_aside(struct kineto *k, const struct late *row)
{
	if (k->nlate == k->late_room) {
		size_t room = k->late_room ? k->late_room * 2 : 64;
		struct late *late = realloc(k->late, room * sizeof(*late));

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

static uint32_t shape_of(struct kineto *k, const struct wt_kineto_event *ev)
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

static void fill_collective(struct kineto *k, const struct wt_kineto_event *ev, struct late *row)
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
		.group = wt_builder_cstring(k->b, ev->group_desc),
		.process = k->process,
		.op = ev->coll_op,
	};
	if (__builtin_mul_overflow(most, (uint64_t)ev->dtype_bytes, &c->bytes))
		c->bytes = 0;
	row->group_ranks = wt_builder_cstring(k->b, ev->group_ranks);
	row->rank = ev->flags & WT_KINETO_HAS_RANK ? ev->rank : -1;
	row->peer = peer_of(ev);
}

static int add_op(struct kineto *k, const struct wt_kineto_event *ev)
{
	static const uint8_t kinds[] = {[WT_KINETO_KERNEL] = WT_OP_KERNEL,
					[WT_KINETO_COPY] = WT_OP_COPY,
					[WT_KINETO_MEMSET] = WT_OP_MEMSET};
	uint16_t device = device_of(k, ev);
	struct late row = {.has_seq = (ev->flags & WT_KINETO_HAS_SEQ) != 0};
	struct wt_op *op = &row.op;
	int usable;

	*op = (struct wt_op){
		.correlation = ev->correlation,
		.bytes = ev->bytes,
		.name = wt_builder_string(k->b, ev->name.s, ev->name.n),
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
	return 0;
}

/* The kind of a call and whether it blocks, looked up once per name. */
static uint32_t call_kind(struct kineto *k, uint32_t name)
{
	int isnew;
	uint32_t *at = wt_map_slot(&k->calls, name, 0, &isnew);
	const char *text = wt_builder_get(k->b, name);
	uint32_t kind;

	if (at && !isnew)
		return *at;
	kind = (uint32_t)wt_call_kind_by_name(text);
	if (wt_call_blocks_by_name(text))
		kind |= 0x100;
	if (at)
		*at = kind;
	return kind;
}

static void add_call(struct kineto *k, const struct wt_kineto_event *ev)
{
	uint16_t process = process_of(k, ev);
	struct wt_call call = {
		.correlation = ev->correlation,
		.stream = UINT32_MAX,
		.parent = -1,
		.process = process,
	};
	uint32_t kind;

	if (!times(ev, &call.start_ns, &call.end_ns))
		return;
	call.name = wt_builder_string(k->b, ev->name.s, ev->name.n);
	call.thread = thread_of(k, ev, process);
	kind = call_kind(k, call.name);
	call.kind = (uint8_t)kind;
	call.flags = kind & 0x100 ? WT_CALL_BLOCKING : 0;
	note_start(k, call.start_ns);
	wt_builder_call(k->b, &call);
}

static void add_range(struct kineto *k, const struct wt_kineto_event *ev)
{
	static const char prefix[] = "ProfilerStep#";
	const size_t n = sizeof(prefix) - 1;
	struct wt_range range = {.process = k->process, .kind = WT_RANGE_USER};

	if (!times(ev, &range.start_ns, &range.end_ns))
		return;
	range.name = wt_builder_string(k->b, ev->name.s, ev->name.n);
	range.thread = thread_of(k, ev, k->process);
	if (ev->name.n > n && !memcmp(ev->name.s, prefix, n) &&
	    !wt_decimal_i64(ev->name.s + n, ev->name.n - n, &range.step))
		range.kind = WT_RANGE_STEP;
	wt_builder_range(k->b, &range);
}

/* thread_name and process_name; applied at the end, when it is known who is who. */
static int add_name(struct kineto *k, const struct wt_kineto_event *ev)
{
	int is_thread = ev->name.n == 11 && !memcmp(ev->name.s, "thread_name", 11);
	int is_process = ev->name.n == 12 && !memcmp(ev->name.s, "process_name", 12);

	if ((!is_thread && !is_process) || !ev->arg_name.n || k->nnames >= MAX_THREAD_NAMES)
		return 0;
	if (k->nnames == k->names_room) {
		size_t room = k->names_room ? k->names_room * 2 : 64;
		struct thread_name *names = realloc(k->names, room * sizeof(*names));

		if (!names)
			return -WT_E_NOMEM;
		k->names = names;
		k->names_room = room;
	}
	k->names[k->nnames++] = (struct thread_name){
		.pid = ev->pid,
		.tid = ev->tid,
		.name = wt_builder_string(k->b, ev->arg_name.s, ev->arg_name.n),
		.is_process = is_process,
	};
	return 0;
}

static int deliver(struct kineto *k, const struct wt_kineto_event *ev)
{
	if (ev->ph == 'M')
		return add_name(k, ev);
	switch (ev->cat) {
	case WT_KINETO_CALL:
		add_call(k, ev);
		return k->error;
	case WT_KINETO_RANGE:
	case WT_KINETO_OPERATOR:
		add_range(k, ev);
		return k->error;
	default:
		return add_op(k, ev) ? -WT_E_NOMEM : k->error;
	}
}

/* ---- the file ---- */

static int read_events(struct kineto *k)
{
	const struct wt_kineto_event *ev;
	int rc = wt_json_peek(k->js);

	if (rc != WT_JSON_ARRAY)
		return rc < 0 ? rc : wt_json_skip(k->js);
	k->has_events = 1;
	rc = wt_json_enter_array(k->js);
	if (rc)
		return rc;
	while ((rc = wt_json_item(k->js)) > 0) {
		k->nitems++;
		rc = wt_kineto_parse(k->ps, &ev);
		if (rc > 0)
			rc = k->error = deliver(k, ev);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int read_top(struct kineto *k)
{
	struct wt_json_text key;
	int rc = wt_json_peek(k->js);

	if (rc < 0)
		return rc;
	if (rc == WT_JSON_ARRAY) {
		k->is_array = 1;
		rc = read_events(k);
		return rc < 0 ? rc : wt_json_finish(k->js);
	}
	rc = wt_json_enter_object(k->js);
	if (rc)
		return rc;
	while ((rc = wt_json_key(k->js, &key)) > 0) {
		if (key.n == 11 && !memcmp(key.s, "traceEvents", 11))
			rc = read_events(k);
		else
			rc = wt_kineto_header_key(&k->header, k->js, key);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	/* Another JSON document, or the first line of many: not ours, whatever follows. */
	if (!k->has_events)
		return 0;
	return wt_json_finish(k->js);
}

static int by_start(const void *pa, const void *pb)
{
	const struct late *a = pa, *b = pb;

	if (a->op.start_ns != b->op.start_ns)
		return a->op.start_ns < b->op.start_ns ? -1 : 1;
	return a->op.correlation < b->op.correlation ? -1 : a->op.correlation > b->op.correlation;
}

/* Own rank and the other side's, in the group. "Rank" of a send or receive is the other side's, in the group. */
static void set_ranks(struct kineto *k, struct late *row)
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

/* Rows set aside: which of them have lost their times, and the collectives' numbers. */
static int deliver_late(struct kineto *k)
{
	for (size_t i = 0; i < k->nlate; i++)
		note_start(k, k->late[i].op.start_ns);
	if (k->nlate)
		qsort(k->late, k->nlate, sizeof(*k->late), by_start);
	for (size_t i = 0; i < k->nlate; i++) {
		struct late *row = &k->late[i];
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

static void apply_names(struct kineto *k)
{
	for (size_t i = 0; i < k->nnames; i++) {
		const struct thread_name *n = &k->names[i];
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

/* What can only be said when the whole file was read; also after damage. */
static int complete(struct kineto *k)
{
	int rc = deliver_late(k);

	apply_names(k);
	wt_kineto_header_apply(&k->header, k->input, k->device_list, k->ndevices);
	if (k->untimed)
		wt_builder_note(
			k->b,
			"%s: %llu device records have no usable times: counted, they own no time",
			wt_builder_get(k->b, wt_builder_input_at(k->b, k->input)->path),
			(unsigned long long)k->untimed);
	return rc;
}

/* What read() must return for the scanner's or our own `rc`, and why. */
static int judge(struct kineto *k, int rc, struct wt_diag *diag)
{
	const struct wt_diag *scanned = wt_json_diag(k->js);
	int known =
		wt_kineto_seen(k->ps) || k->header.recognised || (k->has_events && !k->is_array);
	int err = -rc;

	if (rc == 0 && known)
		return 0;
	if (rc == 0 && k->is_array && !k->nitems)
		return 0;
	if (rc == 0)
		return wt_fail(
			diag, WT_E_FORMAT, 0,
			"JSON, but no trace: expected an object with traceEvents, or an array "
			"of trace events");
	if (!wt_json_error(k->js))
		return wt_fail(diag, err == WT_E_NOMEM ? WT_E_NOMEM : WT_E_CORRUPT,
			       wt_json_offset(k->js), "%s",
			       err == WT_E_NOMEM ? "out of memory"
						 : "more than 4096 different devices");
	if (diag)
		*diag = *scanned;
	if (err == WT_E_NOMEM)
		return rc;
	if (!known)
		return wt_fail(diag, WT_E_FORMAT, scanned->offset,
			       "not a trace: expected Kineto / Chrome JSON, %.400s", scanned->text);
	/* What came before was delivered, whatever ended it. */
	return err == WT_E_TRUNCATED || err == WT_E_IO ? -WT_E_TRUNCATED : -WT_E_CORRUPT;
}

int wt_kineto_read(struct wt_source *src, struct wt_builder *b, uint32_t input, size_t window_bytes,
		   struct wt_diag *diag)
{
	struct kineto *k = calloc(1, sizeof(*k));
	int rc = -WT_E_NOMEM, late;

	if (!k)
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	k->b = b;
	k->input = input;
	k->first_ns = INT64_MAX;
	k->process = wt_builder_process(b, input, /* pid= */ -1);
	k->header = (struct wt_kineto_header){.b = b, .process = k->process, .rank = -1};
	k->js = wt_json_new(src, window_bytes);
	k->ps = k->js ? wt_kineto_parser_new(k->js) : NULL;
	if (k->ps) {
		rc = read_top(k);
		late = complete(k);
		rc = judge(k, late ? late : rc, diag);
	} else {
		wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	}
	wt_kineto_parser_free(k->ps);
	wt_json_free(k->js);
	wt_kineto_header_release(&k->header);
	wt_map_release(&k->devices);
	wt_map_release(&k->threads);
	wt_map_release(&k->calls);
	wt_map_release(&k->seqs);
	free(k->late);
	free(k->names);
	free(k);
	return rc;
}

static int read_kineto(struct wt_source *src, struct wt_builder *b, uint32_t input,
		       struct wt_diag *diag)
{
	return wt_kineto_read(src, b, input, 0, diag);
}

/* An object, or an array of objects. What it holds is found out by reading. */
static int probe_kineto(const uint8_t *head, size_t n)
{
	static const char *const follows[] = {['{'] = "\"}", ['['] = "{]"};
	uint8_t open = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t c = head[i];

		if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
			continue;
		if (open)
			return strchr(follows[open], c) != NULL;
		if (c != '{' && c != '[')
			return 0;
		open = c;
	}
	return open != 0;
}

const struct wt_importer wt_importer_kineto = {
	.name = "kineto",
	.human = "Kineto / Chrome JSON (.json, .json.gz)",
	.probe = probe_kineto,
	.read = read_kineto,
};
