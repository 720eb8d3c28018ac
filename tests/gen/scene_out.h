/* SPDX-License-Identifier: Apache-2.0 */
/* A scene (scene.h) as files: .wt as the agent writes it, by the packets of wt_scene.h, and Kineto JSON. */
#ifndef GEN_SCENE_OUT_H
#define GEN_SCENE_OUT_H

#include <inttypes.h>
#include <stdarg.h>

#include "gen/scene.h"
#include "gen/wt_scene.h"

#define GEN_BEGIN_NS	 1000000 /* collection starts, of the scene */
#define GEN_TID(thread_) (4240 + (thread_))

struct gen_bytes {
	char *p;
	size_t n, room;
};

/* How a rank is written: the same events, told differently. */
struct gen_telling {
	int64_t shift_ns;
	int shuffle; /* events in another order */
	int rename;  /* streams have other numbers, in the same order */
};

static const struct {
	const char *wt, *kineto;
	uint32_t count_kind, cbid; /* cbid: of the runtime; 0 = makes no API record */
} gen_call_names[GEN_CALL_KINDS] = {
	[GEN_LAUNCH] = {"cuLaunchKernel", "cudaLaunchKernel", 1, 211},
	[GEN_COPY_CALL] = {"cuMemcpyAsync", "cudaMemcpyAsync", 3, 41},
	[GEN_MEMSET_CALL] = {"cuMemsetD8Async", "cudaMemsetAsync", 4, 51},
	[GEN_GRAPH_LAUNCH] = {"cuGraphLaunch", "cudaGraphLaunch", 2, 311},
	[GEN_SYNC] = {"cuCtxSynchronize", "cudaDeviceSynchronize", 10, 0},
	[GEN_ALLOC] = {"cuMemAlloc_v2", "cudaMalloc", 11, 0},
	[GEN_MODULE] = {"cuModuleLoadData", "cuModuleLoadData", 13, 0},
	[GEN_NCCL] = {"ncclAllReduce", NULL, 5, 0},
	[GEN_SEND] = {"ncclSend", NULL, 5, 0},
	[GEN_RECV] = {"ncclRecv", NULL, 5, 0},
	[GEN_GEMM] = {"cublasGemmEx", NULL, 17, 0},
};

/* ---- Kineto ---- */

__attribute__((format(printf, 2, 3))) static inline void gen_addf(struct gen_bytes *b,
								  const char *fmt, ...)
{
	va_list ap;
	int n;

	if (b->room - b->n < 1024) {
		b->room = b->room * 2 + 65536;
		b->p = realloc(b->p, b->room);
		gen_must(b->p != NULL, "out of memory");
	}
	va_start(ap, fmt);
	n = vsnprintf(b->p + b->n, b->room - b->n, fmt, ap);
	va_end(ap);
	gen_must(n > 0 && (size_t)n < b->room - b->n, "an event is too long");
	b->n += (size_t)n;
}

#define GEN_P2P_COUNT 4096

struct gen_lines { /* events as text, to be put into any order */
	struct gen_bytes text;
	size_t at[GEN_MOST * 3];
	int n;
};

static inline void gen_line(struct gen_lines *l)
{
	l->at[l->n++] = l->text.n;
}

#define GEN_T	    "%" PRId64 ".%03d"
#define GEN_TV(ns_) (int64_t)(ns_) / 1000, (int)((ns_) % 1000)

