/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one rank's recording cannot say: collectives matched over all processes of a job, their transfer parted from
 * waiting, and whose fault the waiting was. Built from a timeline and its ledger; splits the ledger's exposed
 * communication (B5) into B1-B4 and takes pipeline holes out of idle time (D12), then accounts the job's common window
 * on aligned clocks. Definitions: README.md. One thread; n log n in the rows of collectives.
 */
#ifndef WT_RANKS_H
#define WT_RANKS_H

#include "base/map.h"
#include "ledger/ledger.h"
#include "ranks/clocks.h"
#include "ranks/match.h"

/* One process on one device: what takes part in a collective. */
struct wt_seat {
	uint16_t process, device;
	int32_t rank; /* of the process in the job; -1 */
};

/* What a communicator joins, by its name (grade 3) or by its members and what it does (1). */
enum wt_group_kind {
	WT_GROUP_UNKNOWN,
	WT_GROUP_ALL, /* every rank of the job */
	WT_GROUP_TENSOR,
	WT_GROUP_PIPELINE,
	WT_GROUP_DATA,
	WT_GROUP_EXPERT,
	WT_GROUP_CONTEXT,
	WT_GROUP_KINDS,
};
extern const char *const wt_group_names[WT_GROUP_KINDS];

/* A communicator, or a family of kernels without records. ns are sums over seats unless said otherwise. */
struct wt_rank_comm {
	uint64_t key;		/* 0 for a family */
	uint32_t name;		/* string: what the framework calls it, or the family's kernel */
	uint32_t nranks, seats; /* 0 = not known */
	uint32_t first_seat;
	uint8_t kind, kind_grade; /* enum wt_group_kind */
	uint8_t family;		  /* matched by kernel names and order between anchors */
	uint8_t fallback;	  /* by size and order */
	uint8_t stopped;	  /* enum wt_unmatched: from stopped_at on nothing is matched */
	uint64_t stopped_at;
	uint64_t ops, matched;		    /* parts; a send and its receive are two */
	uint64_t why[WT_UNMATCHED_REASONS]; /* parts by what came of them */
	int64_t wait_ns, transfer_ns,
		ideal_ns;    /* of matched parts; ideal: of those with a reference */
	int64_t referred_ns; /* the transfer of parts that have a reference */
	int64_t total_ns;    /* kernel time */
	int64_t exposed_ns, hidden_ns,
		blocking_ns; /* hidden: beside compute; blocking: compute came right after */
	int64_t start_skew_p50_ns, start_skew_p95_ns; /* first to last arrival; -1 = not known */
	int64_t end_skew_p50_ns, end_skew_p95_ns; /* needs clocks that are not told by these ends */
	double imbalance_p50, imbalance_max; /* all-to-all: largest share over the mean; 0 = none */
};

/* Exposed waiting of one seat on one other because of one thing. Largest first. */
struct wt_blame {
	uint32_t waiter, culprit; /* seats; culprit: the end of the chain */
	uint32_t first;		  /* the seat that came last in the waited-for operation itself */
	uint32_t comm;		  /* into comms */
	uint8_t leaf; /* of the culprit: what it did more of than its peers; WT_LEAVES = not established */
	uint8_t depth;	 /* communicators the chain went through; 1 = direct */
	uint32_t kernel; /* string: the kernel with the largest excess, 0 = none */
	int64_t wait_ns;
	int64_t excess_ns; /* how much more of the leaf the culprit had than its peers' median */
	uint64_t times;
	int64_t longest_ns, longest_at_ns; /* on the waiter's clock */
};
struct wt_rank_wait {		/* one exposed wait */
	uint32_t part, culprit; /* culprit: a seat */
	uint8_t leaf;		/* as in wt_blame */
};
/* A step of one process, by its device's time. */
struct wt_rank_window {
	int64_t number; /* the same on all ranks */
	int64_t start_ns, end_ns;
	uint16_t process;
};
struct wt_step_blame { /* the largest culprit of a step */
	int64_t step;
	uint32_t culprit;
	uint8_t leaf;
	int64_t wait_ns,
		all_ns; /* waited for it, and for anybody, in this step; all ranks together */
};
struct wt_straggler { /* per seat that took part in anything */
	uint32_t seat, windows, flagged;
	double score;	    /* median over windows of (arrival - median of the others) / scale */
	int64_t late_ns;    /* median of that lateness, not scaled */
	int64_t caused_ns;  /* exposed waiting of others that ends at this seat */
	int64_t waited_ns;  /* exposed waiting of its own */
	uint8_t persistent; /* score > 3.5 in half of 20 windows or more */
};

struct wt_ranks {
	const struct wt_timeline *tl;
	struct wt_seat *seats;
	size_t nseats, seats_room;
	struct wt_map seat_of; /* process << 16 | device */
	struct wt_part *
		parts; /* [0, tl->ncollectives): of that collective; then kernels without records */
	size_t nparts;
	uint32_t *family_ops; /* the operations of parts from tl->ncollectives on, ascending */
	struct wt_matches matches, families;
	struct wt_clock *clocks; /* per process */
	int64_t residual_ns;	 /* the largest of the clocks in use; 0 with one process */
	struct wt_rank_comm *comms;
	size_t ncomms;
	uint32_t *comm_of; /* per part */
	struct wt_blame *blames;
	size_t nblames;
	struct wt_rank_wait *waits; /* in the order of parts */
	size_t nwaits;
	struct wt_step_blame *steps;
	size_t nsteps;
	struct wt_straggler *stragglers; /* most caused first */
	size_t nstragglers;
	int rotating;	       /* the latest rank changes from window to window */
	int windows_are_steps; /* else: matched operations */
	int64_t wait_ns,
		unblamed_ns; /* exposed B3 + B4 of all; the part of it whose cause is not established */
	int64_t w0_ns, w1_ns; /* the common window on the first clock; w0 = w1: none */
};

/* Splits l's slices and accounts anew. 0, -WT_E_NOMEM, or -WT_E_CORRUPT if an account does not add up any more. */
int wt_ranks_build(struct wt_ranks **ret, struct wt_ledger *l, struct wt_diag *diag);
/*
 * Groups waits by steps, and judges who is late by steps instead of by operations. Sorts the windows, which must not
 * overlap within a process. Without any (n 0), as wt_ranks_build leaves it. 0 or -WT_E_NOMEM.
 */
int wt_ranks_steps(struct wt_ranks *r, struct wt_rank_window *windows, size_t n);
void wt_ranks_free(struct wt_ranks *r);

/* The part whose kernel an operation is, -1 for none. */
int32_t wt_ranks_part_of(const struct wt_ranks *r, uint32_t op);
/* Whether two seats' times can be compared, and the moment of one on the clock of the other. */
int wt_ranks_comparable(const struct wt_ranks *r, uint32_t seat_a, uint32_t seat_b);
int64_t wt_ranks_on_clock(const struct wt_ranks *r, uint32_t from_seat, int64_t ns,
			  uint32_t to_seat);

#endif
