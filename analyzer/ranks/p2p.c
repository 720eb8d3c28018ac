/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends and receives. The k-th send from one rank to another on a communicator meets the k-th receive there from it;
 * sizes must agree, and from the first pair that does not on nothing of that direction is matched. The kernel that
 * carries a send or receive (of a group: the leader's) cannot move data before the kernel on the other side runs, so
 * with comparable clocks its wait is from its start to the latest start of those it needs. A kernel that had ended by
 * then did not wait for it (a buffered send). Without comparable clocks nothing is said.
 *
 * The wait of a kernel that serves three other ranks or more, or itself too, is an all-to-all's (B3), as is that of a
 * ring (to one neighbour and from another); else a pipeline's (B4).
 */
#define _GNU_SOURCE /* qsort_r */
#include <stdlib.h>
#include <string.h>

#include "proto/wt_err.h"
#include "ranks/ranks_impl.h"

struct end { /* one send or receive */
	uint64_t comm;
	uint32_t src, dst; /* ranks of the communicator */
	int64_t at_ns; /* when it was called, on its own clock: orders those of one process only */
	uint32_t part;
	uint8_t is_recv;
};
struct row { /* the same by the kernel that carries it */
	uint32_t lead, part;
};

static int cmp_end(const void *pa, const void *pb)
{
	const struct end *x = pa, *y = pb;

	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	if (x->dst != y->dst)
		return x->dst < y->dst ? -1 : 1;
	if (x->is_recv != y->is_recv)
		return x->is_recv - y->is_recv;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

static int cmp_link(const void *pa, const void *pb)
{
	const struct wt_link *x = pa, *y = pb;

	if (x->lead != y->lead)
		return x->lead < y->lead ? -1 : 1;
	return (x->other > y->other) - (x->other < y->other);
}

static int cmp_row(const void *pa, const void *pb)
{
	const struct row *x = pa, *y = pb;

	if (x->lead != y->lead)
		return x->lead < y->lead ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

static int is_p2p(const struct wt_collective *c)
{
	return c->op == WT_COLL_SEND || c->op == WT_COLL_RECV;
}

static size_t list_ends(const struct wt_ranks *r, struct end *ret)
{
	const struct wt_timeline *tl = r->tl;
	size_t n = 0;

	for (size_t i = 0; i < tl->ncollectives; i++) {
		const struct wt_collective *c = &tl->collectives[i];
		int recv = c->op == WT_COLL_RECV;

		if (!is_p2p(c) || !c->comm || c->peer < 0 || c->rank > INT32_MAX)
			continue;
		ret[n++] = (struct end){.comm = c->comm,
					.src = recv ? (uint32_t)c->peer : c->rank,
					.dst = recv ? c->rank : (uint32_t)c->peer,
					.at_ns = c->call >= 0 ? tl->calls[c->call].start_ns
							      : r->parts[c->lead].start_ns,
					.part = (uint32_t)i,
					.is_recv = (uint8_t)recv};
	}
	return n;
}

int wt_ranks_links(struct wt_ranks *r, struct wt_link **ret, size_t *ret_n)
{
	const struct wt_timeline *tl = r->tl;
	struct end *ends;
	struct wt_link *links;
	size_t nends = 0, n = 0;

	for (size_t i = 0; i < tl->ncollectives; i++)
		nends += (size_t)is_p2p(&tl->collectives[i]);
	ends = malloc((nends + 1) * sizeof(*ends));
	links = malloc((nends + 1) * sizeof(*links));
	if (!ends || !links) {
		free(ends);
		free(links);
		return -WT_E_NOMEM;
	}
	nends = list_ends(r, ends);
	if (nends)
		qsort(ends, nends, sizeof(*ends), cmp_end);
	for (size_t i = 0, recv, end; i < nends; i = end) {
		for (recv = i; recv < nends && !ends[recv].is_recv &&
			       ends[recv].comm == ends[i].comm && ends[recv].src == ends[i].src &&
			       ends[recv].dst == ends[i].dst;)
			recv++;
		for (end = recv; end < nends && ends[end].comm == ends[i].comm &&
				 ends[end].src == ends[i].src && ends[end].dst == ends[i].dst;)
			end++;
		for (size_t k = 0; i + k < recv && recv + k < end; k++) {
			uint32_t send = ends[i + k].part, got = ends[recv + k].part;
			uint32_t a = (uint32_t)tl->collectives[send].lead,
				 b = (uint32_t)tl->collectives[got].lead;

			if (r->parts[send].bytes != r->parts[got].bytes) {
				r->parts[send].why = r->parts[got].why = WT_UNMATCHED_DISAGREE;
				break;
			}
			if (r->parts[a].seat == r->parts[b].seat) /* to itself */
				continue;
			links[n++] = (struct wt_link){a, b};
			links[n++] = (struct wt_link){b, a};
		}
	}
	free(ends);
	if (n)
		qsort(links, n, sizeof(*links), cmp_link);
	*ret = links;
	*ret_n = n;
	return 0;
}

/* Whose wait it is, by whom the kernel serves. */
static uint8_t leaf_of(const struct wt_ranks *r, const struct row *rows, size_t n)
{
	int32_t to = -1, from = -1, other = -1;
	int peers = 0;

	for (size_t i = 0; i < n; i++) {
		const struct wt_collective *c = &r->tl->collectives[rows[i].part];

		if (c->peer >= 0 && (uint32_t)c->peer == c->rank)
			return WT_B3;
		if (c->peer != other && c->peer != to && c->peer != from) {
			peers++;
			other = c->peer;
		}
		if (c->op == WT_COLL_SEND)
			to = c->peer;
		else
			from = c->peer;
	}
	return peers > 2 || (to >= 0 && from >= 0 && to != from) ? WT_B3 : WT_B4;
}

static void wait_of(struct wt_ranks *r, uint32_t lead, const struct wt_link *links, size_t n)
{
	struct wt_part *p = &r->parts[lead];
	int64_t from_ns = p->start_ns;

	p->grade = 3;
	p->peer_ns = INT64_MIN;
	for (size_t i = 0; i < n; i++) {
		const struct wt_part *q = &r->parts[links[i].other];
		int64_t start_ns, end_ns;

		if (!wt_part_timed(q)) {
			p->why = WT_UNMATCHED_UNTIMED;
			return;
		}
		if (!wt_ranks_comparable(r, p->seat, q->seat)) {
			p->why = WT_UNMATCHED_CLOCKS;
			return;
		}
		if (r->clocks[r->seats[q->seat].process].state == WT_CLOCK_FITTED ||
		    r->clocks[r->seats[p->seat].process].state == WT_CLOCK_FITTED)
			p->grade = 2;
		start_ns = wt_ranks_on_clock(r, q->seat, q->start_ns, p->seat);
		end_ns = wt_ranks_on_clock(r, q->seat, q->end_ns, p->seat);
		/* Received before it was sent: these two are not a pair. */
		if ((p->op == WT_COLL_SEND && end_ns + 2 * r->residual_ns < p->start_ns) ||
		    (p->op == WT_COLL_RECV && p->end_ns + 2 * r->residual_ns < start_ns)) {
			p->why = WT_UNMATCHED_ENDS;
			return;
		}
		p->peer_ns = start_ns > p->peer_ns ? start_ns : p->peer_ns;
		if (start_ns > from_ns && start_ns < p->end_ns) {
			from_ns = start_ns;
			p->last = (int32_t)links[i].other;
		}
	}
	p->why = WT_UNMATCHED_NOT;
	p->wait_ns = from_ns - p->start_ns;
}

/* Not in anybody's file, or on a communicator of which only one seat was recorded. */
static void lonely(struct wt_ranks *r, uint32_t lead)
{
	const struct wt_collective *c = &r->tl->collectives[lead];
	struct wt_part *p = &r->parts[lead];

	if (!p->why)
		p->why = c->peer < 0 || !c->comm ? WT_UNMATCHED_ROOT : WT_UNMATCHED_ALONE;
}

int wt_ranks_p2p(struct wt_ranks *r)
{
	const struct wt_timeline *tl = r->tl;
	struct wt_link *links = NULL;
	struct row *rows;
	size_t nlinks = 0, nrows = 0, at = 0;
	int err = wt_ranks_links(r, &links, &nlinks);

	for (size_t i = 0; i < tl->ncollectives; i++)
		nrows += (size_t)is_p2p(&tl->collectives[i]);
	rows = malloc((nrows + 1) * sizeof(*rows));
	if (err || !rows) {
		free(links);
		free(rows);
		return -WT_E_NOMEM;
	}
	nrows = 0;
	for (size_t i = 0; i < tl->ncollectives; i++)
		if (is_p2p(&tl->collectives[i]))
			rows[nrows++] =
				(struct row){(uint32_t)tl->collectives[i].lead, (uint32_t)i};
	if (nrows)
		qsort(rows, nrows, sizeof(*rows), cmp_row);
	for (size_t i = 0, end, to; i < nrows; i = end) {
		uint32_t lead = rows[i].lead;
		struct wt_part *p = &r->parts[lead];

		for (end = i + 1; end < nrows && rows[end].lead == lead;)
			end++;
		while (at < nlinks && links[at].lead < lead)
			at++;
		for (to = at; to < nlinks && links[to].lead == lead;)
			to++;
		p->leaf = leaf_of(r, rows + i, end - i);
		if (!wt_part_timed(p))
			p->why = WT_UNMATCHED_UNTIMED;
		else if (to == at)
			lonely(r, lead);
		else
			wait_of(r, lead, links + at, to - at);
		/* What rides on the leader's kernel shares its fate and owns no time. */
		for (size_t k = i; k < end; k++)
			r->parts[rows[k].part].why = p->why;
	}
	free(links);
	free(rows);
	return 0;
}
