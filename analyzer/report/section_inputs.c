/* SPDX-License-Identifier: Apache-2.0 */
/* The files, what was wrong with them, and what the recording says of its own cost and of the job's environment. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/section.h"

static int rank_of(const struct wt_report *r, size_t input)
{
	if (r->tl->inputs[input].rank >= 0)
		return r->tl->inputs[input].rank;
	for (size_t i = 0; i < r->tl->nprocesses; i++)
		if (r->tl->processes[i].input == input && r->tl->processes[i].rank >= 0)
			return r->tl->processes[i].rank;
	return -1;
}

void wt_inputs_json(const struct wt_report *r, struct wt_jout *j)
{
	wt_jout_open(j, "inputs", '[');
	for (size_t i = 0; i < r->tl->ninputs; i++) {
		const struct wt_input *in = &r->tl->inputs[i];

		wt_jout_open(j, NULL, '{');
		wt_jout_string(j, "path", wt_timeline_string(r->tl, in->path));
		wt_jout_string(j, "format", wt_timeline_string(r->tl, in->format));
		wt_jout_count(j, "rank", rank_of(r, i));
		wt_jout_bool(j, "damaged", in->damaged);
		wt_jout_open(j, "lost", '{');
		wt_jout_uint(j, "packets", in->lost_packets);
		wt_jout_uint(j, "bytes", in->lost_bytes);
		wt_jout_uint(j, "events", in->lost_events);
		wt_jout_uint(j, "repairs", in->repairs);
		wt_jout_count(j, "offset", in->damage_offset);
		wt_jout_string(j, "text",
			       in->damage_text ? wt_timeline_string(r->tl, in->damage_text) : NULL);
		wt_jout_close(j, '}');
		wt_jout_close(j, '}');
	}
	wt_jout_close(j, ']');
}

/* Of what a cut file would have held nobody knows: then nothing is said. */
static void lost_text(const struct wt_input *in, struct wt_strbuf *out)
{
	const struct {
		uint64_t n;
		const char *what;
	} parts[] = {{in->lost_packets, "packets"},
		     {in->lost_bytes, "bytes of the file"},
		     {in->lost_events, "events"}};
	int n = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].n)
			wt_strbuf_addf(out, "%s%" PRIu64 " %s",
				       n++ ? ", " : "    lost: ", parts[i].n, parts[i].what);
	if (in->repairs)
		wt_strbuf_addf(out, "%s%" PRIu64 " faults repaired", n++ ? "; " : "    ",
			       in->repairs);
	if (n)
		wt_strbuf_addc(out, '\n');
}

void wt_inputs_text(const struct wt_report *r, struct wt_strbuf *out)
{
	int headed = 0;

	for (size_t i = 0; i < r->tl->ninputs; i++) {
		const struct wt_input *in = &r->tl->inputs[i];

		if (!in->damaged && !in->repairs)
			continue;
		if (!headed++)
			wt_text_heading(r, out, "Damaged input");
		wt_strbuf_adds(out, "  ");
		wt_text_name(out, wt_timeline_string(r->tl, in->path), 200);
		if (in->damage_offset >= 0)
			wt_strbuf_addf(out, ": byte %" PRId64, in->damage_offset);
		if (in->damage_text) {
			wt_strbuf_adds(out, ": ");
			wt_text_name(out, wt_timeline_string(r->tl, in->damage_text), 300);
		}
		wt_strbuf_addc(out, '\n');
		lost_text(in, out);
	}
}

void wt_cost_json(const struct wt_report *r, struct wt_jout *j)
{
	int known = r->hook_ns >= 0 || r->writer_cpu_ns >= 0 || r->cupti_ns >= 0;
	int64_t sum_ns = (r->hook_ns > 0 ? r->hook_ns : 0) +
			 (r->writer_cpu_ns > 0 ? r->writer_cpu_ns : 0) +
			 (r->cupti_ns > 0 ? r->cupti_ns : 0);

	wt_jout_open(j, "cost", '{');
	wt_jout_count(j, "hook_ns", r->hook_ns);
	wt_jout_count(j, "writer_cpu_ns", r->writer_cpu_ns);
	wt_jout_count(j, "cupti_ns", r->cupti_ns);
	wt_jout_count(j, "bytes_out", r->bytes_out);
	wt_jout_count(j, "recorded_calls", r->recorded_calls);
	wt_jout_count(j, "recorded_ns", r->recorded_ns ? r->recorded_ns : -1);
	if (known && r->recorded_ns)
		wt_jout_share(j, "share", (double)sum_ns / (double)r->recorded_ns);
	else
		wt_jout_null(j, "share");
	wt_audit_json(r, j);
	wt_jout_close(j, '}');
}

/* One value per key; where processes differ, an array of them, each value once. */
void wt_environment_json(const struct wt_report *r, struct wt_jout *j)
{
	const struct wt_timeline *tl = r->tl;

	wt_jout_open(j, "environment", '{');
	for (size_t i = 0; i < tl->nenvironment; i++) {
		uint32_t key = tl->environment[i].key;
		int first = 1, differ = 0;

		for (size_t k = 0; k < i && first; k++)
			first = tl->environment[k].key != key;
		if (!first || !key)
			continue;
		for (size_t k = i + 1; k < tl->nenvironment; k++)
			differ |= tl->environment[k].key == key &&
				  tl->environment[k].value != tl->environment[i].value;
		if (!differ) {
			wt_jout_string(j, wt_timeline_string(tl, key),
				       wt_timeline_string(tl, tl->environment[i].value));
			continue;
		}
		wt_jout_open(j, wt_timeline_string(tl, key), '[');
		for (size_t k = i; k < tl->nenvironment; k++) {
			int seen = 0;

			if (tl->environment[k].key != key)
				continue;
			for (size_t m = i; m < k && !seen; m++)
				seen = tl->environment[m].key == key &&
				       tl->environment[m].value == tl->environment[k].value;
			if (!seen)
				wt_jout_string(j, NULL,
					       wt_timeline_string(tl, tl->environment[k].value));
		}
		wt_jout_close(j, ']');
	}
	wt_jout_close(j, '}');
}
