/* SPDX-License-Identifier: Apache-2.0 */
/* See progress.h. Ranks are the nodes; who waits is found per communicator, so the work is linear in the rows. */
#define _GNU_SOURCE /* qsort_r */
#include "ranks/progress.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "proto/wt_err.h"

#define NOBODY INT64_MAX

struct node {
	int32_t rank;
	uint8_t dump, waits, wanted;
	struct wt_suspect worst; /* where most wait for it */
};
/* A member of a communicator and where it stood. */
struct place {
	uint32_t comm, node;
	int32_t place;
	int64_t called, finished; /* -1 = nothing */
	uint8_t known;
};
struct build {
	const struct wt_timeline *tl;
	struct wt_progress *p;
	struct wt_map comm_of, node_of, place_of,
		at_place; /* hash; rank; (comm, rank); (comm, place) */
	struct node *nodes;
	size_t nnodes;
	struct place *places; /* by (comm, place) */
	size_t nplaces;
	int failed;
};

static uint64_t pair_key(uint64_t a, uint64_t b)
{
	return wt_mix64(a ^ wt_mix64(b + 1));
}

static uint32_t comm_index(struct build *b, uint64_t comm)
{
	int isnew;
	uint32_t *at = wt_map_slot(&b->comm_of, comm, (uint32_t)b->p->ncomms, &isnew);

	if (!at) {
		b->failed = 1;
		return 0;
	}
	if (isnew)
		b->p->comms[b->p->ncomms++] = (struct wt_progress_comm){.comm = comm, .agrees = 1};
	return *at;
}

static uint32_t node_index(struct build *b, int32_t rank)
{
	int isnew;
	uint32_t *at = wt_map_slot(&b->node_of, (uint64_t)rank, (uint32_t)b->nnodes, &isnew);

	if (!at) {
		b->failed = 1;
		return 0;
	}
	if (isnew)
		b->nodes[b->nnodes++] = (struct node){.rank = rank};
	return *at;
}

static uint32_t place_index(struct build *b, uint32_t comm, int32_t rank, int32_t where)
{
	int isnew;
	uint32_t *at = wt_map_slot(&b->place_of, pair_key(comm, (uint64_t)rank),
				   (uint32_t)b->nplaces, &isnew);

	if (!at) {
		b->failed = 1;
		return 0;
	}
	if (!isnew)
		return *at;
	b->places[b->nplaces] = (struct place){.comm = comm,
					       .node = node_index(b, rank),
					       .place = where,
					       .called = -1,
					       .finished = -1};
	if (where >= 0 &&
	    wt_map_put(&b->at_place, pair_key(comm, (uint64_t)where), (uint32_t)b->nplaces))
		b->failed = 1;
	b->p->comms[comm].members++;
	return (uint32_t)b->nplaces++;
}

static void fill(struct build *b)
{
	const struct wt_timeline *tl = b->tl;

	for (size_t i = 0; i < tl->nstandings; i++) {
		const struct wt_standing *s = &tl->standings[i];
		struct wt_progress_comm *c = &b->p->comms[comm_index(b, s->comm)];

		c->group = s->group ? s->group : c->group;
		c->p2p |= s->p2p;
	}
	for (size_t i = 0; i < tl->nmembers; i++) {
		uint32_t comm;

		if (wt_map_get(&b->comm_of, tl->members[i].comm, &comm))
			place_index(b, comm, tl->members[i].rank, tl->members[i].place);
	}
	for (size_t i = 0; i < tl->nstandings && !b->failed; i++) {
		const struct wt_standing *s = &tl->standings[i];
		int32_t rank = tl->processes[s->process].rank;
		struct place *p;

		if (rank < 0)
			continue;
		p = &b->places[place_index(b, comm_index(b, s->comm), rank, -1)];
		p->known = 1;
		/* Of two dumps of one rank the later state counts. */
		p->called = s->enqueued > p->called ? s->enqueued : p->called;
		p->finished = s->completed > p->finished ? s->completed : p->finished;
	}
	/* A dump without anything is one too: it is the most telling. */
	for (size_t i = 0; i < tl->nprocesses; i++) {
		uint32_t node;

		if (tl->processes[i].rank >= 0 &&
		    wt_map_get(&b->node_of, (uint64_t)tl->processes[i].rank, &node))
			b->nodes[node].dump = 1;
	}
}

