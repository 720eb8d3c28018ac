/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hot path: what every wrapper does around the real call. Runs on the job's threads, millions of times a second:
 * no lock, no library call, no allocation, no branch that is not needed; <= 100 instructions added per recorded call
 * (tests/bench/bench_hook.c counts them). All that is rare is in hot.c.
 *
 *   enter   take the row at hand (or the scratch row: level count, pool empty)
 *   fill    arguments into the row: before the call, so that none of them has to be kept over it
 *   stamp, call, stamp
 *   leave   duration, status, count, publish
 */
#ifndef WT_HOT_H
#define WT_HOT_H

#include <stdatomic.h>
#include <stdint.h>

#include "agent.h"
#include "hook_table.h"
#include "tls.h"

#define WT_LIKELY(x_)	__builtin_expect(!!(x_), 1)
#define WT_UNLIKELY(x_) __builtin_expect(!!(x_), 0)
#define WT_INLINE	static inline __attribute__((always_inline))
#define WT_COLD		__attribute__((cold, noinline))

struct wt_rec *wt_enter_slow(struct wt_tls *t, uint32_t id);
/* Counts what wt_leave() does not: failed, captured, soft, very long, context not known. */
WT_COLD void wt_count_slow(struct wt_tls *t, struct wt_rec *rec, uint32_t kind, uint32_t n,
			   uint64_t dur);
/* The same for a call that has no row. */
WT_COLD void wt_count_rare(struct wt_tls *t, uint32_t id, uint32_t flags, uint32_t kind, uint32_t n,
			   uint32_t status);
/* Everything wt_leave() does, for rows taken by wt_enter_slow(). */
void wt_leave_slow(struct wt_tls *t, struct wt_rec *rec, uint32_t kind, uint32_t n, uint32_t status,
		   uint64_t end_tsc);
/* The end of that: the row becomes the writer's, uncounted. */
void wt_put_row(struct wt_tls *t, struct wt_rec *rec);
/* WT_REC_CAPTURED or 0, asked of the driver where a capture is open. */
WT_COLD uint32_t wt_ask_capture(uint64_t stream);
/* Sequence number of the next row of this thread. */
uint64_t wt_row_seq(const struct wt_tls *t);
/* Brackets a call of NCCL, cuBLAS or cuDNN (WT_REC_IN_NCCL, _BLAS): rows made inside are its children. */
void wt_library_enter(struct wt_tls *t, struct wt_rec *row, uint32_t inside);
void wt_library_leave(struct wt_tls *t, struct wt_rec *row, uint32_t kind, uint32_t status,
		      uint64_t end_tsc);

WT_INLINE uint32_t wt_level(void)
{
	return atomic_load_explicit(&wt_words->level, memory_order_relaxed);
}

WT_INLINE int wt_captures(void)
{
	return atomic_load_explicit(&wt_words->minus_captures, memory_order_relaxed) != 0;
}

typedef int64_t __attribute__((may_alias)) wt_both_words;

/* Level api or trace, and no capture open: one load, one comparison. The level is the low half on both processors. */
#define WT_GO(words_) ((words_) >= WT_LEVEL_API)
WT_INLINE int64_t wt_state(void)
{
	return *(const volatile wt_both_words *)wt_words;
}

WT_INLINE struct wt_chunk *wt_chunk_of(const struct wt_rec *rec)
{
	return (struct wt_chunk *)((uintptr_t)rec & ~(uintptr_t)(WT_CHUNK_BYTES - 1));
}

/* 1: a call of ours holds the row, or the agent is at work on this thread. */
WT_INLINE int wt_inside(const struct wt_tls *t)
{
	return t->busy ||
	       (!t->row && !t->put_by && t->chunk &&
		atomic_load_explicit(&t->chunk->used, memory_order_relaxed) < WT_CHUNK_RECS);
}

WT_INLINE struct wt_rec *wt_take_row(struct wt_tls *t)
{
	struct wt_rec *rec = t->row;

	t->row = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	return rec;
}

/* Everything that fill may leave alone; status, start and duration are always written later. */
WT_INLINE void wt_start_row(const struct wt_tls *t, struct wt_rec *rec, uint32_t id)
{
	rec->op = (uint16_t)id;
	rec->flags = t->inherit;
	rec->context = t->context;
	rec->parent = 0;
	rec->stream = 0;
	rec->object = 0;
	rec->u.raw[0] = rec->u.raw[1] = rec->u.raw[2] = 0;
}

WT_INLINE void wt_add(_Atomic uint64_t *count, uint64_t n)
{
	/* One owner: no need for a locked add. Atomic only so that the writer never reads a torn value. */
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* The row becomes the writer's. Chunks are aligned to their size, so the row's address tells chunk and index. */
WT_INLINE struct wt_rec *wt_publish(struct wt_rec *rec)
{
	struct wt_rec *next = rec + 1;

	atomic_store_explicit(&wt_chunk_of(rec)->used,
			      (uint16_t)(uintptr_t)rec / (uint32_t)sizeof(*rec),
			      memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
	return WT_LIKELY((uint16_t)(uintptr_t)next) ? next : NULL;
}
_Static_assert(WT_CHUNK_BYTES == 1u << 16,
	       "the low 16 bits of a row's address are its place in the chunk");

/*
 * After a call of the hot path: context known, no capture open. Only copies and memsets can be soft. An agreed
 * duration of more than 32 bits, a failure and a soft call are counted elsewhere.
 */
WT_INLINE void wt_leave(struct wt_tls *t, struct wt_rec *rec, uint32_t kind, uint32_t n,
			uint32_t status, uint64_t end_tsc)
{
	uint64_t dur = end_tsc - rec->start_tsc;
	uint32_t soft =
		kind == WT_KIND_COPY || kind == WT_KIND_MEMSET ? rec->flags & WT_REC_SOFT : 0;

	rec->dur = (uint32_t)dur;
	rec->status = (int16_t)status;
	if (WT_LIKELY(!(status | soft | dur >> 32)))
		wt_add(&t->counts[kind * WT_COUNT_STATES + WT_DONE], n);
	else
		wt_count_slow(t, rec, kind, n, dur);
	t->row = wt_publish(rec);
}

/* Kinds that can go into a graph under capture. */
#define WT_IS_STREAM_KIND(k_) ((k_) >= WT_KIND_LAUNCH && (k_) <= WT_KIND_OTHER)

/* Stream 0 of a per-thread-stream entry point is not the legacy stream. */
WT_INLINE uint64_t wt_stream(uint64_t stream, int pt)
{
	return pt && !stream ? 2 : stream;
}

#endif
