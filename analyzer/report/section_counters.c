/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of the sources: how far each went. They are in units of their own, so nothing is concluded from them; in
 * text the ones sampled most come first.
 */
#define _GNU_SOURCE /* qsort_r */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/section.h"

#define MAX_ROWS 12 /* of text; JSON has all */

static void value_json(struct wt_jout *j, const char *key, int64_t millionths)
{
	wt_jout_double(j, key, (double)millionths / 1e6);
}

void wt_counters_json(const struct wt_report *r, struct wt_jout *j)
{
	wt_jout_open(j, "counters", '[');
	for (size_t i = 0; i < r->tl->ncounters; i++) {
		const struct wt_counter *c = &r->tl->counters[i];
		const struct wt_process *p = &r->tl->processes[c->process];

		wt_jout_open(j, NULL, '{');
		wt_jout_count(j, "rank", p->rank);
		wt_jout_count(j, "pid", p->pid);
		wt_jout_string(j, "name", wt_timeline_string(r->tl, c->name));
		wt_jout_string(j, "series",
			       c->series ? wt_timeline_string(r->tl, c->series) : NULL);
		wt_jout_uint(j, "samples", c->samples);
		value_json(j, "min", c->min);
		value_json(j, "mean", c->mean);
		value_json(j, "max", c->max);
		value_json(j, "last", c->last);
		wt_jout_int(j, "max_at_ns", c->max_ns);
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

static int by_samples(const void *pa, const void *pb, void *arg)
{
	const struct wt_timeline *tl = arg;
	const struct wt_counter *a = &tl->counters[*(const uint32_t *)pa],
				*b = &tl->counters[*(const uint32_t *)pb];
	int c;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	c = strcmp(wt_timeline_string(tl, a->name), wt_timeline_string(tl, b->name));
	return c ? c : (a > b) - (a < b);
}

static void value_text(struct wt_strbuf *out, const char *what, int64_t millionths)
{
	wt_strbuf_addf(out, " %s %.6g,", what, (double)millionths / 1e6);
}

static void row_text(const struct wt_report *r, struct wt_strbuf *out, const struct wt_counter *c)
{
	int32_t rank = r->tl->processes[c->process].rank;
	const char *series = wt_timeline_string(r->tl, c->series);

	wt_strbuf_adds(out, "  ");
	if (rank >= 0)
		wt_strbuf_addf(out, "rank %" PRId32 " ", rank);
	wt_text_name(out, wt_timeline_string(r->tl, c->name), 50);
	if (*series && strcmp(series, wt_timeline_string(r->tl, c->name))) {
		wt_strbuf_adds(out, " / ");
		wt_text_name(out, series, 30);
	}
	wt_strbuf_addc(out, ':');
	value_text(out, "least", c->min);
	value_text(out, "mean", c->mean);
	value_text(out, "most", c->max);
	value_text(out, "at the end", c->last);
	wt_strbuf_addf(out, " %" PRIu64 " samples\n", c->samples);
}

void wt_counters_text(const struct wt_report *r, struct wt_strbuf *out)
{
	size_t n = r->tl->ncounters;
	uint32_t *order = n ? malloc(n * sizeof(*order)) : NULL;

	if (!order)
		return;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), by_samples, (void *)r->tl);
	wt_text_heading(r, out, "Counters of the source");
	for (size_t i = 0; i < n && i < MAX_ROWS; i++)
		row_text(r, out, &r->tl->counters[order[i]]);
	if (n > MAX_ROWS)
		wt_strbuf_addf(out, "  and %zu more in JSON\n", n - MAX_ROWS);
	free(order);
}
