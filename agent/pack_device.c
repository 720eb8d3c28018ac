/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of CUPTI -> ApiRecords per thread word; Kernels, Copies, GraphRuns per (device, context).
 *
 * CUPTI delivers records of all threads and devices mixed; rows are gathered per key and a batch is emitted when it
 * is full, when another key needs its place, or when the block ends. The reader joins by correlation, never by order
 * of delivery. Ids are looked up when a row is gathered and marked as used when its batch is
 * emitted, because a segment may roll in between.
 */
#include <string.h>

#include "agent/pack.h"

#define SORT_MOVES (64u * WT_BATCH_ROWS)

/*
 * CUPTI shares one text among the records of a kernel; the text is compared, an address alone proves nothing. The
 * cache lies in the black box: of records that were not read before a kill it tells what their addresses pointed to.
 */
static uint32_t name_of(struct wt_pack *p, const char *name)
{
	uint32_t at = wt_address_slot((uint64_t)name);
	struct wt_address *a = NULL;

	if (!name)
		return 0;
	for (uint32_t i = 0; i < WT_ADDRESS_PROBES; i++) {
		a = &p->addresses[(at + i) % WT_PIECE_SLOTS];
		if (a->address == (uint64_t)name || !a->address)
			break;
	}
	if (a->address != (uint64_t)name || !wt_string_is(p, a->string, name)) {
		a->address = 0;
		a->string = wt_string_id(p, name);
		a->text = wt_string_text(p, a->string);
		a->address = (uint64_t)name;
	}
	return a->string;
}

static uint32_t function_of(struct wt_pack *p, const struct wt_dev_rec *r)
{
	struct wt_fun like = {
		.name = name_of(p, r->u.kernel.name),
		.regs = r->u.kernel.regs,
		.static_smem = r->u.kernel.static_smem,
		.local_bytes = r->u.kernel.local_bytes,
	};
	size_t same = sizeof(like) - offsetof(struct wt_fun, module);

	return wt_table_id(&p->functions, wt_table_hash(&like.module, same, 1), &like, same);
}

static uint32_t shape_of(struct wt_pack *p, const struct wt_dev_rec *r)
{
	struct wt_shape like = {
		.gx = r->u.kernel.grid[0],
		.gy = r->u.kernel.grid[1],
		.gz = r->u.kernel.grid[2],
		.bx = r->u.kernel.block[0],
		.by = r->u.kernel.block[1],
		.bz = r->u.kernel.block[2],
		.dyn_smem = r->u.kernel.dyn_smem,
		.cluster = r->u.kernel.cluster,
	};
	size_t same = offsetof(struct wt_shape, pad) - offsetof(struct wt_shape, gx);

	return wt_table_id(&p->shapes, wt_table_hash(&like.gx, same, 0), &like, same);
}

static void emit_api(struct wt_pack *p, const struct wt_gather *g)
{
	Warptap__V1__ApiRecords m = WARPTAP__V1__API_RECORDS__INIT;
	uint64_t *correlation = p->wide[0];
	uint32_t **s = p->narrow, last = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		correlation[i] = (uint64_t)((int64_t)g->row[i].correlation - (int64_t)last);
		last = g->row[i].correlation;
		s[0][i] = g->row[i].a;
		s[1][i] = g->row[i].b;
	}
	m.thread_word = (uint32_t)g->key;
	if (g->n && g->row[0].start && g->row[0].end >= g->row[0].start) {
		m.first_ns = g->row[0].start;
		m.first_dur = g->row[0].end - g->row[0].start;
	}
	WT_COLUMN(m, correlation_d, correlation, g->n);
	WT_COLUMN(m, cbid, s[0], g->n);
	WT_COLUMN(m, runtime, s[1], g->n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_API, &m, g->n);
}

/* The columns that all device rows have: start_gap, dur, correlation_d, graph node; stream, graph, flags. */
static void common(struct wt_pack *p, const struct wt_gather *g)
{
	uint64_t **w = p->wide, end = 0;
	uint32_t **s = p->narrow, last = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		const struct wt_dev_row *r = &g->row[i];

		w[0][i] = r->start - end;
		w[1][i] = r->end > r->start ? r->end - r->start : 0;
		end = r->start + w[1][i];
		w[2][i] = (uint64_t)((int64_t)r->correlation - (int64_t)last);
		last = r->correlation;
		w[3][i] = r->graph_node;
		s[0][i] = r->stream;
		s[1][i] = r->graph;
		s[2][i] = r->flags;
	}
}

