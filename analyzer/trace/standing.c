/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a process was on each of its communicators when its trace ended: the last collective that it called and the
 * last that its device had finished (ranks/progress.h compares ranks by them). Called by emit.c, once.
 */
#include <stdlib.h>

#include "trace/trace.h"

/* What was launched in the last moments of a job that is killed is on its way as a rule, and says nothing. */
#define STUCK_NS INT64_C(500000000)

struct stand {
	int64_t called,
		pending;  /* numbers: the last called; the first that had not finished, -1 = none */
	int64_t since_ns; /* when the oldest that had not finished was called; INT64_MAX = none */
	uint8_t any, collective, p2p;
};

static int counts(const struct wt_trace *t, const struct wt_coll_row *k, uint32_t *ret_comm)
{
	return k->row != WT_NO_INDEX && !t->rows.p[k->row].status &&
	       !(t->rows.p[k->row].flags & WT_PB(CALL_FLAG, CAPTURED)) &&
	       wt_map_get(&t->comm_ids, k->comm, ret_comm);
}

static void add(const struct wt_trace *t, struct stand *s, const struct wt_coll_row *k)
{
	int64_t called_ns = wt_clockline_ns(&t->clock, t->rows.p[k->row].start_tsc);

	s->any = 1;
	if (k->in_flight && called_ns < s->since_ns)
		s->since_ns = called_ns;
	if (k->op == WT_PB(COLLECTIVE_OP, SEND) || k->op == WT_PB(COLLECTIVE_OP, RECV)) {
		s->p2p = 1;
		return;
	}
	s->collective = 1;
	if ((int64_t)k->seq > s->called)
		s->called = (int64_t)k->seq;
	if (k->in_flight && (s->pending < 0 || (int64_t)k->seq < s->pending))
		s->pending = (int64_t)k->seq;
}

static void emit(struct wt_trace *t, const struct stand *s, const struct wt_comm_row *comm)
{
	wt_builder_member(t->b, &(struct wt_member){.comm = comm->key,
						    .place = (int32_t)comm->rank,
						    .rank = t->rank});
	wt_builder_standing(t->b, &(struct wt_standing){
					  .comm = comm->key,
					  .enqueued = s->called,
					  .started = -1,
					  .completed = s->pending < 0 ? s->called : s->pending - 1,
					  .group = wt_trace_string(t, comm->name),
					  .process = t->process,
					  .p2p = s->p2p && !s->collective});
}

int wt_trace_stand(struct wt_trace *t)
{
	struct stand *all = malloc((t->comms.n + 1) * sizeof(*all));
	int64_t end_ns = wt_trace_end_ns(t);
	int64_t stuck_ns = end_ns < INT64_MIN + STUCK_NS ? INT64_MIN : end_ns - STUCK_NS;
	uint32_t comm;

	if (!all)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < t->comms.n; i++)
		all[i] = (struct stand){.called = -1, .pending = -1, .since_ns = INT64_MAX};
	for (size_t i = 0; i < t->collectives.n; i++)
		if (counts(t, &t->collectives.p[i], &comm))
			add(t, &all[comm], &t->collectives.p[i]);
	for (size_t i = 0; i < t->comms.n; i++)
		if (all[i].since_ns > stuck_ns)
			all[i].pending = -1;
	for (size_t i = 0; i < t->collectives.n; i++) {
		struct wt_coll_row *k = &t->collectives.p[i];

		if (k->in_flight && (!counts(t, k, &comm) || all[comm].since_ns > stuck_ns))
			k->in_flight = 0;
	}
	for (size_t i = 0; i < t->comms.n; i++)
		if (all[i].any && t->rank >= 0)
			emit(t, &all[i], &t->comms.p[i]);
	free(all);
	return 0;
}
