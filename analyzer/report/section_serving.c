/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A serving engine's iterations, and what a request saw of them. Without the requests' own records the engine's view is
 * all there is: the first token of a prompt takes from the first launch of its iteration until the iteration's last
 * operation (the waiting before, in queues, is not in it; of a prompt worked on in parts it is the last part); each
 * further token takes from the end of the iteration before to the end of its own. Sums are weighted by requests.
 */
#include <stdlib.h>

#include "axes/axes.h"
#include "report/section.h"

struct sample {
	int64_t ns, weight;
};
struct samples {
	struct sample *rows;
	size_t n;
};
struct serving {
	struct samples first, next; /* tokens */
	struct samples phase[WT_PHASES], mixed_next, decode_next;
	int64_t iterations, startup, unknown; /* unknown: how many of its requests are prompts */
	int64_t context_requests, context_tokens, generated;
	int64_t tokens[WT_PHASES], requests[WT_PHASES];
};

static int by_ns(const void *pa, const void *pb)
{
	const struct sample *a = pa, *b = pb;

	return (a->ns > b->ns) - (a->ns < b->ns);
}

static int64_t weight_of(const struct samples *s)
{
	int64_t sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += s->rows[i].weight;
	return sum;
}

/* The least value that per_mille of the weight does not exceed; sorted before. */
static int64_t quantile(const struct samples *s, int64_t per_mille)
{
	int64_t want = (weight_of(s) * per_mille + 999) / 1000, sum = 0;

	for (size_t i = 0; i < s->n; i++) {
		sum += s->rows[i].weight;
		if (sum >= want)
			return s->rows[i].ns;
	}
	return 0;
}

static int64_t mean(const struct samples *s)
{
	int64_t weight = weight_of(s);
	double sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += (double)s->rows[i].ns * (double)s->rows[i].weight;
	return weight ? (int64_t)(sum / (double)weight) : 0;
}

static void add(struct samples *s, int64_t ns, int64_t weight)
{
	if (s->rows && ns >= 0 && weight > 0)
		s->rows[s->n++] = (struct sample){ns, weight};
}

static int is_iteration(const struct wt_step *s)
{
	return s->batch.source != WT_BATCH_NONE;
}

static struct samples *all_samples(struct serving *v, size_t i)
{
	return i == 0	? &v->first
	       : i == 1 ? &v->next
	       : i == 2 ? &v->mixed_next
	       : i == 3 ? &v->decode_next
			: &v->phase[i - 4];
}
#define SAMPLES (4 + WT_PHASES)

static void count(struct serving *v, const struct wt_step *s, const struct wt_step *before)
{
	const struct wt_batch *b = &s->batch;
	int64_t went_ns = s->end_ns - s->host_start_ns,
		since_ns = before ? s->end_ns - before->end_ns : -1;

	v->iterations++;
	v->unknown += b->context_requests < 0;
	v->context_requests += b->context_requests > 0 ? b->context_requests : 0;
	v->context_tokens += b->context_tokens > 0 ? b->context_tokens : 0;
	v->generated += b->generation_tokens > 0 ? b->generation_tokens : 0;
	v->tokens[s->phase] += b->tokens > 0 ? b->tokens : 0;
	v->requests[s->phase] += b->requests > 0 ? b->requests : 0;
	add(&v->phase[s->phase], went_ns, 1);
	add(&v->first, went_ns, b->context_requests);
	add(&v->next, since_ns, b->generation_requests);
	add(s->phase == WT_PHASE_DECODE ? &v->decode_next : &v->mixed_next, since_ns,
	    b->generation_requests);
}

/* Of steps [from, to), which are one process's on one device. */
static void gather(const struct wt_report *r, size_t from, size_t to, struct serving *v)
{
	const struct wt_step *before = NULL;

	*v = (struct serving){.iterations = 0};
	for (size_t i = 0; i < SAMPLES; i++)
		all_samples(v, i)->rows = malloc((to - from) * sizeof(struct sample));
	for (size_t i = from; i < to; i++) {
		const struct wt_step *s = &r->axes->steps[i];

		if (!is_iteration(s))
			continue;
		if (s->startup) {
			v->startup++;
			continue;
		}
		count(v, s, before);
		before = s;
	}
	for (size_t i = 0; i < SAMPLES; i++) {
		struct samples *s = all_samples(v, i);

		if (s->n)
			qsort(s->rows, s->n, sizeof(*s->rows), by_ns);
	}
}

static void release(struct serving *v)
{
	for (size_t i = 0; i < SAMPLES; i++)
		free(all_samples(v, i)->rows);
}

/* The next run of steps that has iterations; 0 = there is none. */
static int next_run(const struct wt_report *r, size_t *from, size_t *to)
{
	const struct wt_step *s = r->axes->steps;
	size_t n = r->axes->nsteps;

	while (*to < n) {
		int any = 0;

		*from = *to;
		for (; *to < n && s[*to].device == s[*from].device &&
		       s[*to].process == s[*from].process;
		     ++*to)
			any |= is_iteration(&s[*to]);
		if (any)
			return 1;
	}
	return 0;
}

