/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfer and waiting of matched collectives. Where every rank ends when all have come, the last to come is the one
 * whose kernel is shortest: its length is the transfer, what others took longer is waiting, at the front of their
 * kernels. No clock is needed for that. From a root or to it, only the start of those awaited counts, on comparable
 * clocks: the root's for the others, and theirs for the root, whose buffers hold little of what nobody takes yet.
 */
#include <stdlib.h>

#include "proto/wt_err.h"
#include "ranks/ranks_impl.h"
#include "ranks/reference.h"

#define ENDS_LEAST_NS  50000 /* ends this near each other are always together */
#define ENDS_RESIDUALS 10

static struct wt_part *part_at(struct wt_ranks *r, const struct wt_matches *m,
			       const struct wt_instance *x, uint32_t k)
{
	return &r->parts[m->order[x->first + k]];
}

static void refuse(struct wt_ranks *r, const struct wt_matches *m, const struct wt_instance *x,
		   enum wt_unmatched why)
{
	for (uint32_t k = 0; k < x->n; k++) {
		part_at(r, m, x, k)->why = why;
		part_at(r, m, x, k)->last = -1;
		part_at(r, m, x, k)->wait_ns = 0;
	}
}

/* Last less first end, on one clock; -1 if the clocks cannot be compared. */
static int64_t end_spread(const struct wt_ranks *r, const struct wt_matches *m,
			  const struct wt_instance *x)
{
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
	uint32_t seat = UINT32_MAX;

	for (uint32_t k = 0; k < x->n; k++) {
		const struct wt_part *p = &r->parts[m->order[x->first + k]];
		int64_t ns;

		if (!wt_part_timed(p))
			continue;
		seat = seat == UINT32_MAX ? p->seat : seat;
		if (!wt_ranks_comparable(r, seat, p->seat))
			return -1;
		ns = wt_ranks_on_clock(r, p->seat, p->end_ns, seat);
		first_ns = ns < first_ns ? ns : first_ns;
		last_ns = ns > last_ns ? ns : last_ns;
	}
	return seat == UINT32_MAX ? -1 : last_ns - first_ns; /* none has times: dumps */
}

static int unequal(const struct wt_ranks *r, const struct wt_matches *m,
		   const struct wt_instance *x)
{
	for (uint32_t k = 1; k < x->n; k++)
		if (r->parts[m->order[x->first + k]].bytes != r->parts[m->order[x->first]].bytes)
			return 1;
	return 0;
}

/* The shortest kernel's; of equal ones the one of the lowest seat. -1: fewer than two have times. */
static int32_t shortest(const struct wt_ranks *r, const struct wt_matches *m,
			const struct wt_instance *x)
{
	int32_t best = -1;
	uint32_t timed = 0;

	for (uint32_t k = 0; k < x->n; k++) {
		uint32_t i = m->order[x->first + k];
		const struct wt_part *p = &r->parts[i];

		if (!wt_part_timed(p))
			continue;
		timed++;
		if (best < 0 ||
		    p->end_ns - p->start_ns < r->parts[best].end_ns - r->parts[best].start_ns)
			best = (int32_t)i;
	}
	return timed > 1 ? best : -1;
}

static void set_grade(struct wt_part *p, const struct wt_instance *x)
{
	p->leaf = WT_B3;
	p->grade = p->flags & (WT_PART_COUNTED | WT_PART_FALLBACK | WT_PART_FAMILY) ||
				   x->n != p->nranks
			   ? 2
			   : 3;
}

