/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MFU and HFU of a model whose shape was given: what its tokens are worth (bounds/model.h) per second, against the
 * dense peak of all devices that worked. Tokens a second come from the user; else from tokens_per_step and the mean
 * of the whole steps (axes); else from tokens_per_step, steps and the time between first and last record.
 *
 * MFU is also told in its factors, over all of the devices' windows:
 *   share of the time in which kernels compute (A)  x  FLOPs executed over what the peak allows in that time
 *   x  FLOPs of the model over FLOPs executed
 * What is executed is what of the products is known: the first factor alone does not depend on it.
 */
#include <math.h>
#include <inttypes.h>

#include "axes/axes.h"
#include "bounds/model.h"
#include "report/section.h"

struct use {
	double flops, hardware; /* of a token */
	double tokens_s;	/* 0 = not known */
	const char *source;
	double step_ns; /* mean; 0 = not known */
	uint64_t steps;
	int step_grade;
	enum wt_dtype dtype;
	int dtype_given, devices;
	struct wt_peak peak; /* FLOP/s of all devices; hi 0 = one is not known */
};

/*
 * Whole steps but the first of each process and device: the others begin where the one before ended, that one with its
 * first operation, so what went before it is not in it.
 */
static void mean_step(const struct wt_report *r, struct use *u)
{
	int64_t sum_ns = 0;

	for (size_t i = 0; r->axes && i < r->axes->nsteps; i++) {
		const struct wt_step *s = &r->axes->steps[i], *before = i ? s - 1 : NULL;

		if (!before || before->process != s->process || before->device != s->device)
			continue;
		if (s->partial || s->end_ns <= s->start_ns)
			continue;
		sum_ns += s->end_ns - s->start_ns;
		u->steps++;
		u->step_grade =
			!u->step_grade || s->grade < u->step_grade ? s->grade : u->step_grade;
	}
	u->step_ns = u->steps ? (double)sum_ns / (double)u->steps : 0;
}

/* From the first to the last record of any device. */
static double span_s(const struct wt_report *r)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < r->tl->nops; i++) {
		const struct wt_op *op = &r->tl->ops[i];

		if (op->flags & WT_OP_UNTIMED)
			continue;
		first = op->start_ns < first ? op->start_ns : first;
		last = op->end_ns > last ? op->end_ns : last;
	}
	return last > first ? (double)(last - first) * 1e-9 : 0;
}

static void find_rate(const struct wt_report *r, struct use *u)
{
	const struct wt_model *m = r->model;

	mean_step(r, u);
	if (m->tokens_per_s > 0) {
		u->tokens_s = m->tokens_per_s;
		u->source = "as given";
	} else if (m->tokens_per_step > 0 && u->step_ns > 0) {
		u->tokens_s = m->tokens_per_step / u->step_ns * 1e9;
		u->source = "tokens_per_step over the mean step";
	} else if (m->tokens_per_step > 0 && m->steps > 0 && span_s(r) > 0) {
		u->tokens_s = m->tokens_per_step * m->steps / span_s(r);
		u->source = "tokens_per_step x steps over the time between first and last record";
	}
}

static void find_peak(const struct wt_report *r, struct use *u)
{
	u->dtype = r->model->dtype;
	u->dtype_given = u->dtype != WT_DTYPE_UNKNOWN;
	if (!u->dtype_given)
		u->dtype = wt_main_dtype(&r->tally);
	for (size_t i = 0; i < r->ledger->ndevices; i++) {
		uint16_t d = r->ledger->devices[i].device;
		const struct wt_peak *p = &wt_bounds_peaks(r->ledger->bounds, d)->flops[u->dtype];

		u->devices++;
		if (!(p->hi > 0)) {
			u->peak = (struct wt_peak){0, 0, 0};
			return;
		}
		u->peak.lo += p->lo;
		u->peak.hi += p->hi;
		u->peak.unverified |= p->unverified;
	}
}

static struct use use_of(const struct wt_report *r)
{
	struct use u = {.flops = wt_model_flops(r->model),
			.hardware = wt_model_hardware_flops(r->model)};

	find_rate(r, &u);
	find_peak(r, &u);
	return u;
}

struct factors {
	double computing, efficiency, model; /* their product is MFU */
	double known;			     /* of the time of products, what has known FLOPs */
};

/* 0 if MFU or the FLOPs of any product are not known. */
static int factors_of(const struct wt_report *r, const struct use *u, struct factors *ret)
{
	double window_ns = 0, compute_ns = 0, peak = u->peak.hi / (u->devices ? u->devices : 1);

	for (size_t i = 0; i < r->ledger->ndevices; i++) {
		window_ns += (double)r->ledger->devices[i].account.window_ns;
		compute_ns += (double)wt_account_compute_ns(&r->ledger->devices[i].account);
	}
	if (!(u->tokens_s > 0) || !(u->peak.hi > 0) || !(r->tally.flops > 0) || !(compute_ns > 0))
		return 0;
	ret->computing = compute_ns / window_ns;
	ret->efficiency = r->tally.flops / (peak * compute_ns * 1e-9);
	ret->model = u->flops * u->tokens_s * window_ns * 1e-9 / u->devices / r->tally.flops;
	ret->known = (double)r->tally.products_known_ns / (double)r->tally.products_ns;
	return 1;
}

static void share(struct wt_jout *j, const char *key, double flops, double tokens_s, double peak)
{
	if (tokens_s > 0 && peak > 0)
		wt_jout_double(j, key, flops * tokens_s / peak);
	else
		wt_jout_null(j, key);
}