static inline void gen_kineto_op(struct gen_lines *l, const struct gen_scene *s,
				 const struct gen_rank *r, const struct gen_op *o, int64_t base,
				 int rename)
{
	static const char *const cats[] = {"", "kernel", "gpu_memcpy", "gpu_memset"};
	const struct gen_kind *k = &gen_kinds[o->kind];
	int stream = (o->stream == 1 ? 7 : 20) * (rename ? 3 : 1) + (rename ? 5 : 0);

	gen_line(l);
	gen_addf(&l->text,
		 "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,\"ts\":" GEN_T
		 ",\"dur\":" GEN_T
		 ",\"args\":{\"device\":0,\"context\":1,\"stream\":%d,\"correlation\":%u",
		 cats[k->op], k->name, stream, GEN_TV(base + o->start), GEN_TV(o->end - o->start),
		 stream, (unsigned)o->correlation);
	if (k->op == WT_OP_KERNEL)
		gen_addf(&l->text,
			 ",\"grid\":[%d,1,1],\"block\":[256,1,1],\"registers per thread\":32",
			 o->small ? 1 : GEN_BIG);
	else
		gen_addf(&l->text, ",\"bytes\":%u", o->bytes);
	if (o->node)
		gen_addf(&l->text, ",\"graph node id\":%d", o->node);
	if (o->kind == GEN_MM)
		gen_addf(&l->text, ",\"External id\":%u", (unsigned)o->correlation);
	if (o->p2p)
		gen_addf(
			&l->text,
			",\"Collective name\":\"%s\",\"%s Rank\":%d,\"In msg nelems\":%d,\"Out msg "
			"nelems\":%d,\"Seq\":1",
			o->p2p == GEN_SEND ? "send" : "recv", o->p2p == GEN_SEND ? "Dst" : "Src",
			o->peer, GEN_P2P_COUNT, GEN_P2P_COUNT);
	if (o->collective >= 0)
		gen_addf(&l->text,
			 ",\"Collective name\":\"allreduce\",\"In msg nelems\":%u,\"Out msg "
			 "nelems\":%u,\"Seq\":%d",
			 o->bytes / 4, o->bytes / 4, o->collective + 1);
	if (o->collective >= 0 || o->p2p) {
		gen_addf(&l->text,
			 ",\"Group size\":%d,\"dtype\":\"Float\",\"Process Group Name\":\"0\","
			 "\"Process Group Description\":\"default_pg\",\"Process Group Ranks\":\"[",
			 s->nranks);
		for (int i = 0; i < s->nranks; i++)
			gen_addf(&l->text, "%s%d", i ? ", " : "", i);
		gen_addf(&l->text, "]\"");
	}
	gen_addf(&l->text, "}}");
}

static inline void gen_kineto_host(struct gen_lines *l, const struct gen_rank *r, int64_t base)
{
	for (int i = 0; i < r->ncalls; i++) {
		const struct gen_call *c = &r->calls[i];

		if (c->in_blas) {
			gen_line(l);
			gen_addf(&l->text,
				 "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":"
				 "4242,"
				 "\"tid\":%d,\"ts\":" GEN_T ",\"dur\":" GEN_T
				 ",\"args\":{\"External id\":%u,\"Input Dims\":[[%d,%d],[%d,%d]],"
				 "\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"]}}",
				 GEN_TID(c->thread), GEN_TV(base + c->start - 100),
				 GEN_TV(c->end - c->start + 200), (unsigned)c->correlation,
				 GEN_MM_M, GEN_MM_K, GEN_MM_K, GEN_MM_N);
		}
		if (!gen_call_names[c->kind].kineto)
			continue;
		gen_line(l);
		gen_addf(&l->text,
			 "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"%s\",\"pid\":4242,"
			 "\"tid\":%d,\"ts\":" GEN_T ",\"dur\":" GEN_T
			 ",\"args\":{\"correlation\":%u}}",
			 gen_call_names[c->kind].kineto, GEN_TID(c->thread),
			 GEN_TV(base + c->start), GEN_TV(c->end - c->start),
			 (unsigned)c->correlation);
	}
	for (int i = 0; i < r->nranges; i++) {
		const struct gen_range *g = &r->ranges[i];

		gen_line(l);
		gen_addf(&l->text,
			 "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":4242,"
			 "\"tid\":%d,\"ts\":" GEN_T ",\"dur\":" GEN_T "}",
			 g->name == GEN_FLUSH ? "overhead" : "user_annotation",
			 gen_range_names[g->name].name, GEN_TID(g->thread), GEN_TV(base + g->start),
			 GEN_TV(g->end - g->start));
	}
}

