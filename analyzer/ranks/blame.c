/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Because of whom, and of what. For a matched collective: each seat's time from the end of the operation before it on
 * that communicator to its arrival at this one, by ledger leaf; what the last to arrive has most in excess of the
 * median of the others is why it was late, and that is where the seconds of all who waited go. Where the excess is
 * itself waiting, in another communicator, the chain is followed to the one awaited there, at most as far as there are
 * kinds of groups. For sends, receives and rooted operations: what the awaited seat did while it was awaited.
 *
 * Not established: a wait below the residual of the clocks, or an excess that does not explain a quarter of the wait.
 *
 * Each stretch between two operations of a communicator is walked once per communicator: linear in slices times
 * communicators of a seat.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/wt_err.h"
#include "ranks/ranks_impl.h"

#define EXPLAINS 4   /* the excess must be this part of the wait */
#define BACK	 16  /* operations: so many streams of a communicator are followed */
#define CARRIED	 256 /* operations over which a lateness is followed back */
#define NO_LEAF	 WT_LEAVES

struct cause {	       /* of the waits for one part */
	int32_t next;  /* the part whose wait was the excess, -1: the chain ends here */
	uint32_t seat; /* the late one */
	uint8_t leaf;  /* NO_LEAF: not established */
	int64_t excess_ns;
	uint32_t kernel;
};
struct blamer {
	struct wt_ranks *r;
	const struct wt_ledger *l;
	const struct wt_ledger_device **device_of; /* per seat; NULL: no ledger */
	struct wt_map causes; /* of instance or (p2p, rooted) of part -> index */
	struct cause *rows;
	size_t nrows, room;
	struct wt_map blame_rows;
	size_t blames_room, waits_room;
	int64_t *totals; /* scratch: seats of an instance x leaves */
	size_t totals_room;
};

/* By leaf; what lies before a device's first record, or behind its last, is E5. */
static void add_leaves(const struct wt_ledger_device *d, int64_t from_ns, int64_t to_ns,
		       int64_t *ret)
{
	int64_t edges_ns = to_ns > from_ns ? to_ns - from_ns : 0;
	const struct wt_slice *s;

	for (size_t i = wt_slices_find(&d->slices, from_ns);
	     (s = wt_slices_until(&d->slices, i, to_ns)); i++) {
		int64_t ns = (s->end_ns < to_ns ? s->end_ns : to_ns) -
			     (s->start_ns > from_ns ? s->start_ns : from_ns);

		ret[s->leaf] += ns;
		edges_ns -= ns;
	}
	ret[WT_E5] += edges_ns > 0 ? edges_ns : 0;
}

/* The kernel that takes most of a leaf in a stretch. */
static uint32_t kernel_of(const struct blamer *b, uint32_t seat, int64_t from_ns, int64_t to_ns,
			  uint8_t leaf)
{
	const struct wt_ledger_device *d = b->device_of[seat];
	struct wt_map sums = {.count = 0};
	uint32_t best = 0, best_us = 0;
	const struct wt_slice *s;

	for (size_t i = wt_slices_find(&d->slices, from_ns);
	     (s = wt_slices_until(&d->slices, i, to_ns)); i++) {
		uint32_t *sum;
		int64_t ns = s->end_ns - s->start_ns;

		if (s->leaf != leaf || s->op == UINT32_MAX)
			continue;
		sum = wt_map_slot(&sums, b->r->tl->ops[s->op].name, 0, NULL);
		if (!sum)
			break;
		*sum += ns / 1000 < UINT32_MAX / 2 ? (uint32_t)(ns / 1000) + 1 : UINT32_MAX / 2;
		if (*sum > best_us) {
			best_us = *sum;
			best = b->r->tl->ops[s->op].name;
		}
	}
	wt_map_release(&sums);
	return best;
}

