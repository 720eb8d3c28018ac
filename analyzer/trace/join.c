/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host calls <-> device records of one process, by order, never by time (align.c decides).
 *
 *   first   API records: per thread, in order of correlation, against the thread's own calls. CUPTI reports the outer
 *           call only: a runtime call stands for the driver call inside it, which is what we hooked.
 *   then    what is left on both sides, per stream, between the pairs found so far: records in order of correlation
 *           are in order of launch. This is all there is when a job has no API records.
 *   edges   a call under way when collection began or ended may have left a device record and no API record. Such
 *           records come first or last on their stream; the call is known by stream, name and shape.
 *   last    where host rows were lost, order can fail beside the holes. A record and a call that are both left over on
 *           one stream, equal in name and shape, are one pair, if not these two: what is here is not missing.
 */
#include <string.h>

#include "trace/align.h"
#include "trace/trace.h"

#define DEFAULT_STREAM 7 /* CUPTI's id of the legacy stream of any context */

struct key { /* one side of a sequence */
	uint64_t key, order;
	uint32_t index;
};
struct keys {
	struct key *p;
	size_t n, room;
};

static int cmp_key(const void *pa, const void *pb)
{
	const struct key *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

struct joiner {
	struct wt_trace *t;
	enum wt_align_how how;
	struct keys rows, records; /* sorted by key, order */
	struct wt_align_host *h;
	struct wt_align_record *r;
	size_t room_h, room_r;
};

static int push(struct keys *v, uint64_t key, uint64_t order, size_t index)
{
	struct key *k = wt_vec_add(v);

	if (!k)
		return -WT_E_NOMEM;
	*k = (struct key){key, order, (uint32_t)index};
	return 0;
}

static uint64_t mix_shape(uint64_t h, const struct wt_shape *s)
{
	for (int i = 0; i < 3; i++)
		h = wt_mix64(h ^ s->grid[i] ^ (uint64_t)s->block[i] << 32);
	return wt_mix64(h ^ s->dyn_smem);
}

uint64_t wt_trace_shape_signature(const struct wt_trace *t, uint64_t shape)
{
	uint32_t s;

	return wt_map_get(&t->shape_ids, shape, &s) ? mix_shape(0, &t->shapes.p[s]) | 1 : 0;
}

uint64_t wt_trace_launch_signature(const struct wt_trace *t, uint64_t function, uint64_t shape)
{
	uint32_t f, s, name;

	if (!wt_map_get(&t->function_ids, function, &f) || !wt_map_get(&t->shape_ids, shape, &s))
		return 0;
	name = wt_trace_string(t, t->functions.p[f].name);
	return name ? mix_shape(wt_mix64(name), &t->shapes.p[s]) | 1 : 0;
}

static uint64_t bytes_signature(uint64_t bytes)
{
	return bytes ? wt_mix64(bytes) | 1 : 0;
}

static uint64_t row_signature(const struct wt_trace *t, const struct wt_row *r)
{
	if (r->kind == WT_PB(COUNT_KIND, LAUNCH))
		return wt_trace_launch_signature(t, r->object, r->shape);
	return r->kind == WT_PB(COUNT_KIND, GRAPH_LAUNCH) ? 0 : bytes_signature(r->bytes);
}

static uint64_t group_signature(const struct wt_trace *t, const struct wt_group *g)
{
	const struct wt_record *r = &t->records.p[g->first];
	uint64_t bytes = 0;

	if (g->class_ == WT_PB(COUNT_KIND, LAUNCH))
		return wt_trace_launch_signature(t, r->function, r->shape);
	if (g->class_ == WT_PB(COUNT_KIND, GRAPH_LAUNCH))
		return 0;
	for (uint32_t i = 0; i < g->n; i++) /* a batch */
		bytes += r[i].bytes;
	return bytes_signature(bytes);
}

static int silent(const struct wt_row *r)
{
	return r->status != 0 || r->flags & WT_PB(CALL_FLAG, CAPTURED);
}

static int reserve(struct joiner *j, size_t nh, size_t nr)
{
	void *p;

	if (nh > j->room_h) {
		p = realloc(j->h, nh * sizeof(*j->h));
		if (!p)
			return -WT_E_NOMEM;
		j->h = p;
		j->room_h = nh;
	}
	if (nr > j->room_r) {
		p = realloc(j->r, nr * sizeof(*j->r));
		if (!p)
			return -WT_E_NOMEM;
		j->r = p;
		j->room_r = nr;
	}
	return 0;
}

static void set_host(struct joiner *j, size_t at, uint32_t row)
{
	const struct wt_row *r = &j->t->rows.p[row];

	j->h[at] = (struct wt_align_host){.signature = row_signature(j->t, r),
					  .lost = r->lost_before,
					  .class_ = r->kind,
					  .silent = silent(r) != 0};
}

static void set_record(struct joiner *j, size_t at, uint32_t group)
{
	const struct wt_group *g = &j->t->groups.p[group];

	j->r[at] = (struct wt_align_record){.signature = group_signature(j->t, g),
					    .correlation = g->correlation,
					    .class_ = g->class_,
					    .device = 1};
}

static void pair(struct wt_trace *t, uint32_t row, uint32_t group, int ambiguous)
{
	if (group == WT_NO_INDEX || t->groups.p[group].row != WT_NO_INDEX)
		return;
	t->groups.p[group].row = row;
	t->groups.p[group].ambiguous = ambiguous != 0;
	t->rows.p[row].group = group;
}

/* One thread: rows [h0, h1) of j->rows against API records [r0, r1). */
static int align_thread(struct joiner *j, size_t h0, size_t h1, size_t r0, size_t r1)
{
	struct wt_trace *t = j->t;
	int err = reserve(j, h1 - h0, r1 - r0);

	if (err)
		return err;
	for (size_t i = h0; i < h1; i++)
		set_host(j, i - h0, j->rows.p[i].index);
	for (size_t i = r0; i < r1; i++) {
		const struct wt_api *a = &t->api.p[i];
		int device = a->group != WT_NO_INDEX;

		j->r[i - r0] = (struct wt_align_record){
			.signature = device ? group_signature(t, &t->groups.p[a->group]) : 0,
			.correlation = a->correlation,
			.class_ = a->class_,
			.device = device != 0};
	}
	err = wt_align(j->h, h1 - h0, j->r, r1 - r0, j->how, NULL);
	for (size_t i = r0; i < r1 && !err; i++) {
		uint32_t m = j->r[i - r0].match;

		if (m == WT_ALIGN_NONE)
			continue;
		t->api.p[i].row = j->rows.p[h0 + m].index;
		pair(t, t->api.p[i].row, t->api.p[i].group, j->r[i - r0].ambiguous);
	}
	return err;
}

/* Calls of this long after a window's end may still have made a record: kinds are not switched off in one instant. */
#define TAIL_NS 200000000ll

/*
 * The call with which a window's records of a thread begin. Kinds come on one by one while the thread goes on calling,
 * so neither side's first can be known by order; the one record whose time the file keeps says it: its middle lies in
 * its call, the calls of a thread do not overlap, and a call is far longer than the clocks' error. Only calls made
 * while collection was being taken up are in question.
 * rows [h0, h1) of a thread, records [r0, r1) of it and of one window, of which the anchor is `anchor`.
 */
static size_t first_row(const struct joiner *j, size_t h0, size_t h1, size_t r0, size_t r1,
			const struct wt_anchor *anchor)
{
	const struct wt_trace *t = j->t;
	int64_t mid = wt_trace_device_ns(t, anchor->window, anchor->mid);
	size_t lo = h0, hi = h1, back = r0;

	while (lo < hi) { /* lo = the first call that ends after it */
		size_t at = lo + (hi - lo) / 2;
		const struct wt_row *r = &t->rows.p[j->rows.p[at].index];

		if (wt_clockline_ns(&t->clock, r->start_tsc + r->dur_tsc) < mid)
			lo = at + 1;
		else
			hi = at;
	}
	while (back < r1 && t->api.p[back].correlation < anchor->correlation)
		back++;
	back -= r0;
	return lo - h0 > back ? lo - back : h0;
}

/* The first row of a thread that begins at or after `tsc`. */
static size_t row_from(const struct joiner *j, size_t h0, size_t h1, uint64_t tsc)
{
	while (h0 < h1) {
		size_t at = h0 + (h1 - h0) / 2;

		if (j->t->rows.p[j->rows.p[at].index].start_tsc < tsc)
			h0 = at + 1;
		else
			h1 = at;
	}
	return h0;
}

static const struct wt_anchor *find_anchor(const struct wt_trace *t, const struct wt_api *first)
{
	const struct wt_anchor *best = NULL;

	/* few: one a message, and only its window's first counts */
	for (size_t i = 0; i < t->anchors.n; i++) {
		const struct wt_anchor *a = &t->anchors.p[i];

		if (a->thread_word == first->thread_word && a->window == first->window &&
		    (!best || a->correlation < best->correlation))
			best = a;
	}
	return best;
}

/* Records of one thread and window against the rows of the thread that can have made them. */
static int join_window(struct joiner *j, size_t h, size_t h1, size_t r, size_t r1)
{
	struct wt_trace *t = j->t;
	size_t k = t->api.p[r].window;
	const struct wt_window *w = k && k <= t->windows.n ? &t->windows.p[k - 1] : NULL;
	const struct wt_anchor *anchor;
	enum wt_align_how usual = j->how;
	size_t from = h, first, to, anchored = 0;
	uint64_t end = UINT64_MAX;
	int err;

	if (w) {
		end = w->off_tsc;
		if (end != UINT64_MAX && !w->exit) {
			end += (uint64_t)TAIL_NS * (t->clock.hz / 1000000) / 1000;
			if (usual == WT_ALIGN_LOSSY)
				j->how = WT_ALIGN_LOSSY_CUT;
		}
		from = row_from(j, h, h1, w->on_tsc);
		first = row_from(j, h, h1, w->ready_tsc);
		anchor = from > first ? find_anchor(t, &t->api.p[r]) : NULL;
		if (anchor)
			anchored = first_row(j, h, h1, r, r1, anchor);
		if (anchor && anchored < from)
			from = anchored > first ? anchored : first;
		if (k < t->windows.n && end > t->windows.p[k].on_tsc)
			end = t->windows.p[k].on_tsc;
	}
	to = end == UINT64_MAX ? h1 : row_from(j, from, h1, end + 1);
	err = align_thread(j, from, to, r, r1);
	j->how = usual;
	return err;
}

static int join_threads(struct joiner *j)
{
	struct wt_trace *t = j->t;
	size_t h = 0, r = 0;
	int err = 0;

	for (size_t i = 0; i < t->rows.n && !err; i++) {
		const struct wt_row *row = &t->rows.p[i];
		uint32_t thread;

		if (wt_row_expects(row) && wt_map_get(&t->thread_ids, row->thread, &thread))
			err = push(&j->rows, (uint32_t)t->threads.p[thread].pthread, row->start_tsc,
				   i);
	}
	if (j->rows.n)
		qsort(j->rows.p, j->rows.n, sizeof(struct key), cmp_key);
	while (!err && h < j->rows.n && r < t->api.n) {
		uint64_t word = j->rows.p[h].key, other = t->api.p[r].thread_word;
		size_t h1 = h, r1 = r;

		while (h1 < j->rows.n && j->rows.p[h1].key == word)
			h1++;
		while (r1 < t->api.n && t->api.p[r1].thread_word == other)
			r1++;
		for (size_t a = r, b; word == other && a < r1 && !err; a = b) {
			for (b = a; b < r1 && t->api.p[b].window == t->api.p[a].window;)
				b++;
			err = join_window(j, h, h1, a, b);
		}
		if (word <= other)
			h = h1;
		if (word >= other)
			r = r1;
	}
	return err;
}

/* Streams of different windows are different sequences. */
static uint64_t stream_key(uint32_t cupti_context, uint32_t cupti_stream, size_t window)
{
	uint64_t key = (uint64_t)cupti_context << 32 | cupti_stream;

	return window > 1 ? wt_mix64(key ^ wt_mix64(window)) : key;
}

static int add_place(struct wt_trace *t, uint64_t stream, struct wt_place place)
{
	int is_new;
	uint32_t *slot = wt_map_slot(&t->stream_places, stream, (uint32_t)t->places.n, &is_new);
	struct wt_place *p;

	if (!slot)
		return -WT_E_NOMEM;
	if (!is_new)
		return 0;
	p = wt_vec_add(&t->places);
	if (!p)
		return -WT_E_NOMEM;
	*p = place;
	return 0;
}

/* Which CUPTI stream an agent's stream id is: as the writer says, else as the pairs found so far show. */
static int learn_streams(struct wt_trace *t)
{
	int err = 0;

	for (size_t i = 0; i < t->streams.n && !err; i++) {
		const struct wt_stream_row *s = &t->streams.p[i];
		uint32_t c;

		if (s->cupti_id && wt_map_get(&t->context_ids, s->context, &c))
			err = add_place(t, s->id,
					(struct wt_place){t->contexts.p[c].cupti_id, s->cupti_id,
							  t->contexts.p[c].device});
	}
	for (size_t i = 0; i < t->groups.n && !err; i++) {
		const struct wt_group *g = &t->groups.p[i];
		const struct wt_record *r = &t->records.p[g->first];

		if (g->row != WT_NO_INDEX && !g->ambiguous && t->rows.p[g->row].stream)
			err = add_place(t, t->rows.p[g->row].stream,
					(struct wt_place){r->context, r->stream, r->device});
	}
	/* The default stream of a context is nobody's creation: its number is CUPTI's convention. */
	for (size_t i = 0; i < t->streams.n && !err; i++) {
		const struct wt_stream_row *s = &t->streams.p[i];
		uint32_t c;

		if (s->handle <= 1 && wt_map_get(&t->context_ids, s->context, &c))
			err = add_place(t, s->id,
					(struct wt_place){t->contexts.p[c].cupti_id, DEFAULT_STREAM,
							  t->contexts.p[c].device});
	}
	return err;
}

/*
 * What lies between two pairs of one stream: rows [h0, h1), groups [r0, r1). Pairs inside are out of order, left alone.
 */
static int align_between(struct joiner *j, size_t h0, size_t h1, size_t r0, size_t r1,
			 const struct wt_align_around *around)
{
	struct wt_trace *t = j->t;
	size_t nh = 0, nr = 0;
	int err = reserve(j, h1 - h0, r1 - r0);

	if (err || h0 == h1 || r0 == r1)
		return err;
	/* compact in place: only what is still single takes part */
	for (size_t i = h0; i < h1; i++) {
		uint32_t row = j->rows.p[i].index;

		if (t->rows.p[row].group != WT_NO_INDEX)
			continue;
		j->rows.p[h0 + nh].index = row;
		set_host(j, nh++, row);
	}
	for (size_t i = r0; i < r1; i++) {
		uint32_t group = j->records.p[i].index;

		if (t->groups.p[group].row != WT_NO_INDEX)
			continue;
		j->records.p[r0 + nr].index = group;
		set_record(j, nr++, group);
	}
	err = wt_align(j->h, nh, j->r, nr, j->how, around);
	for (size_t i = 0; i < nr && !err; i++)
		if (j->r[i].match != WT_ALIGN_NONE)
			pair(t, j->rows.p[h0 + j->r[i].match].index, j->records.p[r0 + i].index,
			     j->r[i].ambiguous);
	return err;
}

/* One stream: cut at the pairs found so far. */
static int align_stream(struct joiner *j, size_t h, size_t h1, size_t r, size_t r1)
{
	struct wt_trace *t = j->t;
	struct wt_align_around around = {0};
	struct wt_map at = {0};
	int err = reserve(j, 0, r1 - r);

	for (size_t i = r; i < r1 && !err; i++)
		set_record(j, i - r, j->records.p[i].index);
	around.ids_per_call = err ? 1 : wt_align_ids_per_call(j->r, r1 - r);
	for (size_t i = h; i < h1 && !err; i++)
		if (t->rows.p[j->rows.p[i].index].group != WT_NO_INDEX)
			err = wt_map_put(&at, j->rows.p[i].index, (uint32_t)i);
	for (size_t i = r; i < r1 && !err; i++) {
		const struct wt_group *g = &t->groups.p[j->records.p[i].index];
		uint32_t where;

		if (g->row == WT_NO_INDEX || g->ambiguous || !wt_map_get(&at, g->row, &where) ||
		    where < h)
			continue;
		around.after = g->correlation;
		err = align_between(j, h, where, r, i, &around);
		around.before = g->correlation;
		h = where + 1;
		r = i + 1;
	}
	around.after = 0;
	if (!err)
		err = align_between(j, h, h1, r, r1, &around);
	wt_map_release(&at);
	return err;
}

static int collect_streams(struct joiner *j)
{
	struct wt_trace *t = j->t;

	j->rows.n = j->records.n = 0;
	for (size_t i = 0; i < t->rows.n; i++) {
		const struct wt_row *r = &t->rows.p[i];
		uint32_t s;

		if (!wt_row_expects(r) || silent(r) || !wt_trace_in_window(t, r) ||
		    !wt_map_get(&t->stream_places, r->stream, &s))
			continue;
		if (push(&j->rows,
			 stream_key(t->places.p[s].context, t->places.p[s].stream,
				    wt_trace_window(t, r)),
			 r->start_tsc, i))
			return -WT_E_NOMEM;
	}
	for (size_t i = 0; i < t->groups.n; i++) {
		const struct wt_group *g = &t->groups.p[i];
		const struct wt_record *r = &t->records.p[g->first];

		if (!g->correlation || r->flags & WT_PB(RECORD_FLAG, DEVICE_LAUNCHED))
			continue;
		if (push(&j->records, stream_key(r->context, r->stream, r->window), g->correlation,
			 i))
			return -WT_E_NOMEM;
	}
	if (j->rows.n)
		qsort(j->rows.p, j->rows.n, sizeof(struct key), cmp_key);
	if (j->records.n)
		qsort(j->records.p, j->records.n, sizeof(struct key), cmp_key);
	return 0;
}

static int join_streams(struct joiner *j)
{
	size_t h = 0, r = 0;
	int err = learn_streams(j->t);

	if (!err)
		err = collect_streams(j);
	while (!err && h < j->rows.n && r < j->records.n) {
		uint64_t a = j->rows.p[h].key, b = j->records.p[r].key;
		size_t h1 = h, r1 = r;

		while (h1 < j->rows.n && j->rows.p[h1].key == a)
			h1++;
		while (r1 < j->records.n && j->records.p[r1].key == b)
			r1++;
		if (a == b)
			err = align_stream(j, h, h1, r, r1);
		if (a <= b)
			h = h1;
		if (a >= b)
			r = r1;
	}
	return err;
}

static uint64_t likeness(uint64_t stream, uint32_t class_, uint64_t signature)
{
	return wt_mix64(stream ^ wt_mix64(signature + class_));
}

/* From keys of streams to keys of likeness, those that have their pair left out; in order. */
static void keep_single(struct wt_trace *t, struct keys *v, int records)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++) {
		struct key k = v->p[i];
		const struct wt_row *row = records ? NULL : &t->rows.p[k.index];
		const struct wt_group *g = records ? &t->groups.p[k.index] : NULL;

		if ((records ? g->row : row->group) != WT_NO_INDEX)
			continue;
		k.key = records ? likeness(k.key, g->class_, group_signature(t, g))
				: likeness(k.key, row->kind, row_signature(t, row));
		v->p[n++] = k;
	}
	v->n = n;
	if (n)
		qsort(v->p, n, sizeof(struct key), cmp_key);
}