/* One rank as JSON, appended to `out`. */
static inline void gen_kineto(const struct gen_scene *s, int rank, const struct gen_telling *how,
			      struct gen_bytes *out)
{
	static struct gen_lines l;
	const struct gen_rank *r = &s->rank[rank];
	int64_t base = (int64_t)SC_REAL0 + r->skew_ns + how->shift_ns;

	l.n = 0;
	l.text.n = 0;
	gen_kineto_host(&l, r, base);
	for (int i = 0; i < r->nops; i++)
		gen_kineto_op(&l, s, r, &r->ops[i], base, how->rename);
	l.at[l.n] = l.text.n;
	gen_addf(out, "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100 "
		      "80GB HBM3\",\"totalGlobalMem\":"
		      "85018279936,\"computeMajor\":9,\"computeMinor\":0,\"numSms\":132}]");
	if (s->nranks > 1)
		gen_addf(
			out,
			",\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%d,\"world_size\":%d}",
			rank, s->nranks);
	gen_addf(out, ",\"traceEvents\":[\n");
	for (int k = 0; k < l.n; k++) {
		/* A step that shares no factor with the number of lines visits each once. */
		size_t i = how->shuffle ? (size_t)((uint64_t)k * 7919u % (unsigned)l.n) : (size_t)k;

		if (how->shuffle && l.n % 7919 == 0)
			i = (size_t)k;
		gen_addf(out, "%s%.*s\n", k ? "," : "", (int)(l.at[i + 1] - l.at[i]),
			 l.text.p + l.at[i]);
	}
	gen_addf(out, "]}\n");
}

/* ---- .wt ---- */

#define GEN_NAME_AT 64 /* string ids: kernels, then ranges */
#define GEN_MARK_OP (GEN_CALL_KINDS + 1)

