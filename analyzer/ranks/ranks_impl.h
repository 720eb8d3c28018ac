/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages of wt_ranks_build, in their order. Each fills its part of the struct and returns 0 or -WT_E_NOMEM.
 */
#ifndef WT_RANKS_IMPL_H
#define WT_RANKS_IMPL_H

#include "ranks/ranks.h"

int wt_ranks_collect(struct wt_ranks *r); /* collect.c: seats, parts of recorded collectives */
int wt_ranks_clocks(struct wt_ranks *r);  /* rank_clocks.c */
int wt_ranks_families(struct wt_ranks *r,
		      struct wt_ledger *l);		   /* collect.c: kernels without records */
int wt_ranks_waits(struct wt_ranks *r);			   /* waits.c: collectives */
int wt_ranks_p2p(struct wt_ranks *r);			   /* p2p.c: sends and receives */
int wt_ranks_groups(struct wt_ranks *r);		   /* groups.c: comms, comm_of */
int wt_ranks_cut(struct wt_ranks *r, struct wt_ledger *l); /* cut.c; also -WT_E_CORRUPT */
int wt_ranks_blame(struct wt_ranks *r, const struct wt_ledger *l); /* blame.c */
/* scores.c; windows sorted by (process, start), numbers from 0 per step */
int wt_ranks_scores(struct wt_ranks *r, const struct wt_rank_window *windows,
		    const uint32_t *numbers, size_t n, uint32_t nnumbers);
/* rank_steps.c: the index of the window that holds a moment of a process, SIZE_MAX outside all. */
size_t wt_rank_window_at(const struct wt_rank_window *windows, size_t n, uint16_t process,
			 int64_t ns);

/* The seat of (process, device), made if need be; UINT32_MAX when memory runs out. */
uint32_t wt_ranks_seat(struct wt_ranks *r, uint16_t process, uint16_t device);

/* A send and its receive, by their parts; leads carry the kernels. Sorted by lead. */
struct wt_link {
	uint32_t lead, other; /* parts: the kernel here, the kernel there */
};
/* Both directions of every pair found. */
int wt_ranks_links(struct wt_ranks *r, struct wt_link **ret, size_t *ret_n);

/* Windows, below which nobody is called late again and again. */
#define WT_RANK_WINDOWS_LEAST 20

static inline int wt_part_timed(const struct wt_part *p)
{
	return p->end_ns > p->start_ns;
}

#endif
