/* SPDX-License-Identifier: Apache-2.0 */
/* How numbers and names look in the text report. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/section.h"

void wt_text_heading(const struct wt_report *r, struct wt_strbuf *out, const char *title)
{
	wt_strbuf_addf(out, r->colour ? "\n\033[1m%s\033[0m\n" : "\n%s\n", title);
}

void wt_text_ns(struct wt_strbuf *out, int64_t ns, int width)
{
	char digits[32], text[48];
	size_t n, k = 0;

	snprintf(digits, sizeof(digits), "%" PRId64, ns);
	n = strlen(digits);
	for (size_t i = 0; i < n; i++) {
		text[k++] = digits[i];
		if ((n - i) % 3 == 1 && i + 1 < n && digits[i] != '-')
			text[k++] = ',';
	}
	text[k] = 0;
	wt_strbuf_addf(out, "%*s", width, text);
}

void wt_text_span(struct wt_strbuf *out, int64_t ns)
{
	static const struct {
		int64_t from_ns, unit_ns;
		const char *name;
	} units[] = {{1000000000, 1000000000, "s"},
		     {1000000, 1000000, "ms"},
		     {1000, 1000, "us"},
		     {INT64_MIN, 1, "ns"}};
	size_t i = 0;

	while (ns < units[i].from_ns)
		i++;
	if (units[i].unit_ns == 1)
		wt_strbuf_addf(out, "%" PRId64 " ns", ns);
	else
		wt_strbuf_addf(out, "%.3f %s", (double)ns / (double)units[i].unit_ns,
			       units[i].name);
}

void wt_text_percent(struct wt_strbuf *out, int64_t part, int64_t of)
{
	wt_strbuf_addf(out, "%.1f %%", of > 0 ? 100.0 * (double)part / (double)of : 0.0);
}

void wt_text_column(struct wt_strbuf *out, int64_t part, int64_t of)
{
	wt_strbuf_addf(out, "%5.1f %%", of > 0 ? 100.0 * (double)part / (double)of : 0.0);
}

const char *wt_bound_name(enum wt_bound bound)
{
	static const char *const names[] = {[WT_BOUND_UNKNOWN] = NULL,
					    [WT_BOUND_COMPUTE] = "compute",
					    [WT_BOUND_MEMORY] = "memory",
					    [WT_BOUND_LATENCY] = "latency",
					    [WT_BOUND_COMM] = "comm"};

	return names[bound];
}

const char *wt_grade_name(int grade)
{
	static const char *const names[WT_GRADES] = {"-", "estimated", "inferred", "recorded"};

	return names[grade];
}

const char *wt_count_name(int kind)
{
	static const char *const names[WT_COUNT_KINDS] = {[WT_COUNT_LAUNCH] = "launch",
							  [WT_COUNT_GRAPH_LAUNCH] = "graph_launch",
							  [WT_COUNT_COPY] = "copy",
							  [WT_COUNT_MEMSET] = "memset",
							  [WT_COUNT_COLLECTIVE] = "collective"};

	return names[kind];
}

void wt_text_device(const struct wt_report *r, struct wt_strbuf *out, uint16_t device)
{
	const struct wt_device *d = &r->tl->devices[device];

	if (d->rank >= 0)
		wt_strbuf_addf(out, "rank %d ", d->rank);
	wt_strbuf_addf(out, "device %" PRId64, d->ordinal);
	if (d->name) {
		wt_strbuf_adds(out, " (");
		wt_text_name(out, wt_timeline_string(r->tl, d->name), 60);
		wt_strbuf_addc(out, ')');
	}
}

int wt_leaf_grade(const struct wt_ledger_device *d, enum wt_leaf leaf)
{
	const int64_t *ns = d->account.leaf_grades_ns[leaf];
	int best = 0;

	for (int g = 0; g < WT_GRADES; g++)
		if (ns[g] > ns[best])
			best = g;
	return ns[best] ? best : leaf == WT_E5 ? 3 : 0;
}
