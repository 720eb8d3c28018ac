/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger, anew: exposed communication whose transfer and waiting are known becomes B3 or B4, then B1 up to the
 * reference and B2 beyond it (in this order in time, only what is exposed of each); idle time before a receive whose
 * sender had not begun becomes D12. The window of a job is what all its devices recorded, on aligned clocks.
 * Slices are found on the whole recording and clipped afterwards, so accounts of windows still add.
 */
#include <stdlib.h>
#include <string.h>

#include "ledger/sweep.h"
#include "proto/wt_err.h"
#include "ranks/ranks_impl.h"

#define NO_OP	  UINT32_MAX
#define QUEUED_NS 20000 /* compute that starts this soon after a collective was waiting for it */

struct cutter {
	struct wt_ranks *r;
	const struct wt_ledger_device *d;
	struct wt_slices out;
	uint32_t run_op; /* consecutive exposed slices of one operation */
	int64_t run_ns;
};

static int emit(struct cutter *k, const struct wt_slice *like, int64_t start_ns, int64_t end_ns,
		enum wt_leaf leaf, uint8_t grade)
{
	struct wt_slice s = *like;

	s.start_ns = start_ns > like->start_ns ? start_ns : like->start_ns;
	s.end_ns = end_ns < like->end_ns ? end_ns : like->end_ns;
	s.leaf = (uint8_t)leaf;
	s.grade = grade;
	return wt_slices_add(&k->out, &s);
}

static int64_t inside(const struct wt_ledger_device *d, int64_t start_ns, int64_t end_ns)
{
	start_ns = start_ns > d->w0_ns ? start_ns : d->w0_ns;
	end_ns = end_ns < d->w1_ns ? end_ns : d->w1_ns;
	return end_ns > start_ns ? end_ns - start_ns : 0;
}

static int cut_exposed(struct cutter *k, const struct wt_slice *s, struct wt_part *p)
{
	int64_t wait_ns = p->start_ns + p->wait_ns,
		ideal_ns = p->ideal_ns < 0 ? p->end_ns : wait_ns + p->ideal_ns;
	int64_t end_ns = s->end_ns < wait_ns ? s->end_ns : wait_ns;
	int err = emit(k, s, s->start_ns, wait_ns, (enum wt_leaf)p->leaf, p->grade);

	p->exposed_ns += inside(k->d, s->start_ns, end_ns);
	err = err ? err : emit(k, s, wait_ns, ideal_ns, WT_B1, p->ideal_ns < 0 ? 2 : p->grade);
	return err ? err : emit(k, s, ideal_ns, INT64_MAX, WT_B2, p->grade);
}

/* Idle that ends with a receive or send whose other side began later than the idle time did. */
static int cut_idle(struct cutter *k, const struct wt_slice *s, const struct wt_part *p)
{
	static const uint8_t below[WT_LEAVES] = {
		[WT_D6] = 1, [WT_D7] = 1, [WT_D8] = 1, [WT_D9] = 1, [WT_D11] = 1, [WT_D14] = 1};
	int err;

	if (!below[s->leaf] || p->why || p->leaf != WT_B4 || p->peer_ns <= s->start_ns)
		return wt_slices_add(&k->out, s);
	err = emit(k, s, s->start_ns, p->peer_ns, WT_D12, 2);
	return err ? err : emit(k, s, p->peer_ns, INT64_MAX, (enum wt_leaf)s->leaf, s->grade);
}

/*
 * Whether what follows slice i, the last exposed one of a run, had to wait for it: compute that was queued and starts
 * at once (on the same stream also while the collective's kernel still winds down), or a host that wakes up.
 */
static int blocks(const struct cutter *k, size_t i)
{
	const struct wt_slices *in = &k->d->slices;
	const struct wt_timeline *tl = k->r->tl;
	const struct wt_op *coll = &tl->ops[wt_slices_at(in, i)->op];
	int64_t end_ns = wt_slices_at(in, i)->end_ns;
	const struct wt_slice *s;

	for (i++; (s = wt_slices_until(in, i, end_ns + QUEUED_NS + 1)); i++) {
		const struct wt_op *next = s->op == NO_OP ? NULL : &tl->ops[s->op];

		if (s->leaf == WT_D6)
			return 1;
		if (s->leaf > WT_A6)
			continue;
		return next && next->start_ns >= end_ns && next->call >= 0 &&
		       tl->calls[next->call].start_ns < end_ns &&
		       (next->stream == coll->stream || coll->end_ns <= next->start_ns);
	}
	return 0;
}

