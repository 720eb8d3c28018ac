/* SPDX-License-Identifier: Apache-2.0 */
/* Who waited how long on whom because of what; on which clocks that stands, and what was not matched and why. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/section.h"

#define TOP_CULPRITS 5
#define TOP_COMMS    8
#define TOP_STEPS    5
#define NAME_COLUMNS 60

static const char *const clock_states[] = {
	[WT_CLOCK_UNKNOWN] = "not established",
	[WT_CLOCK_ROOT] = "reference",
	[WT_CLOCK_SHARED] = "shared",
	[WT_CLOCK_FITTED] = "fitted",
};

void wt_text_seat(const struct wt_report *r, struct wt_strbuf *out, uint32_t seat)
{
	const struct wt_seat *s = &r->ranks->seats[seat];

	if (s->rank >= 0) {
		wt_strbuf_addf(out, "rank %" PRId32, s->rank);
		return;
	}
	if (s->device < r->tl->ndevices)
		wt_strbuf_addf(out, "device %" PRId64, r->tl->devices[s->device].ordinal);
	if (s->device >= r->tl->ndevices || r->tl->nprocesses > 1)
		wt_strbuf_addf(out, "%sprocess %" PRId64, s->device < r->tl->ndevices ? " of " : "",
			       r->tl->processes[s->process].pid);
}

static void comm_text(const struct wt_report *r, struct wt_strbuf *out,
		      const struct wt_rank_comm *c)
{
	if (c->family) {
		wt_text_name(out, wt_timeline_string(r->tl, c->name), NAME_COLUMNS);
		return;
	}
	wt_strbuf_addf(out, "%s group", wt_group_names[c->kind]);
	if (c->kind != WT_GROUP_UNKNOWN && c->kind != WT_GROUP_ALL && c->kind_grade < 3)
		wt_strbuf_adds(out, " (by its members)");
	if (c->nranks)
		wt_strbuf_addf(out, " of %" PRIu32, c->nranks);
	if (c->name) {
		wt_strbuf_adds(out, ", ");
		wt_text_name(out, wt_timeline_string(r->tl, c->name), NAME_COLUMNS);
	}
	if (c->key)
		wt_strbuf_addf(out, " (communicator %08" PRIx32 ")", (uint32_t)(c->key >> 32));
	else
		wt_strbuf_adds(out, " (communicator not known)");
}

/* One processes' clock is like the other's: only what differs is listed. */
static void clocks_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_ranks *k = r->ranks;
	size_t n[4] = {0}, processes = 0;

	for (size_t i = 0; i < k->nseats; i++)
		processes += i && k->seats[i].process != k->seats[0].process;
	if (!processes) {
		wt_strbuf_adds(out, "  devices of one process, on one clock\n");
		return;
	}
	for (size_t i = 0; i < k->nseats; i++)
		n[k->clocks[k->seats[i].process].state & 3]++;
	if (!n[WT_CLOCK_SHARED] && !n[WT_CLOCK_FITTED]) {
		wt_strbuf_adds(out, "  clocks of the ranks: not established, nothing ties them\n");
		return;
	}
	wt_strbuf_addf(out,
		       "  clocks: %zu shared, %zu fitted to the ends of common operations, %zu not "
		       "established; "
		       "residual (p95) ",
		       n[WT_CLOCK_SHARED] + n[WT_CLOCK_ROOT], n[WT_CLOCK_FITTED],
		       n[WT_CLOCK_UNKNOWN]);
	wt_text_span(out, k->residual_ns);
	wt_strbuf_adds(out, ": no shorter wait has a culprit\n");
	for (size_t i = 0; i < r->tl->nprocesses; i++) {
		const struct wt_clock *c = &k->clocks[i];

		if (c->state != WT_CLOCK_FITTED)
			continue;
		wt_strbuf_addf(out, "    rank %" PRId32 " %s ", r->tl->processes[i].rank,
			       c->offset_ns < 0 ? "behind by" : "ahead by");
		wt_text_span(out, c->offset_ns < 0 ? -c->offset_ns : c->offset_ns);
		wt_strbuf_addf(out, " against rank %" PRId32 ", drift %.3f ppm, %" PRIu32 " ends\n",
			       r->tl->processes[c->root].rank, c->drift * 1e6, c->samples);
	}
}

