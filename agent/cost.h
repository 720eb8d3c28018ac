/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs, measured in the job: time in hooks (sampled, else calibrated x calls), CPU of the writer,
 * time inside CUPTI's callbacks. Totals since start.
 */
#ifndef WT_COST_H
#define WT_COST_H

#include <stdint.h>

struct wt_cost {
	uint64_t hook_ns;
	uint64_t hook_sampled; /* 0 = hook_ns is calibrated, not sampled */
	uint64_t writer_cpu_ns;
	uint64_t cupti_ns;
	uint64_t calls;
};

/* Writer thread, once: measures what one recorded call costs on this machine. */
void wt_cost_start(uint64_t tsc_hz);
/* Any thread, at any time: a hook's own time (without the real call), of one call. */
void wt_cost_hook_sample(uint64_t ticks);
/* Any thread: ticks spent inside a callback of CUPTI. */
void wt_cost_cupti(uint64_t ticks);
/* Writer thread: totals for `calls` hooked calls so far. */
void wt_cost_read(uint64_t calls, struct wt_cost *ret);

#endif
