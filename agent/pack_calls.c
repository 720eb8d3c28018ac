/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host rows: records of one chunk -> one HostCalls packet; those of collectives also -> Collectives rows.
 *
 * Raw handles become ids here, by (handle, the call's own start): a handle the driver gave out again is another id.
 * A handle the registry does not know still gets an id of its own, without a name: rows of one stream stay together.
 * Rows keep the order of the ring; (ring, first_seq + row) names a row for ever, so a row is emitted exactly once.
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/marks.h"
#include "agent/pack.h"
#include "agent/registry.h"

/* What a hook's record means, beyond its kind. */
#define RULE_STREAM   1u /* the stream field counts, 0 being the default stream */
#define RULE_FUNCTION 2u
#define RULE_EXEC     4u
#define RULE_COMM     8u
#define RULE_RAW      32u /* object is an address, or a handle that nothing else names */
#define RULE_BYTES    64u
#define RULE_GEMM     128u

#define KIND(k_) WARPTAP__V1__COUNT_KIND__COUNT_KIND_##k_

static const uint8_t rule_of_kind[] = {
	[KIND(LAUNCH)] = RULE_STREAM | RULE_FUNCTION,
	[KIND(GRAPH_LAUNCH)] = RULE_STREAM | RULE_EXEC,
	[KIND(COPY)] = RULE_STREAM | RULE_BYTES,
	[KIND(MEMSET)] = RULE_STREAM | RULE_BYTES,
	[KIND(COLLECTIVE)] = RULE_STREAM | RULE_COMM,
	[KIND(HOST_FUNC)] = RULE_STREAM,
	[KIND(EVENT)] = RULE_RAW,
	[KIND(WAIT)] = RULE_STREAM | RULE_RAW,
	[KIND(OTHER)] = 0,
	[KIND(SYNC)] = RULE_RAW,
	[KIND(ALLOC)] = RULE_RAW | RULE_BYTES,
	[KIND(FREE)] = RULE_RAW | RULE_BYTES,
	[KIND(GRAPH)] = RULE_EXEC,
	[KIND(COMM)] = RULE_COMM,
	[KIND(GEMM)] = RULE_GEMM,
};

/* Kinds whose calls have a stream only where the name says so. */
static int name_has_stream(uint32_t kind, const char *name)
{
	if (kind == KIND(EVENT))
		return strstr(name, "Record") || strstr(name, "Stream");
	if (kind != KIND(SYNC) && kind != KIND(GRAPH) && kind != KIND(ALLOC) &&
	    kind != KIND(FREE) && kind != KIND(OTHER))
		return 0;
	return strstr(name, "Stream") || strstr(name, "Async") || strstr(name, "Upload");
}

void wt_ops_open(struct wt_pack *p)
{
	uint32_t n = wt_hook_count();

	p->op_count = n < WT_OPS_MAX - 1 ? n : WT_OPS_MAX - 1;
	for (uint32_t i = 1; i <= p->op_count; i++) {
		uint32_t kind = wt_hook_kind(i);
		const char *name = wt_hook_name(i);
		uint8_t rule = kind < sizeof(rule_of_kind) ? rule_of_kind[kind] : 0;

		if (name_has_stream(kind, name))
			rule |= RULE_STREAM;
		if (strcmp(name, "ncclGroupStart") == 0)
			p->op_group_start = i;
		if (strcmp(name, "ncclGroupEnd") == 0)
			p->op_group_end = i;
		p->op_kind[i] = (uint8_t)kind;
		p->op_rule[i] = rule;
	}
}

uint64_t wt_stream_key(const struct wt_stream *s, uint64_t ring)
{
	uint64_t key = s->handle << 16 ^ (uint64_t)s->reg << 8 ^ s->context;

	return s->handle == 2 ? key ^ ring << 24 : key; /* one per thread and context */
}

#define NOT_TO_KEEP                                                                                \
	UINT64_MAX /* instead of a birth: what was found may be another at another time */

static uint64_t kept_from(const struct wt_reg_entry *e)
{
	return e->death_tsc == UINT64_MAX ? e->birth_tsc : NOT_TO_KEEP;
}

static uint32_t stream_found(struct wt_pack *p, const struct wt_rec *r, uint64_t ring,
			     uint64_t *ret_birth)
{
	struct wt_stream like = {.handle = r->stream, .context = r->context};
	struct wt_reg_entry e;
	uint32_t id, known = p->streams.count;

	*ret_birth = r->stream > 2 ? NOT_TO_KEEP : 0;

	if (r->stream <= 1)
		like.handle = 0; /* both name the legacy stream of the context */
	if (r->stream > 2 && wt_reg_find(WT_REG_STREAM, r->stream, r->start_tsc, &e)) {
		like.reg = e.id;
		like.context = e.context;
		*ret_birth = kept_from(&e);
	} else if (r->stream > 2) {
		like.context = 0; /* a stream has one context, whichever was current */
	}
	id = wt_table_id(&p->streams, wt_stream_key(&like, ring), &like,
			 sizeof(like) - offsetof(struct wt_stream, handle));
	if (p->streams.count > known)
		wt_reg_said(WT_REG_STREAM, like.reg, id);
	wt_table_use(&p->streams, id, p->segment);
	return id;
}

static uint32_t stream_of(struct wt_pack *p, const struct wt_rec *r, uint64_t ring)
{
	uint32_t version = wt_reg_version(), segment = (uint32_t)p->segment + 1;
	struct wt_stream_memo *m =
		&p->stream_memo[(r->stream * 0x9E3779B97F4A7C15ull >> 32) % WT_STREAM_MEMOS];

	if (m->segment == segment && m->version == version && m->handle == r->stream &&
	    m->context == r->context && m->ring == ring && m->birth_tsc <= r->start_tsc)
		return m->id;
	*m = (struct wt_stream_memo){.handle = r->stream,
				     .ring = ring,
				     .context = r->context,
				     .version = version,
				     .segment = segment};
	m->id = stream_found(p, r, ring, &m->birth_tsc);
	return m->id;
}

static uint32_t function_of(struct wt_pack *p, const struct wt_rec *r, uint64_t *ret_birth)
{
	struct wt_fun like = {0};
	struct wt_reg_entry e;
	uint32_t *known = NULL, id;
	size_t same = sizeof(like) - offsetof(struct wt_fun, module);

	*ret_birth = NOT_TO_KEEP;
	if (!r->object)
		return 0;
	if (!wt_reg_find(WT_REG_FUNCTION, r->object, r->start_tsc, &e)) {
		id = wt_table_id(&p->functions, r->object << 1 | 1, &like, same);
	} else {
		*ret_birth = kept_from(&e);
		if (wt_arena_commit(&p->function_ids, ((size_t)e.id + 1) * sizeof(*known)) == 0)
			known = (uint32_t *)p->function_ids.base + e.id;
		id = known ? *known : 0;
		if (!id) {
			like.name = wt_string_id(p, wt_reg_name(e.u.function.name));
			like.module = e.u.function.module;
			like.max_threads = e.u.function.max_threads;
			id = wt_table_id(&p->functions, (uint64_t)e.id << 1, &like, same);
		}
		if (known)
			*known = id;
	}
	wt_table_use(&p->functions, id, p->segment);
	return id;
}

static uint32_t launch_bytes(const struct wt_rec *r)
{
	return r->u.launch.attrs & WT_LAUNCH_BYTES ? r->u.launch.smem : 0;
}

static uint32_t shape_of(struct wt_pack *p, const struct wt_rec *r)
{
	const uint8_t *c = r->u.launch.cluster;
	struct wt_shape like = {
		.gx = r->u.launch.gx,
		.gy = r->u.launch.gy,
		.gz = r->u.launch.gz,
		.bx = r->u.launch.bx,
		.by = r->u.launch.by,
		.bz = r->u.launch.bz,
		.dyn_smem = launch_bytes(r) ? 0 : r->u.launch.smem,
		.attrs = r->u.launch.attrs & ~WT_LAUNCH_BYTES,
	};
	size_t same = offsetof(struct wt_shape, pad) - offsetof(struct wt_shape, gx);
	uint32_t id;

	if (c[0] > 1 || c[1] > 1 || c[2] > 1) /* 1 x 1 x 1 is no cluster */
		like.cluster = (uint32_t)(c[0] | c[1] << 8 | c[2] << 16);
	id = wt_table_id(&p->shapes, wt_table_hash(&like.gx, same, 0), &like, same);
	wt_table_use(&p->shapes, id, p->segment);
	return id;
}

static uint32_t comm_of(struct wt_pack *p, const struct wt_rec *r)
{
	struct wt_reg_entry e;
	uint32_t id;

	if (!wt_reg_find(WT_REG_COMM, r->object, r->start_tsc, &e))
		return 0;
	id = wt_comm_id(p, e.id);
	wt_table_use(&p->comms, id, p->segment);
	return id;
}

static uint32_t exec_of(struct wt_pack *p, const struct wt_rec *r)
{
	struct wt_exec like = {0};
	struct wt_reg_entry e;
	uint32_t id, known = p->execs.count;

	/* A call that makes one starts before it is born, and says which it was. */
	if (!(p->op_kind[r->op] == KIND(GRAPH) && r->u.raw[0]
		      ? wt_reg_by_id(WT_REG_EXEC, (uint32_t)r->u.raw[0], &e)
		      : wt_reg_find(WT_REG_EXEC, r->object, r->start_tsc, &e)))
		return 0;
	like.reg = e.id;
	like.complete = e.u.graph.complete;
	memcpy(like.nodes, e.u.graph.nodes, sizeof(like.nodes));
	id = wt_table_id(&p->execs, e.id, &like, sizeof(like.reg));
	if (p->execs.count > known)
		wt_reg_said(WT_REG_EXEC, e.id, id);
	wt_table_use(&p->execs, id, p->segment);
	return id;
}

static uint32_t gemm_of(struct wt_pack *p, const struct wt_rec *r)
{
	struct wt_gemm like = {
		.type_a = r->u.gemm.type_a,
		.type_b = r->u.gemm.type_b,
		.type_c = r->u.gemm.type_c,
		.compute = r->u.gemm.compute,
		.trans = r->u.gemm.ops & 15,
		.flags = r->u.gemm.ops >> 4,
		.epilogue = r->u.gemm.epilogue,
		.work = r->u.gemm.work,
	};
	size_t same = sizeof(like) - offsetof(struct wt_gemm, m);
	uint32_t id;

	if (like.work) {
		like.flags = (uint32_t)r->u.gemm.epilogue << 4;
		like.epilogue = 0;
	}
	if (like.work || r->u.gemm.ops & WT_GEMM_GROUPED) { /* sums: see trace.proto */
		like.m = r->u.gemm.m | (uint64_t)r->u.gemm.n << 32;
		like.n = r->u.gemm.k | (uint64_t)r->u.gemm.batch << 32;
		like.k = r->object;
	} else {
		like.m = r->u.gemm.m | (r->object & 0xFFFF) << 32;
		like.n = r->u.gemm.n | (r->object >> 16 & 0xFFFF) << 32;
		like.k = r->u.gemm.k | (r->object >> 32 & 0xFFFF) << 32;
		like.batch = r->u.gemm.batch | (r->object >> 48) << 32;
	}
	id = wt_table_id(&p->gemms, wt_table_hash(&like.m, same, 0), &like, same);
	wt_table_use(&p->gemms, id, p->segment);
	return id;
}

static uint32_t memo_slot(const struct wt_rec *r)
{
	uint64_t h = r->object * 0x9E3779B97F4A7C15ull;

	h = (h ^ r->u.raw[0]) * 0xff51afd7ed558ccdull;
	h = (h ^ h >> 32 ^ r->u.raw[1]) * 0xc4ceb9fe1a85ec53ull;
	h = (h ^ h >> 32 ^ r->u.raw[2]) * 0xff51afd7ed558ccdull;
	return (uint32_t)(h >> 40) % WT_MEMOS;
}

/* Function and shape of a launch; a matrix product, which has no handle. */
static uint32_t again_or_new(struct wt_pack *p, const struct wt_rec *r, uint32_t rule,
			     uint32_t *ret_shape)
{
	uint32_t version = wt_reg_version(), segment = (uint32_t)p->segment + 1;
	uint32_t of_gemm = rule & RULE_GEMM ? 1u << 31 : 0; /* both kinds of row in one table */
	struct wt_memo *m = &p->memo[memo_slot(r)];

	segment |= of_gemm;
	if (m->segment != segment || m->version != version || m->object != r->object ||
	    m->raw[0] != r->u.raw[0] || m->raw[1] != r->u.raw[1] || m->raw[2] != r->u.raw[2] ||
	    m->birth_tsc > r->start_tsc) {
		m->object = r->object;
		memcpy(m->raw, r->u.raw, sizeof(m->raw));
		m->version = version;
		m->segment = segment;
		m->birth_tsc = m->shape = 0;
		if (of_gemm) {
			m->id = gemm_of(p, r);
		} else {
			m->id = function_of(p, r, &m->birth_tsc);
			m->shape = shape_of(p, r);
		}
	}
	*ret_shape = m->shape;
	return m->id;
}

static uint64_t object_of(struct wt_pack *p, const struct wt_rec *r, uint32_t rule)
{
	if (rule & RULE_EXEC)
		return exec_of(p, r);
	if (rule & RULE_COMM)
		return comm_of(p, r);
	return rule & RULE_RAW ? r->object : 0;
}

/* A collective call that was accepted: ncclSuccess, or ncclInProgress of a non-blocking communicator. */
static void add_collective(struct wt_pack *p, struct wt_thread *t, uint32_t thread,
			   const struct wt_rec *r, uint64_t call_seq, uint32_t comm,
			   uint32_t stream)
{
	struct wt_coll_row *c;

	if (r->status != 0 && r->status != 7)
		return;
	c = &p->coll[p->n_coll++];
	*c = (struct wt_coll_row){
		.comm = comm,
		.stream = stream,
		.thread = thread,
		.op = r->u.coll.op,
		.dtype = r->u.coll.dtype,
		.redop = r->u.coll.redop,
		.flags = (uint8_t)(r->flags & ~(WT_REC_LONG | WT_REC_PARENT_AHEAD)),
		.root = r->u.coll.root,
		.seq = r->u.coll.seq,
		.count = r->u.coll.count,
		.ring = t->ring,
		.call_seq = call_seq,
	};
	if (r->u.coll.group) {
		c->group = t->ring << 32 | t->group;
		t->depth = r->u.coll.group;
	}
}

/* One Collectives packet: the rows of one communicator. */
static void emit_collectives(struct wt_pack *p, uint32_t comm)
{
	Warptap__V1__Collectives m = WARPTAP__V1__COLLECTIVES__INIT;
	uint64_t **w = p->wide, last = 0;
	uint32_t **s = p->narrow;
	size_t n = 0;

	for (uint32_t i = 0; i < p->n_coll; i++) {
		const struct wt_coll_row *c = &p->coll[i];

		if (c->comm != comm)
			continue;
		w[0][n] = c->seq - last;
		last = c->seq;
		w[1][n] = c->count;
		w[2][n] = c->stream;
		w[3][n] = c->thread;
		w[4][n] = c->ring;
		w[5][n] = c->call_seq;
		w[6][n] = c->group;
		s[0][n] = c->op;
		s[1][n] = c->dtype;
		s[2][n] = (uint32_t)c->root;
		s[3][n] = c->flags;
		s[4][n++] = c->redop;
	}
	m.comm = comm;
	WT_COLUMN(m, seq_d, w[0], n);
	WT_COLUMN(m, count, w[1], n);
	WT_COLUMN(m, stream, w[2], n);
	WT_COLUMN(m, thread, w[3], n);
	WT_COLUMN(m, ring, w[4], n);
	WT_COLUMN(m, call_seq, w[5], n);
	WT_COLUMN(m, group, w[6], n);
	WT_COLUMN(m, op, s[0], n);
	WT_COLUMN(m, dtype, s[1], n);
	WT_COLUMN(m, root_or_peer, s[2], n);
	WT_COLUMN(m, flags, s[3], n);
	WT_COLUMN(m, redop, s[4], n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_COLLECTIVES, &m, n);
}

void wt_pack_collectives(struct wt_pack *p)
{
	if (!p->n_coll)
		return;
	wt_pack_begin(p); /* a new segment may have begun since the rows were gathered */
	for (uint32_t i = 0; i < p->n_coll; i++) {
		wt_table_use(&p->comms, p->coll[i].comm, p->segment);
		wt_table_use(&p->streams, p->coll[i].stream, p->segment);
		wt_table_use(&p->threads, p->coll[i].thread, p->segment);
	}
	wt_pack_say(p);
	for (uint32_t i = 0; i < p->n_coll; i++) {
		uint32_t comm = p->coll[i].comm, first = 0;

		while (p->coll[first].comm != comm)
			first++;
		if (first == i)
			emit_collectives(p, comm);
	}
	p->n_coll = 0;
}

/* CUresults after which the context, or the process, is lost: CUPTI is not asked to wait for it. */
static int is_sticky(uint32_t kind, int16_t status)
{
	if (kind == KIND(COLLECTIVE) || kind == KIND(COMM) || kind == KIND(GEMM))
		return 0;
	return status == 214 || status == 700 || status == 702 || status == 710 ||
	       (status >= 714 && status <= 719);
}

static void fill_row(struct wt_pack *p, struct wt_thread *t, uint32_t thread,
		     const struct wt_rec *r, uint64_t seq, size_t i)
{
	uint32_t op = r->op <= p->op_count ? r->op : 0;
	uint32_t rule = p->op_rule[op], kind = p->op_kind[op];
	uint32_t stream = rule & RULE_STREAM ? stream_of(p, r, t->ring) : 0;
	uint32_t shape = 0;
	uint64_t object = rule & (RULE_FUNCTION | RULE_GEMM) ? again_or_new(p, r, rule, &shape)
							     : object_of(p, r, rule);

	p->wide[2][i] = op;
	if (kind == KIND(MARK)) {
		for (int k = 3; k < 8; k++)
			p->wide[k][i] = 0;
		p->narrow[0][i] = p->narrow[1][i] = p->narrow[2][i] = 0;
		wt_pack_mark_add(p, r, seq);
		return;
	}
	p->wide[3][i] = stream;
	p->wide[4][i] = object;
	p->wide[5][i] = shape;
	p->wide[6][i] = rule & RULE_BYTES      ? r->u.copy.bytes
			: rule & RULE_FUNCTION ? launch_bytes(r)
					       : 0;
	p->wide[7][i] = r->parent;
	p->narrow[0][i] = r->context;
	p->narrow[1][i] = (uint32_t)(int32_t)r->status;
	p->narrow[2][i] = r->flags & ~WT_REC_LONG;
	if (kind == KIND(NCCL_EVENT)) {
		p->narrow[1][i] = 0;
		wt_pack_nccl_add(p, r, seq);
		return;
	}
	wt_use_context(p, r->context);
	if (kind == KIND(COLLECTIVE))
		add_collective(p, t, thread, r, seq, (uint32_t)object, stream);
	if (op && op == p->op_group_start)
		t->depth++;
	if (op && op == p->op_group_end && t->depth && --t->depth == 0)
		t->group++;
	if (is_sticky(kind, r->status))
		p->sticky = r->status;
}

/* Start and end are both rounded down, so that what was nested or in order stays so. */
static void put_times(struct wt_pack *p, const struct wt_rec *r, uint64_t *end, size_t i)
{
	uint64_t dur = r->flags & WT_REC_LONG ? (uint64_t)r->dur << 10 : r->dur;
	uint64_t start = r->start_tsc >> p->tick_shift;

	p->wide[0][i] = start - *end;
	*end = (r->start_tsc + dur) >> p->tick_shift;
	p->wide[1][i] = *end - start;
}

static void emit_calls(struct wt_pack *p, const struct wt_thread *t, uint32_t thread,
		       uint64_t first_seq, size_t n)
{
	Warptap__V1__HostCalls m = WARPTAP__V1__HOST_CALLS__INIT;
	uint64_t **w = p->wide;
	uint32_t **s = p->narrow;

	m.thread = thread;
	m.ring = t->ring;
	m.first_seq = first_seq;
	m.tick_shift = p->tick_shift;
	WT_COLUMN(m, start_gap, w[0], n);
	WT_COLUMN(m, dur, w[1], n);
	WT_COLUMN(m, op, w[2], n);
	WT_COLUMN(m, stream, w[3], n);
	WT_COLUMN(m, object, w[4], n);
	WT_COLUMN(m, shape, w[5], n);
	WT_COLUMN(m, bytes, w[6], n);
	WT_COLUMN(m, parent_back, w[7], n);
	WT_COLUMN(m, context, s[0], n);
	WT_COLUMN(m, status, s[1], n);
	WT_COLUMN(m, flags, s[2], n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_CALLS, &m, n);
}

int wt_pack_is_collective(const struct wt_pack *p, const struct wt_rec *r)
{
	return r->op && r->op <= p->op_count && p->op_kind[r->op] == KIND(COLLECTIVE) &&
	       (r->status == 0 || r->status == 7);
}

void wt_pack_collective(struct wt_pack *p, const struct wt_chunk *c, uint32_t i)
{
	const struct wt_rec *r = &c->rec[i];
	struct wt_thread *t = wt_thread_of(p, c->ring, c->tid, c->pthread);
	uint32_t rule = p->op_rule[r->op];

	if (!t)
		return;
	if (p->n_coll >= WT_BATCH_ROWS)
		wt_pack_collectives(p);
	wt_pack_begin(p);
	add_collective(p, t, wt_table_id(&p->threads, c->ring, t, sizeof(t->ring)), r,
		       c->first_seq + i, (uint32_t)object_of(p, r, rule),
		       rule & RULE_STREAM ? stream_of(p, r, t->ring) : 0);
}

void wt_pack_events(struct wt_pack *p, const struct wt_chunk *c, uint32_t from, uint32_t to,
		    int (*is_said)(const void *arg, uint64_t ring, uint64_t seq), const void *arg)
{
	struct wt_thread *t = wt_thread_of(p, c->ring, c->tid, c->pthread);
	uint32_t thread;
	int lacks = 0; /* the mark at hand: the rest of its name has no row of its own */

	if (!t || p->stopped)
		return;
	wt_pack_begin(p);
	thread = wt_table_id(&p->threads, c->ring, t, sizeof(t->ring));
	wt_table_use(&p->threads, thread, p->segment);
	for (uint32_t i = from; i < to && i < WT_CHUNK_RECS; i++) {
		const struct wt_rec *r = &c->rec[i];
		uint32_t kind = r->op <= p->op_count ? p->op_kind[r->op] : KIND(NONE);
		uint64_t seq = c->first_seq + i;

		if (kind == KIND(MARK)) {
			if (wt_mark_what(r) != WT_MARK_MORE)
				lacks = !is_said(arg, c->ring, seq);
			if (lacks)
				wt_pack_mark_add(p, r, seq);
		} else if (kind == KIND(NCCL_EVENT) && !is_said(arg, c->ring, seq)) {
			wt_pack_nccl_add(p, r, seq);
		}
	}
	wt_pack_mark_end(p);
	if (!p->n_mark && !p->n_nccl)
		return;
	wt_pack_say(p);
	wt_pack_mark_emit(p, thread, t->ring);
	wt_pack_nccl_emit(p, thread, t->ring);
}

void wt_pack_calls(struct wt_pack *p, const struct wt_chunk *c, uint32_t from, uint32_t to)
{
	struct wt_thread *t;
	uint64_t end = 0;
	uint32_t thread;
	size_t n = 0;

	if (to > WT_CHUNK_RECS || from >= to)
		return;
	t = p->stopped ? NULL : wt_thread_of(p, c->ring, c->tid, c->pthread);
	if (!t) {
		p->lost_rows += to - from;
		return;
	}
	/* Its rows are gathered while this batch fills the columns: make room for them first. */
	if (p->n_coll + (to - from) > WT_BATCH_ROWS)
		wt_pack_collectives(p);
	wt_pack_begin(p);
	thread = wt_table_id(&p->threads, c->ring, t, sizeof(t->ring));
	wt_table_use(&p->threads, thread, p->segment);
	/* A hole in the ring may have swallowed the end of a group: rows on its two sides are not one group. */
	if (t->next_seq != c->first_seq + from && t->depth) {
		t->group++;
		t->depth = 0;
	}
	for (uint32_t i = from; i < to; i++, n++) {
		const struct wt_rec *r = &c->rec[i];

		put_times(p, r, &end, n);
		fill_row(p, t, thread, r, c->first_seq + i, n);
	}
	t->next_seq = c->first_seq + to;
	wt_pack_mark_end(p);
	wt_pack_say(p);
	emit_calls(p, t, thread, c->first_seq + from, n);
	wt_pack_mark_emit(p, thread, t->ring);
	wt_pack_nccl_emit(p, thread, t->ring);
}