static const char *leaf_title(uint8_t leaf)
{
	return leaf < WT_LEAVES ? wt_leaves[leaf].title : "a cause that is not established";
}

/* Rows of one culprit, cause and communicator, over all who waited. */
struct culprit {
	const struct wt_blame *largest;
	int64_t wait_ns;
	uint64_t times;
	uint32_t waiters;
};

static int cmp_culprit(const void *pa, const void *pb)
{
	const struct culprit *x = pa, *y = pb;

	if (x->wait_ns != y->wait_ns)
		return x->wait_ns > y->wait_ns ? -1 : 1;
	return (x->largest > y->largest) - (x->largest < y->largest);
}

static int cmp_group(const void *pa, const void *pb)
{
	const struct wt_blame *x = *(const struct wt_blame *const *)pa,
			      *y = *(const struct wt_blame *const *)pb;

	if (x->culprit != y->culprit)
		return x->culprit < y->culprit ? -1 : 1;
	if (x->leaf != y->leaf)
		return x->leaf - y->leaf;
	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	return (x->waiter > y->waiter) - (x->waiter < y->waiter);
}

static size_t culprits(const struct wt_ranks *k, struct culprit *ret)
{
	const struct wt_blame **order = malloc((k->nblames + 1) * sizeof(const struct wt_blame *));
	size_t n = 0;

	for (size_t i = 0; order && i < k->nblames; i++)
		order[i] = &k->blames[i];
	if (order && k->nblames)
		qsort(order, k->nblames, sizeof(const struct wt_blame *), cmp_group);
	for (size_t i = 0; order && i < k->nblames; i++) {
		const struct wt_blame *b = order[i], *before = i ? order[i - 1] : NULL;

		if (!before || before->culprit != b->culprit || before->leaf != b->leaf ||
		    before->comm != b->comm)
			ret[n++] = (struct culprit){.largest = b, .waiters = 1};
		else
			ret[n - 1].waiters += before->waiter != b->waiter;
		ret[n - 1].wait_ns += b->wait_ns;
		ret[n - 1].times += b->times;
		if (b->wait_ns > ret[n - 1].largest->wait_ns)
			ret[n - 1].largest = b;
	}
	free(order);
	if (n)
		qsort(ret, n, sizeof(*ret), cmp_culprit);
	return n;
}

static void culprit_text(const struct wt_report *r, struct wt_strbuf *out, const struct culprit *c)
{
	const struct wt_ranks *k = r->ranks;
	const struct wt_blame *b = c->largest;

	wt_strbuf_adds(out, "  ");
	wt_text_span(out, c->wait_ns);
	wt_strbuf_addf(out, " in %" PRIu64 " operation%s: ", c->times, c->times == 1 ? "" : "s");
	if (c->waiters == 1)
		wt_text_seat(r, out, b->waiter);
	else
		wt_strbuf_addf(out, "%" PRIu32 " ranks", c->waiters);
	wt_strbuf_adds(out, " waited on ");
	wt_text_seat(r, out, b->culprit);
	if (b->leaf == WT_E5)
		wt_strbuf_adds(out, ", which had not begun");
	else if (b->leaf < WT_LEAVES)
		wt_strbuf_addf(out, " because of %s %s", wt_leaves[b->leaf].key,
			       leaf_title(b->leaf));
	else
		wt_strbuf_addf(out, ", %s", leaf_title(b->leaf));
	if (b->kernel) {
		wt_strbuf_adds(out, " (most of it ");
		wt_text_name(out, wt_timeline_string(r->tl, b->kernel), NAME_COLUMNS);
		wt_strbuf_addc(out, ')');
	}
	if (b->depth > 1) {
		wt_strbuf_adds(out, ", through ");
		wt_text_seat(r, out, b->first);
	}
	wt_strbuf_adds(out, "; ");
	comm_text(r, out, &k->comms[b->comm]);
	wt_strbuf_adds(out, ", longest ");
	wt_text_span(out, b->longest_ns);
	wt_strbuf_addc(out, '\n');
}

