/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ids mean (pack.h): before a batch is emitted, every id it uses that its segment has not explained yet is
 * explained by a Strings, Functions, Shapes, Streams, Threads, Comms, Contexts, Graphs or Ops packet.
 *
 * Order matters once: things name strings, so they are walked first and strings are said before them.
 * An id is file-wide for ever, and means nothing in a segment before that segment has said it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/pack.h"
#include "agent/proc_text.h"
#include "agent/registry.h"
#include "collectors/cupti_activity.h"

#define SAY_ROWS  512u
#define SAY_BYTES (256u << 10) /* of text in one Strings packet */
#define NODES_MAX 65536u       /* of one graph that is described node by node */

int wt_tables_open(struct wt_pack *p)
{
	const struct {
		struct wt_table *t;
		size_t bytes;
		uint32_t cap;
	} all[] = {
		{&p->strings, sizeof(struct wt_str), 1u << 20},
		{&p->functions, sizeof(struct wt_fun), 1u << 20},
		{&p->shapes, sizeof(struct wt_shape), 1u << 20},
		{&p->gemms, sizeof(struct wt_gemm), 1u << 18},
		{&p->streams, sizeof(struct wt_stream), 1u << 18},
		{&p->threads, sizeof(struct wt_thread), 1u << 18},
		{&p->comms, sizeof(struct wt_plain), 1u << 16},
		{&p->execs, sizeof(struct wt_exec), 1u << 20},
		{&p->ops, sizeof(struct wt_plain), WT_OPS_MAX},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (wt_table_open(all[i].t, all[i].bytes, all[i].cap) != 0)
			return -WT_E_NOMEM;
	/* Its line of the head comes before the slots. */
	p->addresses = (struct wt_address *)(wt_box_piece(WT_PIECE_ADDRESSES, 0));
	if (!p->addresses)
		p->addresses = wt_arena_get(&p->mem, WT_PIECE_BYTES);
	if (!p->addresses)
		return -WT_E_NOMEM;
	p->addresses += sizeof(struct wt_piece) / sizeof(struct wt_address);
	return wt_arena_open(&p->function_ids, (size_t)p->functions.cap * sizeof(uint32_t));
}

/* Length of the UTF-8 sequence at s; 0 = not one. */
static int utf8(const uint8_t *s)
{
	int n = s[0] < 0x80   ? 1
		: s[0] < 0xc2 ? 0
		: s[0] < 0xe0 ? 2
		: s[0] < 0xf0 ? 3
		: s[0] < 0xf5 ? 4
			      : 0;

	for (int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/* Protobuf text must be UTF-8; a name from the job may be anything. */
static const char *clean(const char *text, char *buf, size_t n)
{
	const uint8_t *s = (const uint8_t *)text;
	size_t at = 0;

	while (*s && utf8(s))
		s += utf8(s);
	if (!*s && (const char *)s - text < 4096)
		return text;
	for (s = (const uint8_t *)text; *s && at + 4 < n;) {
		int k = utf8(s);

		if (!k) {
			buf[at++] = '?';
			s++;
			continue;
		}
		memcpy(buf + at, s, (size_t)k);
		at += (size_t)k;
		s += k;
	}
	buf[at] = '\0';
	return buf;
}

static uint32_t id_of(struct wt_pack *p, uint32_t name)
{
	struct wt_str like = {.name = name};

	return name ? wt_table_id(&p->strings, name, &like, sizeof(like.name)) : 0;
}

uint32_t wt_string_id(struct wt_pack *p, const char *text)
{
	static char buf[4096];

	if (!text || !*text)
		return 0;
	return id_of(p, wt_reg_intern(clean(text, buf, sizeof(buf))));
}

uint32_t wt_string_text(struct wt_pack *p, uint32_t id)
{
	return id ? ((const struct wt_str *)wt_table_at(&p->strings, id))->name : 0;
}

int wt_string_is(struct wt_pack *p, uint32_t id, const char *text)
{
	const struct wt_str *s = id ? wt_table_at(&p->strings, id) : NULL;

	if (s && wt_config.redact)
		return wt_reg_intern(text) == s->name;
	return s && strncmp(wt_reg_name(s->name), text, 4095) == 0;
}

void wt_use_context(struct wt_pack *p, uint32_t context)
{
	if (!context || context >= WT_CONTEXTS_MAX ||
	    p->context_segment[context] == (uint32_t)p->segment + 1)
		return;
	p->context_segment[context] = (uint32_t)p->segment + 1;
	p->contexts_pending = 1;
}

uint32_t wt_comm_id(struct wt_pack *p, uint32_t reg)
{
	struct wt_plain like = {.reg = reg};
	uint32_t known = p->comms.count;
	uint32_t id = wt_table_id(&p->comms, reg, &like, sizeof(like.reg));

	if (p->comms.count > known)
		wt_reg_said(WT_REG_COMM, reg, id);
	return id;
}

static uint32_t thread_name(struct wt_pack *p, uint64_t tid)
{
	char path[64], name[64];
	ssize_t n;

	if (p->recovering)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/task/%llu/comm", (unsigned long long)tid);
	n = wt_proc_text(path, name, sizeof(name));
	if (n <= 0)
		return 0; /* gone already */
	name[n - (name[n - 1] == '\n')] = '\0';
	return wt_string_id(p, name);
}

struct wt_thread *wt_thread_of(struct wt_pack *p, uint64_t ring, uint64_t tid, uint64_t pthread)
{
	struct wt_thread like = {.ring = ring}, *t;
	uint32_t known = p->threads.count;
	uint32_t id = wt_table_id(&p->threads, ring, &like, sizeof(like.ring));

	if (!id)
		return NULL;
	t = wt_table_at(&p->threads, id);
	if (p->threads.count > known) {
		t->tid = tid;
		t->group = 1;
		t->name = thread_name(p, tid);
	}
	if (pthread)
		t->pthread = pthread;
	return t;
}

/* ---- packets ---- */

static void say_strings(struct wt_pack *p)
{
	struct wt_table *t = &p->strings;

	wt_table_sort(t);
	for (uint32_t i = 0; i < t->n_pending;) {
		Warptap__V1__Strings m = WARPTAP__V1__STRINGS__INIT;
		size_t bytes = 0, n = 0;

		m.first_id = t->pending[i];
		while (i < t->n_pending && n < WT_BATCH_ROWS && bytes < SAY_BYTES &&
		       t->pending[i] == m.first_id + n) {
			struct wt_str *s = wt_table_at(t, t->pending[i++]);

			p->texts[n] = (char *)(uintptr_t)wt_reg_name(s->name);
			bytes += strlen(p->texts[n++]);
		}
		m.text = p->texts;
		m.n_text = n;
		wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_STRINGS, &m, 0);
	}
	t->n_pending = 0;
}

static void say_functions(struct wt_pack *p, const uint32_t *ids, size_t n)
{
	Warptap__V1__Functions m = WARPTAP__V1__FUNCTIONS__INIT;
	uint64_t **w = p->table_wide;
	uint32_t **s = p->table_narrow;

	for (size_t i = 0; i < n; i++) {
		struct wt_fun *f = wt_table_at(&p->functions, ids[i]);

		w[0][i] = ids[i];
		w[1][i] = f->name;
		w[2][i] = f->module;
		s[0][i] = f->regs;
		s[1][i] = f->static_smem;
		s[2][i] = f->local_bytes;
		s[3][i] = f->max_threads;
	}
	WT_COLUMN(m, id, w[0], n);
	WT_COLUMN(m, name, w[1], n);
	WT_COLUMN(m, module, w[2], n);
	WT_COLUMN(m, regs, s[0], n);
	WT_COLUMN(m, static_smem, s[1], n);
	WT_COLUMN(m, local_bytes, s[2], n);
	WT_COLUMN(m, max_threads, s[3], n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_FUNCTIONS, &m, 0);
}

static void say_shapes(struct wt_pack *p, const uint32_t *ids, size_t n)
{
	Warptap__V1__Shapes m = WARPTAP__V1__SHAPES__INIT;
	uint32_t **s = p->table_narrow;

	for (size_t i = 0; i < n; i++) {
		const struct wt_shape *h = wt_table_at(&p->shapes, ids[i]);
		const uint32_t *v = &h->gx;

		p->table_wide[0][i] = ids[i];
		for (size_t k = 0; k < 9; k++)
			s[k][i] = v[k];
	}
	WT_COLUMN(m, id, p->table_wide[0], n);
	WT_COLUMN(m, gx, s[0], n);
	WT_COLUMN(m, gy, s[1], n);
	WT_COLUMN(m, gz, s[2], n);
	WT_COLUMN(m, bx, s[3], n);
	WT_COLUMN(m, by, s[4], n);
	WT_COLUMN(m, bz, s[5], n);
	WT_COLUMN(m, dyn_smem, s[6], n);
	WT_COLUMN(m, cluster, s[7], n);
	WT_COLUMN(m, attrs, s[8], n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_SHAPES, &m, 0);
}

static void say_gemms(struct wt_pack *p, const uint32_t *ids, size_t n)
{
	Warptap__V1__Gemms m = WARPTAP__V1__GEMMS__INIT;
	uint64_t **w = p->table_wide;
	uint32_t **s = p->table_narrow;

	for (size_t i = 0; i < n; i++) {
		const struct wt_gemm *g = wt_table_at(&p->gemms, ids[i]);
		const uint64_t *size = &g->m;
		const uint32_t *v = &g->type_a;

		w[0][i] = ids[i];
		for (size_t k = 0; k < 4; k++)
			w[k + 1][i] = size[k];
		for (size_t k = 0; k < 8; k++)
			s[k][i] = v[k];
	}
	WT_COLUMN(m, id, w[0], n);
	WT_COLUMN(m, m, w[1], n);
	WT_COLUMN(m, n, w[2], n);
	WT_COLUMN(m, k, w[3], n);
	WT_COLUMN(m, batch, w[4], n);
	WT_COLUMN(m, type_a, s[0], n);
	WT_COLUMN(m, type_b, s[1], n);
	WT_COLUMN(m, type_c, s[2], n);
	WT_COLUMN(m, compute, s[3], n);
	WT_COLUMN(m, trans, s[4], n);
	WT_COLUMN(m, flags, s[5], n);
	WT_COLUMN(m, epilogue, s[6], n);
	WT_COLUMN(m, work, s[7], n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_GEMMS, &m, 0);
}

static uint32_t context_device(uint32_t context)
{
	struct wt_reg_entry e;

	if (!wt_reg_by_id(WT_REG_CONTEXT, context, &e) || e.u.context.device < 0)
		return 0;
	return (uint32_t)e.u.context.device;
}

static void say_streams(struct wt_pack *p, const uint32_t *ids, size_t n)
{
	Warptap__V1__Streams m = WARPTAP__V1__STREAMS__INIT;
	uint64_t **w = p->table_wide;
	uint32_t **s = p->table_narrow;

	for (size_t i = 0; i < n; i++) {
		const struct wt_stream *st = wt_table_at(&p->streams, ids[i]);
		struct wt_reg_entry e = {0};

		if (st->reg)
			wt_reg_by_id(WT_REG_STREAM, st->reg, &e);
		w[0][i] = ids[i];
		w[1][i] = st->handle;
		s[0][i] = e.u.stream.cupti_id;
		s[1][i] = st->context;
		s[2][i] = context_device(st->context);
		s[3][i] = e.u.stream.flags;
		s[4][i] = (uint32_t)e.u.stream.priority;
	}
	WT_COLUMN(m, id, w[0], n);
	WT_COLUMN(m, handle, w[1], n);
	WT_COLUMN(m, cupti_id, s[0], n);
	WT_COLUMN(m, context, s[1], n);
	WT_COLUMN(m, device, s[2], n);
	WT_COLUMN(m, flags, s[3], n);
	WT_COLUMN(m, priority, s[4], n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_STREAMS, &m, 0);
}

static void say_threads(struct wt_pack *p, const uint32_t *ids, size_t n)
{
	Warptap__V1__Threads m = WARPTAP__V1__THREADS__INIT;
	uint64_t **w = p->table_wide;

	for (size_t i = 0; i < n; i++) {
		const struct wt_thread *t = wt_table_at(&p->threads, ids[i]);

		w[0][i] = ids[i];
		w[1][i] = t->tid;
		w[2][i] = t->pthread;
		w[3][i] = t->name;
	}
	WT_COLUMN(m, id, w[0], n);
	WT_COLUMN(m, tid, w[1], n);
	WT_COLUMN(m, pthread, w[2], n);
	WT_COLUMN(m, name, w[3], n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_THREADS, &m, 0);
}

static void say_comms(struct wt_pack *p, const uint32_t *ids, size_t n)
{
	static ProtobufCBinaryData keys[SAY_ROWS];
	static uint8_t bytes[SAY_ROWS][16];
	Warptap__V1__Comms m = WARPTAP__V1__COMMS__INIT;
	uint64_t **w = p->table_wide;
	uint32_t **s = p->table_narrow;

	for (size_t i = 0; i < n; i++) {
		const struct wt_plain *c = wt_table_at(&p->comms, ids[i]);
		struct wt_reg_entry e = {0};

		wt_reg_by_id(WT_REG_COMM, c->reg, &e);
		memcpy(bytes[i], e.u.comm.key, sizeof(bytes[i]));
		keys[i] = (ProtobufCBinaryData){.len = sizeof(bytes[i]), .data = bytes[i]};
		w[0][i] = ids[i];
		w[1][i] = 0;
		if (e.u.comm.parent)
			w[1][i] = wt_comm_id(p, e.u.comm.parent);
		s[0][i] = e.u.comm.rank;
		s[1][i] = e.u.comm.nranks;
		s[2][i] = e.u.comm.device < 0 ? 0 : (uint32_t)e.u.comm.device;
	}
	WT_COLUMN(m, id, w[0], n);
	m.key = keys;
	m.n_key = n;
	WT_COLUMN(m, rank, s[0], n);
	WT_COLUMN(m, nranks, s[1], n);
	WT_COLUMN(m, parent, w[1], n);
	WT_COLUMN(m, device, s[2], n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_COMMS, &m, 0);
}

static void say_op_rows(struct wt_pack *p, const uint32_t *ids, size_t n)
{
	Warptap__V1__Ops m = WARPTAP__V1__OPS__INIT;
	uint64_t **w = p->table_wide;
	uint32_t **s = p->table_narrow;

	for (size_t i = 0; i < n; i++) {
		const struct wt_plain *o = wt_table_at(&p->ops, ids[i]);

		w[0][i] = o->reg;
		w[1][i] = o->name;
		s[0][i] = p->op_kind[o->reg];
	}
	WT_COLUMN(m, id, w[0], n);
	WT_COLUMN(m, name, w[1], n);
	WT_COLUMN(m, kind, s[0], n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_OPS, &m, 0);
}

void wt_contexts_again(struct wt_pack *p)
{
	for (uint32_t id = 1; id < WT_CONTEXTS_MAX; id++)
		if (p->context_segment[id] == (uint32_t)p->segment + 1 && !p->context_cupti[id])
			p->contexts_pending = 1;
}

static void say_contexts(struct wt_pack *p)
{
	Warptap__V1__Contexts m = WARPTAP__V1__CONTEXTS__INIT;
	uint32_t **s = p->table_narrow;
	size_t n = 0;

	for (uint32_t id = 1; id < WT_CONTEXTS_MAX && n < WT_BATCH_ROWS; id++) {
		struct wt_reg_entry e;

		if (p->context_segment[id] != (uint32_t)p->segment + 1 ||
		    !wt_reg_by_id(WT_REG_CONTEXT, id, &e))
			continue;
		/* Asked while it lives: CUPTI looks into the context. */
		if (!p->context_cupti[id])
			p->context_cupti[id] = e.u.context.cupti_id;
		if (!p->context_cupti[id] && e.death_tsc == UINT64_MAX)
			p->context_cupti[id] = wt_cupti_context_id(e.handle);
		s[0][n] = id;
		s[1][n] = p->context_cupti[id];
		s[2][n++] = e.u.context.device < 0 ? 0 : (uint32_t)e.u.context.device;
	}
	p->contexts_pending = 0;
	if (!n)
		return;
	WT_COLUMN(m, id, s[0], n);
	WT_COLUMN(m, cupti_id, s[1], n);
	WT_COLUMN(m, device, s[2], n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_CONTEXTS, &m, 0);
}

/* One executable graph: as many nodes as its parts count, by kind. Too many are counted, not listed: not complete. */
static void say_exec(struct wt_pack *p, uint32_t id)
{
	static const uint32_t kinds[3] = {WARPTAP__V1__COUNT_KIND__COUNT_KIND_LAUNCH,
					  WARPTAP__V1__COUNT_KIND__COUNT_KIND_COPY,
					  WARPTAP__V1__COUNT_KIND__COUNT_KIND_MEMSET};
	static uint32_t kind[NODES_MAX];
	static protobuf_c_boolean enabled[NODES_MAX];
	const struct wt_exec *x = wt_table_at(&p->execs, id);
	Warptap__V1__Graphs m = WARPTAP__V1__GRAPHS__INIT;
	uint64_t total = (uint64_t)x->nodes[0] + x->nodes[1] + x->nodes[2];
	size_t n = 0;

	m.exec = id;
	m.revision = x->revision;
	m.complete = x->complete && total <= NODES_MAX;
	for (size_t k = 0; k < 3; k++)
		for (uint32_t i = 0; i < x->nodes[k] && n < NODES_MAX; i++) {
			kind[n] = kinds[k];
			enabled[n++] = 1;
		}
	m.kind = kind;
	m.enabled = enabled;
	m.n_kind = m.n_enabled = n;
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_GRAPHS, &m, 0);
}

static void say_execs(struct wt_pack *p, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		say_exec(p, ids[i]);
}

void wt_execs_review(struct wt_pack *p)
{
	for (uint32_t id = 1; id <= p->execs.count; id++) {
		struct wt_exec *x = wt_table_at(&p->execs, id);
		struct wt_reg_entry e;

		if (x->item.segment != (uint32_t)p->segment + 1 ||
		    !wt_reg_by_id(WT_REG_EXEC, x->reg, &e) ||
		    (memcmp(x->nodes, e.u.graph.nodes, sizeof(x->nodes)) == 0 &&
		     x->complete == e.u.graph.complete))
			continue;
		memcpy(x->nodes, e.u.graph.nodes, sizeof(x->nodes));
		x->complete = e.u.graph.complete;
		x->revision++;
		say_exec(p, id);
	}
}

void wt_say_ops(struct wt_pack *p)
{
	for (uint32_t i = 1; i <= p->op_count; i++) {
		struct wt_plain like = {.reg = i};
		uint32_t id = wt_table_id(&p->ops, i, &like, sizeof(like.reg));
		struct wt_plain *o;

		if (!id)
			continue;
		o = wt_table_at(&p->ops, id);
		o->name = id_of(p, wt_reg_intern_as_is(wt_hook_name(i)));
		wt_table_use(&p->ops, id, p->segment);
	}
}

static void say_table(struct wt_pack *p, struct wt_table *t,
		      void (*say)(struct wt_pack *p, const uint32_t *ids, size_t n))
{
	for (uint32_t i = 0; i < t->n_pending; i += SAY_ROWS)
		say(p, t->pending + i, t->n_pending - i < SAY_ROWS ? t->n_pending - i : SAY_ROWS);
	t->n_pending = 0;
}

/* Parents are named by their children: said with them. The list grows while it is walked. */
static void use_parents(struct wt_pack *p)
{
	for (uint32_t i = 0; i < p->comms.n_pending; i++) {
		struct wt_plain *c = wt_table_at(&p->comms, p->comms.pending[i]);
		struct wt_reg_entry e;

		if (wt_reg_by_id(WT_REG_COMM, c->reg, &e) && e.u.comm.parent)
			wt_table_use(&p->comms, wt_comm_id(p, e.u.comm.parent), p->segment);
	}
}

/* Marks the strings that pending items of a table name. */
static void use_names(struct wt_pack *p, struct wt_table *t, size_t name_at)
{
	for (uint32_t i = 0; i < t->n_pending; i++) {
		uint32_t name;

		memcpy(&name, (uint8_t *)wt_table_at(t, t->pending[i]) + name_at, sizeof(name));
		wt_table_use(&p->strings, name, p->segment);
	}
}

void wt_pack_say(struct wt_pack *p)
{
	use_parents(p);
	use_names(p, &p->functions, offsetof(struct wt_fun, name));
	use_names(p, &p->threads, offsetof(struct wt_thread, name));
	use_names(p, &p->ops, offsetof(struct wt_plain, name));
	for (uint32_t i = 0; i < p->streams.n_pending; i++) {
		const struct wt_stream *s = wt_table_at(&p->streams, p->streams.pending[i]);

		wt_use_context(p, s->context);
	}
	if (p->strings.n_pending)
		say_strings(p);
	if (p->contexts_pending)
		say_contexts(p);
	say_table(p, &p->ops, say_op_rows);
	say_table(p, &p->functions, say_functions);
	say_table(p, &p->shapes, say_shapes);
	say_table(p, &p->gemms, say_gemms);
	say_table(p, &p->streams, say_streams);
	say_table(p, &p->threads, say_threads);
	say_table(p, &p->comms, say_comms);
	say_table(p, &p->execs, say_execs);
}
