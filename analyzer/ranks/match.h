/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows of different processes are one collective. Knows rows, not timelines: a part is one seat's part in one
 * operation, and seats are whatever the caller counts (a process on a device; a rank of a dump). n log n, one thread.
 *
 * A part is found by (communicator, own number there). Where a communicator's key is known to one seat alone, by
 * (operation, type, bytes, ranks) and order among equal ones; that is grade 2. Nothing is matched by time.
 *
 * A communicator whose seats disagree, about the operation, its size or how many there were, is not matched from there
 * on: later numbers may be shifted. Numbers of the job itself (not counted from a file's beginning) may be absent on
 * some seats: that is a late start or a lost row, and no disagreement.
 */
#ifndef WT_MATCH_H
#define WT_MATCH_H

#include <stddef.h>
#include <stdint.h>

/* Why a part's time is not split, in the order in which it is found out; texts in match.c. */
enum wt_unmatched {
	WT_UNMATCHED_NOT, /* it is */
	WT_UNMATCHED_ALONE,
	WT_UNMATCHED_COUNTS,
	WT_UNMATCHED_DISAGREE,
	WT_UNMATCHED_CROWDED,
	WT_UNMATCHED_UNTIMED,
	WT_UNMATCHED_CLOCKS,
	WT_UNMATCHED_ENDS,
	WT_UNMATCHED_PEAK,
	WT_UNMATCHED_ROOT,
	WT_UNMATCHED_SIZES,
	WT_UNMATCHED_REASONS,
};
extern const char *const wt_unmatched_texts[WT_UNMATCHED_REASONS];

#define WT_PART_COUNTED	 1u /* num is a place in a file, not the job's number */
#define WT_PART_FALLBACK 2u /* set by wt_match: found by size and order */
#define WT_PART_SKIP                                                                               \
	4u /* not to be matched here: sends, receives, what rides on another part's kernels */
#define WT_PART_FAMILY                                                                             \
	8u /* a kernel without a record: key and num are by name and order between anchors */

struct wt_part {
	/* Filled by the caller. Times are the seat's own; start = end where no kernel has usable ones. */
	int64_t start_ns, end_ns;
	int64_t gaps_ns;   /* between its kernels, where a group made several */
	uint64_t key, num; /* communicator (0 = not known) and the number there */
	uint64_t bytes;
	uint32_t seat, nranks, dtype; /* nranks 0 = not known */
	uint8_t op;		      /* enum wt_coll_op */
	uint8_t flags;		      /* WT_PART_* */
	/* Filled by matching and by waits.h. */
	uint8_t why;	    /* enum wt_unmatched */
	uint8_t leaf;	    /* whose wait it is: WT_B3 or WT_B4 */
	uint8_t grade;	    /* of wait and transfer */
	int32_t instance;   /* -1 */
	int32_t last;	    /* the part that came last, -1 = nobody waited or not known */
	int64_t wait_ns;    /* at the front, while the last one had not come */
	int64_t ideal_ns;   /* of the transfer, at reference bandwidth; -1 = no reference */
	int64_t exposed_ns; /* of the wait, in the ledger's window; filled by cut.c */
	int64_t peer_ns; /* sends, receives: the latest start on the other sides, own clock; INT64_MIN = not known */
};
/* How long its kernels ran: waiting is at the front of that, the rest is transfer. */
static inline int64_t wt_part_busy_ns(const struct wt_part *p)
{
	int64_t ns = p->end_ns - p->start_ns - p->gaps_ns;

	return ns > p->wait_ns ? ns : p->wait_ns;
}

struct wt_instance {
	uint32_t first, n; /* into wt_matches.order */
	uint32_t comm;	   /* into wt_matches.comms */
};
struct wt_match_comm {
	uint64_t key;
	uint32_t first, n;	/* its instances */
	uint32_t seats, nranks; /* seen, and by its own word (0 = not known) */
	uint8_t stopped;	/* enum wt_unmatched: COUNTS or DISAGREE; 0 = went through */
	uint8_t uneven; /* counted numbers, and unequally many: all may be shifted against each other */
	uint64_t stopped_at;	     /* the number from which on nothing is matched */
	uint64_t matched, unmatched; /* parts */
};
struct wt_matches {
	uint32_t *order; /* part indices: by key, number, seat; unmatched ones included */
	size_t norder;
	struct wt_instance *instances; /* two parts or more each, by (comm, number) */
	size_t ninstances;
	struct wt_match_comm *comms; /* by key */
	size_t ncomms;
};

/* Sets instance, why and (for the fallback) key, num and flags of every part. 0 or -WT_E_NOMEM. */
int wt_match(struct wt_part *parts, size_t n, struct wt_matches *ret);
void wt_matches_release(struct wt_matches *m);
/* 1 for operations whose every rank ends when all have come: their ends tell of clocks, their lengths of waits. */
int wt_match_syncs(uint8_t op);

#endif
