/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger of each device, the slices behind its largest leaves. */
#include <inttypes.h>
#include <string.h>

#include "report/section.h"

#define EVIDENCE_LEAVES 5

void wt_sweep_json(const struct wt_account *a, struct wt_jout *j)
{
	wt_jout_int(j, "window_ns", a->window_ns);
	wt_jout_int(j, "compute_ns", wt_account_compute_ns(a));
	wt_jout_int(j, "comm_exposed_ns", wt_account_comm_exposed_ns(a));
	wt_jout_int(j, "copy_exposed_ns", wt_account_copy_exposed_ns(a));
	wt_jout_int(j, "spin_ns", wt_account_spin_ns(a));
	wt_jout_int(j, "none_ns", wt_account_none_ns(a));
	wt_jout_int(j, "comm_total_ns", wt_account_comm_total_ns(a));
	wt_jout_int(j, "comm_hidden_ns",
		    wt_account_comm_total_ns(a) - wt_account_comm_exposed_ns(a));
}

static void uuid_json(const struct wt_device *d, struct wt_jout *j)
{
	char text[33];
	int known = 0;

	for (int i = 0; i < 16; i++) {
		static const char hex[] = "0123456789abcdef";

		text[2 * i] = hex[d->uuid[i] >> 4];
		text[2 * i + 1] = hex[d->uuid[i] & 15];
		known |= d->uuid[i];
	}
	text[32] = 0;
	wt_jout_string(j, "uuid", known ? text : NULL);
}

