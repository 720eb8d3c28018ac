/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenes with a known ledger. A scene is built leaf by leaf: a leaf and its length are drawn first, then operations,
 * calls and ranges are laid out that make it so, by the meaning of the leaves (leaves.def, causes.def), never by asking
 * the analyzer. The same seed gives the same scene. scene_out.h writes it as .wt and as Kineto
 * JSON; truth[] says what each must come out as.
 *
 * A rank's device is a chain: a run of operations without idle time, a gap, a run, ... A run ends with a long kernel on
 * stream 1, so that the host is ahead when the device drains. To add a leaf: a line in gen_parts (time of a run) or
 * gen_gaps (idle time).
 */
#ifndef GEN_SCENE_H
#define GEN_SCENE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/ledger.h"

#define GEN_US	  1000
#define GEN_RANKS 4
#define GEN_MOST  1024 /* calls, or operations, of a rank */
#define GEN_CAP_NS                                                                                 \
	20000 /* of launch latency: at most a third of the launches into a drained queue take longer than 5 us */
#define GEN_BIG 4096 /* blocks: more than any device holds at once */

enum gen_format { GEN_WT, GEN_KINETO, GEN_FORMATS };

/* Operations: by name, and the leaf of their time from 10 us on, and below. */
struct gen_kind {
	const char *name;
	uint8_t op, copy_kind;
	enum wt_leaf leaf, brief;
	enum { GEN_COMPUTE, GEN_COMM, GEN_COPY, GEN_SPIN } state; /* in order of precedence */
};
static const struct gen_kind gen_kinds[] = {
	{"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_nn", WT_OP_KERNEL, 0, WT_A1, WT_A5,
	 GEN_COMPUTE},
	{"void at::native::reduce_kernel<512, 1, float>", WT_OP_KERNEL, 0, WT_A3, WT_A5,
	 GEN_COMPUTE},
	{"my_own_kernel", WT_OP_KERNEL, 0, WT_A6, WT_A6, GEN_COMPUTE},
	{"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", WT_OP_KERNEL,
	 0, WT_B5, WT_B5, GEN_COMM},
	{"Memcpy HtoD (Pinned -> Device)", WT_OP_COPY, WT_COPY_H2D, WT_C2, WT_C2, GEN_COPY},
	{"Memcpy DtoH (Device -> Pinned)", WT_OP_COPY, WT_COPY_D2H, WT_C3, WT_C3, GEN_COPY},
	{"Memcpy DtoD (Device -> Device)", WT_OP_COPY, WT_COPY_D2D, WT_C4, WT_C4, GEN_COPY},
	{"Memcpy PtoP (Device -> Device)", WT_OP_COPY, WT_COPY_P2P, WT_C5, WT_C5, GEN_COPY},
	{"Memset (Device)", WT_OP_MEMSET, 0, WT_C4, WT_C4, GEN_COPY},
	{"spin_kernel", WT_OP_KERNEL, 0, WT_B6, WT_B6, GEN_SPIN},
	{"seen_once_a", WT_OP_KERNEL, 0, WT_A6, WT_A6,
	 GEN_COMPUTE}, /* loaded at its first launch */
	{"seen_once_b", WT_OP_KERNEL, 0, WT_A6, WT_A6, GEN_COMPUTE},
	{"ampere_sgemm_128x64_nn", WT_OP_KERNEL, 0, WT_A2, WT_A5, GEN_COMPUTE},
	{"sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize64x64x64", WT_OP_KERNEL, 0, WT_A4, WT_A4,
	 GEN_COMPUTE}, /* see gen_cached */
	{"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", WT_OP_KERNEL, 0, WT_B5, WT_B5,
	 GEN_COMM},
};
#define GEN_KINDS ((int)(sizeof(gen_kinds) / sizeof(gen_kinds[0])))
#define GEN_ONCE  10 /* the first of those loaded late */
#define GEN_MM	  13
#define GEN_P2P	  14
static const uint8_t gen_of_state[4][5] = {{0, 1, 2, 12}, {3}, {4, 5, 6, 7, 8}, {9}};
static const uint8_t gen_nof_state[4] = {4, 1, 5, 1};
/*
 * The product of gen_cached: A[16,1024] B[1024,8192] in bf16, 17,072,128 bytes at least. They take 5.09 us at the 3352
 * GB/s of an H100's memory, and its 50 MiB of L2 hold them: whoever is done sooner had them there.
 */
