// SPDX-License-Identifier: Apache-2.0
/*
 * Changing the level of a running job (level.h). Control thread; nothing here is called by a hook.
 *
 * Race-free by construction: a hook reads the level once, when it begins, and everything that follows (a row or none,
 * as what the call counts) is decided by that. The level word is only a number; who may raise it from api to trace, and
 * lower it again, is decided behind the door of manners.c, since another tool may come for CUPTI at any moment.
 */
#include "agent/level.h"

#include <stdatomic.h>
#include <time.h>

#include "agent/config.h"
#include "agent/lifecycle.h"
#include "collectors/cupti_activity.h"
#include "collectors/manners.h"
#include "proto/wt_err.h"
#include "trace.pb-c.h"

#define STATE(s_)  WARPTAP__V1__CUPTI_STATE__CUPTI_STATE_##s_
#define REASON(r_) WARPTAP__V1__STATE_REASON__STATE_REASON_##r_

static struct {
	uint32_t base, ceiling;
	uint32_t wanted; /* what was asked for last: trace counts also while CUPTI is not free */
	int window;
	uint64_t number;
	int cannot_trace; /* no CUPTI, or it failed */
} now = {.ceiling = WT_LEVEL_TRACE};

void wt_level_init(uint32_t base, uint32_t level)
{
	now.base = base;
	now.wanted = level;
	now.cannot_trace = !wt_config.cupti || (base == WT_LEVEL_TRACE && level != base);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t target(void)
{
	uint32_t level = least(now.window ? WT_LEVEL_TRACE : now.base, now.ceiling);

	return level == WT_LEVEL_TRACE && now.cannot_trace ? WT_LEVEL_API : level;
}

static void say(uint32_t level, uint32_t reason, uint32_t cost_ppm)
{
	wt_writer_note(&(struct wt_state_note){
		.level = level, .reason = reason, .cost_ppm = cost_ppm, .window = now.number});
}

/* 0, 1 = not yet. */
static int begin(uint32_t reason, uint32_t cost_ppm)
{
	/*
	 * Calls that began before hooks recorded are to be over before records come, or these would have no call. It is
	 * a few microseconds for a thread that runs, and cannot be known for one that does not.
	 */
	struct timespec grace = {.tv_nsec = 4000000};

	/* Buffers for CUPTI; and records of the window before must be with the writer, not to count for this one. */
	wt_box_want_buffers(0);
	atomic_store(wt_level_word, WT_LEVEL_API);
	wt_writer_sync(100);
	nanosleep(&grace, NULL);
	now.wanted = WT_LEVEL_TRACE;
	wt_manners_want(reason, now.number);
	if (!wt_collectors_start() || wt_cupti_state() == STATE(FAILED)) {
		now.cannot_trace = 1;
		now.wanted = WT_LEVEL_API;
		say(WT_LEVEL_API, reason, cost_ppm);
		return 0;
	}
	return wt_cupti_state() != STATE(OURS);
}

static void settle(uint32_t level, uint32_t reason, uint32_t cost_ppm)
{
	if (now.wanted == WT_LEVEL_TRACE)
		wt_collectors_close(reason); /* the level is api when it returns, or was below */
	now.wanted = level;
	atomic_store(wt_level_word, level);
	say(level, reason, cost_ppm);
}

static int apply(uint32_t reason, uint32_t cost_ppm)
{
	uint32_t level = target();

	if (!atomic_load(wt_level_word)) /* a child, or never started */
		return -WT_E_UNSUPPORTED;
	if (level == now.wanted)
		return level == WT_LEVEL_TRACE && wt_cupti_state() != STATE(OURS);
	if (level == WT_LEVEL_TRACE)
		return begin(reason, cost_ppm);
	settle(level, reason, cost_ppm);
	return 0;
}

void wt_level_base(uint32_t level)
{
	now.base = level;
	apply(REASON(COMMAND), 0);
}

void wt_level_ceiling(uint32_t level, uint32_t cost_ppm)
{
	now.ceiling = level;
	apply(REASON(BUDGET), cost_ppm);
}

int wt_level_window_open(uint32_t reason, uint64_t number)
{
	int r;

	if (now.window || wt_writer_is_behind())
		return -WT_E_LIMIT;
	now.window = 1;
	now.number = number;
	r = apply(reason, 0);
	if (r < 0)
		now.window = 0;
	return r;
}

void wt_level_window_close(uint32_t reason)
{
	if (!now.window)
		return;
	now.window = 0;
	apply(reason, 0);
	now.number = 0;
}

void wt_level_view(struct wt_level_view *ret)
{
	ret->base = now.base;
	ret->ceiling = now.ceiling;
	ret->in_force = atomic_load(wt_level_word);
	ret->window = now.window;
	ret->number = now.number;
}
