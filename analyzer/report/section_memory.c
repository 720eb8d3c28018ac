/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What allocators said of device memory, per process and device: the peak of the time the source covers, and where it
 * stood at the end. A sum over processes would be no peak, so there is none. What a source does not say is null, and
 * without sources the section is empty.
 */
#include <inttypes.h>

#include "report/section.h"

#define MAX_ROWS 16 /* of text; JSON has all */

static const struct {
	const char *key, *text;
} sources[] = {
	[0] = {NULL, "its source is not known"},
	[WT_MEMORY_ROWS] = {"memory rows", "the profiler's [memory] rows"},
	[WT_MEMORY_SNAPSHOT] = {"snapshot", "a memory snapshot"},
};
#define SOURCES (sizeof(sources) / sizeof(*sources))

/* A zero at the end is said only by a source that says anything. */
static int says_totals(const struct wt_memory *m)
{
	return m->peak_allocated || m->peak_reserved || m->allocated || m->reserved;
}

static void bytes_json(struct wt_jout *j, const char *key, uint64_t bytes)
{
	if (bytes)
		wt_jout_uint(j, key, bytes);
	else
		wt_jout_null(j, key);
}

static void end_json(struct wt_jout *j, const char *key, const struct wt_memory *m, uint64_t bytes)
{
	if (says_totals(m))
		wt_jout_uint(j, key, bytes);
	else
		wt_jout_null(j, key);
}

void wt_memory_json(const struct wt_report *r, struct wt_jout *j)
{
	wt_jout_open(j, "memory", '[');
	for (size_t i = 0; i < r->tl->nmemories; i++) {
		const struct wt_memory *m = &r->tl->memories[i];
		const struct wt_process *p = &r->tl->processes[m->process];

		wt_jout_open(j, NULL, '{');
		wt_jout_int(j, "rank", p->rank);
		wt_jout_int(j, "pid", p->pid);
		wt_jout_int(j, "device", m->device);
		wt_jout_string(j, "source", sources[m->source < SOURCES ? m->source : 0].key);
		bytes_json(j, "peak_allocated_bytes", m->peak_allocated);
		bytes_json(j, "peak_reserved_bytes", m->peak_reserved);
		end_json(j, "end_allocated_bytes", m, m->allocated);
		end_json(j, "end_reserved_bytes", m, m->reserved);
		wt_jout_uint(j, "events", m->events);
		wt_jout_uint(j, "out_of_memory", m->ooms);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

static void gib(struct wt_strbuf *out, uint64_t bytes)
{
	wt_strbuf_addf(out, "%.3f GiB", (double)bytes / (double)(1u << 30));
}

static void row_text(const struct wt_report *r, struct wt_strbuf *out, const struct wt_memory *m)
{
	int32_t rank = r->tl->processes[m->process].rank;

	wt_strbuf_adds(out, "  ");
	if (rank >= 0)
		wt_strbuf_addf(out, "rank %" PRId32 " ", rank);
	wt_strbuf_addf(out, "device %" PRId64 ": ", m->device);
	if (m->peak_allocated) {
		gib(out, m->peak_allocated);
		wt_strbuf_adds(out, " allocated at most, ");
	}
	if (m->peak_reserved) {
		gib(out, m->peak_reserved);
		wt_strbuf_adds(out, " reserved at most, ");
	}
	if (says_totals(m)) {
		wt_strbuf_adds(out, "at the end ");
		gib(out, m->allocated);
		wt_strbuf_adds(out, " and ");
		gib(out, m->reserved);
		wt_strbuf_adds(out, "; ");
	}
	wt_strbuf_addf(out, "%" PRIu64 " allocations and frees", m->events);
	if (m->ooms)
		wt_strbuf_addf(out, "; out of memory %" PRIu64 " times", m->ooms);
	wt_strbuf_addf(out, " (%s)\n", sources[m->source < SOURCES ? m->source : 0].text);
}

void wt_memory_text(const struct wt_report *r, struct wt_strbuf *out)
{
	size_t n = r->tl->nmemories;

	if (!n)
		return;
	wt_text_heading(r, out, "Memory of the allocators");
	for (size_t i = 0; i < n && i < MAX_ROWS; i++)
		row_text(r, out, &r->tl->memories[i]);
	if (n > MAX_ROWS)
		wt_strbuf_addf(out, "  and %zu more in JSON\n", n - MAX_ROWS);
}