#define GEN_MM_M     16
#define GEN_MM_N     8192
#define GEN_MM_K     1024
#define GEN_MM_LEAST 4000
#define GEN_MM_MOST  4700

enum gen_call_kind {
	GEN_LAUNCH,
	GEN_COPY_CALL,
	GEN_MEMSET_CALL,
	GEN_GRAPH_LAUNCH,
	GEN_SYNC,
	GEN_ALLOC,
	GEN_MODULE,
	GEN_NCCL,
	GEN_SEND,
	GEN_RECV,
	GEN_GEMM,
	GEN_CALL_KINDS
};
struct gen_call {
	int64_t start, end;
	uint64_t correlation, bytes;
	uint8_t kind, thread, lost; /* lost: it ran, and there is no record of it */
	uint8_t op_kind, grid_small, records, in_nccl, in_blas;
	uint8_t stream, peer; /* peer: of a send or receive */
};
struct gen_op {
	int64_t start, end;
	uint64_t correlation;
	uint32_t bytes;
	uint8_t kind, stream, small, node, nodes; /* node: of a graph, from 1; nodes: all of them */
	int32_t collective;			  /* its number; -1 */
	uint8_t p2p, peer;			  /* GEN_SEND, GEN_RECV, and whom */
};
struct gen_range {
	int64_t start, end;
	uint8_t name, thread;
};
/* Names a framework or a person gives; the leaf of idle time inside. */
static const struct {
	const char *name;
	enum wt_leaf leaf;
	int wt_kind; /* of Marks */
} gen_range_names[] = {
	{"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", WT_D1, 10},
	{"torch.save", WT_D4, 9},
	{"init_process_group", WT_D5, 15},
	{"execute_context_0(0)_generation_0(0)", WT_D13, 14},
	{"Activity Buffer Flush", WT_E3, 0}, /* no mark: a record of CUPTI's */
	{"offload", WT_D8, 16},		     /* says something of copies only */
};
#define GEN_RANGES ((int)(sizeof(gen_range_names) / sizeof(gen_range_names[0])))
#define GEN_FLUSH  4

struct gen_rank {
	struct gen_call calls[GEN_MOST];
	struct gen_op ops[GEN_MOST];
	struct gen_range ranges[64];
	int ncalls, nops, nranges, ncollectives;
	int64_t t, h[3]; /* the device is busy until t; a thread is in a call until h */
	uint64_t correlation;
	int64_t truth[GEN_FORMATS][WT_LEAVES];
	/* What matching over the ranks makes of it: what they name of B5, and what D12 takes from others. */
	int64_t parted[WT_LEAVES];
	int64_t skew_ns;   /* of this rank's clocks */
	int drained, slow; /* launches into a drained queue; those beyond 5 us */
	int once;	   /* kernels loaded late so far */
	int thread;	   /* that fills the gap at hand */
};
struct gen_scene {
	uint64_t seed, state;
	int nranks, formats; /* bits 1 << enum gen_format: those that the truth is for */
	struct gen_rank rank[GEN_RANKS];
	/* Another process on rank 0's device, of which calls are recorded and nothing else; in .wt alone. */
	struct gen_rank neighbour;
};

static inline uint32_t gen_u32(struct gen_scene *s)
{
	/* splitmix64 */
	uint64_t z = s->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((z ^ z >> 31) >> 16);
}

/* [lo, hi] */
static inline int64_t gen_in(struct gen_scene *s, int64_t lo, int64_t hi)
{
	return lo + (int64_t)(gen_u32(s) % (uint64_t)(hi - lo + 1));
}

/* Host times are even: half a nanosecond is no whole number of ticks. */
static inline int64_t gen_even(struct gen_scene *s, int64_t lo, int64_t hi)
{
	return gen_in(s, lo, hi) & ~INT64_C(1);
}

