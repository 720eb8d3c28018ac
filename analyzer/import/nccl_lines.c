/* SPDX-License-Identifier: Apache-2.0 */
/* See nccl_lines.h. */
#include "import/nccl_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "import/decimal.h"
#include "import/kineto_names.h"

#define MAX_SEATS 60000u /* processes of a timeline are 16 bits */

struct wt_nccl *wt_nccl_new(struct wt_builder *b, uint32_t input)
{
	struct wt_nccl *k = calloc(1, sizeof(*k));

	if (k) {
		k->b = b;
		k->input = input;
	}
	return k;
}

void wt_nccl_free(struct wt_nccl *k)
{
	if (!k)
		return;
	wt_map_release(&k->seats);
	wt_map_release(&k->processes);
	wt_map_release(&k->gpus);
	wt_map_release(&k->calls);
	wt_map_release(&k->launches);
	free(k->seat);
	free(k->coll);
	free(k->launch);
	free(k->kernel);
	free(k);
}

static int make_room(void **rows, size_t *room, size_t n, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *grown;

	if (n < *room)
		return 0;
	grown = realloc(*rows, more * size);
	if (!grown)
		return -WT_E_NOMEM;
	*rows = grown;
	*room = more;
	return 0;
}
#define ROOM(k_, table_)                                                                           \
	make_room((void **)&(k_)->table_, &(k_)->table_##_room, (k_)->n##table_,                   \
		  sizeof(*(k_)->table_))

/* ---- reading a record ---- */

static uint32_t get(const struct wt_values *v, uint32_t map, const char *key)
{
	return wt_value_get(v, map, key);
}

static int64_t integer(const struct wt_values *v, uint32_t map, const char *key, int64_t none)
{
	int64_t i;

	return wt_value_int(v, get(v, map, key), &i) ? i : none;
}

static int is(const struct wt_values *v, uint32_t id, const char *word)
{
	size_t n;
	const char *s = wt_value_text(v, id, &n);

	return s && n == strlen(word) && !memcmp(s, word, n);
}

static uint32_t intern(struct wt_nccl *k, const struct wt_values *v, uint32_t id)
{
	size_t n;
	const char *s = wt_value_text(v, id, &n);

	return s ? wt_builder_string(k->b, s, n) : 0;
}

/* "0x7f8c", 12715772615376301750: the number; other texts by their hash; 0 = nothing. */
static uint64_t handle(const struct wt_values *v, uint32_t id)
{
	char text[32];
	size_t n;
	const char *s = wt_value_text(v, id, &n);
	uint64_t u = 0;
	int64_t i;

	if (!s)
		return wt_value_int(v, id, &i) ? (uint64_t)i : 0;
	if (!wt_decimal_u64(s, n, &u))
		return u;
	if (n > 2 && n < sizeof(text) && s[0] == '0' && (s[1] | 0x20) == 'x') {
		snprintf(text, sizeof(text), "%.*s", (int)n, s);
		return strtoull(text, NULL, 16);
	}
	return n ? wt_hash_bytes(s, n, 0) : 0;
}

/* Microseconds, with decimals. 1 if it is a time. */
static int micros(const struct wt_values *v, uint32_t id, int64_t *ret_ns)
{
	size_t n;
	const char *s = wt_value_text(v, id, &n);

	return s && !wt_decimal_us_to_ns(s, n, ret_ns);
}

/* {"start": {"ts": 1.5}, "stop": {"ts": 2.5}} */
static int span(const struct wt_values *v, uint32_t record, int64_t *ret_start, int64_t *ret_end)
{
	return micros(v, get(v, get(v, record, "start"), "ts"), ret_start) &&
	       micros(v, get(v, get(v, record, "stop"), "ts"), ret_end) && *ret_end >= *ret_start;
}

