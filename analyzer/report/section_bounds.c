/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Number formats, products off the matrix pipe, and how much of the kernel time stands on what evidence.
 */
#include <math.h>
#include <inttypes.h>

#include "report/section.h"

#define TOP_OFF	     10
#define TOP_LOCAL    5
#define NAME_COLUMNS 60

static const char *peak_word(const struct wt_peak *p)
{
	return p->unverified ? " (unverified)" : "";
}

enum wt_dtype wt_main_dtype(const struct wt_tally *t)
{
	enum wt_dtype most = WT_DTYPE_UNKNOWN;

	for (int i = 1; i < WT_DTYPES; i++)
		if (t->math[i].flops > t->math[most].flops)
			most = (enum wt_dtype)i;
	return most;
}

/*
 * The sum of all devices' peaks in a format over their windows, as far as there are records: what could have been
 * computed at most.
 */
static struct wt_peak ceiling(const struct wt_report *r, enum wt_dtype t)
{
	struct wt_peak sum = {0, 0, 0};

	for (size_t i = 0; i < r->ledger->ndevices; i++) {
		const struct wt_ledger_device *d = &r->ledger->devices[i];
		const struct wt_peak *p = &wt_bounds_peaks(r->ledger->bounds, d->device)->flops[t];
		int64_t outside_ns = d->account.leaves_ns[WT_E5] + d->account.chosen_ns;
		double s = (double)(d->account.window_ns - outside_ns) * 1e-9;

		if (!(p->hi > 0)) /* one that is not known makes the sum unknown */
			return (struct wt_peak){0, 0, 0};
		sum.lo += p->lo * s;
		sum.hi += p->hi * s;
		sum.unverified |= p->unverified;
	}
	return sum;
}

void wt_precision_json(const struct wt_report *r, struct wt_jout *j)
{
	const struct wt_tally *t = &r->tally;
	enum wt_dtype main = wt_main_dtype(t);
	struct wt_peak most = ceiling(r, main);

	wt_jout_open(j, "precision", '[');
	for (int i = 0; i < WT_DTYPES; i++) {
		const struct wt_math_row *m = &t->math[i];

		if (!m->kernels)
			continue;
		wt_jout_open(j, NULL, '{');
		wt_jout_string(j, "dtype", wt_dtype_name((enum wt_dtype)i));
		wt_jout_uint(j, "kernels", m->kernels);
		wt_jout_int(j, "sum_ns", m->sum_ns);
		wt_jout_int(j, "estimated_ns", m->named_ns);
		wt_jout_double(j, "flops", m->flops);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
	wt_jout_open(j, "off_matrix", '[');
	for (size_t i = 0; i < r->nkernels; i++) {
		const struct wt_kernel_row *k = &r->kernels[i];

		if (!k->off_ns)
			continue;
		wt_jout_open(j, NULL, '{');
		wt_jout_string(j, "name", wt_timeline_string(r->tl, k->name));
		wt_jout_string(j, "dtype", wt_dtype_name(k->off_dtype));
		wt_jout_int(j, "sum_ns", k->off_ns);
		wt_jout_double(j, "flops", k->off_flops);
		wt_jout_string(j, "evidence",
			       wt_evidence_name(k->off_flops > 0 ? WT_EVIDENCE_MODELLED
								 : WT_EVIDENCE_ESTIMATED));
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
	wt_jout_open(j, "bounds", '{');
	wt_jout_int(j, "kernels_ns", t->kernels_ns);
	wt_jout_int(j, "comm_ns", t->comm_ns);
	wt_jout_int(j, "no_family_ns", t->no_family_ns);
	wt_jout_int(j, "work_known_ns", t->worked_ns);
	wt_jout_int(j, "measured_ns", t->measured_ns);
	wt_jout_int(j, "modelled_ns", t->modelled_ns);
	wt_jout_int(j, "unverified_ns", t->unverified_ns);
	wt_jout_int(j, "impossible_ns", t->wrong_ns);
	wt_jout_uint(j, "impossible", t->wrong);
	wt_jout_int(j, "occupancy_known_ns", t->shaped_ns);
	if (t->shaped_ns)
		wt_jout_double(j, "occupancy", t->occupancy_ns / (double)t->shaped_ns);
	else
		wt_jout_null(j, "occupancy");
	wt_jout_int(j, "wave_idle_ns", llround(t->idle_ns));
	wt_jout_int(j, "below_one_wave_ns", t->small_ns);
	wt_jout_int(j, "local_memory_ns", t->local_ns);
	wt_jout_double(j, "product_flops", t->flops);
	wt_jout_int(j, "products_ns", t->products_ns);
	wt_jout_int(j, "products_known_ns", t->products_known_ns);
	wt_jout_string(j, "product_dtype", t->flops > 0 ? wt_dtype_name(main) : NULL);
	if (most.hi > 0) {
		wt_jout_double(j, "hfu_kernels", t->flops / most.hi);
		wt_jout_double(j, "hfu_kernels_most", t->flops / most.lo);
		wt_jout_bool(j, "unverified", most.unverified);
	} else {
		wt_jout_null(j, "hfu_kernels");
		wt_jout_null(j, "hfu_kernels_most");
		wt_jout_bool(j, "unverified", 0);
	}
	wt_jout_close(j, '}');
}

static void math_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_tally *t = &r->tally;

	for (int i = 0; i < WT_DTYPES; i++) {
		const struct wt_math_row *m = &t->math[i];

		if (!m->sum_ns)
			continue;
		wt_strbuf_addf(out, "  %-8s ", wt_dtype_name((enum wt_dtype)i));
		wt_text_column(out, m->sum_ns, t->kernels_ns - t->comm_ns);
		wt_text_ns(out, m->sum_ns, 17);
		wt_strbuf_adds(out, " ns");
		if (m->flops > 0)
			wt_strbuf_addf(out, ", %.4g TFLOP of products", m->flops * 1e-12);
		if (m->named_ns) {
			wt_strbuf_adds(out, ", ");
			wt_text_percent(out, m->named_ns, m->sum_ns);
			wt_strbuf_adds(out, " of the time by name (estimated)");
		}
		wt_strbuf_addc(out, '\n');
	}
}

static void off_text(const struct wt_report *r, struct wt_strbuf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < r->nkernels; i++) {
		const struct wt_kernel_row *k = &r->kernels[i];

		if (!k->off_ns)
			continue;
		if (!shown++)
			wt_strbuf_adds(out, "  products that do not run on the matrix pipe:\n");
		if (shown > TOP_OFF)
			continue;
		wt_strbuf_adds(out, "    ");
		wt_text_ns(out, k->off_ns, 15);
		wt_strbuf_addf(out, " ns %-7s ", wt_dtype_name(k->off_dtype));
		wt_text_name(out, wt_timeline_string(r->tl, k->name), NAME_COLUMNS);
		wt_strbuf_addf(out, " [%s]\n",
			       k->off_flops > 0 ? "by its arguments" : "estimated from the name");
	}
	if (shown > TOP_OFF)
		wt_strbuf_addf(out, "    and %zu more names\n", shown - TOP_OFF);
}

