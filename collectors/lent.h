/* SPDX-License-Identifier: Apache-2.0 */
/* Activity buffers of two users of CUPTI: which is whose, and how each gets its own records (lent.c). */
#ifndef WT_LENT_H
#define WT_LENT_H

#include "collectors/manners.h"

/* The other tool's callbacks: remembered before CUPTI is told; taken back when it refused. */
void wt_lent_callbacks(wt_cupti_request *request, wt_cupti_complete *complete);
void wt_lent_callbacks_refused(void);
void wt_lent_forget(void); /* CUPTI was finalized */
/* Its thread, in its flush: buffers of its own that came back while we could not call it. */
void wt_lent_deliver(void);

struct wt_lent_totals {
	uint64_t theirs_kept; /* records of ours found in a buffer of theirs */
	uint64_t ours_passed; /* records of theirs found in a buffer of ours */
	uint64_t lost;	      /* records with nowhere to go */
};
void wt_lent_totals(struct wt_lent_totals *ret);

#endif