/* The longest exposed wait of a seat in a stretch: its part. */
static int32_t wait_in(const struct blamer *b, uint32_t seat, int64_t from_ns, int64_t to_ns,
		       uint8_t leaf)
{
	const struct wt_ledger_device *d = b->device_of[seat];
	const struct wt_slice *s;
	int64_t most_ns = 0;
	int32_t best = -1;

	for (size_t i = wt_slices_find(&d->slices, from_ns);
	     (s = wt_slices_until(&d->slices, i, to_ns)); i++) {
		if (s->leaf != leaf || s->end_ns - s->start_ns <= most_ns)
			continue;
		most_ns = s->end_ns - s->start_ns;
		best = wt_ranks_part_of(b->r, s->op);
	}
	return best >= 0 && b->r->parts[best].last >= 0 ? best : -1;
}

static int cmp_ns(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return (a > b) - (a < b);
}

/* Of one leaf: the late seat's less the median of the others'. rows: n x WT_LEAVES. */
static int64_t excess(const int64_t *rows, uint32_t n, uint32_t late, int leaf, int64_t *scratch)
{
	uint32_t m = 0;

	for (uint32_t k = 0; k < n; k++)
		if (k != late)
			scratch[m++] = rows[(size_t)k * WT_LEAVES + (size_t)leaf];
	qsort(scratch, m, sizeof(*scratch), cmp_ns);
	return rows[(size_t)late * WT_LEAVES + (size_t)leaf] - scratch[(m - 1) / 2];
}

/* The leaf with the largest excess; the kinds of kernels stand together, and the largest of them for all. */
static uint8_t largest(const int64_t *excess_ns, int64_t *ret_ns)
{
	int64_t compute_ns = 0, most_ns = 0;
	int best = NO_LEAF, kernel = WT_A1;

	for (int k = 0; k < WT_LEAVES; k++) {
		if (k <= WT_A6) {
			compute_ns += excess_ns[k];
			kernel = excess_ns[k] > excess_ns[kernel] ? k : kernel;
		} else if (excess_ns[k] > most_ns) {
			most_ns = excess_ns[k];
			best = k;
		}
	}
	if (compute_ns > most_ns) {
		most_ns = compute_ns;
		best = kernel;
	}
	*ret_ns = most_ns;
	return (uint8_t)best;
}

/* The part of `seat` in an instance, whose parts are sorted by seat; -1 = none. */
static int32_t part_of_seat(const struct wt_ranks *r, const struct wt_matches *m,
			    const struct wt_instance *x, uint32_t seat)
{
	uint32_t lo = 0, hi = x->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->parts[m->order[x->first + mid]].seat < seat)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < x->n && r->parts[m->order[x->first + lo]].seat == seat
		       ? (int32_t)m->order[x->first + lo]
		       : -1;
}

/* When the seat of p was done with instance `from`; INT64_MAX: it took no part, or was not done when p began. */
static int64_t done_with(const struct blamer *b, const struct wt_matches *m, uint32_t from,
			 const struct wt_part *p)
{
	int32_t at = part_of_seat(b->r, m, &m->instances[from], p->seat);

	return at >= 0 && wt_part_timed(&b->r->parts[at]) && b->r->parts[at].end_ns < p->start_ns
		       ? b->r->parts[at].end_ns
		       : INT64_MAX;
}

/*
 * The operation from which on seats are compared: the last before instance i of its communicator that all were done
 * with when they came to i. On two streams the one right before can still run on some of them; what is compared has to
 * begin at one moment for all. UINT32_MAX: their window's start.
 */
static uint32_t since(const struct blamer *b, const struct wt_matches *m, uint32_t i)
{
	const struct wt_instance *x = &m->instances[i];

	for (uint32_t back = 1; back <= BACK && back <= i && m->instances[i - back].comm == x->comm;
	     back++) {
		uint32_t k = 0;

		for (; k < x->n; k++) {
			const struct wt_part *p = &b->r->parts[m->order[x->first + k]];

			if (b->device_of[p->seat] && wt_part_timed(p) &&
			    done_with(b, m, i - back, p) == INT64_MAX)
				break;
		}
		if (k == x->n)
			return i - back;
	}
	return UINT32_MAX;
}

