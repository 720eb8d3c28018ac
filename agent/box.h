/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the black box, shared by box.c (placement and growth), chunk.c (rings and chunks) and buffer.c (CUPTI
 * buffers). The head is part of the black-box format: recovery reads it from the file.
 *
 *   segment 0, 1     head (64 KiB), then the rings
 *   segment 2, 3 ..  32 chunks, 32 pieces (piece.h), or 2 CUPTI buffers, as head.seg_kind says
 */
#ifndef WT_BOX_H
#define WT_BOX_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "chunk.h"
#include "own_file.h"
#include "piece.h"

#define WT_BOX_VERSION	  5
#define WT_BOX_HEAD_BYTES 65536u
#define WT_SEG_BYTES	  (2u << 20)
#define WT_SEGS_MAX	  512u /* 1 GiB */
#define WT_RING_BYTES	  ((sizeof(struct wt_ring) + 63) / 64 * 64)
#define WT_HEAD_SEGS	  2u
#define WT_RINGS_MAX	  ((WT_HEAD_SEGS * WT_SEG_BYTES - WT_BOX_HEAD_BYTES) / WT_RING_BYTES) /* 796 */
#define WT_BUFFERS_MAX	  (WT_SEGS_MAX * WT_SEG_BYTES / WT_CUPTI_BUFFER_BYTES)

enum wt_seg_kind { WT_SEG_NONE, WT_SEG_HEAD, WT_SEG_CHUNKS, WT_SEG_BUFFERS, WT_SEG_PIECES };
enum wt_buffer_state { WT_BUFFER_FREE, WT_BUFFER_LENT, WT_BUFFER_DONE, WT_BUFFER_READ };

/* Free ones kept in reserve: what comes in while the writer waits for a core (1 MiB is 4,000 launches). */
#define WT_CHUNKS_LOW 16u
/* Full ones for which the writer is woken: its waking, and a block of their own, cost as much as packing one. */
#define WT_CHUNKS_WAIT 4u
#define WT_BUFFERS_LOW 6u
#define WT_PIECES_LOW  20u

#define WT_BOX_STATES	  64u
#define WT_BOX_HOLDER_MAX 64u
#define WT_BOX_TRACE_MAX  2048u
#define WT_CUPTI_KINDS	  128u /* numbers of activity kinds we may meet */

struct wt_buffer_meta { /* of the buffer that starts at this MiB of the mapping */
	_Atomic uint32_t state;
	uint32_t valid_bytes;
	uint32_t context;      /* CUPTI's id, as completed */
	_Atomic uint32_t next; /* MiB index + 1, on a list */
};

struct wt_box_state { /* what a State packet will say */
	uint64_t tsc, window, device_ns, steps, step_ticks;
	uint32_t level, cupti, reason, kinds, clock, cost_ppm;
	char holder[WT_BOX_HOLDER_MAX];
	_Atomic uint64_t n; /* from 1; 0 = empty, or being written */
};
struct wt_box_head {
	char magic[4]; /* "WTBX" */
	uint32_t version;
	uint32_t head_bytes, seg_bytes, ring_bytes, rings_max;
	uint64_t pid;
	uint64_t cap_bytes;
	uint64_t hooks;		      /* hash of the table of hooks: what rows' `op` means */
	uint8_t file_id[16];	      /* of the trace; 0 = not begun */
	char trace[WT_BOX_TRACE_MAX]; /* its path, as the job had it */
	_Atomic uint64_t lost_rows;   /* rows the trace had no room for */
	uint16_t stride
		[WT_CUPTI_KINDS]; /* bytes of a record of CUPTI, by kind, as seen; 0 = none seen */
	uint32_t cupti_extra;	  /* wt_cupti_record()'s `extra` */
	struct wt_box_state states[WT_BOX_STATES]; /* number n at n % WT_BOX_STATES */
	_Atomic uint32_t segs;			   /* in use, from 0 */
	_Atomic uint32_t rings;			   /* ever used, from 0 */
	uint8_t seg_kind[WT_SEGS_MAX];
	struct wt_buffer_meta buffers[WT_BUFFERS_MAX];
};
_Static_assert(sizeof(struct wt_box_head) <= WT_BOX_HEAD_BYTES, "the head fits its 64 KiB");

/* A lock-free stack of indices. The upper half counts pops: without it a pop could take a stale successor. */
typedef _Atomic uint64_t wt_stack;

struct wt_box {
	uint8_t *base;
	struct wt_box_head *head; /* == base */
	size_t cap_bytes;
	uint32_t segs_max;
	struct wt_own_file file; /* fd -1 = anonymous, or lost */
	int is_file;
	int cannot_grow;
	_Atomic int wants_buffers; /* CUPTI is at work */
	const char *kind;
	_Atomic uint32_t segs;

	wt_stack free_chunks, full_chunks, free_buffers, done_buffers;
	_Atomic uint32_t free_chunk_count, free_buffer_count, chunk_count;
	_Atomic uint32_t full_chunk_count;	   /* at least so many wait for the writer */
	_Atomic uint32_t pieces_made, pieces_used; /* used: may be counted beyond */
	uint32_t piece_seg[WT_SEGS_MAX];
	_Atomic uint64_t next_ring_id;
	uint64_t states; /* ever kept */
	/* The open chunk of each ring: stored by its owner, cleared before the chunk goes to the full list. */
	struct wt_chunk *_Atomic open[WT_RINGS_MAX];

	/* Writer only. */
	struct wt_chunk *pending_first,
		*pending_last; /* drained, waiting for their block's write() */
	struct {
		struct wt_chunk *chunk;
		uint32_t used;
	} snap[WT_RINGS_MAX];
	uint32_t done_list; /* completed buffers taken over, oldest first; index + 1 */
};

/* Writer (and wt_box_open): one more segment of this kind; 0 or -WT_E_x when the cap or the disk is reached. */
int wt_box_grow(struct wt_box *b, enum wt_seg_kind kind);
/* Keeps a reserve of free chunks and buffers; writer. */
void wt_box_tend(struct wt_box *b);

void wt_chunk_seg_init(struct wt_box *b, uint32_t seg);
void wt_buffer_seg_init(struct wt_box *b, uint32_t seg);

static inline struct wt_ring *wt_ring_at(struct wt_box *b, uint32_t i)
{
	return (struct wt_ring *)(b->base + WT_BOX_HEAD_BYTES + (size_t)i * WT_RING_BYTES);
}

#endif