static inline void gen_book(struct gen_rank *r, enum wt_leaf leaf, int64_t ns)
{
	r->truth[GEN_WT][leaf] += ns;
	r->truth[GEN_KINETO][leaf] += ns;
}

static inline void gen_must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "scene.h: %s\n", what);
	abort();
}

static inline struct gen_call *gen_call(struct gen_rank *r, int kind, int64_t start, int64_t end)
{
	struct gen_call *c = &r->calls[r->ncalls++];

	gen_must(r->ncalls < GEN_MOST, "too many calls");
	gen_must(start >= r->h[r->thread] && end >= start && !(start & 1) && !(end & 1),
		 "a call overlaps the one before");
	*c = (struct gen_call){
		.start = start, .end = end, .kind = (uint8_t)kind, .thread = (uint8_t)r->thread};
	c->correlation = ++r->correlation;
	r->h[r->thread] = end;
	return c;
}

static inline void gen_range(struct gen_rank *r, int name, int64_t start, int64_t end)
{
	gen_must(r->nranges < 64, "too many ranges");
	r->ranges[r->nranges++] = (struct gen_range){
		.start = start, .end = end, .name = (uint8_t)name, .thread = (uint8_t)r->thread};
}

/* The launch of an operation of a kind, when the thread is next free, or at a time; and the operation. */
static inline struct gen_call *gen_launch_at(struct gen_scene *s, struct gen_rank *r, int kind,
					     int64_t at, int64_t took)
{
	const struct gen_kind *k = &gen_kinds[kind];
	int call = k->op == WT_OP_COPY	   ? GEN_COPY_CALL
		   : k->op == WT_OP_MEMSET ? GEN_MEMSET_CALL
					   : GEN_LAUNCH;
	struct gen_call *c = gen_call(r, call, at, at + took);

	c->op_kind = (uint8_t)kind;
	c->records = 1;
	c->bytes = call == GEN_LAUNCH ? 0 : 4096u + gen_u32(s) % 65536;
	return c;
}

static inline struct gen_op *gen_op(struct gen_rank *r, struct gen_call *c, int64_t start,
				    int64_t dur, int stream)
{
	struct gen_op *o = &r->ops[r->nops++];

	gen_must(r->nops < GEN_MOST, "too many operations");
	gen_must(c->start < start, "an operation starts before its launch");
	*o = (struct gen_op){.start = start,
			     .end = start + dur,
			     .correlation = c->correlation,
			     .bytes = (uint32_t)c->bytes,
			     .kind = c->op_kind,
			     .stream = (uint8_t)stream,
			     .collective = -1};
	c->stream = (uint8_t)stream;
	return o;
}

/* Launched as soon as the host can, to run at `start`. */
static inline struct gen_op *gen_run_op(struct gen_scene *s, struct gen_rank *r, int kind,
					int64_t start, int64_t dur, int stream)
{
	int64_t at = r->h[r->thread] + gen_even(s, 100, 800);

	return gen_op(r, gen_launch_at(s, r, kind, at & ~INT64_C(1), gen_even(s, 600, 1400)), start,
		      dur, stream);
}

static inline enum wt_leaf gen_leaf(int kind, int64_t dur)
{
	return dur < 10 * GEN_US ? gen_kinds[kind].brief : gen_kinds[kind].leaf;
}

static inline int gen_kind_of(struct gen_scene *s, int state)
{
	return gen_of_state[state][gen_u32(s) % gen_nof_state[state]];
}

/*
 * Any of these states. Where ranks meet, all communication is that of gen_meet(): a kernel of NCCL that only some ranks
 * have is no job.
 */
static inline int gen_state(struct gen_scene *s, int lo, int hi)
{
	int state;

	do
		state = (int)gen_in(s, lo, hi);
	while (state == GEN_COMM && s->nranks > 1);
	return state;
}

/* ---- parts of a run: each begins at r->t, leaves r->t at its end, and books its time ---- */

