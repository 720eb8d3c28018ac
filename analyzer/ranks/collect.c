/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a timeline to parts: one per recorded collective, at the same index, with the times of its kernels; then one per
 * communication kernel that no record claims (custom all-reduces, multimem, DeepEP, NVSHMEM, replayed graphs). Those
 * are numbered by name between anchors: the matched operations of the communicator that joins most seats.
 */
#define _GNU_SOURCE /* qsort_r */
#include <stdlib.h>
#include <string.h>

#include "ledger/sweep.h"
#include "proto/wt_err.h"
#include "ranks/ranks_impl.h"

uint32_t wt_ranks_seat(struct wt_ranks *r, uint16_t process, uint16_t device)
{
	int isnew;
	uint32_t *at = wt_map_slot(&r->seat_of, (uint64_t)process << 16 | device,
				   (uint32_t)r->nseats, &isnew);

	if (!at)
		return UINT32_MAX;
	if (!isnew)
		return *at;
	if (r->nseats == r->seats_room) {
		size_t room = r->seats_room * 2 + 16;
		struct wt_seat *seats = realloc(r->seats, room * sizeof(*seats));

		if (!seats)
			return UINT32_MAX;
		r->seats = seats;
		r->seats_room = room;
	}
	r->seats[r->nseats] = (struct wt_seat){process, device, r->tl->processes[process].rank};
	return (uint32_t)r->nseats++;
}

/* Times and device of each collective, from its kernels. device 0xFFFF: none seen. */
static void add_kernels(struct wt_ranks *r, uint16_t *device_of)
{
	const struct wt_timeline *tl = r->tl;

	for (size_t i = 0; i < tl->nops; i++) {
		const struct wt_op *op = &tl->ops[i];
		struct wt_part *p;

		if (op->collective < 0)
			continue;
		p = &r->parts[op->collective];
		device_of[op->collective] = op->device;
		if (op->flags & WT_OP_UNTIMED || op->end_ns <= op->start_ns ||
		    op->kind != WT_OP_KERNEL)
			continue;
		if (!wt_part_timed(p) || op->start_ns < p->start_ns)
			p->start_ns = op->start_ns;
		else if (op->start_ns > p->end_ns) /* operations are in order */
			p->gaps_ns += op->start_ns - p->end_ns;
		if (p->end_ns <= op->end_ns)
			p->end_ns = op->end_ns;
	}
}

/*
 * Streams by whether they tell where a process works: those that operations ran on; of a process that has no operation,
 * all. A process may have others, on devices that it only looked at.
 */
static uint8_t *streams_of_work(const struct wt_timeline *tl)
{
	uint8_t *works = calloc(tl->nstreams + 1, sizeof(*works));
	uint8_t *process = calloc(tl->nprocesses + 1, sizeof(*process));

	for (size_t i = 0; works && process && i < tl->nops; i++) {
		works[tl->ops[i].stream] = 1;
		process[tl->streams[tl->ops[i].stream].process] = 1;
	}
	for (size_t i = 0; works && process && i < tl->nstreams; i++)
		works[i] |= !process[tl->streams[i].process];
	if (!process) {
		free(works);
		works = NULL;
	}
	free(process);
	return works;
}

/* Any device that a process works on, for what left no kernel. */
static uint16_t *devices_of_processes(const struct wt_timeline *tl, const uint8_t *works)
{
	uint16_t *device = calloc(tl->nprocesses + 1, sizeof(*device));

	for (size_t i = tl->nstreams; device && i > 0; i--)
		if (works[i - 1])
			device[tl->streams[i - 1].process] = tl->streams[i - 1].device;
	return device;
}

static int cmp_stream(const void *pa, const void *pb, void *arg)
{
	const struct wt_timeline *tl = arg;
	const struct wt_stream *x = &tl->streams[*(const uint32_t *)pa],
			       *y = &tl->streams[*(const uint32_t *)pb];
	const struct wt_process *p = &tl->processes[x->process], *q = &tl->processes[y->process];
	int64_t a = tl->devices[x->device].ordinal, b = tl->devices[y->device].ordinal;

	if (p->rank != q->rank)
		return p->rank < q->rank ? -1 : 1;
	if (p->pid != q->pid)
		return p->pid < q->pid ? -1 : 1;
	if (a != b)
		return a < b ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->device > y->device) - (x->device < y->device);
}

