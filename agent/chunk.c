// SPDX-License-Identifier: Apache-2.0
/*
 * Rings and chunks. A thread owns one ring (its counters) and one open chunk (its rows); both belong to the mapping,
 * so a killed job leaves them behind. The hot path only moves a pointer inside the open chunk; this file is its slow
 * path and the writer's side.
 *
 * No locks: free chunks are a stack with a pop count against ABA; full chunks are pushed by job threads and taken
 * whole by the one writer. Order: a row is stored before `used` says so (release); open[ring] is cleared before its
 * chunk is pushed full, and set after the next one is taken. The writer therefore reads open[] first and the full
 * list second: a chunk it finds open has all its predecessors on that list or already drained.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent.h"
#include "box.h"
#include "tls.h"

#define RING_MAGIC  0x47525457u /* "WTRG" */
#define CHUNK_MAGIC 0x4b435457u /* "WTCK" */
/* CLOSING is exclusive: whoever set it may close the ring's open chunk. */
/* The shared ring stays CLOSING for ever: nobody claims or sweeps it. */
enum { RING_FREE, RING_LIVE, RING_GONE, RING_CLOSING };

static struct wt_chunk *chunk_at(struct wt_box *b, uint32_t index)
{
	return (struct wt_chunk *)(b->base + (size_t)index * WT_CHUNK_BYTES);
}

static uint32_t chunk_index(struct wt_box *b, const struct wt_chunk *c)
{
	return (uint32_t)(((const uint8_t *)c - b->base) / WT_CHUNK_BYTES);
}

/* ---- stacks of chunks ---- */

static void push(struct wt_box *b, wt_stack *s, struct wt_chunk *c)
{
	uint64_t old = atomic_load_explicit(s, memory_order_relaxed);
	uint32_t me = chunk_index(b, c) + 1;

	do
		atomic_store_explicit(&c->next, (uint32_t)old, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(s, &old, (old & ~0xffffffffull) | me,
						      memory_order_release, memory_order_relaxed));
}

static struct wt_chunk *pop(struct wt_box *b, wt_stack *s)
{
	uint64_t old = atomic_load_explicit(s, memory_order_acquire);

	while ((uint32_t)old) {
		struct wt_chunk *c = chunk_at(b, (uint32_t)old - 1);
		uint64_t next = atomic_load_explicit(&c->next, memory_order_relaxed);

		/* The count in the upper half moves with every pop, so a head that looks the same is the same. */
		if (atomic_compare_exchange_weak_explicit(s, &old, ((old >> 32) + 1) << 32 | next,
							  memory_order_acquire,
							  memory_order_acquire))
			return c;
	}
	return NULL;
}

static void give_free(struct wt_box *b, struct wt_chunk *c)
{
	atomic_store_explicit(&c->state, WT_CHUNK_FREE, memory_order_relaxed);
	atomic_store_explicit(&c->used, 0, memory_order_relaxed);
	push(b, &b->free_chunks, c);
	atomic_fetch_add_explicit(&b->free_chunk_count, 1, memory_order_relaxed);
}

void wt_chunk_seg_init(struct wt_box *b, uint32_t seg)
{
	uint32_t per = WT_SEG_BYTES / WT_CHUNK_BYTES;

	atomic_fetch_add_explicit(&b->chunk_count, per, memory_order_relaxed);
	for (uint32_t i = 0; i < per; i++) {
		struct wt_chunk *c = chunk_at(b, seg * per + i);

		c->magic = CHUNK_MAGIC;
		c->version = WT_CHUNK_VERSION;
		give_free(b, c);
	}
}

/* ---- rings ---- */

/* A chunk nobody will add to any more goes to the writer. */
static void close_open(struct wt_box *b, uint32_t ring_index)
{
	struct wt_chunk *c =
		atomic_exchange_explicit(&b->open[ring_index], NULL, memory_order_acq_rel);

	if (!c)
		return;
	atomic_store_explicit(&c->state, WT_CHUNK_FULL, memory_order_release);
	push(b, &b->full_chunks, c);
	atomic_fetch_add_explicit(&b->full_chunk_count, 1, memory_order_relaxed);
}

/* Only "no such thread" counts: EPERM from a sandbox must not close a living thread's chunk. */
static int is_gone(struct wt_ring *r)
{
	uint32_t tid = __atomic_load_n(&r->tid, __ATOMIC_RELAXED);

	return syscall(SYS_tgkill, getpid(), tid, 0) && errno == ESRCH;
}