static inline void gen_one(struct gen_scene *s, struct gen_rank *r)
{
	int kind = gen_kind_of(s, gen_state(s, GEN_COMPUTE, GEN_SPIN));
	int64_t d = gen_in(s, 4 * GEN_US, gen_u32(s) % 3 ? 9 * GEN_US : 60 * GEN_US);

	gen_run_op(s, r, kind, r->t, d, 1 + (int)gen_in(s, 0, 1));
	gen_book(r, gen_leaf(kind, d), d);
	r->t += d;
}

/* What comes first in precedence hides what comes after. */
static inline void gen_hidden(struct gen_scene *s, struct gen_rank *r)
{
	int over = gen_state(s, GEN_COMPUTE, GEN_COPY), under = gen_state(s, over + 1, GEN_SPIN),
	    kind = gen_kind_of(s, over);
	int64_t d = gen_in(s, 12 * GEN_US, 50 * GEN_US), from = gen_in(s, 5 * GEN_US, d - 2),
		to = gen_in(s, from + 1, d);

	gen_run_op(s, r, kind, r->t, d, 1);
	gen_run_op(s, r, gen_kind_of(s, under), r->t + from, to - from, 2);
	gen_book(r, gen_leaf(kind, d), d);
	r->t += d;
}

/* It sticks out in front and behind. */
static inline void gen_exposed(struct gen_scene *s, struct gen_rank *r)
{
	int over = gen_state(s, GEN_COMPUTE, GEN_COPY), under = gen_state(s, over + 1, GEN_SPIN);
	int ka = gen_kind_of(s, under), kb = gen_kind_of(s, over);
	int64_t lead = gen_in(s, 5 * GEN_US, 30 * GEN_US), d = gen_in(s, 5 * GEN_US, 40 * GEN_US);
	int64_t tail = gen_u32(s) % 2 ? gen_in(s, 1, 20 * GEN_US) : -gen_in(s, 0, d - 1);
	int64_t whole = lead + d + tail;

	gen_run_op(s, r, ka, r->t, whole, 2);
	gen_run_op(s, r, kb, r->t + lead, d, 1);
	gen_book(r, gen_leaf(ka, whole), lead + (tail > 0 ? tail : 0));
	gen_book(r, gen_leaf(kb, d), d);
	r->t += lead + d + (tail > 0 ? tail : 0);
}

/* Programmatic dependent launch: two kernels of one stream overlap, equally large: the earlier owns the time. */
static inline void gen_pdl(struct gen_scene *s, struct gen_rank *r)
{
	int ka = gen_kind_of(s, GEN_COMPUTE), kb = gen_kind_of(s, GEN_COMPUTE);
	int64_t da = gen_in(s, 11 * GEN_US, 40 * GEN_US), db = gen_in(s, 6 * GEN_US, 40 * GEN_US);
	int64_t both = gen_in(s, 1, (da < db ? da : db) - 5 * GEN_US);

	gen_run_op(s, r, ka, r->t, da, 1);
	gen_run_op(s, r, kb, r->t + da - both, db, 1);
	gen_book(r, gen_leaf(ka, da), da);
	gen_book(r, gen_leaf(kb, db), db - both);
	r->t += da + db - both;
}

/* One block, and a kernel that fills the device: the larger owns the time both are there. */
static inline void gen_shared(struct gen_scene *s, struct gen_rank *r)
{
	int ka = gen_kind_of(s, GEN_COMPUTE), kb = gen_kind_of(s, GEN_COMPUTE);
	int64_t lead = gen_in(s, 5 * GEN_US, 20 * GEN_US), d = gen_in(s, 5 * GEN_US, 20 * GEN_US),
		tail = gen_in(s, 0, 20 * GEN_US);
	struct gen_op *small = gen_run_op(s, r, ka, r->t, lead + d + tail, 2);

	small->small = 1;
	r->calls[r->ncalls - 1].grid_small = 1;
	gen_run_op(s, r, kb, r->t + lead, d, 1);
	gen_book(r, gen_leaf(ka, lead + d + tail), lead + tail);
	gen_book(r, gen_leaf(kb, d), d);
	r->t += lead + d + tail;
}