static void emit_kernels(struct wt_pack *p, const struct wt_gather *g)
{
	Warptap__V1__Kernels m = WARPTAP__V1__KERNELS__INIT;
	uint64_t **w = p->wide;

	for (uint32_t i = 0; i < g->n; i++) {
		w[4][i] = g->row[i].a;
		w[5][i] = g->row[i].b;
		/* Both lists may have to be said more than once: 1,024 rows use at most as many of each. */
		wt_table_use(&p->functions, g->row[i].a, p->segment);
		wt_table_use(&p->shapes, g->row[i].b, p->segment);
	}
	wt_pack_say(p);
	common(p, g);
	m.device = (uint32_t)(g->key >> 32);
	m.context = (uint32_t)g->key;
	WT_COLUMN(m, start_gap, w[0], g->n);
	WT_COLUMN(m, dur, w[1], g->n);
	WT_COLUMN(m, function, w[4], g->n);
	WT_COLUMN(m, stream, p->narrow[0], g->n);
	WT_COLUMN(m, shape, w[5], g->n);
	WT_COLUMN(m, correlation_d, w[2], g->n);
	WT_COLUMN(m, graph_node, w[3], g->n);
	WT_COLUMN(m, graph, p->narrow[1], g->n);
	WT_COLUMN(m, flags, p->narrow[2], g->n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_KERNELS, &m, g->n);
}

static void emit_copies(struct wt_pack *p, const struct wt_gather *g)
{
	Warptap__V1__Copies m = WARPTAP__V1__COPIES__INIT;
	uint64_t **w = p->wide;
	uint32_t **s = p->narrow;

	common(p, g);
	for (uint32_t i = 0; i < g->n; i++) {
		w[4][i] = g->row[i].bytes;
		s[3][i] = g->row[i].a;
		s[4][i] = g->row[i].b;
		s[5][i] = g->row[i].src_mem;
		s[6][i] = g->row[i].dst_mem;
	}
	m.device = (uint32_t)(g->key >> 32);
	m.context = (uint32_t)g->key;
	WT_COLUMN(m, start_gap, w[0], g->n);
	WT_COLUMN(m, dur, w[1], g->n);
	WT_COLUMN(m, kind, s[3], g->n);
	WT_COLUMN(m, bytes, w[4], g->n);
	WT_COLUMN(m, stream, s[0], g->n);
	WT_COLUMN(m, correlation_d, w[2], g->n);
	WT_COLUMN(m, graph_node, w[3], g->n);
	WT_COLUMN(m, graph, s[1], g->n);
	WT_COLUMN(m, peer_device, s[4], g->n);
	WT_COLUMN(m, flags, s[2], g->n);
	WT_COLUMN(m, src_mem, s[5], g->n);
	WT_COLUMN(m, dst_mem, s[6], g->n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_COPIES, &m, g->n);
}

static void emit_graphs(struct wt_pack *p, const struct wt_gather *g)
{
	Warptap__V1__GraphRuns m = WARPTAP__V1__GRAPH_RUNS__INIT;

	common(p, g);
	m.device = (uint32_t)(g->key >> 32);
	m.context = (uint32_t)g->key;
	WT_COLUMN(m, start_gap, p->wide[0], g->n);
	WT_COLUMN(m, dur, p->wide[1], g->n);
	WT_COLUMN(m, graph, p->narrow[1], g->n);
	WT_COLUMN(m, stream, p->narrow[0], g->n);
	WT_COLUMN(m, correlation_d, p->wide[2], g->n);
	WT_COLUMN(m, flags, p->narrow[2], g->n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_GRAPH_RUNS, &m, g->n);
}

static void emit_overheads(struct wt_pack *p, const struct wt_gather *g)
{
	Warptap__V1__Overheads m = WARPTAP__V1__OVERHEADS__INIT;

	common(p, g);
	for (uint32_t i = 0; i < g->n; i++)
		p->narrow[3][i] = g->row[i].a;
	m.thread_word = (uint32_t)g->key;
	WT_COLUMN(m, start_gap, p->wide[0], g->n);
	WT_COLUMN(m, dur, p->wide[1], g->n);
	WT_COLUMN(m, kind, p->narrow[3], g->n);
	wt_pack_emit(p, WARPTAP__V1__PACKET__BODY_OVERHEADS, &m, g->n);
}

typedef void emit_fn(struct wt_pack *p, const struct wt_gather *g);

/*
 * By correlation, the order the work was launched in: functions, shapes and streams then repeat as the job's loop
 * does, which is worth a fifth of the file. Rows come nearly so, hence insertion; equals (nodes of one graph launch)
 * keep the order of delivery. A batch that is far out of order is left as it came: no quadratic work here.
 */
static void sort_rows(struct wt_gather *g)
{
	uint32_t moves = 0;

	for (uint32_t i = 1; i < g->n; i++) {
		struct wt_dev_row r = g->row[i];
		uint32_t j = i;

		for (; j && g->row[j - 1].correlation > r.correlation && moves < SORT_MOVES;
		     j--, moves++)
			g->row[j] = g->row[j - 1];
		g->row[j] = r;
	}
}

