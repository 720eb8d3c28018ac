/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the last packet: tables into the orders everything else relies on, duplicates out, calls under the library call
 * that made them. Recovery may append what a killed job left, so a row can be there twice: (ring, seq) names it once.
 */
#include <string.h>

#include "trace/trace.h"

static int cmp_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int cmp_row(const void *pa, const void *pb)
{
	const struct wt_row *a = pa, *b = pb;
	int c = cmp_u64(a->ring, b->ring);

	return c ? c : cmp_u64(a->seq, b->seq);
}

static int cmp_record(const void *pa, const void *pb)
{
	const struct wt_record *a = pa, *b = pb;
	int c = cmp_u64(a->correlation, b->correlation);

	c = c ? c : cmp_u64(a->kind, b->kind);
	c = c ? c : cmp_u64(a->node, b->node);
	c = c ? c : cmp_u64(a->start_ns, b->start_ns);
	c = c ? c : cmp_u64(a->device, b->device);
	return c ? c : cmp_u64(a->stream, b->stream);
}

static int cmp_api(const void *pa, const void *pb)
{
	const struct wt_api *a = pa, *b = pb;
	int c = cmp_u64(a->thread_word, b->thread_word);

	return c ? c : cmp_u64(a->correlation, b->correlation);
}

/* The writer delivers nearly in order: look before sorting. */
static void sort(void *p, size_t n, size_t size, int (*cmp)(const void *, const void *))
{
	for (size_t i = 1; i < n; i++) {
		if (cmp((char *)p + (i - 1) * size, (char *)p + i * size) > 0) {
			qsort(p, n, size, cmp);
			return;
		}
	}
}

static void sort_rows(struct wt_trace *t)
{
	struct wt_row *r = t->rows.p;
	size_t n = 0;

	sort(r, t->rows.n, sizeof(*r), cmp_row);
	for (size_t i = 0; i < t->rows.n; i++) {
		uint64_t lost;
		uint32_t op;

		if (n && !cmp_row(&r[n - 1], &r[i])) {
			t->duplicates++;
			continue;
		}
		r[n] = r[i];
		/* rings count from 0 or 1 */
		lost = n && r[n - 1].ring == r[n].ring ? r[n].seq - r[n - 1].seq - 1
		       : r[n].seq		       ? r[n].seq - 1
						       : 0;
		r[n].lost_before = lost > UINT32_MAX ? UINT32_MAX : (uint32_t)lost;
		t->rows_lost |= lost != 0;
		r[n].kind = WT_PB(COUNT_KIND, OTHER);
		if (wt_map_get(&t->op_ids, r[n].op, &op))
			r[n].kind = (uint8_t)(t->ops.p[op].kind < 32 ? t->ops.p[op].kind
								     : WT_PB(COUNT_KIND, OTHER));
		n++;
	}
	t->rows.n = n;
}

static int encloses(const struct wt_row *outer, const struct wt_row *inner)
{
	return outer->ring == inner->ring && outer->start_tsc <= inner->start_tsc &&
	       outer->start_tsc + outer->dur_tsc >= inner->start_tsc + inner->dur_tsc;
}

enum { IN_LIBRARY = WT_PB(CALL_FLAG, IN_NCCL) | WT_PB(CALL_FLAG, IN_BLAS) };

/*
 * The call around row i. Rows are written when their call returns, so it lies behind; a writer that knows the distance
 * says it, else (the batch ended in between) the thread's own clock nests its calls exactly. A later row does not end
 * the search where it is itself inside a library call: it may be the next call made by the same parent.
 */
static uint32_t find_parent(const struct wt_trace *t, size_t i, size_t *budget)
{
	const struct wt_row *r = &t->rows.p[i];

	if (r->parent_back) {
		uint64_t d = r->parent_back - 1;
		uint32_t at = wt_trace_row(t, r->ring,
					   r->flags & WT_PB(CALL_FLAG, PARENT_AHEAD) ? r->seq + d
										     : r->seq - d);

		if (at != WT_NO_INDEX && at != i && encloses(&t->rows.p[at], r))
			return at;
	}
	for (size_t j = i + 1; j < t->rows.n && t->rows.p[j].ring == r->ring && *budget; j++) {
		--*budget;
		if (encloses(&t->rows.p[j], r))
			return (uint32_t)j;
		if (t->rows.p[j].start_tsc > r->start_tsc + r->dur_tsc &&
		    !(t->rows.p[j].flags & IN_LIBRARY))
			break;
	}
	return WT_NO_INDEX;
}

uint32_t wt_trace_row(const struct wt_trace *t, uint64_t ring, uint64_t seq)
{
	const struct wt_row key = {.ring = ring, .seq = seq};
	const struct wt_row *r =
		t->rows.n ? bsearch(&key, t->rows.p, t->rows.n, sizeof(key), cmp_row) : NULL;

	return r ? (uint32_t)(r - t->rows.p) : WT_NO_INDEX;
}

static uint8_t class_of(const struct wt_record *r)
{
	if (r->kind == WT_OP_GRAPH || r->graph || r->node)
		return WT_PB(COUNT_KIND, GRAPH_LAUNCH);
	if (r->kind == WT_OP_KERNEL)
		return WT_PB(COUNT_KIND, LAUNCH);
	return r->kind == WT_OP_COPY ? WT_PB(COUNT_KIND, COPY) : WT_PB(COUNT_KIND, MEMSET);
}

/* The same record delivered twice; one call may well make two that differ. */
static int same_record(const struct wt_record *a, const struct wt_record *b)
{
	return !cmp_record(a, b) && a->dur_ns == b->dur_ns && a->function == b->function &&
	       a->bytes == b->bytes && a->context == b->context;
}