static int by_comm(const void *pa, const void *pb)
{
	const struct place *x = pa, *y = pb;

	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/* ---- who waits for whom ---- */

static void want(struct build *b, const struct place *q, uint8_t why, int64_t seq, uint32_t waiting)
{
	struct node *n = &b->nodes[q->node];

	n->wanted = 1;
	/* The more telling reason; among equals the larger crowd. */
	if (n->worst.why &&
	    (n->worst.why < why || (n->worst.why == why && n->worst.waiting >= waiting)))
		return;
	n->worst = (struct wt_suspect){
		.rank = n->rank, .why = why, .comm = q->comm, .seq = seq, .waiting = waiting};
}

/* What all dumps of a communicator together say. */
static void sum_up(struct build *b, struct wt_progress_comm *c, const struct place *p, size_t n)
{
	c->least_called = c->least_finished = NOBODY;
	c->most_called = c->most_finished = -1;
	for (size_t i = 0; i < n; i++) {
		if (!b->nodes[p[i].node].dump)
			continue;
		c->dumps++;
		c->least_called = p[i].called < c->least_called ? p[i].called : c->least_called;
		c->least_finished =
			p[i].finished < c->least_finished ? p[i].finished : c->least_finished;
		c->most_called = c->most_called < p[i].called ? p[i].called : c->most_called;
		c->most_finished =
			c->most_finished < p[i].finished ? p[i].finished : c->most_finished;
	}
	if (!c->dumps) {
		c->least_called = c->least_finished = -1;
		return;
	}
	if (c->p2p) /* each rank has its own number of sends and receives */
		return;
	c->agrees = c->least_called == c->most_called && c->least_finished == c->most_finished;
	c->everywhere = c->least_called > c->least_finished
				? (uint64_t)(c->least_called - c->least_finished)
				: 0;
	c->somewhere = (uint64_t)(c->most_called - c->least_called);
}

/* How many of the communicator wait for the collective after `finished`. */
static uint32_t count_waiting(const struct place *p, size_t n, int64_t finished)
{
	uint32_t waiting = 0;

	for (size_t i = 0; i < n; i++)
		waiting += p[i].known && p[i].called > p[i].finished && p[i].finished >= finished;
	return waiting;
}

static void judge_member(struct build *b, const struct place *p, size_t n, const struct place *q,
			 int64_t front)
{
	if (q->known && q->finished < q->called && q->finished < front)
		want(b, q, WT_SUSPECT_NOT_FINISHED, q->finished + 1,
		     count_waiting(p, n, q->finished + 1));
	else if (q->called <= front)
		want(b, q, WT_SUSPECT_NOT_CALLED, q->known ? q->called + 1 : front + 1,
		     count_waiting(p, n, q->called));
}

static int is_pending(const struct place *p)
{
	return p->known && p->called > p->finished;
}

static void judge_comm(struct build *b, struct wt_progress_comm *c, const struct place *p, size_t n)
{
	int64_t front = INT64_MIN; /* the farthest of those that wait */
	int any = 0;

	for (size_t i = 0; i < n; i++)
		if (is_pending(&p[i]) && p[i].finished > front)
			front = p[i].finished;
	if (front == INT64_MIN)
		return;
	for (size_t i = 0; i < n; i++) {
		if (!b->nodes[p[i].node].dump)
			continue;
		if (is_pending(&p[i]) &&
		    (c->least_finished < p[i].finished || c->least_called <= p[i].finished))
			b->nodes[p[i].node].waits = any = 1;
		judge_member(b, p, n, &p[i], front);
	}
	if (any || c->dumps == c->members)
		return;
	/* Somebody waits, none of those we know is behind: then it may be one of those we do not know. */
	for (size_t i = 0; i < n; i++) {
		if (b->nodes[p[i].node].dump)
			b->nodes[p[i].node].waits |= is_pending(&p[i]);
		else
			want(b, &p[i], WT_SUSPECT_NO_DUMP, front + 1, count_waiting(p, n, front));
	}
}

static void judge_comms(struct build *b)
{
	for (size_t i = 0, end; i < b->nplaces; i = end) {
		struct wt_progress_comm *c = &b->p->comms[b->places[i].comm];

		for (end = i + 1; end < b->nplaces && b->places[end].comm == b->places[i].comm;)
			end++;
		sum_up(b, c, &b->places[i], end - i);
		if (!c->p2p && c->dumps)
			judge_comm(b, c, &b->places[i], end - i);
	}
}

/* ---- sends and receives ---- */

struct channel {
	uint32_t from, to; /* places */
	int64_t sends, receives;
};

/* The places of a send's or receive's two sides: 1, or 0 if they are not known. */
static int sides(const struct build *b, const struct wt_collective *c, uint32_t *ret_own,
		 uint32_t *ret_other)
{
	int32_t rank = b->tl->processes[c->process].rank;
	uint32_t comm;

	return rank >= 0 && c->peer >= 0 && !(c->flags & WT_COLL_COMPLETED) &&
	       wt_map_get(&b->comm_of, c->comm, &comm) &&
	       wt_map_get(&b->place_of, pair_key(comm, (uint64_t)rank), ret_own) &&
	       wt_map_get(&b->at_place, pair_key(comm, (uint64_t)c->peer), ret_other);
}

static void judge_channels(struct build *b)
{
	struct wt_map map = {.count = 0};
	struct channel *channels = calloc(b->tl->ncollectives + 1, sizeof(*channels));
	size_t n = 0;

	for (size_t i = 0; channels && i < b->tl->ncollectives; i++) {
		const struct wt_collective *c = &b->tl->collectives[i];
		uint32_t own, other, from, to, *at;
		int isnew;

		if ((c->op != WT_COLL_SEND && c->op != WT_COLL_RECV) || !sides(b, c, &own, &other))
			continue;
		from = c->op == WT_COLL_SEND ? own : other;
		to = c->op == WT_COLL_SEND ? other : own;
		at = wt_map_slot(&map, (uint64_t)from << 32 | to, (uint32_t)n, &isnew);
		if (!at) {
			b->failed = 1;
			break;
		}
		if (isnew)
			channels[n++] = (struct channel){.from = from, .to = to};
		channels[*at].sends += c->op == WT_COLL_SEND;
		channels[*at].receives += c->op == WT_COLL_RECV;
	}
	b->failed |= !channels;
	for (size_t i = 0; i < n; i++) {
		const struct channel *h = &channels[i];
		const struct place *waits = &b->places[h->sends > h->receives ? h->from : h->to];
		const struct place *behind = &b->places[h->sends > h->receives ? h->to : h->from];

		if (h->sends == h->receives)
			continue;
		b->nodes[waits->node].waits = 1;
		if (b->nodes[behind->node].dump)
			want(b, behind, WT_SUSPECT_UNPAIRED, -1, 1);
		b->p->comms[waits->comm].agrees = 0;
	}
	wt_map_release(&map);
	free(channels);
}

/* ---- one number, two operations ---- */

static int by_number(const void *pa, const void *pb, void *arg)
{
	const struct wt_timeline *tl = arg;
	const struct wt_collective *x = &tl->collectives[*(const uint32_t *)pa],
				   *y = &tl->collectives[*(const uint32_t *)pb];

	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

static int differ(const struct wt_collective *x, const struct wt_collective *y)
{
	if (x->op != y->op)
		return 1;
	/* All-to-all, gather and scatter may have sizes of their own on each rank. */
	if (x->op != WT_COLL_ALL_REDUCE && x->op != WT_COLL_ALL_GATHER &&
	    x->op != WT_COLL_REDUCE_SCATTER && x->op != WT_COLL_BROADCAST &&
	    x->op != WT_COLL_REDUCE)
		return 0;
	return x->dtype != y->dtype || x->count != y->count;
}

static void find_mismatches(struct build *b)
{
	const struct wt_timeline *tl = b->tl;
	uint32_t *order = malloc((tl->ncollectives + 1) * sizeof(*order));
	size_t n = 0;
	uint32_t comm, last = UINT32_MAX;

	b->p->mismatches = calloc(b->p->ncomms + 1, sizeof(*b->p->mismatches));
	if (!order || !b->p->mismatches) {
		b->failed = 1;
		free(order);
		return;
	}
	for (size_t i = 0; i < tl->ncollectives; i++)
		if (tl->collectives[i].op != WT_COLL_SEND &&
		    tl->collectives[i].op != WT_COLL_RECV && tl->collectives[i].op != WT_COLL_NONE)
			order[n++] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), by_number, (void *)tl);
	for (size_t i = 1; i < n; i++) {
		const struct wt_collective *x = &tl->collectives[order[i - 1]],
					   *y = &tl->collectives[order[i]];

		if (x->comm != y->comm || x->seq != y->seq || x->process == y->process ||
		    !differ(x, y) || !wt_map_get(&b->comm_of, x->comm, &comm) || comm == last)
			continue;
		last = comm;
		b->p->mismatches[b->p->nmismatches++] = (struct wt_mismatch){
			.comm = comm, .seq = x->seq, .a = order[i - 1], .b = order[i]};
	}
	free(order);
}

