/* SPDX-License-Identifier: Apache-2.0 */
/* `--as hta`: the numbers HolisticTraceAnalysis prints, by its rules (ledger/hta.h); in microseconds, as there. */
#include <inttypes.h>
#include <stdio.h>

#include "ledger/hta.h"
#include "report/section.h"

/* 1,234,567.890: microseconds with the nanoseconds behind the point. */
static void us(struct wt_strbuf *out, int64_t ns, int width)
{
	char text[48];
	uint64_t abs = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	snprintf(text, sizeof(text), "%s%" PRIu64 ".%03" PRIu64, ns < 0 ? "-" : "", abs / 1000,
		 abs % 1000);
	wt_strbuf_addf(out, "%*s", width, text);
}

static void who(struct wt_strbuf *out, const struct wt_hta_rank *k)
{
	if (k->rank >= 0)
		wt_strbuf_addf(out, "  %4d", k->rank);
	else
		wt_strbuf_adds(out, "     -");
}

static void temporal(const struct wt_report *r, struct wt_strbuf *out)
{
	wt_text_heading(r, out, "Temporal breakdown (us)");
	wt_strbuf_adds(out, "  rank              idle                compute            "
			    "non-compute          kernel time\n");
	for (size_t i = 0; i < r->hta->nranks; i++) {
		const struct wt_hta_rank *k = &r->hta->ranks[i];
		const int64_t parts[] = {k->idle_ns, k->compute_ns, k->non_compute_ns};

		who(out, k);
		for (size_t p = 0; p < 3; p++) {
			us(out, parts[p], 16);
			wt_strbuf_adds(out, " ");
			wt_text_column(out, parts[p], k->kernel_ns);
		}
		us(out, k->kernel_ns, 17);
		wt_strbuf_adds(out, "\n");
	}
}

static void overlap(const struct wt_report *r, struct wt_strbuf *out)
{
	wt_text_heading(r, out, "Communication that overlaps computation (us)");
	for (size_t i = 0; i < r->hta->nranks; i++) {
		const struct wt_hta_rank *k = &r->hta->ranks[i];

		who(out, k);
		if (!k->comm_ns) {
			wt_strbuf_adds(out, "  no communication\n");
			continue;
		}
		us(out, k->overlap_ns, 16);
		wt_strbuf_adds(out, " of");
		us(out, k->comm_ns, 16);
		wt_strbuf_adds(out, "  ");
		wt_text_column(out, k->overlap_ns, k->comm_ns);
		wt_strbuf_adds(out, "\n");
	}
}

static void idle(const struct wt_report *r, struct wt_strbuf *out)
{
	wt_text_heading(r, out,
			"Idle breakdown by stream (us); streams overlap, so the sum is not the "
			"idle time above");
	wt_strbuf_adds(out, "  rank   stream       host wait     kernel wait           other\n");
	for (size_t i = 0; i < r->hta->nranks; i++) {
		const struct wt_hta_rank *k = &r->hta->ranks[i];

		for (size_t s = 0; s < k->nstreams; s++) {
			who(out, k);
			wt_strbuf_addf(out, " %8" PRId64, k->streams[s].stream);
			for (int c = 0; c < WT_HTA_IDLES; c++)
				us(out, k->streams[s].ns[c], 16);
			wt_strbuf_adds(out, "\n");
		}
	}
}

/* Why these numbers are not those of the ledger. */
static void differences(const struct wt_report *r, struct wt_strbuf *out)
{
	wt_text_heading(r, out, "Where these rules differ from the ledger's");
	for (size_t i = 0; i < r->hta->nranks; i++) {
		const struct wt_hta_rank *k = &r->hta->ranks[i];

		who(out, k);
		wt_strbuf_addf(out,
			       "  %" PRId64 " rows counted; %" PRId64
			       " of them are no device work but carry a stream (synchronisation, "
			       "operators); %" PRId64
			       " device rows left out, launched outside the kept profiler steps\n",
			       k->rows, k->asides, k->left_out);
	}
	wt_strbuf_adds(out, "  Computing is whatever its name does not say is something else: "
			    "communication not made by NCCL too.\n"
			    "  Idle is split by stream and by launch time alone; the ledger splits "
			    "the device's idle time by cause.\n");
}

void wt_hta_text(const struct wt_report *r, struct wt_strbuf *out)
{
	if (!r->hta)
		return;
	wt_strbuf_adds(out, "By the rules of HolisticTraceAnalysis 0.5.0 (times unrounded, last "
			    "profiler step kept)\n");
	if (!r->hta->nranks) {
		wt_strbuf_adds(out, "No device rows.\n");
		return;
	}
	temporal(r, out);
	overlap(r, out);
	idle(r, out);
	differences(r, out);
}

static void stream_json(const struct wt_hta_stream *s, struct wt_jout *j)
{
	wt_jout_open(j, NULL, '{');
	wt_jout_int(j, "stream", s->stream);
	for (int c = 0; c < WT_HTA_IDLES; c++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_ns", wt_hta_idle_names[c]);
		if (s->rows[c])
			wt_jout_int(j, key, s->ns[c]);
		else
			wt_jout_null(j, key);
	}
	wt_jout_close(j, '}');
}

void wt_hta_json(const struct wt_report *r, struct wt_jout *j)
{
	if (!r->hta)
		return;
	wt_jout_open(j, "hta", '[');
	for (size_t i = 0; i < r->hta->nranks; i++) {
		const struct wt_hta_rank *k = &r->hta->ranks[i];

		wt_jout_open(j, NULL, '{');
		wt_jout_string(j, "path", wt_timeline_string(r->tl, r->tl->inputs[k->input].path));
		wt_jout_count(j, "rank", k->rank);
		wt_jout_int(j, "rows", k->rows);
		wt_jout_int(j, "rows_not_work", k->asides);
		wt_jout_int(j, "rows_left_out", k->left_out);
		wt_jout_int(j, "idle_ns", k->idle_ns);
		wt_jout_int(j, "compute_ns", k->compute_ns);
		wt_jout_int(j, "non_compute_ns", k->non_compute_ns);
		wt_jout_int(j, "kernel_ns", k->kernel_ns);
		wt_jout_int(j, "comm_ns", k->comm_ns);
		wt_jout_int(j, "overlap_ns", k->overlap_ns);
		wt_jout_open(j, "streams", '[');
		for (size_t s = 0; s < k->nstreams; s++)
			stream_json(&k->streams[s], j);
		wt_jout_close(j, ']');
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}
