/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of recording (cost.h). Without samples the cost of a call is calibrated at start by doing what a hook does - two
 * stamps, a 64-byte record in a 64 KiB chunk, a count - and taking the best of some rounds; it leaves out cache misses
 * of the job's own making, so it is a lower bound and the trace says so (hook_sampled = 0).
 * Samples and callback times are summed with relaxed atomics: nothing is ordered by them.
 */
#include "agent/cost.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"

#define ROUNDS 8
#define CALLS  1000

static struct {
	uint64_t tsc_hz, call_ticks;
	_Atomic uint64_t sampled, sampled_ticks, cupti_ticks;
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

void wt_cost_start(uint64_t tsc_hz)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t t = round_ticks();

		if (t < best)
			best = t;
	}
	cost.tsc_hz = tsc_hz;
	cost.call_ticks = best / CALLS;
}

void wt_cost_hook_sample(uint64_t ticks)
{
	atomic_fetch_add_explicit(&cost.sampled_ticks, ticks, memory_order_relaxed);
	atomic_fetch_add_explicit(&cost.sampled, 1, memory_order_relaxed);
}

void wt_cost_cupti(uint64_t ticks)
{
	atomic_fetch_add_explicit(&cost.cupti_ticks, ticks, memory_order_relaxed);
}

void wt_cost_read(uint64_t calls, struct wt_cost *ret)
{
	uint64_t n = atomic_load_explicit(&cost.sampled, memory_order_relaxed);
	uint64_t ticks = atomic_load_explicit(&cost.sampled_ticks, memory_order_relaxed);
	struct timespec cpu;

	memset(ret, 0, sizeof(*ret));
	ret->calls = calls;
	ret->hook_sampled = n;
	if (n)
		ret->hook_ns = to_ns((uint64_t)((unsigned __int128)ticks * calls / n));
	else
		ret->hook_ns = to_ns(cost.call_ticks * calls);
	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0)
		ret->writer_cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	ret->cupti_ns = to_ns(atomic_load_explicit(&cost.cupti_ticks, memory_order_relaxed));
}
