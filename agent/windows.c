// SPDX-License-Identifier: Apache-2.0
/*
 * The schedule of windows (windows.h). All of it on the control thread; hooks only count and wake it (pace.h).
 */
#include "agent/windows.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/clock.h"
#include "agent/config.h"
#include "agent/level.h"
#include "agent/pace.h"
#include "agent/rank_list.h"
#include "agent/redact.h"
#include "trace.pb-c.h"

#define REASON(r_) WARPTAP__V1__STATE_REASON__STATE_REASON_##r_

static struct {
	int scheduled;		/* this rank opens windows by itself */
	int64_t next_real_ns;	/* of a schedule in time */
	uint64_t next_at;	/* of a schedule in steps or collectives */
	uint32_t pace_comm;	/* whose collectives next_at counts */
	struct wt_span pending; /* a command's window, to open at pending_at */
	uint64_t pending_at;
	uint32_t pending_unit;
	int waits;
	int open;
	struct wt_span span; /* of the open window; n 0 = until stopped */
	uint32_t reason;     /* why it opened */
	int64_t close_ns;
	uint64_t close_at;
	uint64_t commands, opened;
} w;

/* ---- open and close ---- */

static int64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t at(uint32_t unit)
{
	return atomic_load_explicit(&wt_pace.at[unit], memory_order_seq_cst);
}

/* from: where its count begins, for units that count. */
static void open_window(struct wt_span span, uint64_t from, uint32_t reason, uint64_t number)
{
	if (wt_level_window_open(reason, number) < 0) {
		wt_log("window %llu left out: the writer is behind", (unsigned long long)number);
		return;
	}
	w.open = 1;
	w.opened++;
	w.reason = reason;
	w.span = span;
	w.close_ns = INT64_MAX;
	if (span.n &&
	    span.unit == WT_SPAN_MS) /* not from when it was asked for: opening takes its time */
		w.close_ns = wt_clock_mono_ns() + (int64_t)span.n * 1000000;
	w.close_at = from + span.n;
}

static void close_window(uint32_t reason)
{
	w.open = 0;
	wt_level_window_close(reason);
}

void wt_windows_give_up(uint32_t reason)
{
	if (w.open)
		close_window(reason);
}

static int is_over(int64_t now_ns)
{
	if (!w.open || !w.span.n)
		return 0;
	return w.span.unit == WT_SPAN_MS ? now_ns >= w.close_ns : at(w.span.unit) >= w.close_at;
}

/* ---- the schedule ---- */

static void plan_next(void)
{
	const struct wt_span *every = &wt_config.window_every;
	int64_t period = (int64_t)every->n * 1000000;

	if (every->unit == WT_SPAN_MS)
		w.next_real_ns = (real_ns() / period + 1) * period;
	else
		w.next_at = (at(every->unit) / every->n + 1) * every->n;
	w.pace_comm = atomic_load(&wt_pace.comm);
}

void wt_windows_start(int rank)
{
	int in = wt_rank_is_in(wt_config.ranks, rank < 0 ? getpid() : rank);

	if (in < 0)
		wt_log("setting WARPTAP_RANKS=%.100s not understood: no windows",
		       wt_redacted_word(wt_config.ranks));
	if (!wt_config.window_every.n || !wt_config.window_for.n || in != 1)
		return;
	w.scheduled = 1;
	plan_next();
}

/* Is it time, and for which? A count that ran past the whole window leaves it out: it would not be the same one. */
static int is_due(uint64_t *ret_from, uint64_t *ret_number)
{
	const struct wt_span *every = &wt_config.window_every;
	int64_t period = (int64_t)every->n * 1000000;
	uint64_t here;

	if (every->unit == WT_SPAN_MS) {
		if (w.next_real_ns - real_ns() > period)
			plan_next(); /* the clock was set back */
		if (real_ns() < w.next_real_ns)
			return 0;
		*ret_number = (uint64_t)(w.next_real_ns / period);
		*ret_from = at(wt_config.window_for.unit);
		return 1;
	}
	if (every->unit == WT_SPAN_COLLECTIVES && w.pace_comm != atomic_load(&wt_pace.comm)) {
		w.pace_comm = atomic_load(&wt_pace.comm); /* another one sets the pace, from 0 on */
		w.next_at = every->n;
	}
	here = at(every->unit);
	if (here < w.next_at)
		return 0;
	*ret_number = w.next_at / every->n;
	*ret_from = every->unit == wt_config.window_for.unit ? w.next_at
							     : at(wt_config.window_for.unit);
	if (every->unit != wt_config.window_for.unit || here < w.next_at + wt_config.window_for.n)
		return 1;
	wt_log("window %llu left out: the job was past it", (unsigned long long)*ret_number);
	plan_next();
	return 0;
}

