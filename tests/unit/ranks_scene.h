/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hand-made timelines of several ranks, in true time: each rank's own clock is put on as rows are added. Shared by
 * test_ranks.c and test_ranks_kinds.c; include cmocka.h first.
 */
#ifndef WT_RANKS_SCENE_H
#define WT_RANKS_SCENE_H

#include "ranks/ranks.h"
#include "timeline/builder.h"

#define MS	  1000000ll
#define US	  1000ll
#define MOST	  8
#define GEMM	  "ampere_bf16_s16816gemm_bf16_128x64_nn"
#define ALLREDUCE "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
#define SENDRECV  "ncclDevKernel_SendRecv"

struct scene {
	struct wt_builder *b;
	int ranks;
	uint16_t process[MOST], device[MOST];
	uint32_t thread[MOST];
	int64_t offset_ns[MOST]; /* own clock minus true time at 0 */
	double drift[MOST];
	int native;
};

static inline void begin(struct scene *s, int ranks, int native)
{
	memset(s, 0, sizeof(*s));
	s->b = wt_builder_new();
	s->ranks = ranks;
	s->native = native;
	for (int r = 0; r < ranks; r++) {
		char name[16] = {'r', (char)('0' + r), '.', 'w', 't', 0};
		struct wt_process *p;

		s->process[r] =
			wt_builder_process(s->b, wt_builder_input(s->b, name, "test"), 100 + r);
		p = wt_builder_process_at(s->b, s->process[r]);
		p->rank = r;
		p->world = ranks;
		s->device[r] = wt_builder_device(s->b, s->process[r], 0, NULL);
		s->thread[r] = wt_builder_thread(s->b, s->process[r], 1);
		wt_builder_device_at(s->b, s->device[r])->name =
			wt_builder_cstring(s->b, "Some GPU");
	}
}

static inline int64_t own(const struct scene *s, int rank, int64_t ns)
{
	return ns + s->offset_ns[rank] + (int64_t)(s->drift[rank] * (double)ns);
}

/* After offsets are set: what was collected, for native scenes. */
static inline void collect(struct scene *s, int64_t from_ns, int64_t to_ns)
{
	for (int r = 0; r < s->ranks; r++) {
		struct wt_process *p = wt_builder_process_at(s->b, s->process[r]);

		p->level = 3;
		p->ended = 1;
		p->host = wt_builder_cstring(s->b, "host");
		p->collect_start_ns = own(s, r, from_ns);
		p->collect_end_ns = own(s, r, to_ns);
	}
}

static inline void op(struct scene *s, int rank, int64_t stream, int64_t start_ns, int64_t end_ns,
		      const char *name, int32_t collective)
{
	wt_builder_op(s->b, &(struct wt_op){.start_ns = own(s, rank, start_ns),
					    .end_ns = own(s, rank, end_ns),
					    .name = wt_builder_cstring(s->b, name),
					    .stream = wt_builder_stream(s->b, s->process[rank],
									s->device[rank], stream),
					    .device = s->device[rank],
					    .process = s->process[rank],
					    .kind = WT_OP_KERNEL,
					    .call = -1,
					    .collective = collective});
}

static inline struct wt_collective like(uint64_t comm, uint64_t seq, uint32_t nranks, uint8_t kind)
{
	return (struct wt_collective){.comm = comm,
				      .seq = seq,
				      .bytes = 1 << 20,
				      .dtype = 7,
				      .nranks = nranks,
				      .call = -1,
				      .peer = -1,
				      .lead = -1,
				      .op = kind};
}

static inline void coll(struct scene *s, int rank, int64_t start_ns, int64_t end_ns,
			struct wt_collective c)
{
	c.process = s->process[rank];
	c.name = wt_builder_cstring(s->b, "AllReduce");
	if (c.op == WT_COLL_SEND || c.op == WT_COLL_RECV)
		op(s, rank, 20, start_ns, end_ns, SENDRECV, wt_builder_collective(s->b, &c));
	else
		op(s, rank, 20, start_ns, end_ns, ALLREDUCE, wt_builder_collective(s->b, &c));
}

/* Something short on each rank at both ends: the window of foreign files is from first to last record of all. */
static inline void edges(struct scene *s, int64_t from_ns, int64_t to_ns)
{
	for (int r = 0; r < s->ranks; r++) {
		op(s, r, 7, from_ns - US, from_ns, GEMM, -1);
		op(s, r, 7, to_ns, to_ns + US, GEMM, -1);
	}
}

struct result {
	struct wt_timeline *tl;
	struct wt_ledger *l;
	struct wt_ranks *r;
};

static inline struct result end(struct scene *s)
{
	struct result x = {NULL, NULL, NULL};

	assert_int_equal(wt_builder_finish(s->b, &x.tl, NULL), 0);
	assert_int_equal(wt_ledger_build(&x.l, x.tl, NULL), 0);
	assert_int_equal(wt_ranks_build(&x.r, x.l, NULL), 0);
	for (size_t i = 0; i < x.l->ndevices; i++) {
		const struct wt_slices *sl = &x.l->devices[i].slices;

		for (size_t k = 1; k < sl->n; k++)
			assert_true(wt_slices_at(sl, k)->start_ns ==
				    wt_slices_at(sl, k - 1)->end_ns);
	}
	return x;
}

static inline void finish(struct result *x)
{
	wt_ranks_free(x->r);
	wt_ledger_free(x->l);
	wt_timeline_free(x->tl);
}

static inline int64_t leaf(const struct result *x, int rank, enum wt_leaf leaf)
{
	for (size_t i = 0; i < x->l->ndevices; i++)
		if (x->tl->devices[x->l->devices[i].device].rank == rank)
			return x->l->devices[i].account.leaves_ns[leaf];
	fail_msg("no device of rank %d", rank);
	return 0;
}

static inline int rank_of(const struct result *x, uint32_t seat)
{
	return x->r->seats[seat].rank;
}

static inline int64_t blamed(const struct result *x, int waiter, int culprit, int leaf)
{
	int64_t ns = 0;

	for (size_t i = 0; i < x->r->nblames; i++) {
		const struct wt_blame *b = &x->r->blames[i];

		if (rank_of(x, b->waiter) == waiter &&
		    (culprit < 0 || rank_of(x, b->culprit) == culprit) &&
		    (leaf < 0 || b->leaf == leaf))
			ns += b->wait_ns;
	}
	return ns;
}

#endif
