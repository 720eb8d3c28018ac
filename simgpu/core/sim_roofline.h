/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long an operation takes that somebody can say the work of: a kernel by FLOPs and bytes, a collective by message
 * and ranks. A function of its arguments alone, safe from any thread; scenario and jitter come on top (sim_model.h).
 *
 * kernel:     floor + max(FLOPs / peak / efficiency, bytes / bandwidth / efficiency)
 * collective: alpha + bytes / beta in three segments, for 2, 4 and 8 ranks; between them by the line through both
 *
 * The coefficients are fitted to measured kernels of these devices (efficiency.def says which, and how well). A device
 * or type without measurements takes those of its nearest relative. Never less than 1 ns, never more than a day.
 */
#ifndef SIM_ROOFLINE_H
#define SIM_ROOFLINE_H

#include <stdint.h>

#include "simgpu/core/sim_export.h"

struct sim_device_type;

#define SIM_RANKS_PER_NODE 8

int64_t sim_roofline_ns(const struct sim_cost *c, const struct sim_device_type *device);
int64_t sim_collective_ns(enum sim_collective op, int ranks, uint64_t bytes,
			  const struct sim_device_type *device);
/* Of a kernel about which only the name is known: a fixed guess for its family; fallback_ns where it has none. */
int64_t sim_family_ns(const char *kernel_name, int64_t fallback_ns);
/* What one of its threads reads and writes, at a guess; 0 where its grid does not tell the work. */
int64_t sim_family_thread_bytes(const char *kernel_name);

#endif
