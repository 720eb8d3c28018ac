/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks -> ranges of the timeline. A POP ends the last PUSH of its thread that is still open; an END the last START of
 * its kind and value. What is open when the file ends lasts until then, unless rows of the file are lost: a pop may be
 * among them. A POP or END of nothing is passed over: the agent woke, or rows were lost, in the middle of it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "trace/trace.h"

#define TEXT_MAX  112	/* bytes of a name, WT_NAME_MAX of annotate.h */
#define DEPTH_MAX 1024u /* deeper pushes are counted, their ranges left out */

struct pairing {
	struct wt_trace *t;
	uint32_t open[DEPTH_MAX]; /* pushes of the thread at hand, outermost first */
	size_t nopen;
	uint64_t deeper;       /* pushes left out */
	struct wt_map started; /* key of kind and value -> mark + 1; 0 = ended */
};

void wt_trace_load_marks(struct wt_trace *t, const Warptap__V1__Marks *m)
{
	const size_t len[] = {m->n_call_seq_d, m->n_tsc_d, m->n_what,
			      m->n_kind,       m->n_value, m->n_name};
	size_t n = wt_trace_columns(t, len, sizeof(len) / sizeof(len[0]));
	uint64_t seq = 0, tsc = 0;

	for (size_t i = 0; i < n; i++) {
		struct wt_mark *r = wt_vec_add(&t->marks);

		if (!r) {
			t->error = -WT_E_NOMEM;
			return;
		}
		seq += m->n_call_seq_d ? m->call_seq_d[i] : 0;
		tsc += m->n_tsc_d ? (uint64_t)m->tsc_d[i] : 0;
		*r = (struct wt_mark){
			.ring = m->ring,
			.seq = seq,
			.tsc = tsc,
			.thread = m->thread,
			.value = m->n_value ? m->value[i] : 0,
			.name = m->n_name ? m->name[i] : 0,
			.what = m->n_what ? m->what[i] : 0,
			.kind = m->n_kind ? m->kind[i] : 0,
		};
	}
}

/* By (ring, seq); START and END go by time afterwards. */
static int by_row(const void *pa, const void *pb)
{
	const struct wt_mark *a = pa, *b = pb;

	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	return (a->seq > b->seq) - (a->seq < b->seq);
}

/* Names become the builder's; those in two parts, which a batch ended between, are joined. Marks are sorted. */
static void join_names(struct wt_trace *t)
{
	char text[2 * TEXT_MAX + 1];
	struct wt_mark *whole = NULL;

	for (size_t i = 0; i < t->marks.n; i++) {
		struct wt_mark *r = &t->marks.p[i];
		uint32_t name = wt_trace_string(t, r->name);

		if (r->what != WT_PB(MARK_WHAT, MORE)) {
			whole = r;
			r->name = name;
		} else if (whole && whole->ring == r->ring) {
			snprintf(text, sizeof(text), "%.*s%.*s", TEXT_MAX,
				 wt_builder_get(t->b, (uint32_t)whole->name), TEXT_MAX,
				 wt_builder_get(t->b, name));
			whole->name = wt_builder_cstring(t->b, text);
		}
	}
}

static void add_range(struct pairing *p, const struct wt_mark *r, uint64_t end_tsc)
{
	struct wt_trace *t = p->t;
	int64_t end_ns =
		end_tsc == UINT64_MAX ? wt_trace_end_ns(t) : wt_clockline_ns(&t->clock, end_tsc);
	struct wt_range range = {
		.start_ns = wt_clockline_ns(&t->clock, r->tsc),
		.name = (uint32_t)r->name,
		.thread = wt_trace_thread(t, r->thread),
		.step = r->value,
		.process = t->process,
		.kind = r->kind && r->kind <= WT_RANGE_OFFLOAD ? (uint8_t)r->kind : WT_RANGE_USER,
		.marked = r->kind >
			  WT_RANGE_USER, /* no more than a name: it may still say something */
	};

	range.end_ns = end_ns < range.start_ns ? range.start_ns : end_ns;
	wt_builder_range(t->b, &range);
}

static void push(struct pairing *p, uint32_t mark)
{
	if (p->nopen < DEPTH_MAX)
		p->open[p->nopen++] = mark;
	else
		p->deeper++;
}

static void pop(struct pairing *p, const struct wt_mark *r)
{
	if (p->deeper)
		p->deeper--;
	else if (p->nopen)
		add_range(p, &p->t->marks.p[p->open[--p->nopen]], r->tsc);
}

/* The thread's rows end here: what is open lasts to the end of the file, unless rows are missing. */
static void end_ring(struct pairing *p, int lost)
{
	while (p->nopen) {
		p->nopen--;
		if (!lost)
			add_range(p, &p->t->marks.p[p->open[p->nopen]], UINT64_MAX);
	}
	p->deeper = 0;
}

static int by_time(const void *pa, const void *pb)
{
	const struct wt_mark *a = pa, *b = pb;

	return (a->tsc > b->tsc) - (a->tsc < b->tsc);
}

/* START and END, whatever the thread. */
static int pair_started(struct pairing *p)
{
	struct wt_trace *t = p->t;

	qsort(t->marks.p, t->marks.n, sizeof(*t->marks.p), by_time);
	for (size_t i = 0; i < t->marks.n; i++) {
		const struct wt_mark *r = &t->marks.p[i];
		uint32_t *slot;
		int isnew;

		if (r->what != WT_PB(MARK_WHAT, START) && r->what != WT_PB(MARK_WHAT, END))
			continue;
		slot = wt_map_slot(&p->started, wt_mix64((uint64_t)r->value) ^ r->kind, 0, &isnew);
		if (!slot)
			return -WT_E_NOMEM;
		if (r->what == WT_PB(MARK_WHAT, END) && *slot) {
			add_range(p, &t->marks.p[*slot - 1], r->tsc);
			*slot = 0;
		} else if (r->what == WT_PB(MARK_WHAT, START)) {
			*slot = (uint32_t)i + 1;
		}
	}
	return 0;
}

int wt_trace_emit_marks(struct wt_trace *t)
{
	struct pairing p = {.t = t};
	uint64_t ring = 0;
	int err;

	if (!t->marks.n)
		return 0;
	qsort(t->marks.p, t->marks.n, sizeof(*t->marks.p), by_row);
	join_names(t);
	for (size_t i = 0; i < t->marks.n; i++) {
		const struct wt_mark *r = &t->marks.p[i];

		if (i && r->ring == ring && r->seq == t->marks.p[i - 1].seq) /* a row twice */
			continue;
		if (i && r->ring != ring)
			end_ring(&p, t->rows_lost);
		ring = r->ring;
		if (r->what == WT_PB(MARK_WHAT, PUSH))
			push(&p, (uint32_t)i);
		else if (r->what == WT_PB(MARK_WHAT, POP))
			pop(&p, r);
	}
	end_ring(&p, t->rows_lost);
	err = pair_started(&p);
	wt_map_release(&p.started);
	return err;
}
