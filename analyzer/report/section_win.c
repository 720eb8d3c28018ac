/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to win first, as engineers write it by hand: what the wall time is made of, what of communication is hidden,
 * what is computed twice; then the losses, largest first, each with what it stands on, what to do, and the gain.
 *
 * The seconds are those of whole steps where steps are known (start-up and the recording's ends say nothing about the
 * rest), else those between the first and the last record. Leaves do not overlap, so gains never add up to more than
 * what is not computing; a gain is a ceiling, T / (T - R): what replaces the loss takes time too.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "axes/axes.h"
#include "base/map.h"
#include "ledger/sweep.h"
#include "report/section.h"

#define NOPPORTUNITIES 10
#define TEXT_MOST      5
#define NEVIDENCE      3
#define NAME_COLUMNS   60
#define WORTH_PCT                                                                                  \
	1 /* of a step: the leaf counts as being in that step; of a leaf: evidence worth saying */
#define CAUSES (WT_LEAVES + 1) /* of a wait: a leaf, or WT_LEAVES: not established */

/* Something a leaf's seconds stand on: an operation, a call or a range by name; a device; and how long. */
enum by { BY_OP, BY_CALL, BY_RANGE, BY_DEVICE, BY_CULPRIT, BYS };
struct share_of {
	uint64_t key; /* leaf << 32 | name, device, or the seat and the leaf that were waited for */
	int64_t ns;
};
struct tally {
	struct wt_map index;
	struct share_of *rows;
	size_t n;
};
struct win {
	const struct wt_report *r;
	struct tally by[BYS];
	struct wt_account sum;
	int64_t grades_ns[WT_LEAVES][WT_GRADES];
	int64_t pageable_ns; /* of copies to the device (C2) */
	uint32_t in_steps[WT_LEAVES];
	uint32_t windows;     /* of all devices */
	int steps;	      /* windows are whole steps */
	double tokens_s, mfu; /* 0 = not known */
	int failed;
};

static void tally_add(struct win *w, enum by by, unsigned leaf, uint32_t name, int64_t ns)
{
	struct tally *t = &w->by[by];
	uint64_t key = (uint64_t)leaf << 32 | name;
	int isnew;
	uint32_t *slot = wt_map_slot(&t->index, key, (uint32_t)t->n, &isnew);

	if (slot && isnew && !(t->n & (t->n - 1))) {
		struct share_of *rows = realloc(t->rows, (t->n ? t->n * 2 : 1) * sizeof(*rows));

		if (!rows)
			slot = NULL;
		else
			t->rows = rows;
	}
	if (!slot) {
		w->failed = 1;
		return;
	}
	if (isnew)
		t->rows[t->n++] = (struct share_of){.key = key};
	t->rows[*slot].ns += ns;
}

/* The host's range that says most about a slice: of the thread that launched what ended it, while the slice lasted. */
static int32_t range_of(const struct wt_report *r, const struct wt_slice *s)
{
	const struct wt_timeline *tl = r->tl;
	const struct wt_op *op = s->op == UINT32_MAX ? NULL : &tl->ops[s->op];
	/* That it was in a step says nothing: which steps is told by itself. */
	uint32_t all = r->axes->ranges.kinds & ~(1u << WT_RANGE_OS | 1u << WT_RANGE_STEP);

	if (!op || op->call < 0 || !all)
		return -1;
	if (s->mask) /* busy: what launched it */
		return wt_ranges_at(&r->axes->ranges, tl->calls[op->call].thread,
				    tl->calls[op->call].start_ns, all);
	return wt_ranges_at(&r->axes->ranges, tl->calls[op->call].thread,
			    s->start_ns + (s->end_ns - s->start_ns) / 2, all);
}

static int cmp_wait(const void *pkey, const void *pw)
{
	uint32_t part = *(const uint32_t *)pkey, at = ((const struct wt_rank_wait *)pw)->part;

	return (part > at) - (part < at);
}

