/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One moment seen by three clocks: what ties TSC stamps of hooks to CLOCK_REALTIME, on which CUPTI gives device times.
 * Writer thread only, but for the first row.
 */
#ifndef WT_CLOCK_H
#define WT_CLOCK_H

#include <stdint.h>

struct wt_clock_row {
	uint64_t tsc;
	uint64_t monotonic_ns, realtime_ns;
	uint32_t error_ns; /* the row is right within this */
	int stepped;	   /* CLOCK_REALTIME jumped since the row before */
};

struct wt_clock {
	uint64_t tsc_hz;
	int64_t offset_ns; /* realtime - monotonic of the last row */
	uint32_t error_ns;
	int started;
};

/* Finds the nominal frequency: CPUID, else two rows some ms apart (sleeps). */
void wt_clock_start(struct wt_clock *c);
void wt_clock_sample(struct wt_clock *c, struct wt_clock_row *ret);
/* Sets ret->stepped by comparing with the row before; split from reading so that it can be tested. */
void wt_clock_judge(struct wt_clock *c, struct wt_clock_row *row);
int64_t wt_clock_mono_ns(void);
uint64_t wt_clock_ticks_to_ns(const struct wt_clock *c, uint64_t ticks);

#endif