static inline void gen_wt_tables(struct wt_scene *w, const struct gen_scene *s)
{
	static char *names[GEN_CALL_KINDS + 1], *more[GEN_KINDS + GEN_RANGES];
	static uint64_t id[GEN_KINDS + GEN_CALL_KINDS + 1], name[GEN_KINDS + GEN_CALL_KINDS + 1];
	static uint32_t kind[GEN_CALL_KINDS + 1];
	Warptap__V1__Strings strings = WARPTAP__V1__STRINGS__INIT;
	Warptap__V1__Ops ops = WARPTAP__V1__OPS__INIT;
	Warptap__V1__Functions functions = WARPTAP__V1__FUNCTIONS__INIT;
	Warptap__V1__Shapes shapes = WARPTAP__V1__SHAPES__INIT;
	Warptap__V1__Contexts contexts = WARPTAP__V1__CONTEXTS__INIT;
	Warptap__V1__Streams streams = WARPTAP__V1__STREAMS__INIT;
	Warptap__V1__Threads threads = WARPTAP__V1__THREADS__INIT;
	Warptap__V1__Gemms gemms = WARPTAP__V1__GEMMS__INIT;

	for (int i = 0; i < GEN_CALL_KINDS; i++) {
		names[i] = (char *)(uintptr_t)gen_call_names[i].wt;
		id[i] = name[i] = (uint64_t)i + 1;
		kind[i] = gen_call_names[i].count_kind;
	}
	names[GEN_CALL_KINDS] = (char *)(uintptr_t) "mark";
	id[GEN_CALL_KINDS] = name[GEN_CALL_KINDS] = GEN_MARK_OP;
	kind[GEN_CALL_KINDS] = 18;
	strings.first_id = 1;
	strings.text = names;
	strings.n_text = GEN_CALL_KINDS + 1;
	SC_EMIT(w, STRINGS, &strings);
	ops.id = id;
	ops.name = name;
	ops.kind = kind;
	ops.n_id = ops.n_name = ops.n_kind = GEN_CALL_KINDS + 1;
	SC_EMIT(w, OPS, &ops);
	for (int i = 0; i < GEN_KINDS; i++) {
		more[i] = (char *)(uintptr_t)gen_kinds[i].name;
		id[i] = (uint64_t)i + 1;
		name[i] = GEN_NAME_AT + (uint64_t)i;
	}
	for (int i = 0; i < GEN_RANGES; i++)
		more[GEN_KINDS + i] = (char *)(uintptr_t)gen_range_names[i].name;
	strings.first_id = GEN_NAME_AT;
	strings.text = more;
	strings.n_text = GEN_KINDS + GEN_RANGES;
	SC_EMIT(w, STRINGS, &strings);
	functions.id = id;
	functions.name = name;
	functions.n_id = functions.n_name = GEN_KINDS;
	SC_EMIT(w, FUNCTIONS, &functions);
	SC_COL(shapes, id, uint64_t, 1, 2);
	SC_COL(shapes, gx, uint32_t, GEN_BIG, 1);
	SC_COL(shapes, gy, uint32_t, 1, 1);
	SC_COL(shapes, gz, uint32_t, 1, 1);
	SC_COL(shapes, bx, uint32_t, 256, 256);
	SC_COL(shapes, by, uint32_t, 1, 1);
	SC_COL(shapes, bz, uint32_t, 1, 1);
	SC_EMIT(w, SHAPES, &shapes);
	SC_COL(contexts, id, uint32_t, 1);
	SC_COL(contexts, cupti_id, uint32_t, 1);
	SC_COL(contexts, device, uint32_t, 0);
	SC_EMIT(w, CONTEXTS, &contexts);
	SC_COL(streams, id, uint64_t, 1, 2);
	SC_COL(streams, handle, uint64_t, 0, 0x7f0011223344);
	SC_COL(streams, cupti_id, uint32_t, 7, 13);
	SC_COL(streams, context, uint32_t, 1, 1);
	SC_EMIT(w, STREAMS, &streams);
	SC_COL(threads, id, uint64_t, 1, 2);
	SC_COL(threads, tid, uint64_t, 4241, 4242);
	SC_COL(threads, pthread, uint64_t, 0x7ffff7d8a740, 0x7fffe7d8b640);
	SC_COL(threads, name, uint64_t, 0, 0);
	SC_EMIT(w, THREADS, &threads);
	SC_COL(gemms, id, uint64_t, 1);
	SC_COL(gemms, m, uint64_t, GEN_MM_N); /* columns first: C' = B' A' */
	SC_COL(gemms, n, uint64_t, GEN_MM_M);
	SC_COL(gemms, k, uint64_t, GEN_MM_K);
	SC_COL(gemms, batch, uint64_t, 1);
	SC_COL(gemms, type_a, uint32_t, 14);
	SC_COL(gemms, type_b, uint32_t, 14);
	SC_COL(gemms, type_c, uint32_t, 14);
	SC_COL(gemms, compute, uint32_t, 68);
	SC_COL(gemms, trans, uint32_t, 0);
	SC_COL(gemms, flags, uint32_t, 0);
	SC_COL(gemms, epilogue, uint32_t, 0);
	SC_EMIT(w, GEMMS, &gemms);
	if (s->nranks > 1)
		sc_write_comms(w);
}

/* A row of a ring: a call, or the begin or end of a range. */
struct gen_row {
	int64_t at, end; /* rows are written when they are over */
	int call, range, pop;
	uint64_t seq;
};

static inline int gen_by_end(const void *pa, const void *pb)
{
	const struct gen_row *a = pa, *b = pb;

	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	/* a range ends before the next begins; the inner call before the outer */
	if (a->pop != b->pop)
		return a->pop ? -1 : 1;
	return a->at != b->at ? (a->at > b->at ? -1 : 1) : 0;
}

