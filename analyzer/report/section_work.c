/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by name, and collectives. */
#include <math.h>
#include <inttypes.h>
#include <stdio.h>

#include "report/section.h"

#define TOP_KERNELS	15
#define TOP_COLLECTIVES 10
#define NAME_COLUMNS	70

static const char *const limit_names[WT_LIMITS] = {
	[WT_LIMIT_TENSOR] = "tensor", [WT_LIMIT_ALU] = "alu",	      [WT_LIMIT_DRAM] = "dram",
	[WT_LIMIT_CACHE] = "cache",   [WT_LIMIT_LATENCY] = "latency", [WT_LIMIT_UNKNOWN] = NULL,
};

/* What held most of the time of all kernels of that name. */
static enum wt_limit limit_of(const struct wt_kernel_row *k)
{
	enum wt_limit most = WT_LIMIT_UNKNOWN;

	for (int i = 0; i < WT_LIMITS; i++)
		if (k->limit_ns[i] > k->limit_ns[most])
			most = (enum wt_limit)i;
	return most;
}

static const char *bound_of(const struct wt_report *r, const struct wt_kernel_row *k)
{
	static const uint8_t bounds[WT_LIMITS] = {
		[WT_LIMIT_TENSOR] = WT_BOUND_COMPUTE,  [WT_LIMIT_ALU] = WT_BOUND_COMPUTE,
		[WT_LIMIT_DRAM] = WT_BOUND_MEMORY,     [WT_LIMIT_CACHE] = WT_BOUND_MEMORY,
		[WT_LIMIT_LATENCY] = WT_BOUND_LATENCY, [WT_LIMIT_UNKNOWN] = WT_BOUND_UNKNOWN,
	};

	if (wt_family_state(k->family) == WT_STATE_COMM)
		return wt_bound_name(WT_BOUND_COMM);
	if (!k->sum_ns) /* no times: the guess for a short one */
		return wt_bound_name(
			wt_family_bound(k->family, wt_timeline_string(r->tl, k->name), 0));
	return wt_bound_name((enum wt_bound)bounds[limit_of(k)]);
}

static enum wt_evidence evidence_of(const struct wt_kernel_row *k)
{
	if (k->measured_ns * 2 > k->sum_ns)
		return WT_EVIDENCE_MEASURED;
	return (k->modelled_ns + k->measured_ns) * 2 > k->sum_ns ? WT_EVIDENCE_MODELLED
								 : WT_EVIDENCE_ESTIMATED;
}

/* Of the time that has a peak to compare with. */
static double of_peak(const struct wt_kernel_row *k)
{
	int64_t ns = k->modelled_ns + k->measured_ns;

	return ns ? k->roof_ns / (double)ns : 0;
}

static void known_double(struct wt_jout *j, const char *key, double v)
{
	if (v > 0)
		wt_jout_double(j, key, v);
	else
		wt_jout_null(j, key);
}

/* Of its time, else of its launches. */
static double site_share(const struct wt_kernel_row *k)
{
	return k->sum_ns ? (double)k->site_ns / (double)k->sum_ns
			 : (double)k->site_count / (double)k->count;
}

static void site_text(const struct wt_report *r, const struct wt_kernel_row *k,
		      struct wt_strbuf *out)
{
	if (!k->site)
		return;
	wt_strbuf_adds(out, "          call site ");
	wt_text_name(out, wt_timeline_string(r->tl, k->site), NAME_COLUMNS);
	if (k->site_count < k->count)
		wt_strbuf_addf(out, ", %.0f %% of it", 100 * site_share(k));
	wt_strbuf_addc(out, '\n');
}

