/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hook keeps per thread: at most 256 bytes of initial-exec TLS, so that neither the loader's allocator nor
 * __tls_get_addr is ever reached from a hook. All zero in a new thread, which sends the first call to the slow path.
 *
 * `row` is the token of the hot path. The call that holds the row has put NULL there, so whatever else of ours runs
 * on this thread meanwhile (a driver that calls itself, a signal handler) finds none, goes to the slow path, and is
 * told by wt_inside() to stay out. While the current context is not known, or the agent is at work on this thread,
 * the row is put by: the hot path relies on both.
 */
#ifndef WT_TLS_H
#define WT_TLS_H

#include <stdint.h>

#include "chunk.h"

#define WT_BUSY_DRIVER 1u /* inside a driver hook on the slow path */
#define WT_BUSY_SILENT 2u /* counts the agent's own calls, in steps of 2 */

struct wt_tls {
	struct wt_rec *row;	  /* next row, free to take; NULL: taken, or none at hand */
	_Atomic uint64_t *counts; /* ring->counts[slot of the current context] */
	struct wt_chunk *chunk;	  /* the open one, `row` lies in it; NULL = none */
	uint32_t busy;
	uint16_t
		inherit; /* WT_REC_* every row gets: set inside library calls. With context, as in a row: one copy */
	uint16_t context; /* registry id of the current context; 0 = not known, ask */
	struct wt_ring *ring;
	struct wt_rec *put_by; /* the row, while it must not be taken by the hot path */
	uint64_t next_seq;     /* of the next chunk's first row */
	uint64_t context_handle;
	uint64_t children_from; /* first row made inside the open library call */
	uint32_t context_epoch; /* of the cached context: see book.c */
	uint32_t group;		/* depth of ncclGroupStart */
	uint8_t library;	/* 1: inside a call of NCCL, cuBLAS or cuDNN */
	uint8_t cupti;		/* 1: inside another tool's call of CUPTI */
	uint8_t no_ring;	/* 1: the box had no ring for us; counts go to the shared one */
	struct wt_rec scratch __attribute__((aligned(16))); /* the row of a call that leaves none */
};
_Static_assert(sizeof(struct wt_tls) <= 256,
	       "initial-exec TLS is scarce when a library is loaded late");

/* Hidden: reached without the global offset table. */
extern __thread struct wt_tls wt_tls
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * The words every hook reads first: level and, beside it, the captures open anywhere in the process (while 0, no
 * launch can be going into a graph). One load tells "record it, and nothing special": see WT_GO in hot.h.
 */
enum {
	WT_MEND_DUE,
	WT_MEND_NOW,
	WT_MEND_DONE
}; /* what a child must not have of its parent: lifecycle.c */
struct wt_words {
	_Atomic uint32_t level;
	_Atomic int32_t
		minus_captures; /* 0, or minus how many are open: negative makes the whole word negative */
	/* Behind the word above. 1 in the process that made the page, or that started after a fork. */
	_Atomic uint32_t alive;
	_Atomic uint32_t mend; /* WT_MEND_x of a child */
} __attribute__((aligned(8)));
extern struct wt_words *wt_words
	__attribute__((visibility("hidden"))); /* wt_level_word points to its level */

#endif
