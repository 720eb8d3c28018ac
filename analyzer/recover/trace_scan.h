/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace holds, as far as going on with it has to know. */
#ifndef WT_TRACE_SCAN_H
#define WT_TRACE_SCAN_H

#include <stdint.h>

#include "agent/pack.h"
#include "base/map.h"
#include "proto/wt_err.h"
#include "trace.pb-c.h"
#include "trace/vec.h"

struct wt_scan_span { /* rows first .. end - 1 of a ring */
	uint64_t ring, first, end;
};
struct wt_scan_stream {
	uint64_t id, handle, ring; /* ring: of the rows that use it, the newest; 0 = none */
	uint32_t context;
};
struct wt_scan_thread {
	uint64_t id, tid, pthread, name;
	uint64_t ring, next_seq, group; /* ring 0 = no rows */
	uint32_t depth;
};
struct wt_scan_exec {
	uint64_t id, revision;
};
struct wt_scan_device { /* a device record of the box */
	struct wt_dev_rec rec;
	uint32_t next; /* of its bucket, index + 1 */
	int present;   /* in the trace already */
};
enum { WT_SCAN_KERNEL, WT_SCAN_COPY, WT_SCAN_MEMSET, WT_SCAN_GRAPH, WT_SCAN_API, WT_SCAN_KINDS };

struct wt_scan {
	Warptap__V1__Packet *header, *counts, *end; /* the newest of each, NULL = none */
	struct wt_clock_row clock;		    /* the newest */
	uint64_t packets, seq;			    /* seq of the newest */
	uint8_t file_id[16];
	/* Of the last frame a packet was read from. */
	uint64_t frame_offset;
	uint64_t bytes; /* of the file */
	int damaged;	/* before the end: packets between are lost */
	int64_t damage_offset;
	char damage_text[160];

	uint64_t string_max, function_max, shape_max, gemm_max, comm_max;
	struct wt_map text_index; /* string id -> texts */
	WT_VEC(char *) texts;
	struct wt_map said; /* wt_scan_call() of the rows of collectives, marks, NCCL's events */
	struct wt_map stream_index, thread_index, ring_index, exec_index; /* ring -> threads */
	WT_VEC(struct wt_scan_stream) streams;
	WT_VEC(struct wt_scan_thread) threads;
	WT_VEC(struct wt_scan_exec) execs;
	WT_VEC(uint64_t) comms;
	WT_VEC(uint64_t) states; /* their tsc */
	uint32_t context_cupti[WT_CONTEXTS_MAX];
	WT_VEC(struct wt_scan_span) spans; /* sorted by (ring, first) when read */
	uint64_t said_dropped;		   /* rows the trace says a full pool has cost */
	uint64_t since[WT_SCAN_KINDS][2]; /* device records since the newest counts; [1]: untimed */

	/* Given by the caller: what the trace may hold of these is marked. */
	struct wt_scan_device *devices;
	uint32_t n_devices;
	uint32_t *buckets; /* of a power of two; index + 1 */
	uint32_t n_buckets;
};

static inline uint64_t wt_scan_call(uint64_t ring, uint64_t seq)
{
	return ring << 40 ^ seq;
}
/* Which of since[] a record counts in. */
int wt_scan_kind(const struct wt_dev_rec *r);
/* Reads the trace at path. 0, or -WT_E_x: nothing of it could be read. */
int wt_scan_read(struct wt_scan *s, const char *path, struct wt_diag *diag);
/* Calls fn for each packet of the last frame. */
int wt_scan_last_frame(const struct wt_scan *s, const char *path,
		       int (*fn)(void *arg, const uint8_t *bytes, size_t n), void *arg,
		       struct wt_diag *diag);
const char *wt_scan_text(const struct wt_scan *s, uint64_t id); /* "" = not known */
/* The first of rows from .. to - 1 of a ring that the trace lacks: 1, and up to where; 0 = has them all. */
int wt_scan_lacks(const struct wt_scan *s, uint64_t ring, uint64_t *from, uint64_t *ret_to,
		  uint64_t to);
/* Puts the caller's records into buckets. 0, -WT_E_NOMEM. */
int wt_scan_index(struct wt_scan *s, struct wt_scan_device *devices, uint32_t n);
void wt_scan_release(struct wt_scan *s);

#endif