void wt_model_json(const struct wt_report *r, struct wt_jout *j)
{
	struct factors f;
	struct use u;

	if (!r->model) {
		wt_jout_null(j, "model");
		return;
	}
	u = use_of(r);
	wt_jout_open(j, "model", '{');
	wt_jout_double(j, "params", wt_model_params(r->model));
	wt_jout_double(j, "flop_per_token", u.flops);
	wt_jout_double(j, "hardware_flop_per_token", u.hardware);
	wt_jout_string(j, "form", wt_model_form(r->model));
	wt_jout_string(j, "recompute", wt_model_recompute(r->model));
	wt_jout_double(j, "tokens_per_s", u.tokens_s > 0 ? u.tokens_s : 0);
	wt_jout_string(j, "tokens_per_s_source", u.source);
	wt_jout_int(j, "step_ns", llround(u.step_ns));
	wt_jout_uint(j, "steps", u.steps);
	wt_jout_string(j, "dtype", u.dtype == WT_DTYPE_UNKNOWN ? NULL : wt_dtype_name(u.dtype));
	wt_jout_int(j, "devices", u.devices);
	wt_jout_double(j, "peak_flops", u.peak.hi);
	wt_jout_double(j, "peak_flops_least", u.peak.lo);
	share(j, "mfu", u.flops, u.tokens_s, u.peak.hi);
	share(j, "mfu_most", u.flops, u.tokens_s, u.peak.lo);
	share(j, "hfu", u.hardware, u.tokens_s, u.peak.hi);
	share(j, "hfu_most", u.hardware, u.tokens_s, u.peak.lo);
	if (factors_of(r, &u, &f)) {
		wt_jout_open(j, "mfu_factors", '{');
		wt_jout_double(j, "computing", f.computing);
		wt_jout_double(j, "efficiency", f.efficiency);
		wt_jout_double(j, "model_over_executed", f.model);
		wt_jout_double(j, "products_known", f.known);
		wt_jout_close(j, '}');
	} else {
		wt_jout_null(j, "mfu_factors");
	}
	wt_jout_string(j, "evidence", wt_evidence_name(WT_EVIDENCE_MODELLED));
	wt_jout_bool(j, "unverified", u.peak.unverified);
	wt_jout_close(j, '}');
}

static void rate_text(struct wt_strbuf *out, const char *name, double flops, const struct use *u)
{
	wt_strbuf_addf(out, "  %s %.2f", name, 100 * flops * u->tokens_s / u->peak.hi);
	if (u->peak.lo < u->peak.hi)
		wt_strbuf_addf(out, " to %.2f", 100 * flops * u->tokens_s / u->peak.lo);
	wt_strbuf_adds(out, " %");
}

static void factors_text(const struct wt_report *r, const struct use *u, struct wt_strbuf *out)
{
	struct factors f;

	if (!factors_of(r, u, &f))
		return;
	wt_strbuf_addf(
		out,
		"  MFU = kernels compute %.2f %% of the time x %.2f %% of the peak meanwhile x "
		"model FLOPs %.3f of those executed\n",
		100 * f.computing, 100 * f.efficiency, f.model);
	if (f.known < 1)
		wt_strbuf_addf(
			out,
			"  executed: of %.1f %% of the products' time the FLOPs are known, so the "
			"second is low and the third is high\n",
			100 * f.known);
}

void wt_model_text(const struct wt_report *r, struct wt_strbuf *out)
{
	struct use u;

	if (!r->model)
		return;
	u = use_of(r);
	wt_text_heading(r, out, "Model FLOPs utilisation (modelled)");
	wt_strbuf_addf(out, "  %.6g FLOP a token = %s, N = %.6g\n", u.flops,
		       wt_model_form(r->model), wt_model_params(r->model));
	if (u.tokens_s > 0) {
		wt_strbuf_addf(out, "  %.6g tokens/s, %s", u.tokens_s, u.source);
		if (u.step_ns > 0 && !(r->model->tokens_per_s > 0))
			wt_strbuf_addf(out, " (%.3f ms, of %" PRIu64 " whole steps, %s)",
				       u.step_ns * 1e-6, u.steps, wt_grade_name(u.step_grade));
		wt_strbuf_addc(out, '\n');
	} else {
		wt_strbuf_adds(out, "  tokens/s not known: say tokens_per_step (and steps, where "
				    "none are found) "
				    "or tokens_per_s\n");
	}
	if (!(u.peak.hi > 0)) {
		wt_strbuf_addf(out, "  no MFU: the %s peak of a device is not known\n",
			       wt_dtype_name(u.dtype));
		return;
	}
	if (!(u.tokens_s > 0))
		return;
	if (u.hardware * u.tokens_s > u.peak.hi)
		wt_strbuf_adds(
			out,
			"  ERROR: more than the peak: model, tokens, steps or format are wrong\n");
	rate_text(out, "MFU", u.flops, &u);
	rate_text(out, "  HFU", u.hardware, &u);
	wt_strbuf_addf(
		out, " (recomputation: %s) of %.6g TFLOP/s, the dense %s peak of %d device%s%s%s\n",
		wt_model_recompute(r->model), u.peak.hi * 1e-12, wt_dtype_name(u.dtype), u.devices,
		u.devices == 1 ? "" : "s", u.peak.unverified ? " (unverified)" : "",
		u.dtype_given ? "" : ", the format of most product FLOPs");
	factors_text(r, &u, out);
}

void wt_model_rate(const struct wt_report *r, double *ret_tokens_s, double *ret_mfu)
{
	struct use u;

	*ret_tokens_s = *ret_mfu = 0;
	if (!r->model)
		return;
	u = use_of(r);
	*ret_tokens_s = u.tokens_s;
	if (u.tokens_s > 0 && u.peak.hi > 0 && !u.peak.unverified)
		*ret_mfu = u.flops * u.tokens_s / u.peak.hi;
}
