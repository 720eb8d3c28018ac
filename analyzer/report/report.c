/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers that several sections need, summed once over devices, kernels, collectives, counts and processes; and
 * the two loops over sections.def. Nothing here decides how a number looks.
 */
#define _GNU_SOURCE /* qsort_r */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "axes/axes.h"
#include "base/map.h"
#include "base/visible.h"
#include "bounds/occupancy.h"
#include "ledger/sweep.h"
#include "report/section.h"
#include "report/sites.h"

static void add_accounts(struct wt_report *r)
{
	for (size_t d = 0; d < r->ledger->ndevices; d++) {
		const struct wt_account *a = &r->ledger->devices[d].account;

		r->total.window_ns += a->window_ns;
		r->total.crowded_ns += a->crowded_ns;
		r->total.chosen_ns += a->chosen_ns;
		for (int i = 0; i < 1 << WT_STATES; i++)
			r->total.mask_ns[i] += a->mask_ns[i];
		for (int i = 0; i < WT_GRADES; i++)
			r->total.grades_ns[i] += a->grades_ns[i];
		for (int i = 0; i < WT_LEAVES; i++) {
			r->total.leaves_ns[i] += a->leaves_ns[i];
			r->rollup_ns[wt_leaves[i].rollup] += a->leaves_ns[i];
		}
	}
}

static int cmp_kernel(const void *pa, const void *pb, void *arg)
{
	const struct wt_timeline *tl = arg;
	const struct wt_kernel_row *x = pa, *y = pb;

	if (x->sum_ns != y->sum_ns)
		return x->sum_ns > y->sum_ns ? -1 : 1;
	return strcmp(wt_timeline_string(tl, x->name), wt_timeline_string(tl, y->name));
}

static void add_math(struct wt_tally *t, const struct wt_verdict *v, int64_t ns)
{
	struct wt_math_row *m = &t->math[v->dtype];

	m->kernels++;
	m->sum_ns += ns;
	m->named_ns += v->dtype_by_name ? ns : 0;
	m->flops += v->product && !v->by_name ? v->flops : 0;
	t->flops += v->product && !v->by_name ? v->flops : 0;
	t->products_ns += v->product ? ns : 0;
	t->products_known_ns += v->product && !v->by_name && v->flops > 0 ? ns : 0;
}

/* What of the device it could fill. */
static void add_shape(struct wt_report *r, struct wt_kernel_row *row, const struct wt_op *op,
		      int64_t ns)
{
	const struct wt_device *d = &r->tl->devices[op->device];
	const struct wt_shape *s = &r->tl->shapes[op->shape];
	struct wt_tally *t = &r->tally;
	struct wt_occupancy o;

	if (s->local_bytes) {
		row->local_bytes =
			s->local_bytes > row->local_bytes ? s->local_bytes : row->local_bytes;
		t->local_ns += ns;
	}
	if (wt_occupancy(d->cc, d->sm_count, s, &o))
		return;
	row->shaped_ns += ns;
	row->occupancy_ns += o.occupancy * (double)ns;
	row->idle_ns += o.idle_share * (double)ns;
	t->shaped_ns += ns;
	t->occupancy_ns += o.occupancy * (double)ns;
	t->idle_ns += o.idle_share * (double)ns;
	if (o.waves > 0 && o.waves < 1) {
		row->small_ns += ns;
		t->small_ns += ns;
	}
}

