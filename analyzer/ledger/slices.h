/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slices of a device: which leaf each of its nanoseconds is in, in order of time. They are more than anything else
 * that an analysis keeps, two an operation, so those of a large trace are kept packed, 6 bytes each instead of 32.
 * They are added at the end and read by number; reading on is cheap, also forwards and backwards within a few hundred.
 */
#ifndef WT_SLICES_H
#define WT_SLICES_H

#include <stddef.h>
#include <stdint.h>

struct wt_slice {
	int64_t start_ns, end_ns;
	uint32_t
		op; /* busy: whose time it is; idle: the operation that ended the gap; UINT32_MAX = none */
	int32_t call; /* idle: the host call that is the evidence; -1 */
	uint8_t leaf, grade;
	uint8_t mask;		      /* WT_STATE_*: all that was resident */
	uint8_t why : 4, crowded : 1; /* crowded: two or more compute kernels at once */
};

struct wt_slices_pack; /* how they are kept: slices.c */
struct wt_slices {
	size_t n;
	struct wt_slices_pack *pack;
	int failed;
};

int wt_slices_add(struct wt_slices *s, const struct wt_slice *slice); /* joins equal neighbours */
/* Good until slices of two other blocks were asked for: copy what is kept while looking around. */
const struct wt_slice *wt_slices_at(const struct wt_slices *s, size_t i);
/* The same if there is one and it starts before `end`, else NULL. */
const struct wt_slice *wt_slices_until(const struct wt_slices *s, size_t i, int64_t end_ns);
/* The first slice that ends after t; n if there is none. */
size_t wt_slices_find(const struct wt_slices *s, int64_t t_ns);
void wt_slices_release(struct wt_slices *s);

#endif