/* Counts, and owns no time. */
static inline void gen_nothing(struct gen_scene *s, struct gen_rank *r)
{
	gen_run_op(s, r, gen_kind_of(s, GEN_COMPUTE), r->t, 0, 1);
	gen_one(s, r);
}

/* A copy launched by the input pipeline, or of what was offloaded. */
static inline void gen_named_copy(struct gen_scene *s, struct gen_rank *r)
{
	int offload = gen_u32(s) % 2, kind = offload ? gen_of_state[GEN_COPY][gen_u32(s) % 3] : 4;
	int64_t d = gen_in(s, 5 * GEN_US, 30 * GEN_US), from = r->h[r->thread];

	gen_run_op(s, r, kind, r->t, d, 2);
	r->h[r->thread] += 100;
	gen_range(r, offload ? GEN_RANGES - 1 : 0, from, r->h[r->thread]);
	gen_book(r, offload ? WT_C6 : WT_C1, d);
	r->t += d;
	/* A copy that follows the input pipeline with nothing between would be taken for its copy: keep it clear. */
	gen_run_op(s, r, 2, r->t, 5 * GEN_US, 1);
	gen_book(r, gen_leaf(2, 5 * GEN_US), 5 * GEN_US);
	r->t += 5 * GEN_US;
}

/* A call around the launch just made, by which its kernel is known. */
static inline struct gen_call *gen_around(struct gen_rank *r, int kind, struct gen_call *launch)
{
	struct gen_call *c = gen_call(r, kind, launch->end, launch->end + 200);

	c->start = launch->start - 200;
	r->h[r->thread] += 2; /* whatever comes next begins after it */
	return c;
}

/* A product whose operands the caches held: faster than memory. */
static inline void gen_cached(struct gen_scene *s, struct gen_rank *r)
{
	int64_t at = (r->h[r->thread] + 300) & ~INT64_C(1),
		d = gen_in(s, GEN_MM_LEAST, GEN_MM_MOST);
	struct gen_call *c = gen_launch_at(s, r, GEN_MM, at, 900);

	gen_op(r, c, r->t, d, 1);
	c->in_blas = 1;
	gen_around(r, GEN_GEMM, c);
	gen_book(r, WT_A4, d);
	r->t += d;
}

/* Nodes of one graph: close together they are back to back, else one waits for another. */
static inline void gen_graph(struct gen_scene *s, struct gen_rank *r)
{
	int64_t at = (r->h[r->thread] + gen_even(s, 100, 800)) & ~INT64_C(1);
	struct gen_call *c = gen_call(r, GEN_GRAPH_LAUNCH, at, at + gen_even(s, 1000, 2000));
	struct gen_op *o;
	int n = (int)gen_in(s, 2, 5);

	c->records = (uint8_t)n;
	for (int i = 0; i < n; i++) {
		int64_t gap = i ? gen_in(s, 0, 3) * gen_in(s, 0, 5 * GEN_US) : 0,
			d = gen_in(s, 5 * GEN_US, 30 * GEN_US);

		gen_book(r, gap <= 5 * GEN_US ? WT_D10 : WT_D11, gap);
		c->op_kind = (uint8_t)gen_kind_of(s, GEN_COMPUTE);
		o = gen_op(r, c, r->t + gap, d, 1);
		o->node = (uint8_t)(i + 1);
		o->nodes = (uint8_t)n;
		gen_book(r, gen_leaf(c->op_kind, d), d);
		r->t += gap + d;
	}
}

static void (*const gen_parts[])(struct gen_scene *, struct gen_rank *) = {
	gen_one,    gen_one,	 gen_one,	 gen_hidden, gen_exposed, gen_pdl,
	gen_shared, gen_nothing, gen_named_copy, gen_graph,  gen_cached,
};

/* The end of a run: long enough for the host to be ahead, on stream 1. */
static inline void gen_last(struct gen_scene *s, struct gen_rank *r)
{
	int kind = gen_kind_of(s, GEN_COMPUTE);
	int64_t d = gen_in(s, 70 * GEN_US, 120 * GEN_US);

	gen_run_op(s, r, kind, r->t, d, 1);
	gen_book(r, gen_leaf(kind, d), d);
	r->t += d;
}