static void add_kernel(struct wt_report *r, struct wt_kernel_row *row, const struct wt_op *op)
{
	int64_t ns = op->flags & WT_OP_UNTIMED ? 0 : op->end_ns - op->start_ns;
	struct wt_tally *t = &r->tally;
	struct wt_verdict v;

	row->count++;
	row->sum_ns += ns;
	t->kernels_ns += ns;
	t->no_family_ns += row->family ? 0 : ns;
	if (wt_family_state(row->family) == WT_STATE_COMM) {
		t->comm_ns += ns;
		return;
	}
	wt_bounds_of(r->ledger->bounds, op, &v);
	add_math(t, &v, ns);
	add_shape(r, row, op, ns);
	row->limit_ns[v.limit] += ns;
	row->flops += v.flops;
	row->bytes += v.bytes;
	row->dtype = v.dtype;
	if (!v.by_name && (v.flops > 0 || v.bytes > 0)) {
		row->worked_ns += ns;
		t->worked_ns += ns;
	}
	if (v.evidence == WT_EVIDENCE_MODELLED) {
		row->modelled_ns += ns;
		row->roof_ns += v.efficiency * (double)ns;
		row->unverified |= v.unverified != 0;
		t->modelled_ns += ns;
		t->unverified_ns += v.unverified ? ns : 0;
	}
	if (v.evidence == WT_EVIDENCE_MEASURED) {
		row->measured_ns += ns;
		row->roof_ns += v.efficiency * (double)ns;
		t->measured_ns += ns;
	}
	if (v.off_matrix) {
		row->off_ns += ns;
		row->off_flops += v.flops;
		row->off_dtype = v.dtype;
		t->off_ns += ns;
	}
	if (v.wrong) {
		t->wrong++;
		t->wrong_ns += ns;
	}
}

static int add_kernels(struct wt_report *r)
{
	const struct wt_timeline *tl = r->tl;
	size_t nnames = wt_timeline_nstrings(tl);
	uint32_t *row_of = calloc(nnames + 1, sizeof(*row_of)); /* + 1; 0 = none yet */
	struct wt_sites *sites = NULL;
	int err = row_of ? wt_sites_new(&sites, tl) : -WT_E_NOMEM;
	size_t room = 0;

	for (size_t i = 0; !err && i < tl->nops; i++) {
		const struct wt_op *op = &tl->ops[i];
		struct wt_kernel_row *row;
		uint32_t name = op->name < nnames ? op->name : 0;
		uint32_t work = wt_timeline_work_name(tl, op);

		if (op->kind != WT_OP_KERNEL || !wt_ledger_covers(r->ledger, op))
			continue;
		if (!row_of[name]) {
			if (r->nkernels == room) {
				room = room ? room * 2 : 64;
				row = realloc(r->kernels, room * sizeof(*row));
				if (!row) {
					err = -WT_E_NOMEM;
					break;
				}
				r->kernels = row;
			}
			r->kernels[r->nkernels] = (struct wt_kernel_row){
				.name = name,
				.family = wt_family_of(r->ledger->families, work,
						       wt_timeline_string(tl, work))};
			row_of[name] = (uint32_t)++r->nkernels;
		}
		add_kernel(r, &r->kernels[row_of[name] - 1], op);
		err = wt_sites_add(sites, row_of[name] - 1, op);
	}
	wt_sites_finish(sites, r->kernels);
	wt_sites_free(sites);
	free(row_of);
	if (err)
		return err;
	if (r->nkernels)
		qsort_r(r->kernels, r->nkernels, sizeof(*r->kernels), cmp_kernel, (void *)tl);
	return 0;
}

/* The row of a collective or of a communication kernel without one; NULL when memory runs out. */
static struct wt_coll_row *coll_row(struct wt_report *r, struct wt_map *rows,
				    const struct wt_coll_row *like)
{
	uint64_t key =
		wt_mix64(like->comm ^ wt_mix64(like->name * 2ull + like->recorded) ^ like->nranks);
	int isnew;
	uint32_t *slot = wt_map_slot(rows, key, (uint32_t)r->ncollectives, &isnew);
	struct wt_coll_row *grown;

	if (!slot)
		return NULL;
	if (isnew) {
		grown = realloc(r->collectives, (r->ncollectives + 1) * sizeof(*grown));
		if (!grown)
			return NULL;
		r->collectives = grown;
		r->collectives[r->ncollectives++] = *like;
	}
	return &r->collectives[*slot];
}

