/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What queued work waited for on its stream: work on another device, by an event; or a function of the host. Streams
 * run in order, so a wait holds up the first operation that was put on the stream after it. Chains of events are
 * followed: the stream an event was recorded on may have been waiting itself.
 *
 * Work on the same device is no answer: it would be there, and the device not idle. So a timeline of processes with one
 * device each and without host functions costs nothing here.
 */
#ifndef WT_DEPENDS_H
#define WT_DEPENDS_H

#include "timeline/timeline.h"

struct wt_gap;
struct wt_dependency;
struct wt_depends {
	const struct wt_timeline *tl;
	struct wt_dependency *rows; /* by (stream, time) */
	uint32_t *by_record;	    /* of them those with a recording, by its (stream, time) */
	size_t n, nrecords;
};

/* 0 or -WT_E_NOMEM; wt_depends_release() in both cases. */
int wt_depends_init(struct wt_depends *d, const struct wt_timeline *tl);
void wt_depends_release(struct wt_depends *d);
/*
 * Until when in the gap the operation that ends it was held up by what its stream waited for; the gap's start if
 * nothing is known. *ret_why: enum wt_why.
 */
int64_t wt_depends_until(const struct wt_depends *d, uint32_t op, const struct wt_gap *gap,
			 uint8_t *ret_why);

#endif
