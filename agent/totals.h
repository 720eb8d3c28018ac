/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Totals: exact counts of all rings, what CUPTI delivered and dropped, losses, cost -> Counts, Loss and Cost packets.
 * Writer thread only.
 */
#ifndef WT_TOTALS_H
#define WT_TOTALS_H

#include <stdint.h>

#include "agent/chunk.h"
#include "agent/pack.h"

#define WT_TOTALS_RINGS 1024 /* at least as many as the box has */
#define WT_TOTALS_ROWS	(WT_COUNT_CONTEXTS * WT_COUNT_SLOTS * WT_COUNT_STATES + 32)

struct wt_totals {
	uint64_t counts[WT_COUNT_CONTEXTS][WT_COUNT_SLOTS][WT_COUNT_STATES];
	uint64_t rows,
		unrowed;  /* sums of the above: calls with a row, and counted at level count */
	uint64_t dropped; /* host rows */
	/* What has been said, so that a quiet job costs nothing. */
	uint64_t said_sum, said_cupti, said_buffer;
	uint64_t said_troubles;
	struct {
		const struct wt_ring *ring;
		uint64_t dropped;
	} said_ring[WT_TOTALS_RINGS];
};

/* Says what changed since it was said last; with `last`, everything, from the reserve if need be. */
void wt_totals_say(struct wt_totals *t, struct wt_pack *p, int last);
/* Any thread: what recording has cost so far. */
struct wt_cost;
void wt_totals_cost(struct wt_cost *ret);
/* A Counts packet alone, as of now. */
void wt_totals_counts(struct wt_totals *t, struct wt_pack *p);

#endif