static void blames_text(const struct wt_report *r, struct wt_strbuf *out)
{
	struct culprit *rows = malloc((r->ranks->nblames + 1) * sizeof(*rows));
	size_t n = rows ? culprits(r->ranks, rows) : 0;

	for (size_t i = 0; i < n && i < TOP_CULPRITS; i++)
		culprit_text(r, out, &rows[i]);
	if (n > TOP_CULPRITS)
		wt_strbuf_addf(out, "  and %zu more\n", n - TOP_CULPRITS);
	free(rows);
	if (!r->ranks->unblamed_ns)
		return;
	wt_strbuf_adds(out, "  not established: whose fault ");
	wt_text_span(out, r->ranks->unblamed_ns);
	wt_strbuf_adds(
		out, " of waiting is (shorter than the clocks can tell, or nothing stands out)\n");
}

static void stragglers_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_ranks *k = r->ranks;

	for (size_t i = 0; i < k->nstragglers; i++) {
		const struct wt_straggler *s = &k->stragglers[i];

		if (!s->persistent)
			continue;
		wt_strbuf_adds(out, "  ");
		wt_text_seat(r, out, s->seat);
		wt_strbuf_addf(
			out, " is late again and again: in %" PRIu32 " of %" PRIu32 " %s, by ",
			s->flagged, s->windows, k->windows_are_steps ? "steps" : "operations");
		wt_text_span(out, s->late_ns);
		wt_strbuf_addf(out, " (median; score %.1f)\n", s->score);
	}
	if (k->rotating)
		wt_strbuf_addf(
			out,
			"  the latest rank changes from one %s to the next: no single straggler\n",
			k->windows_are_steps ? "step" : "operation");
}

static void steps_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_ranks *k = r->ranks;
	int64_t below_ns = INT64_MAX;
	size_t last = SIZE_MAX;

	for (int n = 0; n < TOP_STEPS; n++) {
		size_t best = SIZE_MAX;

		for (size_t i = 0; i < k->nsteps; i++) {
			int64_t ns = k->steps[i].all_ns;

			if (ns > below_ns || (ns == below_ns && i <= last) || ns <= 0)
				continue;
			if (best == SIZE_MAX || ns > k->steps[best].all_ns)
				best = i;
		}
		if (best == SIZE_MAX)
			break;
		wt_strbuf_addf(out, "  step %" PRId64 ": ", k->steps[best].step);
		wt_text_span(out, k->steps[best].all_ns);
		wt_strbuf_adds(out, " waited, ");
		wt_text_span(out, k->steps[best].wait_ns);
		wt_strbuf_adds(out, " of it on ");
		wt_text_seat(r, out, k->steps[best].culprit);
		wt_strbuf_addf(out, ": %s\n", leaf_title(k->steps[best].leaf));
		below_ns = k->steps[best].all_ns;
		last = best;
	}
}

static void unmatched_text(const struct wt_rank_comm *c, struct wt_strbuf *out)
{
	for (int why = 1; why < WT_UNMATCHED_REASONS; why++)
		if (c->why[why])
			wt_strbuf_addf(out, "; %" PRIu64 " not split: %s", c->why[why],
				       wt_unmatched_texts[why]);
	if (c->stopped)
		wt_strbuf_addf(out, " (from number %" PRIu64 " on)", c->stopped_at);
}

