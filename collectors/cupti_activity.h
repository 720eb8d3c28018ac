/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer and the driver's hooks ask of the CUPTI activity collector. All answer "nothing" while it is off. */
#ifndef WT_CUPTI_ACTIVITY_H
#define WT_CUPTI_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>

struct wt_cupti_totals {
	uint64_t dropped; /* records CUPTI says it dropped */
	uint64_t spilled; /* records in buffers we had to give without room to keep them */
	uint64_t refused; /* times CUPTI got no buffer at all */
	int64_t flush_ns; /* how long the last flush took */
};

#define WT_HOLDER_MAX 64 /* of the name of who made us yield */

uint32_t wt_cupti_state(void);	   /* enum CuptiState of trace.proto */
uint32_t wt_cupti_kinds(void);	   /* State.kinds */
uint64_t wt_cupti_timestamp(void); /* CUPTI's clock now, 0 = not known */
void wt_cupti_totals(struct wt_cupti_totals *ret);
/* CUPTI's ids of objects alive for the length of the call (best asked by their maker). 0 = none. */
uint32_t wt_cupti_context_id(uint64_t context);
uint32_t wt_cupti_stream_id(uint64_t context, uint64_t stream);
/* Writer, before the last flush: a context has a sticky error, CUPTI must not be asked to wait for it. */
void wt_cupti_distrust(void);

/* ---- for manners.c and lent.c ---- */
void wt_cupti_set_state(uint32_t state);
/* Registers and enables; `stop` says that somebody waits. 0, or -WT_E_x: nothing is left enabled. */
int wt_cupti_arm(int (*stop)(void));
/*
 * Disables and flushes. Waits for records in flight, at most most_ns: with `stop` until it says so or all have come,
 * without (the job's thread waits) while they keep coming. Returns how many are overdue, as far as can be known.
 */
long wt_cupti_disarm(int64_t most_ns, int (*stop)(void));
/* Buffers for CUPTI and back. lent: is it one of ours? */
void wt_cupti_lend(uint8_t **buffer, size_t *size, size_t *max_records);
void wt_cupti_take_back(uint8_t *buffer, size_t valid);
int wt_cupti_lent(const uint8_t *buffer);
uint64_t wt_cupti_count_records(uint8_t *buffer, size_t valid);
void wt_cupti_spilled(uint64_t records); /* there was no room to keep them */
/* Writer: one more record of a single launch, copy or memset has been read. */
void wt_cupti_received(int untimed);
/* Writer, some times between two ticks: may fetch what CUPTI has, sooner where the job pauses. 1 if it did. */
int wt_cupti_look(void);
int wt_cupti_is_sick(void); /* writer: of late most records came without times */

#endif