/* The windows that end or begin while the call is under way, or kinds come on: numbers from 1 on, 0 = none. */
static void straddled(const struct wt_trace *t, const struct wt_row *r, size_t ret[2])
{
	uint64_t end = r->start_tsc + r->dur_tsc, ready;
	size_t lo = 0, hi = t->windows.n;

	while (lo < hi) { /* lo = the first window that opened after the call began */
		size_t mid = lo + (hi - lo) / 2;

		if (t->windows.p[mid].on_tsc <= r->start_tsc)
			lo = mid + 1;
		else
			hi = mid;
	}
	ret[0] = ret[1] = 0;
	if (lo && r->start_tsc <= t->windows.p[lo - 1].off_tsc &&
	    end > t->windows.p[lo - 1].off_tsc)
		ret[0] = lo;
	if (lo == t->windows.n)
		return;
	ready = t->windows.p[lo].ready_tsc;
	if (end >= (ready ? ready : t->windows.p[lo].on_tsc))
		ret[1] = lo + 1;
}

/* What a window's end and its beginning have are different sequences. */
static uint64_t edge_key(uint64_t stream, int begins)
{
	return wt_mix64(stream) + (begins != 0);
}

/* In place of the rows in windows: those at their edges, the last first, since records begin with the kinds. */
static int collect_edges(struct joiner *j)
{
	j->rows.n = 0;
	for (size_t i = 0; i < j->t->rows.n; i++) {
		const struct wt_row *r = &j->t->rows.p[i];
		size_t window[2];
		uint32_t s;

		if (r->group != WT_NO_INDEX || !wt_row_expects(r) || silent(r))
			continue;
		straddled(j->t, r, window);
		if (!(window[0] | window[1]) || !wt_map_get(&j->t->stream_places, r->stream, &s))
			continue;
		for (int e = 0; e < 2; e++)
			if (window[e] &&
			    push(&j->rows,
				 edge_key(stream_key(j->t->places.p[s].context,
						     j->t->places.p[s].stream, window[e]),
					  e),
				 ~r->start_tsc, i))
				return -WT_E_NOMEM;
	}
	return 0;
}