static inline int gen_rows(const struct gen_rank *r, int thread, struct gen_row *rows)
{
	int n = 0;

	for (int i = 0; i < r->ncalls; i++)
		if (r->calls[i].thread == thread)
			rows[n++] = (struct gen_row){.at = r->calls[i].start,
						     .end = r->calls[i].end,
						     .call = i,
						     .range = -1};
	for (int i = 0; i < r->nranges; i++) {
		if (r->ranges[i].thread != thread || r->ranges[i].name == GEN_FLUSH)
			continue;
		rows[n++] = (struct gen_row){.at = r->ranges[i].start,
					     .end = r->ranges[i].start,
					     .call = -1,
					     .range = i};
		rows[n++] = (struct gen_row){.at = r->ranges[i].end,
					     .end = r->ranges[i].end,
					     .call = -1,
					     .range = i,
					     .pop = 1};
	}
	qsort(rows, (size_t)n, sizeof(*rows), gen_by_end);
	for (int i = 0; i < n; i++)
		rows[i].seq = (uint64_t)i + 1;
	return n;
}

static inline void gen_wt_marks(struct wt_scene *w, const struct gen_rank *r, int thread,
				const struct gen_row *rows, int n)
{
	static int64_t seq[256], tsc[256], value[256];
	static uint32_t what[256], kind[256];
	static uint64_t name[256];
	Warptap__V1__Marks m = WARPTAP__V1__MARKS__INIT;
	uint64_t last_seq = 0, last = 0;
	size_t k = 0;

	for (int i = 0; i < n; i++) {
		const struct gen_row *row = &rows[i];

		if (row->range < 0)
			continue;
		seq[k] = (int64_t)(row->seq - last_seq);
		tsc[k] = (int64_t)(sc_tsc((uint64_t)row->at) - last);
		last_seq = row->seq;
		last = sc_tsc((uint64_t)row->at);
		what[k] = row->pop ? 2 : 1;
		kind[k] = row->pop ? 0
				   : (uint32_t)gen_range_names[r->ranges[row->range].name].wt_kind;
		name[k++] =
			row->pop ? 0
				 : GEN_NAME_AT + GEN_KINDS + (uint64_t)r->ranges[row->range].name;
	}
	if (!k)
		return;
	m.thread = m.ring = (uint64_t)thread;
	m.call_seq_d = (void *)seq;
	m.tsc_d = tsc;
	m.what = what;
	m.kind = kind;
	m.value = value;
	m.name = name;
	m.n_call_seq_d = m.n_tsc_d = m.n_what = m.n_kind = m.n_value = m.n_name = k;
	SC_EMIT(w, MARKS, &m);
}

static inline void gen_wt_overheads(struct wt_scene *w, const struct gen_rank *r, int thread)
{
	static int64_t start[64];
	static uint64_t dur[64];
	static uint32_t kind[64];
	Warptap__V1__Overheads m = WARPTAP__V1__OVERHEADS__INIT;
	uint64_t last = 0;
	size_t n = 0;

	for (int i = 0; i < r->nranges; i++) {
		const struct gen_range *g = &r->ranges[i];

		if (g->name != GEN_FLUSH || g->thread != thread)
			continue;
		start[n] = (int64_t)(sc_real(w, (uint64_t)g->start) - last);
		dur[n] = (uint64_t)(g->end - g->start);
		last = sc_real(w, (uint64_t)g->end);
		kind[n++] = 1 << 16;
	}
	m.thread_word = thread == 1 ? 0xf7d8a740u : 0xe7d8b640u;
	m.start_gap = start;
	m.dur = dur;
	m.kind = kind;
	m.n_start_gap = m.n_dur = m.n_kind = n;
	if (n)
		SC_EMIT(w, OVERHEADS, &m);
}

static inline int gen_is_nccl(int kind)
{
	return kind == GEN_NCCL || kind == GEN_SEND || kind == GEN_RECV;
}

