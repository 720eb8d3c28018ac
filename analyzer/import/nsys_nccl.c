/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL's own NVTX ranges say: which collective a host call was, on which communicator, how many bytes. NCCL
 * attaches typed payloads to its ranges; they are in the file if it was exported with --include-blobs=true, described
 * by NVTX_PAYLOAD_SCHEMA_ENTRIES. Without them the names of the ranges remain.
 *
 * A kernel belongs to the collective in whose call it was launched; inside a group the launches come in
 * ncclGroupEnd, and a kernel may carry several collectives of one communicator: then the first stands for all.
 */
#include "import/nsys.h"

#include <stdlib.h>
#include <string.h>

#include "import/kineto_names.h"

#define HEADER_BYTES                                                                               \
	32u /* u32 domain, u32, u32 schema, u32, u64 payload bytes, u64 all bytes; little-endian */
#define MAX_FIELDS 65536u

enum { F_COMM, F_BYTES, F_NRANKS, F_RANK, F_PEER };

static int add_field(void *arg, sqlite3_stmt *s)
{
	static const struct {
		const char *name;
		uint8_t what;
	} known[] = {{"NCCL communicator ID", F_COMM},
		     {"Message size [bytes]", F_BYTES},
		     {"No. of ranks", F_NRANKS},
		     {"Rank", F_RANK},
		     {"Peer rank", F_PEER},
		     {"Root", F_PEER}};
	/* NVTX_PAYLOAD_ENTRY_TYPE_*: int, unsigned, uint32 and the 64-bit ones NCCL uses. */
	static const struct {
		uint8_t type, bytes;
	} types[] = {{4, 4}, {5, 4}, {7, 8}, {16, 4}, {17, 8}, {18, 8}, {22, 8}};
	struct wt_nsys *k = arg;
	const char *name = (const char *)sqlite3_column_text(s, 3);
	struct wt_nsys_field f = {.domain = sqlite3_column_int64(s, 0),
				  .schema = sqlite3_column_int64(s, 1),
				  .offset = sqlite3_column_int64(s, 5),
				  .what = 0xff};

	for (size_t i = 0; name && i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(name, known[i].name))
			f.what = known[i].what;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (sqlite3_column_int64(s, 4) == types[i].type)
			f.bytes = types[i].bytes;
	/* The first field's offset is often left out; of others it must be there. */
	if (f.what == 0xff || !f.bytes || f.offset < 0 ||
	    (sqlite3_column_type(s, 5) == SQLITE_NULL && sqlite3_column_int64(s, 2)))
		return 0;
	if (k->nfields < MAX_FIELDS && WT_NSYS_ROOM(k, fields))
		k->fields[k->nfields++] = f;
	return k->error;
}

void wt_nsys_read_payload_fields(struct wt_nsys *k)
{
	static const char *const columns[] = {"domainId", "schemaId", "idx", "name",
					      "type",	  "offset",   NULL};

	wt_nsys_read_table(k, "NVTX_PAYLOAD_SCHEMA_ENTRIES", columns, add_field);
}

