/* SPDX-License-Identifier: Apache-2.0 */
/* Phases, steps and modules: the ledger's seconds by what the job was doing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "axes/axes.h"
#include "report/section.h"

#define TOP_MODULES  10
#define JSON_MODULES 1000
#define NAME_COLUMNS 70
#define XLA_SHARE    10 /* one part in so many of kernel time makes a job XLA's */

static int64_t all_kernels_ns(const struct wt_axes *a)
{
	int64_t ns = 0;

	for (int p = 0; p < WT_PHASES; p++)
		ns += a->phases[p].kernel_ns;
	return ns;
}

static int any_phase(const struct wt_axes *a)
{
	for (int p = WT_PHASE_UNKNOWN + 1; p < WT_PHASES; p++)
		if (a->phases[p].kernels || a->phases[p].busy_ns)
			return 1;
	return 0;
}

static double share(int64_t part, int64_t of)
{
	return of > 0 ? (double)part / (double)of : 0;
}

/* The grade of most of a phase's kernel time; 0 = it has none. */
static int grade_of(const struct wt_phase_row *p)
{
	int best = 0;

	for (int g = 1; g < WT_GRADES; g++)
		if (p->grades_ns[g] > (best ? p->grades_ns[best] : 0))
			best = g;
	return best;
}

