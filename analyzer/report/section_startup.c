/* SPDX-License-Identifier: Apache-2.0 */
/* What ran before the first step, and what autotuners launched (axes/startup.c). */
#include <inttypes.h>

#include "axes/axes.h"
#include "report/section.h"

#define TOP 3

/* Without a step nothing says where start-up ended; autotuning is known all the same. */
static int has_end(const struct wt_startup *s)
{
	return s->end_ns != INT64_MAX;
}

static int64_t window_of(const struct wt_report *r, const struct wt_startup *s,
			 struct wt_account *ret)
{
	if (!has_end(s) || s->end_ns <= s->begin_ns ||
	    wt_account_window(&r->ledger->devices[s->device].slices, s->begin_ns, s->end_ns, ret))
		return 0;
	return ret->window_ns;
}

static void ns_or_null(struct wt_jout *j, const char *key, int64_t ns, int known)
{
	if (known)
		wt_jout_int(j, key, ns);
	else
		wt_jout_null(j, key);
}

/* Kernels by name are evidence of more than a pattern is. */
static int grade_of(const struct wt_tuning *t)
{
	return t->by == 1u << WT_TUNING_XLA ? 2 : 1;
}

static void tuning_json(const struct wt_startup *s, struct wt_jout *j)
{
	const struct wt_tuning *t = &s->tuning;
	int timed = t->last_ns > t->first_ns;

	if (!t->kernels) {
		wt_jout_null(j, "autotuning");
		return;
	}
	wt_jout_open(j, "autotuning", '{');
	wt_jout_open(j, "by", '[');
	for (int i = 1; i < WT_TUNERS; i++)
		if (t->by & 1u << i)
			wt_jout_string(j, NULL, wt_tuner_names[i]);
	wt_jout_close(j, ']');
	wt_jout_int(j, "grade", grade_of(t));
	wt_jout_uint(j, "kernels", t->kernels);
	wt_jout_uint(j, "kernels_in_steps", t->in_steps);
	wt_jout_int(j, "kernel_ns", t->kernel_ns);
	ns_or_null(j, "first_ns", t->first_ns, timed);
	ns_or_null(j, "last_ns", t->last_ns, timed);
	wt_jout_close(j, '}');
}

