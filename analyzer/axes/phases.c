/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To which phase an operation belongs. In order of evidence:
 *
 *  3  it was launched in a range that the job marked as a phase
 *  2  in a range whose name says so (autograd's functions, Optimizer.step, an engine's iteration)
 *  2  the path that its compiler kept says so (JAX: jvp, transpose(jvp))
 *  2  autograd's thread launched it: backward. The optimizer's own kernels close a step: what other threads launched
 *     after the last of backward up to them is the optimizer's (clipping included), what they launched before is
 *     forward. Of a collective, below.
 *  1  its name has "backward", "bwd" or "bprop"
 *
 * Start-up is not forward: of the first step, as many operations as the second has count, the last ones.
 * Within backward, what repeats forward's sequence is recompute (recompute.c).
 */
#define _GNU_SOURCE /* strcasestr */
#include <stdlib.h>
#include <string.h>

#include "axes/axes_impl.h"
#include "base/map.h"
#include "ledger/sweep.h"

#define PHASE_KINDS                                                                                \
	(WT_KIND_BIT(FORWARD) | WT_KIND_BIT(BACKWARD) | WT_KIND_BIT(RECOMPUTE) |                   \
	 WT_KIND_BIT(OPTIMIZER) | WT_KIND_BIT(GRADIENT_COMM) | WT_KIND_BIT(EVALUATION) |           \
	 WT_KIND_BIT(CHECKPOINT) | WT_KIND_BIT(PREFILL) | WT_KIND_BIT(DECODE))
/* These say what everything inside them is for. */
#define OUTER_KINDS (WT_KIND_BIT(EVALUATION) | WT_KIND_BIT(CHECKPOINT) | WT_KIND_BIT(RECOMPUTE))

static const uint8_t phase_of_kind[WT_RANGE_KINDS] = {
	[WT_RANGE_FORWARD] = WT_PHASE_FORWARD,
	[WT_RANGE_BACKWARD] = WT_PHASE_BACKWARD,
	[WT_RANGE_RECOMPUTE] = WT_PHASE_RECOMPUTE,
	[WT_RANGE_OPTIMIZER] = WT_PHASE_OPTIMIZER,
	[WT_RANGE_GRADIENT_COMM] = WT_PHASE_GRADIENT_COMM,
	[WT_RANGE_EVALUATION] = WT_PHASE_EVALUATION,
	[WT_RANGE_CHECKPOINT] = WT_PHASE_CHECKPOINT,
	[WT_RANGE_PREFILL] = WT_PHASE_PREFILL,
	[WT_RANGE_DECODE] = WT_PHASE_DECODE,
};

static void set(struct wt_axes *a, uint32_t op, enum wt_phase phase, int grade)
{
	a->phase[op] = (uint8_t)phase;
	a->phase_grade[op] = (uint8_t)grade;
}

static void by_range(struct wt_axes *a, const struct wt_launch *r)
{
	const struct wt_timeline *tl = a->ledger->tl;
	const struct wt_call *c = &tl->calls[tl->ops[r->op].call];
	int32_t i = wt_ranges_of_call(&a->ranges, c, OUTER_KINDS);

	if (i < 0)
		i = wt_ranges_of_call(&a->ranges, c, PHASE_KINDS);
	if (i >= 0) {
		set(a, r->op, phase_of_kind[a->ranges.kind[i]], tl->ranges[i].marked ? 3 : 2);
		return;
	}
	i = wt_ranges_of_call(&a->ranges, c, WT_KIND_BIT(STEP));
	if (i >= 0 && !tl->ranges[i].marked) {
		enum wt_phase phase = wt_engine_phase(wt_timeline_string(tl, tl->ranges[i].name));

		if (phase)
			set(a, r->op, phase, 2);
	}
}

/* Threads on which autograd runs backward: by their name; without names, see below. */
static int named_threads(const struct wt_timeline *tl, const struct wt_launches *l, uint8_t *ret)
{
	int any = 0;

	for (size_t t = 0; t < tl->nthreads; t++) {
		if (tl->threads[t].process != l->process ||
		    !strstr(wt_timeline_string(tl, tl->threads[t].name), "autograd"))
			continue;
		ret[t] = 1;
		any = 1;
	}
	return any;
}