void wt_phases_json(const struct wt_report *r, struct wt_jout *j)
{
	int64_t all_ns = all_kernels_ns(r->axes);

	wt_jout_open(j, "phases", '[');
	for (int i = 0; i < WT_PHASES; i++) {
		const struct wt_phase_row *p = &r->axes->phases[i];

		if (!p->kernels && !p->busy_ns && !p->idle_ns)
			continue;
		wt_jout_open(j, NULL, '{');
		wt_jout_string(j, "phase", wt_phase_names[i]);
		wt_jout_uint(j, "kernels", p->kernels);
		wt_jout_int(j, "kernel_ns", p->kernel_ns);
		wt_jout_share(j, "kernel_share", share(p->kernel_ns, all_ns));
		wt_jout_int(j, "busy_ns", p->busy_ns);
		wt_jout_int(j, "idle_ns", p->idle_ns);
		wt_jout_count(j, "grade", grade_of(p) ? grade_of(p) : -1);
		wt_jout_open(j, "leaves_ns", '{');
		for (int k = 0; k < WT_LEAVES; k++)
			if (p->leaves_ns[k])
				wt_jout_int(j, wt_leaves[k].key, p->leaves_ns[k]);
		wt_jout_close(j, '}');
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

/* Of what no operation covers: where nothing says that the device was idle. */
static int64_t unseen_ns(const struct wt_phase_row *p)
{
	int64_t ns = 0;

	for (int k = WT_E1; k <= WT_E5; k++)
		ns += p->leaves_ns[k];
	return ns;
}

static void phases_text(const struct wt_report *r, struct wt_strbuf *out)
{
	int64_t all_ns = all_kernels_ns(r->axes);

	wt_text_heading(r, out, "Phases (of kernel time; idle time goes to the phase it ended in)");
	for (int i = 0; i < WT_PHASES; i++) {
		const struct wt_phase_row *p = &r->axes->phases[i];

		if (!p->kernels && !p->busy_ns && !p->idle_ns)
			continue;
		wt_strbuf_addf(out, "  %-14s", i ? wt_phase_names[i] : "not known");
		wt_text_column(out, p->kernel_ns, all_ns);
		wt_strbuf_adds(out, "  kernels ");
		wt_text_span(out, p->kernel_ns);
		wt_strbuf_adds(out, ", idle ");
		wt_text_span(out, p->idle_ns - unseen_ns(p));
		if (unseen_ns(p)) {
			wt_strbuf_adds(out, ", without records ");
			wt_text_span(out, unseen_ns(p));
		}
		if (i && grade_of(p))
			wt_strbuf_addf(out, " (%s)", wt_grade_name(grade_of(p)));
		wt_strbuf_addc(out, '\n');
	}
}

static int account_of(const struct wt_report *r, const struct wt_step *s, struct wt_account *ret)
{
	return wt_account_window(&r->ledger->devices[s->device].slices, s->start_ns, s->end_ns,
				 ret);
}

/* A recording without any device still has the steps that its host marked. */
static void steps_alone(const struct wt_report *r, struct wt_jout *j)
{
	for (size_t i = 0; i < r->tl->nranges; i++) {
		const struct wt_range *s = &r->tl->ranges[i];

		if (s->kind != WT_RANGE_STEP || s->end_ns <= s->start_ns)
			continue;
		wt_jout_open(j, NULL, '{');
		wt_jout_int(j, "step", s->step);
		wt_jout_string(j, "name", wt_timeline_string(r->tl, s->name));
		wt_jout_count(j, "rank", r->tl->processes[s->process].rank);
		wt_jout_count(j, "pid", r->tl->processes[s->process].pid);
		wt_jout_null(j, "device");
		wt_jout_int(j, "start_ns", s->start_ns);
		wt_jout_int(j, "window_ns", s->end_ns - s->start_ns);
		wt_jout_int(j, "end_ns", s->end_ns);
		wt_jout_int(j, "host_start_ns", s->start_ns);
		wt_jout_int(j, "host_end_ns", s->end_ns);
		wt_jout_string(j, "source",
			       wt_step_source_names[s->marked ? WT_STEPS_MARKED : WT_STEPS_NAMED]);
		wt_jout_int(j, "grade", 3);
		wt_jout_uint(j, "operations", 0);
		wt_jout_close(j, '}');
	}
}

static void batch_json(struct wt_jout *j, const struct wt_batch *b)
{
	wt_jout_count(j, "tokens", b->tokens);
	wt_jout_count(j, "requests", b->requests);
	wt_jout_count(j, "context_requests", b->context_requests);
	wt_jout_count(j, "context_tokens", b->context_tokens);
	wt_jout_count(j, "generation_requests", b->generation_requests);
	wt_jout_count(j, "generation_tokens", b->generation_tokens);
	wt_jout_string(j, "source", wt_batch_source_names[b->source]);
	wt_jout_int(j, "grade", b->grade);
}

static void iteration_json(struct wt_jout *j, const struct wt_step *s)
{
	if (!s->batch.source) {
		wt_jout_null(j, "iteration");
		return;
	}
	wt_jout_open(j, "iteration", '{');
	batch_json(j, &s->batch);
	wt_jout_count(j, "layers", s->batch.layers ? (int64_t)s->batch.layers : -1);
	wt_jout_bool(j, "start_up", s->startup);
	wt_jout_open(j, "by_geometry", '{');
	batch_json(j, &s->geometry);
	wt_jout_close(j, '}');
	wt_jout_close(j, '}');
}

/* A step's account is of its window on the device, see axes.h. */
void wt_steps_json(const struct wt_report *r, struct wt_jout *j)
{
	const struct wt_axes *x = r->axes;

	wt_jout_open(j, "steps", '[');
	if (!r->ledger->ndevices)
		steps_alone(r, j);
	for (size_t i = 0; i < x->nsteps; i++) {
		const struct wt_step *s = &x->steps[i];
		struct wt_account a;

		if (account_of(r, s, &a))
			continue;
		wt_jout_open(j, NULL, '{');
		wt_jout_int(j, "step", s->number);
		wt_jout_string(j, "name", s->name ? wt_timeline_string(r->tl, s->name) : NULL);
		wt_jout_count(j, "rank", r->tl->processes[s->process].rank);
		wt_jout_count(j, "pid", r->tl->processes[s->process].pid);
		wt_jout_int(j, "device",
			    r->tl->devices[r->ledger->devices[s->device].device].ordinal);
		wt_jout_int(j, "start_ns", s->start_ns);
		wt_sweep_json(&a, j);
		wt_jout_int(j, "end_ns", s->end_ns);
		wt_jout_int(j, "host_start_ns", s->host_start_ns);
		wt_jout_int(j, "host_end_ns", s->host_end_ns);
		wt_jout_string(j, "source", wt_step_source_names[s->source]);
		wt_jout_int(j, "grade", s->grade);
		wt_jout_bool(j, "partial", s->partial);
		wt_jout_uint(j, "operations", s->ops);
		wt_jout_string(j, "phase", s->phase ? wt_phase_names[s->phase] : NULL);
		iteration_json(j, s);
		wt_jout_open(j, "leaves_ns", '{');
		for (int k = 0; k < WT_LEAVES; k++)
			if (a.leaves_ns[k])
				wt_jout_int(j, wt_leaves[k].key, a.leaves_ns[k]);
		wt_jout_close(j, '}');
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

static int cmp_ns(const void *pa, const void *pb)
{
	int64_t a = *(const int64_t *)pa, b = *(const int64_t *)pb;

	return (a > b) - (a < b);
}

static void device_steps_text(const struct wt_report *r, size_t first, size_t last,
			      struct wt_strbuf *out)
{
	const struct wt_step *steps = r->axes->steps, *longest = NULL;
	int64_t *ns = malloc((last - first + 1) * sizeof(*ns));
	size_t n = 0;

	for (size_t i = first; ns && i < last; i++) {
		if (steps[i].partial)
			continue;
		ns[n++] = steps[i].end_ns - steps[i].start_ns;
		if (!longest || ns[n - 1] > longest->end_ns - longest->start_ns)
			longest = &steps[i];
	}
	wt_strbuf_adds(out, "  ");
	wt_text_device(r, out, r->ledger->devices[steps[first].device].device);
	if ((first && steps[first - 1].device == steps[first].device) ||
	    (last < r->axes->nsteps && steps[last].device == steps[first].device))
		wt_strbuf_addf(out, ", process %" PRId64,
			       r->tl->processes[steps[first].process].pid);
	wt_strbuf_addf(out, ": %zu step%s (%s, %s), %zu whole", last - first,
		       last - first == 1 ? "" : "s", wt_step_source_names[steps[first].source],
		       wt_grade_name(steps[first].grade), n);
	if (n) {
		qsort(ns, n, sizeof(*ns), cmp_ns);
		wt_strbuf_adds(out, "; median ");
		wt_text_span(out, ns[(n - 1) / 2]);
		wt_strbuf_adds(out, ", shortest ");
		wt_text_span(out, ns[0]);
		wt_strbuf_adds(out, ", longest ");
		wt_text_span(out, ns[n - 1]);
		wt_strbuf_addf(out, " (step %" PRId64 ")", longest->number);
	}
	wt_strbuf_addc(out, '\n');
	free(ns);
}

static void steps_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_step *s = r->axes->steps;

	wt_text_heading(r, out, "Steps");
	for (size_t d = 0; d < r->ledger->ndevices; d++) { /* in the order of the ledger */
		size_t first = 0;

		for (size_t i = 1; i <= r->axes->nsteps; i++) {
			if (i < r->axes->nsteps && s[i].device == s[first].device &&
			    s[i].process == s[first].process)
				continue;
			if (s[first].device == d)
				device_steps_text(r, first, i, out);
			first = i;
		}
	}
}

static int64_t modules_ns(const struct wt_axes *a)
{
	int64_t ns = a->module_unknown_ns;

	for (size_t i = 0; i < a->nmodules; i++)
		ns += a->modules[i].kernel_ns;
	return ns;
}

/* Kernels that XLA made are named after its instructions. */
static int is_xla(const char *name)
{
	return strstr(name, "fusion") || !strncmp(name, "wrapped_", 8);
}

/*
 * What would give modules to a job of ours that has none: XLA says them when asked only. By kernel time: some kernels
 * of that name are other compilers' too.
 */
static const char *module_remedy(const struct wt_report *r)
{
	int64_t xla_ns = 0, all_ns = 0;
	int ours = 0;

	for (size_t i = 0; i < r->tl->nprocesses; i++)
		ours |= r->tl->processes[i].level >= 0;
	for (size_t i = 0; i < r->nkernels; i++) {
		all_ns += r->kernels[i].sum_ns;
		if (is_xla(wt_timeline_string(r->tl, r->kernels[i].name)))
			xla_ns += r->kernels[i].sum_ns;
	}
	return ours && !r->axes->nmodules && xla_ns > all_ns / XLA_SHARE
		       ? "XLA was not asked for them: record with WARPTAP_XLA=1 before \"warptap "
			 "run\", or let jax.profiler write a profile of the same program into the "
			 "folder of the traces (elsewhere: \"warptap report DIR --hlo "
			 "FILE.xplane.pb\")"
		       : NULL;
}

void wt_modules_json(const struct wt_report *r, struct wt_jout *j)
{
	const struct wt_axes *a = r->axes;
	int64_t all_ns = modules_ns(a), others_ns = 0;

	wt_jout_open(j, "modules", '{');
	wt_jout_share(j, "coverage", share(all_ns - a->module_unknown_ns, all_ns));
	wt_jout_string(j, "remedy", module_remedy(r));
	wt_jout_int(j, "unknown_ns", a->module_unknown_ns);
	for (size_t i = JSON_MODULES; i < a->nmodules; i++)
		others_ns += a->modules[i].kernel_ns;
	wt_jout_uint(j, "others", a->nmodules > JSON_MODULES ? a->nmodules - JSON_MODULES : 0);
	wt_jout_int(j, "others_ns", others_ns);
	wt_jout_open(j, "paths", '[');
	for (size_t i = 0; i < a->nmodules && i < JSON_MODULES; i++) {
		wt_jout_open(j, NULL, '{');
		wt_jout_string(j, "path", wt_axes_text(a, a->modules[i].path));
		wt_jout_uint(j, "kernels", a->modules[i].kernels);
		wt_jout_int(j, "kernel_ns", a->modules[i].kernel_ns);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
	wt_jout_close(j, '}');
}

static void modules_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_axes *a = r->axes;
	int64_t all_ns = modules_ns(a), more_ns = 0;

	wt_text_heading(r, out, "Modules by kernel time");
	for (size_t i = 0; i < a->nmodules && i < TOP_MODULES; i++) {
		wt_strbuf_adds(out, "  ");
		wt_text_column(out, a->modules[i].kernel_ns, all_ns);
		wt_strbuf_adds(out, "  ");
		wt_text_name(out, wt_axes_text(a, a->modules[i].path), NAME_COLUMNS);
		wt_strbuf_addc(out, '\n');
	}
	for (size_t i = TOP_MODULES; i < a->nmodules; i++)
		more_ns += a->modules[i].kernel_ns;
	if (a->nmodules > TOP_MODULES) {
		wt_strbuf_adds(out, "  ");
		wt_text_column(out, more_ns, all_ns);
		wt_strbuf_addf(out, "  %zu more\n", a->nmodules - TOP_MODULES);
	}
	wt_strbuf_adds(out, "  ");
	wt_text_column(out, a->module_unknown_ns, all_ns);
	wt_strbuf_adds(out, "  of no known module\n");
}

void wt_axes_text_section(const struct wt_report *r, struct wt_strbuf *out)
{
	if (any_phase(r->axes))
		phases_text(r, out);
	if (r->axes->nsteps)
		steps_text(r, out);
	if (r->axes->nmodules) {
		modules_text(r, out);
	} else if (module_remedy(r)) {
		wt_text_heading(r, out, "Modules");
		wt_strbuf_addf(out, "  not known: %s\n", module_remedy(r));
	}
}