/* Closes the chunks of threads that are gone: their rings are free for others. Any thread. */
static void sweep_gone(struct wt_box *b)
{
	uint32_t n = atomic_load_explicit(&b->head->rings, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct wt_ring *r = wt_ring_at(b, i);
		uint32_t live = RING_LIVE;

		if (atomic_load_explicit(&r->state, memory_order_acquire) != RING_LIVE ||
		    !is_gone(r) ||
		    !atomic_compare_exchange_strong_explicit(&r->state, &live, RING_CLOSING,
							     memory_order_acq_rel,
							     memory_order_relaxed))
			continue;
		/* A new thread with the same id may have claimed it in between: ask again, now that none can. */
		if (!is_gone(r)) {
			atomic_store_explicit(&r->state, RING_LIVE, memory_order_release);
			continue;
		}
		close_open(b, i);
		atomic_store_explicit(&r->state, RING_GONE, memory_order_release);
	}
}

static struct wt_ring *claim(struct wt_box *b, uint32_t i, uint32_t tid)
{
	struct wt_ring *r = wt_ring_at(b, i);
	uint32_t state = atomic_load_explicit(&r->state, memory_order_acquire);

	/* A live ring of our own thread id belongs to a thread that is gone: ids are unique among the living. */
	if ((state == RING_LIVE && __atomic_load_n(&r->tid, __ATOMIC_RELAXED) != tid) ||
	    state == RING_CLOSING ||
	    !atomic_compare_exchange_strong_explicit(&r->state, &state, RING_CLOSING,
						     memory_order_acq_rel, memory_order_relaxed))
		return NULL;
	close_open(b, i);
	r->magic = RING_MAGIC;
	/* Atomic stores: sweep and wt_ring_each() may look at a ring that is just changing hands. */
	__atomic_store_n(&r->id, atomic_fetch_add(&b->next_ring_id, 1) + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&r->tid, tid, __ATOMIC_RELAXED);
	__atomic_store_n(&r->pthread, (uint64_t)pthread_self(), __ATOMIC_RELAXED);
	atomic_store_explicit(&r->state, RING_LIVE, memory_order_release);
	return r;
}

/* A ring nobody has, made ours; NULL = all taken. */
static struct wt_ring *claim_any(struct wt_box *b, uint32_t tid)
{
	for (uint32_t i = 0; i < WT_RINGS_MAX - 1; i++) {
		struct wt_ring *r = claim(b, i, tid);
		uint32_t known = atomic_load_explicit(&b->head->rings, memory_order_relaxed);

		if (!r)
			continue;
		while (known < i + 1 && !atomic_compare_exchange_weak_explicit(
						&b->head->rings, &known, i + 1,
						memory_order_release, memory_order_relaxed))
			;
		return r;
	}
	return NULL;
}

struct wt_ring *wt_ring_get(void)
{
	struct wt_box *b = wt_box;
	uint32_t tid;

	if (!b)
		return NULL;
	if (wt_tls.ring)
		return wt_tls.ring;
	tid = (uint32_t)syscall(SYS_gettid);
	wt_tls.ring = claim_any(b, tid);
	if (!wt_tls.ring) { /* a job with a thread for each request: most of them are gone */
		sweep_gone(b);
		wt_tls.ring = claim_any(b, tid);
	}
	return wt_tls.ring;
}

/* The last ring belongs to nobody: threads that found none free count there, with locked adds. */
struct wt_ring *wt_ring_shared(void)
{
	struct wt_box *b = wt_box;
	struct wt_ring *r = b ? wt_ring_at(b, WT_RINGS_MAX - 1) : NULL;
	uint32_t state = RING_FREE;

	if (r && atomic_compare_exchange_strong(&r->state, &state, RING_CLOSING)) {
		r->magic = RING_MAGIC;
		r->id = atomic_fetch_add(&b->next_ring_id, 1) + 1;
		atomic_store_explicit(&b->head->rings, WT_RINGS_MAX, memory_order_release);
	}
	return r;
}

void wt_ring_each(void (*fn)(void *arg, struct wt_ring *r), void *arg)
{
	struct wt_box *b = wt_box;
	uint32_t n = b ? atomic_load_explicit(&b->head->rings, memory_order_acquire) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct wt_ring *r = wt_ring_at(b, i);

		if (atomic_load_explicit(&r->state, memory_order_acquire) != RING_FREE)
			fn(arg, r);
	}
}

void wt_ring_sweep(void)
{
	struct wt_box *b = wt_box;

	if (!b)
		return;
	wt_box_hold();
	sweep_gone(b);
}

/* ---- chunks: job threads ---- */

struct wt_chunk *wt_chunk_take(struct wt_ring *ring, uint64_t first_seq)
{
	struct wt_box *b = wt_box;
	struct wt_chunk *c = b ? pop(b, &b->free_chunks) : NULL;
	uint32_t index;

