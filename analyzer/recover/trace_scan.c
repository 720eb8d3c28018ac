/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over a trace for what recovery has to know of it (trace_scan.h): which rows and device records are there,
 * which ids are taken and by what. Memory grows with the packets of calls (a span each, merged where they join), the
 * texts and the tables, not with the rows. Nothing in the file is trusted: columns may have any length.
 */
#include "recover/trace_scan.h"

#include <string.h>

#include "agent/agent.h"
#include "base/source.h"
#include "proto/frame.h"

#define AT(m_, col_, i_) ((i_) < (m_)->n_##col_ ? (m_)->col_[i_] : 0)
#define BODY(b_)	 WARPTAP__V1__PACKET__BODY_##b_
#define UNTIMED		 WARPTAP__V1__RECORD_FLAG__RECORD_FLAG_UNTIMED
#define MEMSET		 100

static long read_source(void *arg, void *buf, size_t n)
{
	return wt_source_read(arg, buf, n);
}

static void keep(Warptap__V1__Packet **slot, Warptap__V1__Packet *p)
{
	if (*slot)
		warptap__v1__packet__free_unpacked(*slot, NULL);
	*slot = p;
}

static void raise(uint64_t *max, uint64_t id)
{
	if (id > *max)
		*max = id;
}

/* The row of a table for an id: found, or added; NULL = out of memory. */
#define ROW(map_, vec_, id_)                                                                       \
	({                                                                                         \
		uint32_t *slot_ = wt_map_slot((map_), (id_), UINT32_MAX, NULL);                    \
		__typeof__((vec_)->p) row_ = NULL;                                                 \
		if (slot_ && *slot_ != UINT32_MAX) {                                               \
			row_ = &(vec_)->p[*slot_];                                                 \
		} else if (slot_) {                                                                \
			*slot_ = (uint32_t)(vec_)->n;                                              \
			row_ = wt_vec_add(vec_);                                                   \
		}                                                                                  \
		row_;                                                                              \
	})

/* ---- tables ---- */

static int strings(struct wt_scan *s, const Warptap__V1__Strings *m)
{
	for (size_t i = 0; i < m->n_text; i++) {
		uint32_t *slot = wt_map_slot(&s->text_index, m->first_id + i, UINT32_MAX, NULL);
		char **t;

		raise(&s->string_max, m->first_id + i);
		if (!slot)
			return -WT_E_NOMEM;
		if (*slot != UINT32_MAX)
			continue;
		*slot = (uint32_t)s->texts.n;
		t = wt_vec_add(&s->texts);
		if (!t || !(*t = strdup(m->text[i])))
			return -WT_E_NOMEM;
	}
	return 0;
}

static int streams(struct wt_scan *s, const Warptap__V1__Streams *m)
{
	for (size_t i = 0; i < m->n_id; i++) {
		struct wt_scan_stream *r = ROW(&s->stream_index, &s->streams, m->id[i]);

		if (!r)
			return -WT_E_NOMEM;
		r->id = m->id[i];
		r->handle = AT(m, handle, i);
		r->context = AT(m, context, i);
	}
	return 0;
}

static int threads(struct wt_scan *s, const Warptap__V1__Threads *m)
{
	for (size_t i = 0; i < m->n_id; i++) {
		struct wt_scan_thread *r = ROW(&s->thread_index, &s->threads, m->id[i]);

		if (!r)
			return -WT_E_NOMEM;
		if (!r->id)
			r->group = 1;
		r->id = m->id[i];
		r->tid = AT(m, tid, i);
		r->pthread = AT(m, pthread, i);
		r->name = AT(m, name, i);
	}
	return 0;
}

static int comms(struct wt_scan *s, const Warptap__V1__Comms *m)
{
	for (size_t i = 0; i < m->n_id; i++) {
		uint64_t *c = wt_vec_add(&s->comms);

		if (!c)
			return -WT_E_NOMEM;
		*c = m->id[i];
		raise(&s->comm_max, m->id[i]);
	}
	return 0;
}

static int collectives(struct wt_scan *s, const Warptap__V1__Collectives *m)
{
	uint64_t seq = 0;

	for (size_t i = 0; i < m->n_ring; i++) {
		seq = AT(m, call_seq, i);
		if (wt_map_put(&s->said, wt_scan_call(m->ring[i], seq), 1))
			return -WT_E_NOMEM;
	}
	return 0;
}