/* ---- the verdict ---- */

static int by_rank(const void *pa, const void *pb)
{
	const struct wt_suspect *x = pa, *y = pb;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_value(const void *pa, const void *pb)
{
	int32_t x = *(const int32_t *)pa, y = *(const int32_t *)pb;

	return (x > y) - (x < y);
}

static void choose(struct build *b)
{
	struct wt_progress *p = b->p;

	for (int circle = 0; circle < 2 && !p->nsuspects; circle++)
		for (size_t i = 0; i < b->nnodes; i++) {
			const struct node *n = &b->nodes[i];

			if (!n->wanted || (n->waits && !circle))
				continue;
			p->suspects[p->nsuspects] = n->worst;
			if (circle)
				p->suspects[p->nsuspects].why = WT_SUSPECT_CIRCLE;
			p->nsuspects++;
		}
	for (size_t i = 0; i < b->nnodes; i++) {
		p->ranks += b->nodes[i].dump;
		if (!b->nodes[i].dump)
			p->missing[p->nmissing++] = b->nodes[i].rank;
	}
	qsort(p->suspects, p->nsuspects, sizeof(*p->suspects), by_rank);
	qsort(p->missing, p->nmissing, sizeof(*p->missing), by_value);
}

static int build(struct build *b)
{
	size_t most = b->tl->nmembers + b->tl->nstandings + 1;

	b->p->tl = b->tl;
	b->p->comms = calloc(b->tl->nstandings + 1, sizeof(*b->p->comms));
	b->p->suspects = calloc(most, sizeof(*b->p->suspects));
	b->p->missing = calloc(most, sizeof(*b->p->missing));
	b->nodes = calloc(most, sizeof(*b->nodes));
	b->places = calloc(most, sizeof(*b->places));
	if (!b->p->comms || !b->p->suspects || !b->p->missing || !b->nodes || !b->places)
		return -WT_E_NOMEM;
	fill(b);
	if (b->failed)
		return -WT_E_NOMEM;
	judge_channels(b); /* places are told by index until they are sorted */
	qsort(b->places, b->nplaces, sizeof(*b->places), by_comm);
	judge_comms(b);
	find_mismatches(b);
	choose(b);
	return b->failed ? -WT_E_NOMEM : 0;
}

static int is_dump(const struct wt_timeline *tl, size_t standing)
{
	return tl->processes[tl->standings[standing].process].level < 0;
}

/* A dump is written because somebody asks; an ordinary trace is silent where nothing was held up. */
static int worth_telling(const struct wt_timeline *tl)
{
	for (size_t i = 0; i < tl->nstandings; i++)
		if (is_dump(tl, i) || tl->standings[i].enqueued > tl->standings[i].completed)
			return 1;
	for (size_t i = 0; tl->nstandings && i < tl->ncollectives; i++)
		if (tl->processes[tl->collectives[i].process].level >= 0 &&
		    !(tl->collectives[i].flags & WT_COLL_COMPLETED))
			return 1;
	return 0;
}

int wt_progress_build(struct wt_progress **ret, const struct wt_timeline *tl)
{
	struct build b = {.tl = tl};
	int err;

	*ret = NULL;
	if (!worth_telling(tl))
		return 0;
	b.p = calloc(1, sizeof(*b.p));
	if (!b.p)
		return -WT_E_NOMEM;
	b.p->traces = 1;
	for (size_t i = 0; i < tl->nstandings; i++)
		b.p->traces &= !is_dump(tl, i);
	err = build(&b);
	wt_map_release(&b.comm_of);
	wt_map_release(&b.node_of);
	wt_map_release(&b.place_of);
	wt_map_release(&b.at_place);
	free(b.nodes);
	free(b.places);
	if (err)
		wt_progress_free(b.p);
	else
		*ret = b.p;
	return err;
}

void wt_progress_free(struct wt_progress *p)
{
	if (!p)
		return;
	free(p->comms);
	free(p->suspects);
	free(p->missing);
	free(p->mismatches);
	free(p);
}