void wt_startup_json(const struct wt_report *r, struct wt_jout *j)
{
	static const char *const began[] = {NULL, "start", "later"};

	wt_jout_open(j, "start_up", '[');
	for (size_t i = 0; i < r->axes->nstartups; i++) {
		const struct wt_startup *s = &r->axes->startups[i];
		struct wt_account a = {.window_ns = 0};
		int known = has_end(s);

		wt_jout_open(j, NULL, '{');
		wt_jout_count(j, "rank", r->tl->processes[s->process].rank);
		wt_jout_count(j, "pid", r->tl->processes[s->process].pid);
		wt_jout_int(j, "device",
			    r->tl->devices[r->ledger->devices[s->device].device].ordinal);
		wt_jout_string(j, "recorded_from", s->begun < 3 ? began[s->begun] : NULL);
		wt_jout_string(j, "source", known ? wt_step_source_names[s->source] : NULL);
		wt_jout_count(j, "grade", known ? s->grade : -1);
		wt_jout_bool(j, "first_step_included", s->with_first);
		ns_or_null(j, "begin_ns", s->begin_ns, known);
		ns_or_null(j, "end_ns", s->end_ns, known);
		ns_or_null(j, "window_ns", window_of(r, s, &a), known);
		wt_jout_uint(j, "launches", s->launches);
		wt_jout_uint(j, "operations", s->ops);
		wt_jout_uint(j, "kernels", s->kernels);
		wt_jout_int(j, "kernel_ns", s->kernel_ns);
		wt_jout_uint(j, "iterations", s->iterations);
		tuning_json(s, j);
		wt_jout_open(j, "leaves_ns", '{');
		for (int k = 0; k < WT_LEAVES; k++)
			if (a.leaves_ns[k])
				wt_jout_int(j, wt_leaves[k].key, a.leaves_ns[k]);
		wt_jout_close(j, '}');
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

/* Part of another tool's recording that happens to begin before a step is no start-up. */
static int is_told(const struct wt_startup *s)
{
	return s->begun == 1 || s->iterations || s->tuning.kernels;
}

static void largest_text(const struct wt_account *a, struct wt_strbuf *out)
{
	uint64_t done = 0;

	for (int n = 0; n < TOP; n++) {
		int best = -1;

		for (int k = 0; k < WT_LEAVES; k++)
			if (!(done >> k & 1) &&
			    a->leaves_ns[k] > (best < 0 ? 0 : a->leaves_ns[best]))
				best = k;
		if (best < 0)
			break;
		done |= 1ull << best;
		wt_strbuf_addf(out, "%s%s %s ", n ? ", " : "      ", wt_leaves[best].key,
			       wt_leaves[best].title);
		wt_text_percent(out, a->leaves_ns[best], a->window_ns);
	}
	if (done)
		wt_strbuf_addc(out, '\n');
}

static void tuning_text(const struct wt_tuning *t, struct wt_strbuf *out)
{
	wt_strbuf_addf(out, "      autotuning: %" PRIu64 " kernels, ", t->kernels);
	wt_text_span(out, t->kernel_ns);
	wt_strbuf_adds(out, " of kernel time within ");
	wt_text_span(out, t->last_ns > t->first_ns ? t->last_ns - t->first_ns : 0);
	wt_strbuf_addf(out, " (%s, by %s)", wt_grade_name(grade_of(t)),
		       t->by == 1u << WT_TUNING_XLA ? "kernels of XLA's autotuner around them"
		       : t->by == 1u << WT_TUNING_BENCHMARK
			       ? "the cache emptied before each of equal launches"
			       : "XLA's kernels, and the cache emptied before equal launches");
	if (t->in_steps)
		wt_strbuf_addf(out, "; %" PRIu64 " of them in steps", t->in_steps);
	wt_strbuf_addc(out, '\n');
}

static void one_text(const struct wt_report *r, const struct wt_startup *s, struct wt_strbuf *out)
{
	struct wt_account a = {.window_ns = 0};

	wt_strbuf_adds(out, "  ");
	wt_text_device(r, out, r->ledger->devices[s->device].device);
	wt_strbuf_addf(out, ", process %" PRId64 ": ", r->tl->processes[s->process].pid);
	if (has_end(s)) {
		wt_text_span(out, window_of(r, s, &a));
		wt_strbuf_addf(
			out, " until %s (%s, %s); %" PRIu64 " launches, %" PRIu64 " kernels, ",
			s->with_first ? "the end of the first step, which nothing parts from it"
				      : "the first step",
			wt_step_source_names[s->source], wt_grade_name(s->grade), s->launches,
			s->kernels);
		wt_text_span(out, s->kernel_ns);
		wt_strbuf_adds(out, " of kernel time");
		if (s->begin_ns < r->ledger->devices[s->device].w0_ns) {
			wt_strbuf_adds(out, "; ");
			wt_text_span(out, r->ledger->devices[s->device].w0_ns - s->begin_ns);
			wt_strbuf_adds(out, " of it before the ledger's window");
		}
		if (s->iterations)
			wt_strbuf_addf(out, "; %" PRIu64 " iterations of the engine's own",
				       s->iterations);
		wt_strbuf_addc(out, '\n');
		largest_text(&a, out);
	} else {
		wt_strbuf_adds(out, "no step was found\n");
	}
	if (s->tuning.kernels)
		tuning_text(&s->tuning, out);
}

void wt_startup_text(const struct wt_report *r, struct wt_strbuf *out)
{
	int any = 0;

	for (size_t i = 0; i < r->axes->nstartups; i++) {
		if (!is_told(&r->axes->startups[i]))
			continue;
		if (!any++)
			wt_text_heading(r, out, "Start-up (before the first step)");
		one_text(r, &r->axes->startups[i], out);
	}
}
