/* SPDX-License-Identifier: Apache-2.0 */
/* See occupancy.h. Registers are given to warps, and a warp lives in one sub-partition, whose share it takes from. */
#include "bounds/occupancy.h"

#include <math.h>

#define WARP	    32u
#define REGS	    65536u
#define REG_GRANULE 256u
#define MOST_REGS   255u
#define MOST_BLOCK  1024u
#define NO_LIMIT    UINT32_MAX

struct sm {
	uint32_t cc, threads, blocks, smem_kib, smem_block_kib, parts, reserved, granule;
};
static const struct sm sms_by_cc[] = {
#define WT_SM(cc_, threads_, blocks_, smem_, smem_block_, parts_, reserved_, granule_)             \
	{cc_, threads_, blocks_, smem_, smem_block_, parts_, reserved_, granule_},
#include "bounds/sm.def"
#undef WT_SM
};

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

static uint32_t by_regs(const struct sm *m, uint32_t regs, uint32_t warps)
{
	uint64_t a_warp = round_up((uint64_t)regs * WARP, REG_GRANULE);

	if (!regs)
		return NO_LIMIT;
	/* What a launch is checked for: all sub-partitions as full as the fullest. */
	if (regs > MOST_REGS || a_warp * round_up(warps, m->parts) > REGS)
		return 0;
	return (uint32_t)(REGS / m->parts / a_warp * m->parts / warps);
}

static uint32_t by_smem(const struct sm *m, const struct wt_shape *s)
{
	uint64_t used = round_up((uint64_t)s->static_smem + s->dyn_smem + m->reserved, m->granule);

	if (!used)
		return NO_LIMIT;
	if (used > (uint64_t)m->smem_block_kib * 1024 + m->reserved)
		return 0;
	return (uint32_t)((uint64_t)m->smem_kib * 1024 / used);
}

int wt_occupancy(uint32_t cc, uint32_t sms, const struct wt_shape *s, struct wt_occupancy *ret)
{
	uint64_t threads = (uint64_t)s->block[0] * s->block[1] * s->block[2];
	double grid = (double)s->grid[0] * (double)s->grid[1] * (double)s->grid[2];
	const struct sm *m = NULL;
	uint32_t limits[4], warps, least = 0;

	for (size_t i = 0; i < sizeof(sms_by_cc) / sizeof(sms_by_cc[0]); i++)
		if (sms_by_cc[i].cc == cc)
			m = &sms_by_cc[i];
	if (!m || !threads || threads > MOST_BLOCK || (s->max_threads && threads > s->max_threads))
		return -1;
	warps = (uint32_t)((threads + WARP - 1) / WARP);
	limits[WT_OCC_WARPS] = m->threads / WARP / warps;
	limits[WT_OCC_BLOCKS] = m->blocks;
	limits[WT_OCC_REGS] = by_regs(m, s->regs, warps);
	limits[WT_OCC_SMEM] = by_smem(m, s);
	for (uint32_t i = 1; i < 4; i++)
		if (limits[i] < limits[least])
			least = i;
	if (!limits[least])
		return -1;
	*ret = (struct wt_occupancy){.blocks_per_sm = limits[least],
				     .warps_per_block = warps,
				     .max_warps = m->threads / WARP,
				     .limit = (enum wt_occupancy_limit)least};
	ret->occupancy = (double)(limits[least] * warps) / ret->max_warps;
	if (sms && grid > 0) {
		ret->waves = grid / ((double)sms * limits[least]);
		ret->idle_share = 1 - ret->waves / ceil(ret->waves);
	}
	return 0;
}

const char *wt_occupancy_limit_name(enum wt_occupancy_limit limit)
{
	static const char *const names[] = {"warps", "blocks", "registers", "shared memory"};

	return names[limit];
}
