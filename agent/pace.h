/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the job has come, in units that all ranks count alike: collectives enqueued on the largest communicator, and
 * steps the job marks. Windows that open at such a number open at the same place of the program on every rank, without
 * a word between them. Written by job threads inside hooks that are cold anyway; read by the control thread.
 *
 * Steps are timed besides, at every level, so that a report can hold those with recording against those without.
 */
#ifndef WT_PACE_H
#define WT_PACE_H

#include <stdatomic.h>
#include <stdint.h>

#include "proto/control_msg.h"

struct wt_pace {
	_Atomic uint64_t
		at[WT_SPAN_UNITS]; /* of steps and of collectives; [WT_SPAN_MS] is not used */
	_Atomic uint64_t trigger
		[WT_SPAN_UNITS]; /* wake the control thread when this is reached; UINT64_MAX = none */
	_Atomic uint32_t comm, ranks; /* whose collectives: registry id, size; 0 = none yet */
};
extern struct wt_pace wt_pace __attribute__((visibility("hidden")));

/* A communicator was made, or is gone (ranks 0). Of the largest, the first made sets the pace. */
void wt_pace_comm(uint32_t id, uint32_t ranks);
void wt_pace_reached(uint32_t unit); /* slow: wakes control */

static inline void wt_pace_set(uint32_t unit, uint64_t at)
{
	atomic_store_explicit(&wt_pace.at[unit], at, memory_order_seq_cst);
	if (at >= atomic_load_explicit(&wt_pace.trigger[unit], memory_order_seq_cst))
		wt_pace_reached(unit);
}

/* The seq-th collective of communicator `id` was enqueued. */
static inline void wt_pace_collective(uint32_t id, uint64_t seq)
{
	if (id == atomic_load_explicit(&wt_pace.comm, memory_order_relaxed))
		wt_pace_set(WT_SPAN_COLLECTIVES, seq);
}

/* The job marked the start of a step. */
void wt_pace_step(void);

/*
 * Steps that began and ended at `level` (as in a State) since the last call for it, and their ticks; without the one in
 * which the level changed and the one after it. Whoever calls has noted a change: what is under way now is neither's.
 */
void wt_pace_take(uint32_t level, uint64_t *ret_steps, uint64_t *ret_ticks);

#endif
