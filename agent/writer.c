/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer: the agent's one thread. Takes what hooks and CUPTI left in the black box to the trace file.
 *
 *   woken by a poke (some chunks are full, a buffer is complete, a state changed) or each second
 *   cycle: states, chunks, buffers -> batches -> one block -> write() -> only then chunks and buffers are free again
 *   tick (each second): CUPTI is flushed, clocks, losses, counts and cost are said
 *   look (ten between two ticks): a job may be ended by a signal that nobody hears, and what CUPTI still has is lost
 *       then; so it is flushed also where that costs little, or the job launches nothing
 *   end: last flush, last drain, State, Counts, Cost, End
 *
 * Detached, all signals blocked, hooks silent for life. The job never waits for it but in
 * wt_writer_stop(), and there no longer than it is told. It takes no lock the job can hold, and nothing the job holds
 * is needed to make progress.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/box.h"
#include "agent/config.h"
#include "agent/cost.h"
#include "agent/launches.h"
#include "agent/pace.h"
#include "agent/pack.h"
#include "agent/redact.h"
#include "agent/registry.h"
#include "agent/thread.h"
#include "agent/totals.h"
#include "collectors/cupti_activity.h"
#include "collectors/cupti_record.h"
#include "collectors/manners.h"

#define STATES	   64
#define HELD_MAX   1024 /* buffers read whose block is not written yet: as many as the box can have */
#define BLOCK_ROWS 4000
#define TICK_NS	   1000000000ll
#define LOOKS	   10	      /* a tick */
#define LOOK_NS	   10000000ll /* not sooner */
#define SLOW_NS                                                                                    \
	20000000ll /* a write that takes longer: fewer and larger ones, or the pool runs full */
#define SLOW_ROWS (8 * BLOCK_ROWS)

static struct {
	char path[PATH_MAX];
	struct wt_pack pack;
	struct wt_totals totals;
	_Atomic uint32_t running; /* futex: 1 = thread lives, 2 = finished */
	_Atomic uint32_t wake;	  /* futex: 1 = work is waiting */
	_Atomic uint32_t closing; /* 1 + EndHow */
	_Atomic int64_t deadline_ns;
	_Atomic uint32_t begun, ended; /* cycles */
	atomic_flag state_lock;
	struct wt_box_state state[STATES];
	uint32_t n_state, level; /* level: of the newest State, as the file counts */
	uint32_t said_state;
	uint64_t block; /* number of the block being filled */
	uint64_t rows;	/* in it, since the last write */
	int is_slow;	/* the last write was */
	uint8_t *held[HELD_MAX];
	uint32_t n_held;
} writer = {.state_lock = ATOMIC_FLAG_INIT, .block = 1};

static long futex(_Atomic uint32_t *word, int op, uint32_t val, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, val, timeout, NULL, 0);
}

void wt_writer_poke(void)
{
	int saved = errno;

	if (atomic_exchange_explicit(&writer.wake, 1, memory_order_release) == 0 &&
	    atomic_load_explicit(&writer.running, memory_order_relaxed) == 1)
		futex(&writer.wake, FUTEX_WAKE, 1, NULL);
	errno = saved;
}

/* Until poked, which is 1, or the time has come. */
static int wait_until(int64_t when_ns)
{
	while (atomic_exchange_explicit(&writer.wake, 0, memory_order_acquire) == 0) {
		int64_t left = when_ns - wt_clock_mono_ns();
		struct timespec t = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};

		if (left <= 0)
			return 0;
		/* It may be refused (a filter): then this is no reason to spin. */
		if (futex(&writer.wake, FUTEX_WAIT, 0, &t) && errno != EAGAIN && errno != EINTR &&
		    errno != ETIMEDOUT)
			nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	return 1;
}

/* ---- states ---- */

