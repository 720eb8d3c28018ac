/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is given back all at once: blocks that double up to 1 MiB, pointers that never move. For strings and
 * small rows that live as long as what owns the region. One thread.
 */
#ifndef WT_REGION_H
#define WT_REGION_H

#include <stddef.h>

struct wt_region_block;
struct wt_region {
	struct wt_region_block *blocks; /* newest first */
	size_t used, size;		/* of the newest */
};

/* All zero is an empty region: no init. */
void wt_region_release(struct wt_region *a);
/* n bytes, aligned to `align` (a power of two, at most 16); not zeroed; NULL when memory runs out. */
void *wt_region_alloc(struct wt_region *a, size_t n, size_t align);
/* A copy of n bytes with a NUL behind them; NULL when memory runs out. */
char *wt_region_copy(struct wt_region *a, const char *s, size_t n);

#endif
