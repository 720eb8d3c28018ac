/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts, Loss and Cost (totals.h). The counters are read while their owners add: each is right when it is read, the
 * set of them is right once the job has stopped adding, which is when the last Counts packet is made.
 */
#include "agent/totals.h"

#include <stdatomic.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/cost.h"
#include "agent/hook_table.h"
#include "agent/registry.h"
#include "agent/trouble.h"
#include "collectors/cupti_activity.h"

#define KIND(k_)  WARPTAP__V1__COUNT_KIND__COUNT_KIND_##k_
#define STATE(s_) WARPTAP__V1__COUNT_STATE__COUNT_STATE_##s_

struct rows {
	uint32_t context[WT_TOTALS_ROWS], kind[WT_TOTALS_ROWS], state[WT_TOTALS_ROWS];
	uint64_t n[WT_TOTALS_ROWS], sum;
	size_t used;
};

struct visit {
	struct wt_totals *t;
	struct wt_pack *p;
};

static void emit(struct wt_pack *p, int body, void *message, int last)
{
	if (last)
		wt_pack_emit_last(p, body, message);
	else
		wt_pack_emit(p, body, message, 0);
}

static void add_ring(void *arg, struct wt_ring *r)
{
	struct visit *v = arg;

	for (size_t c = 0; c < WT_COUNT_CONTEXTS; c++) {
		for (size_t k = 0; k < WT_COUNT_SLOTS; k++) {
			for (size_t s = 0; s < WT_COUNT_STATES; s++) {
				uint64_t n = atomic_load_explicit(&r->counts[c][k][s],
								  memory_order_acquire);

				v->t->counts[c][k][s] += n;
				*(s == WT_UNROWED ? &v->t->unrowed : &v->t->rows) += n;
			}
		}
	}
	v->t->dropped += atomic_load_explicit(&r->dropped, memory_order_acquire);
}

static void add(struct rows *to, uint32_t context, uint32_t kind, uint32_t state, uint64_t n)
{
	if (!n || to->used == WT_TOTALS_ROWS)
		return;
	to->context[to->used] = context;
	to->kind[to->used] = kind;
	to->state[to->used] = state;
	to->n[to->used++] = n;
	to->sum += n;
}

/* The last slot stands for one context only while no more than that many were made. */
static uint32_t context_of(size_t slot)
{
	if (slot == WT_COUNT_CONTEXTS - 1 && wt_reg_count(WT_REG_CONTEXT) >= WT_COUNT_CONTEXTS)
		return 0;
	return (uint32_t)slot;
}

static void collect(const struct wt_totals *t, const struct wt_pack *p,
		    const struct wt_cupti_totals *cupti, struct rows *to)
{
	static const uint8_t states[WT_COUNT_STATES] = {STATE(DONE), STATE(CAPTURED), STATE(FAILED),
							STATE(SOFT), STATE(UNROWED)};

	for (size_t c = 0; c < WT_COUNT_CONTEXTS; c++)
		for (uint32_t k = 0; k < WT_COUNT_SLOTS; k++)
			for (uint32_t s = 0; s < WT_COUNT_STATES; s++)
				add(to, context_of(c), k, states[s], t->counts[c][k][s]);
	add(to, 0, KIND(NONE), STATE(ESCAPED), wt_escaped_names());
	add(to, 0, KIND(NONE), STATE(DROPPED_AGENT), t->dropped);
	add(to, 0, KIND(KERNEL_RECORD), STATE(RECEIVED), p->kernels);
	add(to, 0, KIND(KERNEL_RECORD), STATE(UNTIMED), p->kernels_untimed);
	add(to, 0, KIND(KERNEL_RECORD), STATE(DROPPED_AGENT), cupti->spilled);
	/* CUPTI does not say of what kind they were. */
	add(to, 0, KIND(NONE), STATE(DROPPED_CUPTI), cupti->dropped);
	add(to, 0, KIND(API_RECORD), STATE(RECEIVED), p->apis);
	add(to, 0, KIND(COPY), STATE(RECEIVED), p->copies);
	add(to, 0, KIND(COPY), STATE(UNTIMED), p->copies_untimed);
	add(to, 0, KIND(MEMSET), STATE(RECEIVED), p->memsets);
	add(to, 0, KIND(MEMSET), STATE(UNTIMED), p->memsets_untimed);
	add(to, 0, KIND(GRAPH_LAUNCH), STATE(RECEIVED), p->graphs);
}

static void say_counts(struct wt_totals *t, struct wt_pack *p, const struct rows *r, int last)
{
	Warptap__V1__Counts m = WARPTAP__V1__COUNTS__INIT;

	if (!last && r->sum == t->said_sum)
		return;
	t->said_sum = r->sum;
	m.tsc = wt_tsc();
	WT_COLUMN(m, context, r->context, r->used);
	WT_COLUMN(m, kind, r->kind, r->used);
	WT_COLUMN(m, state, r->state, r->used);
	WT_COLUMN(m, n, r->n, r->used);
	emit(p, WARPTAP__V1__PACKET__BODY_COUNTS, &m, last);
}

static void say_loss(struct wt_pack *p, int where, uint64_t n, uint64_t to_ns, int last)
{
	Warptap__V1__Loss m = WARPTAP__V1__LOSS__INIT;

	if (!n)
		return;
	m.where = (Warptap__V1__LossWhere)where;
	m.n = n;
	m.to_ns = to_ns;
	emit(p, WARPTAP__V1__PACKET__BODY_LOSS, &m, last);
}

