/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See ledger.h: windows, slices and accounts of all devices. An account that does not sum to its window is a bug here
 * and is reported as one; nothing is ever scaled to fit.
 */
#define _GNU_SOURCE /* qsort_r */
#include "ledger/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/gaps.h"
#include "ledger/sweep.h"

const struct wt_leaf_info wt_leaves[WT_LEAVES] = {
#define WT_LEAF(key_, name_, title_, rollup_, meaning_, remedy_)                                   \
	{#key_, #name_, title_, meaning_, remedy_, WT_ROLLUP_##rollup_},
#include "ledger/leaves.def"
#undef WT_LEAF
};

const char *const wt_rollup_names[WT_ROLLUPS] = {
	[WT_ROLLUP_COMPUTE] = "compute",     [WT_ROLLUP_MEMORY] = "memory",
	[WT_ROLLUP_LATENCY] = "latency",     [WT_ROLLUP_COMM] = "comm",
	[WT_ROLLUP_STRAGGLER] = "straggler", [WT_ROLLUP_PIPELINE] = "pipeline",
	[WT_ROLLUP_COPY] = "copy",	     [WT_ROLLUP_INPUT] = "input",
	[WT_ROLLUP_LAUNCH] = "launch",	     [WT_ROLLUP_SYNC] = "sync",
	[WT_ROLLUP_HOST] = "host",	     [WT_ROLLUP_NO_WORK] = "no_work",
	[WT_ROLLUP_UNKNOWN] = "unknown",
};

/* Sums of the masks whose bits under `test` equal `want`. */
static int64_t masks_ns(const struct wt_account *a, unsigned test, unsigned want)
{
	int64_t sum_ns = 0;

	for (unsigned m = 0; m < 1u << WT_STATES; m++)
		if ((m & test) == want)
			sum_ns += a->mask_ns[m];
	return sum_ns;
}

int64_t wt_account_compute_ns(const struct wt_account *a)
{
	return masks_ns(a, WT_STATE_COMPUTE, WT_STATE_COMPUTE);
}

int64_t wt_account_comm_exposed_ns(const struct wt_account *a)
{
	return masks_ns(a, WT_STATE_COMPUTE | WT_STATE_COMM, WT_STATE_COMM);
}

int64_t wt_account_copy_exposed_ns(const struct wt_account *a)
{
	return masks_ns(a, WT_STATE_COMPUTE | WT_STATE_COMM | WT_STATE_COPY, WT_STATE_COPY);
}

int64_t wt_account_spin_ns(const struct wt_account *a)
{
	return a->mask_ns[WT_STATE_SPIN];
}

int64_t wt_account_none_ns(const struct wt_account *a)
{
	return a->mask_ns[0];
}

int64_t wt_account_idle_ns(const struct wt_account *a)
{
	int64_t ns = 0;

	for (int i = WT_D1; i <= WT_D14; i++)
		ns += a->leaves_ns[i];
	return ns;
}

int64_t wt_account_comm_total_ns(const struct wt_account *a)
{
	return masks_ns(a, WT_STATE_COMM, WT_STATE_COMM);
}

static void account_add(struct wt_account *a, const struct wt_slice *s, int64_t ns)
{
	a->mask_ns[s->mask] += ns;
	a->leaves_ns[s->leaf] += ns;
	a->grades_ns[s->grade] += ns;
	a->leaf_grades_ns[s->leaf][s->grade] += ns;
	if (s->crowded)
		a->crowded_ns += ns;
	if (s->why == WT_WHY_CHOSEN && s->leaf == WT_E1)
		a->chosen_ns += ns;
}

int wt_account_window(const struct wt_slices *slices, int64_t w0_ns, int64_t w1_ns,
		      struct wt_account *ret)
{
	static const struct wt_slice edge = {.leaf = WT_E5, .grade = 3};
	struct wt_account a = {.window_ns = w1_ns - w0_ns};
	int64_t first_ns = w1_ns, last_ns = w1_ns, leaves_ns = 0, grades_ns = 0;
	const struct wt_slice *s;

	if (slices->n) {
		first_ns = wt_slices_at(slices, 0)->start_ns;
		last_ns = wt_slices_at(slices, slices->n - 1)->end_ns;
		first_ns = first_ns < w0_ns ? w0_ns : first_ns > w1_ns ? w1_ns : first_ns;
		last_ns = last_ns < w0_ns ? w0_ns : last_ns > w1_ns ? w1_ns : last_ns;
	}
	account_add(&a, &edge, (first_ns - w0_ns) + (w1_ns - last_ns));
	for (size_t i = wt_slices_find(slices, w0_ns); (s = wt_slices_until(slices, i, w1_ns));
	     i++) {
		account_add(&a, s,
			    (s->end_ns < w1_ns ? s->end_ns : w1_ns) -
				    (s->start_ns > w0_ns ? s->start_ns : w0_ns));
	}
	for (int i = 0; i < WT_LEAVES; i++)
		leaves_ns += a.leaves_ns[i];
	for (int i = 0; i < WT_GRADES; i++)
		grades_ns += a.grades_ns[i];
	if (leaves_ns != a.window_ns || grades_ns != a.window_ns ||
	    masks_ns(&a, 0, 0) != a.window_ns)
		return -WT_E_CORRUPT;
	*ret = a;
	return 0;
}

/* Kernels of one stream, by start; the device's order is by start already. */
struct last_on_stream {
	int64_t end_ns;
	int seen;
};

/* Of the kernels that start in [w0, w1). */
static int kernel_stats(const struct wt_timeline *tl, uint16_t device, int64_t w0_ns, int64_t w1_ns,
			struct wt_kernel_stats *ret)
{
	struct last_on_stream *last = calloc(tl->nstreams + 1, sizeof(*last));
	int64_t reach_ns = INT64_MIN;

	if (!last)
		return -WT_E_NOMEM;
	for (size_t i = tl->device_first[device]; i < tl->device_first[device + 1]; i++) {
		const struct wt_op *op = &tl->ops[i];
		struct last_on_stream *l = &last[op->stream];

		if (op->kind != WT_OP_KERNEL || op->start_ns < w0_ns || op->start_ns >= w1_ns)
			continue;
		ret->count++;
		ret->without_launch += op->call < 0;
		if (op->flags & WT_OP_UNTIMED)
			continue;
		ret->sum_ns += op->end_ns - op->start_ns;
		if (op->end_ns > reach_ns) {
			ret->union_ns +=
				op->end_ns - (op->start_ns > reach_ns ? op->start_ns : reach_ns);
			reach_ns = op->end_ns;
		}
		if (l->seen && op->start_ns < l->end_ns) {
			ret->same_stream_overlaps++;
			ret->same_stream_overlap_ns +=
				(op->end_ns < l->end_ns ? op->end_ns : l->end_ns) - op->start_ns;
		}
		if (!l->seen || op->end_ns > l->end_ns)
			l->end_ns = op->end_ns;
		l->seen = 1;
	}
	free(last);
	return 0;
}

struct range {
	int64_t w0_ns, w1_ns;
};

static void widen(struct range *r, int64_t start_ns, int64_t end_ns)
{
	r->w0_ns = start_ns < r->w0_ns ? start_ns : r->w0_ns;
	r->w1_ns = end_ns > r->w1_ns ? end_ns : r->w1_ns;
}

/* When a process collected; a killed one's end is its last event, an unknown start its first. */
static struct range collected(const struct wt_timeline *tl, uint16_t process)
{
	const struct wt_process *p = &tl->processes[process];
	struct range seen = {INT64_MAX, INT64_MIN};

	if (p->collect_start_ns == INT64_MIN || p->collect_end_ns == INT64_MAX) {
		for (size_t i = 0; i < tl->nops; i++)
			if (tl->ops[i].process == process && !(tl->ops[i].flags & WT_OP_UNTIMED))
				widen(&seen, tl->ops[i].start_ns, tl->ops[i].end_ns);
		for (size_t i = 0; i < tl->ncalls; i++)
			if (tl->calls[i].process == process)
				widen(&seen, tl->calls[i].start_ns, tl->calls[i].end_ns);
	}
	if (p->collect_start_ns != INT64_MIN)
		seen.w0_ns = p->collect_start_ns;
	if (p->collect_end_ns != INT64_MAX)
		seen.w1_ns = p->collect_end_ns;
	return seen;
}

static int is_native(const struct wt_process *p)
{
	return p->level >= 0;
}

/* Of ours that recorded calls alone, the time says nothing of devices. */
static int records_devices(const struct wt_process *p)
{
	return is_native(p) && p->level != 2;
}

/*
 * The window that all ranks of a native job share: from the last to start to the first to end. None (w0 >= w1) unless
 * there are two processes of two ranks on devices.
 */
static struct range common_window(const struct wt_timeline *tl, const struct range *collected_by,
				  const uint8_t *used)
{
	struct range common = {INT64_MIN, INT64_MAX};
	int32_t rank = -1;
	int ranks = 0;

	for (size_t i = 0; i < tl->nprocesses; i++) {
		const struct wt_process *p = &tl->processes[i];

		if (!is_native(p) || p->rank < 0 || !used[i])
			continue;
		if (p->rank != rank)
			ranks++;
		rank = p->rank;
		if (collected_by[i].w0_ns > common.w0_ns)
			common.w0_ns = collected_by[i].w0_ns;
		if (collected_by[i].w1_ns < common.w1_ns)
			common.w1_ns = collected_by[i].w1_ns;
	}
	return ranks > 1 ? common : (struct range){0, 0};
}

/* First start to last end of a device's records. */
static struct range recorded(const struct wt_timeline *tl, uint16_t device)
{
	struct range r = {INT64_MAX, INT64_MIN};

	for (size_t i = tl->device_first[device]; i < tl->device_first[device + 1]; i++)
		if (!(tl->ops[i].flags & WT_OP_UNTIMED))
			widen(&r, tl->ops[i].start_ns, tl->ops[i].end_ns);
	return r;
}

static struct range window_of(const struct wt_timeline *tl, uint16_t device,
			      const struct range *collected_by, const struct range *common,
			      struct range *ret_own)
{
	struct range r = {INT64_MAX, INT64_MIN};
	int ranked = 0, is_collected;

	for (size_t i = 0; i < tl->nstreams; i++) {
		uint16_t process = tl->streams[i].process;

		if (tl->streams[i].device != device || !records_devices(&tl->processes[process]))
			continue;
		ranked |= tl->processes[process].rank >= 0;
		widen(&r, collected_by[process].w0_ns, collected_by[process].w1_ns);
	}
	is_collected = r.w0_ns < r.w1_ns;
	if (!is_collected) /* another tool's file, or nothing usable in ours */
		r = recorded(tl, device);
	*ret_own = r.w0_ns <= r.w1_ns ? r : (struct range){0, 0};
	if (is_collected && ranked && common->w0_ns < common->w1_ns)
		r = *common;
	return r.w0_ns <= r.w1_ns ? r : (struct range){0, 0};
}

static int cmp_device(const void *pa, const void *pb, void *arg)
{
	const struct wt_timeline *tl = arg;
	const struct wt_ledger_device *x = pa, *y = pb;
	const struct wt_device *a = &tl->devices[x->device], *b = &tl->devices[y->device];

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->ordinal != b->ordinal)
		return a->ordinal < b->ordinal ? -1 : 1;
	return x->device - y->device;
}

