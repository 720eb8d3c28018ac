/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether steps take longer while they are recorded (trace/audit.c), said only as far as it can be told: an interval
 * wider than the budget it is to be held against resolves nothing, and its middle would be noise.
 */
#include <inttypes.h>

#include "report/section.h"

static int is_resolved(const struct wt_process *p)
{
	return p->audit_pairs >= WT_AUDIT_PAIRS &&
	       p->audit_high_ppm - p->audit_low_ppm <= p->audit_budget_ppm;
}

static double percent(int64_t ppm)
{
	return (double)ppm / 1e4;
}

static const char *level_name(const struct wt_process *p)
{
	return p->audit_level == 0 ? "off" : p->audit_level == 1 ? "count" : "api";
}

/* Of the process that has most to say. */
void wt_audit_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_process *p = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->tl->nprocesses; i++) {
		const struct wt_process *q = &r->tl->processes[i];

		n += q->audit_pairs > 0;
		if (q->audit_pairs > 0 && (!p || q->audit_pairs > p->audit_pairs))
			p = q;
	}
	if (!p)
		return;
	wt_strbuf_addf(out, "audit     steps with recording against steps at level %s",
		       level_name(p));
	if (n > 1)
		wt_strbuf_addf(out, ", rank %d of %zu", p->rank, n);
	if (p->audit_pairs < WT_AUDIT_PAIRS)
		wt_strbuf_addf(out, ": cannot be resolved from %" PRId64 " pairs, it takes %d\n",
			       p->audit_pairs, WT_AUDIT_PAIRS);
	else if (is_resolved(p))
		wt_strbuf_addf(out,
			       ": %+.2f %% (95 %%: %+.2f to %+.2f), %" PRId64 " steps in %" PRId64
			       " pairs\n",
			       percent(p->audit_ppm), percent(p->audit_low_ppm),
			       percent(p->audit_high_ppm), p->audit_steps, p->audit_pairs);
	else
		wt_strbuf_addf(out,
			       ": cannot be resolved, +-%.2f %% (95 %%) with %" PRId64
			       " steps in %" PRId64 " pairs; it takes +-%.2f %%\n",
			       percent(p->audit_high_ppm - p->audit_low_ppm) / 2, p->audit_steps,
			       p->audit_pairs, percent(p->audit_budget_ppm) / 2);
}

void wt_audit_json(const struct wt_report *r, struct wt_jout *j)
{
	wt_jout_open(j, "audit", '[');
	for (size_t i = 0; i < r->tl->nprocesses; i++) {
		const struct wt_process *p = &r->tl->processes[i];
		int enough = p->audit_pairs >= WT_AUDIT_PAIRS, known = is_resolved(p);

		if (p->audit_pairs < 0)
			continue;
		wt_jout_open(j, NULL, '{');
		wt_jout_count(j, "rank", p->rank);
		wt_jout_string(j, "against", level_name(p));
		wt_jout_count(j, "pairs", p->audit_pairs);
		wt_jout_count(j, "steps", p->audit_steps);
		wt_jout_bool(j, "resolved", known);
		wt_jout_double(j, "budget", (double)p->audit_budget_ppm / 1e6);
		if (enough)
			wt_jout_double(j, "half_width",
				       (double)(p->audit_high_ppm - p->audit_low_ppm) / 2e6);
		else
			wt_jout_null(j, "half_width");
		for (int k = 0; k < 3; k++) {
			static const char *const keys[] = {"difference", "low", "high"};
			const int64_t ppm[] = {p->audit_ppm, p->audit_low_ppm, p->audit_high_ppm};

			if (known)
				wt_jout_double(j, keys[k], (double)ppm[k] / 1e6);
			else
				wt_jout_null(j, keys[k]);
		}
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}