static int numbered(struct wt_scan *s, uint64_t ring, const uint64_t *seq_d, size_t n)
{
	uint64_t seq = 0;

	for (size_t i = 0; i < n; i++) {
		seq += seq_d[i];
		if (wt_map_put(&s->said, wt_scan_call(ring, seq), 1))
			return -WT_E_NOMEM;
	}
	return 0;
}

static int state(struct wt_scan *s, const Warptap__V1__State *m)
{
	uint64_t *t = wt_vec_add(&s->states);

	if (!t)
		return -WT_E_NOMEM;
	*t = m->tsc;
	return 0;
}

static int graphs(struct wt_scan *s, const Warptap__V1__Graphs *m)
{
	struct wt_scan_exec *r = ROW(&s->exec_index, &s->execs, m->exec);

	if (!r)
		return -WT_E_NOMEM;
	r->id = m->exec;
	raise(&r->revision, m->revision);
	return 0;
}

static void contexts(struct wt_scan *s, const Warptap__V1__Contexts *m)
{
	for (size_t i = 0; i < m->n_id; i++)
		if (m->id[i] < WT_CONTEXTS_MAX && AT(m, cupti_id, i))
			s->context_cupti[m->id[i]] = m->cupti_id[i];
}

static void clocks(struct wt_scan *s, const Warptap__V1__Clocks *m)
{
	for (size_t i = 0; i < m->n_tsc; i++) {
		if (m->tsc[i] < s->clock.tsc || AT(m, device, i))
			continue;
		s->clock = (struct wt_clock_row){.tsc = m->tsc[i],
						 .monotonic_ns = AT(m, monotonic_ns, i),
						 .realtime_ns = AT(m, realtime_ns, i),
						 .error_ns = AT(m, error_ns, i)};
	}
}

/* ---- rows ---- */

static int add_span(struct wt_scan *s, uint64_t ring, uint64_t first, uint64_t n)
{
	struct wt_scan_span *last = s->spans.n ? &s->spans.p[s->spans.n - 1] : NULL;

	if (first > UINT64_MAX - n)
		return 0;
	if (last && last->ring == ring && last->end == first) {
		last->end = first + n;
		return 0;
	}
	last = wt_vec_add(&s->spans);
	if (!last)
		return -WT_E_NOMEM;
	*last = (struct wt_scan_span){ring, first, first + n};
	return 0;
}

static size_t longest(const Warptap__V1__HostCalls *m)
{
	const size_t all[] = {m->n_start_gap,	m->n_dur,    m->n_op,	 m->n_context,
			      m->n_stream,	m->n_object, m->n_shape, m->n_bytes,
			      m->n_parent_back, m->n_status, m->n_flags, m->n_stack};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		n = all[i] > n ? all[i] : n;
	return n;
}

static int calls(struct wt_scan *s, const Warptap__V1__HostCalls *m)
{
	struct wt_scan_thread *t = ROW(&s->thread_index, &s->threads, m->thread);
	size_t n = longest(m);
	uint32_t at;

	if (!t || wt_map_put(&s->ring_index, m->ring, (uint32_t)(t - s->threads.p)))
		return -WT_E_NOMEM;
	t->id = m->thread;
	t->ring = m->ring;
	t->group = t->group ? t->group : 1;
	if (t->next_seq != m->first_seq && t->depth) {
		t->group++;
		t->depth = 0;
	}
	for (size_t i = 0; i < n; i++) {
		const char *name = wt_hook_name((uint32_t)AT(m, op, i));

		if (strcmp(name, "ncclGroupStart") == 0)
			t->depth++;
		if (strcmp(name, "ncclGroupEnd") == 0 && t->depth && --t->depth == 0)
			t->group++;
		if (AT(m, stream, i) && wt_map_get(&s->stream_index, m->stream[i], &at))
			s->streams.p[at].ring = m->ring;
	}
	t->next_seq = m->first_seq + n;
	return n ? add_span(s, m->ring, m->first_seq, n) : 0;
}

/* ---- device records ---- */

