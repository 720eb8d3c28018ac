/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the agent's cold half: address space reserved once, made usable in steps, never given back. Nothing here
 * touches the job's heap. Not thread safe: each arena has one owner (or its owner's lock).
 */
#ifndef WT_ARENA_H
#define WT_ARENA_H

#include <stddef.h>
#include <stdint.h>

#define WT_ARENA_STEP (256u << 10)

struct wt_arena {
	uint8_t *base; /* NULL = not open */
	size_t cap, committed, used;
};

int wt_arena_open(struct wt_arena *a, size_t cap_bytes); /* 0, -WT_E_NOMEM */
/* Zeroed memory, aligned to 64; NULL when the arena is full or the system refuses. */
void *wt_arena_get(struct wt_arena *a, size_t bytes);
/* Makes the first `bytes` of the arena usable (for arenas that are one growing array); 0, -WT_E_NOMEM. */
int wt_arena_commit(struct wt_arena *a, size_t bytes);
void wt_arena_close(struct wt_arena *a);

#endif