static void open_due(void)
{
	uint64_t from, number;

	if (w.waits && at(w.pending_unit) >= w.pending_at) {
		w.waits = 0;
		if (!w.open)
			open_window(w.pending, w.pending_at, REASON(COMMAND), ++w.commands);
	}
	if (!w.scheduled || !is_due(&from, &number))
		return;
	plan_next();
	if (!w.open)
		open_window(wt_config.window_for, from, REASON(WINDOW), number);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What a hook is to wake us for. 1: it has come already. */
static int set_trigger(uint32_t unit)
{
	uint64_t when = UINT64_MAX;

	if (w.open && w.span.n && w.span.unit == unit)
		when = least(when, w.close_at);
	if (w.waits && w.pending_unit == unit)
		when = least(when, w.pending_at);
	if (w.scheduled && wt_config.window_every.unit == unit)
		when = least(when, w.next_at);
	atomic_store_explicit(&wt_pace.trigger[unit], when, memory_order_seq_cst);
	return at(unit) >= when;
}

int64_t wt_windows_tick(int64_t now_ns)
{
	int64_t next = INT64_MAX, real;

	if (is_over(now_ns))
		close_window(w.reason);
	open_due();
	if (set_trigger(WT_SPAN_STEPS) | set_trigger(WT_SPAN_COLLECTIVES))
		return now_ns;
	if (w.open)
		next = w.close_ns;
	if (w.scheduled && wt_config.window_every.unit == WT_SPAN_MS) {
		real = now_ns + (w.next_real_ns - real_ns());
		next = real < next ? real : next;
	}
	return next;
}

/* ---- commands ---- */

static const char *ask_window(const struct wt_ctl_request *r)
{
	static const struct {
		uint32_t key, unit;
	} ways[] = {{WT_CTL_KEY_FOR_MS, WT_SPAN_MS},
		    {WT_CTL_KEY_STEPS, WT_SPAN_STEPS},
		    {WT_CTL_KEY_COLLECTIVES, WT_SPAN_COLLECTIVES}};
	struct wt_span span = {.n = 0};
	int n = 0;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!(r->has & 1u << ways[i].key))
			continue;
		n++;
		span = (struct wt_span){r->value[ways[i].key], ways[i].unit};
	}
	if (n != 1 || !span.n)
		return "a window needs one length: for_ms, steps or collectives";
	if (span.unit == WT_SPAN_STEPS && !at(WT_SPAN_STEPS))
		return "the job has marked no step: use a time or collectives";
	if (span.unit == WT_SPAN_COLLECTIVES && !atomic_load(&wt_pace.comm))
		return "the job has no communicator: use a time";
	if (r->has & 1u << WT_CTL_KEY_AT) {
		if (span.unit == WT_SPAN_MS)
			return "at needs a length in steps or collectives";
		w.pending = span;
		w.pending_unit = span.unit;
		w.pending_at = r->value[WT_CTL_KEY_AT];
		w.waits = 1;
		if (at(span.unit) >= w.pending_at + span.n) {
			w.waits = 0;
			return "the job is past that already";
		}
		open_due();
		return NULL;
	}
	open_window(span, at(span.unit), REASON(COMMAND), ++w.commands);
	return w.open ? NULL : "the writer is behind: try again";
}

const char *wt_windows_command(const struct wt_ctl_request *r)
{
	if (r->verb == WT_CTL_STOP) {
		w.waits = 0;
		wt_windows_give_up(REASON(COMMAND));
		return NULL;
	}
	if (w.open || w.waits)
		return "a window is open or waiting";
	if (r->verb == WT_CTL_WINDOW)
		return ask_window(r);
	open_window((struct wt_span){.n = 0}, 0, REASON(COMMAND), ++w.commands);
	return w.open ? NULL : "the writer is behind: try again";
}

uint64_t wt_windows_opened(void)
{
	return w.opened;
}

int wt_windows_waits(void)
{
	return w.waits;
}

int wt_windows_is_open(void)
{
	return w.open;
}