static struct wt_coll_row like_collective(const struct wt_collective *c)
{
	return (struct wt_coll_row){
		.name = c->name, .comm = c->comm, .nranks = c->nranks, .recorded = 1};
}

static struct wt_coll_row like_op(const struct wt_report *r, const struct wt_op *op)
{
	if (op->collective >= 0)
		return like_collective(&r->tl->collectives[op->collective]);
	return (struct wt_coll_row){.name = op->name};
}

static int cmp_coll(const void *pa, const void *pb, void *arg)
{
	const struct wt_timeline *tl = arg;
	const struct wt_coll_row *x = pa, *y = pb;
	int c;

	if (x->sum_ns != y->sum_ns)
		return x->sum_ns > y->sum_ns ? -1 : 1;
	c = strcmp(wt_timeline_string(tl, x->name), wt_timeline_string(tl, y->name));
	return c ? c : (x->comm > y->comm) - (x->comm < y->comm);
}

static void add_part(struct wt_coll_row *row, const struct wt_part *p)
{
	row->matched += !p->why;
	if (p->why || p->end_ns <= p->start_ns)
		return;
	row->wait_ns += p->wait_ns;
	row->transfer_ns += wt_part_busy_ns(p) - p->wait_ns;
}

/* Only traces of our own say what was under way at their end (standings are in them). */
static int is_unfinished(const struct wt_timeline *tl, const struct wt_collective *c)
{
	return tl->nstandings && tl->processes[c->process].level >= 0 &&
	       !(c->flags & WT_COLL_COMPLETED);
}

/* A source that knows nothing of sizes leaves all at zero. */
static uint8_t has_size(const struct wt_timeline *tl, const struct wt_collective *c)
{
	return c->bytes || c->dtype != UINT32_MAX || tl->processes[c->process].level >= 0;
}

/* Collectives by their records; kernels of communication families that belong to none, by their names. */
static int add_collectives(struct wt_report *r)
{
	const struct wt_timeline *tl = r->tl;
	struct wt_map rows = {.count = 0};
	struct wt_coll_row *row, like;
	const struct wt_family_row *family;
	int32_t part;
	int err = 0;

	for (size_t i = 0; !err && i < tl->ncollectives; i++) {
		like = like_collective(&tl->collectives[i]);
		row = coll_row(r, &rows, &like);
		err = row ? 0 : -WT_E_NOMEM;
		if (row) {
			row->count++;
			row->bytes += tl->collectives[i].bytes;
			row->sized |= has_size(tl, &tl->collectives[i]);
			row->grouped |= tl->collectives[i].lead != (int32_t)i;
			row->unfinished += is_unfinished(tl, &tl->collectives[i]);
			wt_plans_add(row, &tl->collectives[i]);
			add_part(row, &r->ranks->parts[i]);
		}
	}
	for (size_t i = 0; !err && i < tl->nops; i++) {
		const struct wt_op *op = &tl->ops[i];

		if (op->kind != WT_OP_KERNEL || op->flags & WT_OP_UNTIMED ||
		    wt_op_state(tl, r->ledger->families, op, &family) != WT_STATE_COMM)
			continue;
		like = like_op(r, op);
		row = coll_row(r, &rows, &like);
		err = row ? 0 : -WT_E_NOMEM;
		if (row) {
			row->kernels++;
			row->sum_ns += op->end_ns - op->start_ns;
			part = op->collective < 0 ? wt_ranks_part_of(r->ranks, (uint32_t)i) : -1;
			if (part >= 0)
				add_part(row, &r->ranks->parts[part]);
		}
	}
	for (size_t d = 0; !err && d < r->ledger->ndevices; d++) {
		const struct wt_slices *s = &r->ledger->devices[d].slices;

		for (size_t i = 0; !err && i < s->n; i++) {
			const struct wt_slice *at = wt_slices_at(s, i);

			if (at->leaf < WT_B1 || at->leaf > WT_B5 || at->op == UINT32_MAX)
				continue;
			like = like_op(r, &tl->ops[at->op]);
			row = coll_row(r, &rows, &like);
			err = row ? 0 : -WT_E_NOMEM;
			if (row)
				row->exposed_ns += at->end_ns - at->start_ns;
		}
	}
	wt_map_release(&rows);
	if (!err && r->ncollectives)
		qsort_r(r->collectives, r->ncollectives, sizeof(*r->collectives), cmp_coll,
			(void *)tl);
	return err;
}