static inline void gen_wt_rows(struct wt_scene *w, const struct gen_rank *r, int thread,
			       const struct gen_row *rows, int n)
{
	static int64_t start[GEN_MOST * 2];
	static uint64_t dur[GEN_MOST * 2], op[GEN_MOST * 2], stream[GEN_MOST * 2],
		object[GEN_MOST * 2], shape[GEN_MOST * 2], bytes[GEN_MOST * 2];
	static uint32_t context[GEN_MOST * 2], flags[GEN_MOST * 2];
	Warptap__V1__HostCalls m = WARPTAP__V1__HOST_CALLS__INIT;
	uint64_t last = 0;

	for (int i = 0; i < n; i++) {
		const struct gen_call *c = rows[i].call >= 0 ? &r->calls[rows[i].call] : NULL;

		start[i] = (int64_t)(sc_tsc((uint64_t)rows[i].at) - last);
		dur[i] = c ? (uint64_t)(c->end - c->start) / 2 * 5 : 0;
		last = sc_tsc((uint64_t)rows[i].at) + dur[i];
		op[i] = c ? c->kind + 1u : GEN_MARK_OP;
		stream[i] = c && c->stream ? c->stream : 0;
		object[i] = !c						  ? 0
			    : c->kind == GEN_LAUNCH			  ? c->op_kind + 1u
			    : gen_is_nccl(c->kind) || c->kind == GEN_GEMM ? 1
			    : c->kind == GEN_GRAPH_LAUNCH
				    ? 1u + c->records /* a graph has as many nodes each time */
				    : 0;
		shape[i] = c && c->kind == GEN_LAUNCH ? 1u + c->grid_small : 0;
		bytes[i] = c ? c->bytes : 0;
		context[i] = 1;
		flags[i] = c && c->in_nccl   ? WARPTAP__V1__CALL_FLAG__CALL_FLAG_IN_NCCL
			   : c && c->in_blas ? WARPTAP__V1__CALL_FLAG__CALL_FLAG_IN_BLAS
					     : 0;
	}
	m.thread = m.ring = (uint64_t)thread;
	m.first_seq = 1;
	m.start_gap = start;
	m.dur = dur;
	m.op = op;
	m.stream = stream;
	m.object = object;
	m.shape = shape;
	m.bytes = bytes;
	m.context = context;
	m.flags = flags;
	m.n_start_gap = m.n_dur = m.n_op = m.n_stream = m.n_object = m.n_shape = m.n_bytes =
		m.n_context = m.n_flags = (size_t)n;
	if (n)
		SC_EMIT(w, CALLS, &m);
}

static inline void gen_wt_api(struct wt_scene *w, const struct gen_rank *r, int thread)
{
	static int64_t correlation[GEN_MOST];
	static uint32_t cbid[GEN_MOST];
	static protobuf_c_boolean runtime[GEN_MOST];
	Warptap__V1__ApiRecords m = WARPTAP__V1__API_RECORDS__INIT;
	uint64_t last = 0;
	size_t n = 0;

	for (int i = 0; i < r->ncalls; i++) {
		const struct gen_call *c = &r->calls[i];

		if (c->thread != thread || !gen_call_names[c->kind].cbid)
			continue;
		correlation[n] = (int64_t)(c->correlation - last);
		last = c->correlation;
		cbid[n] = gen_call_names[c->kind].cbid;
		runtime[n++] = 1;
	}
	m.thread_word = thread == 1 ? 0xf7d8a740u : 0xe7d8b640u;
	m.correlation_d = correlation;
	m.cbid = cbid;
	m.runtime = runtime;
	m.n_correlation_d = m.n_cbid = m.n_runtime = n;
	if (n)
		SC_EMIT(w, API, &m);
}

