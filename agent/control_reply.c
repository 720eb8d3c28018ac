// SPDX-License-Identifier: Apache-2.0
/*
 * Replies of the control socket (control_reply.h). Control thread.
 */
#define _GNU_SOURCE
#include "agent/control_reply.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/config.h"
#include "agent/control.h"
#include "agent/cost.h"
#include "agent/governor.h"
#include "agent/level.h"
#include "agent/pace.h"
#include "agent/totals.h"
#include "agent/windows.h"
#include "collectors/cupti_activity.h"

static struct {
	char file[WT_CONFIG_TEXT_MAX + 160];
	int rank;
} self;

struct text {
	char *at;
	size_t used, room;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at + t->used, t->room - t->used, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	t->used = (size_t)n < t->room - t->used ? t->used + (size_t)n : t->room - 1;
}

void wt_control_reply_init(const char *trace_dir, const char *stem, int rank)
{
	snprintf(self.file, sizeof(self.file), "%s/%s.wt", trace_dir, stem);
	self.rank = rank;
}

size_t wt_control_error(char *out, size_t room, const char *text)
{
	struct text t = {out, 0, room};

	add(&t, "warptap/%d error %s\n", WT_CTL_VERSION, text);
	return t.used;
}

static const char *cupti_name(uint32_t state)
{
	static const char *const names[] = {"absent", "ready", "ours", "yielded", "cool", "failed"};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

size_t wt_control_status(char *out, size_t room)
{
	struct text t = {out, 0, room};
	struct wt_level_view v;
	struct wt_governor_view g;
	struct wt_cost cost;

	wt_level_view(&v);
	wt_governor_view(&g);
	wt_totals_cost(&cost);
	add(&t, "warptap/%d ok\npid %d\nrank %d\n", WT_CTL_VERSION, (int)getpid(), self.rank);
	add(&t, "level %s\nbase %s\nceiling %s\ncupti %s\n", wt_level_name(v.in_force),
	    wt_level_name(v.base), wt_level_name(v.ceiling), cupti_name(wt_cupti_state()));
	add(&t, "window %s\nwindow_number %" PRIu64 "\nwindows_opened %" PRIu64 "\n",
	    wt_windows_is_open() ? "open"
	    : wt_windows_waits() ? "waiting"
				 : "none",
	    v.number, wt_windows_opened());
	add(&t, "steps %" PRIu64 "\ncollectives %" PRIu64 "\nranks %u\n",
	    atomic_load(&wt_pace.at[WT_SPAN_STEPS]), atomic_load(&wt_pace.at[WT_SPAN_COLLECTIVES]),
	    atomic_load(&wt_pace.ranks));
	add(&t, "budget_ppm %u\ncost_ppm %" PRIu64 "\ncost_ns %" PRIu64 "\n", wt_config.budget_ppm,
	    g.cost_ppm, g.total_ns);
	add(&t, "hook_ns %" PRIu64 "\ncupti_ns %" PRIu64 "\nwriter_cpu_ns %" PRIu64 "\n",
	    cost.hook_ns, cost.cupti_ns, cost.writer_cpu_ns);
	if (g.launch_known)
		add(&t, "launch_ns %" PRIu64 "\n", g.launch_ns);
	add(&t, "calls %" PRIu64 "\nescaped %" PRIu64 "\nbox %s\nticks %" PRIu64 "\nfile %s\n",
	    cost.calls, wt_escaped_names(), wt_box_kind(), wt_control_ticks(), self.file);
	return t.used;
}