static int64_t before(const struct blamer *b, const struct wt_matches *m, uint32_t from,
		      const struct wt_part *p)
{
	int64_t floor_ns = b->device_of[p->seat]->w0_ns,
		done_ns = from == UINT32_MAX ? floor_ns : done_with(b, m, from, p);

	return done_ns > floor_ns ? done_ns : floor_ns;
}

static int64_t *totals_of(struct blamer *b, uint32_t n)
{
	size_t want = (size_t)n * WT_LEAVES + n + WT_LEAVES;

	if (want > b->totals_room) {
		int64_t *totals = realloc(b->totals, want * sizeof(*totals));

		if (!totals)
			return NULL;
		b->totals = totals;
		b->totals_room = want;
	}
	memset(b->totals, 0, want * sizeof(*b->totals));
	return b->totals;
}

static int cause_synced(struct blamer *b, const struct wt_matches *m, uint32_t i, uint32_t last,
			struct cause *ret)
{
	const struct wt_instance *x = &m->instances[i];
	const struct wt_part *q = &b->r->parts[last];
	int64_t *rows = totals_of(b, x->n), *scratch, *over, from_ns;
	uint32_t n = 0, late = 0, from;

	if (!rows)
		return -WT_E_NOMEM;
	from = since(b, m, i);
	scratch = rows + (size_t)x->n * WT_LEAVES;
	over = scratch + x->n;
	for (uint32_t k = 0; k < x->n; k++) {
		uint32_t index = m->order[x->first + k];
		const struct wt_part *p = &b->r->parts[index];

		if (!b->device_of[p->seat] || !wt_part_timed(p))
			continue;
		late = index == last ? n : late;
		add_leaves(b->device_of[p->seat], before(b, m, from, p), p->start_ns,
			   rows + (size_t)n++ * WT_LEAVES);
	}
	if (n < 2 || !b->device_of[q->seat])
		return 0;
	for (int leaf = 0; leaf < WT_LEAVES; leaf++)
		over[leaf] = excess(rows, n, late, leaf, scratch);
	from_ns = before(b, m, from, q);
	ret->leaf = largest(over, &ret->excess_ns);
	if (ret->leaf == WT_B3 || ret->leaf == WT_B4)
		ret->next = wait_in(b, q->seat, from_ns, q->start_ns, ret->leaf);
	if (ret->leaf <= WT_A6)
		ret->kernel = kernel_of(b, q->seat, from_ns, q->start_ns, ret->leaf);
	return 0;
}

/* What the awaited seat did from the waiter's start on. */
static void cause_awaited(struct blamer *b, const struct wt_part *p, const struct wt_part *q,
			  struct cause *ret)
{
	int64_t sums[WT_LEAVES] = {0}, from_ns;

	if (!b->device_of[q->seat] || !wt_ranks_comparable(b->r, p->seat, q->seat))
		return;
	from_ns = wt_ranks_on_clock(b->r, p->seat, p->start_ns, q->seat);
	add_leaves(b->device_of[q->seat], from_ns, q->start_ns, sums);
	ret->leaf = largest(sums, &ret->excess_ns);
	if (ret->leaf == WT_B3 || ret->leaf == WT_B4)
		ret->next = wait_in(b, q->seat, from_ns, q->start_ns, ret->leaf);
	if (ret->leaf <= WT_A6)
		ret->kernel = kernel_of(b, q->seat, from_ns, q->start_ns, ret->leaf);
}

