/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TSC ticks to nanoseconds of CLOCK_REALTIME, the clock CUPTI's records are on, from the rows of the Clocks packets.
 * Piecewise linear between rows, integer arithmetic; a line never crosses a step of the clock. One thread.
 */
#ifndef WT_CLOCKLINE_H
#define WT_CLOCKLINE_H

#include <stdint.h>

#include "trace/vec.h"

struct wt_clockline_row {
	uint64_t tsc;
	int64_t real_ns, mono_ns;
	uint32_t error_ns;
	int stepped; /* opens a line: the clock jumped since the row before */
};

struct wt_clockline {
	WT_VEC(struct wt_clockline_row) rows;
	uint64_t hz;	  /* nominal: the slope where a line has only one row; 0 = not known */
	uint64_t dropped; /* rows that contradict themselves */
};

/* 0 or -WT_E_NOMEM. Rows may come in any order. */
int wt_clockline_add(struct wt_clockline *c, const struct wt_clockline_row *row);
/* Sorts and finds the steps; call once, before the first conversion. */
void wt_clockline_finish(struct wt_clockline *c);
/* Total: before the first row and after the last their lines are prolonged. Saturates far outside. */
int64_t wt_clockline_ns(const struct wt_clockline *c, uint64_t tsc);
uint32_t wt_clockline_steps(const struct wt_clockline *c);
void wt_clockline_release(struct wt_clockline *c);

#endif
