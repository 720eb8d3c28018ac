/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks of a scene meet; included by scene.h. What matching says of it is in parted[], by the leaves' meaning. */
#ifndef GEN_SCENE_RANKS_H
#define GEN_SCENE_RANKS_H

/* The least that an all-reduce takes on the scenes' device, as measured elsewhere: the data, not the code, of B1. */
static inline int64_t gen_least_ns(int ranks, uint64_t bytes)
{
	static const struct {
		const char *device, *op;
		int ranks;
		int64_t ns[8];
	} rows[] = {
#define WT_LINK(device_, gbs_, sharp_)
#define WT_BUSBW(device_, op_, ranks_, ...) {#device_, #op_, ranks_, {__VA_ARGS__}},
#include "ranks/busbw.def"
#undef WT_LINK
#undef WT_BUSBW
	};
	int column = bytes == 1u << 15 ? 2 : bytes == 1u << 18 ? 3 : -1;

	for (size_t i = 0; column >= 0 && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].device, "H100") && !strcmp(rows[i].op, "ALL_REDUCE") &&
		    rows[i].ranks == ranks)
			return rows[i].ns[column];
	gen_must(0, "no measured time for this size");
	return 0;
}

/* The kernel of a call of NCCL that runs from the end of the run on. */
static inline struct gen_call *gen_comm(struct gen_scene *s, struct gen_rank *r, int kind, int call,
					int64_t at, int64_t start, int64_t d, struct gen_op **ret)
{
	struct gen_call *c = gen_launch_at(s, r, kind, at, 900);

	*ret = gen_op(r, c, start, d, 2);
	c->in_nccl = 1;
	return gen_around(r, call, c);
}

/* All ranks meet: each waits, in its kernel, from its arrival to the last one's; then the transfer. */
static inline void gen_meet(struct gen_scene *s)
{
	int64_t last = 0, took = gen_in(s, 5 * GEN_US, 40 * GEN_US), least;
	uint64_t bytes = gen_u32(s) % 2 ? 1u << 15 : 1u << 18;

	least = gen_least_ns(s->nranks, bytes);
	least = least < took ? least : took;
	for (int i = 0; i < s->nranks; i++)
		last = s->rank[i].t > last ? s->rank[i].t : last;
	for (int i = 0; i < s->nranks; i++) {
		struct gen_rank *r = &s->rank[i];
		int64_t d = last + took - r->t;
		struct gen_call *n;
		struct gen_op *o;

		n = gen_comm(s, r, 3, GEN_NCCL, (r->h[r->thread] + 300) & ~INT64_C(1), r->t, d, &o);
		o->collective = r->ncollectives++;
		o->bytes = (uint32_t)bytes;
		n->bytes = bytes;
		n->op_kind = (uint8_t)r->ncollectives; /* its number */
		gen_book(r, WT_B5, d);
		r->parted[WT_B3] += last - r->t;
		r->parted[WT_B1] += least;
		r->parted[WT_B2] += took - least;
		r->t += d;
		gen_last(s, r);
	}
}

/*
 * One rank sends to the next. Whoever is there first waits (B4), and what the receiver was idle before, while the
 * sender had not begun, is a hole of the pipeline (D12) and not the host's: its host was late too, to no harm.
 */
static inline void gen_pass(struct gen_scene *s)
{
	int i = (int)gen_in(s, 0, s->nranks - 2);
	struct gen_rank *from = &s->rank[i], *to = &s->rank[i + 1];
	int64_t idle_from = to->t, a0 = gen_now(to) + gen_even(s, 2, 40 * GEN_US),
		start = a0 + gen_in(s, 1 * GEN_US, 5 * GEN_US), missing, last, end, hole, late;
	struct gen_op *o;

	/* Half of the time the sender comes while the receiver is idle. */
	missing = idle_from - from->t + gen_in(s, 0, start - idle_from);
	if (gen_u32(s) % 2 && missing > 70 * GEN_US) {
		gen_run_op(s, from, 0, from->t, missing, 1);
		gen_book(from, gen_leaf(0, missing), missing);
		from->t += missing;
	}
	last = from->t > start ? from->t : start;
	end = last + gen_in(s, 5 * GEN_US, 40 * GEN_US);
	to->drained++;
	gen_book(to, WT_D8, a0 - idle_from);
	gen_book(to, WT_D9, start - a0);
	hole = (from->t < start ? from->t : start) - idle_from;
	hole = hole > 0 ? hole : 0;
	late = hole < a0 - idle_from ? hole : a0 - idle_from;
	to->parted[WT_D12] += hole;
	to->parted[WT_D8] -= late;
	to->parted[WT_D9] -= hole - late;

	gen_comm(s, to, GEN_P2P, GEN_RECV, a0, start, end - start, &o)->peer = (uint8_t)i;
	o->p2p = GEN_RECV;
	o->peer = (uint8_t)i;
	gen_comm(s, from, GEN_P2P, GEN_SEND, (from->h[from->thread] + 300) & ~INT64_C(1), from->t,
		 end - from->t, &o)
		->peer = (uint8_t)(i + 1);
	o->p2p = GEN_SEND;
	o->peer = (uint8_t)(i + 1);
	gen_book(to, WT_B5, end - start);
	gen_book(from, WT_B5, end - from->t);
	to->parted[WT_B4] += last - start;
	to->parted[WT_B1] += end - last;
	from->parted[WT_B4] += last - from->t;
	from->parted[WT_B1] += end - last;
	from->t = to->t = end;
	gen_follow(to, start);
	gen_last(s, to);
	gen_last(s, from);
}

#endif