int wt_scan_kind(const struct wt_dev_rec *r)
{
	switch (r->kind) {
	case WT_DEV_KERNEL:
		return WT_SCAN_KERNEL;
	case WT_DEV_COPY:
		return r->u.copy.kind == MEMSET ? WT_SCAN_MEMSET : WT_SCAN_COPY;
	case WT_DEV_GRAPH:
		return WT_SCAN_GRAPH;
	default:
		return WT_SCAN_API;
	}
}

/* The writer keeps a start, and a length that is 0 where the end comes before it. */
static uint64_t end_of(const struct wt_dev_rec *r)
{
	return r->end > r->start ? r->end : r->start;
}

static int is_same(const struct wt_dev_rec *a, const struct wt_dev_rec *b)
{
	if (wt_scan_kind(a) != wt_scan_kind(b) || a->correlation != b->correlation)
		return 0;
	if (a->kind == WT_DEV_API)
		return a->u.api.thread_word == b->u.api.thread_word &&
		       a->u.api.cbid == b->u.api.cbid && !a->u.api.runtime == !b->u.api.runtime;
	return a->device == b->device && a->context == b->context && a->start == b->start &&
	       end_of(a) == end_of(b) && a->graph_node == b->graph_node && a->stream == b->stream;
}

static uint32_t *bucket(const struct wt_scan *s, const struct wt_dev_rec *r)
{
	uint64_t h = wt_mix64((uint64_t)wt_scan_kind(r) << 32 | r->correlation);

	return &s->buckets[h & (s->n_buckets - 1)];
}

static void seen(struct wt_scan *s, const struct wt_dev_rec *r)
{
	s->since[wt_scan_kind(r)][0]++;
	s->since[wt_scan_kind(r)][1] += (r->flags & UNTIMED) != 0;
	if (!s->n_buckets)
		return;
	for (uint32_t i = *bucket(s, r); i; i = s->devices[i - 1].next) {
		struct wt_scan_device *d = &s->devices[i - 1];

		if (d->present || !is_same(&d->rec, r))
			continue;
		d->present = 1;
		return;
	}
}

int wt_scan_index(struct wt_scan *s, struct wt_scan_device *devices, uint32_t n)
{
	uint32_t room = 1024;

	if (!n)
		return 0;
	while (room < n && room < 1u << 30)
		room *= 2;
	s->buckets = calloc(room, sizeof(*s->buckets));
	if (!s->buckets)
		return -WT_E_NOMEM;
	s->n_buckets = room;
	s->devices = devices;
	s->n_devices = n;
	for (uint32_t i = n; i; i--) {
		uint32_t *head = bucket(s, &devices[i - 1].rec);

		devices[i - 1].next = *head;
		*head = i;
	}
	return 0;
}

static void api(struct wt_scan *s, const Warptap__V1__ApiRecords *m)
{
	struct wt_dev_rec r = {.kind = WT_DEV_API};
	uint64_t correlation = 0;
	size_t n = m->n_correlation_d > m->n_cbid ? m->n_correlation_d : m->n_cbid;

	for (size_t i = 0; i < n; i++) {
		correlation += (uint64_t)AT(m, correlation_d, i);
		r.correlation = (uint32_t)correlation;
		r.u.api.thread_word = m->thread_word;
		r.u.api.cbid = AT(m, cbid, i);
		r.u.api.runtime = AT(m, runtime, i) != 0;
		seen(s, &r);
	}
}

/* What Kernels, Copies and GraphRuns have alike; node_ and kind_ where they have them. */
#define DEVICE_ROWS(m_, kind_, node_, copy_kind_)                                                  \
	do {                                                                                       \
		struct wt_dev_rec r = {                                                            \
			.kind = (kind_), .device = (m_)->device, .context = (m_)->context};        \
		uint64_t correlation = 0, end = 0;                                                 \
		for (size_t i = 0; i < (m_)->n_start_gap; i++) {                                   \
			correlation += (uint64_t)AT(m_, correlation_d, i);                         \
			r.correlation = (uint32_t)correlation;                                     \
			r.start = end + (uint64_t)(m_)->start_gap[i];                              \
			r.end = end = r.start + AT(m_, dur, i);                                    \
			r.stream = AT(m_, stream, i);                                              \
			r.flags = AT(m_, flags, i);                                                \
			r.graph_node = (node_);                                                    \
			if ((kind_) == WT_DEV_COPY)                                                \
				r.u.copy.kind = (copy_kind_);                                      \
			seen(s, &r);                                                               \
		}                                                                                  \
	} while (0)

