/* SPDX-License-Identifier: Apache-2.0 */
/* A space of addresses or file offsets cut first-fit; what comes back is merged with its neighbours. Caller's lock. */
#ifndef SIM_EXTENT_H
#define SIM_EXTENT_H

#include <stddef.h>
#include <stdint.h>

/* A free stretch. A space is the list of them, by start. */
struct sim_extent {
	uint64_t start;
	size_t bytes;
	struct sim_extent *next;
};

#define SIM_NO_EXTENT UINT64_MAX

/* Start of the piece, or SIM_NO_EXTENT. */
uint64_t sim_extent_take(struct sim_extent **space, size_t bytes);
/* Also makes a space: give it all there is. The merged free stretch that now holds the piece goes to *ret (NULL ok). */
void sim_extent_give(struct sim_extent **space, uint64_t start, size_t bytes,
		     struct sim_extent *ret);

#endif
