/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a trace without its end and the black box beside it, a trace that is whole: the rows the writer had not written
 * when the process died, each exactly once, with their names, the counts as they were last, and an End that says
 * RECOVERED. Neither input is changed. Not for two threads: the recorder's writer, which does the packing, is one.
 */
#ifndef WT_RECOVER_H
#define WT_RECOVER_H

#include <stdint.h>

#include "proto/wt_err.h"

struct wt_recovered {
	uint64_t pid;
	uint64_t rows;	       /* host calls added */
	uint64_t records;      /* device records added */
	uint64_t present;      /* rows of the box that the trace had already */
	uint64_t open_buffers; /* buffers CUPTI was still filling: what they hold is lost */
	uint64_t
		unread_bytes; /* of delivered buffers, behind a record of a kind never seen before */
	uint64_t unnamed;     /* kernels of device records whose name was nowhere */
	uint64_t lost_rows;   /* the trace had no room for, by the writer's own account */
	int already;	      /* the trace has its End: nothing to add, nothing was written */
};

/* The trace a box belongs to: beside it under the same name, else where the job wrote it. 0, -WT_E_x. */
int wt_recover_trace_of(const char *ring, char *ret, uint64_t bytes, struct wt_diag *diag);
/* The box of a trace: beside it, or where the agent of this machine puts them. 0, -WT_E_NOENT. */
int wt_recover_box_of(const char *trace, char *ret, uint64_t bytes);
/* 1: the process that records into it still lives, or holds it. */
int wt_recover_is_held(const char *ring);
/* Writes the whole trace to `out`, which must not exist. 0, or -WT_E_x and why; then there is no `out`. */
int wt_recover(const char *ring, const char *trace, const char *out, struct wt_recovered *ret,
	       struct wt_diag *diag);

#endif