static void add_exposed(struct cutter *k, size_t i, int32_t part)
{
	const struct wt_slices *in = &k->d->slices;
	const struct wt_slice at = *wt_slices_at(in, i), *s = &at, *next;
	struct wt_rank_comm *c = &k->r->comms[k->r->comm_of[part]];
	int64_t ns = inside(k->d, s->start_ns, s->end_ns);

	if (k->run_op != s->op)
		k->run_ns = 0;
	k->run_op = s->op;
	k->run_ns += ns;
	c->exposed_ns += ns;
	next = i + 1 < in->n ? wt_slices_at(in, i + 1) : NULL;
	if (next && next->op == s->op && next->leaf == WT_B5)
		return;
	if (blocks(k, i))
		c->blocking_ns += k->run_ns;
	k->run_ns = 0;
}

/* The part that a slice is exposed communication of, or idle time before; -1. */
static int32_t part_of_slice(const struct wt_ranks *r, const struct wt_slice *s)
{
	int exposed = s->leaf == WT_B5 && s->op != NO_OP;

	return exposed || (s->leaf >= WT_D1 && s->leaf <= WT_D14) ? wt_ranks_part_of(r, s->op) : -1;
}

static int is_cut(const struct wt_ranks *r, const struct wt_slice *s, int32_t part)
{
	if (part < 0)
		return 0;
	return s->leaf == WT_B5 ? !r->parts[part].why && wt_part_timed(&r->parts[part])
				: r->parts[part].leaf == WT_B4;
}

/* A copy of all slices is not made for nothing: on one rank there is hardly anything to part. */
static int anything_to_cut(const struct wt_ranks *r, const struct wt_ledger_device *d)
{
	for (size_t i = 0; i < d->slices.n; i++) {
		const struct wt_slice *s = wt_slices_at(&d->slices, i);

		if (is_cut(r, s, part_of_slice(r, s)))
			return 1;
	}
	return 0;
}

static int cut_device(struct wt_ranks *r, struct wt_ledger_device *d)
{
	struct cutter k = {.r = r, .d = d, .run_op = NO_OP};
	int err = 0, cuts = anything_to_cut(r, d);

	for (size_t i = 0; !err && i < d->slices.n; i++) {
		const struct wt_slice at = *wt_slices_at(&d->slices, i), *s = &at;
		int32_t part = part_of_slice(r, s);

		if (part >= 0 && s->leaf == WT_B5)
			add_exposed(&k, i, part);
		if (!cuts)
			continue;
		if (!is_cut(r, s, part))
			err = wt_slices_add(&k.out, s);
		else if (s->leaf == WT_B5)
			err = cut_exposed(&k, s, &r->parts[part]);
		else
			err = cut_idle(&k, s, &r->parts[part]);
	}
	if (!cuts)
		return wt_account_window(&d->slices, d->w0_ns, d->w1_ns, &d->account);
	if (err) {
		wt_slices_release(&k.out);
		return err;
	}
	wt_slices_release(&d->slices);
	d->slices = k.out;
	return wt_account_window(&d->slices, d->w0_ns, d->w1_ns, &d->account);
}

/* How much of a device's time before a moment is compute: a sum each so many slices, and the slices since. */
#define SUM_SLICES 64
struct computed {
	const struct wt_ledger_device *d;
	int64_t *sums;
};

static int64_t compute_ns(const struct wt_slice *s)
{
	return s->leaf <= WT_A6 ? s->end_ns - s->start_ns : 0;
}

static int computed_make(struct computed *c, const struct wt_ledger_device *d)
{
	int64_t ns = 0;

	c->d = d;
	c->sums = malloc((d->slices.n / SUM_SLICES + 1) * sizeof(*c->sums));
	for (size_t i = 0; c->sums && i < d->slices.n; i++) {
		if (i % SUM_SLICES == 0)
			c->sums[i / SUM_SLICES] = ns;
		ns += compute_ns(wt_slices_at(&d->slices, i));
	}
	if (c->sums && d->slices.n % SUM_SLICES == 0)
		c->sums[d->slices.n / SUM_SLICES] = ns;
	return c->sums ? 0 : -WT_E_NOMEM;
}

static int64_t computed_until(const struct computed *c, int64_t t_ns)
{
	const struct wt_slices *s = &c->d->slices;
	size_t n = wt_slices_find(s, t_ns), i = n / SUM_SLICES * SUM_SLICES;
	int64_t ns = c->sums[n / SUM_SLICES];
	const struct wt_slice *at;

	for (; i < n; i++)
		ns += compute_ns(wt_slices_at(s, i));
	at = n < s->n ? wt_slices_at(s, n) : NULL;
	return at && at->leaf <= WT_A6 && at->start_ns < t_ns ? ns + t_ns - at->start_ns : ns;
}

static int64_t beside_compute_ns(const struct computed *c, const struct wt_op *op)
{
	int64_t start_ns = op->start_ns > c->d->w0_ns ? op->start_ns : c->d->w0_ns;
	int64_t end_ns = op->end_ns < c->d->w1_ns ? op->end_ns : c->d->w1_ns;

	return start_ns < end_ns ? computed_until(c, end_ns) - computed_until(c, start_ns) : 0;
}