static void one_comm_text(const struct wt_report *r, const struct wt_rank_comm *c,
			  struct wt_strbuf *out)
{
	wt_strbuf_adds(out, "  ");
	comm_text(r, out, c);
	wt_strbuf_addf(out, ": %" PRIu64 " operations on %" PRIu32 " rank%s recorded", c->ops,
		       c->seats, c->seats == 1 ? "" : "s");
	if (c->matched) {
		wt_strbuf_addf(out, ", %" PRIu64 " matched%s: transfer ", c->matched,
			       c->family     ? " by name and order"
			       : c->fallback ? " by size and order"
					     : "");
		wt_text_span(out, c->transfer_ns);
		if (c->referred_ns) {
			wt_strbuf_adds(out, " (of ");
			wt_text_span(out, c->referred_ns);
			wt_strbuf_adds(out, " that has a reference, the reference is ");
			wt_text_percent(out, c->ideal_ns, c->referred_ns);
			wt_strbuf_addc(out, ')');
		} else {
			wt_strbuf_adds(out, " (no reference for it)");
		}
		wt_strbuf_adds(out, ", waiting ");
		wt_text_span(out, c->wait_ns);
	}
	wt_strbuf_adds(out, "; hidden ");
	wt_text_span(out, c->hidden_ns);
	wt_strbuf_adds(out, ", exposed ");
	wt_text_span(out, c->exposed_ns);
	wt_strbuf_adds(out, " of which blocking ");
	wt_text_span(out, c->blocking_ns);
	if (c->start_skew_p50_ns >= 0) {
		wt_strbuf_adds(out, "; first to last arrival ");
		wt_text_span(out, c->start_skew_p50_ns);
		wt_strbuf_adds(out, " (p95 ");
		wt_text_span(out, c->start_skew_p95_ns);
		wt_strbuf_addc(out, ')');
	}
	if (c->end_skew_p50_ns >= 0) {
		wt_strbuf_adds(out, ", first to last end ");
		wt_text_span(out, c->end_skew_p50_ns);
	}
	if (c->imbalance_max > 0)
		wt_strbuf_addf(
			out, "; largest share of an all-to-all %.2f times the mean (at most %.2f)",
			c->imbalance_p50, c->imbalance_max);
	unmatched_text(c, out);
	wt_strbuf_addc(out, '\n');
}

static int cmp_comm(const void *pa, const void *pb)
{
	const struct wt_rank_comm *x = *(const struct wt_rank_comm *const *)pa,
				  *y = *(const struct wt_rank_comm *const *)pb;

	if (x->exposed_ns != y->exposed_ns)
		return x->exposed_ns > y->exposed_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return (x > y) - (x < y);
}

static void comms_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_ranks *k = r->ranks;
	const struct wt_rank_comm **order =
		malloc((k->ncomms + 1) * sizeof(const struct wt_rank_comm *));

	if (!order)
		return;
	for (size_t i = 0; i < k->ncomms; i++)
		order[i] = &k->comms[i];
	if (k->ncomms)
		qsort(order, k->ncomms, sizeof(const struct wt_rank_comm *), cmp_comm);
	for (size_t i = 0; i < k->ncomms && i < TOP_COMMS; i++)
		one_comm_text(r, order[i], out);
	if (k->ncomms > TOP_COMMS)
		wt_strbuf_addf(out, "  and %zu more communicators\n", k->ncomms - TOP_COMMS);
	free(order);
}

static int any_matched(const struct wt_ranks *k)
{
	int any = !k->ncomms; /* nothing to wait for */

	for (size_t i = 0; i < k->ncomms; i++)
		any |= k->comms[i].matched > 0;
	return any;
}

/* Kernels that compute and communicate at once. */
static int64_t fused_ns(const struct wt_report *r, uint64_t *ret_count)
{
	int64_t ns = 0;

	*ret_count = 0;
	for (size_t i = 0; i < r->nkernels; i++) {
		if (!r->kernels[i].family || strcmp(r->kernels[i].family->role, "fused") != 0)
			continue;
		ns += r->kernels[i].sum_ns;
		*ret_count += r->kernels[i].count;
	}
	return ns;
}

void wt_ranks_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_ranks *k = r->ranks;
	uint64_t nfused;
	int64_t ns = fused_ns(r, &nfused);

	if (!k->ncomms && !nfused)
		return;
	wt_text_heading(r, out, "Ranks: who waited on whom");
	if (nfused) {
		wt_strbuf_addf(out, "  fused: %" PRIu64 " kernels, ", nfused);
		wt_text_span(out, ns);
		wt_strbuf_adds(out, ", compute and communicate at once: counted as compute, and "
				    "what of them is waiting "
				    "cannot be told\n");
	}
	if (k->nseats > 1) {
		clocks_text(r, out);
		wt_strbuf_adds(out, "  exposed waiting of all ranks ");
		if (any_matched(k))
			wt_text_span(out, k->wait_ns);
		else
			wt_strbuf_adds(out, "not established: no operation is matched");
		wt_strbuf_addc(out, '\n');
		blames_text(r, out);
		stragglers_text(r, out);
		steps_text(r, out);
	} else {
		wt_strbuf_adds(
			out, "  one rank's recording: transfer and waiting cannot be told apart\n");
	}
	comms_text(r, out);
}