/* Of each stream, what comes before the first record that has its call, and behind the last. */
static void keep_outer(const struct wt_trace *t, struct keys *v)
{
	size_t n = 0, from = 0, to;

	for (; from < v->n; from = to) {
		size_t first = from, last = from;

		for (to = from; to < v->n && v->p[to].key == v->p[from].key; to++)
			if (t->groups.p[v->p[to].index].row != WT_NO_INDEX)
				last = to + 1;
		while (first < to && t->groups.p[v->p[first].index].row == WT_NO_INDEX)
			first++;
		for (size_t i = from; i < to; i++) {
			struct key k = v->p[i];

			k.order = ~k.order;
			k.key = edge_key(k.key, i < first);
			if (i < first || i >= last)
				v->p[n++] = k;
		}
	}
	v->n = n;
}

/*
 * Kinds stay on once they are, so that what a stream has of one thread at an edge is known by order; whose call came
 * first is not, where two threads use it.
 */
static int has_rival(const struct joiner *j, size_t i)
{
	const struct key *k = j->rows.p;
	const struct wt_row *rows = j->t->rows.p;

	return (i && k[i - 1].key == k[i].key &&
		rows[k[i - 1].index].thread != rows[k[i].index].thread) ||
	       (i + 1 < j->rows.n && k[i + 1].key == k[i].key &&
		rows[k[i + 1].index].thread != rows[k[i].index].thread);
}