void wt_writer_note(const struct wt_state_note *note)
{
	char buf[WT_REDACTED_BYTES];
	const char *holder = wt_redacted(note->holder, buf);
	struct wt_box_state s = {.tsc = wt_tsc(),
				 /* the file counts from off = 0 */
				 .level = note->level > WT_LEVEL_OFF ? note->level - WT_LEVEL_OFF
								     : 0,
				 .cupti = note->cupti ? note->cupti : wt_cupti_state(),
				 .reason = note->reason,
				 .cost_ppm = note->cost_ppm,
				 .device_ns = note->device_ns,
				 .window = note->window,
				 .kinds = wt_cupti_kinds(),
				 .clock = (uint32_t)wt_manners_clock_is_foreign()};

	if (holder)
		memcpy(s.holder, holder, strnlen(holder, sizeof(s.holder) - 1));
	while (atomic_flag_test_and_set_explicit(&writer.state_lock, memory_order_acquire))
		sched_yield();
	wt_pace_take(writer.level, &s.steps, &s.step_ticks);
	writer.level = s.level;
	memcpy(&writer.state[writer.n_state < STATES ? writer.n_state++ : STATES - 1], &s,
	       sizeof(s));
	wt_box_keep_state(&s); /* a job killed before it is written */
	atomic_flag_clear_explicit(&writer.state_lock, memory_order_release);
	wt_writer_poke();
}

void wt_writer_state(uint32_t level, uint32_t cupti, uint32_t reason, uint64_t device_ns)
{
	wt_writer_note(&(struct wt_state_note){
		.level = level, .cupti = cupti, .reason = reason, .device_ns = device_ns});
}

int wt_writer_is_behind(void)
{
	int behind;

	while (atomic_flag_test_and_set_explicit(&writer.state_lock, memory_order_acquire))
		sched_yield();
	behind = writer.n_state >= STATES / 2;
	atomic_flag_clear_explicit(&writer.state_lock, memory_order_release);
	return behind;
}

int wt_writer_sync(int timeout_ms)
{
	int64_t until = wt_clock_mono_ns() + (int64_t)timeout_ms * 1000000;
	uint32_t now = atomic_load(&writer.begun);
	struct timespec nap = {.tv_nsec = 300000};

	while (atomic_load(&writer.running) == 1 &&
	       (int32_t)(atomic_load(&writer.ended) - now) <= 0) {
		if (wt_clock_mono_ns() > until)
			return 0;
		wt_writer_poke();
		nanosleep(&nap, NULL);
	}
	return 1;
}

static void emit_states(void)
{
	static struct wt_box_state s[STATES];
	uint32_t n;

	while (atomic_flag_test_and_set_explicit(&writer.state_lock, memory_order_acquire))
		sched_yield();
	n = writer.n_state;
	memcpy(s, writer.state, n * sizeof(s[0]));
	writer.n_state = 0;
	atomic_flag_clear_explicit(&writer.state_lock, memory_order_release);
	for (uint32_t i = 0; i < n; i++) {
		Warptap__V1__State m = WARPTAP__V1__STATE__INIT;

		wt_pack_state(&writer.pack, &s[i], &m);
		if ((writer.said_state || i) &&
		    m.reason != WARPTAP__V1__STATE_REASON__STATE_REASON_EXIT)
			wt_totals_counts(&writer.totals, &writer.pack);
		if (m.cupti == WARPTAP__V1__CUPTI_STATE__CUPTI_STATE_OURS)
			wt_contexts_again(&writer.pack); /* CUPTI can be asked from now on */
		if (wt_pack_emit(&writer.pack, WARPTAP__V1__PACKET__BODY_STATE, &m, 0))
			wt_pack_emit_last(&writer.pack, WARPTAP__V1__PACKET__BODY_STATE, &m);
	}
	writer.said_state |= n;
}

/* ---- rows ---- */

static void flush(void)
{
	int64_t begin_ns = wt_clock_mono_ns();

	wt_pack_flush(&writer.pack);
	writer.is_slow = wt_clock_mono_ns() - begin_ns > SLOW_NS;
	writer.rows = 0;
}

static void see_ring(void *arg, struct wt_ring *r)
{
	uint64_t id = __atomic_load_n(&r->id, __ATOMIC_RELAXED);
	uint32_t tid = __atomic_load_n(&r->tid, __ATOMIC_RELAXED);
	uint64_t pthread = __atomic_load_n(&r->pthread, __ATOMIC_RELAXED);

	if (id)
		wt_thread_of(&writer.pack, id, tid, pthread);
}