void wt_kernels_json(const struct wt_report *r, struct wt_jout *j)
{
	wt_jout_open(j, "kernels", '[');
	for (size_t i = 0; i < r->nkernels; i++) {
		const struct wt_kernel_row *k = &r->kernels[i];

		wt_jout_open(j, NULL, '{');
		wt_jout_string(j, "name", wt_timeline_string(r->tl, k->name));
		wt_jout_string(j, "family", k->family ? k->family->family : NULL);
		wt_jout_string(j, "role", k->family ? k->family->role : NULL);
		wt_jout_string(j, "bound", bound_of(r, k));
		wt_jout_uint(j, "count", k->count);
		wt_jout_int(j, "sum_ns", k->sum_ns);
		wt_jout_string(j, "evidence", wt_evidence_name(evidence_of(k)));
		wt_jout_string(j, "limit", limit_names[limit_of(k)]);
		wt_jout_string(j, "dtype",
			       k->dtype == WT_DTYPE_UNKNOWN ? NULL : wt_dtype_name(k->dtype));
		known_double(j, "flops", k->flops);
		known_double(j, "bytes", k->bytes);
		known_double(j, "efficiency", of_peak(k));
		wt_jout_bool(j, "unverified", k->unverified);
		known_double(j, "occupancy",
			     k->shaped_ns ? k->occupancy_ns / (double)k->shaped_ns : 0);
		if (k->shaped_ns)
			wt_jout_int(j, "wave_idle_ns", llround(k->idle_ns));
		else
			wt_jout_null(j, "wave_idle_ns");
		wt_jout_int(j, "below_one_wave_ns", k->small_ns);
		wt_jout_uint(j, "local_bytes", k->local_bytes);
		wt_jout_string(j, "call_site", k->site ? wt_timeline_string(r->tl, k->site) : NULL);
		known_double(j, "call_site_share", site_share(k));
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

void wt_kernels_text(const struct wt_report *r, struct wt_strbuf *out)
{
	int64_t all_ns = 0, more_ns = 0;

	for (size_t i = 0; i < r->nkernels; i++)
		all_ns += r->kernels[i].sum_ns;
	if (!r->nkernels)
		return;
	wt_text_heading(r, out,
			"Kernels by time (family, and bound unless % of the peak stands there, are "
			"estimated from the "
			"name)");
	for (size_t i = 0; i < r->nkernels && i < TOP_KERNELS; i++) {
		const struct wt_kernel_row *k = &r->kernels[i];
		const char *bound = bound_of(r, k);

		wt_strbuf_adds(out, "  ");
		wt_text_column(out, k->sum_ns, all_ns);
		wt_text_ns(out, k->sum_ns, 17);
		wt_strbuf_addf(out, " ns %8" PRIu64 " x  ", k->count);
		wt_text_name(out, wt_timeline_string(r->tl, k->name), NAME_COLUMNS);
		wt_strbuf_addf(out, "  [%s%s%s", k->family ? k->family->family : "no known family",
			       bound ? ", " : "", bound ? bound : "");
		if (evidence_of(k) != WT_EVIDENCE_ESTIMATED)
			wt_strbuf_addf(out, ", %.0f %% of the peak%s%s", 100 * of_peak(k),
				       evidence_of(k) == WT_EVIDENCE_MEASURED ? " (measured)" : "",
				       k->unverified ? " (unverified)" : "");
		wt_strbuf_adds(out, "]\n");
		site_text(r, k, out);
	}
	for (size_t i = TOP_KERNELS; i < r->nkernels; i++)
		more_ns += r->kernels[i].sum_ns;
	if (r->nkernels > TOP_KERNELS) {
		wt_strbuf_adds(out, "  ");
		wt_text_column(out, more_ns, all_ns);
		wt_text_ns(out, more_ns, 17);
		wt_strbuf_addf(out, " ns  %zu more name%s\n", r->nkernels - TOP_KERNELS,
			       r->nkernels == TOP_KERNELS + 1 ? "" : "s");
	}
}

void wt_collectives_json(const struct wt_report *r, struct wt_jout *j)
{
	wt_jout_open(j, "collectives", '[');
	for (size_t i = 0; i < r->ncollectives; i++) {
		const struct wt_coll_row *c = &r->collectives[i];
		char comm[20];

		snprintf(comm, sizeof(comm), "%016" PRIx64, c->comm);
		wt_jout_open(j, NULL, '{');
		wt_jout_string(j, "name", wt_timeline_string(r->tl, c->name));
		wt_jout_string(j, "comm", c->comm ? comm : NULL);
		wt_jout_count(j, "nranks", c->nranks ? (int64_t)c->nranks : -1);
		if (c->recorded)
			wt_jout_uint(j, "count", c->count);
		else
			wt_jout_null(j, "count");
		if (c->sized)
			wt_jout_uint(j, "bytes", c->bytes);
		else
			wt_jout_null(j, "bytes");
		wt_jout_uint(j, "unfinished", c->unfinished);
		wt_jout_uint(j, "kernels", c->kernels);
		wt_jout_int(j, "sum_ns", c->sum_ns);
		wt_jout_int(j, "exposed_ns", c->exposed_ns);
		wt_jout_uint(j, "matched", c->matched);
		wt_jout_count(j, "transfer_ns", c->matched ? c->transfer_ns : -1);
		wt_jout_count(j, "wait_ns", c->matched ? c->wait_ns : -1);
		wt_plans_json(c, j);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

void wt_collectives_text(const struct wt_report *r, struct wt_strbuf *out)
{
	if (!r->ncollectives)
		return;
	wt_text_heading(r, out, "Collectives");
	for (size_t i = 0; i < r->ncollectives && i < TOP_COLLECTIVES; i++) {
		const struct wt_coll_row *c = &r->collectives[i];

		wt_strbuf_adds(out, "  ");
		wt_text_name(out, wt_timeline_string(r->tl, c->name), NAME_COLUMNS);
		if (c->nranks)
			wt_strbuf_addf(out, " over %u rank%s", c->nranks,
				       c->nranks == 1 ? "" : "s");
		if (c->comm)
			wt_strbuf_addf(out, " (communicator %08" PRIx32 ")",
				       (uint32_t)(c->comm >> 32));
		if (c->recorded && c->sized)
			wt_strbuf_addf(out, ": %" PRIu64 " calls, %" PRIu64 " bytes,", c->count,
				       c->bytes);
		else if (c->recorded)
			wt_strbuf_addf(out, ": %" PRIu64 " calls, bytes not known,", c->count);
		else
			wt_strbuf_adds(out, ": by kernel name,");
		if (c->unfinished)
			wt_strbuf_addf(out, " %" PRIu64 " not finished,", c->unfinished);
		wt_strbuf_addf(out, " %" PRIu64 " kernel%s, ", c->kernels,
			       c->kernels == 1 ? "" : "s");
		if (!c->kernels && c->grouped)
			wt_strbuf_adds(out, "carried by those of calls grouped with it, ");
		wt_text_span(out, c->sum_ns);
		wt_strbuf_adds(out, ", exposed ");
		wt_text_span(out, c->exposed_ns);
		if (c->matched) {
			wt_strbuf_adds(out, "; transfer ");
			wt_text_span(out, c->transfer_ns);
			wt_strbuf_adds(out, ", waiting ");
			wt_text_span(out, c->wait_ns);
		}
		wt_strbuf_addc(out, '\n');
		wt_plans_text(c, out);
	}
	if (r->ncollectives > TOP_COLLECTIVES)
		wt_strbuf_addf(out, "  and %zu more\n", r->ncollectives - TOP_COLLECTIVES);
}
