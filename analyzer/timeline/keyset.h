/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows known by a key of a few 64-bit words: equal keys have one index, indices count up from 0. The exact key is
 * compared, so hostile ids cannot make two things one. Used by the builder for processes, streams, threads, shapes.
 */
#ifndef WT_KEYSET_H
#define WT_KEYSET_H

#include <stddef.h>
#include <stdint.h>

struct wt_keyset {
	size_t words;	/* of a key; set once, before the first add */
	uint64_t *keys; /* words * count */
	uint32_t *slots;
	size_t count, room, mask;
};

/* The index of the key; *ret_new says whether it was added now. -1 when memory runs out. */
int64_t wt_keyset_add(struct wt_keyset *k, const uint64_t *key, int *ret_new);
void wt_keyset_release(struct wt_keyset *k);

#endif
