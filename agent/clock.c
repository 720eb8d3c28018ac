/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock rows (clock.h). A row reads TSC, MONOTONIC, TSC, REALTIME, TSC eight times and keeps the narrowest bracket; the
 * two wall clocks are moved to the middle stamp, so that the row is one moment within half a bracket each.
 *
 * NTP slews MONOTONIC and REALTIME together; only a step moves them apart. So a step is a change of their difference
 * beyond what the two brackets explain. A reader must not interpolate across it.
 * Writer thread, but for the first row; no lock, no memory.
 */
#include "agent/clock.h"

#include <cpuid.h>
#include <time.h>
#include <x86intrin.h>

#define TRIES	      8
#define STEP_SLACK_NS 1000 /* the kernel rounds both clocks; a step that matters is larger */
#define CALIBRATE_NS  10000000

static int64_t read_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t wt_clock_mono_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t wt_clock_ticks_to_ns(const struct wt_clock *c, uint64_t ticks)
{
	return c->tsc_hz ? (uint64_t)((unsigned __int128)ticks * 1000000000u / c->tsc_hz) : 0;
}

void wt_clock_judge(struct wt_clock *c, struct wt_clock_row *row)
{
	int64_t offset = (int64_t)(row->realtime_ns - row->monotonic_ns);
	int64_t moved = offset - c->offset_ns;
	int64_t slack = (int64_t)row->error_ns + c->error_ns + STEP_SLACK_NS;

	row->stepped = c->started && (moved > slack || moved < -slack);
	c->offset_ns = offset;
	c->error_ns = row->error_ns;
	c->started = 1;
}

/* One bracket; returns its width in ticks. */
static uint64_t bracket(const struct wt_clock *c, struct wt_clock_row *ret)
{
	uint64_t a, b, d, wide;
	int64_t m, r;

	a = __rdtsc();
	m = read_ns(CLOCK_MONOTONIC);
	b = __rdtsc();
	r = read_ns(CLOCK_REALTIME);
	d = __rdtsc();
	wide = b - a > d - b ? b - a : d - b;
	ret->tsc = b;
	ret->monotonic_ns = (uint64_t)m + wt_clock_ticks_to_ns(c, (b - a) / 2);
	ret->realtime_ns = (uint64_t)r - wt_clock_ticks_to_ns(c, (d - b) / 2);
	return wide;
}

void wt_clock_sample(struct wt_clock *c, struct wt_clock_row *ret)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		struct wt_clock_row row;
		uint64_t wide = bracket(c, &row);

		if (wide < best) {
			best = wide;
			*ret = row;
		}
	}
	best = wt_clock_ticks_to_ns(c, best / 2) + 1;
	ret->error_ns = best > UINT32_MAX ? UINT32_MAX : (uint32_t)best;
	wt_clock_judge(c, ret);
}

/* What the processor or the hypervisor says; 0 = says nothing. */
static uint64_t cpuid_hz(void)
{
	uint32_t a, b, c, d;

	if (__get_cpuid(0x15, &a, &b, &c, &d) && a && b && c)
		return (uint64_t)c * b / a;
	__cpuid(1, a, b, c, d);
	if (!(c & (1u << 31))) /* no hypervisor */
		return 0;
	__cpuid(0x40000000, a, b, c, d);
	if (a < 0x40000010)
		return 0;
	__cpuid(0x40000010, a, b, c, d);
	return (uint64_t)a * 1000;
}

void wt_clock_start(struct wt_clock *c)
{
	struct timespec nap = {.tv_nsec = CALIBRATE_NS};
	uint64_t said = cpuid_hz(), tsc;
	int64_t ns;

	*c = (struct wt_clock){0};
	tsc = __rdtsc();
	ns = read_ns(CLOCK_MONOTONIC);
	nanosleep(&nap, NULL);
	tsc = __rdtsc() - tsc;
	ns = read_ns(CLOCK_MONOTONIC) - ns;
	c->tsc_hz = (uint64_t)((unsigned __int128)tsc * 1000000000u / (uint64_t)(ns ? ns : 1));
	/* CPUID can lie under a hypervisor that moved us: believed only where it agrees with what we saw. */
	if (said > c->tsc_hz / 100 * 99 && said < c->tsc_hz / 100 * 101)
		c->tsc_hz = said;
}
