/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sweep over one device's records: which set of states holds at every instant, whose nanosecond it is, and where
 * nothing is recorded. Causes of idle time are gaps.h's business.
 */
#ifndef WT_SWEEP_H
#define WT_SWEEP_H

#include "ledger/ledger.h"

struct wt_gaps;

/* The state of an operation and, for the sum over all names, its family (NULL if none). */
enum wt_state wt_op_state(const struct wt_timeline *tl, struct wt_families *f,
			  const struct wt_op *op, const struct wt_family_row **ret_family);
/*
 * Slices of ops[first, last), which lie on one device and are sorted by start, and of that device's holes. Idle
 * stretches are cut by `gaps`. 0 or -WT_E_NOMEM.
 */
int wt_sweep(const struct wt_timeline *tl, struct wt_families *f, struct wt_bounds *bounds,
	     struct wt_gaps *gaps, size_t first, size_t last, const struct wt_hole *holes,
	     size_t nholes, struct wt_slices *ret, int64_t *ret_launch_cap_ns);

#endif
