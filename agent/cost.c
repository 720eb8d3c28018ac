/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of recording (cost.h). Until a chunk was filled, and for level count, the cost of a call is calibrated at start
 * by doing what a hook does - two stamps, a 64-byte record, a count - and taking the best of some rounds; it leaves out
 * cache misses of the job's own making, so it is a lower bound and the trace says so (hook_sampled = 0).
 * Samples and callback times are summed with relaxed atomics: nothing is ordered by them.
 */
#include "agent/cost.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"
#include "agent/launches.h"

#define ROUNDS 8
#define CALLS  1000

static struct {
	uint64_t tsc_hz, call_ticks;
	uint64_t count_ticks_16; /* of 16 calls at level count */
	_Atomic uint64_t sampled, sampled_ticks, cupti_ticks, overhead_ns;
	_Atomic uint32_t writer, control; /* their clocks are known */
	clockid_t writer_clock, control_clock;
} cost;

static uint64_t to_ns(uint64_t ticks)
{
	return cost.tsc_hz ? (uint64_t)((unsigned __int128)ticks * 1000000000u / cost.tsc_hz) : 0;
}

/* Ticks of CALLS records made the way a hook makes them. */
static uint64_t round_ticks(void)
{
	static volatile struct wt_rec scratch[64];
	static _Atomic uint64_t count;
	uint64_t begin = wt_tsc(), a, b;

	for (unsigned i = 0; i < CALLS; i++) {
		volatile struct wt_rec *r = &scratch[i % 64];

		a = wt_tsc();
		b = wt_tsc();
		r->op = 1;
		r->start_tsc = a;
		r->dur = (uint32_t)(b - a);
		r->stream = i;
		r->object = i;
		r->u.raw[0] = r->u.raw[1] = r->u.raw[2] = i;
		atomic_store_explicit(&count,
				      atomic_load_explicit(&count, memory_order_relaxed) + 1,
				      memory_order_release);
	}
	return wt_tsc() - begin;
}

/* The same for level count: a word that says busy, a count. */
static uint64_t count_ticks(void)
{
	static _Atomic uint64_t count;
	static _Atomic uint32_t busy;
	uint64_t begin = wt_tsc();

	for (unsigned i = 0; i < CALLS; i++) {
		atomic_store_explicit(&busy, 1, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
		atomic_store_explicit(&count,
				      atomic_load_explicit(&count, memory_order_relaxed) + 1,
				      memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
		atomic_store_explicit(&busy, 0, memory_order_relaxed);
	}
	return wt_tsc() - begin;
}

void wt_cost_start(uint64_t tsc_hz)
{
	uint64_t best = UINT64_MAX, best_count = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t = round_ticks(), c = count_ticks();

		if (t < best)
			best = t;
		if (c < best_count)
			best_count = c;
	}
	cost.tsc_hz = tsc_hz;
	cost.count_ticks_16 = best_count * 16 / CALLS;
	cost.call_ticks = best / CALLS;
}

#define SAMPLE 8 /* of the WT_CHUNK_RECS calls of a chunk: a hundredth of their cost */
#define TAKEN_AWAY                                                                                 \
	200000u /* ticks, some 60 us: the thread lost its processor meanwhile; that is nobody's cost */

void wt_cost_sample(struct wt_chunk *c)
{
	uint64_t begin = wt_tsc(), a, b, ticks;

	for (unsigned i = 0; i < SAMPLE; i++) {
		volatile struct wt_rec *r = &c->rec[i];

		a = wt_tsc();
		b = wt_tsc();
		r->op = 1;
		r->start_tsc = a;
		r->dur = (uint32_t)(b - a);
		r->stream = i;
		r->object = i;
		r->u.raw[0] = r->u.raw[1] = r->u.raw[2] = i;
		atomic_store_explicit(&c->used, 0, memory_order_release);
	}
	ticks = wt_tsc() - begin;
	if (ticks > TAKEN_AWAY)
		return;
	atomic_fetch_add_explicit(&cost.sampled_ticks, ticks, memory_order_relaxed);
	atomic_fetch_add_explicit(&cost.sampled, SAMPLE, memory_order_relaxed);
}

void wt_cost_cupti(uint64_t ticks)
{
	atomic_fetch_add_explicit(&cost.cupti_ticks, ticks, memory_order_relaxed);
}

void wt_cost_overhead(uint64_t ns)
{
	atomic_fetch_add_explicit(&cost.overhead_ns, ns, memory_order_relaxed);
}

static uint64_t cpu_ns(const _Atomic uint32_t *here, const clockid_t *clock)
{
	struct timespec cpu;

	if (!atomic_load_explicit(here, memory_order_acquire) || clock_gettime(*clock, &cpu))
		return 0;
	return (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
}

static void is_here(_Atomic uint32_t *here, clockid_t *clock)
{
	if (!pthread_getcpuclockid(pthread_self(), clock))
		atomic_store_explicit(here, 1, memory_order_release);
}

void wt_cost_writer_is_here(void)
{
	is_here(&cost.writer, &cost.writer_clock);
}

void wt_cost_control_is_here(void)
{
	is_here(&cost.control, &cost.control_clock);
}

void wt_cost_read(uint64_t rows, uint64_t unrowed, struct wt_cost *ret)
{
	uint64_t n = atomic_load_explicit(&cost.sampled, memory_order_relaxed);
	uint64_t ticks = atomic_load_explicit(&cost.sampled_ticks, memory_order_relaxed);

	memset(ret, 0, sizeof(*ret));
	ret->calls = rows + unrowed;
	ret->hook_sampled = n;
	if (n)
		ret->hook_ns = to_ns((uint64_t)((unsigned __int128)ticks * rows / n));
	else
		ret->hook_ns = to_ns(cost.call_ticks * rows);
	ret->hook_ns += to_ns(unrowed * cost.count_ticks_16 / 16);
	ret->writer_cpu_ns = cpu_ns(&cost.writer, &cost.writer_clock);
	ret->control_cpu_ns = cpu_ns(&cost.control, &cost.control_clock);
	ret->cupti_ns = to_ns(atomic_load_explicit(&cost.cupti_ticks, memory_order_relaxed)) +
			atomic_load_explicit(&cost.overhead_ns, memory_order_relaxed);
	ret->launch_ns = wt_launches_ns();
}