/* Seats in the order of ranks, whatever file was read first: what is equal is then decided alike. */
static int order_seats(struct wt_ranks *r, const uint8_t *works)
{
	const struct wt_timeline *tl = r->tl;
	uint32_t *order = malloc((tl->nstreams + 1) * sizeof(*order));
	int err = order ? 0 : -WT_E_NOMEM;

	for (size_t i = 0; !err && i < tl->nstreams; i++)
		order[i] = (uint32_t)i;
	if (!err && tl->nstreams)
		qsort_r(order, tl->nstreams, sizeof(*order), cmp_stream, (void *)tl);
	for (size_t i = 0; !err && i < tl->nstreams; i++)
		if (works[order[i]] && wt_ranks_seat(r, tl->streams[order[i]].process,
						     tl->streams[order[i]].device) == UINT32_MAX)
			err = -WT_E_NOMEM;
	free(order);
	return err;
}

int wt_ranks_collect(struct wt_ranks *r)
{
	const struct wt_timeline *tl = r->tl;
	uint16_t *device_of = malloc((tl->ncollectives + 1) * sizeof(*device_of));
	uint8_t *works = streams_of_work(tl);
	uint16_t *device = works ? devices_of_processes(tl, works) : NULL;
	int err = device_of && device ? 0 : -WT_E_NOMEM;

	r->nparts = tl->ncollectives;
	r->parts = calloc(r->nparts + 1, sizeof(*r->parts));
	err = r->parts ? err : -WT_E_NOMEM;
	err = err ? err : order_seats(r, works);
	if (!err) {
		memset(device_of, 0xFF, (tl->ncollectives + 1) * sizeof(*device_of));
		add_kernels(r, device_of);
	}
	for (size_t i = 0; !err && i < r->nparts; i++) {
		const struct wt_collective *c = &tl->collectives[i];
		struct wt_part *p = &r->parts[i];
		uint16_t d = device_of[(size_t)c->lead];

		p->key = c->comm;
		p->num = c->seq;
		p->bytes = c->bytes;
		p->nranks = c->nranks;
		p->dtype = c->dtype;
		p->op = c->op;
		p->flags = c->flags & WT_COLL_SEQ_COUNTED ? WT_PART_COUNTED : 0;
		if (c->op == WT_COLL_SEND || c->op == WT_COLL_RECV)
			p->flags |= WT_PART_SKIP;
		p->seat = wt_ranks_seat(r, c->process, d == 0xFFFF ? device[c->process] : d);
		p->instance = p->last = -1;
		p->ideal_ns = -1;
		err = p->seat == UINT32_MAX ? -WT_E_NOMEM : 0;
	}
	free(device_of);
	free(device);
	free(works);
	return err ? err : wt_match(r->parts, r->nparts, &r->matches);
}

/* Where each seat reached the anchors: sorted by (seat, start). */
struct anchor {
	int64_t start_ns;
	uint32_t seat, instance;
};

