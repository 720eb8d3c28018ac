/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sim_timeline.h: dependencies and times. The device thread that completes what is settled stands in sim_engine.c;
 * the two share sim_engine.h.
 *
 * An operation is on at most one list at a time, in this order of life: waiting (on nothing, reached by its
 * predecessors' edges), starts (open, until the clock reaches its start), polled (open), ends (settled, until the clock
 * reaches its end), done.
 */
#include "simgpu/core/sim_timeline.h"

#include "simgpu/core/sim_engine.h"
#include "simgpu/core/sim_model.h"

#include <stdlib.h>
#include <string.h>

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;

struct sim_edge {
	struct sim_work *to;
	struct sim_edge *next;
};

static struct {
	struct sim_work *free_work;
	struct sim_edge *free_edge;
	uint64_t numbers;
	int64_t hold_until_ns; /* 0 = nothing was submitted yet */
} line;

void sim_enter(void)
{
	pthread_mutex_lock(&sim_lock);
}

void sim_leave(void)
{
	pthread_mutex_unlock(&sim_lock);
}

struct sim_work *sim_work_new(void)
{
	struct sim_work *w = line.free_work;

	if (!w) {
		enum { BATCH = 64 };
		w = sim_alloc(
			BATCH *
			sizeof(*w)); /* kept for ever: operations come and go by the million */
		for (int i = 0; i < BATCH - 1; i++)
			w[i].next = &w[i + 1];
	}
	line.free_work = w->next;
	memset(w, 0, sizeof(*w));
	w->op.tag = "";
	w->refs = 1;
	w->number = ++line.numbers;
	return w;
}

void sim_work_unref(struct sim_work *w)
{
	if (--w->refs)
		return;
	if (w->behaviour && w->behaviour->release)
		w->behaviour->release(w);
	w->next = line.free_work;
	line.free_work = w;
}

static void add_edge(struct sim_work *from, struct sim_work *to)
{
	struct sim_edge *e = line.free_edge;

	if (!e) {
		enum { BATCH = 256 };
		e = sim_alloc(BATCH * sizeof(*e));
		for (int i = 0; i < BATCH - 1; i++)
			e[i].next = &e[i + 1];
	}
	line.free_edge = e->next;
	e->to = to;
	e->next = from->followers;
	from->followers = e;
	to->waits++;
}

/* A point whose operation has closed meanwhile becomes a plain time. */
static void refresh(struct sim_point *p)
{
	if (p->open && p->open->state >= SIM_SETTLED) {
		struct sim_work *w = p->open;
		p->ns = sim_max(p->ns, w->op.end_ns);
		p->open = NULL;
		sim_work_unref(w);
	}
}

void sim_point_clear(struct sim_point *p)
{
	if (p->open)
		sim_work_unref(p->open);
	p->open = NULL;
	p->ns = 0;
}

void sim_point_set(struct sim_point *p, struct sim_work *w)
{
	w->refs++;
	sim_point_clear(p);
	p->open = w;
	refresh(p);
}

void sim_point_copy(struct sim_point *to, struct sim_point *from)
{
	refresh(from);
	if (from->open)
		from->open->refs++;
	sim_point_clear(to);
	*to = *from;
}

void sim_point_at_least(struct sim_point *p, int64_t ns)
{
	p->ns = sim_max(p->ns, ns);
}

void sim_point_join(struct sim_point *into, struct sim_point *other)
{
	refresh(into);
	refresh(other);
	if (!other->open || other->open == into->open) {
		into->ns = sim_max(into->ns, other->ns);
	} else if (!into->open) {
		other->open->refs++;
		into->open = other->open;
		into->ns = sim_max(into->ns, other->ns);
	} else {
		struct sim_work *marker = sim_work_new();
		sim_work_after(marker, into);
		sim_work_after(marker, other);
		marker->refs++;
		sim_work_submit(marker, 0);
		sim_point_set(into, marker);
		sim_work_unref(marker);
	}
}

void sim_work_after(struct sim_work *w, struct sim_point *p)
{
	refresh(p);
	w->floor_ns = sim_max(w->floor_ns, p->ns);
	if (p->open)
		add_edge(p->open, w);
}

int64_t sim_earliest(int64_t submit_ns)
{
	if (!line.hold_until_ns)
		line.hold_until_ns = sim_settings.hold_ns ? submit_ns + sim_settings.hold_ns : 1;
	return sim_max(submit_ns, line.hold_until_ns);
}

/* Start is known. Followers that become ready are pushed on *ready, never recursed into: chains are long. */
static void settle(struct sim_work *w, struct sim_work **ready)
{
	const struct sim_behaviour *b = w->behaviour;
	bool marker = !w->op.kind && !b;

	w->op.start_ns = marker ? w->floor_ns
				: sim_max(w->floor_ns, sim_max(w->op.submit_ns + w->latency_ns,
							       sim_earliest(w->op.submit_ns)));
	if (b && b->open) {
		w->state = SIM_OPEN;
		sim_push_start(w);
		return;
	}
	w->op.end_ns = w->op.start_ns + w->duration_ns;
	sim_work_settled(w, ready);
}

/* The end is known. */
void sim_work_settled(struct sim_work *w, struct sim_work **ready)
{
	struct sim_edge *e;

	w->state = SIM_SETTLED;
	while ((e = w->followers)) {
		struct sim_work *to = e->to;
		w->followers = e->next;
		e->next = line.free_edge;
		line.free_edge = e;
		to->floor_ns = sim_max(to->floor_ns, w->op.end_ns);
		if (!--to->waits && to->state == SIM_WAITING) {
			to->next = *ready;
			*ready = to;
		}
	}
	if (w->op.kind || w->behaviour) {
		sim_push_end(w);
	} else {
		w->state = SIM_DONE;
		sim_work_unref(w);
	}
}

void sim_settle_all(struct sim_work *ready)
{
	while (ready) {
		struct sim_work *w = ready;
		ready = w->next;
		w->next = NULL;
		settle(w, &ready);
	}
}

void sim_work_submit(struct sim_work *w, int64_t submit_ns)
{
	w->op.submit_ns = submit_ns;
	w->state = SIM_WAITING;
	if (!w->waits)
		sim_settle_all(w);
}

void sim_work_close(struct sim_work *w, int64_t end_ns)
{
	struct sim_work *ready = NULL;

	w->op.end_ns = sim_max(end_ns, w->op.start_ns);
	sim_work_settled(w, &ready);
	sim_settle_all(ready);
	sim_kick();
}

bool sim_point_done(struct sim_point *p, int64_t now_ns)
{
	refresh(p);
	return !p->open && p->ns <= now_ns && sim_completed_beyond(p->ns);
}

bool sim_point_wait(struct sim_point *p)
{
	while (!sim_point_done(p, sim_now_ns()))
		if (!sim_sleep_for(p->open ? SIM_NEVER : p->ns))
			return false;
	return true;
}
