/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of a job's processes. Moments that two processes share are the ends of matched operations that end
 * everywhere at once; where those tie nothing, the ends of a send and its receive. Recordings of our own on one host,
 * and processes in one export of Nsight Systems, share its clock, unless the ends say that a device keeps another.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/wt_err.h"
#include "ranks/ranks_impl.h"

#define SHARED_NS	2000 /* two readings of one clock; conversion from ticks is within 0.1 us */
#define HOST_SKEW_NS	1000 /* residual said for a host's clock that no end confirms */
#define LINKS_LEAST	16
#define LINKS_RESIDUALS 10

struct samples {
	struct wt_clock_sample *rows;
	size_t n, room;
};

static int sample_add(struct samples *s, const struct wt_ranks *r, const struct wt_part *x,
		      const struct wt_part *y)
{
	uint32_t a = r->seats[x->seat].process, b = r->seats[y->seat].process;

	if (a == b)
		return 0;
	if (s->n == s->room) {
		size_t room = s->room * 2 + 256;
		struct wt_clock_sample *rows = realloc(s->rows, room * sizeof(*rows));

		if (!rows)
			return -WT_E_NOMEM;
		s->rows = rows;
		s->room = room;
	}
	s->rows[s->n++] = a < b ? (struct wt_clock_sample){a, b, x->end_ns, y->end_ns}
				: (struct wt_clock_sample){b, a, y->end_ns, x->end_ns};
	return 0;
}

/* Every part against the first of its instance. */
static int sample_instances(const struct wt_ranks *r, struct samples *s)
{
	const struct wt_matches *m = &r->matches;
	int err = 0;

	for (size_t i = 0; !err && i < m->ninstances; i++) {
		const struct wt_instance *x = &m->instances[i];
		const struct wt_part *first = NULL;

		if (m->comms[x->comm].uneven)
			continue;
		for (uint32_t k = 0; !err && k < x->n; k++) {
			const struct wt_part *p = &r->parts[m->order[x->first + k]];

			if (!wt_match_syncs(p->op) || !wt_part_timed(p))
				continue;
			if (first)
				err = sample_add(s, r, first, p);
			else
				first = p;
		}
	}
	return err;
}

static int sample_links(struct wt_ranks *r, struct samples *s)
{
	struct wt_link *links = NULL;
	size_t n = 0;
	int err = wt_ranks_links(r, &links, &n);

	for (size_t i = 0; !err && i < n; i++) {
		const struct wt_part *p = &r->parts[links[i].lead], *q = &r->parts[links[i].other];

		if (links[i].lead < links[i].other && wt_part_timed(p) && wt_part_timed(q))
			err = sample_add(s, r, p, q);
	}
	free(links);
	return err;
}

/*
 * Nsight Systems records a machine, and puts all its processes on one clock. Of other tools' files, each has a clock of
 * its own, whatever host they name.
 */
static int one_host(const struct wt_timeline *tl, const struct wt_process *a,
		    const struct wt_process *b)
{
	if (!a->host || a->host != b->host)
		return 0;
	return (a->level >= 0 && b->level >= 0) ||
	       !strncmp(wt_timeline_string(tl, a->host), WT_HOST_OF_EXPORT,
			sizeof(WT_HOST_OF_EXPORT) - 1);
}

/* Recordings of our own on one host: no more difference than two readings of a clock have is none. */
static void share_hosts(struct wt_ranks *r)
{
	const struct wt_timeline *tl = r->tl;

	for (size_t i = 0; i < tl->nprocesses; i++) {
		struct wt_clock *c = &r->clocks[i];
		int64_t most = c->residual_ns > SHARED_NS ? c->residual_ns : SHARED_NS;

		if (c->state == WT_CLOCK_FITTED &&
		    one_host(tl, &tl->processes[i], &tl->processes[c->root]) && c->drift == 0 &&
		    c->offset_ns <= most && c->offset_ns >= -most) {
			c->state = WT_CLOCK_SHARED;
			c->offset_ns = 0;
		}
	}
	for (size_t i = 0; i < tl->nprocesses; i++) {
		size_t k = 0;

		if (r->clocks[i].state != WT_CLOCK_UNKNOWN)
			continue;
		while (k < i && !(one_host(tl, &tl->processes[i], &tl->processes[k]) &&
				  r->clocks[k].state != WT_CLOCK_FITTED))
			k++;
		if (k == i)
			continue;
		if (r->clocks[k].state == WT_CLOCK_UNKNOWN)
			r->clocks[k].state = WT_CLOCK_ROOT;
		r->clocks[i] = r->clocks[k];
		r->clocks[i].state = WT_CLOCK_SHARED;
		r->clocks[i].samples = 0;
		if (r->clocks[i].residual_ns < HOST_SKEW_NS)
			r->clocks[i].residual_ns = HOST_SKEW_NS;
	}
}

/* Clocks by the ends of sends and receives, where they must or do say more than the host does. */
static int use_links(struct wt_ranks *r, struct samples *s)
{
	size_t n = r->tl->nprocesses;
	struct wt_clock *linked = calloc(n + 1, sizeof(*linked));
	int err = linked ? sample_links(r, s) : -WT_E_NOMEM, better = 0;

	err = err ? err : wt_clocks_fit(s->rows, s->n, linked, n);
	for (size_t i = 0; !err && i < r->nseats; i++) {
		const struct wt_clock *c = &r->clocks[r->seats[i].process],
				      *k = &linked[r->seats[i].process];
		int64_t apart_ns = k->offset_ns < 0 ? -k->offset_ns : k->offset_ns;

		if (k->state != WT_CLOCK_FITTED)
			continue;
		/* A send may be over long before its receive: only many that agree outweigh a common host. */
		better |=
			c->state == WT_CLOCK_UNKNOWN ||
			(c->state == WT_CLOCK_SHARED && !c->samples && k->samples >= LINKS_LEAST &&
			 apart_ns > LINKS_RESIDUALS * k->residual_ns + SHARED_NS);
	}
	if (better) {
		free(r->clocks);
		r->clocks = linked;
		share_hosts(r);
	} else {
		free(linked);
	}
	return err;
}

int wt_ranks_clocks(struct wt_ranks *r)
{
	size_t n = r->tl->nprocesses;
	struct samples s = {.n = 0};
	int err = sample_instances(r, &s);

	r->clocks = calloc(n + 1, sizeof(*r->clocks));
	err = r->clocks ? err : -WT_E_NOMEM;
	err = err ? err : wt_clocks_fit(s.rows, s.n, r->clocks, n);
	if (!err) {
		share_hosts(r);
		err = use_links(r, &s);
	}
	free(s.rows);
	for (size_t i = 0; !err && i < r->nseats; i++)
		if (r->clocks[r->seats[i].process].residual_ns > r->residual_ns)
			r->residual_ns = r->clocks[r->seats[i].process].residual_ns;
	return err;
}

int wt_ranks_comparable(const struct wt_ranks *r, uint32_t seat_a, uint32_t seat_b)
{
	uint16_t a = r->seats[seat_a].process, b = r->seats[seat_b].process;

	return a == b ||
	       (r->clocks[a].state != WT_CLOCK_UNKNOWN && r->clocks[a].root == r->clocks[b].root);
}

int64_t wt_ranks_on_clock(const struct wt_ranks *r, uint32_t from_seat, int64_t ns,
			  uint32_t to_seat)
{
	uint16_t a = r->seats[from_seat].process, b = r->seats[to_seat].process;

	return a == b ? ns : wt_clock_from_root(&r->clocks[b], wt_clock_to_root(&r->clocks[a], ns));
}
