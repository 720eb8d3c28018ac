/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The black box: one mapping that holds the counters, the chunks of host records, and the buffers lent to CUPTI.
 *
 *   job thread: owns one chunk, writes records at `cur`, no lock        (hot; hooks.c)
 *   chunk full: push to the full list, pop a free one                   (slow path; lock-free)
 *   writer:     takes full chunks and, once a second, what the open ones hold so far
 *   release:    two-phase. A chunk or buffer goes back to the free list only after the write() of the block that
 *               holds its rows returned: until then a killed job's rows are still in the mapping.
 *
 * The mapping is fallocated (never sparse: a store past the disk's end would be SIGBUS), populated for write, and on
 * local file systems only; else anonymous, and wt_box_kind() says so. Placement and limits: see wt_box_open().
 * Not inherited: MADV_DONTFORK; the level word on its own MADV_WIPEONFORK page makes hooks inert in a child first.
 */
#ifndef WT_CHUNK_H
#define WT_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

#define WT_CHUNK_VERSION      1
#define WT_CHUNK_BYTES	      65536u
#define WT_CHUNK_RECS	      1023u /* (64 KiB - one header line) / 64 */
#define WT_CUPTI_BUFFER_BYTES (1u << 20)
#define WT_COUNT_CONTEXTS     8 /* contexts counted apart per thread; the last slot takes the rest */
#define WT_COUNT_SLOTS	      20 /* enum CountKind of trace.proto below 20 */
#define WT_COUNT_STATES	      5	 /* DONE CAPTURED FAILED SOFT UNROWED */

/* First line of a chunk. Fields change hands with release/acquire on `state` and `used`. */
struct wt_chunk {
	uint32_t magic; /* "WTCK" */
	uint32_t version;
	_Atomic uint32_t state; /* enum wt_chunk_state */
	_Atomic uint32_t
		used;	    /* records published: the owner stores it (release) after each record */
	uint64_t ring;	    /* id of the owning thread's ring: never reused in a process */
	uint64_t first_seq; /* sequence number of record 0; record i is first_seq + i */
	uint32_t tid;
	uint32_t written; /* records already packed by the writer (writer only) */
	uint64_t
		flushed; /* block number whose write() must have returned before release (writer only) */
	_Atomic uint32_t next; /* index + 1 of the next chunk on a list; 0 = end */
	uint32_t ring_index;   /* where the owning ring lies */
	uint64_t pthread; /* of the thread: its ring may be another's when the writer comes by */
	struct wt_rec rec[WT_CHUNK_RECS];
};
_Static_assert(sizeof(struct wt_chunk) == WT_CHUNK_BYTES, "header is one record long");
enum wt_chunk_state { WT_CHUNK_FREE, WT_CHUNK_OPEN, WT_CHUNK_FULL, WT_CHUNK_DRAINED };

/* Per thread, in the mapping, found again after a kill. 4 KiB. */
struct wt_ring {
	uint32_t magic;		/* "WTRG" */
	_Atomic uint32_t state; /* 0 free, 1 live, 2 thread gone */
	uint64_t id;
	uint32_t tid;
	uint32_t pad;
	uint64_t pthread;
	_Atomic uint64_t dropped; /* rows not recorded for want of a chunk */
	uint64_t first_dropped_seq;
	/*
	 * Only the owner adds; the writer reads. Kinds and states as in trace.proto. First index: the registry's
	 * context id, 0 = none known; the last takes all ids >= WT_COUNT_CONTEXTS - 1. A ring of a gone thread is
	 * given to a new one under a new id with its counts and `dropped` going on: sums over rings stay exact.
	 */
	_Atomic uint64_t counts[WT_COUNT_CONTEXTS][WT_COUNT_SLOTS][WT_COUNT_STATES];
};

#endif
