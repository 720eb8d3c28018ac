/* SPDX-License-Identifier: Apache-2.0 */
/* See sim_extent.h. Tens of thousands of allocations are mostly live: the list of free stretches stays short. */
#include "simgpu/core/sim_extent.h"

#include "simgpu/core/sim_base.h"

#include <stdlib.h>

uint64_t sim_extent_take(struct sim_extent **space, size_t bytes)
{
	for (struct sim_extent **link = space, *e; (e = *link); link = &e->next)
		if (e->bytes >= bytes) {
			uint64_t ret = e->start;
			e->start += bytes;
			e->bytes -= bytes;
			if (!e->bytes) {
				*link = e->next;
				free(e);
			}
			return ret;
		}
	return SIM_NO_EXTENT;
}

void sim_extent_give(struct sim_extent **space, uint64_t start, size_t bytes,
		     struct sim_extent *ret)
{
	struct sim_extent **link = space, *prev = NULL, *e;

	for (; (e = *link) && e->start < start; link = &e->next)
		prev = e;
	if (prev && prev->start + prev->bytes == start) {
		prev->bytes += bytes;
	} else {
		struct sim_extent *n = sim_alloc(sizeof(*n));
		*n = (struct sim_extent){start, bytes, e};
		*link = n;
		prev = n;
	}
	if (e && prev->start + prev->bytes == e->start) {
		prev->bytes += e->bytes;
		prev->next = e->next;
		free(e);
	}
	if (ret)
		*ret = *prev;
}