static int build_device(struct wt_ledger *l, struct wt_gaps *gaps, struct wt_ledger_device *d,
			struct range window)
{
	const struct wt_timeline *tl = l->tl;
	size_t hole = 0, nholes;
	int err;

	while (hole < tl->nholes && tl->holes[hole].device < d->device)
		hole++;
	for (nholes = 0; hole + nholes < tl->nholes; nholes++)
		if (tl->holes[hole + nholes].device != d->device)
			break;
	d->w0_ns = window.w0_ns;
	d->w1_ns = window.w1_ns;
	err = wt_gaps_device(gaps, d->device);
	err = err ? err
		  : wt_sweep(tl, l->families, l->bounds, gaps, tl->device_first[d->device],
			     tl->device_first[d->device + 1], nholes ? tl->holes + hole : NULL,
			     nholes, &d->slices, &d->launch_cap_ns);
	err = err ? err : kernel_stats(tl, d->device, INT64_MIN, INT64_MAX, &d->kernels);
	return err ? err : wt_account_window(&d->slices, d->w0_ns, d->w1_ns, &d->account);
}

static int build_devices(struct wt_ledger *l, struct wt_gaps *gaps)
{
	const struct wt_timeline *tl = l->tl;
	struct range *by = malloc((tl->nprocesses + 1) * sizeof(*by)), common, window, own;
	uint8_t *used = calloc(tl->nprocesses + 1, 1);
	int err = by && used ? 0 : -WT_E_NOMEM;

	for (size_t i = 0; !err && i < tl->nstreams; i++)
		used[tl->streams[i].process] = 1;
	for (size_t i = 0; !err && i < tl->nprocesses; i++)
		by[i] = is_native(&tl->processes[i]) ? collected(tl, (uint16_t)i)
						     : (struct range){0, 0};
	if (!err)
		common = common_window(tl, by, used);
	for (size_t i = 0; !err && i < tl->ndevices; i++) {
		/* A device without a record is not reported: nothing says that it was used. */
		if (tl->device_first[i] == tl->device_first[i + 1])
			continue;
		l->devices[l->ndevices].device = (uint16_t)i;
		window = window_of(tl, (uint16_t)i, by, &common, &own);
		l->devices[l->ndevices].own_w0_ns = own.w0_ns;
		l->devices[l->ndevices].own_w1_ns = own.w1_ns;
		err = build_device(l, gaps, &l->devices[l->ndevices++], window);
	}
	free(by);
	free(used);
	return err;
}