/* ---- gaps: from r->t on nothing runs; each launches what ends it ---- */

/* The host goes on when the device does: whatever it waits for next is no evidence about this gap. */
static inline void gen_follow(struct gen_rank *r, int64_t start)
{
	if (r->h[r->thread] < start)
		r->h[r->thread] = (start + 1) & ~INT64_C(1);
}

/* O is launched at a0 (after the drain) and starts q later, which is launch latency up to the cap. */
static inline void gen_end_gap(struct gen_scene *s, struct gen_rank *r, int64_t a0)
{
	int kind = gen_kind_of(s, GEN_COMPUTE),
	    slow = r->slow * 3 + 3 < r->drained && gen_u32(s) % 2;
	int64_t q = slow ? gen_in(s, GEN_CAP_NS - 2, 3 * GEN_CAP_NS)
			 : gen_in(s, 1 * GEN_US, 5 * GEN_US),
		d;

	if (slow && gen_u32(s) % 3 == 0)
		q = GEN_CAP_NS + gen_in(s, 0, 1); /* at the border */
	d = gen_in(s, 6 * GEN_US, 20 * GEN_US);
	r->drained++;
	r->slow += slow;
	gen_op(r, gen_launch_at(s, r, kind, a0, gen_even(s, 600, 998)), a0 + q, d, 1);
	gen_book(r, WT_D9, q < GEN_CAP_NS ? q : GEN_CAP_NS);
	gen_book(r, WT_D14, q > GEN_CAP_NS ? q - GEN_CAP_NS : 0);
	gen_book(r, gen_leaf(kind, d), d);
	r->t = a0 + q + d;
	gen_follow(r, a0 + q);
}

/* What the thread does from `at` on: nothing of note (`plain`), or calls and ranges that say why. Returns the end. */
static inline int64_t gen_doings(struct gen_scene *s, struct gen_rank *r, int64_t at,
				 enum wt_leaf plain)
{
	int n = (int)gen_in(s, 0, 4);

	for (int i = 0; i < n; i++) {
		static const struct {
			uint8_t call;
			enum wt_leaf leaf;
		} calls[] = {{GEN_ALLOC, WT_D3}, {GEN_MODULE, WT_D2}};
		int what = (int)gen_in(s, 0, 5), c = (int)gen_in(s, 0, 1),
		    name = (int)gen_in(s, 0, GEN_RANGES - 2);
		int64_t a = gen_even(s, 0, 20 * GEN_US), b = gen_even(s, 200, 60 * GEN_US),
			z = gen_even(s, 0, 20 * GEN_US);

		if (what == 0) { /* nothing */
			gen_book(r, plain, a);
			at += a;
		} else if (what < 3) { /* a call */
			gen_book(r, plain, a);
			gen_call(r, calls[c].call, at + a, at + a + b);
			gen_book(r, calls[c].leaf, b);
			at += a + b;
		} else if (what < 5) { /* a range */
			gen_range(r, name, at, at + b);
			r->h[r->thread] = at + b;
			gen_book(r, gen_range_names[name].leaf, b);
			at += b;
		} else { /* a call in a range: the profiler, modules, ranges, allocations; then set-up, idle engines */
			int first = name != GEN_FLUSH && (calls[c].leaf == WT_D2 || name >= 2);

			gen_call(r, calls[c].call, at + a, at + a + b);
			gen_range(r, name, at, at + a + b + z);
			r->h[r->thread] = at + a + b + z;
			gen_book(r, gen_range_names[name].leaf, a + z + (first ? 0 : b));
			gen_book(r, first ? calls[c].leaf : gen_range_names[name].leaf,
				 first ? b : 0);
			at += a + b + z;
		}
	}
	return at;
}

static inline int64_t gen_now(const struct gen_rank *r)
{
	return (r->t + 1) & ~INT64_C(1);
}