/* Each call and record that is still single and has its like on the other side. */
static int pair_alike(struct joiner *j, int edges)
{
	size_t h = 0, r = 0;
	int err = collect_streams(j);

	if (!err && edges) {
		err = collect_edges(j);
		keep_outer(j->t, &j->records);
	}
	if (err)
		return err;
	keep_single(j->t, &j->rows, /* records= */ 0);
	keep_single(j->t, &j->records, /* records= */ 1);
	while (h < j->rows.n && r < j->records.n) {
		uint64_t a = j->rows.p[h].key, b = j->records.p[r].key;

		if (a == b && j->t->rows.p[j->rows.p[h].index].group == WT_NO_INDEX)
			pair(j->t, j->rows.p[h].index, j->records.p[r].index,
			     !edges || has_rival(j, h));
		h += a <= b;
		r += a >= b;
	}
	return 0;
}

static int has_single_record(const struct wt_trace *t)
{
	for (size_t i = 0; i < t->groups.n; i++)
		if (t->groups.p[i].row == WT_NO_INDEX && t->groups.p[i].correlation)
			return 1;
	return 0;
}

int wt_trace_join(struct wt_trace *t)
{
	struct joiner j = {.t = t, .how = WT_ALIGN_WHOLE};
	int err;

	/* Without API records nothing says at which call a window's records begin, where calls went before. */
	if (!t->api.n && t->windows.n > 1)
		j.how = WT_ALIGN_LOSSY_BOTH;
	else if (t->lossy)
		j.how = t->rows_lost || t->dropped_agent ? WT_ALIGN_LOSSY_BOTH
			: t->ended			 ? WT_ALIGN_LOSSY
							 : WT_ALIGN_LOSSY_CUT;
	err = join_threads(&j);
	if (!err)
		err = join_streams(&j);
	if (!err && t->windows.n && has_single_record(t))
		err = pair_alike(&j, /* edges= */ 1);
	if (!err && (t->rows_lost || t->dropped_agent))
		err = pair_alike(&j, /* edges= */ 0);
	free(j.rows.p);
	free(j.records.p);
	free(j.h);
	free(j.r);
	return err;
}