/* Why the last of a waiting part was late; found once per instance, else per part. NULL when memory runs out. */
static const struct cause *cause_of(struct blamer *b, int32_t waiting)
{
	const struct wt_part *p = &b->r->parts[waiting];
	int family = (p->flags & WT_PART_FAMILY) != 0,
	    synced = p->instance >= 0 && wt_match_syncs(p->op) && !family;
	uint64_t key = synced ? (uint64_t)p->instance << 1 : (uint64_t)waiting << 1 | 1;
	int isnew, err = 0;
	uint32_t *at = wt_map_slot(&b->causes, key, (uint32_t)b->nrows, &isnew);
	struct cause c = {.next = -1, .leaf = NO_LEAF, .seat = b->r->parts[p->last].seat};

	if (!at)
		return NULL;
	if (!isnew)
		return &b->rows[*at];
	if (b->nrows == b->room) {
		struct cause *rows = realloc(b->rows, (b->room = b->room * 2 + 64) * sizeof(*rows));

		if (!rows)
			return NULL;
		b->rows = rows;
	}
	if (synced)
		err = cause_synced(b, &b->r->matches, (uint32_t)p->instance, (uint32_t)p->last, &c);
	else
		cause_awaited(b, p, &b->r->parts[p->last], &c);
	if (err)
		return NULL;
	b->rows[b->nrows] = c;
	return &b->rows[b->nrows++];
}

/*
 * The part in which this wait began: the same seat's, in the operation before on that communicator, if it waited there
 * on the same late one about as long. A stream that communicates is not the one that computes: whoever is late stays
 * late over all operations until the computing streams meet, and did nothing more in between. -1 = it began here.
 */
static int32_t carried_from(const struct blamer *b, int32_t waiting)
{
	const struct wt_matches *m = &b->r->matches;
	const struct wt_part *p = &b->r->parts[waiting], *q;
	int32_t i = p->instance, at;

	if (i <= 0 || !wt_match_syncs(p->op) || p->flags & WT_PART_FAMILY ||
	    m->instances[i - 1].comm != m->instances[i].comm)
		return -1;
	at = part_of_seat(b->r, m, &m->instances[i - 1], p->seat);
	q = at >= 0 ? &b->r->parts[at] : NULL;
	return q && q->last >= 0 && b->r->parts[q->last].seat == b->r->parts[p->last].seat &&
			       q->wait_ns >= p->wait_ns / 4 * 3
		       ? at
		       : -1;
}

/*
 * The cause of a wait, asked where it began: further on, the late seat's stretch is longer by its lateness, and full of
 * whatever it did then. NULL when memory runs out; leaf NO_LEAF: not established.
 */
static const struct cause *origin_of(struct blamer *b, int32_t waiting)
{
	static const struct cause none = {.next = -1, .leaf = NO_LEAF};
	const struct cause *c;
	int64_t wait_ns;
	int32_t from;

	for (int steps = 0; (from = carried_from(b, waiting)) >= 0; steps++) {
		if (steps == CARRIED)
			return &none;
		waiting = from;
	}
	wait_ns = b->r->parts[waiting].wait_ns;
	c = cause_of(b, waiting);
	if (c && (c->leaf == NO_LEAF || c->excess_ns < wait_ns / EXPLAINS ||
		  wait_ns <= b->r->residual_ns))
		return &none;
	return c;
}

/* Follows the chain from a waiting part. 0 or -WT_E_NOMEM; ret->leaf = NO_LEAF if it is not established. */
static int resolve(struct blamer *b, int32_t waiting, struct cause *ret, uint8_t *ret_depth)
{
	for (*ret_depth = 1;; ++*ret_depth) {
		const struct cause *c = origin_of(b, waiting);

		if (!c)
			return -WT_E_NOMEM;
		*ret = *c;
		if (c->leaf == NO_LEAF)
			ret->seat = b->r->parts[b->r->parts[waiting].last].seat;
		if (ret->leaf == NO_LEAF || c->next < 0 || *ret_depth >= WT_GROUP_KINDS)
			return 0;
		waiting = c->next;
	}
}