/* Whom a slice of waiting (B3, B4) was for, and what that one did meanwhile. */
static void add_culprit(struct win *w, const struct wt_slice *s, int64_t ns)
{
	const struct wt_ranks *k = w->r->ranks;
	int32_t part = s->op == UINT32_MAX || !k->nwaits ? -1 : wt_ranks_part_of(k, s->op);
	uint32_t key = (uint32_t)part;
	const struct wt_rank_wait *wait =
		part < 0 ? NULL : bsearch(&key, k->waits, k->nwaits, sizeof(*k->waits), cmp_wait);

	if (wait)
		tally_add(w, BY_CULPRIT, s->leaf, wait->culprit * CAUSES + wait->leaf, ns);
}

static void add_slice(struct win *w, const struct wt_ledger_device *d, const struct wt_slice *s,
		      int64_t ns)
{
	const struct wt_timeline *tl = w->r->tl;
	int32_t range;

	w->grades_ns[s->leaf][s->grade] += ns;
	if (s->leaf == WT_C2 && s->op != UINT32_MAX && tl->ops[s->op].flags & WT_OP_PAGEABLE)
		w->pageable_ns += ns;
	if (s->leaf < WT_B1)
		return;
	if (s->op != UINT32_MAX)
		tally_add(w, BY_OP, s->leaf, tl->ops[s->op].name, ns);
	if (s->call >= 0)
		tally_add(w, BY_CALL, s->leaf, tl->calls[s->call].name, ns);
	tally_add(w, BY_DEVICE, s->leaf, (uint32_t)(d - w->r->ledger->devices), ns);
	if (s->leaf == WT_B3 || s->leaf == WT_B4)
		add_culprit(w, s, ns);
	range = range_of(w->r, s);
	if (range >= 0)
		tally_add(w, BY_RANGE, s->leaf, tl->ranges[range].name, ns);
}

static void add_window(struct win *w, const struct wt_ledger_device *d, int64_t w0_ns,
		       int64_t w1_ns)
{
	const struct wt_slice *s;
	struct wt_account a;

	if (w0_ns >= w1_ns || wt_account_window(&d->slices, w0_ns, w1_ns, &a))
		return;
	w->windows++;
	w->sum.window_ns += a.window_ns;
	w->sum.chosen_ns += a.chosen_ns;
	for (int i = 0; i < 1 << WT_STATES; i++)
		w->sum.mask_ns[i] += a.mask_ns[i];
	for (int i = 0; i < WT_LEAVES; i++) {
		w->sum.leaves_ns[i] += a.leaves_ns[i];
		w->in_steps[i] += a.leaves_ns[i] * 100 >= a.window_ns * WORTH_PCT;
	}
	for (size_t i = wt_slices_find(&d->slices, w0_ns);
	     (s = wt_slices_until(&d->slices, i, w1_ns)); i++) {
		int64_t from_ns = s->start_ns > w0_ns ? s->start_ns : w0_ns;
		int64_t to_ns = s->end_ns < w1_ns ? s->end_ns : w1_ns;

		if (to_ns > from_ns)
			add_slice(w, d, s, to_ns - from_ns);
	}
}

/* Whole steps inside the ledger's windows; 0 if there are fewer than two. */
static size_t add_steps(struct win *w, int count_only)
{
	size_t n = 0;

	for (size_t i = 0; i < w->r->axes->nsteps; i++) {
		const struct wt_step *s = &w->r->axes->steps[i];
		const struct wt_ledger_device *d = &w->r->ledger->devices[s->device];

		if (s->partial || s->start_ns < d->w0_ns || s->end_ns > d->w1_ns)
			continue;
		n++;
		if (!count_only)
			add_window(w, d, s->start_ns, s->end_ns);
	}
	return n;
}

/* Between the first and the last record; as in the first lines, E5 is outside wherever it lies. */
static void add_device(struct win *w, const struct wt_ledger_device *d)
{
	const struct wt_slices *s = &d->slices;
	int64_t w0_ns = d->w0_ns, w1_ns = d->w1_ns, first_ns, last_ns;

	if (!s->n)
		return;
	first_ns = wt_slices_at(s, 0)->start_ns;
	last_ns = wt_slices_at(s, s->n - 1)->end_ns;
	w0_ns = first_ns > w0_ns ? first_ns : w0_ns;
	w1_ns = last_ns < w1_ns ? last_ns : w1_ns;
	add_window(w, d, w0_ns, w1_ns);
	w->sum.window_ns -= w->sum.leaves_ns[WT_E5] + w->sum.chosen_ns;
	w->sum.mask_ns[0] -= w->sum.leaves_ns[WT_E5] + w->sum.chosen_ns;
	w->sum.leaves_ns[WT_E5] = 0;
	w->sum.leaves_ns[WT_E1] -= w->sum.chosen_ns;
	w->sum.chosen_ns = 0;
}

