/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Living beside another user of CUPTI's activity API. There is one pair of buffer callbacks and one set of enabled
 * kinds a process, and whoever came last has them: so we leave before another tool comes in, and return when it is
 * gone.
 *
 *   OURS     collecting
 *   YIELDED  another tool is about to call, or has something enabled: not one call of ours goes to CUPTI
 *   COOL     it has given up all it took; after WARPTAP_COOL_MS without a call of it, OURS again
 *
 * The time outside OURS is a stated hole of the trace. Counts and host calls go on.
 */
#ifndef WT_MANNERS_H
#define WT_MANNERS_H

#include <stddef.h>
#include <stdint.h>

struct CUctx_st;
typedef int wt_cupti_result; /* CUptiResult */
typedef void wt_cupti_request(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void wt_cupti_complete(struct CUctx_st *context, uint32_t stream, uint8_t *buffer,
			       size_t size, size_t valid);

/* ---- the wrappers (agent/hooks_cupti.c): threads of the other tool ---- */

/*
 * Before a call of another tool; takes: it changes what is recorded or where to. Returns 0 if the call is none of our
 * business: pass it on, and no leave(). Else collection is over when this returns, within a bounded time.
 */
int wt_manners_enter(int takes, const void *caller);
void wt_manners_leave(void);
/* Between the two: what it did, with the result r of the real call. */
void wt_manners_kind(int r, uint32_t kind, int on);
void wt_manners_context_kind(int r, const void *context, uint32_t kind, int on);
void wt_manners_call(int r, int runtime, uint32_t cbid, int on);
void wt_manners_clock(int r);
void wt_manners_flushed(int r);
void wt_manners_gone(int r, const void *subscriber); /* unsubscribed; NULL: finalized */
/* Its callbacks, before the real call; and that this was refused. */
void wt_manners_callbacks(wt_cupti_request *request, wt_cupti_complete *complete);
void wt_manners_callbacks_refused(void);

/* ---- what CUPTI has registered, always: ours, or passed on ---- */
wt_cupti_request wt_manners_request;
wt_cupti_complete wt_manners_complete;

/* ---- the collector ---- */
/* One thread at a time: why collection is about to begin (StateReason), and the window's number. */
void wt_manners_want(uint32_t reason, uint64_t window);
/*
 * Job thread inside cuInit, or the control thread: may we collect now? Sets the state to OURS and the level from api to
 * trace, or says the state it is and tries again when the other tool has left. 0, 1 = not now, -WT_E_x.
 */
int wt_manners_start(void);
/* Control thread: collection is over; waits up to a second for what is in flight. The level is api, or was below. */
int wt_manners_stop(uint32_t reason);
void wt_manners_tick(void);   /* writer: back, if it is time */
int wt_manners_own(void);     /* buffers CUPTI asks for are ours */
int wt_manners_leaving(void); /* not any more, but our last flush still runs */
int wt_manners_clock_is_foreign(void);

#endif