/* The host waits for the device, wakes up, does things, launches. */
static inline void gen_refill(struct gen_scene *s, struct gen_rank *r)
{
	int64_t woke = gen_now(r) + gen_even(s, 0, gen_u32(s) % 4 ? 18 * GEN_US : 90 * GEN_US), at,
		a0;

	gen_call(r, GEN_SYNC, r->h[r->thread] + 200, woke);
	gen_book(r, WT_D6, woke - r->t);
	at = gen_doings(s, r, woke, WT_D7);
	a0 = at + gen_even(s, 2, 40 * GEN_US);
	gen_book(r, WT_D7, a0 - at);
	gen_end_gap(s, r, a0);
}

/* No wait: the host is late for reasons of its own. */
static inline void gen_late(struct gen_scene *s, struct gen_rank *r)
{
	int64_t s0 = r->t, at = gen_now(r), a0;

	gen_book(r, WT_D8, at - s0);
	at = gen_doings(s, r, at, WT_D8);
	a0 = at + gen_even(s, 2, 40 * GEN_US);
	gen_book(r, WT_D8, a0 - at);
	gen_end_gap(s, r, a0);
}

/* The next operation was queued long before: back to back, or unresolved. */
static inline void gen_queued(struct gen_scene *s, struct gen_rank *r)
{
	static const int64_t borders[] = {1, 4999, 5000, 5001};
	int64_t gap = gen_u32(s) % 2 ? borders[gen_u32(s) % 4] : gen_in(s, 0, 30 * GEN_US),
		d = gen_in(s, 6 * GEN_US, 20 * GEN_US);
	int kind = gen_kind_of(s, GEN_COMPUTE);

	gen_must(r->h[r->thread] + 2 * GEN_US + GEN_CAP_NS < r->t, "the host is not ahead");
	gen_run_op(s, r, kind, r->t + gap, d, 1);
	gen_book(r, gap <= 5000 ? WT_D10 : WT_D14, gap);
	gen_follow(r, r->t + gap);
	gen_book(r, gen_leaf(kind, d), d);
	r->t += gap + d;
}

/*
 * The same, while a neighbour waits for work of its own that nobody recorded: then the device was its, as far as a wait
 * proves it.
 */
static inline void gen_taken(struct gen_scene *s, struct gen_rank *r)
{
	struct gen_rank *other = &s->neighbour;
	int64_t gap = gen_in(s, 30 * GEN_US, 200 * GEN_US), end = r->t + gap,
		d = gen_in(s, 6 * GEN_US, 20 * GEN_US),
		from = (r->t + gen_in(s, -20 * GEN_US, 20 * GEN_US)) & ~INT64_C(1),
		to = (end + gen_in(s, -20 * GEN_US, 20 * GEN_US)) & ~INT64_C(1), both;
	int kind = gen_kind_of(s, GEN_COMPUTE);

	if (s->nranks > 1) {
		gen_queued(s, r);
		return;
	}
	if (to < from + 200)
		to = from + 200;
	both = (to < end ? to : end) - (from > r->t ? from : r->t);
	both = both > 20 * GEN_US ? both : 0;
	other->thread = 1;
	gen_launch_at(s, other, 0, from - 2000, 900);
	gen_call(other, GEN_SYNC, from, to);
	gen_must(r->h[r->thread] + 2 * GEN_US + GEN_CAP_NS < r->t, "the host is not ahead");
	gen_run_op(s, r, kind, end, d, 1);
	r->truth[GEN_WT][WT_E4] += both;
	r->truth[GEN_WT][WT_D14] += gap - both;
	r->truth[GEN_KINETO][WT_D14] += gap;
	gen_follow(r, end);
	gen_book(r, gen_leaf(kind, d), d);
	r->t = end + d;
}

/* Work was launched and waited for, and there is no record of it. Our own files know that one is missing. */
static inline void gen_unseen(struct gen_scene *s, struct gen_rank *r)
{
	int64_t woke = gen_now(r) + gen_even(s, 21 * GEN_US, 200 * GEN_US), a0,
		from = r->h[r->thread] + 200;

	gen_launch_at(s, r, 0, from, 800)->lost = 1;
	r->calls[r->ncalls - 1].stream = 1;
	gen_call(r, GEN_SYNC, r->h[r->thread] + 200, woke);
	r->truth[GEN_WT][WT_E1] += woke - r->t;
	r->truth[GEN_KINETO][WT_E2] += woke - r->t;
	a0 = woke + gen_even(s, 2, 40 * GEN_US);
	gen_book(r, WT_D7, a0 - woke);
	gen_end_gap(s, r, a0);
}