static void samples_json(struct wt_jout *j, const char *key, const struct samples *s)
{
	if (!s->n) {
		wt_jout_null(j, key);
		return;
	}
	wt_jout_open(j, key, '{');
	wt_jout_int(j, "n", weight_of(s));
	wt_jout_int(j, "mean", mean(s));
	wt_jout_int(j, "p50", quantile(s, 500));
	wt_jout_int(j, "p99", quantile(s, 990));
	wt_jout_close(j, '}');
}

static void phases_json(struct wt_jout *j, const struct serving *v)
{
	wt_jout_open(j, "phases", '[');
	for (int p = 0; p < WT_PHASES; p++) {
		if (!v->phase[p].n)
			continue;
		wt_jout_open(j, NULL, '{');
		wt_jout_string(j, "phase", wt_phase_names[p]);
		wt_jout_uint(j, "iterations", v->phase[p].n);
		wt_jout_int(j, "tokens", v->tokens[p]);
		wt_jout_int(j, "requests", v->requests[p]);
		samples_json(j, "iteration_ns", &v->phase[p]);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

void wt_requests_json(const struct wt_report *r, struct wt_jout *j)
{
	size_t from = 0, to = 0;

	wt_jout_open(j, "requests", '[');
	while (next_run(r, &from, &to)) {
		const struct wt_step *s = &r->axes->steps[from];
		struct serving v;

		gather(r, from, to, &v);
		wt_jout_open(j, NULL, '{');
		wt_jout_count(j, "rank", r->tl->processes[s->process].rank);
		wt_jout_int(j, "device",
			    r->tl->devices[r->ledger->devices[s->device].device].ordinal);
		wt_jout_string(j, "source", wt_step_source_names[s->source]);
		wt_jout_int(j, "iterations", v.iterations);
		wt_jout_int(j, "start_up_iterations", v.startup);
		wt_jout_int(j, "iterations_not_split", v.unknown);
		wt_jout_int(j, "context_requests", v.context_requests);
		wt_jout_int(j, "context_tokens", v.context_tokens);
		wt_jout_int(j, "generation_tokens", v.generated);
		phases_json(j, &v);
		samples_json(j, "service_ttft_ns", &v.first);
		samples_json(j, "tpot_ns", &v.next);
		samples_json(j, "tpot_in_decode_ns", &v.decode_next);
		samples_json(j, "tpot_beside_prompts_ns", &v.mixed_next);
		wt_attention_json(r, from, to, j);
		wt_jout_close(j, '}');
		release(&v);
	}
	wt_jout_close(j, ']');
}

static void samples_text(struct wt_strbuf *out, const char *what, const struct samples *s)
{
	if (!s->n)
		return;
	wt_strbuf_addf(out, "    %s: median ", what);
	wt_text_span(out, quantile(s, 500));
	wt_strbuf_adds(out, ", 99 % within ");
	wt_text_span(out, quantile(s, 990));
	wt_strbuf_adds(out, ", mean ");
	wt_text_span(out, mean(s));
	wt_strbuf_addf(out, " (%lld)\n", (long long)weight_of(s));
}

static void device_text(const struct wt_report *r, size_t from, size_t to, struct wt_strbuf *out)
{
	const struct wt_step *s = &r->axes->steps[from];
	struct serving v;

	gather(r, from, to, &v);
	wt_strbuf_adds(out, "  ");
	wt_text_device(r, out, r->ledger->devices[s->device].device);
	wt_strbuf_addf(out, ": %lld iterations (%s, %s)", (long long)v.iterations,
		       wt_step_source_names[s->source], wt_grade_name(s->grade));
	if (v.startup)
		wt_strbuf_addf(out, ", %lld more of its start-up left out", (long long)v.startup);
	wt_strbuf_addc(out, '\n');
	for (int p = 0; p < WT_PHASES; p++) {
		if (!v.phase[p].n)
			continue;
		wt_strbuf_addf(
			out, "    %-8s %6zu iterations, %lld tokens, %.1f requests each; median ",
			p ? wt_phase_names[p] : "unknown", v.phase[p].n, (long long)v.tokens[p],
			(double)v.requests[p] / (double)v.phase[p].n);
		wt_text_span(out, quantile(&v.phase[p], 500));
		wt_strbuf_addc(out, '\n');
	}
	if (v.unknown)
		wt_strbuf_addf(
			out,
			"    of %lld iterations it is not known how many requests were prompts\n",
			(long long)v.unknown);
	samples_text(out, "first token, from the first launch of its iteration", &v.first);
	samples_text(out, "each further token", &v.next);
	if (v.mixed_next.n && v.decode_next.n) {
		samples_text(out, "  in iterations that only generate", &v.decode_next);
		samples_text(out, "  beside prompts", &v.mixed_next);
	}
	wt_attention_text(r, from, to, out);
	release(&v);
}

void wt_requests_text(const struct wt_report *r, struct wt_strbuf *out)
{
	size_t from = 0, to = 0;
	int any = 0;

	while (next_run(r, &from, &to)) {
		if (!any)
			wt_text_heading(r, out, "Serving: the engine's iterations");
		any = 1;
		device_text(r, from, to, out);
	}
}
