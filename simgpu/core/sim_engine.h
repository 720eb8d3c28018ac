/* SPDX-License-Identifier: Apache-2.0 */
/* Between sim_timeline.c and sim_engine.c only. The lock is held in all of these. */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "simgpu/core/sim_timeline.h"

void sim_push_end(struct sim_work *w);	 /* to be completed when the clock reaches its end */
void sim_push_start(struct sim_work *w); /* open: to be started when the clock reaches its start */
/* Every settled operation that ends at or before ns has been completed. */
bool sim_completed_beyond(int64_t ns);
/* Blocks until something completed and the clock passed ns, or sooner. False: the process is ending. */
bool sim_sleep_for(int64_t ns);

void sim_work_settled(struct sim_work *w, struct sim_work **ready);
void sim_settle_all(struct sim_work *ready);

#endif
