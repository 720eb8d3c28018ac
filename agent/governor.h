/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds recording to its budget (WARPTAP_BUDGET, percent of wall time) by what recording costs directly:
 *
 *   time in hooks        calls x their cost, sampled on the job's threads (cost.h)
 *   CUPTI's callbacks    measured
 *   longer launches      a launch's own length with CUPTI collecting, less that without, for the same kernel and grid:
 *                        medians, times the launches. Known only once a process has launched both ways
 *   our threads          CPU time of writer and control, divided by the cores the process may use: with all of them
 *                        busy that is what the job loses, with idle ones less
 *
 * An account is kept: it earns budget x time and pays what was spent; it starts with, and holds at most, what
 * WARPTAP_BUDGET_SPAN_MS earns. Empty: a level down. Full again after a quiet time: a level up; the quiet time doubles
 * when that was too early. So the cost up to any moment t is at most budget x (t + span) and what one tick spends.
 */
#ifndef WT_GOVERNOR_H
#define WT_GOVERNOR_H

#include <stdint.h>

struct wt_governor_view {
	uint64_t cost_ppm;  /* of late */
	uint64_t launch_ns; /* by which launches were longer so far */
	int launch_known;
	uint64_t total_ns; /* all direct cost so far */
};

void wt_governor_start(void); /* control thread, once */
void wt_governor_tick(
	int64_t now_ns); /* control thread: may change the level, or give up the open window */
void wt_governor_view(struct wt_governor_view *ret); /* any thread */

#endif
