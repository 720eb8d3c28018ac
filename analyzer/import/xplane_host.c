/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planes of the host: a line is a thread. Events with a correlation id are calls of CUDA or HIP; some versions name
 * them after the kernel they launch. An event that starts a TPU program says so by its flow. Frames of the Python
 * tracer ("$file.py:12 f") are skipped: they are most of a file and no annotation. The rest are annotations.
 */
#include <string.h>

#include "import/import_xplane.h"

#define FLOW_TPU_LAUNCH                                                                            \
	12 /* the kind of flow between DoEnqueueProgram and a module on the device */

enum { META_NEW, META_ANY, META_CALL, META_PYTHON };

static enum wt_call_kind call_kind(const char *name, uint64_t seen)
{
	enum wt_call_kind kind = wt_call_kind_by_name(name);

	if (kind != WT_CALL_OTHER)
		return kind;
	if (seen & WT_XSTAT_BIT(MEMCPY_DETAILS))
		return WT_CALL_COPY;
	if (seen & (WT_XSTAT_BIT(MEMSET_DETAILS) | WT_XSTAT_BIT(MEMSET_DETAILS_LOWER)))
		return WT_CALL_MEMSET;
	/* A call named after its kernel; other calls of the two interfaces have their prefix. */
	return seen & WT_XSTAT_BIT(KERNEL_DETAILS) ||
			       (strncmp(name, "cu", 2) && strncmp(name, "hip", 3))
		       ? WT_CALL_LAUNCH
		       : WT_CALL_OTHER;
}

static void add_call(struct wt_xp *xp, const struct wt_range *at, uint64_t correlation,
		     enum wt_call_kind kind, uint8_t flags)
{
	wt_builder_call(xp->b, &(struct wt_call){.start_ns = at->start_ns,
						 .end_ns = at->end_ns,
						 .correlation = correlation,
						 .name = at->name,
						 .thread = at->thread,
						 .stream = UINT32_MAX,
						 .parent = -1,
						 .process = xp->process,
						 .kind = (uint8_t)kind,
						 .flags = flags});
}

static void add_event(struct wt_xp *xp, const struct wt_range *at, struct wt_xmeta *m)
{
	const struct wt_xstats *s = xp->stats;

	if (s->seen & WT_XSTAT_BIT(CORRELATION)) {
		if (m->state != META_CALL) { /* looked up once per name */
			const char *name = wt_builder_get(xp->b, m->name);

			m->state = META_CALL;
			m->kind = (uint8_t)call_kind(name, s->seen);
			m->flags = wt_call_blocks_by_name(name) ? WT_CALL_BLOCKING : 0;
		}
		add_call(xp, at, wt_xstats_integer(s, WT_XSTAT_CORRELATION),
			 (enum wt_call_kind)m->kind, m->flags);
		return;
	}
	if (wt_xstats_integer(s, WT_XSTAT_PRODUCER_TYPE) == FLOW_TPU_LAUNCH &&
	    s->seen & WT_XSTAT_BIT(PRODUCER)) {
		add_call(xp, at, wt_xp_flow(s, WT_XSTAT_PRODUCER_TYPE, WT_XSTAT_PRODUCER),
			 WT_CALL_GRAPH_LAUNCH, 0);
		return;
	}
	if (s->seen & WT_XSTAT_BIT(STEP_NUM))
		wt_xp_step(
			xp, &xp->host_steps,
			&(struct wt_xstep){.start_ns = at->start_ns,
					   .end_ns = at->end_ns,
					   .step = (int64_t)wt_xstats_integer(s, WT_XSTAT_STEP_NUM),
					   .name = at->name,
					   .thread = at->thread});
	else if (at->end_ns > at->start_ns && at->name)
		wt_builder_range(xp->b, at);
}

void wt_xp_host(struct wt_xp *xp, struct wt_xplane *x)
{
	for (size_t i = 0; i < x->nlines && !xp->error; i++) {
		const struct wt_xline *line = &x->lines[i];
		struct wt_wire w = wt_wire_of(line->body, line->n);
		uint32_t thread = wt_builder_thread(xp->b, xp->process, line->id);
		struct wt_xevent e;

		wt_builder_thread_at(xp->b, thread)->name = wt_xp_string(xp, line->name);
		while (wt_xline_next(x, line, &w, &e, xp->stats)) {
			struct wt_range at = {
				.thread = thread, .process = xp->process, .kind = WT_RANGE_USER};
			struct wt_xmeta *m = e.meta >= 0 ? &x->metas[e.meta] : NULL;

			if (m && m->state == META_NEW) {
				struct wt_xtext name, display;

				wt_xmeta_read(x, m, &name, &display, NULL);
				m->state = wt_xtext_starts(name, "$") ? META_PYTHON : META_ANY;
				if (m->state == META_ANY)
					m->name = wt_xp_string(xp, name);
			}
			if (!m || m->state == META_PYTHON || e.aggregated ||
			    !wt_xp_times(xp, &e, &at.start_ns, &at.end_ns))
				continue;
			at.name = m->name;
			add_event(xp, &at, m);
		}
	}
}