static int make_groups(struct wt_trace *t)
{
	struct wt_record *r = t->records.p;
	size_t n = 0;

	sort(r, t->records.n, sizeof(*r), cmp_record);
	for (size_t i = 0; i < t->records.n; i++) {
		struct wt_group *g = t->groups.n ? &t->groups.p[t->groups.n - 1] : NULL;

		if (n && same_record(&r[n - 1], &r[i])) {
			t->duplicates++;
			continue;
		}
		r[n] = r[i];
		/* correlation 0 is "none": such records are groups of their own */
		if (!g || g->correlation != r[n].correlation || !r[n].correlation) {
			g = wt_vec_add(&t->groups);
			if (!g)
				return -WT_E_NOMEM;
			g->correlation = r[n].correlation;
			g->first = (uint32_t)n;
			g->row = WT_NO_INDEX;
			g->class_ = class_of(&r[n]);
		}
		r[n].group = (uint32_t)(t->groups.n - 1);
		g->n++;
		n++;
	}
	t->records.n = n;
	return 0;
}

static uint32_t find_group(const struct wt_trace *t, uint64_t correlation)
{
	size_t lo = 0, hi = t->groups.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->groups.p[mid].correlation < correlation)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->groups.n && correlation && t->groups.p[lo].correlation == correlation
		       ? (uint32_t)lo
		       : WT_NO_INDEX;
}

/* Links API records to device records; those that make no device work and have none are left out. */
static void sort_api(struct wt_trace *t)
{
	struct wt_api *a = t->api.p;
	size_t n = 0;

	sort(a, t->api.n, sizeof(*a), cmp_api);
	for (size_t i = 0; i < t->api.n; i++) {
		if (n && !cmp_api(&a[n - 1], &a[i])) {
			t->duplicates++;
			continue;
		}
		a[n] = a[i];
		a[n].group = find_group(t, a[n].correlation);
		if (a[n].group != WT_NO_INDEX) {
			t->groups.p[a[n].group].api = 1;
			/* a launch of ours inside a copy call of the runtime: the records know better */
			a[n].class_ = t->groups.p[a[n].group].class_;
		}
		n += a[n].class_ != 0;
	}
	t->api.n = n;
}

int64_t wt_trace_device_ns(const struct wt_trace *t, size_t window, uint64_t stamp)
{
	if (!window || window > t->windows.n || !t->windows.p[window - 1].foreign ||
	    !t->foreign.rows.n)
		return (int64_t)stamp;
	return wt_clockline_ns(&t->foreign, stamp);
}

/* Device times that another tool's clock counted: onto the clock of all others. */
static void convert_times(struct wt_trace *t)
{
	wt_clockline_finish(&t->foreign);
	if (!t->foreign.rows.n)
		return;
	for (size_t i = 0; i < t->records.n; i++) {
		struct wt_record *r = &t->records.p[i];
		int64_t start, end;

		if (r->flags & WT_PB(RECORD_FLAG, UNTIMED) || !r->start_ns)
			continue;
		start = wt_trace_device_ns(t, r->window, r->start_ns);
		end = wt_trace_device_ns(t, r->window, r->start_ns + r->dur_ns);
		r->start_ns = start > 0 ? (uint64_t)start : 0;
		r->dur_ns = end > start ? (uint64_t)(end - start) : 0;
	}
	for (size_t i = 0; i < t->windows.n; i++) {
		struct wt_window *w = &t->windows.p[i];

		if (w->on_ns)
			w->on_ns = wt_trace_device_ns(t, i + 1, (uint64_t)w->on_ns);
		if (w->off_ns)
			w->off_ns = wt_trace_device_ns(t, i + 1, (uint64_t)w->off_ns);
	}
}

/*
 * CUPTI names a thread by half of pthread_self(), or by its tid where somebody in the process wanted that
 * (cuptiSetThreadIdType, XLA's profiler): the one becomes the other.
 */
static int name_threads(struct wt_trace *t)
{
	struct wt_map words = {.count = 0}, tids = {.count = 0};
	uint32_t *at, word;
	int err = 0;

	for (size_t i = 0; !err && i < t->threads.n; i++) {
		word = (uint32_t)t->threads.p[i].pthread;
		err = wt_map_put(&words, word, 1);
		err = err ? err : wt_map_put(&tids, t->threads.p[i].tid, word);
	}
	for (size_t i = 0; !err && i < t->api.n + t->anchors.n + t->overheads.n; i++) {
		size_t k = i - t->api.n, l = k - t->anchors.n;

		at = i < t->api.n	? &t->api.p[i].thread_word
		     : k < t->anchors.n ? &t->anchors.p[k].thread_word
					: &t->overheads.p[l].thread_word;
		if (!wt_map_get(&words, *at, &word) && wt_map_get(&tids, *at, &word))
			*at = word;
	}
	wt_map_release(&words);
	wt_map_release(&tids);
	return err;
}

int wt_trace_sort(struct wt_trace *t)
{
	size_t budget;
	int err;

	wt_clockline_finish(&t->clock);
	convert_times(t);
	sort_rows(t);
	budget = 256 * (t->rows.n +
			1024); /* of steps: hostile stamps could make each search a long one */
	for (size_t i = 0; i < t->rows.n; i++) {
		if (t->rows.p[i].parent_back || t->rows.p[i].flags & IN_LIBRARY)
			t->rows.p[i].parent = find_parent(t, i, &budget);
	}
	err = make_groups(t);
	err = err ? err : name_threads(t);
	if (err)
		return err;
	sort_api(t);
	for (size_t i = 0; i < t->collectives.n; i++) {
		struct wt_coll_row *c = &t->collectives.p[i];

		c->row = wt_trace_row(t, c->ring, c->call_seq);
	}
	return 0;
}
