/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completeness: what the hooks counted against the records that arrived, and where records are known to be missing.
 * A record that was dropped on the way is missing too; the details say where it was lost.
 */
#include <inttypes.h>

#include "report/section.h"

#define TEXT_HOLES 20

static int64_t received(const struct wt_report *r, int kind)
{
	const struct wt_count *c = &r->counts[kind];

	if (r->counted[kind])
		return kind == WT_COUNT_COLLECTIVE ? (int64_t)r->records[kind]
						   : (int64_t)(c->timed + c->untimed);
	return r->records[kind] ? (int64_t)r->records[kind] : -1;
}

static void holes_json(const struct wt_report *r, struct wt_jout *j)
{
	wt_jout_open(j, "holes", '[');
	for (size_t i = 0; i < r->tl->nholes; i++) {
		const struct wt_hole *h = &r->tl->holes[i];

		wt_jout_open(j, NULL, '{');
		wt_jout_count(j, "rank", r->tl->devices[h->device].rank);
		wt_jout_int(j, "device", r->tl->devices[h->device].ordinal);
		if (h->stream < r->tl->nstreams)
			wt_jout_int(j, "stream", r->tl->streams[h->stream].id);
		else
			wt_jout_null(j, "stream");
		wt_jout_int(j, "start_ns", h->start_ns);
		wt_jout_int(j, "end_ns", h->end_ns);
		wt_jout_uint(j, "missing", h->missing);
		wt_jout_bool(j, "paused", h->paused);
		wt_jout_bool(j, "in_flight", h->in_flight);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

void wt_completeness_json(const struct wt_report *r, struct wt_jout *j)
{
	uint64_t dropped_agent = 0, dropped_cupti = 0, untimed = 0;
	int64_t none = r->share < 0 ? -1 : 0;

	for (int k = 0; k < WT_COUNT_COLLECTIVE; k++) {
		dropped_agent += r->counts[k].dropped_agent;
		dropped_cupti += r->counts[k].dropped_cupti;
		untimed += r->counts[k].untimed;
	}
	wt_jout_open(j, "completeness", '{');
	wt_jout_open(j, "counted", '{');
	for (int k = 0; k < WT_COUNT_KINDS; k++)
		wt_jout_count(j, wt_count_name(k),
			      r->counted[k] ? (int64_t)r->counts[k].counted : -1);
	wt_jout_close(j, '}');
	wt_jout_open(j, "outside_windows", '{');
	for (int k = 0; k < WT_COUNT_KINDS; k++)
		wt_jout_count(j, wt_count_name(k),
			      r->counted[k] ? (int64_t)r->counts[k].outside : -1);
	wt_jout_close(j, '}');
	wt_jout_open(j, "received", '{');
	for (int k = 0; k < WT_COUNT_KINDS; k++)
		wt_jout_count(j, wt_count_name(k), received(r, k));
	wt_jout_close(j, '}');
	wt_jout_count(j, "missing", none ? -1 : (int64_t)r->missing);
	wt_jout_count(j, "in_flight", none ? -1 : (int64_t)r->in_flight);
	if (none)
		wt_jout_null(j, "share");
	else
		wt_jout_share(j, "share", r->share);
	wt_jout_count(j, "untimed", none ? -1 : (int64_t)untimed);
	wt_jout_count(j, "device_error", none ? -1 : (int64_t)r->device_error);
	wt_jout_count(j, "dropped_agent", none ? -1 : (int64_t)dropped_agent);
	wt_jout_count(j, "dropped_cupti", none ? -1 : (int64_t)dropped_cupti);
	holes_json(r, j);
	wt_jout_close(j, '}');
}

static void hole_text(const struct wt_report *r, const struct wt_hole *h, struct wt_strbuf *out)
{
	int64_t base_ns = h->start_ns;

	for (size_t d = 0; d < r->ledger->ndevices; d++)
		if (r->ledger->devices[d].device == h->device)
			base_ns = r->ledger->devices[d].w0_ns;
	if (h->paused)
		wt_strbuf_adds(out, "  collection paused on ");
	else
		wt_strbuf_addf(out, "  %" PRIu64 " %s on ", h->missing,
			       h->in_flight ? "launched and not finished" : "records lost");
	wt_text_device(r, out, h->device);
	if (h->stream < r->tl->nstreams)
		wt_strbuf_addf(out, " stream %" PRId64, r->tl->streams[h->stream].id);
	wt_strbuf_adds(out, " between +");
	wt_text_span(out, h->start_ns - base_ns);
	wt_strbuf_adds(out, " and +");
	wt_text_span(out, h->end_ns - base_ns);
	wt_strbuf_addf(out, " (%" PRId64 " to %" PRId64 " ns)\n", h->start_ns, h->end_ns);
}

void wt_completeness_text(const struct wt_report *r, struct wt_strbuf *out)
{
	wt_text_heading(r, out, "Completeness");
	if (r->share < 0 && !r->counted[WT_COUNT_LAUNCH])
		wt_strbuf_adds(
			out,
			"  the file counts nothing; what is missing from it cannot be known\n");
	else if (r->share < 0)
		wt_strbuf_adds(out, wt_counted_all(r)
					    ? "  counted only: device activity was not recorded\n"
					    : "  no operation was launched\n");
	for (int k = 0; k < WT_COUNT_KINDS; k++) {
		const struct wt_count *c = &r->counts[k];

		if (!r->counted[k])
			continue;
		if (k == WT_COUNT_COLLECTIVE) {
			wt_strbuf_addf(out,
				       "  %-13s%10" PRIu64
				       " calls, covered by the launches they make\n",
				       wt_count_name(k), c->counted);
			continue;
		}
		wt_strbuf_addf(out, "  %-13s%10" PRIu64 " counted", wt_count_name(k), c->counted);
		if (r->share < 0) {
			wt_strbuf_addc(out, '\n');
			continue;
		}
		wt_strbuf_addf(out, " = %" PRIu64 " timed", c->timed);
		if (c->untimed)
			wt_strbuf_addf(out, " + %" PRIu64 " untimed", c->untimed);
		if (c->dropped_agent)
			wt_strbuf_addf(out, " + %" PRIu64 " dropped by the agent",
				       c->dropped_agent);
		if (c->dropped_cupti)
			wt_strbuf_addf(out, " + %" PRIu64 " dropped by CUPTI", c->dropped_cupti);
		if (c->missing)
			wt_strbuf_addf(out, " + %" PRIu64 " missing", c->missing);
		if (c->in_flight)
			wt_strbuf_addf(out, " + %" PRIu64 " in flight at the end", c->in_flight);
		if (c->device_error)
			wt_strbuf_addf(out, " + %" PRIu64 " after a device error", c->device_error);
		if (c->outside)
			wt_strbuf_addf(out, "; %" PRIu64 " more outside collection", c->outside);
		wt_strbuf_addc(out, '\n');
	}
	for (size_t i = 0; i < r->tl->nholes && i < TEXT_HOLES; i++)
		hole_text(r, &r->tl->holes[i], out);
	if (r->tl->nholes > TEXT_HOLES)
		wt_strbuf_addf(out, "  and %zu more holes\n", r->tl->nholes - TEXT_HOLES);
}