static inline void gen_wt_records(struct wt_scene *w, const struct gen_rank *r)
{
	static const uint32_t copies_of[] = {
		[WT_COPY_H2D] = 1, [WT_COPY_D2H] = 2, [WT_COPY_D2D] = 8, [WT_COPY_P2P] = 10};
	static struct sc_columns cols[2]; /* kernels, copies */
	Warptap__V1__Kernels k = WARPTAP__V1__KERNELS__INIT;
	Warptap__V1__Copies c = WARPTAP__V1__COPIES__INIT;

	for (int i = 0; i < 2; i++)
		cols[i].n = cols[i].last_end = cols[i].last_correlation = 0;
	for (int i = 0; i < r->nops; i++) {
		const struct gen_op *o = &r->ops[i];
		const struct gen_kind *kind = &gen_kinds[o->kind];
		struct sc_columns *to = &cols[kind->op != WT_OP_KERNEL];
		uint64_t start = SC_REAL0 + (uint64_t)(r->skew_ns + o->start);
		size_t n = to->n++;

		to->start[n] = (int64_t)(start - to->last_end);
		to->dur[n] = (uint64_t)(o->end - o->start);
		to->last_end = start + to->dur[n];
		to->correlation[n] = (int64_t)(o->correlation - to->last_correlation);
		to->last_correlation = o->correlation;
		to->stream[n] = o->stream == 1 ? 7 : 13;
		to->kind[n] = kind->op == WT_OP_MEMSET ? 100 : copies_of[kind->copy_kind];
		to->what[n] = kind->op == WT_OP_KERNEL ? o->kind + 1u : o->bytes;
		to->shape[n] = 1u + o->small;
		to->graph[n] = o->nodes;
		to->node[n] = o->node ? ((uint64_t)o->nodes << 32) + o->node : 0;
		to->flags[n] = 0;
		to->src[n] = 2;
		to->dst[n] = 3;
	}
	k.context = c.context = 1;
	k.start_gap = cols[0].start;
	k.dur = cols[0].dur;
	k.function = cols[0].what;
	k.shape = cols[0].shape;
	k.stream = cols[0].stream;
	k.correlation_d = cols[0].correlation;
	k.graph = cols[0].graph;
	k.graph_node = cols[0].node;
	k.flags = cols[0].flags;
	k.n_start_gap = k.n_dur = k.n_function = k.n_shape = k.n_stream = k.n_correlation_d =
		k.n_graph = k.n_graph_node = k.n_flags = cols[0].n;
	SC_EMIT(w, KERNELS, &k);
	c.start_gap = cols[1].start;
	c.dur = cols[1].dur;
	c.kind = cols[1].kind;
	c.bytes = cols[1].what;
	c.stream = cols[1].stream;
	c.correlation_d = cols[1].correlation;
	c.src_mem = cols[1].src;
	c.dst_mem = cols[1].dst;
	c.n_start_gap = c.n_dur = c.n_kind = c.n_bytes = c.n_stream = c.n_correlation_d =
		c.n_src_mem = c.n_dst_mem = cols[1].n;
	if (cols[1].n)
		SC_EMIT(w, COPIES, &c);
}

static inline void gen_wt_collectives(struct wt_scene *w, const struct gen_rank *r,
				      const struct gen_row *rows, int n, int thread)
{
	Warptap__V1__Collectives m = WARPTAP__V1__COLLECTIVES__INIT;
	int64_t seq_d;
	static const uint32_t ops[GEN_CALL_KINDS] = {
		[GEN_NCCL] = 1, [GEN_SEND] = 6, [GEN_RECV] = 7};
	uint64_t count, stream = 2, on = (uint64_t)thread, call;
	uint32_t op, dtype = 7;
	int32_t peer;

	for (int i = 0; i < n; i++) {
		const struct gen_call *c = rows[i].call >= 0 ? &r->calls[rows[i].call] : NULL;

		if (!c || !gen_is_nccl(c->kind))
			continue;
		op = ops[c->kind];
		peer = c->peer;
		count = c->kind == GEN_NCCL ? c->bytes / 4 : GEN_P2P_COUNT;
		seq_d = c->op_kind;
		call = rows[i].seq;
		m.comm = 1;
		m.seq_d = &seq_d;
		m.op = &op;
		m.count = &count;
		m.dtype = &dtype;
		m.stream = &stream;
		m.thread = m.ring = &on;
		m.call_seq = &call;
		m.root_or_peer = &peer;
		m.n_root_or_peer = m.n_seq_d = m.n_op = m.n_count = m.n_dtype = m.n_stream =
			m.n_thread = m.n_ring = m.n_call_seq = 1;
		SC_EMIT(w, COLLECTIVES, &m);
	}
}