	if (!c)
		return NULL;
	atomic_fetch_sub_explicit(&b->free_chunk_count, 1, memory_order_relaxed);
	index = (uint32_t)(((uint8_t *)ring - b->base - WT_BOX_HEAD_BYTES) / WT_RING_BYTES);
	c->ring = ring->id;
	c->ring_index = index;
	c->first_seq = first_seq;
	c->tid = ring->tid;
	c->pthread = ring->pthread;
	c->written = 0;
	c->flushed = UINT64_MAX;
	atomic_store_explicit(&c->used, 0, memory_order_relaxed);
	atomic_store_explicit(&c->state, WT_CHUNK_OPEN, memory_order_release);
	atomic_store_explicit(&b->open[index], c, memory_order_release);
	return c;
}

int wt_chunk_full(struct wt_chunk *c)
{
	struct wt_box *b = wt_box;

	if (!b)
		return 0;
	close_open(b, c->ring_index);
	return atomic_load_explicit(&b->full_chunk_count, memory_order_relaxed) >= WT_CHUNKS_WAIT ||
	       atomic_load_explicit(&b->free_chunk_count, memory_order_relaxed) < WT_CHUNKS_LOW;
}

/* ---- chunks: the writer ---- */

static void drain_rows(struct wt_chunk *c, uint32_t used,
		       void (*fn)(void *arg, struct wt_chunk *c, uint32_t from, uint32_t to),
		       void *arg)
{
	if (used <= c->written)
		return;
	fn(arg, c, c->written, used);
	c->written = used;
}

/* Pushed last comes out first; rows of one ring have to leave in the order they were made. */
static struct wt_chunk *take_full(struct wt_box *b)
{
	uint32_t next, oldest = 0;

	/* Before they are taken: what comes in between is counted, if not here. */
	atomic_store_explicit(&b->full_chunk_count, 0, memory_order_relaxed);
	next = (uint32_t)atomic_exchange_explicit(&b->full_chunks, 0, memory_order_acquire);

	while (next) {
		struct wt_chunk *c = chunk_at(b, next - 1);
		uint32_t after = atomic_load_explicit(&c->next, memory_order_relaxed);

		atomic_store_explicit(&c->next, oldest, memory_order_relaxed);
		oldest = next;
		next = after;
	}
	return oldest ? chunk_at(b, oldest - 1) : NULL;
}

static void set_pending(struct wt_box *b, struct wt_chunk *c)
{
	atomic_store_explicit(&c->state, WT_CHUNK_DRAINED, memory_order_relaxed);
	atomic_store_explicit(&c->next, 0, memory_order_relaxed);
	if (b->pending_last)
		atomic_store_explicit(&b->pending_last->next, chunk_index(b, c) + 1,
				      memory_order_relaxed);
	else
		b->pending_first = c;
	b->pending_last = c;
}

void wt_chunk_drain(void (*fn)(void *arg, struct wt_chunk *c, uint32_t from, uint32_t to),
		    void *arg)
{
	struct wt_box *b = wt_box;
	struct wt_chunk *c;
	uint32_t rings;

	if (!b)
		return;
	if (atomic_load_explicit(&b->free_chunk_count, memory_order_relaxed) < WT_CHUNKS_LOW)
		sweep_gone(b); /* not at the next tick: each may hold a chunk for a row or two */
	rings = atomic_load_explicit(&b->head->rings, memory_order_acquire);
	for (uint32_t i = 0; i < rings; i++) {
		c = atomic_load_explicit(&b->open[i], memory_order_acquire);
		b->snap[i].chunk = c;
		b->snap[i].used = c ? atomic_load_explicit(&c->used, memory_order_acquire) : 0;
	}
	for (c = take_full(b); c;) {
		uint32_t next = atomic_load_explicit(&c->next, memory_order_relaxed);

		drain_rows(c, atomic_load_explicit(&c->used, memory_order_acquire), fn, arg);
		set_pending(b, c);
		c = next ? chunk_at(b, next - 1) : NULL;
	}
	for (uint32_t i = 0; i < rings; i++)
		if (b->snap[i].chunk)
			drain_rows(b->snap[i].chunk, b->snap[i].used, fn, arg);
	wt_box_tend(b);
}

void wt_chunk_release(uint64_t block, uint64_t done)
{
	struct wt_box *b = wt_box;
	struct wt_chunk *c;

	if (!b)
		return;
	for (c = b->pending_first; c;) {
		uint32_t next = atomic_load_explicit(&c->next, memory_order_relaxed);

		if (c->flushed == UINT64_MAX)
			c->flushed = block;
		c = next ? chunk_at(b, next - 1) : NULL;
	}
	while ((c = b->pending_first) && c->flushed <= done) {
		uint32_t next = atomic_load_explicit(&c->next, memory_order_relaxed);

		b->pending_first = next ? chunk_at(b, next - 1) : NULL;
		if (!next)
			b->pending_last = NULL;
		give_free(b, c);
	}
}