/* Rows a ring had no chunk for, since it was said last. Kept by ring, since a ring is handed on with its total. */
static void say_ring_loss(void *arg, struct wt_ring *r)
{
	struct visit *v = arg;
	uint64_t dropped = atomic_load_explicit(&r->dropped, memory_order_acquire);
	Warptap__V1__Loss m = WARPTAP__V1__LOSS__INIT;
	size_t i = 0;

	while (i < WT_TOTALS_RINGS && v->t->said_ring[i].ring && v->t->said_ring[i].ring != r)
		i++;
	if (i == WT_TOTALS_RINGS || dropped <= v->t->said_ring[i].dropped)
		return;
	m.where = WARPTAP__V1__LOSS_WHERE__LOSS_WHERE_POOL_EMPTY;
	m.n = dropped - v->t->said_ring[i].dropped;
	m.ring = __atomic_load_n(&r->id, __ATOMIC_RELAXED);
	m.first_seq = __atomic_load_n(&r->first_dropped_seq, __ATOMIC_RELAXED);
	v->t->said_ring[i].ring = r;
	v->t->said_ring[i].dropped = dropped;
	wt_pack_emit(v->p, WARPTAP__V1__PACKET__BODY_LOSS, &m, 0);
}

static void say_troubles(struct wt_totals *t, struct wt_pack *p, int last)
{
	Warptap__V1__Troubles m = WARPTAP__V1__TROUBLES__INIT;
	Warptap__V1__TroubleWhat what[WT_TROUBLES];
	int32_t error[WT_TROUBLES];
	uint64_t n[WT_TROUBLES], sum = 0;
	size_t rows = 0;

	for (unsigned i = 1; i < WT_TROUBLES; i++) {
		n[rows] = wt_trouble_read(i, &error[rows]);
		what[rows] = (Warptap__V1__TroubleWhat)i;
		sum += n[rows];
		rows += n[rows] != 0;
	}
	if (sum == t->said_troubles)
		return;
	t->said_troubles = sum;
	m.tsc = wt_tsc();
	m.what = what;
	m.error = error;
	m.n = n;
	m.n_what = m.n_error = m.n_n = rows;
	emit(p, WARPTAP__V1__PACKET__BODY_TROUBLES, &m, last);
}

static void say_cost(struct wt_totals *t, struct wt_pack *p, int last)
{
	Warptap__V1__Cost m = WARPTAP__V1__COST__INIT;
	struct wt_cost c;

	wt_cost_read(t->rows, t->unrowed, &c);
	m.tsc = wt_tsc();
	m.hook_ns = c.hook_ns;
	m.hook_sampled = c.hook_sampled;
	m.writer_cpu_ns = c.writer_cpu_ns;
	m.control_cpu_ns = c.control_cpu_ns;
	m.launch_ns = c.launch_ns;
	m.cupti_ns = c.cupti_ns;
	m.bytes_out = wt_frame_writer_out_bytes(p->frame);
	m.mapped_bytes = wt_box_mapped_bytes();
	m.calls = c.calls;
	emit(p, WARPTAP__V1__PACKET__BODY_COST, &m, last);
}

static void gather(struct wt_totals *t, struct visit *v)
{
	memset(t->counts, 0, sizeof(t->counts));
	t->rows = t->unrowed = t->dropped = 0;
	wt_ring_each(add_ring, v);
}

struct calls {
	uint64_t rows, unrowed;
};

static void add_calls(void *arg, struct wt_ring *r)
{
	struct calls *sum = arg;

	for (size_t c = 0; c < WT_COUNT_CONTEXTS; c++)
		for (size_t k = 0; k < WT_COUNT_SLOTS; k++)
			for (size_t s = 0; s < WT_COUNT_STATES; s++)
				*(s == WT_UNROWED ? &sum->unrowed : &sum->rows) +=
					atomic_load_explicit(&r->counts[c][k][s],
							     memory_order_relaxed);
}

void wt_totals_cost(struct wt_cost *ret)
{
	struct calls sum = {0, 0};

	wt_ring_each(add_calls, &sum);
	wt_cost_read(sum.rows, sum.unrowed, ret);
}

static struct rows rows; /* too large for the writer's stack */

void wt_totals_counts(struct wt_totals *t, struct wt_pack *p)
{
	struct visit v = {.t = t, .p = p};
	struct wt_cupti_totals cupti;

	gather(t, &v);
	wt_cupti_totals(&cupti);
	rows.used = 0;
	rows.sum = 0;
	collect(t, p, &cupti, &rows);
	t->said_sum = rows.sum + 1; /* not what it is: said in any case */
	say_counts(t, p, &rows, 0);
}

void wt_totals_say(struct wt_totals *t, struct wt_pack *p, int last)
{
	struct visit v = {.t = t, .p = p};
	struct wt_cupti_totals cupti;
	uint64_t spilled;

	gather(t, &v);
	wt_cupti_totals(&cupti);
	wt_ring_each(say_ring_loss, &v);
	say_loss(p, WARPTAP__V1__LOSS_WHERE__LOSS_WHERE_CUPTI, cupti.dropped - t->said_cupti,
		 wt_cupti_timestamp(), last);
	t->said_cupti = cupti.dropped;
	spilled = cupti.spilled + cupti.refused;
	say_loss(p, WARPTAP__V1__LOSS_WHERE__LOSS_WHERE_CUPTI_BUFFER, spilled - t->said_buffer,
		 wt_cupti_timestamp(), last);
	t->said_buffer = spilled;
	if (last)
		say_loss(p, WARPTAP__V1__LOSS_WHERE__LOSS_WHERE_DISK, p->lost_rows, 0, 1);
	rows.used = 0;
	rows.sum = 0;
	collect(t, p, &cupti, &rows);
	say_counts(t, p, &rows, last);
	say_troubles(t, p, last);
	say_cost(t, p, last);
}
