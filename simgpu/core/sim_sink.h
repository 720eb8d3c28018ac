/* SPDX-License-Identifier: Apache-2.0 */
/* Who is told of operations and API calls: one sink, set by the simulated CUPTI. */
#ifndef SIM_SINK_H
#define SIM_SINK_H

#include "simgpu/core/sim_export.h"

#include <stdatomic.h>
#include <stdbool.h>

extern atomic_bool sim_sink_set;

void sim_sink_replace(
	const struct sim_sink *sink); /* NULL = none; returns when no callback is running */
void sim_sink_op(const struct sim_op *op);
void sim_sink_api(const struct sim_api *api);
void sim_sink_context_end(uint32_t context);

#endif
