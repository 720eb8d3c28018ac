/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes: what a reader must know before believing a number. Those of the inputs first, then our own; each is one
 * sentence and costs one line.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/section.h"

static struct wt_strbuf *note(struct wt_report *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* NULL when memory runs out; the text may be continued. */
static struct wt_strbuf *note(struct wt_report *r, const char *fmt, ...)
{
	struct wt_strbuf *notes = realloc(r->notes, (r->nnotes + 1) * sizeof(*notes));
	va_list ap;

	if (!notes)
		return NULL;
	r->notes = notes;
	notes += r->nnotes++;
	*notes = (struct wt_strbuf){.n = 0};
	va_start(ap, fmt);
	wt_strbuf_vaddf(notes, fmt, ap);
	va_end(ap);
	return notes;
}

static const char *input_path(const struct wt_timeline *tl, uint32_t input)
{
	return input < tl->ninputs ? wt_timeline_string(tl, tl->inputs[input].path) : "an input";
}

static int note_processes(struct wt_report *r)
{
	const struct wt_timeline *tl = r->tl;

	for (size_t i = 0; i < tl->nprocesses; i++) {
		const struct wt_process *p = &tl->processes[i];

		if (p->level >= 0 && !p->ended &&
		    !note(r,
			  "%s: cut: process %" PRId64
			  " did not close its trace (killed, still running, or with too "
			  "little time at exit); what came before is reported",
			  input_path(tl, p->input), p->pid))
			return -1;
		for (size_t k = 0; k < i && p->rank >= 0; k++) {
			const struct wt_process *q = &tl->processes[k];

			/* Of other tools' files this has been said when they were read. */
			if (q->rank == p->rank && q->input != p->input && q->world == p->world &&
			    (p->level >= 0 || q->level >= 0) &&
			    !note(r, "%s and %s both say they are rank %d",
				  input_path(tl, q->input), input_path(tl, p->input), p->rank))
				return -1;
		}
	}
	return 0;
}

static int uses(const struct wt_timeline *tl, size_t process, uint16_t device)
{
	for (size_t i = 0; i < tl->nstreams; i++)
		if (tl->streams[i].process == process && tl->streams[i].device == device)
			return 1;
	return 0;
}

/* Two recordings in one folder look like one job with a long pause. */
static int note_one_after_another(struct wt_report *r)
{
	const struct wt_timeline *tl = r->tl;

	for (size_t d = 0; d < r->ledger->ndevices; d++) {
		const struct wt_process *before = NULL;
		uint16_t device = r->ledger->devices[d].device;

		for (size_t i = 0; i < tl->nprocesses; i++) {
			const struct wt_process *p = &tl->processes[i];
			struct wt_strbuf *n;

			if (p->level < 0 || !uses(tl, i, device))
				continue;
			if (!before || (p->collect_start_ns < before->collect_end_ns &&
					before->collect_start_ns < p->collect_end_ns)) {
				before = before ? before : p;
				continue;
			}
			n = note(r, "%s and %s used ", input_path(tl, before->input),
				 input_path(tl, p->input));
			if (!n)
				return -1;
			wt_text_device(r, n, device);
			wt_strbuf_adds(n, " one after the other: runs of their own are better "
					  "reported one by one");
			break; /* one pair says it */
		}
	}
	return 0;
}

/* A job of several ranks without a communication kernel: a name table that lags behind looks exactly like this. */
static int note_silent_ranks(struct wt_report *r)
{
	int world = 0;

	for (size_t i = 0; i < r->tl->nprocesses; i++)
		if (r->tl->processes[i].world > world)
			world = r->tl->processes[i].world;
	if (world < 2 || r->ncollectives || !r->nkernels)
		return 0;
	return note(r, "the job has %d ranks, but no kernel was recognised as communication", world)
		       ? 0
		       : -1;
}

static int note_unknown_families(struct wt_report *r)
{
	int64_t all_ns = 0, unknown_ns = 0;

	for (size_t i = 0; i < r->nkernels; i++) {
		all_ns += r->kernels[i].sum_ns;
		unknown_ns += r->kernels[i].family ? 0 : r->kernels[i].sum_ns;
	}
	if (unknown_ns <= all_ns / 100)
		return 0;
	return note(r, "%.1f %% of kernel time belongs to no known kernel family (A6)",
		    100.0 * (double)unknown_ns / (double)all_ns)
		       ? 0
		       : -1;
}

static int note_devices(struct wt_report *r)
{
	const struct wt_timeline *tl = r->tl;
	static const uint8_t unknown[16];
	uint64_t overlaps = 0;
	int64_t overlap_ns = 0, sum_ns = 0;
	int anonymous = 0;

	if (!r->ledger->ndevices && !note(r, "no device records: nothing to account for"))
		return -1;
	for (size_t d = 0; d < r->ledger->ndevices; d++) {
		const struct wt_device *dev = &tl->devices[r->ledger->devices[d].device];

		overlaps += r->ledger->devices[d].kernels.same_stream_overlaps;
		overlap_ns += r->ledger->devices[d].kernels.same_stream_overlap_ns;
		sum_ns += r->ledger->devices[d].kernels.sum_ns;
		anonymous += !memcmp(dev->uuid, unknown, 16);
		if (dev->shared) {
			struct wt_strbuf *n = note(r, "shared with an unobserved process: ");

			if (!n)
				return -1;
			wt_text_device(r, n, r->ledger->devices[d].device);
		}
	}
	if (anonymous && tl->nprocesses > 1 &&
	    !note(r, "%d devices have no UUID in the file: each is taken as one per process",
		  anonymous))
		return -1;
	if (overlap_ns &&
	    !note(r,
		  "%" PRIu64
		  " kernels start before the one before them on the same stream ends (dependent "
		  "launches, or durations that overrun): %.1f %% of the sum of kernel times, "
		  "%" PRId64
		  " ns, lies under another kernel; busy time counts every nanosecond once",
		  overlaps, sum_ns ? 100.0 * (double)overlap_ns / (double)sum_ns : 0.0, overlap_ns))
		return -1;
	if (r->ambiguous &&
	    !note(r,
		  "%" PRIu64
		  " operations beside a hole could belong to the launch of an equal neighbour",
		  r->ambiguous))
		return -1;
	if (r->untimed &&
	    !note(r, "%" PRIu64 " records came without usable times: counted, but they own no time",
		  r->untimed))
		return -1;
	return 0;
}

/* Of ranks only the time that all recorded is accounted for; kernels and collectives are listed of all of it. */
static int note_common_window(struct wt_report *r)
{
	const struct wt_timeline *tl = r->tl;
	int64_t sum_ns = 0, outside_ns = 0;

	for (size_t d = 0; !r->ledger->narrowed && d < r->ledger->ndevices; d++) {
		const struct wt_ledger_device *l = &r->ledger->devices[d];

		for (size_t i = tl->device_first[l->device]; i < tl->device_first[l->device + 1];
		     i++) {
			const struct wt_op *op = &tl->ops[i];
			int64_t from_ns = op->start_ns > l->w0_ns ? op->start_ns : l->w0_ns;
			int64_t to_ns = op->end_ns < l->w1_ns ? op->end_ns : l->w1_ns;

			if (op->kind != WT_OP_KERNEL || op->flags & WT_OP_UNTIMED)
				continue;
			sum_ns += op->end_ns - op->start_ns;
			outside_ns +=
				op->end_ns - op->start_ns - (to_ns > from_ns ? to_ns - from_ns : 0);
		}
	}
	if (outside_ns <= sum_ns / 100)
		return 0;
	return note(r,
		    "%.1f %% of the kernels' time, %" PRId64
		    " ns, lies outside the window that all ranks recorded, and in no ledger: "
		    "before "
		    "the last one began or after the first one ended",
		    100.0 * (double)outside_ns / (double)sum_ns, outside_ns)
		       ? 0
		       : -1;
}

int wt_notes_collect(struct wt_report *r)
{
	for (size_t i = 0; i < r->tl->nnotes; i++)
		if (!note(r, "%s", wt_timeline_string(r->tl, r->tl->notes[i])))
			return -1;
	if (note_devices(r) || note_processes(r) || note_silent_ranks(r) ||
	    note_one_after_another(r) || note_common_window(r) || note_unknown_families(r))
		return -1;
	for (size_t i = 0; i < r->nnotes; i++)
		if (r->notes[i].failed)
			return -1;
	return 0;
}

void wt_notes_json(const struct wt_report *r, struct wt_jout *j)
{
	wt_jout_open(j, "notes", '[');
	for (size_t i = 0; i < r->nnotes; i++)
		wt_jout_string(j, NULL, wt_strbuf_text(&r->notes[i]));
	wt_jout_close(j, ']');
}

void wt_notes_text(const struct wt_report *r, struct wt_strbuf *out)
{
	if (!r->nnotes)
		return;
	wt_text_heading(r, out, "Notes");
	for (size_t i = 0; i < r->nnotes; i++) {
		wt_strbuf_adds(out, "  - ");
		wt_text_name(out, wt_strbuf_text(&r->notes[i]), 400);
		wt_strbuf_addc(out, '\n');
	}
}
