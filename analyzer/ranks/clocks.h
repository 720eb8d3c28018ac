/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the clocks of processes differ, from moments that two of them share: the ends of operations that end everywhere
 * at once. Offset and drift are found per pair by medians (buckets of time, then the median of all slopes between
 * them), pairs are joined to a tree, and every clock is an affine map to that of the first process of its tree.
 *
 * A drift is believed only if it halves what is left over. What is left over, the 95th percentile of |difference - fit|
 * along the way to the root, is published with each clock: claims below it are not established.
 */
#ifndef WT_CLOCKS_H
#define WT_CLOCKS_H

#include <stddef.h>
#include <stdint.h>

struct wt_clock_sample { /* one moment on two clocks, a < b */
	uint32_t a, b;
	int64_t a_ns, b_ns;
};
enum wt_clock_state {
	WT_CLOCK_UNKNOWN, /* nothing ties it to another */
	WT_CLOCK_ROOT,	  /* others are told by it */
	WT_CLOCK_SHARED,  /* known to be the root's: same host, and the ends agree */
	WT_CLOCK_FITTED,
};
struct wt_clock {
	uint32_t root;	     /* index of the clock it is told by; its own if UNKNOWN or ROOT */
	uint8_t state;	     /* enum wt_clock_state */
	int64_t at_ns;	     /* own time for which offset holds */
	int64_t offset_ns;   /* own minus root's, at at_ns */
	double drift;	     /* by how much it runs faster than the root: 1e-6 = 1 ppm */
	int64_t residual_ns; /* p95; 0 for ROOT */
	uint32_t samples;    /* of the pair that ties it */
};

/* Sorts the samples. clocks[n] are filled; all UNKNOWN without samples. 0 or -WT_E_NOMEM. */
int wt_clocks_fit(struct wt_clock_sample *samples, size_t nsamples, struct wt_clock *clocks,
		  size_t n);
int64_t wt_clock_to_root(const struct wt_clock *c, int64_t own_ns);
int64_t wt_clock_from_root(const struct wt_clock *c, int64_t root_ns);

#endif
