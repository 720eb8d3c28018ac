// SPDX-License-Identifier: Apache-2.0
/*
 * What CUPTI says it cost, and what the driver loaded or compiled unasked -> ranges of the thread it happened on, for
 * the causes of idle time. Of threads that made calls of the job only: what our own threads spend flushing keeps no
 * launch waiting. Names are those that Kineto gives the same records.
 */
#include "trace/trace.h"

#define CUPTI(n_) ((n_) << 16)

static const struct {
	uint32_t kind; /* CUpti_ActivityOverheadKind */
	const char *name;
	uint8_t range;
} kinds[] = {
	{1, "Driver Compiler", WT_RANGE_LOADING},
	{CUPTI(1), "Activity Buffer Flush", WT_RANGE_PROFILER},
	{CUPTI(2), "Instrumentation", WT_RANGE_PROFILER},
	{CUPTI(3), "Resource", WT_RANGE_PROFILER},
	{CUPTI(4), "Runtime Triggered Module Loading", WT_RANGE_LOADING},
	{CUPTI(5), "Lazy Function Loading", WT_RANGE_LOADING},
	{CUPTI(6), "Command Buffer Full",
	 WT_RANGE_USER}, /* the device is behind: no cause of idle time */
	{CUPTI(7), "Activity Buffer Request", WT_RANGE_PROFILER},
	{CUPTI(8), "UVM Activity Init", WT_RANGE_PROFILER},
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct wt_thread_row *thread_of(const struct wt_trace *t, uint32_t word)
{
	for (size_t i = 0; word && i < t->threads.n; i++)
		if ((uint32_t)t->threads.p[i].pthread == word)
			return &t->threads.p[i];
	return NULL;
}

void wt_trace_emit_overheads(struct wt_trace *t)
{
	const struct wt_thread_row *thread = NULL;
	uint32_t word = 0;

	for (size_t i = 0; i < t->overheads.n; i++) {
		const struct wt_overhead *o = &t->overheads.p[i];
		struct wt_range range = {.process = t->process, .step = -1};
		size_t k = 0;

		if (o->thread_word != word || !i)
			thread = thread_of(t, word = o->thread_word);
		while (k < N_KINDS && kinds[k].kind != o->kind)
			k++;
		if (!thread || k == N_KINDS || o->dur_ns >= INT64_MAX / 4 ||
		    o->start_ns >= INT64_MAX / 4)
			continue;
		range.start_ns = wt_trace_device_ns(t, o->window, o->start_ns);
		range.end_ns = range.start_ns + (int64_t)o->dur_ns;
		range.name = wt_builder_cstring(t->b, kinds[k].name);
		range.thread = wt_trace_thread(t, thread->id);
		range.kind = kinds[k].range;
		range.marked = kinds[k].range != WT_RANGE_USER;
		wt_builder_range(t->b, &range);
	}
}