/*
 * No thread has a name: the one that launches a tenth of the kernels or more, and none of the optimizer's, while
 * another launches those.
 */
static void guessed_threads(const struct wt_timeline *tl, const struct wt_launches *l, uint8_t *ret)
{
	struct {
		size_t kernels, anchors;
	} *seen = calloc(tl->nthreads + 1, sizeof(*seen));
	size_t all = 0;

	for (size_t i = 0; seen && i < l->n; i++) {
		seen[l->rows[i].thread].kernels += l->rows[i].kernel;
		seen[l->rows[i].thread].anchors += l->rows[i].anchor;
		all += l->rows[i].kernel;
	}
	for (size_t t = 0; seen && l->anchors && t < tl->nthreads; t++)
		ret[t] = seen[t].kernels && seen[t].kernels * 10 >= all && !seen[t].anchors;
	free(seen);
}

/* Rows [from, to) end with an optimizer's step (closed), or with the recording. */
static void one_step(struct wt_axes *a, const struct wt_launches *l, size_t from, size_t to,
		     int closed, size_t most_forward)
{
	size_t last = SIZE_MAX, first_update = to, forward = 0;

	for (size_t i = from; i < to; i++) {
		if (a->phase[l->rows[i].op] == WT_PHASE_BACKWARD) {
			last = i;
			first_update = to;
		}
		if (l->rows[i].matrix)
			first_update = to;
		else if (l->rows[i].update && first_update == to)
			first_update = i;
	}
	if (last != SIZE_MAX)
		first_update = last + 1;
	for (size_t i = to; i-- > from;) {
		const struct wt_launch *r = &l->rows[i];

		forward += a->phase[r->op] == WT_PHASE_FORWARD;
		if (a->phase[r->op] || r->later)
			continue;
		if (closed && i >= first_update)
			set(a, r->op, WT_PHASE_OPTIMIZER, 2);
		else if ((closed && last != SIZE_MAX && i < last) || !closed) {
			if (forward++ < most_forward)
				set(a, r->op, WT_PHASE_FORWARD, 2);
		}
	}
}

static size_t forward_ops(const struct wt_axes *a, const struct wt_launches *l, size_t from,
			  size_t to)
{
	size_t n = 0;

	for (size_t i = from; i < to; i++)
		n += a->phase[l->rows[i].op] == WT_PHASE_FORWARD;
	return n;
}

/* By the order of launches: needs backward, and an optimizer that closes each step. */
static int by_order(struct wt_axes *a, const struct wt_launches *l)
{
	size_t *ends = NULL, n = 0, at = 0;
	int err = 0;

	ends = malloc((l->n + 1) * sizeof(*ends));
	if (!ends)
		return -WT_E_NOMEM;
	while ((at = wt_launches_cluster(a, l, at)))
		ends[n++] = at;
	/* The second step first: it says how long the forward of the first is. */
	for (size_t i = 1; i < n; i++)
		one_step(a, l, ends[i - 1], ends[i], 1, SIZE_MAX);
	if (n)
		one_step(a, l, 0, ends[0], 1,
			 n > 1 ? forward_ops(a, l, ends[0], ends[1]) : SIZE_MAX);
	if (n)
		one_step(a, l, ends[n - 1], l->n, 0, SIZE_MAX);
	for (size_t i = 0; !err && i <= n; i++)
		err = wt_recompute_find(a, l, i ? ends[i - 1] : 0, i < n ? ends[i] : l->n);
	free(ends);
	return err;
}

/* JAX's differentiation leaves its marks in the path that a compiled instruction keeps. */
static void by_path(struct wt_axes *a, const struct wt_launch *r)
{
	static const struct {
		const char *mark;
		enum wt_phase phase;
	} marks[] = {
		{"rematted_computation", WT_PHASE_RECOMPUTE},
		{"transpose(jvp(", WT_PHASE_BACKWARD},
		{"jvp(", WT_PHASE_FORWARD},
	};
	uint32_t path = wt_module_compiled(a, &a->ledger->tl->ops[r->op]);
	const char *text = path ? wt_axes_text(a, path) : "";

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(text, marks[i].mark)) {
			set(a, r->op, marks[i].phase, 2);
			return;
		}
}