static void close_gather(struct wt_pack *p, struct wt_gather *g, emit_fn *emit)
{
	if (!g->n)
		return;
	wt_pack_begin(p);
	sort_rows(g);
	emit(p, g);
	g->n = 0;
}

/* A free row for this key; NULL = no memory. */
static struct wt_dev_row *row_for(struct wt_pack *p, struct wt_gather *set, uint64_t key,
				  emit_fn *emit)
{
	struct wt_gather *g = NULL, *oldest = set;

	for (size_t i = 0; i < WT_PACK_KEYS && !g; i++) {
		if (set[i].row && set[i].key == key)
			g = &set[i];
		else if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	if (!g) {
		g = oldest;
		close_gather(p, g, emit);
		g->key = key;
		if (!g->row)
			g->row = wt_arena_get(&p->mem, WT_BATCH_ROWS * sizeof(*g->row));
		if (!g->row)
			return NULL;
	}
	g->used = ++p->gather_clock;
	if (g->n == WT_BATCH_ROWS)
		close_gather(p, g, emit);
	return &g->row[g->n++];
}

static void count(struct wt_pack *p, const struct wt_dev_rec *r)
{
	int untimed = (r->flags & WARPTAP__V1__RECORD_FLAG__RECORD_FLAG_UNTIMED) != 0;
	int memset_ = r->kind == WT_DEV_COPY && r->u.copy.kind == 100;

	switch (r->kind) {
	case WT_DEV_API:
		p->apis++;
		return;
	case WT_DEV_KERNEL:
		p->kernels++;
		p->kernels_untimed += (uint64_t)untimed;
		break;
	case WT_DEV_COPY:
		*(memset_ ? &p->memsets : &p->copies) += 1;
		*(memset_ ? &p->memsets_untimed : &p->copies_untimed) += (uint64_t)untimed;
		break;
	case WT_DEV_GRAPH:
		p->graphs++;
		break;
	case WT_DEV_OVERHEAD:
		return;
	case WT_DEV_NONE:
		p->unknown++;
		return;
	}
	if (r->end > p->newest_ns)
		p->newest_ns = r->end;
}

void wt_pack_device(struct wt_pack *p, const struct wt_dev_rec *r)
{
	static const struct {
		size_t set;
		emit_fn *emit;
	} way[] = {
		[WT_DEV_API] = {offsetof(struct wt_pack, api), emit_api},
		[WT_DEV_KERNEL] = {offsetof(struct wt_pack, kernel), emit_kernels},
		[WT_DEV_COPY] = {offsetof(struct wt_pack, copy), emit_copies},
		[WT_DEV_GRAPH] = {offsetof(struct wt_pack, graph), emit_graphs},
		[WT_DEV_OVERHEAD] = {offsetof(struct wt_pack, overhead), emit_overheads},
	};
	uint64_t key = r->kind == WT_DEV_API	    ? r->u.api.thread_word
		       : r->kind == WT_DEV_OVERHEAD ? r->u.overhead.thread_word
						    : (uint64_t)r->device << 32 | r->context;
	struct wt_dev_row row =
				  {
					  .start = r->start,
					  .end = r->end,
					  .graph_node = r->graph_node,
					  .correlation = r->correlation,
					  .stream = r->stream,
					  .graph = r->graph,
					  .flags = r->flags,
				  },
			  *to;

	count(p, r);
	if (r->kind == WT_DEV_NONE)
		return;
	if (p->stopped) {
		p->lost_rows++;
		return;
	}
	if (r->kind == WT_DEV_API) {
		row.a = r->u.api.cbid;
		row.b = (uint32_t)r->u.api.runtime;
	} else if (r->kind == WT_DEV_OVERHEAD) {
		row.a = r->u.overhead.kind;
	} else if (r->kind == WT_DEV_KERNEL) {
		row.a = function_of(p, r);
		row.b = shape_of(p, r);
	} else if (r->kind == WT_DEV_COPY) {
		row.a = r->u.copy.kind;
		row.b = r->u.copy.peer_device;
		row.bytes = r->u.copy.bytes;
		row.src_mem = r->u.copy.src_mem;
		row.dst_mem = r->u.copy.dst_mem;
	}
	to = row_for(p, (struct wt_gather *)((uint8_t *)p + way[r->kind].set), key,
		     way[r->kind].emit);
	if (to)
		*to = row;
	else
		p->lost_rows++;
}

void wt_pack_device_end(struct wt_pack *p)
{
	for (size_t i = 0; i < WT_PACK_KEYS; i++) {
		close_gather(p, &p->api[i], emit_api);
		close_gather(p, &p->kernel[i], emit_kernels);
		close_gather(p, &p->copy[i], emit_copies);
		close_gather(p, &p->graph[i], emit_graphs);
		close_gather(p, &p->overhead[i], emit_overheads);
	}
}
