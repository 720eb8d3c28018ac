/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the agent know of each other. Life, in order:
 *
 *   constructor (lifecycle.c)  reads the environment, resolves dlsym, nothing else
 *   first cuInit that succeeds wt_agent_start(): box, registry, writer thread, collectors; on the job's thread, once
 *   hooks                      test wt_level first; 0 = inert (also in every forked child: the word is wiped)
 *   exit handler, _exit hook   wt_writer_stop(): bounded
 */
#ifndef WT_AGENT_H
#define WT_AGENT_H

#include <stdint.h>
#include <x86intrin.h>

#include "chunk.h"

enum wt_level {
	WT_LEVEL_INERT = 0,
	WT_LEVEL_OFF = 1,
	WT_LEVEL_COUNT = 2,
	WT_LEVEL_API = 3,
	WT_LEVEL_TRACE = 4
};

/* First word of a private MADV_WIPEONFORK page; 0 in children of fork and raw fork. Never NULL after load. */
extern _Atomic uint32_t *wt_level_word;

static inline uint64_t wt_tsc(void)
{
	return __rdtsc();
}

/* ---- chunk.c: the box ---- */
struct wt_box;
extern struct wt_box *wt_box; /* NULL before start and in children */
int wt_box_open(const char *trace_dir, const char *stem, uint64_t cap_bytes); /* job thread, once */
const char *wt_box_kind(void); /* "file", "memfd", "anonymous", "none" */
uint64_t wt_box_mapped_bytes(void);
/* For recovery, kept in the head of the box: the trace; rows it had no room for; sizes of CUPTI's records. Writer. */
void wt_box_trace(const char *path, const uint8_t file_id[16]);
void wt_box_lost(uint64_t rows);
void wt_box_stride(uint32_t kind, size_t bytes, int extra);
struct wt_box_state;
void wt_box_keep_state(const struct wt_box_state *s); /* one caller at a time */
void wt_box_hold(void); /* takes the lock on the file again, should the job have dropped it */
/* CUPTI will ask for buffers, a reserve of them is made: now (before the writer starts), or by its next cycle. */
void wt_box_want_buffers(int now);
struct wt_ring *wt_ring_get(void);    /* job thread, slow: its ring, making one; NULL = none left */
struct wt_ring *wt_ring_shared(void); /* for threads without one: counts by atomic adds only */
struct wt_chunk *wt_chunk_take(struct wt_ring *ring, uint64_t first_seq); /* NULL = pool empty */
/* Owner: done with it. 1: so much waits that the writer is to be woken. */
int wt_chunk_full(struct wt_chunk *c);
/* Writer: calls fn for each full chunk and each open one that has unread records; single reader. */
void wt_chunk_drain(void (*fn)(void *arg, struct wt_chunk *c, uint32_t from, uint32_t to),
		    void *arg);
/* Writer: rows of all chunks drained so far belong to block `block`; chunks of blocks <= done go to the free list. */
void wt_chunk_release(uint64_t block, uint64_t done);
void wt_ring_each(void (*fn)(void *arg, struct wt_ring *r), void *arg); /* every ring ever used */
void wt_ring_sweep(void); /* writer: closes chunks of threads that are gone */
/* Buffers for CUPTI, from the same mapping and under the same two-phase rule; any thread. */
int wt_buffer_is_ours(const uint8_t *buf); /* an address that was lent, at any time */
uint8_t *wt_buffer_take(void); /* WT_CUPTI_BUFFER_BYTES, 8-byte aligned; NULL = none left */
void wt_buffer_complete(uint8_t *buf, uint32_t valid_bytes,
			uint32_t context); /* any thread: to the writer */
int wt_buffer_next(uint8_t **ret, uint32_t *ret_valid,
		   uint32_t *ret_context); /* writer: 1 got one */
void wt_buffer_release(uint8_t *buf);	   /* writer, after the write() returned */
/* Writer, at the very end: gives up the file; !keep unlinks it. The mapping stays: other threads may still store. */
void wt_box_close(int keep);
int wt_box_is_cut(
	void); /* 1: somebody shortened the file; recording is over, the mapping harmless. Writer */
void wt_box_forked(void); /* in a child of fork(): a system call, nothing else */

/* ---- hooks.c ---- */
/* Table of hooks for the file's Ops packet: id 1..wt_hook_count(). kind = CountKind of trace.proto. */
uint32_t wt_hook_count(void);
const char *wt_hook_name(uint32_t id);
uint64_t wt_hooks_hash(void); /* of names and kinds in order */
uint32_t wt_hook_kind(uint32_t id);
/* The real function behind a hook or any other libcuda entry, NULL if the library lacks it. Agent's own calls. */
void *wt_real_cuda(const char *name);
uint64_t wt_escaped_names(void); /* entry points handed out unwrapped */

/* ---- lifecycle.c ---- */
/* Runs body with hooks of this thread silent (the agent's own calls into CUDA and CUPTI). */
void wt_silence_enter(void);
void wt_silence_leave(void);
/* Writer thread: flush and stop of every collector that started. */
void wt_collectors_flush(int forced);
void wt_collectors_stop(void);
void wt_log(const char *fmt, ...)
	__attribute__((format(printf, 1, 2))); /* one line to <stem>.log; never to the job */

/* ---- writer.c ---- */
/* Creates <stem>.wt. -WT_E_USAGE: the name is taken, by whatever it is; else 0 or what failed. */
int wt_writer_open(const char *trace_dir, const char *stem);
int wt_writer_start(void);    /* after wt_writer_open(): starts the thread */
void wt_writer_abandon(void); /* instead: removes the file */
void wt_writer_poke(void);    /* any thread, async: work is waiting */
int wt_writer_stop(int how,
		   int timeout_ms); /* any thread, once: flush, End packet; 1 = finished in time */
/* Level changed: appends a State packet. level: enum wt_level; others as in trace.proto (0 = not known). Any thread. */
struct wt_state_note {
	uint32_t level, cupti, reason, cost_ppm;
	uint64_t device_ns, window;
	const char *holder; /* who caused it, NULL = nobody */
};
void wt_writer_note(const struct wt_state_note *note);
void wt_writer_state(uint32_t level, uint32_t cupti, uint32_t reason, uint64_t device_ns);
int wt_writer_is_behind(void); /* many states wait to be written: no time for more changes */
/* Until all that was there at the call is in the file, or the time is over. 1, 0. Not for the job's threads. */
int wt_writer_sync(int timeout_ms);

#endif