static int add_blame(struct blamer *b, uint32_t waiting, const struct cause *c, uint8_t depth)
{
	struct wt_ranks *r = b->r;
	const struct wt_part *p = &r->parts[waiting];
	uint32_t comm = r->comm_of[waiting], first = r->parts[p->last].seat, *at;
	uint64_t key = wt_mix64((uint64_t)p->seat << 32 | c->seat);
	struct wt_blame *row;
	int isnew;

	key = wt_mix64(key ^ ((uint64_t)comm << 16 | (uint64_t)depth << 8 | c->leaf)) ^ first;
	at = wt_map_slot(&b->blame_rows, key, (uint32_t)r->nblames, &isnew);
	if (!at)
		return -WT_E_NOMEM;
	if (isnew) {
		if (r->nblames == b->blames_room) {
			row = realloc(r->blames,
				      (b->blames_room = b->blames_room * 2 + 16) * sizeof(*row));
			if (!row)
				return -WT_E_NOMEM;
			r->blames = row;
		}
		r->blames[r->nblames++] = (struct wt_blame){.waiter = p->seat,
							    .culprit = c->seat,
							    .first = first,
							    .comm = comm,
							    .leaf = c->leaf,
							    .depth = depth};
	}
	row = &r->blames[*at];
	row->wait_ns += p->exposed_ns;
	row->excess_ns += c->excess_ns;
	row->times++;
	if (p->exposed_ns > row->longest_ns) {
		row->longest_ns = p->exposed_ns;
		row->longest_at_ns = p->start_ns;
		row->kernel = c->kernel;
	}
	return 0;
}

static int cmp_blame(const void *pa, const void *pb)
{
	const struct wt_blame *x = pa, *y = pb;

	if (x->wait_ns != y->wait_ns)
		return x->wait_ns > y->wait_ns ? -1 : 1;
	if (x->waiter != y->waiter)
		return x->waiter < y->waiter ? -1 : 1;
	if (x->culprit != y->culprit)
		return x->culprit < y->culprit ? -1 : 1;
	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	return x->leaf - y->leaf;
}

/* Kept for what groups them otherwise: steps. */
static int add_wait(struct blamer *b, uint32_t waiting, const struct cause *c)
{
	struct wt_ranks *r = b->r;

	if (r->nwaits == b->waits_room) {
		size_t room = b->waits_room * 2 + 64;
		struct wt_rank_wait *waits = realloc(r->waits, room * sizeof(*waits));

		if (!waits)
			return -WT_E_NOMEM;
		r->waits = waits;
		b->waits_room = room;
	}
	r->waits[r->nwaits++] = (struct wt_rank_wait){waiting, c->seat, c->leaf};
	return 0;
}

static int blame_all(struct blamer *b)
{
	struct wt_ranks *r = b->r;
	int err = 0;

	for (uint32_t i = 0; !err && i < r->nparts; i++) {
		struct wt_part *p = &r->parts[i];
		struct cause c;
		uint8_t depth;

		if (p->exposed_ns <= 0 || p->last < 0)
			continue;
		r->wait_ns += p->exposed_ns;
		err = resolve(b, (int32_t)i, &c, &depth);
		if (err)
			break;
		if (c.leaf == NO_LEAF)
			r->unblamed_ns += p->exposed_ns;
		err = add_blame(b, i, &c, depth);
		err = err ? err : add_wait(b, i, &c);
	}
	return err;
}

int wt_ranks_blame(struct wt_ranks *r, const struct wt_ledger *l)
{
	struct blamer b = {.r = r, .l = l};
	int err = 0;

	b.device_of = calloc(r->nseats + 1, sizeof(*b.device_of));
	err = b.device_of ? err : -WT_E_NOMEM;
	for (size_t i = 0; !err && i < r->nseats; i++)
		for (size_t k = 0; k < l->ndevices; k++)
			if (l->devices[k].device == r->seats[i].device)
				b.device_of[i] = &l->devices[k];
	err = err ? err : blame_all(&b);
	if (!err && r->nblames)
		qsort(r->blames, r->nblames, sizeof(*r->blames), cmp_blame);
	wt_map_release(&b.causes);
	wt_map_release(&b.blame_rows);
	free(b.rows);
	free(b.totals);
	free(b.device_of);
	return err;
}
