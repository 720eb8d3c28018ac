/* SPDX-License-Identifier: Apache-2.0 */
/* See axes.h: process by process, launches in order, then sums over the ledger's slices. */
#define _GNU_SOURCE /* strcasestr */
#include "axes/axes.h"

#include <stdlib.h>
#include <string.h>

#include "axes/axes_impl.h"
#include "base/map.h"
#include "base/sort_rows.h"
#include "base/strtab.h"
#include "ledger/sweep.h"

const char *const wt_phase_names[WT_PHASES] = {
	[WT_PHASE_UNKNOWN] = "unknown",	      [WT_PHASE_FORWARD] = "forward",
	[WT_PHASE_BACKWARD] = "backward",     [WT_PHASE_RECOMPUTE] = "recompute",
	[WT_PHASE_OPTIMIZER] = "optimizer",   [WT_PHASE_GRADIENT_COMM] = "gradient_comm",
	[WT_PHASE_EVALUATION] = "evaluation", [WT_PHASE_CHECKPOINT] = "checkpoint",
	[WT_PHASE_PREFILL] = "prefill",	      [WT_PHASE_DECODE] = "decode",
	[WT_PHASE_MIXED] = "mixed",
};
const char *const wt_step_source_names[] = {
	[WT_STEPS_MARKED] = "marked",	    [WT_STEPS_NAMED] = "named",
	[WT_STEPS_OPTIMIZER] = "optimizer", [WT_STEPS_ENGINE] = "engine",
	[WT_STEPS_PROGRAM] = "program",	    [WT_STEPS_GRAPH] = "graph",
	[WT_STEPS_PERIOD] = "period",
};
const char *const wt_tuner_names[WT_TUNERS] = {
	[WT_TUNING_NONE] = NULL,
	[WT_TUNING_XLA] = "xla",
	[WT_TUNING_BENCHMARK] = "benchmark",
};
const char *const wt_batch_source_names[] = {
	[WT_BATCH_NONE] = NULL,
	[WT_BATCH_ANNOTATED] = "annotated",
	[WT_BATCH_GEOMETRY] = "geometry",
	[WT_BATCH_ORDER] = "order",
};
const struct wt_batch wt_batch_unknown = {-1, -1, -1, -1, -1, -1, 0, WT_BATCH_NONE, 0, -1, -1, -1};

/* Words in names of kernels that only optimizers launch; norms and copies share the family. */
static int is_anchor(const char *name)
{
	static const char *const words[] = {"adam", "sgd",     "lamb",	  "adagrad",  "pointwiseop",
					    "lion", "rmsprop", "shampoo", "adafactor"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(name, words[i]))
			return 1;
	return 0;
}

static int is_role(const struct wt_family_row *row, const char *role)
{
	return row && !strcmp(row->role, role);
}

/* The row is the one of the operation's name. */
static int is_matrix(const struct wt_axes *a, const struct wt_op *op,
		     const struct wt_family_row *row)
{
	uint8_t *told = &a->told[wt_timeline_work_name(a->ledger->tl, op)];

	if (!(*told & WT_TOLD_ROW) && row &&
	    (is_role(row, "gemm") || is_role(row, "attention") || strcasestr(row->family, "gemm") ||
	     strcasestr(row->family, "attention")))
		*told |= WT_TOLD_MATRIX;
	*told |= WT_TOLD_ROW;
	return *told & WT_TOLD_MATRIX;
}

static void fill_launch(const struct wt_axes *a, uint32_t i, struct wt_launch *ret)
{
	const struct wt_timeline *tl = a->ledger->tl;
	const struct wt_op *op = &tl->ops[i];
	const struct wt_call *c = &tl->calls[op->call];
	const char *name = wt_timeline_string(tl, op->name);
	const struct wt_family_row *row;
	int compute = wt_op_state(tl, a->ledger->families, op, &row) == WT_STATE_COMPUTE &&
		      op->kind == WT_OP_KERNEL;

	*ret = (struct wt_launch){
		.at_ns = c->start_ns,
		.op = i,
		.thread = c->thread,
		.key = wt_mix64(op->name | (uint64_t)op->shape << 32),
		.kernel = compute && !(op->flags & WT_OP_GRAPH_NODE),
		.later = (op->flags & WT_OP_GRAPH_NODE) != 0,
	};
	ret->matrix = compute && is_matrix(a, op, row);
	ret->update = compute && is_role(row, "optimizer");
	ret->anchor = ret->update && is_anchor(name);
}