static void kernels(struct wt_scan *s, const Warptap__V1__Kernels *m)
{
	for (size_t i = 0; i < m->n_function; i++)
		raise(&s->function_max, m->function[i]);
	DEVICE_ROWS(m, WT_DEV_KERNEL, AT(m, graph_node, i), 0);
}

static void copies(struct wt_scan *s, const Warptap__V1__Copies *m)
{
	DEVICE_ROWS(m, WT_DEV_COPY, AT(m, graph_node, i), AT(m, kind, i));
}

static void graph_runs(struct wt_scan *s, const Warptap__V1__GraphRuns *m)
{
	DEVICE_ROWS(m, WT_DEV_GRAPH, 0, 0);
}

/* ---- packets ---- */

#define MAX_OF(m_, max_)                                                                           \
	do {                                                                                       \
		for (size_t i_ = 0; i_ < (m_)->n_id; i_++)                                         \
			raise((max_), (m_)->id[i_]);                                               \
	} while (0)

/* 1: the packet is kept by the scan. */
static int take(struct wt_scan *s, Warptap__V1__Packet *p, int *ret_error)
{
	switch (p->body_case) {
	case BODY(HEADER):
		keep(&s->header, p);
		return 1;
	case BODY(COUNTS):
		keep(&s->counts, p);
		memset(s->since, 0, sizeof(s->since));
		return 1;
	case BODY(END):
		keep(&s->end, p);
		return 1;
	case BODY(CLOCKS):
		clocks(s, p->clocks);
		break;
	case BODY(COLLECTIVES):
		*ret_error = collectives(s, p->collectives);
		break;
	case BODY(MARKS):
		*ret_error =
			numbered(s, p->marks->ring, p->marks->call_seq_d, p->marks->n_call_seq_d);
		break;
	case BODY(NCCL):
		*ret_error = numbered(s, p->nccl->ring, p->nccl->call_seq_d, p->nccl->n_call_seq_d);
		break;
	case BODY(STATE):
		*ret_error = state(s, p->state);
		break;
	case BODY(STRINGS):
		*ret_error = strings(s, p->strings);
		break;
	case BODY(FUNCTIONS):
		MAX_OF(p->functions, &s->function_max);
		break;
	case BODY(SHAPES):
		MAX_OF(p->shapes, &s->shape_max);
		break;
	case BODY(GEMMS):
		MAX_OF(p->gemms, &s->gemm_max);
		break;
	case BODY(STREAMS):
		*ret_error = streams(s, p->streams);
		break;
	case BODY(THREADS):
		*ret_error = threads(s, p->threads);
		break;
	case BODY(COMMS):
		*ret_error = comms(s, p->comms);
		break;
	case BODY(GRAPHS):
		*ret_error = graphs(s, p->graphs);
		break;
	case BODY(CONTEXTS):
		contexts(s, p->contexts);
		break;
	case BODY(CALLS):
		*ret_error = calls(s, p->calls);
		break;
	case BODY(API):
		api(s, p->api);
		break;
	case BODY(KERNELS):
		kernels(s, p->kernels);
		break;
	case BODY(COPIES):
		copies(s, p->copies);
		break;
	case BODY(GRAPH_RUNS):
		graph_runs(s, p->graph_runs);
		break;
	case BODY(LOSS):
		if (p->loss->where == WARPTAP__V1__LOSS_WHERE__LOSS_WHERE_POOL_EMPTY)
			s->said_dropped += p->loss->n;
		break;
	default:
		break;
	}
	return 0;
}