static uint64_t le(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

static void read_payload(const struct wt_nsys *k, struct wt_nsys_nccl_call *c, const uint8_t *p,
			 size_t n)
{
	int64_t schema;

	if (!p || n < HEADER_BYTES)
		return;
	schema = (int64_t)le(p + 8, 4);
	p += HEADER_BYTES;
	n -= HEADER_BYTES;
	for (size_t i = 0; i < k->nfields; i++) {
		const struct wt_nsys_field *f = &k->fields[i];
		uint64_t v;

		if (f->schema != schema || (uint64_t)f->offset > n ||
		    f->bytes > n - (uint64_t)f->offset)
			continue;
		v = le(p + f->offset, f->bytes);
		if (f->what == F_COMM)
			c->comm = v;
		else if (f->what == F_BYTES)
			c->bytes = v;
		else if (f->what == F_NRANKS && v <= INT32_MAX)
			c->nranks = (uint32_t)v;
		else if (f->what == F_RANK && v <= INT32_MAX)
			c->rank = (uint32_t)v;
		else if (f->what == F_PEER && v <= INT32_MAX)
			c->peer = (int32_t)v;
	}
}

static uint8_t what_is(const char *name, uint8_t *ret_op)
{
	*ret_op = WT_COLL_NONE;
	if (!strcmp(name, "ncclGroupStart"))
		return WT_NSYS_NCCL_GROUP_START;
	if (!strcmp(name, "ncclGroupEnd"))
		return WT_NSYS_NCCL_GROUP_END;
	if (!strncmp(name, "ncclCommInit", 12) || !strncmp(name, "ncclCommSplit", 13))
		return WT_NSYS_NCCL_INIT;
	*ret_op = !strcmp(name, "ncclBcast") ? WT_COLL_BROADCAST
					     : wt_kineto_collective(name, strlen(name));
	return *ret_op ? WT_NSYS_NCCL_COLLECTIVE : WT_NSYS_NCCL_OTHER;
}

int wt_nsys_nccl_range(struct wt_nsys *k, const struct wt_range *range, const void *payload,
		       size_t n)
{
	const char *name = wt_builder_get(k->b, range->name);
	struct wt_nsys_nccl_call *c;

	if (strncmp(name, "nccl", 4) || name[4] < 'A' || name[4] > 'Z')
		return 0;
	if (!WT_NSYS_ROOM(k, nccl))
		return 1;
	c = &k->nccl[k->nnccl];
	*c = (struct wt_nsys_nccl_call){.start_ns = range->start_ns,
					.end_ns = range->end_ns,
					.thread = range->thread,
					.name = range->name,
					.nranks = UINT32_MAX,
					.rank = UINT32_MAX,
					.collective = -1,
					.peer = -1,
					.lead = -1,
					.process = range->process};
	c->what = what_is(name, &c->op);
	if (c->what == WT_NSYS_NCCL_OTHER)
		return 1;
	read_payload(k, c, payload, n);
	k->nnccl++;
	return 1;
}

static int by_thread(const void *pa, const void *pb)
{
	const struct wt_nsys_nccl_call *a = pa, *b = pb;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

/* What a process knows of a communicator since it made it; its rank in the largest is its rank in the job. */
static int learn_comms(struct wt_nsys *k, struct wt_map *comms)
{
	for (size_t i = 0; i < k->nnccl; i++) {
		const struct wt_nsys_nccl_call *c = &k->nccl[i];
		struct wt_process *p = wt_builder_process_at(k->b, c->process);

		if (c->what != WT_NSYS_NCCL_INIT || c->rank == UINT32_MAX ||
		    c->nranks == UINT32_MAX)
			continue;
		if (wt_map_put(comms, wt_nsys_key(c->process, c->comm), (uint32_t)i))
			return -WT_E_NOMEM;
		if ((int64_t)c->nranks > p->world) {
			p->world = (int32_t)c->nranks;
			p->rank = (int32_t)c->rank;
		}
	}
	return 0;
}

/* The host call and, for a collective, its row. */
static int deliver_call(struct wt_nsys *k, struct wt_nsys_nccl_call *c, const struct wt_map *comms,
			struct wt_map *seqs)
{
	struct wt_call call = {.start_ns = c->start_ns,
			       .end_ns = c->end_ns,
			       .name = c->name,
			       .thread = c->thread,
			       .stream = UINT32_MAX,
			       .parent = -1,
			       .process = c->process,
			       .kind = c->what == WT_NSYS_NCCL_INIT ? WT_CALL_COMM
								    : WT_CALL_COLLECTIVE};
	struct wt_collective row = {.comm = c->comm,
				    .bytes = c->bytes,
				    .dtype = UINT32_MAX,
				    .name = c->name,
				    .rank = UINT32_MAX,
				    .peer = c->peer,
				    .lead = c->lead,
				    .process = c->process,
				    .op = c->op,
				    .flags = WT_COLL_SEQ_COUNTED};
	uint32_t init, *seq;

	row.call = wt_builder_call(k->b, &call);
	if (c->what != WT_NSYS_NCCL_COLLECTIVE)
		return 0;
	if (c->op != WT_COLL_SEND && c->op != WT_COLL_RECV) {
		seq = wt_map_slot(seqs, wt_nsys_key(c->process, c->comm), 0, NULL);
		if (!seq)
			return -WT_E_NOMEM;
		row.seq = (*seq)++;
	}
	if (c->comm && wt_map_get(comms, wt_nsys_key(c->process, c->comm), &init)) {
		row.nranks = k->nccl[init].nranks;
		row.rank = k->nccl[init].rank;
	}
	c->collective = wt_builder_collective(k->b, &row);
	return 0;
}

/*
 * Delivers the calls in their order. The kernels of a group are launched in its end, and one may carry several of its
 * collectives: the first of each group stands for it, the others name it as their lead.
 */
static int deliver_calls(struct wt_nsys *k, const struct wt_map *comms, struct wt_map *seqs)
{
	int depth = 0, err = 0;
	int32_t lead = -1;

	for (size_t i = 0; i < k->nnccl && !err; i++) {
		struct wt_nsys_nccl_call *c = &k->nccl[i];

		if (i &&
		    (k->nccl[i - 1].thread != c->thread || k->nccl[i - 1].process != c->process))
			depth = 0;
		if (c->what == WT_NSYS_NCCL_GROUP_START && !depth++)
			lead = -1;
		c->lead = depth ? lead : -1;
		err = deliver_call(k, c, comms, seqs);
		if (c->what == WT_NSYS_NCCL_COLLECTIVE && depth && lead < 0)
			lead = c->collective;
		if (c->what == WT_NSYS_NCCL_GROUP_END && depth && !--depth)
			c->collective = lead;
	}
	return err;
}

/* The collective of the NCCL call of this thread that was running at t; -1. Groups' ends and plain calls only. */
static int32_t collective_at(const struct wt_nsys *k, const struct wt_nsys_nccl_op *o)
{
	size_t lo = 0, hi = k->nnccl;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct wt_nsys_nccl_call *c = &k->nccl[mid];

		if (c->process < o->op.process ||
		    (c->process == o->op.process &&
		     (c->thread < o->thread ||
		      (c->thread == o->thread && c->start_ns <= o->launch_ns))))
			lo = mid + 1;
		else
			hi = mid;
	}
	/* Calls nest two deep at most: a group's end holds no range of NCCL's own but itself. */
	for (int n = 0; n < 4 && lo; n++) {
		const struct wt_nsys_nccl_call *c = &k->nccl[--lo];

		if (c->process != o->op.process || c->thread != o->thread)
			break;
		if (c->end_ns >= o->launch_ns && c->collective >= 0)
			return c->collective;
	}
	return -1;
}

void wt_nsys_nccl_finish(struct wt_nsys *k)
{
	struct wt_map comms = {.count = 0}, seqs = {.count = 0};

	if (k->nnccl)
		qsort(k->nccl, k->nnccl, sizeof(*k->nccl), by_thread);
	if (learn_comms(k, &comms))
		k->error = -WT_E_NOMEM;
	if (!k->error)
		k->error = deliver_calls(k, &comms, &seqs);
	for (size_t i = 0; i < k->nnccl_ops; i++) {
		struct wt_nsys_nccl_op *o = &k->nccl_ops[i];

		if (o->thread != UINT32_MAX)
			o->op.collective = collective_at(k, o);
		wt_builder_op(k->b, &o->op);
	}
	wt_map_release(&comms);
	wt_map_release(&seqs);
}
