/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the job said it was doing: an index over a timeline's ranges by thread, nested, so that "which range of these
 * kinds was this thread in at t" costs a search and a walk up the nest. Built once, then read by ledger and axes.
 */
#ifndef WT_RANGES_H
#define WT_RANGES_H

#include "timeline/timeline.h"

#define WT_KIND_BIT(kind_) (1u << WT_RANGE_##kind_)

struct wt_ranges {
	const struct wt_timeline *tl;
	uint8_t *kind;	 /* per range of the timeline: as marked, else by its name */
	int64_t *number; /* per range: of a step; -1 = not known */
	uint32_t *
		order; /* ranges by (thread, start, end descending); requests and their like are left out */
	int32_t *
		parent; /* per position in order: position of the enclosing range of the thread; -1 */
	size_t *first; /* per thread + 1: positions in order */
	size_t n;
	uint32_t kinds; /* of all ranges: bits 1u << kind */
};

/* x is all zero. 0 or -WT_E_NOMEM; wt_ranges_release() in both cases. */
int wt_ranges_init(struct wt_ranges *x, const struct wt_timeline *tl);
void wt_ranges_release(struct wt_ranges *x);
/* The innermost range of these kinds (bits) that a thread was in at t; index into tl->ranges, -1 = none. */
int32_t wt_ranges_at(const struct wt_ranges *x, uint32_t thread, int64_t t_ns, uint32_t kinds);
/*
 * The same for a call: its thread's, else the one that began last of those its process's other threads were in, for
 * work is handed over, as to autograd's threads.
 */
int32_t wt_ranges_of_call(const struct wt_ranges *x, const struct wt_call *call, uint32_t kinds);
/* The last range of these kinds that the thread had left before t; -1. Looks back a bounded way. */
int32_t wt_ranges_before(const struct wt_ranges *x, uint32_t thread, int64_t t_ns, uint32_t kinds);
/*
 * Ranges of a thread that overlap [from, to) and are of these kinds, by start: call with *cursor = SIZE_MAX first; -1
 * when there are no more.
 */
int32_t wt_ranges_next(const struct wt_ranges *x, uint32_t thread, int64_t from_ns, int64_t to_ns,
		       uint32_t kinds, size_t *cursor);

#endif