static int by_place(const void *pa, const void *pb)
{
	const struct wt_scan_span *a = pa, *b = pb;

	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static int read_all(struct wt_scan *s, struct wt_frame_reader *r, struct wt_diag *diag)
{
	const uint8_t *bytes;
	uint64_t offset;
	size_t n;
	int rc, error = 0;

	while ((rc = wt_frame_reader_next(r, &bytes, &n, &offset)) == 1) {
		Warptap__V1__Packet *p = warptap__v1__packet__unpack(NULL, n, bytes);

		if (!p)
			continue; /* its check holds: of a kind this program cannot read */
		s->packets++;
		s->frame_offset = offset;
		raise(&s->seq, p->seq);
		if (!take(s, p, &error))
			warptap__v1__packet__free_unpacked(p, NULL);
		if (error)
			return wt_fail(diag, WT_E_NOMEM, (int64_t)offset, "out of memory");
	}
	return rc < 0 || !s->header ? wt_fail(diag, WT_E_FORMAT, 0,
					      "no packet could be read: expected a warptap trace")
				    : 0;
}

int wt_scan_read(struct wt_scan *s, const char *path, struct wt_diag *diag)
{
	const struct wt_frame_damage *d;
	struct wt_frame_reader *r = NULL;
	struct wt_source *src;
	int rc = wt_source_open(&src, path, diag);

	if (rc)
		return rc;
	rc = wt_frame_reader_open(&r, read_source, src, diag);
	if (!rc) {
		rc = read_all(s, r, diag);
		d = wt_frame_reader_damage(r);
		s->damaged = d->first_offset >= 0 && (uint64_t)d->first_offset < s->frame_offset;
		s->damage_offset = d->first_offset;
		memcpy(s->damage_text, d->first_text, sizeof(s->damage_text));
	}
	s->bytes = (uint64_t)wt_source_disk_offset(src);
	wt_frame_reader_free(r);
	wt_source_close(src);
	if (!rc && s->spans.n)
		qsort(s->spans.p, s->spans.n, sizeof(s->spans.p[0]), by_place);
	if (!rc && s->header->header->file_id.len == sizeof(s->file_id))
		memcpy(s->file_id, s->header->header->file_id.data, sizeof(s->file_id));
	return rc;
}

int wt_scan_last_frame(const struct wt_scan *s, const char *path,
		       int (*fn)(void *arg, const uint8_t *bytes, size_t n), void *arg,
		       struct wt_diag *diag)
{
	struct wt_frame_reader *r = NULL;
	struct wt_source *src;
	const uint8_t *bytes;
	uint64_t offset;
	size_t n;
	int rc = wt_source_open(&src, path, diag);

	if (rc)
		return rc;
	rc = wt_frame_reader_open(&r, read_source, src, diag);
	while (!rc && wt_frame_reader_next(r, &bytes, &n, &offset) == 1)
		if (offset == s->frame_offset)
			rc = fn(arg, bytes, n);
	wt_frame_reader_free(r);
	wt_source_close(src);
	return rc;
}

const char *wt_scan_text(const struct wt_scan *s, uint64_t id)
{
	uint32_t at;

	return wt_map_get(&s->text_index, id, &at) && at < s->texts.n ? s->texts.p[at] : "";
}

int wt_scan_lacks(const struct wt_scan *s, uint64_t ring, uint64_t *from, uint64_t *ret_to,
		  uint64_t to)
{
	size_t low = 0, high = s->spans.n;

	while (low < high) { /* the first span of the ring that ends behind *from */
		size_t mid = (low + high) / 2;
		const struct wt_scan_span *p = &s->spans.p[mid];

		if (p->ring < ring || (p->ring == ring && p->end <= *from))
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < s->spans.n && s->spans.p[low].ring == ring && *from < to; low++) {
		const struct wt_scan_span *p = &s->spans.p[low];

		if (p->end <= *from)
			continue;
		if (p->first > *from) {
			*ret_to = p->first < to ? p->first : to;
			return 1;
		}
		*from = p->end;
	}
	*ret_to = to;
	return *from < to;
}

void wt_scan_release(struct wt_scan *s)
{
	struct wt_map *maps[] = {&s->text_index,   &s->said,	   &s->stream_index,
				 &s->thread_index, &s->ring_index, &s->exec_index};

	keep(&s->header, NULL);
	keep(&s->counts, NULL);
	keep(&s->end, NULL);
	for (size_t i = 0; i < s->texts.n; i++)
		free(s->texts.p[i]);
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		wt_map_release(maps[i]);
	free(s->texts.p);
	free(s->streams.p);
	free(s->threads.p);
	free(s->execs.p);
	free(s->comms.p);
	free(s->states.p);
	free(s->spans.p);
	free(s->buckets);
	memset(s, 0, sizeof(*s));
}