static void see_chunk(void *arg, struct wt_chunk *c, uint32_t from, uint32_t to)
{
	wt_pack_calls(&writer.pack, c, from, to);
	wt_launches_rows(c, from, to);
	writer.rows += to - from;
	if (writer.rows >= (writer.is_slow ? SLOW_ROWS : BLOCK_ROWS))
		flush();
}

/* On the job's threads; what CUPTI does on ours is our CPU time. Times of another tool's clock need not be ns. */
static void see_overhead(const struct wt_dev_rec *r)
{
	if (r->u.overhead.thread_word && r->u.overhead.thread_word != (uint32_t)pthread_self() &&
	    wt_cupti_overhead_is_ours(r->u.overhead.kind) && !wt_manners_clock_is_foreign())
		wt_cost_overhead(r->end - r->start);
}

static void see_record(void *arg, const struct wt_dev_rec *r)
{
	if (r->kind == WT_DEV_OVERHEAD)
		see_overhead(r);
	wt_pack_device(&writer.pack, r);
	if ((r->kind == WT_DEV_KERNEL || r->kind == WT_DEV_COPY) && !r->graph && !r->graph_node)
		wt_cupti_received((r->flags & WARPTAP__V1__RECORD_FLAG__RECORD_FLAG_UNTIMED) != 0);
}

static void take_buffers(void)
{
	uint8_t *buf;
	uint32_t valid, context;

	while (writer.n_held < HELD_MAX && wt_buffer_next(&buf, &valid, &context)) {
		writer.pack.unknown += wt_cupti_buffer(buf, valid, see_record, NULL);
		writer.held[writer.n_held++] = buf;
	}
}

/* The block is in the file, or never will be: what it was made of may be reused. */
static void release(void)
{
	wt_box_lost(writer.pack.lost_rows); /* before they can be overwritten */
	wt_chunk_release(writer.block, writer.block);
	writer.block++;
	for (uint32_t i = 0; i < writer.n_held; i++)
		wt_buffer_release(writer.held[i]);
	writer.n_held = 0;
	writer.rows = 0;
}

static void cycle(int tick)
{
	struct wt_pack *p = &writer.pack;

	atomic_fetch_add(&writer.begun, 1);
	wt_pack_begin(p);
	emit_states();
	if (tick) {
		wt_ring_sweep();
		wt_collectors_flush(0);
		emit_states(); /* collection began anew: before the first record of it */
	}
	wt_ring_each(see_ring, NULL);
	wt_chunk_drain(see_chunk, NULL);
	take_buffers();
	wt_pack_device_end(p);
	wt_pack_collectives(p);
	if (tick) {
		wt_execs_review(p);
		wt_pack_clock(p);
		wt_launches_sum(p->clock.tsc_hz);
		wt_totals_say(&writer.totals, p, 0);
	}
	flush();
	release();
	atomic_store(&writer.ended, atomic_load(&writer.begun));
}

/* ---- end ---- */

/*
 * Order: the clock of the device first (collection ends here), then the flushes, then the rows they brought, then the
 * totals. A context with a sticky error, or a flush that was slow before, keeps CUPTI from being forced.
 */
static void finish(void)
{
	struct wt_pack *p = &writer.pack;
	uint32_t level = atomic_load_explicit(wt_level_word, memory_order_relaxed);
	uint64_t device_ns = wt_cupti_timestamp();
	int how = (int)atomic_load(&writer.closing) - 1;

	cycle(0); /* what is there is safe before CUPTI is asked, which may take its time */
	if (p->sticky)
		wt_cupti_distrust();
	wt_collectors_flush(0);
	wt_collectors_stop();
	wt_writer_state(level, wt_cupti_state(), WARPTAP__V1__STATE_REASON__STATE_REASON_EXIT,
			device_ns);
	cycle(0);
	cycle(0); /* what came while the first was packing */
	wt_pack_clock(p);
	wt_totals_say(&writer.totals, p, 1);
	if (wt_clock_mono_ns() > atomic_load(&writer.deadline_ns))
		how = WARPTAP__V1__END_HOW__END_HOW_TIMEOUT;
	wt_pack_close(p, how);
	wt_box_close(0);
}

