/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What streams were told to wait for: host functions, and events with the call that recorded them last. An event is
 * known by its handle, which may be given out again; but what counts for a wait is the last recording before it, in
 * the order of time over all threads, whatever the handle meant before. Called by emit.c, once.
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

static int counts(const struct wt_trace *t, const struct wt_row *r)
{
	if (r->status || !r->stream || r->flags & WT_PB(CALL_FLAG, CAPTURED))
		return 0;
	if (r->kind == WT_PB(COUNT_KIND, EVENT))
		return r->object && is_named(t, r, "cuEventRecord");
	if (r->kind == WT_PB(COUNT_KIND, WAIT)) /* words in memory say nothing of who writes them */
		return r->object && is_named(t, r, "cuStreamWaitEvent");
	return r->kind == WT_PB(COUNT_KIND, HOST_FUNC);
}

static void add(struct wt_trace *t, int32_t base, uint32_t row, uint32_t record)
{
	wt_builder_wait(t->b, &(struct wt_wait){
				      .call = base + (int32_t)row,
				      .record = record == WT_NO_INDEX ? -1 : base + (int32_t)record,
				      .process = t->process,
				      .kind = t->rows.p[row].kind == WT_PB(COUNT_KIND, HOST_FUNC)
						      ? WT_WAIT_HOST_FUNCTION
						      : WT_WAIT_EVENT});
}

int wt_trace_waits(struct wt_trace *t, int32_t base)
{
	struct wt_map recorded = {.count = 0}; /* event -> row */
	struct moment *moments;
	size_t n = 0, room = 0;
	int err = 0;

	for (size_t i = 0; i < t->rows.n; i++)
		room += counts(t, &t->rows.p[i]);
	if (!room)
		return 0;
	moments = malloc(room * sizeof(*moments));
	if (!moments)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < t->rows.n; i++)
		if (counts(t, &t->rows.p[i]))
			moments[n++] = (struct moment){t->rows.p[i].start_tsc, (uint32_t)i};
	qsort(moments, n, sizeof(*moments), cmp_moment);
	for (size_t i = 0; i < n && !err; i++) {
		const struct wt_row *r = &t->rows.p[moments[i].row];
		uint32_t record = WT_NO_INDEX;

		if (r->kind == WT_PB(COUNT_KIND, EVENT))
			err = wt_map_put(&recorded, r->object, moments[i].row);
		else if (r->kind == WT_PB(COUNT_KIND, HOST_FUNC) ||
			 wt_map_get(&recorded, r->object, &record))
			add(t, base, moments[i].row, record);
	}
	free(moments);
	wt_map_release(&recorded);
	return err ? -WT_E_NOMEM : 0;
}
