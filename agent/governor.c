// SPDX-License-Identifier: Apache-2.0
/*
 * The account of what recording costs, and the decisions made on it; see governor.h. Control thread, so that a writer
 * that waits for a slow disk does not keep the level up. Lengths of launches come from launches.c.
 *
 * A window also has a limit of its own, WARPTAP_SKEW_US: one rank that is held up makes all ranks of its communicator
 * wait. Held up by more than that when it opened (a launch that fell into the switching and took so much longer than
 * usual), or per collective while it is open: it is given up.
 */
#define _GNU_SOURCE
#include "agent/governor.h"

#include <sched.h>
#include <stdatomic.h>

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/cost.h"
#include "agent/launches.h"
#include "agent/level.h"
#include "agent/pace.h"
#include "agent/totals.h"
#include "agent/windows.h"
#include "trace.pb-c.h"

#define REASON(r_) WARPTAP__V1__STATE_REASON__STATE_REASON_##r_
#define QUIET_MAX  64 /* spans */
#define SKEW_LEAST 16 /* collectives before their average says something */

static struct {
	int64_t last_ns, changed_ns, quiet_ns;
	uint64_t last_cost_ns;
	int64_t account_ns; /* may be negative */
	int raised;	    /* the last change was upwards */
	uint32_t cores;
	uint64_t skew_cost_ns, skew_at, skew_window; /* where the open window began */
	_Atomic uint64_t cost_ppm, total_ns;
} g;

static int64_t span_ns(void)
{
	return (int64_t)wt_config.budget_span_ms * 1000000;
}

static int64_t earns(int64_t ns)
{
	return (int64_t)((__int128)ns * wt_config.budget_ppm / 1000000);
}

void wt_governor_start(void)
{
	cpu_set_t set;

	g.cores = sched_getaffinity(0, sizeof(set), &set) ? 1 : (uint32_t)CPU_COUNT(&set);
	if (!g.cores)
		g.cores = 1;
	g.account_ns = earns(span_ns());
	g.quiet_ns = span_ns();
}

/* On the job's threads only. */
static uint64_t job_ns(const struct wt_cost *c)
{
	return c->hook_ns + c->cupti_ns + c->launch_ns;
}

static void lower(const struct wt_level_view *v, int64_t now_ns)
{
	uint32_t level = v->in_force < v->ceiling ? v->in_force : v->ceiling;

	if (level <= WT_LEVEL_OFF)
		return;
	/* Raised a moment ago, and too early: wait longer the next time. */
	if (g.raised && now_ns - g.changed_ns < 4 * g.quiet_ns &&
	    g.quiet_ns < QUIET_MAX * span_ns())
		g.quiet_ns *= 2;
	else if (g.raised)
		g.quiet_ns = span_ns();
	g.raised = 0;
	g.changed_ns = now_ns;
	g.account_ns = 0;
	wt_level_ceiling(level - 1, (uint32_t)atomic_load(&g.cost_ppm));
}

static void raise_level(const struct wt_level_view *v, int64_t now_ns)
{
	g.raised = 1;
	g.changed_ns = now_ns;
	wt_level_ceiling(v->ceiling + 1, (uint32_t)atomic_load(&g.cost_ppm));
}

static void hold_budget(uint64_t spent_ns, int64_t dt_ns, int64_t now_ns)
{
	struct wt_level_view v;
	int64_t most = earns(span_ns());

	if (!wt_config.budget_ppm)
		return;
	g.account_ns += earns(dt_ns) - (int64_t)spent_ns;
	if (g.account_ns > most)
		g.account_ns = most;
	wt_level_view(&v);
	if (g.account_ns < 0)
		lower(&v, now_ns);
	else if (v.ceiling < WT_LEVEL_TRACE && g.account_ns >= most / 10 * 9 &&
		 now_ns - g.changed_ns >= g.quiet_ns)
		raise_level(&v, now_ns);
}

static void hold_skew(const struct wt_cost *c)
{
	uint64_t limit_ns = (uint64_t)wt_config.skew_us * 1000, n;
	uint64_t at = atomic_load(&wt_pace.at[WT_SPAN_COLLECTIVES]);
	uint64_t stall_ns = wt_launches_stall_ns();

	if (!limit_ns || !wt_windows_is_open())
		return;
	if (g.skew_window != wt_windows_opened() || at < g.skew_at) {
		g.skew_window = wt_windows_opened();
		g.skew_at = at;
		g.skew_cost_ns = job_ns(c);
	}
	n = at - g.skew_at;
	if (stall_ns <= limit_ns &&
	    (n < SKEW_LEAST || (job_ns(c) - g.skew_cost_ns) / n <= limit_ns))
		return;
	wt_log("window given up: it held this rank up by %llu us at its opening, %llu us a "
	       "collective",
	       (unsigned long long)stall_ns / 1000,
	       (unsigned long long)(n ? (job_ns(c) - g.skew_cost_ns) / n / 1000 : 0));
	wt_windows_give_up(REASON(SKEW));
}

void wt_governor_tick(int64_t now_ns)
{
	int64_t dt_ns = now_ns - g.last_ns;
	struct wt_cost c;
	uint64_t total;

	wt_totals_cost(&c);
	hold_skew(&c);
	total = job_ns(&c) + (c.writer_cpu_ns + c.control_cpu_ns) / g.cores;
	atomic_store(&g.total_ns, total);
	if (!g.last_ns)
		dt_ns = 0;
	if (g.last_ns && dt_ns < span_ns() / 20 && dt_ns < 1000000000)
		return;
	if (dt_ns > 0) {
		uint64_t spent = total > g.last_cost_ns ? total - g.last_cost_ns : 0;
		uint64_t ppm = (uint64_t)((unsigned __int128)spent * 1000000 / (uint64_t)dt_ns);

		/* An average over the last few ticks. */
		atomic_store(&g.cost_ppm, (atomic_load(&g.cost_ppm) * 3 + ppm) / 4);
		hold_budget(spent, dt_ns, now_ns);
	}
	g.last_ns = now_ns;
	g.last_cost_ns = total;
}

void wt_governor_view(struct wt_governor_view *ret)
{
	ret->cost_ppm = atomic_load(&g.cost_ppm);
	ret->total_ns = atomic_load(&g.total_ns);
	ret->launch_known = wt_launches_known();
	ret->launch_ns = wt_launches_ns();
}