/* What of a communicator's kernels runs beside compute, within the windows. */
static int add_hidden(struct wt_ranks *r, const struct wt_ledger *l)
{
	const struct wt_timeline *tl = r->tl;
	struct computed *by_device = calloc(tl->ndevices + 1, sizeof(*by_device));
	int err = by_device ? 0 : -WT_E_NOMEM;

	for (size_t i = 0; !err && i < l->ndevices; i++)
		err = computed_make(&by_device[l->devices[i].device], &l->devices[i]);
	for (size_t i = 0; !err && i < tl->nops; i++) {
		const struct wt_op *op = &tl->ops[i];
		const struct computed *c = &by_device[op->device];
		int32_t part;

		if (op->kind != WT_OP_KERNEL || op->flags & WT_OP_UNTIMED || !c->d)
			continue;
		part = wt_ranks_part_of(r, (uint32_t)i);
		if (part >= 0)
			r->comms[r->comm_of[part]].hidden_ns += beside_compute_ns(c, op);
	}
	for (size_t i = 0; by_device && i < tl->ndevices; i++)
		free(by_device[i].sums);
	free(by_device);
	return err;
}

/* The clock that most devices are told by, and the window that all of them recorded. */
static void set_window(struct wt_ranks *r, struct wt_ledger *l, const uint16_t *process_of)
{
	uint32_t root = UINT32_MAX, most = 0;
	int64_t w0_ns = INT64_MIN, w1_ns = INT64_MAX;

	for (size_t i = 0; i < l->ndevices; i++) {
		uint32_t n = 0;

		for (size_t k = 0; k < l->ndevices && process_of[i] != 0xFFFF; k++)
			n += process_of[k] != 0xFFFF &&
			     r->clocks[process_of[k]].state != WT_CLOCK_UNKNOWN &&
			     r->clocks[process_of[k]].root == r->clocks[process_of[i]].root;
		if (n > most) {
			most = n;
			root = r->clocks[process_of[i]].root;
		}
	}
	if (most < 2)
		return;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < l->ndevices; i++) {
			struct wt_ledger_device *d = &l->devices[i];
			const struct wt_clock *c =
				process_of[i] == 0xFFFF ? NULL : &r->clocks[process_of[i]];
			int64_t from_ns, to_ns;

			if (!c || c->state == WT_CLOCK_UNKNOWN || c->root != root)
				continue;
			if (pass) {
				d->w0_ns = wt_clock_from_root(c, w0_ns);
				d->w1_ns = d->w0_ns + (w1_ns - w0_ns);
				continue;
			}
			from_ns = wt_clock_to_root(c, d->own_w0_ns);
			to_ns = wt_clock_to_root(c, d->own_w1_ns);
			w0_ns = from_ns > w0_ns ? from_ns : w0_ns;
			w1_ns = to_ns < w1_ns ? to_ns : w1_ns;
		}
		if (w0_ns >= w1_ns)
			return;
	}
	r->w0_ns = w0_ns;
	r->w1_ns = w1_ns;
}

/*
 * Strangers on one host share a clock and no window. Processes of one job have ranks, or, where nobody told them
 * (workers of a serving engine), a communicator together.
 */
static void find_members(const struct wt_ranks *r, uint8_t *member)
{
	for (size_t k = 0; k < r->nseats; k++)
		member[k] = r->tl->devices[r->seats[k].device].rank >= 0;
	for (size_t i = 0; i < r->nparts; i++) {
		const struct wt_rank_comm *c = &r->comms[r->comm_of[i]];

		if (!c->family && c->seats > 1 && c->matched)
			member[r->parts[i].seat] = 1;
	}
}

int wt_ranks_cut(struct wt_ranks *r, struct wt_ledger *l)
{
	uint16_t *process_of = malloc((l->ndevices + 1) * sizeof(*process_of));
	uint8_t *member = malloc(r->nseats + 1);
	int err = process_of && member ? 0 : -WT_E_NOMEM;

	if (!err)
		find_members(r, member);
	for (size_t i = 0; !err && i < l->ndevices; i++) {
		process_of[i] = 0xFFFF;
		for (size_t k = 0; k < r->nseats; k++)
			if (member[k] && r->seats[k].device == l->devices[i].device &&
			    process_of[i] == 0xFFFF)
				process_of[i] = r->seats[k].process;
	}
	if (!err)
		set_window(r, l, process_of);
	for (size_t i = 0; !err && i < l->ndevices; i++)
		err = cut_device(r, &l->devices[i]);
	if (!err)
		err = add_hidden(r, l);
	free(member);
	free(process_of);
	return err;
}