static int by_launch(const void *pa, const void *pb, void *arg)
{
	const struct wt_launch *x = pa, *y = pb;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

int wt_launches_of(const struct wt_axes *a, uint16_t process, const uint32_t *ops, size_t n,
		   struct wt_launches *ret)
{
	const struct wt_timeline *tl = a->ledger->tl;
	int in_order = 1;

	*ret = (struct wt_launches){.process = process,
				    .rows = malloc((n + 1) * sizeof(*ret->rows))};
	if (!ret->rows)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		struct wt_launch *l = &ret->rows[ret->n++];

		fill_launch(a, ops[i], l);
		ret->anchors |= l->anchor;
		in_order &= ret->n == 1 || by_launch(l - 1, l, NULL) <= 0;
	}
	if (!in_order)
		wt_sort_rows(ret->rows, ret->n, sizeof(*ret->rows), by_launch, NULL);
	/* Only norms, scales and the like: an optimizer whose kernels bear no name of their own. */
	for (size_t i = 0; !ret->anchors && i < ret->n; i++) {
		const char *name = wt_timeline_string(tl, tl->ops[ret->rows[i].op].name);

		ret->rows[i].anchor = ret->rows[i].update && !strcasestr(name, "copy") &&
				      !strcasestr(name, "norm");
	}
	for (size_t i = 0; !ret->anchors && i < ret->n; i++)
		if (ret->rows[i].anchor)
			ret->anchors = 1;
	return 0;
}

size_t wt_launches_cluster(const struct wt_axes *a, const struct wt_launches *l, size_t i)
{
	size_t end = 0;

	for (; i < l->n; i++) {
		const struct wt_launch *r = &l->rows[i];

		if (r->anchor || a->phase[r->op] == WT_PHASE_OPTIMIZER)
			end = i + 1;
		/* What cannot be the optimizer's ends the cluster. */
		else if (end && (r->matrix || a->phase[r->op] == WT_PHASE_BACKWARD))
			return end;
	}
	return end;
}

/* Every slice to the phase of its operation. */
static void add_slices(struct wt_axes *a)
{
	for (size_t d = 0; d < a->ledger->ndevices; d++) {
		const struct wt_ledger_device *dev = &a->ledger->devices[d];

		for (size_t i = 0; i < dev->slices.n; i++) {
			const struct wt_slice *s = wt_slices_at(&dev->slices, i);
			int64_t from_ns = s->start_ns > dev->w0_ns ? s->start_ns : dev->w0_ns;
			int64_t to_ns = s->end_ns < dev->w1_ns ? s->end_ns : dev->w1_ns;
			struct wt_phase_row *p = &a->phases[s->op == UINT32_MAX ? WT_PHASE_UNKNOWN
										: a->phase[s->op]];

			if (to_ns <= from_ns)
				continue;
			p->leaves_ns[s->leaf] += to_ns - from_ns;
			if (s->mask)
				p->busy_ns += to_ns - from_ns;
			else
				p->idle_ns += to_ns - from_ns;
		}
	}
}

static void add_edges(struct wt_axes *a)
{
	int64_t window_ns = 0, seen_ns = 0, left_ns;

	for (size_t d = 0; d < a->ledger->ndevices; d++)
		window_ns += a->ledger->devices[d].account.window_ns;
	for (int p = 0; p < WT_PHASES; p++)
		seen_ns += a->phases[p].busy_ns + a->phases[p].idle_ns;
	left_ns = window_ns - seen_ns;
	a->phases[WT_PHASE_UNKNOWN].idle_ns += left_ns;
	a->phases[WT_PHASE_UNKNOWN].leaves_ns[WT_E5] += left_ns;
}

static void add_kernels(struct wt_axes *a)
{
	const struct wt_timeline *tl = a->ledger->tl;

	for (size_t d = 0; d < a->ledger->ndevices; d++) {
		const struct wt_ledger_device *dev = &a->ledger->devices[d];

		for (size_t i = tl->device_first[dev->device];
		     i < tl->device_first[dev->device + 1]; i++) {
			const struct wt_op *op = &tl->ops[i];
			struct wt_phase_row *p = &a->phases[a->phase[i]];

			if (op->kind != WT_OP_KERNEL || op->flags & WT_OP_UNTIMED ||
			    op->start_ns < dev->w0_ns || op->start_ns >= dev->w1_ns)
				continue;
			p->kernels++;
			p->kernel_ns += op->end_ns - op->start_ns;
			p->grades_ns[a->phase_grade[i]] += op->end_ns - op->start_ns;
		}
	}
}

static int is_user(const struct wt_timeline *tl, size_t process, size_t device)
{
	for (size_t i = 0; i < tl->nstreams; i++)
		if (tl->streams[i].process == process && tl->streams[i].device == device)
			return 1;
	return 0;
}

/* The operations of a process that have a launch: of one process at a time, since ranks are many. */
static int ops_of(const struct wt_timeline *tl, size_t process, uint32_t **ret, size_t *ret_n)
{
	uint32_t *ops = NULL;
	size_t n = 0;

	for (int fill = 0; fill < 2; fill++) {
		if (fill)
			ops = malloc((n + 1) * sizeof(*ops));
		if (fill && !ops)
			return -WT_E_NOMEM;
		n = 0;
		for (size_t d = 0; d < tl->ndevices; d++) {
			if (!is_user(tl, process, d))
				continue;
			for (size_t i = tl->device_first[d]; i < tl->device_first[d + 1]; i++) {
				if (tl->ops[i].process != process || tl->ops[i].call < 0)
					continue;
				if (fill)
					ops[n] = (uint32_t)i;
				n++;
			}
		}
	}
	*ret = ops;
	*ret_n = n;
	return 0;
}