static inline void gen_wt_counts(struct wt_scene *w, const struct gen_rank *r, uint64_t ns)
{
	static uint32_t context[GEN_CALL_KINDS], kind[GEN_CALL_KINDS], state[GEN_CALL_KINDS];
	static uint64_t n[GEN_CALL_KINDS];
	Warptap__V1__Counts m = WARPTAP__V1__COUNTS__INIT;

	for (int k = 0; k < GEN_CALL_KINDS; k++) {
		context[k] = 1;
		kind[k] = gen_call_names[k].count_kind;
		n[k] = 0;
	}
	for (int i = 0; i < r->ncalls; i++)
		n[r->calls[i].kind]++;
	m.tsc = sc_tsc(ns);
	m.context = context;
	m.kind = kind;
	m.state = state;
	m.n = n;
	m.n_context = m.n_kind = m.n_state = m.n_n = GEN_CALL_KINDS;
	SC_EMIT(w, COUNTS, &m);
}

/* Of the scene: when its last operation and call are over, and collection ends. */
static inline int64_t gen_end_of(const struct gen_rank *r)
{
	int64_t h = r->h[1] > r->h[2] ? r->h[1] : r->h[2];

	return ((h > r->t ? h : r->t) + 1000001) & ~INT64_C(1);
}

/* A process as .wt: w->out, w->n_out; free w->out. Of the neighbour (rank -1), nothing but its calls. */
static inline void gen_wt_process(const struct gen_scene *s, int rank, struct wt_scene *w)
{
	static struct gen_row rows[GEN_MOST * 2];
	static void *mem;
	static size_t size;
	const struct gen_rank *r = rank < 0 ? &s->neighbour : &s->rank[rank];
	uint64_t end = (uint64_t)gen_end_of(&s->rank[rank < 0 ? 0 : rank]);
	uint32_t level = rank < 0 ? 2 : 3;
	int cupti = rank < 0 ? 0 : 2;
	Warptap__V1__End e = WARPTAP__V1__END__INIT;

	if (!mem) {
		size = wt_frame_writer_size(1);
		mem = aligned_alloc(16, (size + 15) & ~(size_t)15);
	}
	memset(w, 0, sizeof(*w));
	w->rank = s->nranks > 1 ? rank : -1;
	w->world = s->nranks;
	w->device = (uint8_t)(rank < 0 ? 0 : rank);
	w->no_device = rank < 0;
	w->pid = rank < 0 ? 4343 : 4242;
	w->skew_ns = (uint64_t)r->skew_ns;
	w->writer =
		wt_frame_writer_init(mem, size, 1, (const uint8_t *)"golden-file-0001", sc_sink, w);
	gen_must(w->writer != NULL, "out of memory");
	sc_write_header(w, 0);
	sc_write_clock(w, 0);
	sc_write_state(w, GEN_BEGIN_NS, level, cupti, 0);
	gen_wt_tables(w, s);
	for (int thread = 1; thread < 3; thread++) {
		int n = gen_rows(r, thread, rows);

		gen_wt_rows(w, r, thread, rows, n);
		gen_wt_marks(w, r, thread, rows, n);
		gen_wt_overheads(w, r, thread);
		if (rank >= 0)
			gen_wt_api(w, r, thread);
		gen_wt_collectives(w, r, rows, n, thread);
	}
	if (rank >= 0)
		gen_wt_records(w, r);
	gen_wt_counts(w, r, end);
	sc_write_clock(w, end);
	sc_write_state(w, end, level, cupti, 1);
	e.how = WARPTAP__V1__END_HOW__END_HOW_EXIT;
	e.packets = w->packets + 1;
	SC_EMIT(w, END, &e);
	wt_frame_writer_end(w->writer, 0);
	w->writer = NULL;
}

static inline void gen_wt(const struct gen_scene *s, int rank, struct wt_scene *w)
{
	gen_wt_process(s, rank, w);
}

/* 1 and the file, if the scene has a neighbour. */
static inline int gen_wt_neighbour(const struct gen_scene *s, struct wt_scene *w)
{
	if (s->neighbour.ncalls)
		gen_wt_process(s, -1, w);
	return s->neighbour.ncalls > 0;
}

#endif