/* "ncclFloat32" -> ncclDataType_t and bytes of an element. */
static uint32_t dtype_of(const struct wt_values *v, uint32_t id, uint32_t *ret_bytes)
{
	static const struct {
		const char *name;
		uint8_t code, bytes;
	} types[] = {{"ncclInt8", 0, 1},	{"ncclChar", 0, 1},	  {"ncclUint8", 1, 1},
		     {"ncclInt32", 2, 4},	{"ncclInt", 2, 4},	  {"ncclUint32", 3, 4},
		     {"ncclInt64", 4, 8},	{"ncclUint64", 5, 8},	  {"ncclFloat16", 6, 2},
		     {"ncclHalf", 6, 2},	{"ncclFloat32", 7, 4},	  {"ncclFloat", 7, 4},
		     {"ncclFloat64", 8, 8},	{"ncclDouble", 8, 8},	  {"ncclBfloat16", 9, 2},
		     {"ncclFloat8e4m3", 10, 1}, {"ncclFloat8e5m2", 11, 1}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (is(v, id, types[i].name)) {
			*ret_bytes = types[i].bytes;
			return types[i].code;
		}
	*ret_bytes = 0;
	return UINT32_MAX;
}

/* ---- who ---- */

static uint16_t process_of(struct wt_nccl *k, int64_t pid, int64_t rank)
{
	int isnew;
	uint32_t *at = wt_map_slot(&k->processes, (uint64_t)pid << 20 ^ (uint64_t)rank, 0, &isnew);

	if (!at)
		return 0;
	if (isnew && k->processes.count <= MAX_SEATS) {
		*at = wt_builder_process(k->b, k->input,
					 (int64_t)((uint64_t)pid << 20 ^ (uint64_t)rank));
		wt_builder_process_at(k->b, (uint16_t)*at)->pid = pid;
	}
	return (uint16_t)*at;
}

/* The rank of a communicator; NULL when memory runs out, or for absurdly many. */
static struct wt_nccl_seat *seat_of(struct wt_nccl *k, uint64_t comm, int64_t pid, int64_t rank,
				    int64_t nranks)
{
	struct wt_process *p;
	struct wt_nccl_seat *s;
	int isnew;
	uint32_t *at;

	if (rank < 0 || rank >= MAX_SEATS)
		return NULL;
	at = wt_map_slot(&k->seats, wt_mix64(comm) ^ wt_mix64((uint64_t)pid << 20 ^ (uint64_t)rank),
			 (uint32_t)k->nseat, &isnew);
	if (!at || (isnew && (k->nseat >= MAX_SEATS * 16u || ROOM(k, seat))))
		return NULL;
	if (isnew)
		k->seat[k->nseat++] = (struct wt_nccl_seat){.comm = comm,
							    .rank = (uint32_t)rank,
							    .process = process_of(k, pid, rank),
							    .called = -1,
							    .finished = -1};
	if (*at >= k->nseat)
		return NULL;
	s = &k->seat[*at];
	if (nranks > 0 && nranks <= INT32_MAX)
		s->nranks = (uint32_t)nranks;
	/* The rank in the largest communicator is taken for that of the job. */
	p = wt_builder_process_at(k->b, s->process);
	if ((int64_t)s->nranks > p->world) {
		p->world = (int32_t)s->nranks;
		p->rank = (int32_t)rank;
	}
	return s;
}

static int32_t add_collective(struct wt_nccl *k, struct wt_nccl_seat *s, struct wt_collective c)
{
	c.comm = s->comm;
	c.nranks = s->nranks;
	c.rank = s->rank;
	c.process = s->process;
	c.flags = WT_COLL_COMPLETED;
	c.op = wt_kineto_collective(wt_builder_get(k->b, c.name),
				    strlen(wt_builder_get(k->b, c.name)));
	if (c.op == WT_COLL_SEND || c.op == WT_COLL_RECV) {
		c.seq = 0;
	} else if (c.seq <= INT64_MAX) {
		s->called = (int64_t)c.seq > s->called ? (int64_t)c.seq : s->called;
		s->finished = s->called;
	}
	return wt_builder_collective(k->b, &c);
}

/* ---- NCCL Inspector ---- */

static void widen(int64_t start, int64_t end, int64_t *lo, int64_t *hi)
{
	*lo = start < *lo ? start : *lo;
	*hi = end > *hi ? end : *hi;
}

/* The kernel's time over all its channels, when the record is verbose. */
static void add_traced_kernel(struct wt_nccl *k, const struct wt_values *v, uint32_t perf,
			      const struct wt_nccl_seat *s, int32_t collective, uint32_t name)
{
	uint32_t events = get(v, get(v, perf, "event_trace_ts"), "kernel_events"), event;
	struct wt_value_iterator it = {.block = 0};
	int64_t lo = INT64_MAX, hi = INT64_MIN, start, end;
	struct wt_op op = {.name = name,
			   .call = -1,
			   .collective = collective,
			   .process = s->process,
			   .kind = WT_OP_KERNEL};

	while ((event = wt_value_next(v, events, &it)))
		if (micros(v, get(v, event, "kernel_start_ts"), &start) &&
		    micros(v, get(v, event, "kernel_stop_ts"), &end) && end >= start && start > 0)
			widen(start, end, &lo, &hi);
	if (lo > hi)
		return;
	op.start_ns = lo;
	op.end_ns = hi;
	op.device = wt_builder_device(k->b, s->process, 0, NULL);
	op.stream = wt_builder_stream(k->b, s->process, op.device, (int64_t)(s->comm >> 1));
	wt_builder_op(k->b, &op);
}

static int add_inspector(struct wt_nccl *k, const struct wt_values *v, uint32_t root)
{
	uint32_t header = get(v, root, "header"), perf = get(v, root, "coll_perf"), name;
	const char *prefix = "coll";
	char key[32], text[64];
	struct wt_nccl_seat *s;
	struct wt_collective c = {.dtype = UINT32_MAX, .call = -1, .peer = -1, .lead = -1};
	int64_t bytes;

	if (!perf) {
		perf = get(v, root, "p2p_perf");
		prefix = "p2p";
	}
	if (!header || !perf)
		return 0;
	s = seat_of(k, handle(v, get(v, header, "id")),
		    integer(v, get(v, root, "metadata"), "pid", -1), integer(v, header, "rank", -1),
		    integer(v, header, "n_ranks", 0));
	if (!s)
		return 0;
	k->known++;
	name = get(v, perf, prefix);
	c.name = intern(k, v, name);
	snprintf(key, sizeof(key), "%s_sn", prefix);
	c.seq = (uint64_t)integer(v, perf, key, 0);
	snprintf(key, sizeof(key), "%s_msg_size_bytes", prefix);
	bytes = integer(v, perf, key, 0);
	c.bytes = bytes > 0 ? (uint64_t)bytes : 0;
	c.peer = (int32_t)integer(v, perf, "peer", -1);
	/* The kernel has no name of its own in these records; this one is of the family that it belongs to. */
	snprintf(text, sizeof(text), "ncclDevKernel_%.40s", wt_builder_get(k->b, c.name));
	add_traced_kernel(k, v, perf, s, add_collective(k, s, c), wt_builder_cstring(k->b, text));
	return 0;
}

/* ---- profiler plugins ---- */

static int add_coll(struct wt_nccl *k, const struct wt_values *v, uint32_t root,
		    struct wt_nccl_seat *s)
{
	uint32_t details = get(v, root, "details"), bytes, call;
	struct wt_collective c = {
		.name = intern(k, v, get(v, details, "func")), .call = -1, .peer = -1, .lead = -1};
	int64_t count = integer(v, details, "count", 0);

	c.dtype = dtype_of(v, get(v, details, "dtype"), &bytes);
	c.count = count > 0 ? (uint64_t)count : 0;
	if (__builtin_mul_overflow(c.count, (uint64_t)bytes, &c.bytes))
		c.bytes = 0;
	c.seq = (uint64_t)integer(v, details, "seq", 0);
	c.peer = (int32_t)integer(v, details, "peer", -1);
	if (wt_map_get(&k->calls, handle(v, get(v, root, "parentObj")), &call))
		c.call = (int32_t)call;
	if (ROOM(k, coll))
		return -WT_E_NOMEM;
	k->coll[k->ncoll] = (struct wt_nccl_coll){.called_ns = INT64_MIN,
						  .collective = add_collective(k, s, c),
						  .process = s->process};
	micros(v, get(v, get(v, root, "start"), "ts"), &k->coll[k->ncoll++].called_ns);
	return 0;
}

static int add_api(struct wt_nccl *k, const struct wt_values *v, uint32_t root,
		   struct wt_nccl_seat *s)
{
	char name[64];
	struct wt_call call = {.stream = UINT32_MAX,
			       .parent = -1,
			       .process = s->process,
			       .kind = WT_CALL_COLLECTIVE};

	if (!span(v, root, &call.start_ns, &call.end_ns))
		return 0;
	snprintf(name, sizeof(name), "nccl%.40s",
		 wt_builder_get(k->b, intern(k, v, get(v, get(v, root, "details"), "func"))));
	call.name = wt_builder_cstring(k->b, name);
	call.thread =
		wt_builder_thread(k->b, s->process, integer(v, get(v, root, "start"), "tid", 0));
	return wt_map_put(&k->calls, handle(v, get(v, root, "eventAddr")),
			  (uint32_t)wt_builder_call(k->b, &call))
		       ? -WT_E_NOMEM
		       : 0;
}

/* The launch of a group's kernel; CUPTI's record of the kernel names it by the external correlation. */
static int add_launch(struct wt_nccl *k, const struct wt_values *v, uint32_t root,
		      struct wt_nccl_seat *s)
{
	int64_t id = integer(v, root, "extCorrId", 0);
	struct wt_call call = {.correlation = (uint64_t)id,
			       .stream = UINT32_MAX,
			       .parent = -1,
			       .process = s->process,
			       .kind = WT_CALL_LAUNCH};

	if (id <= 0 || !span(v, root, &call.start_ns, &call.end_ns))
		return 0;
	call.name = wt_builder_cstring(k->b, "ncclKernelLaunch");
	call.thread =
		wt_builder_thread(k->b, s->process, integer(v, get(v, root, "start"), "tid", 0));
	wt_builder_call(k->b, &call);
	if (ROOM(k, launch) || wt_map_put(&k->launches, (uint64_t)id, (uint32_t)k->nlaunch))
		return -WT_E_NOMEM;
	k->launch[k->nlaunch++] =
		(struct wt_nccl_launch){.start_ns = call.start_ns, .process = s->process};
	return 0;
}

static int add_nothing(struct wt_nccl *k, const struct wt_values *v, uint32_t root,
		       struct wt_nccl_seat *s)
{
	return 0;
}

static const struct {
	const char *type;
	int (*add)(struct wt_nccl *k, const struct wt_values *v, uint32_t root,
		   struct wt_nccl_seat *s);
} types[] = {
	{"ncclProfileColl", add_coll},	    {"ncclProfileP2p", add_coll},
	{"ncclProfileCollApi", add_api},    {"ncclProfileP2pApi", add_api},
	{"ProfilerLifecycle", add_nothing}, {"ncclProfileKernelLaunch", add_launch},
};

static int add_kernel(struct wt_nccl *k, const struct wt_values *v, uint32_t root)
{
	uint32_t details = get(v, root, "details");
	struct wt_op op = {.call = -1, .collective = -1, .kind = WT_OP_KERNEL};
	struct wt_shape shape = {.grid = {(uint32_t)integer(v, details, "gridX", 0),
					  (uint32_t)integer(v, details, "gridY", 0),
					  (uint32_t)integer(v, details, "gridZ", 0)},
				 .block = {(uint32_t)integer(v, details, "blockX", 0),
					   (uint32_t)integer(v, details, "blockY", 0),
					   (uint32_t)integer(v, details, "blockZ", 0)}};

	if (!span(v, root, &op.start_ns, &op.end_ns))
		return 0;
	op.name = intern(k, v, get(v, root, "name"));
	op.shape = wt_builder_shape(k->b, &shape);
	op.correlation = (uint64_t)integer(v, root, "extCorrId", 0);
	op.stream = (uint32_t)handle(
		v, get(v, root, "stream")); /* the builder's when its device is known */
	op.device = (uint16_t)(integer(v, root, "deviceId", 0) & 0xfff);
	if (ROOM(k, kernel))
		return -WT_E_NOMEM;
	k->kernel[k->nkernel++] =
		(struct wt_nccl_kernel){.op = op, .gpu = handle(v, get(v, root, "gpuUuid"))};
	return 0;
}

static int add_event(struct wt_nccl *k, const struct wt_values *v, uint32_t root)
{
	struct wt_nccl_seat *s;
	uint64_t gpu;

	if (is(v, get(v, root, "recordType"), "cuptiActivity")) {
		k->known++;
		return is(v, get(v, root, "type"), "KERNEL") ? add_kernel(k, v, root) : 0;
	}
	if (is(v, get(v, root, "recordType"), "state")) {
		k->known++;
		return 0;
	}
	s = seat_of(k, handle(v, get(v, root, "commId")),
		    integer(v, get(v, root, "start"), "pid", -1), integer(v, root, "rank", -1),
		    integer(v, get(v, root, "details"), "nranks", 0));
	if (!s)
		return 0;
	gpu = handle(v, get(v, root, "gpuUuid"));
	if (gpu && wt_map_put(&k->gpus, gpu, s->process))
		return -WT_E_NOMEM;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (is(v, get(v, root, "type"), types[i].type)) {
			k->known++;
			return types[i].add(k, v, root, s);
		}
	return 0;
}

int wt_nccl_object(struct wt_nccl *k, const struct wt_values *v)
{
	uint32_t root = wt_values_root(v);

	return get(v, root, "header") ? add_inspector(k, v, root) : add_event(k, v, root);
}

/* ---- at the end ---- */

static int by_launch(const void *pa, const void *pb)
{
	const struct wt_nccl_kernel *x = pa, *y = pb;

	if (x->op.process != y->op.process)
		return x->op.process < y->op.process ? -1 : 1;
	if (x->launch_ns != y->launch_ns)
		return x->launch_ns < y->launch_ns ? -1 : 1;
	return (x->op.start_ns > y->op.start_ns) - (x->op.start_ns < y->op.start_ns);
}

/* Who launched a kernel, else whose GPU it is, else nobody that we know. */
static void place_kernel(struct wt_nccl *k, struct wt_nccl_kernel *kernel)
{
	struct wt_op *op = &kernel->op;
	uint32_t i;

	kernel->launch_ns = INT64_MAX;
	if (wt_map_get(&k->launches, op->correlation, &i)) {
		op->process = k->launch[i].process;
		kernel->launch_ns = k->launch[i].start_ns;
	} else {
		op->process =
			wt_map_get(&k->gpus, kernel->gpu, &i) ? (uint16_t)i : process_of(k, -1, 0);
	}
	op->device = wt_builder_device(k->b, op->process, op->device, NULL);
	op->stream = wt_builder_stream(k->b, op->process, op->device, op->stream);
}

/*
 * A collective is put on its way between the launch of its kernel and the next one of its rank. The first of a group
 * stands for the kernel, the others ride along.
 */
static void give_collective(struct wt_nccl *k, const struct wt_nccl_coll *c)
{
	size_t lo = 0, hi = k->nkernel;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct wt_nccl_kernel *x = &k->kernel[mid];

		if (x->op.process < c->process ||
		    (x->op.process == c->process && x->launch_ns <= c->called_ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo && k->kernel[lo - 1].op.process == c->process && k->kernel[lo - 1].op.collective < 0)
		k->kernel[lo - 1].op.collective = c->collective;
}

int wt_nccl_finish(struct wt_nccl *k)
{
	for (size_t i = 0; i < k->nkernel; i++)
		place_kernel(k, &k->kernel[i]);
	if (k->nkernel)
		qsort(k->kernel, k->nkernel, sizeof(*k->kernel), by_launch);
	for (size_t i = 0; i < k->ncoll; i++)
		give_collective(k, &k->coll[i]);
	for (size_t i = 0; i < k->nkernel; i++)
		wt_builder_op(k->b, &k->kernel[i].op);
	for (size_t i = 0; i < k->nseat; i++) {
		const struct wt_nccl_seat *s = &k->seat[i];
		int32_t rank = wt_builder_process_at(k->b, s->process)->rank;

		if (s->called < 0 || rank < 0)
			continue;
		wt_builder_member(k->b, &(struct wt_member){.comm = s->comm,
							    .place = (int32_t)s->rank,
							    .rank = rank});
		wt_builder_standing(k->b, &(struct wt_standing){.comm = s->comm,
								.enqueued = s->called,
								.started = -1,
								.completed = s->finished,
								.process = s->process});
	}
	return 0;
}
