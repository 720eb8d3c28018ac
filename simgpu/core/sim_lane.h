/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and contexts as the timeline sees them, and the rules of the default stream:
 *   - work of one lane runs in order;
 *   - work of the legacy lane waits for every blocking lane of its space, and they for it;
 *   - a non-blocking lane knows only itself.
 * The lock is held in all of these.
 */
#ifndef SIM_LANE_H
#define SIM_LANE_H

#include "simgpu/core/sim_timeline.h"

struct sim_lane {
	struct sim_space *space;
	struct sim_lane *next, **link; /* of the space */
	struct sim_point tail;
	uint32_t id; /* CUPTI-style stream id */
	bool blocking;
	uint32_t queued;   /* submitted and not complete */
	uint64_t launched; /* number of the next operation, for the model */
};

struct sim_space {
	uint32_t id, device; /* CUPTI-style context id */
	uint32_t next_lane_id;
	struct sim_lane legacy; /* not on the list */
	struct sim_lane *lanes;
	/* what destroyed lanes left behind: blocking ones still hold up the legacy lane */
	struct sim_point orphans, blocking_orphans;
	_Atomic int error; /* sticky CUresult, 0 = none; read without the lock */
};

#define SIM_DEFAULT_STREAM_ID 7

void sim_space_init(struct sim_space *s, uint32_t id, uint32_t device);
void sim_lane_init(struct sim_lane *l, struct sim_space *s, bool blocking);
void sim_lane_release(
	struct sim_lane *l); /* work goes on; the lane may be reused once queued == 0 */
/* Makes w the next operation of l: what it waits for, ids, tail. */
void sim_lane_submit(struct sim_lane *l, struct sim_work *w, int64_t submit_ns);
/* The moment at which everything submitted to l so far is over; the default stream's rules included. */
void sim_lane_now(struct sim_lane *l, struct sim_point *ret);
/* Later work of l waits for p. */
void sim_lane_wait(struct sim_lane *l, struct sim_point *p);
void sim_space_now(struct sim_space *s, struct sim_point *ret);
/* Blocks while the lane's queue is full, as a real launch does; never during the hold. */
void sim_lane_throttle(struct sim_lane *l);

#endif