void wt_devices_json(const struct wt_report *r, struct wt_jout *j)
{
	wt_jout_open(j, "devices", '[');
	for (size_t i = 0; i < r->ledger->ndevices; i++) {
		const struct wt_ledger_device *l = &r->ledger->devices[i];
		const struct wt_device *d = &r->tl->devices[l->device];
		static const char *const grades[] = {NULL, "1", "2", "3"};

		wt_jout_open(j, NULL, '{');
		wt_jout_count(j, "rank", d->rank);
		wt_jout_int(j, "device", d->ordinal);
		wt_jout_string(j, "name", d->name ? wt_timeline_string(r->tl, d->name) : NULL);
		uuid_json(d, j);
		wt_jout_bool(j, "shared", d->shared);
		wt_jout_int(j, "window_start_ns", l->w0_ns);
		wt_sweep_json(&l->account, j);
		wt_jout_int(j, "concurrent_compute_ns", l->account.crowded_ns);
		wt_jout_int(j, "paused_ns", l->account.chosen_ns);
		wt_jout_open(j, "kernels", '{');
		wt_jout_uint(j, "count", l->kernels.count);
		wt_jout_int(j, "union_ns", l->kernels.union_ns);
		wt_jout_int(j, "sum_ns", l->kernels.sum_ns);
		wt_jout_uint(j, "without_launch", l->kernels.without_launch);
		wt_jout_uint(j, "same_stream_overlaps", l->kernels.same_stream_overlaps);
		wt_jout_int(j, "same_stream_overlap_ns", l->kernels.same_stream_overlap_ns);
		wt_jout_close(j, '}');
		wt_jout_open(j, "leaves_ns", '{');
		for (int k = 0; k < WT_LEAVES; k++)
			wt_jout_int(j, wt_leaves[k].key, l->account.leaves_ns[k]);
		wt_jout_close(j, '}');
		wt_jout_open(j, "grades_ns", '{');
		for (int g = 1; g < WT_GRADES; g++)
			wt_jout_int(j, grades[g], l->account.grades_ns[g]);
		wt_jout_close(j, '}');
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

void wt_devices_text(const struct wt_report *r, struct wt_strbuf *out)
{
	for (size_t i = 0; i < r->ledger->ndevices; i++) {
		const struct wt_ledger_device *l = &r->ledger->devices[i];
		const struct wt_account *a = &l->account;
		struct wt_strbuf title = {.n = 0};

		wt_strbuf_adds(&title, "Ledger of ");
		wt_text_device(r, &title, l->device);
		wt_strbuf_adds(&title, ", ");
		wt_text_span(&title, a->window_ns);
		wt_text_heading(r, out, wt_strbuf_text(&title));
		wt_strbuf_release(&title);
		for (int k = 0; k < WT_LEAVES; k++) {
			if (!a->leaves_ns[k])
				continue;
			wt_strbuf_addf(out, "  %-4s%-40s", wt_leaves[k].key, wt_leaves[k].title);
			wt_text_ns(out, a->leaves_ns[k], 20);
			wt_strbuf_adds(out, " ns  ");
			wt_text_column(out, a->leaves_ns[k], a->window_ns);
			wt_strbuf_addf(out, "  %s\n", wt_grade_name(wt_leaf_grade(l, k)));
		}
		wt_strbuf_addf(out, "  %-44s", "sum = window");
		wt_text_ns(out, a->window_ns, 20);
		wt_strbuf_adds(out, " ns  evidence:");
		for (int g = WT_GRADES - 1; g > 0; g--) {
			wt_strbuf_addc(out, ' ');
			wt_text_percent(out, a->grades_ns[g], a->window_ns);
			wt_strbuf_addf(out, " %s%s", wt_grade_name(g), g > 1 ? "," : "\n");
		}
		if (!a->crowded_ns)
			continue;
		wt_strbuf_adds(out, "  two or more compute kernels at once for ");
		wt_text_span(out, a->crowded_ns);
		wt_strbuf_addc(out, '\n');
	}
}

static const char *why_text(unsigned why)
{
	static const char *const texts[] = {
		[WT_WHY_NONE] = "",
		[WT_WHY_NO_LAUNCH_RECORD] = "; no record says when the next operation was launched",
		[WT_WHY_GRAPH_NODE] = "; between nodes of one graph",
		[WT_WHY_BEFORE_HOLE] = "; the next operation's record is lost",
		[WT_WHY_FIRST_LAUNCH] =
			"; the first launch of a kernel took far longer than launches do",
		[WT_WHY_LAUNCHING] = "; the launch call itself took so long",
		[WT_WHY_QUEUED] =
			"; the next operation was queued, what it waited for is not known",
		[WT_WHY_EVENT] = "; its stream waited for an event of work on another device",
		[WT_WHY_HOST_FUNCTION] =
			"; its stream waited for a function of the host (cuLaunchHostFunc)",
		[WT_WHY_NO_PROCESS] = "; whoever launched the next operation did not record yet",
		[WT_WHY_PAUSED] = "; collection was paused for another tool",
		[WT_WHY_CHOSEN] = "; outside the windows of recording that were asked for",
		[WT_WHY_IN_FLIGHT] = "; launched, and not finished when recording ended",
	};

	return why < sizeof(texts) / sizeof(texts[0]) ? texts[why] : "";
}

/* The longest slice of a leaf: where it is, and what it stands on. */
static void slice_text(const struct wt_report *r, const struct wt_ledger_device *l,
		       const struct wt_slice *s, size_t n, struct wt_strbuf *out)
{
	const struct wt_timeline *tl = r->tl;

	if (n == 1)
		wt_strbuf_adds(out, "        in one piece of ");
	else
		wt_strbuf_addf(out, "        in %zu pieces, the longest ", n);
	wt_text_span(out, s->end_ns - s->start_ns);
	wt_strbuf_adds(out, " at +");
	wt_text_span(out, s->start_ns - l->w0_ns);
	if (s->call >= 0) {
		const struct wt_call *c = &tl->calls[s->call];

		wt_strbuf_adds(out, "; ");
		wt_text_name(out, wt_timeline_string(tl, c->name), 40);
		wt_strbuf_addf(out, " on thread %" PRId64, tl->threads[c->thread].tid);
	}
	if (s->op != UINT32_MAX) {
		const char *name = wt_timeline_string(tl, tl->ops[s->op].name);

		wt_strbuf_adds(out, s->mask ? "; " : "; then ");
		wt_text_name(out, *name ? name : "an operation", 70);
	}
	/* Of a blind spot the leaf itself says why. */
	wt_strbuf_addf(out, "%s\n",
		       s->leaf == WT_E2 && s->why != WT_WHY_IN_FLIGHT ? "" : why_text(s->why));
}

static void leaf_evidence(const struct wt_report *r, const struct wt_ledger_device *l, int leaf,
			  struct wt_strbuf *out)
{
	struct wt_slice longest = {.start_ns = 0, .end_ns = 0};
	size_t n = 0;

	for (size_t i = 0; i < l->slices.n; i++) {
		struct wt_slice s = *wt_slices_at(&l->slices, i);

		if (s.leaf != leaf || s.end_ns <= l->w0_ns || s.start_ns >= l->w1_ns)
			continue;
		n++;
		s.start_ns = s.start_ns < l->w0_ns ? l->w0_ns : s.start_ns;
		s.end_ns = s.end_ns > l->w1_ns ? l->w1_ns : s.end_ns;
		if (s.end_ns - s.start_ns > longest.end_ns - longest.start_ns)
			longest = s;
	}
	wt_strbuf_addf(out, "    %-4s%s: %s\n", wt_leaves[leaf].key, wt_leaves[leaf].title,
		       wt_leaves[leaf].meaning);
	if (n)
		slice_text(r, l, &longest, n, out);
}

void wt_evidence_text(const struct wt_report *r, struct wt_strbuf *out)
{
	if (r->ledger->ndevices)
		wt_text_heading(r, out, "The largest leaves and what they stand on");
	for (size_t i = 0; i < r->ledger->ndevices; i++) {
		const struct wt_ledger_device *l = &r->ledger->devices[i];
		int64_t below_ns = INT64_MAX;
		int below = -1;

		wt_strbuf_adds(out, "  ");
		wt_text_device(r, out, l->device);
		wt_strbuf_addc(out, '\n');
		for (int n = 0; n < EVIDENCE_LEAVES; n++) {
			int best = -1;

			for (int k = 0; k < WT_LEAVES; k++) {
				int64_t ns = l->account.leaves_ns[k];

				if (!ns || ns > below_ns || (ns == below_ns && k <= below))
					continue;
				if (best < 0 || ns > l->account.leaves_ns[best])
					best = k;
			}
			if (best < 0)
				break;
			leaf_evidence(r, l, best, out);
			below_ns = l->account.leaves_ns[best];
			below = best;
		}
	}
}