/* The first launch of a kernel loads it: latency up to the cap, then loading until the call returns. */
static inline void gen_loading(struct gen_scene *s, struct gen_rank *r)
{
	int64_t a0 = gen_now(r) + gen_even(s, 2, 20 * GEN_US),
		took = gen_even(s, 60 * GEN_US, 300 * GEN_US);
	int64_t d = gen_in(s, 20 * GEN_US, 30 * GEN_US);

	if (r->once == 2 || r->slow * 3 + 3 >= r->drained) {
		gen_late(s, r);
		return;
	}
	gen_book(r, WT_D8, a0 - r->t);
	gen_op(r, gen_launch_at(s, r, GEN_ONCE + r->once++, a0, took), a0 + took, d, 1);
	r->drained++;
	r->slow++;
	gen_book(r, WT_D9, GEN_CAP_NS);
	gen_book(r, WT_D2, took - GEN_CAP_NS);
	gen_book(r, WT_A6, d);
	r->t = a0 + took + d;
}

static void (*const gen_gaps[])(struct gen_scene *, struct gen_rank *) = {
	gen_refill, gen_refill, gen_late,   gen_late,	 gen_queued,
	gen_queued, gen_taken,	gen_unseen, gen_loading,
};
#define GEN_COUNT(a_) ((uint32_t)(sizeof(a_) / sizeof(a_[0])))

static inline void gen_run(struct gen_scene *s, struct gen_rank *r)
{
	for (int n = (int)gen_in(s, 0, 3); n; n--)
		gen_parts[gen_u32(s) % GEN_COUNT(gen_parts)](s, r);
	gen_last(s, r);
}

#include "gen/scene_ranks.h"

static inline void gen_scene_make(struct gen_scene *s, uint64_t seed)
{
	static const int ranks[] = {1, 1, 1, 1, 1, 1, 2, 4};

	memset(s, 0, sizeof(*s));
	s->seed = s->state = seed;
	s->nranks = ranks[gen_u32(s) % 8];
	for (int i = 0; i < s->nranks; i++) {
		struct gen_rank *r = &s->rank[i];

		r->skew_ns = i ? gen_in(s, 0, 1000000) * 1000 : 0;
		r->h[1] = r->h[2] = 3000000;
		r->t = 3000000 + gen_in(s, 100 * GEN_US, 150 * GEN_US);
		r->thread = 1;
		gen_run(s, r);
		/* A first wait that ends soon: of a capture that began in mid-run the first one proves nothing. */
		gen_call(r, GEN_SYNC, r->h[1] + 200, gen_now(r) + 2000);
		gen_book(r, WT_D6, gen_now(r) + 2000 - r->t);
		gen_end_gap(s, r, gen_now(r) + 2000);
		gen_run(s, r);
	}
	for (int meetings = s->nranks > 1 ? (int)gen_in(s, 1, 3) : 1; meetings; meetings--) {
		for (int i = 0; i < s->nranks; i++) {
			struct gen_rank *r = &s->rank[i];

			for (int n = (int)gen_in(s, 1, s->nranks > 1 ? 3 : 7); n; n--) {
				int64_t free = r->h[1] > r->h[2] ? r->h[1] : r->h[2];

				r->thread = 1 + gen_u32(s) % 2;
				r->h[r->thread] =
					free + 100; /* work is handed over, never shared */
				gen_gaps[gen_u32(s) % GEN_COUNT(gen_gaps)](s, r);
				gen_run(s, r);
			}
		}
		for (int passes = s->nranks > 1 ? (int)gen_in(s, 0, 2) : 0; passes; passes--)
			gen_pass(s);
		if (s->nranks > 1)
			gen_meet(s);
	}
}

#endif
