/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What streams and the host waited for: host functions, and events with the call that recorded them last. An event is
 * known by its handle, which may be given out again; but what counts for a wait is the last recording before it, in
 * the order of time over all threads. An event made anew, or recorded by a graph, has none. Called by reader.c, once,
 * before completeness is judged (done.c); emit.c makes rows of the timeline of what streams waited for.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"

struct moment {
	uint64_t tsc;
	uint32_t row;
};

static int cmp_moment(const void *pa, const void *pb)
{
	const struct moment *x = pa, *y = pb;

	if (x->tsc != y->tsc)
		return x->tsc < y->tsc ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static int is_named(const struct wt_trace *t, const struct wt_row *r, const char *start)
{
	uint32_t op;

	return wt_map_get(&t->op_ids, r->op, &op) &&
	       !strncmp(wt_builder_get(t->b, wt_trace_string(t, t->ops.p[op].name)), start,
			strlen(start));
}

enum part { NO_PART, RECORDS, FORGETS, WAITS, HOST_FUNCTION };

static enum part part_of_event(const struct wt_trace *t, const struct wt_row *r)
{
	if (is_named(t, r, "cuEventRecord"))
		return r->flags & WT_PB(CALL_FLAG, CAPTURED) ? FORGETS
		       : r->stream			     ? RECORDS
							     : NO_PART;
	if (is_named(t, r, "cuEventCreate"))
		return FORGETS;
	return is_named(t, r, "cuEventQuery") ? WAITS : NO_PART;
}

static enum part part_of(const struct wt_trace *t, const struct wt_row *r)
{
	if (r->status)
		return NO_PART;
	if (r->kind == WT_PB(COUNT_KIND, EVENT))
		return r->object ? part_of_event(t, r) : NO_PART;
	if (r->flags & WT_PB(CALL_FLAG, CAPTURED))
		return NO_PART;
	if (r->kind == WT_PB(COUNT_KIND, SYNC))
		return r->object && is_named(t, r, "cuEventSynchronize") ? WAITS : NO_PART;
	if (r->kind == WT_PB(COUNT_KIND, WAIT)) /* words in memory say nothing of who writes them */
		return r->stream && r->object && is_named(t, r, "cuStreamWaitEvent") ? WAITS
										     : NO_PART;
	return r->stream && r->kind == WT_PB(COUNT_KIND, HOST_FUNC) ? HOST_FUNCTION : NO_PART;
}

static int see(struct wt_trace *t, struct wt_map *recorded, uint32_t row)
{
	const struct wt_row *r = &t->rows.p[row];
	uint32_t record = WT_NO_INDEX;
	struct wt_event_wait *w;

	switch (part_of(t, r)) {
	case RECORDS:
		return wt_map_put(recorded, r->object, row);
	case FORGETS:
		return wt_map_put(recorded, r->object, WT_NO_INDEX);
	case WAITS:
		if (!wt_map_get(recorded, r->object, &record) || record == WT_NO_INDEX)
			return 0;
		break;
	case HOST_FUNCTION:
		break;
	default:
		return 0;
	}
	w = wt_vec_add(&t->waits);
	if (!w)
		return -WT_E_NOMEM;
	*w = (struct wt_event_wait){row, record};
	return 0;
}

int wt_trace_waits(struct wt_trace *t)
{
	struct wt_map recorded = {.count = 0}; /* event -> row */
	struct moment *moments;
	size_t n = 0, room = 0;
	int err = 0;

	for (size_t i = 0; i < t->rows.n; i++)
		room += part_of(t, &t->rows.p[i]) != NO_PART;
	if (!room)
		return 0;
	moments = malloc(room * sizeof(*moments));
	if (!moments)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < t->rows.n; i++)
		if (part_of(t, &t->rows.p[i]) != NO_PART)
			moments[n++] = (struct moment){t->rows.p[i].start_tsc, (uint32_t)i};
	qsort(moments, n, sizeof(*moments), cmp_moment);
	for (size_t i = 0; i < n && !err; i++)
		err = see(t, &recorded, moments[i].row);
	free(moments);
	wt_map_release(&recorded);
	return err ? -WT_E_NOMEM : 0;
}

void wt_trace_emit_waits(struct wt_trace *t, int32_t base)
{
	for (size_t i = 0; i < t->waits.n; i++) {
		const struct wt_event_wait *w = &t->waits.p[i];
		const struct wt_row *r = &t->rows.p[w->row];

		if (!r->stream) /* the host's, which its calls tell of */
			continue;
		wt_builder_wait(t->b,
				&(struct wt_wait){.call = base + (int32_t)w->row,
						  .record = w->record == WT_NO_INDEX
								    ? -1
								    : base + (int32_t)w->record,
						  .process = t->process,
						  .kind = r->kind == WT_PB(COUNT_KIND, HOST_FUNC)
								  ? WT_WAIT_HOST_FUNCTION
								  : WT_WAIT_EVENT});
	}
}
