/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a device was idle. A gap [s, e) ends when operation O starts; who launched O, and what that thread was doing
 * since s, gives the cause. One object per timeline holds the indices over host calls that this needs, of the processes
 * of one device at a time.
 */
#ifndef WT_GAPS_H
#define WT_GAPS_H

#include "ledger/ledger.h"

struct wt_gaps;

/* An idle stretch of one device. */
struct wt_gap {
	int64_t start_ns, end_ns;
	uint32_t op; /* first of the operations that start at end_ns; UINT32_MAX = a hole follows */
};

struct wt_gaps *wt_gaps_new(const struct wt_timeline *tl); /* NULL: no memory */
void wt_gaps_free(struct wt_gaps *g);
/* From here on, of this device: everything below wants it. 0 or -WT_E_NOMEM. */
int wt_gaps_device(struct wt_gaps *g, uint16_t device);
/*
 * The leaf of a copy's own time, by what the job was doing when it launched it: C6 in a range of offloading; C1 for a
 * copy to the device made while waiting for input, or right after it, before any kernel was launched; else by its kind.
 */
enum wt_leaf wt_gaps_copy_leaf(const struct wt_gaps *g, const struct wt_op *op, uint8_t *ret_grade);
/* From the launch of what ends the gap to its start, if the queue was empty at the launch; else 0. */
int64_t wt_gaps_launch_delay_ns(const struct wt_gaps *g, const struct wt_gap *gap);
/* How long launch latency can be where these were measured: max(20 us, 4 x their median). Sorts them. */
int64_t wt_gaps_launch_cap_ns(int64_t *delays, size_t n);
/* Appends the slices of one gap. 0 or -WT_E_NOMEM. */
int wt_gap_cut(struct wt_gaps *g, const struct wt_gap *gap, int64_t launch_cap_ns,
	       struct wt_slices *ret);

#endif