static void *run(void *arg)
{
	int64_t tick_ns = (int64_t)wt_config.flush_ms * 1000000, look_ns, next, look;

	wt_thread_begin();
	if (tick_ns > TICK_NS || tick_ns <= 0)
		tick_ns = TICK_NS;
	look_ns = tick_ns / LOOKS > LOOK_NS ? tick_ns / LOOKS : LOOK_NS;
	wt_cost_start(writer.pack.clock.tsc_hz);
	wt_cost_writer_is_here();
	cycle(0);
	next = wt_clock_mono_ns() + tick_ns;
	look = next - tick_ns + look_ns;
	while (!atomic_load_explicit(&writer.closing, memory_order_acquire)) {
		int awake = wait_until(next < look ? next : look);
		int64_t now = wt_clock_mono_ns();

		if (atomic_load_explicit(&writer.closing, memory_order_acquire))
			break;
		if (wt_box_is_cut()) {
			wt_collectors_stop();
			goto out;
		}
		if (now >= next && !writer.said_state)
			wt_writer_state(atomic_load(wt_level_word), wt_cupti_state(),
					WARPTAP__V1__STATE_REASON__STATE_REASON_START, 0);
		if (now >= look) {
			awake |= wt_cupti_look();
			look = now + (wt_cupti_kinds() ? look_ns : tick_ns);
		}
		if (awake || now >= next)
			cycle(now >= next);
		if (now >= next)
			next = now + tick_ns;
	}
	if (!wt_box_is_cut())
		finish();
out:
	atomic_store_explicit(&writer.running, 2, memory_order_release);
	futex(&writer.running, FUTEX_WAKE, INT_MAX, NULL);
	return NULL;
}

void wt_writer_abandon(void)
{
	unlink(writer.path); /* no more than its head is in it */
	wt_sink_close(&writer.pack.sink);
	wt_arena_close(&writer.pack.mem);
}

int wt_writer_open(const char *trace_dir, const char *stem)
{
	int r;

	if (snprintf(writer.path, sizeof(writer.path), "%s/%s.wt", trace_dir, stem) >=
	    (int)sizeof(writer.path))
		return -WT_E_LIMIT;
	r = wt_pack_open(&writer.pack, writer.path, (uint64_t)wt_config.out_mb << 20);
	if (!r)
		return 0;
	if (writer.pack.sink.sys_errno == EEXIST)
		r = -WT_E_USAGE;
	else
		wt_log("trace: cannot open %s: error %d", wt_redacted_word(writer.path),
		       writer.pack.sink.sys_errno);
	wt_sink_close(&writer.pack.sink);
	wt_arena_close(&writer.pack.mem);
	return r;
}

int wt_writer_start(void)
{
	int r;

	wt_header_capture();
	/* In the file before anything is recorded: recovery goes on from it, however soon the job is killed. */
	wt_clock_start(&writer.pack.clock);
	wt_pack_birth(&writer.pack);
	wt_box_trace(writer.path, writer.pack.file_id);
	atomic_store(&writer.running, 1);
	r = wt_thread_start(run, NULL);
	if (r) {
		atomic_store(&writer.running, 0);
		wt_log("trace: no thread for the writer");
		wt_writer_abandon();
	}
	return r;
}

int wt_writer_stop(int how, int timeout_ms)
{
	int64_t wait_ns = (int64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000;
	int64_t until = wt_clock_mono_ns() + wait_ns;

	if (atomic_load(&writer.running) != 1)
		return atomic_load(&writer.running) == 2;
	atomic_store(&writer.deadline_ns, until);
	atomic_store_explicit(&writer.closing, 1 + (uint32_t)how, memory_order_release);
	wt_writer_poke();
	for (;;) {
		int64_t left = until - wt_clock_mono_ns();
		struct timespec t = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};

		if (atomic_load_explicit(&writer.running, memory_order_acquire) == 2)
			return 1;
		if (left <= 0)
			return 0;
		futex(&writer.running, FUTEX_WAIT, 1, &t);
	}
}
