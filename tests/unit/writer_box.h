/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the writer asks of the rest of the agent, for tests that drive it alone: a table of hooks, settings, and a black
 * box that remembers what it gave out and scribbles over what it takes back. Included by one test program.
 */
#ifndef WRITER_BOX_H
#define WRITER_BOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/real.h"
#include "agent/tls.h"

/* ---- the rest of the agent, as far as the writer asks ---- */

static const struct {
	const char *name;
	uint32_t kind;
} hooks[] = {{"", 0},
	     {"cuLaunchKernel", 1},
	     {"cuMemcpyHtoDAsync_v2", 3},
	     {"ncclAllReduce", 5},
	     {"ncclGroupStart", 15},
	     {"ncclGroupEnd", 15},
	     {"cuMemAlloc_v2", 11}};
enum { LAUNCH = 1, COPY, ALLREDUCE, GROUP_START, GROUP_END, ALLOC, HOOKS };

static struct wt_words words = {.level = WT_LEVEL_TRACE, .alive = 1};
struct wt_words *wt_words = &words;
_Atomic uint32_t *wt_level_word = &words.level;
__thread struct wt_tls wt_tls;
struct wt_config wt_config = {.out_mb = 1024, .flush_ms = 50};

uint32_t wt_hook_count(void)
{
	return HOOKS - 1;
}
const char *wt_hook_name(uint32_t id)
{
	return hooks[id].name;
}
uint32_t wt_hook_kind(uint32_t id)
{
	return hooks[id].kind;
}
uint8_t *wt_box_piece(uint32_t what, uint32_t index)
{
	return NULL;
}
void wt_box_trace(const char *path, const uint8_t file_id[16])
{
}
void wt_box_lost(uint64_t rows)
{
}
void wt_box_stride(uint32_t kind, size_t bytes, int extra)
{
}
void *wt_real_cuda(const char *name)
{
	return NULL;
}
int wt_real_init(void)
{
	return 0;
}
void *wt_quiet_dlsym(void *handle, const char *name)
{
	return NULL;
}
void wt_real_cupti_is(void *handle)
{
}
uint64_t wt_escaped_names(void)
{
	return 3;
}
void wt_silence_enter(void)
{
}
void wt_silence_leave(void)
{
}
void wt_collectors_flush(int forced)
{
}
void wt_collectors_stop(void)
{
}
void wt_log(const char *fmt, ...)
{
}
void wt_config_each(void (*fn)(void *arg, const char *name, const char *value), void *arg)
{
	fn(arg, "WARPTAP_OUT_MB", "1024");
}

/* ---- a black box ---- */

#define CHUNKS	24
#define RINGS	4
#define BUFFERS 4

static struct {
	pthread_mutex_t lock;
	struct wt_chunk *chunk; /* [CHUNKS] */
	struct wt_chunk *open[RINGS];
	struct wt_chunk *full[CHUNKS], *pending[CHUNKS], *free[CHUNKS];
	int n_full, n_pending, n_free;
	struct wt_ring ring[RINGS];
	uint8_t *buffer[BUFFERS];
	uint32_t valid[BUFFERS];
	int n_buffers, next_buffer, buffers_released;
	void (*on_release)(void);
	int closed;
} box = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define PTHREAD_OF(ring_) (0x700000000000ull + (uint64_t)(ring_)*4096)

static void box_open(void)
{
	box.chunk = aligned_alloc(64, CHUNKS * sizeof(*box.chunk));
	memset(box.chunk, 0, CHUNKS * sizeof(*box.chunk));
	for (int i = 0; i < CHUNKS; i++)
		box.free[box.n_free++] = &box.chunk[i];
	for (int i = 0; i < RINGS; i++) {
		box.ring[i].id = (uint64_t)i + 1;
		box.ring[i].tid = (uint32_t)getpid();
		if (i % 2) /* the others are another thread's by now: only their chunks tell */
			box.ring[i].pthread = PTHREAD_OF(i);
	}
}

