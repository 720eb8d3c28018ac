/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What attention of a serving engine's iterations had to compute and to move: from the sums over requests in the
 * engine's annotations and the shape of the model, against the time of attention's kernels. Modelled: all layers attend
 * to all tokens (no sliding windows), keys and values in the format that the model says (names of kernels list
 * several), all heads on one device: a process of a larger job has a part of them, and which is not said.
 *
 *   FLOPs = L (2 sum(q s) - sum(q^2)) H (d_qk + d_v)     bytes = L e (sum(s) H_kv + sum(q) H) (d_qk + d_v)
 */
#include <string.h>

#include "axes/axes.h"
#include "bounds/model.h"
#include "ledger/sweep.h"
#include "report/section.h"

static int is_known(const struct wt_report *r, const struct wt_step *s)
{
	const struct wt_batch *b = &s->batch;

	return b->kv_tokens > 0 && b->squares >= 0 && b->pairs >= 0 && b->tokens >= 0 &&
	       !s->startup && !s->partial && r->tl->processes[s->process].world <= 1 &&
	       /* another number of layers: another model, or a stage of it */
	       (!b->layers || b->layers == (uint32_t)r->model->layers);
}

/* Of attention's kernels in an iteration. */
static int64_t kernels_ns(const struct wt_report *r, const struct wt_step *s)
{
	const struct wt_timeline *tl = r->tl;
	uint16_t device = r->ledger->devices[s->device].device;
	int64_t ns = 0;

	for (size_t i = tl->device_first[device]; i < tl->device_first[device + 1]; i++) {
		const struct wt_op *op = &tl->ops[i];
		const struct wt_family_row *row = NULL;

		if (op->start_ns >= s->end_ns)
			break;
		if (op->kind != WT_OP_KERNEL || op->flags & WT_OP_UNTIMED ||
		    op->start_ns < s->start_ns)
			continue;
		wt_op_state(tl, r->ledger->families, op, &row);
		if (row && !strcmp(row->role, "attention"))
			ns += op->end_ns - op->start_ns;
	}
	return ns;
}

int wt_attention_of(const struct wt_report *r, size_t from, size_t to, struct wt_attention *ret)
{
	const struct wt_model *m = r->model;
	double tokens = 0, kv = 0;

	*ret = (struct wt_attention){.iterations = 0};
	if (!m || !(m->layers > 0) || !(m->heads > 0) || !(m->kv_heads > 0) || !(m->head_dim > 0))
		return 0;
	ret->dtype = m->dtype;
	for (size_t i = from; i < to; i++) {
		const struct wt_step *s = &r->axes->steps[i];
		int64_t ns = is_known(r, s) ? kernels_ns(r, s) : 0;

		if (!ns)
			continue;
		ret->iterations++;
		ret->kernel_ns += ns;
		tokens += (double)s->batch.tokens;
		kv += (double)s->batch.kv_tokens;
		ret->flops += (2 * (double)s->batch.pairs - (double)s->batch.squares) * m->layers *
			      m->heads * (m->head_dim + m->v_dim);
	}
	ret->bytes = (kv * m->kv_heads + tokens * m->heads) * m->layers * (m->head_dim + m->v_dim) *
		     wt_dtype_bytes(ret->dtype);
	return ret->iterations > 0;
}

void wt_attention_json(const struct wt_report *r, size_t from, size_t to, struct wt_jout *j)
{
	struct wt_attention a;

	if (!wt_attention_of(r, from, to, &a)) {
		wt_jout_null(j, "attention");
		return;
	}
	wt_jout_open(j, "attention", '{');
	wt_jout_int(j, "iterations", a.iterations);
	wt_jout_int(j, "kernel_ns", a.kernel_ns);
	wt_jout_double(j, "flops", a.flops);
	if (a.bytes > 0)
		wt_jout_double(j, "bytes", a.bytes);
	else
		wt_jout_null(j, "bytes");
	wt_jout_string(j, "dtype", wt_dtype_name(a.dtype));
	wt_jout_string(j, "evidence", wt_evidence_name(WT_EVIDENCE_MODELLED));
	wt_jout_close(j, '}');
}

void wt_attention_text(const struct wt_report *r, size_t from, size_t to, struct wt_strbuf *out)
{
	uint16_t device = r->ledger->devices[r->axes->steps[from].device].device;
	const struct wt_peak *peak = &wt_bounds_peaks(r->ledger->bounds, device)->bandwidth;
	struct wt_attention a;
	double rate;

	if (!wt_attention_of(r, from, to, &a))
		return;
	rate = a.bytes / (double)a.kernel_ns * 1e9;
	wt_strbuf_adds(out, "    attention of ");
	wt_strbuf_addf(out, "%lld iterations, modelled: %.3g TFLOP", (long long)a.iterations,
		       a.flops * 1e-12);
	if (a.bytes > 0)
		wt_strbuf_addf(out, " and %.3g GB (%s)", a.bytes * 1e-9, wt_dtype_name(a.dtype));
	wt_strbuf_adds(out, " in ");
	wt_text_span(out, a.kernel_ns);
	wt_strbuf_addf(out, " of kernels = %.3g TFLOP/s", a.flops / (double)a.kernel_ns * 1e-3);
	if (a.bytes > 0)
		wt_strbuf_addf(out, ", %.3g TB/s", rate * 1e-12);
	if (a.bytes > 0 && peak->hi > 0)
		wt_strbuf_addf(out, " (%.1f %% of the bandwidth%s)", 100 * rate / peak->hi,
			       peak->unverified ? ", unverified" : "");
	wt_strbuf_addc(out, '\n');
}