#define LEVEL_TRACE 3

static void add_counts(struct wt_report *r)
{
	uint64_t due = 0, timed = 0;
	int any = 0, watched = 0;

	/* What our hooks watched and never saw is 0, not unknown; a file cut before its first counts knows nothing. */
	for (size_t p = 0; p < r->tl->nprocesses; p++)
		if (r->tl->processes[p].level > 0 && r->tl->processes[p].ended)
			watched = 1;
	for (size_t i = 0; i < r->tl->ncounts; i++)
		if (r->tl->processes[r->tl->counts[i].process].level > 0)
			watched = 1;
	for (int k = 0; k < WT_COUNT_KINDS && watched; k++)
		r->counted[k] = 1;
	for (size_t i = 0; i < r->tl->ncounts; i++) {
		const struct wt_count *c = &r->tl->counts[i];
		struct wt_count *sum = &r->counts[c->kind];
		int level = r->tl->processes[c->process].level;

		/* Below level trace nothing is expected to arrive: counted, and no share of it. */
		if (c->kind != WT_COUNT_COLLECTIVE && (level < 0 || level >= LEVEL_TRACE)) {
			any = 1;
			due += c->counted - c->in_flight - c->device_error;
			timed += c->timed;
		}
		r->counted[c->kind] = 1;
		sum->counted += c->counted;
		sum->timed += c->timed;
		sum->untimed += c->untimed;
		sum->dropped_agent += c->dropped_agent;
		sum->dropped_cupti += c->dropped_cupti;
		sum->missing += c->missing;
		sum->in_flight += c->in_flight;
		sum->device_error += c->device_error;
		sum->captured += c->captured;
		sum->failed += c->failed;
		sum->soft += c->soft;
		sum->outside += c->outside;
		sum->extra += c->extra;
	}
	for (int k = 0; k < WT_COUNT_KINDS; k++) {
		const struct wt_count *c = &r->counts[k];

		/* Collectives are covered by the launches and copies they make. */
		if (!r->counted[k] || k == WT_COUNT_COLLECTIVE)
			continue;
		r->missing += c->missing + c->dropped_agent + c->dropped_cupti;
		r->in_flight += c->in_flight;
		r->device_error += c->device_error;
	}
	r->share = !any ? -1 : due ? (double)timed / (double)due : 1;
	for (size_t i = 0; i < r->tl->nops; i++) {
		static const uint8_t kind_of[] = {
			[WT_OP_KERNEL] = WT_COUNT_LAUNCH,
			[WT_OP_COPY] = WT_COUNT_COPY,
			[WT_OP_MEMSET] = WT_COUNT_MEMSET,
			[WT_OP_GRAPH] = WT_COUNT_GRAPH_LAUNCH,
		};
		const struct wt_op *op = &r->tl->ops[i];

		if (op->kind >= WT_OP_KERNEL && op->kind <= WT_OP_GRAPH)
			r->records[kind_of[op->kind]]++;
		r->untimed += op->flags & WT_OP_UNTIMED ? 1 : 0;
		r->ambiguous += op->flags & WT_OP_AMBIGUOUS ? 1 : 0;
	}
	r->records[WT_COUNT_COLLECTIVE] = r->tl->ncollectives;
}

static void add_known(int64_t *sum, int64_t v)
{
	if (v >= 0)
		*sum = (*sum < 0 ? 0 : *sum) + v;
}