void wt_box_keep_state(const struct wt_box_state *s)
{
}
void wt_pace_take(uint32_t level, uint64_t *ret_steps, uint64_t *ret_ticks)
{
	*ret_steps = *ret_ticks = 0;
}
int wt_box_is_cut(void)
{
	return 0;
}
const char *wt_box_kind(void)
{
	return "file";
}
uint64_t wt_box_mapped_bytes(void)
{
	return CHUNKS * sizeof(struct wt_chunk);
}
void wt_box_close(int keep)
{
	box.closed++;
}
void wt_ring_sweep(void)
{
}
void wt_ring_each(void (*fn)(void *arg, struct wt_ring *r), void *arg)
{
	for (int i = 0; i < RINGS; i++)
		fn(arg, &box.ring[i]);
}

static void drain_one(struct wt_chunk *c,
		      void (*fn)(void *arg, struct wt_chunk *c, uint32_t from, uint32_t to),
		      void *arg)
{
	uint32_t used = atomic_load(&c->used);

	if (used > c->written)
		fn(arg, c, c->written, used);
	c->written = used;
}

void wt_chunk_drain(void (*fn)(void *arg, struct wt_chunk *c, uint32_t from, uint32_t to),
		    void *arg)
{
	pthread_mutex_lock(&box.lock);
	for (int i = 0; i < box.n_full; i++) {
		drain_one(box.full[i], fn, arg);
		box.full[i]->flushed = UINT64_MAX;
		box.pending[box.n_pending++] = box.full[i];
	}
	box.n_full = 0;
	for (int i = 0; i < RINGS; i++)
		if (box.open[i])
			drain_one(box.open[i], fn, arg);
	pthread_mutex_unlock(&box.lock);
}

void wt_chunk_release(uint64_t block, uint64_t done)
{
	int kept = 0;

	if (box.on_release)
		box.on_release();
	pthread_mutex_lock(&box.lock);
	for (int i = 0; i < box.n_pending; i++) {
		struct wt_chunk *c = box.pending[i];

		if (c->flushed == UINT64_MAX)
			c->flushed = block;
		if (c->flushed <= done) {
			memset(c->rec, 0xee,
			       sizeof(c->rec)); /* whoever still reads it will notice */
			box.free[box.n_free++] = c;
		} else {
			box.pending[kept++] = c;
		}
	}
	box.n_pending = kept;
	pthread_mutex_unlock(&box.lock);
}

uint8_t *wt_buffer_take(void)
{
	return NULL;
}
void wt_buffer_complete(uint8_t *buf, uint32_t valid_bytes, uint32_t context)
{
}
int wt_buffer_is_ours(const uint8_t *buf)
{
	return 0;
}
int wt_buffer_next(uint8_t **ret, uint32_t *ret_valid, uint32_t *ret_context)
{
	int got = 0;

	pthread_mutex_lock(&box.lock);
	if (box.next_buffer < box.n_buffers) {
		*ret = box.buffer[box.next_buffer];
		*ret_valid = box.valid[box.next_buffer++];
		*ret_context = 0;
		got = 1;
	}
	pthread_mutex_unlock(&box.lock);
	return got;
}
void wt_buffer_release(uint8_t *buf)
{
	memset(buf, 0xee, 64);
	box.buffers_released++;
}

/* A row of its ring, as a hook would leave it; 0 = dropped for want of a chunk. */
static int put(int ring, uint64_t seq, const struct wt_rec *rec)
{
	struct wt_chunk *c = box.open[ring];
	uint32_t used;

	if (!c || atomic_load(&c->used) == WT_CHUNK_RECS ||
	    c->first_seq + atomic_load(&c->used) != seq) {
		pthread_mutex_lock(&box.lock);
		if (c)
			box.full[box.n_full++] = c;
		box.open[ring] = c = box.n_free ? box.free[--box.n_free] : NULL;
		if (c) {
			c->ring = box.ring[ring].id;
			c->tid = box.ring[ring].tid;
			c->pthread = PTHREAD_OF(ring);
			c->first_seq = seq;
			c->written = 0;
			atomic_store(&c->used, 0);
		}
		pthread_mutex_unlock(&box.lock);
		wt_writer_poke();
		if (!c) {
			if (!atomic_load(&box.ring[ring].dropped))
				box.ring[ring].first_dropped_seq = seq;
			atomic_fetch_add(&box.ring[ring].dropped, 1);
			return 0;
		}
	}
	used = atomic_load_explicit(&c->used, memory_order_relaxed);
	c->rec[used] = *rec;
	atomic_store_explicit(&c->used, used + 1, memory_order_release);
	return 1;
}

#endif
