/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs, measured in the job: time in hooks (sampled, else calibrated x calls), CPU of our own threads,
 * time inside CUPTI's callbacks and by its OVERHEAD records, longer launches. Totals since start.
 */
#ifndef WT_COST_H
#define WT_COST_H

#include <stdint.h>

struct wt_cost {
	uint64_t hook_ns;
	uint64_t hook_sampled; /* 0 = hook_ns is calibrated, not sampled */
	uint64_t writer_cpu_ns;
	uint64_t control_cpu_ns;
	uint64_t cupti_ns;  /* in CUPTI's callbacks, and by its OVERHEAD records */
	uint64_t launch_ns; /* by which launches are longer while CUPTI collects: launches.h */
	uint64_t calls;
};

/* Writer thread, once: measures what one recorded call costs on this machine. */
void wt_cost_start(uint64_t tsc_hz);
/*
 * Job thread, on a chunk just taken: what a record costs here and now. Makes a few the way a hook does, in the rows the
 * next calls will overwrite: with this thread's caches, and memory as cold as it is.
 */
struct wt_chunk;
void wt_cost_sample(struct wt_chunk *c);
/* Any thread: ticks spent inside a callback of CUPTI. */
void wt_cost_cupti(uint64_t ticks);
/* Writer: nanoseconds that CUPTI says it kept a thread of the job for. */
void wt_cost_overhead(uint64_t ns);
/* Own threads, once each: their CPU time counts from here on. */
void wt_cost_writer_is_here(void);
void wt_cost_control_is_here(void);
/* Any thread: totals for so many calls with a row, and counted without one. */
void wt_cost_read(uint64_t rows, uint64_t unrowed, struct wt_cost *ret);

#endif