static void add_cost(struct wt_report *r)
{
	r->hook_ns = r->writer_cpu_ns = r->cupti_ns = r->bytes_out = r->recorded_calls = -1;
	for (size_t i = 0; i < r->tl->nprocesses; i++) {
		const struct wt_process *p = &r->tl->processes[i];

		add_known(&r->hook_ns, p->hook_ns);
		add_known(&r->writer_cpu_ns, p->writer_cpu_ns);
		add_known(&r->cupti_ns, p->cupti_ns);
		add_known(&r->bytes_out, p->bytes_out);
		add_known(&r->recorded_calls, p->recorded_calls);
		if (p->collect_start_ns != INT64_MIN && p->collect_end_ns != INT64_MAX &&
		    p->collect_end_ns > p->collect_start_ns)
			r->recorded_ns += p->collect_end_ns - p->collect_start_ns;
	}
}

int wt_report_damaged(const struct wt_timeline *tl)
{
	for (size_t i = 0; i < tl->ninputs; i++)
		if (tl->inputs[i].damaged)
			return 1;
	for (size_t i = 0; i < tl->nprocesses; i++)
		if (tl->processes[i].level >= 0 && !tl->processes[i].ended)
			return 1;
	return 0;
}

/* Whole steps only: what was cut says little of who is late in a step. */
static int give_steps(struct wt_report *r)
{
	struct wt_rank_window *windows = malloc((r->axes->nsteps + 1) * sizeof(*windows));
	size_t n = 0;
	int err;

	if (!windows)
		return -WT_E_NOMEM;
	for (size_t i = 0; i < r->axes->nsteps; i++) {
		const struct wt_step *s = &r->axes->steps[i];

		if (!s->partial && s->end_ns > s->start_ns)
			windows[n++] = (struct wt_rank_window){s->number, s->start_ns, s->end_ns,
							       s->process};
	}
	err = wt_ranks_steps(r->ranks, windows, n);
	free(windows);
	return err;
}

int wt_report_new(struct wt_report **ret, const struct wt_timeline *tl,
		  const struct wt_ledger *ledger, struct wt_ranks *ranks)
{
	struct wt_report *r = calloc(1, sizeof(*r));

	if (!r)
		return -WT_E_NOMEM;
	r->tl = tl;
	r->ledger = ledger;
	r->ranks = ranks;
	add_accounts(r);
	add_counts(r);
	add_cost(r);
	if (wt_axes_build(&r->axes, ledger) || give_steps(r) || add_kernels(r) ||
	    add_collectives(r) || wt_progress_build(&r->progress, tl) || wt_notes_collect(r)) {
		wt_report_free(r);
		return -WT_E_NOMEM;
	}
	*ret = r;
	return 0;
}

void wt_report_free(struct wt_report *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nnotes; i++)
		wt_strbuf_release(&r->notes[i]);
	free(r->notes);
	wt_progress_free(r->progress);
	free(r->kernels);
	free(r->collectives);
	wt_axes_free(r->axes);
	free(r);
}

static const struct {
	wt_text_section *text;
	wt_json_section *json;
} sections[] = {
#define WT_SECTION(text_, json_) {text_, json_},
#include "report/sections.def"
#undef WT_SECTION
};
#define NSECTIONS (sizeof(sections) / sizeof(sections[0]))

void wt_report_text(const struct wt_report *r, struct wt_strbuf *out)
{
	if (r->hta) {
		wt_hta_text(r, out);
	} else {
		for (size_t i = 0; i < NSECTIONS; i++)
			if (sections[i].text)
				sections[i].text(r, out);
	}
	wt_visible_output(out, r->colour);
}

void wt_report_json(const struct wt_report *r, struct wt_strbuf *out)
{
	struct wt_jout j = {.out = out, .fresh = 1};

	wt_jout_open(&j, NULL, '{');
	wt_jout_string(&j, "schema", "warptap.report/1");
	for (size_t i = 0; i < NSECTIONS; i++)
		if (sections[i].json)
			sections[i].json(r, &j);
	wt_jout_close(&j, '}');
	wt_strbuf_addc(out, '\n');
}
