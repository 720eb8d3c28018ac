/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uint64 -> uint32, open addressing with linear probing, at most 3/4 full. Any key is allowed, 0 too. No deletion:
 * nothing here needs it. One thread.
 */
#ifndef WT_MAP_H
#define WT_MAP_H

#include <stddef.h>
#include <stdint.h>

struct wt_map_slot;
struct wt_map {
	struct wt_map_slot *slots;
	size_t mask; /* slots - 1; 0 = none yet */
	size_t count;
};

/* All zero is an empty map: no init. */
void wt_map_release(struct wt_map *m);
/* 1 and *ret_value if the key is there, else 0. */
int wt_map_get(const struct wt_map *m, uint64_t key, uint32_t *ret_value);
/* Inserts or overwrites. 0 or -WT_E_NOMEM. */
int wt_map_put(struct wt_map *m, uint64_t key, uint32_t value);
/*
 * The value's place for this key, entered with `initial` if it was absent (*ret_new, may be NULL, says so).
 * Valid until the next insertion. NULL when memory runs out.
 */
uint32_t *wt_map_slot(struct wt_map *m, uint64_t key, uint32_t initial, int *ret_new);

/* Mixes all bits of a key; also good to combine: wt_mix64(a ^ wt_mix64(b)). */
static inline uint64_t wt_mix64(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	return x;
}

#endif