static int each_process(struct wt_axes *a)
{
	const struct wt_timeline *tl = a->ledger->tl;
	int err = 0;

	for (size_t p = 0; !err && p < tl->nprocesses; p++) {
		struct wt_launches l = {.rows = NULL};
		uint32_t *ops = NULL;
		size_t n = 0;

		err = ops_of(tl, p, &ops, &n);
		err = err ? err : wt_launches_of(a, (uint16_t)p, ops, n, &l);
		free(ops);
		if (!err && l.n) {
			struct wt_iteration *it = NULL;
			size_t nit = 0, first = a->nsteps;

			err = wt_phases_of(a, &l);
			err = err ? err : wt_tuning_find(a, &l);
			err = err ? err : wt_iterations_of(a, &l, &it, &nit);
			err = err ? err : wt_steps_of(a, &l, it, nit);
			err = err ? err : wt_startup_of(a, &l, first);
			free(it);
		}
		free(l.rows);
	}
	return err;
}

static int is_paused(const struct wt_slice *s)
{
	return s->leaf == WT_E1 && (s->why == WT_WHY_PAUSED || s->why == WT_WHY_CHOSEN);
}

/* A step in which recording was paused is none that was seen: how many went by in that time nobody knows. */
static void cut_by_pauses(struct wt_axes *a)
{
	int any = 0;

	for (size_t i = 0; i < a->ledger->tl->nholes; i++)
		any |= a->ledger->tl->holes[i].paused;
	for (size_t i = 0; any && i < a->nsteps; i++) {
		struct wt_step *step = &a->steps[i];
		const struct wt_slices *all = &a->ledger->devices[step->device].slices;
		const struct wt_slice *s;

		for (size_t k = wt_slices_find(all, step->start_ns);
		     (s = wt_slices_until(all, k, step->end_ns)); k++)
			step->partial |= is_paused(s);
	}
}

static int build(struct wt_axes *a)
{
	const struct wt_timeline *tl = a->ledger->tl;
	int err = wt_ranges_init(&a->ranges, tl);

	a->phase = calloc(tl->nops + 1, 1);
	a->phase_grade = calloc(tl->nops + 1, 1);
	a->texts = wt_strings_new();
	a->told = calloc(wt_timeline_nstrings(tl) + 1, 1);
	if (err || !a->phase || !a->phase_grade || !a->texts || !a->told)
		return -WT_E_NOMEM;
	err = wt_xla_init(a);
	err = err ? err : wt_hlo_init(a);
	err = err ? err : each_process(a);
	if (err)
		return err;
	cut_by_pauses(a);
	add_slices(a);
	add_edges(a);
	add_kernels(a);
	return wt_modules_find(a);
}

int wt_axes_build(struct wt_axes **ret, const struct wt_ledger *ledger)
{
	struct wt_axes *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return -WT_E_NOMEM;
	a->ledger = ledger;
	err = build(a);
	if (err)
		wt_axes_free(a);
	else
		*ret = a;
	return err;
}

void wt_axes_free(struct wt_axes *a)
{
	if (!a)
		return;
	wt_ranges_release(&a->ranges);
	wt_strings_free(a->texts);
	wt_xla_free(a);
	wt_hlo_free(a);
	free(a->phase);
	free(a->phase_grade);
	free(a->told);
	free(a->steps);
	free(a->startups);
	free(a->modules);
	free(a);
}

const struct wt_step *wt_axes_step(const struct wt_axes *a, size_t device, int64_t number)
{
	for (size_t i = 0; i < a->nsteps; i++)
		if (a->steps[i].device == device && a->steps[i].number == number)
			return &a->steps[i];
	return NULL;
}

static int by_device(const void *pa, const void *pb)
{
	const struct wt_step *x = *(const struct wt_step *const *)pa,
			     *y = *(const struct wt_step *const *)pb;

	if (x->device != y->device)
		return x->device - y->device;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

size_t wt_axes_whole_steps(const struct wt_axes *a)
{
	const struct wt_step **order = malloc((a->nsteps + 1) * sizeof(const struct wt_step *));
	size_t n = 0;

	for (size_t i = 0; order && i < a->nsteps; i++)
		if (!a->steps[i].partial)
			order[n++] = &a->steps[i];
	if (n)
		qsort(order, n, sizeof(const struct wt_step *), by_device);
	for (size_t i = 1; i < n; i++)
		if (order[i]->device == order[i - 1]->device &&
		    order[i]->start_ns < order[i - 1]->end_ns)
			n = 0;
	free(order);
	return n;
}