static void clocks_json(const struct wt_report *r, struct wt_jout *j)
{
	wt_jout_open(j, "clocks", '[');
	for (size_t i = 0; i < r->tl->nprocesses; i++) {
		const struct wt_clock *c = &r->ranks->clocks[i];

		wt_jout_open(j, NULL, '{');
		wt_jout_count(j, "rank", r->tl->processes[i].rank);
		wt_jout_count(j, "pid", r->tl->processes[i].pid);
		wt_jout_string(j, "state", clock_states[c->state]);
		wt_jout_count(j, "reference_rank", c->state ? r->tl->processes[c->root].rank : -1);
		wt_jout_int(j, "offset_ns", c->offset_ns);
		wt_jout_double(j, "drift_ppm", c->drift * 1e6);
		wt_jout_int(j, "residual_p95_ns", c->residual_ns);
		wt_jout_uint(j, "samples", c->samples);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

/* Where ranks are not known the device tells who it was. */
static void rank_json(const struct wt_report *r, struct wt_jout *j, const char *key, uint32_t seat)
{
	const struct wt_seat *s = &r->ranks->seats[seat];
	char device[40];

	snprintf(device, sizeof(device), "%s_device", key);
	wt_jout_count(j, key, s->rank);
	wt_jout_count(j, device,
		      s->device < r->tl->ndevices ? r->tl->devices[s->device].ordinal : -1);
}

static void comm_key_json(struct wt_jout *j, const struct wt_rank_comm *c)
{
	char comm[20];

	snprintf(comm, sizeof(comm), "%016" PRIx64, c->key);
	wt_jout_string(j, "comm", c->family ? NULL : comm);
}

static void blames_json(const struct wt_report *r, struct wt_jout *j)
{
	const struct wt_ranks *k = r->ranks;

	wt_jout_open(j, "blame", '[');
	for (size_t i = 0; i < k->nblames; i++) {
		const struct wt_blame *b = &k->blames[i];

		wt_jout_open(j, NULL, '{');
		rank_json(r, j, "waiter", b->waiter);
		rank_json(r, j, "culprit", b->culprit);
		rank_json(r, j, "last_to_arrive", b->first);
		wt_jout_string(j, "leaf", b->leaf < WT_LEAVES ? wt_leaves[b->leaf].key : NULL);
		wt_jout_string(j, "because", leaf_title(b->leaf));
		wt_jout_string(j, "kernel",
			       b->kernel ? wt_timeline_string(r->tl, b->kernel) : NULL);
		comm_key_json(j, &k->comms[b->comm]);
		wt_jout_string(j, "group", wt_group_names[k->comms[b->comm].kind]);
		wt_jout_int(j, "depth", b->depth);
		wt_jout_int(j, "wait_ns", b->wait_ns);
		wt_jout_int(j, "excess_ns", b->excess_ns);
		wt_jout_uint(j, "times", b->times);
		wt_jout_int(j, "longest_ns", b->longest_ns);
		wt_jout_int(j, "longest_at_ns", b->longest_at_ns);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

static void stragglers_json(const struct wt_report *r, struct wt_jout *j)
{
	const struct wt_ranks *k = r->ranks;

	wt_jout_open(j, "stragglers", '[');
	for (size_t i = 0; i < k->nstragglers; i++) {
		const struct wt_straggler *s = &k->stragglers[i];

		wt_jout_open(j, NULL, '{');
		rank_json(r, j, "rank", s->seat);
		wt_jout_int(j, "caused_ns", s->caused_ns);
		wt_jout_int(j, "waited_ns", s->waited_ns);
		wt_jout_double(j, "score", s->score);
		wt_jout_int(j, "late_ns", s->late_ns);
		wt_jout_uint(j, "windows", s->windows);
		wt_jout_uint(j, "flagged", s->flagged);
		wt_jout_bool(j, "persistent", s->persistent);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
	wt_jout_bool(j, "rotating", k->rotating);
	wt_jout_string(j, "windows", k->windows_are_steps ? "steps" : "operations");
	wt_jout_open(j, "steps", '[');
	for (size_t i = 0; i < k->nsteps; i++) {
		wt_jout_open(j, NULL, '{');
		wt_jout_int(j, "step", k->steps[i].step);
		rank_json(r, j, "culprit", k->steps[i].culprit);
		wt_jout_string(j, "leaf",
			       k->steps[i].leaf < WT_LEAVES ? wt_leaves[k->steps[i].leaf].key
							    : NULL);
		wt_jout_int(j, "wait_ns", k->steps[i].wait_ns);
		wt_jout_int(j, "all_wait_ns", k->steps[i].all_ns);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

static void comms_json(const struct wt_report *r, struct wt_jout *j)
{
	const struct wt_ranks *k = r->ranks;

	wt_jout_open(j, "communicators", '[');
	for (size_t i = 0; i < k->ncomms; i++) {
		const struct wt_rank_comm *c = &k->comms[i];

		wt_jout_open(j, NULL, '{');
		comm_key_json(j, c);
		wt_jout_string(j, "name", c->name ? wt_timeline_string(r->tl, c->name) : NULL);
		wt_jout_string(j, "group", wt_group_names[c->kind]);
		wt_jout_int(j, "group_grade", c->kind_grade);
		wt_jout_string(j, "matched_by",
			       !c->matched   ? NULL
			       : c->family   ? "name and order"
			       : c->fallback ? "size and order"
					     : "communicator and number");
		wt_jout_count(j, "nranks", c->nranks ? (int64_t)c->nranks : -1);
		wt_jout_uint(j, "ranks_recorded", c->seats);
		wt_jout_uint(j, "operations", c->ops);
		wt_jout_uint(j, "matched", c->matched);
		wt_jout_int(j, "transfer_ns", c->transfer_ns);
		wt_jout_int(j, "wait_ns", c->wait_ns);
		wt_jout_count(j, "reference_ns", c->referred_ns ? c->ideal_ns : -1);
		wt_jout_int(j, "exposed_ns", c->exposed_ns);
		wt_jout_int(j, "blocking_ns", c->blocking_ns);
		wt_jout_int(j, "hidden_ns", c->hidden_ns);
		wt_jout_count(j, "arrival_skew_p50_ns", c->start_skew_p50_ns);
		wt_jout_count(j, "arrival_skew_p95_ns", c->start_skew_p95_ns);
		wt_jout_count(j, "end_skew_p50_ns", c->end_skew_p50_ns);
		wt_jout_count(j, "end_skew_p95_ns", c->end_skew_p95_ns);
		wt_jout_double(j, "all_to_all_share_p50", c->imbalance_p50);
		wt_jout_double(j, "all_to_all_share_max", c->imbalance_max);
		wt_jout_open(j, "unmatched", '{');
		for (int why = 1; why < WT_UNMATCHED_REASONS; why++)
			if (c->why[why])
				wt_jout_uint(j, wt_unmatched_texts[why], c->why[why]);
		wt_jout_close(j, '}');
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

void wt_ranks_json(const struct wt_report *r, struct wt_jout *j)
{
	const struct wt_ranks *k = r->ranks;
	uint64_t nfused;

	wt_jout_open(j, "ranks", '{');
	wt_jout_uint(j, "recorded", k->nseats);
	wt_jout_int(j, "window_ns", k->w1_ns - k->w0_ns);
	wt_jout_int(j, "residual_p95_ns", k->residual_ns);
	wt_jout_count(j, "wait_ns", any_matched(k) ? k->wait_ns : -1);
	wt_jout_count(j, "not_established_ns", any_matched(k) ? k->unblamed_ns : -1);
	wt_jout_int(j, "fused_ns", fused_ns(r, &nfused));
	wt_jout_uint(j, "fused_kernels", nfused);
	clocks_json(r, j);
	blames_json(r, j);
	stragglers_json(r, j);
	comms_json(r, j);
	wt_jout_close(j, '}');
}