static void split_synced(struct wt_ranks *r, const struct wt_matches *m,
			 const struct wt_instance *x)
{
	int32_t last = shortest(r, m, x);
	int64_t t_ns, peak_ns, ideal_ns, spread_ns = end_spread(r, m, x), allowed_ns;
	const struct wt_part *q;

	if (last < 0) {
		refuse(r, m, x, WT_UNMATCHED_UNTIMED);
		return;
	}
	q = &r->parts[last];
	t_ns = q->end_ns - q->start_ns;
	if (q->op == WT_COLL_ALL_TO_ALL && unequal(r, m, x)) {
		refuse(r, m, x, WT_UNMATCHED_SIZES);
		return;
	}
	allowed_ns = ENDS_RESIDUALS * r->residual_ns + t_ns / 2;
	allowed_ns = allowed_ns > ENDS_LEAST_NS ? allowed_ns : ENDS_LEAST_NS;
	if (spread_ns > allowed_ns) {
		refuse(r, m, x, WT_UNMATCHED_ENDS);
		return;
	}
	/* Numbers that may be shifted, and names, prove nothing without ends that agree. */
	if (spread_ns < 0 && (m->comms[x->comm].uneven || q->flags & WT_PART_FAMILY)) {
		refuse(r, m, x, WT_UNMATCHED_CLOCKS);
		return;
	}
	ideal_ns = wt_reference_ns(
		wt_timeline_string(r->tl, r->tl->devices[r->seats[q->seat].device].name), q->op,
		q->nranks, q->bytes, &peak_ns);
	if (peak_ns > 0 && t_ns < peak_ns - peak_ns / 20) {
		refuse(r, m, x, WT_UNMATCHED_PEAK);
		return;
	}
	for (uint32_t k = 0; k < x->n; k++) {
		struct wt_part *p = part_at(r, m, x, k);

		if (!wt_part_timed(p)) {
			p->why = WT_UNMATCHED_UNTIMED;
			continue;
		}
		p->wait_ns = p->end_ns - p->start_ns - t_ns;
		p->last = p->wait_ns ? last : -1;
		p->ideal_ns = ideal_ns < 0 ? -1 : ideal_ns < t_ns ? ideal_ns : t_ns;
		set_grade(p, x);
	}
}

/* p waits for q's start. */
static void wait_for(struct wt_ranks *r, struct wt_part *p, uint32_t q_index)
{
	const struct wt_part *q = &r->parts[q_index];
	int64_t ns = wt_ranks_on_clock(r, q->seat, q->start_ns, p->seat) - p->start_ns;

	/* One that had ended by then did not wait: what it sent lay in a buffer. */
	if (ns <= p->wait_ns || ns >= p->end_ns - p->start_ns)
		return;
	p->wait_ns = ns;
	p->last = (int32_t)q_index;
}

/*
 * Broadcast, scatter, reduce, gather: nothing moves between the root and another before both are there. Broadcast and
 * reduce go along a chain of all: one that is missing stops those behind it, and those before it when buffers are full.
 */
static void split_rooted(struct wt_ranks *r, const struct wt_matches *m,
			 const struct wt_instance *x)
{
	int32_t root = -1, root_rank = -1;
	int chain;

	for (uint32_t k = 0; k < x->n; k++) {
		uint32_t i = m->order[x->first + k];
		const struct wt_collective *c = &r->tl->collectives[i];

		root_rank = c->peer;
		if (c->peer >= 0 && (uint32_t)c->peer == c->rank && wt_part_timed(&r->parts[i]))
			root = (int32_t)i;
	}
	if (root < 0) {
		refuse(r, m, x, root_rank < 0 ? WT_UNMATCHED_ROOT : WT_UNMATCHED_UNTIMED);
		return;
	}
	chain = r->parts[root].op == WT_COLL_BROADCAST || r->parts[root].op == WT_COLL_REDUCE;
	for (uint32_t k = 0; k < x->n; k++) {
		uint32_t i = m->order[x->first + k];
		struct wt_part *p = &r->parts[i];

		if (!wt_part_timed(p))
			p->why = WT_UNMATCHED_UNTIMED;
		else if (!wt_ranks_comparable(r, p->seat, r->parts[root].seat))
			p->why = WT_UNMATCHED_CLOCKS;
		if (p->why)
			continue;
		set_grade(p, x);
		p->grade = 2;
		if ((int32_t)i == root)
			continue;
		wait_for(r, p, (uint32_t)root);
		wait_for(r, &r->parts[root], i);
		for (uint32_t o = 0; chain && o < x->n; o++) {
			uint32_t other = m->order[x->first + o];

			if (wt_part_timed(&r->parts[other]) &&
			    wt_ranks_comparable(r, p->seat, r->parts[other].seat))
				wait_for(r, p, other);
		}
	}
}

static void split_all(struct wt_ranks *r, const struct wt_matches *m)
{
	for (size_t i = 0; i < m->ninstances; i++) {
		const struct wt_instance *x = &m->instances[i];

		if (wt_match_syncs(r->parts[m->order[x->first]].op))
			split_synced(r, m, x);
		else
			split_rooted(r, m, x);
	}
}

int wt_ranks_waits(struct wt_ranks *r)
{
	split_all(r, &r->matches);
	/* The parts of families lie behind the collectives, and their order counts from there. */
	for (size_t i = 0; i < r->families.norder; i++)
		r->families.order[i] += (uint32_t)r->tl->ncollectives;
	split_all(r, &r->families);
	return 0;
}