/* What the shares of this section are of. */
static const char *time_words(const struct wt_tally *t)
{
	return t->comm_ns ? "the kernel time without communication" : "the kernel time";
}

static void occupancy_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_tally *t = &r->tally;
	int shown = 0;

	if (!t->shaped_ns)
		return;
	wt_strbuf_addf(out, "  occupancy %.0f %% at most, ",
		       100 * t->occupancy_ns / (double)t->shaped_ns);
	wt_text_percent(out, t->small_ns, t->shaped_ns);
	wt_strbuf_adds(out, " of the time in grids below one wave, ");
	wt_text_percent(out, (int64_t)t->idle_ns, t->shaped_ns);
	wt_strbuf_adds(out, " lost in unfilled waves (modelled, from the shapes of ");
	wt_text_percent(out, t->shaped_ns, t->kernels_ns - t->comm_ns);
	wt_strbuf_addf(out, " of %s)\n", time_words(t));
	for (size_t i = 0; i < r->nkernels && shown < TOP_LOCAL; i++) {
		const struct wt_kernel_row *k = &r->kernels[i];

		if (!k->local_bytes)
			continue;
		if (!shown++)
			wt_strbuf_adds(
				out, "  kernels with local memory, spilled registers or arrays:\n");
		wt_strbuf_addf(out, "    %6" PRIu32 " bytes a thread  ", k->local_bytes);
		wt_text_name(out, wt_timeline_string(r->tl, k->name), NAME_COLUMNS);
		wt_strbuf_addc(out, '\n');
	}
}

void wt_precision_text(const struct wt_report *r, struct wt_strbuf *out)
{
	const struct wt_tally *t = &r->tally;
	enum wt_dtype main = wt_main_dtype(t);
	struct wt_peak most = ceiling(r, main);

	if (!t->kernels_ns)
		return;
	wt_text_heading(r, out, "Number formats, and what the bounds stand on");
	math_text(r, out);
	off_text(r, out);
	occupancy_text(r, out);
	wt_strbuf_addf(out, "  of %s ", time_words(t));
	if (t->measured_ns) {
		wt_text_percent(out, t->measured_ns, t->kernels_ns - t->comm_ns);
		wt_strbuf_adds(out, " is judged by hardware counters (measured), ");
	}
	wt_text_percent(out, t->modelled_ns, t->kernels_ns - t->comm_ns);
	wt_strbuf_adds(out, " is compared with the device's peaks (modelled), ");
	wt_text_percent(out, t->no_family_ns, t->kernels_ns - t->comm_ns);
	wt_strbuf_adds(out, " is of no known family\n");
	if (t->flops > 0 && most.hi > 0) {
		wt_strbuf_addf(out, "  products: %.4g TFLOP", t->flops * 1e-12);
		if (t->products_known_ns < t->products_ns) {
			wt_strbuf_adds(out, " known (of ");
			wt_text_percent(out, t->products_known_ns, t->products_ns);
			wt_strbuf_adds(out, " of the time of products): at least");
		} else {
			wt_strbuf_addc(out, ',');
		}
		wt_strbuf_addf(out, " %.1f", 100 * t->flops / most.hi);
		if (most.lo < most.hi)
			wt_strbuf_addf(out, " to %.1f", 100 * t->flops / most.lo);
		wt_strbuf_addf(out,
			       " %% of the dense %s peak between first and last record%s (kernels' "
			       "HFU, modelled)\n",
			       wt_dtype_name(main), peak_word(&most));
	}
	for (size_t i = 0; i < r->ledger->ndevices; i++) {
		uint16_t d = r->ledger->devices[i].device;

		if (wt_bounds_peaks(r->ledger->bounds, d)->match.n ||
		    wt_bounds_peaks(r->ledger->bounds, d)->from_file)
			continue;
		wt_strbuf_adds(out, "  ");
		wt_text_device(r, out, d);
		wt_strbuf_addf(out, "%s: no peaks, no utilisation\n",
			       r->tl->devices[d].name
				       ? " is not in the device table"
				       : ": the recording does not say what part it is");
		break;
	}
	if (t->wrong) {
		wt_strbuf_addf(out, "  ERROR: %" PRIu64 " kernels (", t->wrong);
		wt_text_span(out, t->wrong_ns);
		wt_strbuf_adds(out,
			       ") are faster than the device can be: device, format or sizes are "
			       "wrong; they are in no class\n");
	}
}