static int cmp_anchor(const void *pa, const void *pb)
{
	const struct anchor *x = pa, *y = pb;

	if (x->seat != y->seat)
		return x->seat < y->seat ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static struct anchor *find_anchors(const struct wt_ranks *r, size_t *ret_n)
{
	const struct wt_matches *m = &r->matches;
	const struct wt_match_comm *best = NULL;
	struct anchor *anchors;
	size_t n = 0;

	*ret_n = 0;
	for (size_t i = 0; i < m->ncomms; i++)
		if (!best || m->comms[i].seats > best->seats ||
		    (m->comms[i].seats == best->seats && m->comms[i].n > best->n))
			best = &m->comms[i];
	for (size_t i = 0; best && i < best->n; i++)
		n += m->instances[best->first + i].n;
	anchors = malloc((n + 1) * sizeof(*anchors));
	for (size_t i = 0; anchors && best && i < best->n; i++) {
		const struct wt_instance *x = &m->instances[best->first + i];

		if (x->n < best->seats) /* not an anchor of all */
			continue;
		for (size_t k = 0; k < x->n; k++) {
			const struct wt_part *p = &r->parts[m->order[x->first + k]];

			if (wt_part_timed(p))
				anchors[(*ret_n)++] = (struct anchor){p->start_ns, p->seat,
								      best->first + (uint32_t)i};
		}
	}
	if (anchors && *ret_n)
		qsort(anchors, *ret_n, sizeof(*anchors), cmp_anchor);
	return anchors;
}

/* 1 + the anchor that the seat had reached at ns, 0 before the first. */
static uint32_t anchor_at(const struct anchor *anchors, size_t n, uint32_t seat, int64_t ns)
{
	size_t lo = 0, hi = n;
	struct anchor key = {ns, seat, 0};

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (cmp_anchor(&anchors[mid], &key) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && anchors[lo - 1].seat == seat ? anchors[lo - 1].instance + 1 : 0;
}

static int is_unclaimed(const struct wt_timeline *tl, struct wt_families *f, const struct wt_op *op)
{
	const struct wt_family_row *row;

	return op->kind == WT_OP_KERNEL && op->collective < 0 && !(op->flags & WT_OP_UNTIMED) &&
	       op->end_ns > op->start_ns && wt_op_state(tl, f, op, &row) == WT_STATE_COMM;
}

static int family_part(struct wt_ranks *r, const struct anchor *anchors, size_t nanchors,
		       struct wt_map *counts, uint32_t op_index)
{
	const struct wt_op *op = &r->tl->ops[op_index];
	struct wt_part *p = &r->parts[r->nparts];
	uint32_t *count;

	*p = (struct wt_part){.start_ns = op->start_ns,
			      .end_ns = op->end_ns,
			      .op = WT_COLL_NONE,
			      .dtype = UINT32_MAX,
			      .flags = WT_PART_FAMILY | WT_PART_COUNTED,
			      .instance = -1,
			      .last = -1,
			      .ideal_ns = -1};
	p->seat = wt_ranks_seat(r, op->process, op->device);
	if (p->seat == UINT32_MAX)
		return -WT_E_NOMEM;
	/* The name in the upper half: families.comms of one name lie together. */
	p->key = (uint64_t)op->name << 32 | anchor_at(anchors, nanchors, p->seat, op->start_ns);
	count = wt_map_slot(counts, wt_mix64(p->key) ^ p->seat, 0, NULL);
	if (!count)
		return -WT_E_NOMEM;
	p->num = (*count)++;
	r->family_ops[r->nparts - r->tl->ncollectives] = op_index;
	r->nparts++;
	return 0;
}

int wt_ranks_families(struct wt_ranks *r, struct wt_ledger *l)
{
	const struct wt_timeline *tl = r->tl;
	struct wt_map counts = {.count = 0};
	struct anchor *anchors;
	struct wt_part *parts;
	size_t n = 0, nanchors, first = r->nparts;
	int err = 0;

	for (size_t i = 0; i < tl->nops; i++)
		n += (size_t)is_unclaimed(tl, l->families, &tl->ops[i]);
	parts = realloc(r->parts, (r->nparts + n + 1) * sizeof(*parts));
	r->family_ops = malloc((n + 1) * sizeof(*r->family_ops));
	if (parts)
		r->parts = parts;
	if (!parts || !r->family_ops)
		return -WT_E_NOMEM;
	if (!n)
		return 0;
	anchors = find_anchors(r, &nanchors);
	err = anchors ? 0 : -WT_E_NOMEM;
	for (size_t i = 0; !err && i < tl->nops; i++)
		if (is_unclaimed(tl, l->families, &tl->ops[i]))
			err = family_part(r, anchors, nanchors, &counts, (uint32_t)i);
	free(anchors);
	wt_map_release(&counts);
	return err ? err : wt_match(r->parts + first, n, &r->families);
}

int32_t wt_ranks_part_of(const struct wt_ranks *r, uint32_t op)
{
	size_t lo = 0, n = r->nparts - r->tl->ncollectives, hi = n;

	if (op >= r->tl->nops)
		return -1;
	if (r->tl->ops[op].collective >= 0)
		return r->tl->ops[op].collective;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->family_ops[mid] < op)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && r->family_ops[lo] == op ? (int32_t)(r->tl->ncollectives + lo) : -1;
}