static int says_backward(struct wt_axes *a, uint32_t id)
{
	const char *name = wt_timeline_string(a->ledger->tl, id);

	if (!(a->told[id] & WT_TOLD_WORDS) &&
	    (strcasestr(name, "backward") || strcasestr(name, "bwd") || strcasestr(name, "bprop")))
		a->told[id] |= WT_TOLD_BACKWARD;
	a->told[id] |= WT_TOLD_WORDS;
	return a->told[id] & WT_TOLD_BACKWARD;
}

static void by_name(struct wt_axes *a, const struct wt_launch *r)
{
	const struct wt_op *op = &a->ledger->tl->ops[r->op];

	if (op->kind == WT_OP_KERNEL && says_backward(a, op->name))
		set(a, r->op, WT_PHASE_BACKWARD, 1);
}

static int reduces(const struct wt_timeline *tl, const struct wt_op *op, uint64_t *ret_comm)
{
	const char *name = wt_timeline_string(tl, op->name);

	*ret_comm = 0;
	if (op->collective >= 0) {
		const struct wt_collective *c = &tl->collectives[op->collective];

		*ret_comm = c->comm;
		return c->op == WT_COLL_ALL_REDUCE || c->op == WT_COLL_REDUCE_SCATTER;
	}
	return strcasestr(name, "allreduce") || strcasestr(name, "reducescatter");
}

/*
 * All-reduce and reduce-scatter in backward carry gradients, unless forward uses the same communicator for the same:
 * then they are tensor parallelism's, and backward's own.
 */
static int gradient_comm(struct wt_axes *a, const struct wt_launches *l)
{
	const struct wt_timeline *tl = a->ledger->tl;
	struct wt_map forward = {.count = 0};
	const struct wt_family_row *row;
	uint64_t comm;
	uint32_t was;
	int err = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; !err && i < l->n; i++) {
			const struct wt_op *op = &tl->ops[l->rows[i].op];
			uint8_t phase = a->phase[l->rows[i].op];

			if (op->kind != WT_OP_KERNEL || l->rows[i].kernel ||
			    wt_op_state(tl, a->ledger->families, op, &row) != WT_STATE_COMM ||
			    !reduces(tl, op, &comm))
				continue;
			if (!pass && phase == WT_PHASE_FORWARD && comm)
				err = wt_map_put(&forward, comm, 1);
			if (pass && a->phase_grade[l->rows[i].op] < 3 &&
			    (phase == WT_PHASE_BACKWARD || phase == WT_PHASE_RECOMPUTE) &&
			    !(comm && wt_map_get(&forward, comm, &was)))
				set(a, l->rows[i].op, WT_PHASE_GRADIENT_COMM, comm ? 2 : 1);
		}
	}
	wt_map_release(&forward);
	return err;
}

int wt_phases_of(struct wt_axes *a, const struct wt_launches *l)
{
	const struct wt_timeline *tl = a->ledger->tl;
	uint8_t *backward = calloc(tl->nthreads + 1, 1);
	int err = 0, any = 0, closes = l->anchors,
	    ranged = (a->ranges.kinds & (PHASE_KINDS | WT_KIND_BIT(STEP))) != 0;

	if (!backward)
		return -WT_E_NOMEM;
	if (!named_threads(tl, l, backward))
		guessed_threads(tl, l, backward);
	for (size_t i = 0; i < l->n; i++) {
		const struct wt_launch *r = &l->rows[i];

		if (ranged)
			by_range(a, r);
		if (!a->phase[r->op])
			by_path(a, r);
		if (!a->phase[r->op] && backward[r->thread] && !r->later)
			set(a, r->op, WT_PHASE_BACKWARD, 2);
		any |= a->phase[r->op] == WT_PHASE_BACKWARD;
		closes |= a->phase[r->op] == WT_PHASE_OPTIMIZER;
	}
	free(backward);
	if (any && closes)
		err = by_order(a, l);
	for (size_t i = 0; !err && i < l->n; i++)
		if (!a->phase[l->rows[i].op])
			by_name(a, &l->rows[i]);
	return err ? err : gradient_comm(a, l);
}