int wt_ledger_build_with(struct wt_ledger **ret, const struct wt_timeline *tl,
			 struct wt_families *families, const struct wt_model *model,
			 struct wt_diag *diag)
{
	struct wt_ledger *l = calloc(1, sizeof(*l));
	struct wt_gaps *gaps = wt_gaps_new(tl);
	int err = -WT_E_NOMEM;

	if (l)
		l->families = families;
	else
		wt_families_free(families);
	if (l && families && gaps) {
		l->tl = tl;
		l->bounds = wt_bounds_new(tl, families);
		l->devices = calloc(tl->ndevices + 1, sizeof(*l->devices));
		if (l->bounds)
			wt_bounds_model(l->bounds, model);
		if (l->bounds && l->devices)
			err = build_devices(l, gaps);
	}
	wt_gaps_free(gaps);
	if (err) {
		wt_ledger_free(l);
		return wt_fail(diag, -err, -1,
			       err == -WT_E_NOMEM ? "out of memory"
						  : "internal error: the leaves of a device do not "
						    "sum to its window");
	}
	qsort_r(l->devices, l->ndevices, sizeof(*l->devices), cmp_device, (void *)tl);
	*ret = l;
	return 0;
}

int wt_ledger_build(struct wt_ledger **ret, const struct wt_timeline *tl, struct wt_diag *diag)
{
	return wt_ledger_build_with(ret, tl, wt_families_new(), NULL, diag);
}

void wt_ledger_free(struct wt_ledger *l)
{
	if (!l)
		return;
	for (size_t i = 0; l->devices && i < l->ndevices; i++)
		wt_slices_release(&l->devices[i].slices);
	free(l->devices);
	wt_bounds_free(l->bounds);
	wt_families_free(l->families);
	free(l);
}

int wt_ledger_window(struct wt_ledger *l, size_t device, int64_t w0_ns, int64_t w1_ns)
{
	struct wt_ledger_device *d = &l->devices[device];

	l->narrowed = 1;
	d->w0_ns = w0_ns;
	d->w1_ns = w1_ns;
	memset(&d->kernels, 0, sizeof(d->kernels));
	if (kernel_stats(l->tl, d->device, w0_ns, w1_ns, &d->kernels))
		return -WT_E_NOMEM;
	return wt_account_window(&d->slices, w0_ns, w1_ns, &d->account);
}

int wt_ledger_covers(const struct wt_ledger *l, const struct wt_op *op)
{
	for (size_t d = 0; l->narrowed && d < l->ndevices; d++)
		if (l->devices[d].device == op->device)
			return op->start_ns >= l->devices[d].w0_ns &&
			       op->start_ns < l->devices[d].w1_ns;
	return 1;
}
