/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a device a kernel can fill, from its grid, block, registers and shared memory: no counters. Modelled: it
 * says what fits, not what was resident, with as much of the cache as shared memory as the kernel can use. Clusters and
 * other kernels on the device are not looked at. Pure functions.
 */
#ifndef WT_OCCUPANCY_H
#define WT_OCCUPANCY_H

#include "timeline/timeline.h"

enum wt_occupancy_limit { WT_OCC_WARPS, WT_OCC_BLOCKS, WT_OCC_REGS, WT_OCC_SMEM };
struct wt_occupancy {
	uint32_t blocks_per_sm, warps_per_block, max_warps; /* max: of a multiprocessor */
	double occupancy; /* resident warps at most, of what a multiprocessor can hold: 0 to 1 */
	enum wt_occupancy_limit limit; /* the tightest; the first of equal ones */
	double waves;		       /* of the grid over the device; 0 = its size is not known */
	double idle_share; /* of the waves' room that no block fills: 1 - waves / whole waves, "tail" */
};

/*
 * cc as 10 * major + minor; sms 0 = not known. 0, or -1: capability or shape is not known, or it can never run (more
 * threads than the function was built for, for one).
 */
int wt_occupancy(uint32_t cc, uint32_t sms, const struct wt_shape *shape, struct wt_occupancy *ret);
const char *wt_occupancy_limit_name(enum wt_occupancy_limit limit);

#endif
