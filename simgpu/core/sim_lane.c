/* SPDX-License-Identifier: Apache-2.0 */
/* See sim_lane.h. */
#include "simgpu/core/sim_lane.h"

#include "simgpu/core/sim_model.h"

#include <string.h>

void sim_space_init(struct sim_space *s, uint32_t id, uint32_t device)
{
	memset(s, 0, sizeof(*s));
	s->id = id;
	s->device = device;
	s->next_lane_id = SIM_DEFAULT_STREAM_ID;
	s->legacy.space = s;
	s->legacy.id = s->next_lane_id++;
	s->legacy.blocking = true;
}

void sim_lane_init(struct sim_lane *l, struct sim_space *s, bool blocking)
{
	memset(l, 0, sizeof(*l));
	l->space = s;
	l->id = s->next_lane_id++;
	l->blocking = blocking;
	l->next = s->lanes;
	l->link = &s->lanes;
	if (l->next)
		l->next->link = &l->next;
	s->lanes = l;
}

void sim_lane_release(struct sim_lane *l)
{
	sim_point_join(l->blocking ? &l->space->blocking_orphans : &l->space->orphans, &l->tail);
	sim_point_clear(&l->tail);
	*l->link = l->next;
	if (l->next)
		l->next->link = l->link;
}

static bool is_legacy(const struct sim_lane *l)
{
	return l == &l->space->legacy;
}

void sim_lane_submit(struct sim_lane *l, struct sim_work *w, int64_t submit_ns)
{
	sim_work_after(w, &l->tail);
	if (is_legacy(l)) {
		sim_work_after(w, &l->space->blocking_orphans);
		for (struct sim_lane *o = l->space->lanes; o; o = o->next)
			if (o->blocking)
				sim_work_after(w, &o->tail);
	} else if (l->blocking) {
		sim_work_after(w, &l->space->legacy.tail);
	}
	w->op.device = l->space->device;
	w->op.context = l->space->id;
	w->op.stream = l->id;
	w->lane = l;
	l->queued++;
	w->refs++;
	sim_work_submit(w, submit_ns);
	sim_point_set(&l->tail, w);
	sim_work_unref(w);
}

void sim_lane_now(struct sim_lane *l, struct sim_point *ret)
{
	sim_point_copy(ret, &l->tail);
	if (is_legacy(l)) {
		sim_point_join(ret, &l->space->blocking_orphans);
		for (struct sim_lane *o = l->space->lanes; o; o = o->next)
			if (o->blocking)
				sim_point_join(ret, &o->tail);
	} else if (l->blocking) {
		sim_point_join(ret, &l->space->legacy.tail);
	}
}

void sim_lane_wait(struct sim_lane *l, struct sim_point *p)
{
	sim_point_join(&l->tail, p);
}

void sim_space_now(struct sim_space *s, struct sim_point *ret)
{
	sim_point_copy(ret, &s->legacy.tail);
	sim_point_join(ret, &s->orphans);
	sim_point_join(ret, &s->blocking_orphans);
	for (struct sim_lane *l = s->lanes; l; l = l->next)
		sim_point_join(ret, &l->tail);
}

void sim_lane_throttle(struct sim_lane *l)
{
	while (l->queued >= sim_settings.queue && sim_earliest(0) <= sim_now_ns() &&
	       sim_wait_progress())
		;
}
