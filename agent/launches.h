/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much longer a launch takes while CUPTI collects: from the rows themselves, which hold the length of the driver's
 * own call. Compared are launches of the same kernel with the same grid, by medians: of those made while collection was
 * on and of those made while it was off, at level api. A process that always collects has nothing to compare with, and
 * then nothing is claimed.
 */
#ifndef WT_LAUNCHES_H
#define WT_LAUNCHES_H

#include <stdint.h>

struct wt_chunk;

/* Writer thread. */
void wt_launches_rows(const struct wt_chunk *c, uint32_t from, uint32_t to);
void wt_launches_sum(uint64_t tsc_hz); /* each tick: what launches since the last one cost */

/* Whoever switches collection, behind the door of manners.c: being armed, on, off from this tick of the TSC on. */
enum wt_edge { WT_EDGE_OFF, WT_EDGE_ARMING, WT_EDGE_ON };
void wt_launches_edge(enum wt_edge edge, uint64_t tsc);

/* Any thread. */
uint64_t wt_launches_ns(void); /* by which launches were longer, in all */
int wt_launches_known(void);   /* 0: nothing to compare with so far */
uint64_t wt_launches_stall_ns(
	void); /* by how much the longest launch during the last arming was longer than usual */

#endif
