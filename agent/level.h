/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which level is in force, and why: the least of
 *
 *   base      WARPTAP_LEVEL, or what a command set; trace while a window is open
 *   ceiling   what the governor allows
 *   CUPTI     trace is api while another tool holds it (collectors/manners.h)
 *
 * One thread calls what is below (control, after start): hooks read one word and nothing else. Each change is a State
 * in the trace. On the way to and from trace the level is api, so that rows bracket what is collected.
 */
#ifndef WT_LEVEL_H
#define WT_LEVEL_H

#include <stdint.h>

#include "agent.h"

struct wt_level_view {
	uint32_t base, ceiling, in_force;
	int window; /* open */
	uint64_t number;
};

/* Job thread in cuInit: the level asked for, and the one the process begins with (api for want of CUPTI, say). */
void wt_level_init(uint32_t base, uint32_t level);
void wt_level_base(uint32_t level);			  /* a command */
void wt_level_ceiling(uint32_t level, uint32_t cost_ppm); /* the governor */
/* Opens a window, or ends it. reason: StateReason. 0 = in force, 1 = not yet (CUPTI is not free), -WT_E_x. */
int wt_level_window_open(uint32_t reason, uint64_t number);
void wt_level_window_close(uint32_t reason);
void wt_level_view(struct wt_level_view *ret);

#endif