static int by_share(const void *pa, const void *pb)
{
	const struct share_of *x = pa, *y = pb;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static int win_build(struct win *w, const struct wt_report *r)
{
	w->r = r;
	wt_model_rate(r, &w->tokens_s, &w->mfu);
	w->steps =
		!r->ledger->narrowed && wt_axes_whole_steps(r->axes) >= 2 && add_steps(w, 1) >= 2;
	if (w->steps)
		add_steps(w, 0);
	for (size_t d = 0; !w->steps && d < r->ledger->ndevices; d++)
		add_device(w, &r->ledger->devices[d]);
	for (int b = 0; b < BYS; b++)
		if (w->by[b].n)
			qsort(w->by[b].rows, w->by[b].n, sizeof(*w->by[b].rows), by_share);
	return w->failed ? -1 : 0;
}

static void win_release(struct win *w)
{
	for (int b = 0; b < BYS; b++) {
		wt_map_release(&w->by[b].index);
		free(w->by[b].rows);
	}
}

/*
 * The losses, largest first: what is known not to be computing. Time without records is none: a device that worked
 * unseen (E2) or whose records were lost (E1) may have computed all the while, and nothing can be won there. Returns
 * how many.
 */
static int losses(const struct win *w, enum wt_leaf ret[WT_LEAVES])
{
	int n = 0;

	for (int i = WT_B1; i < WT_E1; i++) {
		int at = n;

		if (!w->sum.leaves_ns[i])
			continue;
		for (; at && w->sum.leaves_ns[ret[at - 1]] < w->sum.leaves_ns[i]; at--)
			ret[at] = ret[at - 1];
		ret[at] = i;
		n++;
	}
	return n;
}

static int grade_of(const struct win *w, enum wt_leaf leaf)
{
	int best = 1;

	for (int g = 2; g < WT_GRADES; g++)
		if (w->grades_ns[leaf][g] > w->grades_ns[leaf][best])
			best = g;
	return best;
}

/* T / (T - R); 0 = without bound. */
static double ceiling(const struct win *w, int64_t loss_ns)
{
	int64_t left_ns = w->sum.window_ns - loss_ns;

	return left_ns > 0 ? (double)w->sum.window_ns / (double)left_ns : 0;
}

/* What a phase computed, of the whole recording: kernels that wait for other ranks are none of it. */
static int64_t computed_ns(const struct win *w, int phase)
{
	int64_t ns = 0;

	for (int k = WT_A1; k <= WT_A6; k++)
		ns += w->r->axes->phases[phase].leaves_ns[k];
	return ns;
}

/* A leaf's first remedy, where what lies in it does not say a better one. */
static const char *remedy_of(const struct win *w, enum wt_leaf leaf)
{
	int64_t off_ns = 0, all_ns = 0;

	if (leaf == WT_C2 && w->pageable_ns * 2 < w->sum.leaves_ns[leaf])
		return "overlap the copies with computing, on a stream of their own";
	if (leaf == WT_A2) {
		for (size_t i = 0; i < w->r->nkernels; i++) {
			off_ns += w->r->kernels[i].off_ns;
			all_ns += w->r->kernels[i].limit_ns[WT_LIMIT_ALU];
		}
		if (off_ns * 2 > all_ns)
			return "let matrix products run on the matrix pipe: bf16, fp16, fp8 or "
			       "TF32";
	}
	return wt_leaves[leaf].remedy;
}

/* ---- JSON ---- */

static void culprit_json(const struct win *w, uint32_t seat, struct wt_jout *j)
{
	const struct wt_seat *s = &w->r->ranks->seats[seat];

	wt_jout_count(j, "rank", s->rank);
	wt_jout_count(j, "device",
		      s->device < w->r->tl->ndevices ? w->r->tl->devices[s->device].ordinal : -1);
}

static void culprits_json(const struct win *w, enum wt_leaf leaf, struct wt_jout *j)
{
	const struct tally *t = &w->by[BY_CULPRIT];
	int n = 0;

	wt_jout_open(j, "culprits", '[');
	for (size_t i = 0; i < t->n && n < NEVIDENCE; i++) {
		uint32_t key = (uint32_t)t->rows[i].key;

		if (t->rows[i].key >> 32 != leaf)
			continue;
		n++;
		wt_jout_open(j, NULL, '{');
		culprit_json(w, key / CAUSES, j);
		wt_jout_string(j, "leaf",
			       key % CAUSES < WT_LEAVES ? wt_leaves[key % CAUSES].key : NULL);
		wt_jout_int(j, "ns", t->rows[i].ns);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

static void evidence_json(const struct win *w, enum wt_leaf leaf, enum by by, const char *key,
			  struct wt_jout *j)
{
	const struct wt_report *r = w->r;
	const struct tally *t = &w->by[by];
	int n = 0;

	wt_jout_open(j, key, '[');
	for (size_t i = 0; i < t->n && n < NEVIDENCE; i++) {
		uint32_t name = (uint32_t)t->rows[i].key;

		if (t->rows[i].key >> 32 != leaf)
			continue;
		n++;
		wt_jout_open(j, NULL, '{');
		if (by == BY_DEVICE) {
			const struct wt_device *d =
				&r->tl->devices[r->ledger->devices[name].device];

			wt_jout_count(j, "rank", d->rank);
			wt_jout_int(j, "device", d->ordinal);
		} else {
			wt_jout_string(j, "name", wt_timeline_string(r->tl, name));
		}
		wt_jout_int(j, "ns", t->rows[i].ns);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

void wt_opportunities_json(const struct wt_report *r, struct wt_jout *j)
{
	struct win w = {.failed = 0};
	enum wt_leaf leaves[WT_LEAVES];
	int n = win_build(&w, r) ? 0 : losses(&w, leaves);

	wt_jout_open(j, "opportunities", '[');
	for (int i = 0; i < n && i < NOPPORTUNITIES; i++) {
		int64_t ns = w.sum.leaves_ns[leaves[i]];
		double most = ceiling(&w, ns);

		wt_jout_open(j, NULL, '{');
		wt_jout_string(j, "leaf", wt_leaves[leaves[i]].key);
		wt_jout_string(j, "title", wt_leaves[leaves[i]].title);
		wt_jout_int(j, "ns", ns);
		wt_jout_share(j, "share", (double)ns / (double)w.sum.window_ns);
		wt_jout_int(j, "grade", grade_of(&w, leaves[i]));
		wt_jout_string(j, "do", remedy_of(&w, leaves[i]));
		wt_jout_string(j, "of", w.steps ? "whole steps" : "records");
		wt_jout_int(j, "of_ns", w.sum.window_ns);
		if (most > 0)
			wt_jout_share(j, "speedup_at_most", most);
		else
			wt_jout_null(j, "speedup_at_most");
		if (most > 0 && w.tokens_s > 0)
			wt_jout_share(j, "tokens_per_s_at_most", w.tokens_s * most);
		if (most > 0 && w.mfu > 0)
			wt_jout_share(j, "mfu_at_most", w.mfu * most);
		wt_jout_int(j, "windows", w.in_steps[leaves[i]]);
		wt_jout_int(j, "of_windows", w.windows);
		evidence_json(&w, leaves[i], BY_OP, "operations", j);
		evidence_json(&w, leaves[i], BY_CALL, "calls", j);
		evidence_json(&w, leaves[i], BY_RANGE, "ranges", j);
		evidence_json(&w, leaves[i], BY_DEVICE, "devices", j);
		culprits_json(&w, leaves[i], j);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
	win_release(&w);
}

/* ---- text ---- */

static void evidence_text(const struct win *w, enum wt_leaf leaf, enum by by, const char *lead,
			  struct wt_strbuf *out)
{
	const struct tally *t = &w->by[by];
	int n = 0;

	for (size_t i = 0; i < t->n && n < NEVIDENCE; i++) {
		uint32_t name = (uint32_t)t->rows[i].key;
		const char *text = wt_timeline_string(w->r->tl, name);

		if (t->rows[i].key >> 32 != leaf || !*text)
			continue;
		if (t->rows[i].ns * 100 < w->sum.leaves_ns[leaf] * WORTH_PCT) /* largest first */
			break;
		wt_strbuf_adds(out, n++ ? ", " : lead);
		wt_text_name(out, text, NAME_COLUMNS);
		wt_strbuf_adds(out, " (");
		wt_text_percent(out, t->rows[i].ns, w->sum.leaves_ns[leaf]);
		wt_strbuf_adds(out, ")");
	}
	if (n)
		wt_strbuf_addc(out, '\n');
}

static void devices_text(const struct win *w, enum wt_leaf leaf, struct wt_strbuf *out)
{
	const struct tally *t = &w->by[BY_DEVICE];
	size_t most = SIZE_MAX;

	for (size_t i = 0; i < t->n && most == SIZE_MAX; i++)
		if (t->rows[i].key >> 32 == leaf)
			most = i;
	/* Worth saying where it is more than an even share, by a fifth. */
	if (most == SIZE_MAX || w->r->ledger->ndevices < 2 ||
	    (double)t->rows[most].ns * (double)w->r->ledger->ndevices <
		    1.2 * (double)w->sum.leaves_ns[leaf])
		return;
	wt_strbuf_adds(out, "     most on ");
	wt_text_device(w->r, out, w->r->ledger->devices[(uint32_t)t->rows[most].key].device);
	wt_strbuf_adds(out, ": ");
	wt_text_percent(out, t->rows[most].ns, w->sum.leaves_ns[leaf]);
	wt_strbuf_adds(out, " of it\n");
}

static void culprits_text(const struct win *w, enum wt_leaf leaf, struct wt_strbuf *out)
{
	const struct tally *t = &w->by[BY_CULPRIT];
	int n = 0;

	for (size_t i = 0; i < t->n && n < NEVIDENCE; i++) {
		uint32_t key = (uint32_t)t->rows[i].key, cause = key % CAUSES;

		if (t->rows[i].key >> 32 != leaf ||
		    t->rows[i].ns * 100 < w->sum.leaves_ns[leaf] * WORTH_PCT)
			continue;
		wt_strbuf_adds(out, n++ ? ", " : "     for ");
		wt_text_seat(w->r, out, key / CAUSES);
		if (cause == WT_E5)
			wt_strbuf_adds(out, ": it had not begun (");
		else if (cause < WT_LEAVES)
			wt_strbuf_addf(out, ": %s %s (", wt_leaves[cause].key,
				       wt_leaves[cause].title);
		else
			wt_strbuf_adds(out, ": not established why (");
		wt_text_percent(out, t->rows[i].ns, w->sum.leaves_ns[leaf]);
		wt_strbuf_addc(out, ')');
	}
	if (n)
		wt_strbuf_addc(out, '\n');
}

/* Of waiting, what to do where it was caused, if one cause stands out. */
static void remedy_text(const struct win *w, enum wt_leaf leaf, struct wt_strbuf *out)
{
	const struct tally *t = &w->by[BY_CULPRIT];
	const char *remedy = remedy_of(w, leaf);
	size_t i = 0;

	while (i < t->n && t->rows[i].key >> 32 != leaf)
		i++;
	if (i < t->n && t->rows[i].ns * 2 > w->sum.leaves_ns[leaf]) {
		uint32_t key = (uint32_t)t->rows[i].key, cause = key % CAUSES;

		if (cause <= WT_A6) {
			wt_strbuf_adds(out, "     try: compare clocks, power and temperature of ");
			wt_text_seat(w->r, out, key / CAUSES);
			wt_strbuf_adds(out, " with the others', and what each is given to do: its "
					    "kernels last longer, or are more\n");
			return;
		}
		if (cause < WT_LEAVES && *wt_leaves[cause].remedy) {
			wt_strbuf_adds(out, "     try, on ");
			wt_text_seat(w->r, out, key / CAUSES);
			wt_strbuf_addf(out, ": %s\n", wt_leaves[cause].remedy);
			return;
		}
	}
	if (*remedy)
		wt_strbuf_addf(out, "     try: %s\n", remedy);
}

static void loss_text(const struct win *w, int rank, enum wt_leaf leaf, struct wt_strbuf *out)
{
	int64_t ns = w->sum.leaves_ns[leaf];
	double most = ceiling(w, ns);

	wt_strbuf_addf(out, "  %d. %s %s: ", rank, wt_leaves[leaf].key, wt_leaves[leaf].title);
	wt_text_span(out, ns / w->windows);
	wt_strbuf_adds(out, w->steps ? " a step = " : " = ");
	wt_text_percent(out, ns, w->sum.window_ns);
	wt_strbuf_addf(out, " (%s)", wt_grade_name(grade_of(w, leaf)));
	if (most > 0)
		wt_strbuf_addf(out, "; without it at most %.2f times as fast", most);
	if (most > 0 && w->tokens_s > 0)
		wt_strbuf_addf(out, " (%.0f tokens/s, now %.0f", w->tokens_s * most, w->tokens_s);
	if (most > 0 && w->mfu > 0)
		wt_strbuf_addf(out, "; MFU %.1f %%, now %.1f %%", 100 * w->mfu * most,
			       100 * w->mfu);
	if (most > 0 && w->tokens_s > 0)
		wt_strbuf_addc(out, ')');
	if (w->steps)
		wt_strbuf_addf(out, "; in %u of %u steps", w->in_steps[leaf], w->windows);
	wt_strbuf_addc(out, '\n');
	evidence_text(w, leaf, BY_RANGE, "     while in ", out);
	evidence_text(w, leaf, BY_CALL, "     at ", out);
	evidence_text(w, leaf, BY_OP, leaf >= WT_D1 ? "     before " : "     in ", out);
	devices_text(w, leaf, out);
	culprits_text(w, leaf, out);
	remedy_text(w, leaf, out);
}

static void made_of_text(const struct win *w, struct wt_strbuf *out)
{
	const struct wt_account *a = &w->sum;
	int64_t comm_ns = wt_account_comm_total_ns(a), exposed_ns = wt_account_comm_exposed_ns(a);
	int64_t all_ns = 0;

	wt_strbuf_adds(out, "  ");
	wt_text_span(out, a->window_ns / w->windows);
	if (w->steps)
		wt_strbuf_addf(out, " a step (mean of %u whole ones)", w->windows);
	else if (w->windows > 1)
		wt_strbuf_addf(out, " between a device's records (mean of %u devices)", w->windows);
	else
		wt_strbuf_adds(out, " between the first and the last record");
	wt_strbuf_adds(out, " = computing ");
	wt_text_percent(out, wt_account_compute_ns(a), a->window_ns);
	wt_strbuf_adds(out, " + exposed communication ");
	wt_text_percent(out, exposed_ns, a->window_ns);
	wt_strbuf_adds(out, " + exposed copies ");
	wt_text_percent(out, wt_account_copy_exposed_ns(a), a->window_ns);
	if (wt_account_spin_ns(a)) {
		wt_strbuf_adds(out, " + spinning ");
		wt_text_percent(out, wt_account_spin_ns(a), a->window_ns);
	}
	wt_strbuf_adds(out, " + idle ");
	wt_text_percent(out, wt_account_idle_ns(a), a->window_ns);
	if (wt_account_none_ns(a) > wt_account_idle_ns(a)) {
		wt_strbuf_adds(out, " + without records ");
		wt_text_percent(out, wt_account_none_ns(a) - wt_account_idle_ns(a), a->window_ns);
	}
	wt_strbuf_addc(out, '\n');
	if (comm_ns) {
		wt_strbuf_adds(out, "  of communication, ");
		wt_text_percent(out, comm_ns - exposed_ns, comm_ns);
		wt_strbuf_adds(out, " is hidden behind computing\n");
	}
	for (int p = 0; p < WT_PHASES; p++)
		all_ns += computed_ns(w, p);
	if (computed_ns(w, WT_PHASE_RECOMPUTE)) {
		wt_strbuf_adds(out, "  of computing, ");
		wt_text_percent(out, computed_ns(w, WT_PHASE_RECOMPUTE), all_ns);
		wt_strbuf_adds(out, " recomputes activations: what more memory, or a smaller "
				    "model, would save at most\n");
	}
}

/*
 * How far the kernels that are compared with a peak are from it, and what reaching it would give. By the sums of the
 * whole recording. They are a part of computing and the losses are none of it: together no more than the whole.
 */
static void ceiling_text(const struct win *w, struct wt_strbuf *out)
{
	const struct wt_tally *t = &w->r->tally;
	int64_t compute_ns = t->kernels_ns - t->comm_ns, known_ns = t->modelled_ns + t->measured_ns;
	double roof_ns = 0, gain_ns;

	for (size_t i = 0; i < w->r->nkernels; i++)
		roof_ns += w->r->kernels[i].roof_ns;
	if (known_ns * 100 < compute_ns * WORTH_PCT || !known_ns || roof_ns > (double)known_ns)
		return;
	gain_ns = (double)wt_account_compute_ns(&w->sum) * ((double)known_ns - roof_ns) /
		  (double)compute_ns;
	wt_strbuf_adds(out, "  of computing, ");
	wt_text_percent(out, known_ns, compute_ns);
	wt_strbuf_addf(out,
		       " is compared with the device's peaks%s and reaches %.0f %% of them: at the "
		       "peaks at most %.2f times as fast (%s)\n",
		       t->unverified_ns ? " (some unverified)" : "",
		       100 * roof_ns / (double)known_ns, ceiling(w, (int64_t)gain_ns),
		       !t->measured_ns	? "modelled"
		       : t->modelled_ns ? "measured and modelled"
					: "measured");
}

/* What is not known to be lost: said with what would make it known, and without a gain. */
static void unseen_text(const struct win *w, struct wt_strbuf *out)
{
	for (int i = WT_E1; i < WT_E5; i++) {
		int64_t ns = w->sum.leaves_ns[i];

		if (ns * 100 < w->sum.window_ns * WORTH_PCT || !ns)
			continue;
		wt_strbuf_addf(out, "  not seen: %s %s, ", wt_leaves[i].key, wt_leaves[i].title);
		wt_text_percent(out, ns, w->sum.window_ns);
		wt_strbuf_addf(out, "; no gain is claimed for it; try: %s\n", wt_leaves[i].remedy);
	}
}

/* Where little is lost, what is left to gain lies in the kernels. */
static void kernels_text(const struct win *w, struct wt_strbuf *out)
{
	enum wt_leaf use = WT_A1;

	for (int k = WT_A1; k <= WT_A6; k++)
		if (w->sum.leaves_ns[k] > w->sum.leaves_ns[use])
			use = k;
	wt_strbuf_addf(out, "  what is left to gain lies in the kernels: %s %s, ",
		       wt_leaves[use].key, wt_leaves[use].title);
	wt_text_percent(out, w->sum.leaves_ns[use], w->sum.window_ns);
	wt_strbuf_addf(out, " (%s); try: %s\n", wt_grade_name(grade_of(w, use)), remedy_of(w, use));
}

void wt_win_text(const struct wt_report *r, struct wt_strbuf *out)
{
	struct win w = {.failed = 0};
	enum wt_leaf leaves[WT_LEAVES];
	int n = win_build(&w, r) ? 0 : losses(&w, leaves);

	if (w.windows) {
		wt_text_heading(r, out, "What to win first");
		made_of_text(&w, out);
		ceiling_text(&w, out);
		for (int i = 0; i < n && i < TEXT_MOST; i++)
			if (w.sum.leaves_ns[leaves[i]] * 100 >= w.sum.window_ns * WORTH_PCT)
				loss_text(&w, i + 1, leaves[i], out);
		if (!n || w.sum.leaves_ns[leaves[0]] * 100 < w.sum.window_ns * WORTH_PCT)
			wt_strbuf_adds(out, "  no loss is 1 % or more\n");
		unseen_text(&w, out);
		if (wt_account_compute_ns(&w.sum) * 10 >= w.sum.window_ns * 9)
			kernels_text(&w, out);
	}
	win_release(&w);
}
