/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The importer of our own files: frames -> packets -> tables -> join -> completeness -> timeline; and what to tell
 * about damage. A file without its End packet is normal (the job was killed): all that was flushed is used, and it is
 * said.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "import/importer.h"
#include "trace/trace.h"

static long read_source(void *arg, void *buf, size_t n)
{
	return wt_source_read(arg, buf, n);
}

static int read_packets(struct wt_trace *t, struct wt_frame_reader *r, struct wt_diag *diag)
{
	const uint8_t *packet;
	uint64_t offset;
	size_t n;
	int rc;

	while ((rc = wt_frame_reader_next(r, &packet, &n, &offset)) == 1) {
		rc = wt_trace_load(t, packet, n);
		if (rc == -WT_E_LIMIT)
			return wt_fail(
				diag, WT_E_LIMIT, (int64_t)offset,
				"more rows than a file of this size can hold: damaged, or made "
				"to exhaust memory");
		if (rc)
			return wt_fail(diag, WT_E_NOMEM, (int64_t)offset, "out of memory");
	}
	if (rc < 0) {
		const struct wt_frame_damage *d = wt_frame_reader_damage(r);

		/* truncated and corrupt promise that something was delivered */
		return wt_fail(diag, rc == -WT_E_IO ? WT_E_IO : WT_E_FORMAT, d->first_offset,
			       "no packet could be read: %s",
			       d->first_text[0] ? d->first_text : "expected a warptap trace");
	}
	if (!t->headers && !t->packets)
		return wt_fail(diag, WT_E_FORMAT, 0,
			       "no packet could be read: expected a warptap trace");
	return 0;
}

/* Dropped records as the counters have them, where that is more than the Loss packets say. */
static void note_counted_losses(struct wt_trace *t)
{
	uint64_t cupti = 0, agent = 0;

	for (size_t i = 0; i < t->counts.n; i++) {
		const struct wt_count_row *c = &t->counts.p[i];

		if (c->state == WT_PB(COUNT_STATE, DROPPED_CUPTI))
			cupti += c->n;
		/* of a kind: device records that found no buffer, which Loss packets tell with CUPTI's */
		if (c->state == WT_PB(COUNT_STATE, DROPPED_AGENT) &&
		    c->kind == WT_PB(COUNT_KIND, NONE))
			agent += c->n;
	}
	if (cupti > t->dropped_cupti)
		t->dropped_cupti = cupti;
	if (agent > t->dropped_agent)
		t->dropped_agent = agent;
	if (cupti)
		t->lossy = 1;
}

/* Collection stood back for another tool: how often, how long, for whom. */
static void note_pauses(struct wt_trace *t)
{
	const char *who = t->holder ? wt_builder_get(t->b, t->holder) : NULL;
	const struct wt_window *last = t->windows.n ? &t->windows.p[t->windows.n - 1] : NULL;
	int left = last && last->off_tsc != UINT64_MAX && !last->exit && !last->chosen;
	int64_t ns = 0;

	if (!who)
		return;
	for (size_t i = 1; i < t->windows.n; i++)
		ns += wt_clockline_ns(&t->clock, t->windows.p[i].on_tsc) -
		      wt_clockline_ns(&t->clock, t->windows.p[i - 1].off_tsc);
	if (left && t->windows.n == 1)
		wt_builder_note(t->b,
				"pid %" PRIu64
				": collection stood back for another tool that uses CUPTI "
				"(%s%s) and did not begin again before the end; calls made then "
				"are counted apart",
				t->pid, who, t->holders ? " and others" : "");
	else if (!t->windows.n)
		wt_builder_note(t->b,
				"pid %" PRIu64 ": another tool (%s) used CUPTI all the time: no "
				"device records",
				t->pid, who);
	else
		wt_builder_note(
			t->b,
			"pid %" PRIu64 ": collection stood back for another tool that uses CUPTI "
			"(%s%s): %zu pause%s of %" PRId64
			" ms in all are without records%s; calls made then are counted apart",
			t->pid, who, t->holders ? " and others" : "", t->windows.n - 1,
			t->windows.n == 2 ? "" : "s", ns / 1000000,
			left ? ", and so is the end" : "");
}

static void add_notes(struct wt_trace *t)
{
	static const char *const names[] = {"off", "count", "api"};
	uint32_t steps = wt_clockline_steps(&t->clock);

	note_pauses(t);
	wt_trace_note_troubles(t);
	if (t->how == WT_PB(END_HOW, TIMEOUT))
		wt_builder_note(t->b, "pid %" PRIu64 ": the last flush did not finish in time",
				t->pid);
	if (t->recovered)
		wt_builder_note(t->b,
				"pid %" PRIu64 ": ended without closing its trace; the rest comes "
				"from its black box%s",
				t->pid,
				t->open_buffers ? ", but for device records that CUPTI had not "
						  "handed over"
						: "");
	if (t->dropped_cupti)
		wt_builder_note(t->b,
				"pid %" PRIu64 ": %" PRIu64
				" device records dropped, by CUPTI or for want of a buffer",
				t->pid, t->dropped_cupti);
	if (t->dropped_agent)
		wt_builder_note(t->b,
				"pid %" PRIu64 ": %" PRIu64
				" calls were counted but not recorded for want of room",
				t->pid, t->dropped_agent);
	if (t->disk_stopped)
		wt_builder_note(t->b,
				"pid %" PRIu64 ": writing stopped, the disk was full or the "
				"size cap reached",
				t->pid);
	if (t->seq_lost)
		wt_builder_note(t->b, "pid %" PRIu64 ": %" PRIu64 " packets are lost", t->pid,
				t->seq_lost);
	if (steps)
		wt_builder_note(t->b, "pid %" PRIu64 ": the clock was set %u times during the run",
				t->pid, steps);
	if (t->device_clock != WT_PB(DEVICE_CLOCK, REALTIME))
		wt_builder_note(t->b,
				"pid %" PRIu64 ": another tool changed the clock of device "
				"records: host and device times cannot be compared",
				t->pid);
	if (!t->clock.rows.n && t->rows.n)
		wt_builder_note(t->b, "pid %" PRIu64 ": no clock rows: host times are nominal",
				t->pid);
	if (t->level >= 0 && t->level < 3)
		wt_builder_note(t->b,
				"pid %" PRIu64 ": recorded without device activity (level %s)",
				t->pid, names[t->level]);
}

/* The worst that happened, in one line; 0 = nothing. */
static int judge(struct wt_trace *t, const struct wt_frame_damage *d, struct wt_diag *diag)
{
	struct wt_input *in = wt_builder_input_at(t->b, t->input);
	int err = 0;

	in->lost_packets = t->seq_lost;
	in->lost_bytes = d->bytes_skipped;
	in->lost_events = t->dropped_cupti + t->dropped_agent + t->malformed;
	if (t->end_packets > t->packets + t->seq_lost)
		in->lost_packets = t->end_packets - t->packets;
	if (!t->ended && !t->recovered && d->first_offset < 0)
		err = wt_fail(diag, WT_E_TRUNCATED, wt_source_disk_offset(t->src),
			      "the run was cut: the file has no End packet");
	else if (d->truncated && !t->ended && !t->recovered)
		err = wt_fail(diag, WT_E_TRUNCATED, d->first_offset, "the run was cut: %s",
			      d->first_text);
	else if (d->first_offset >= 0)
		err = wt_fail(diag, WT_E_CORRUPT, d->first_offset,
			      "%s; %" PRIu64 " frame%s damaged", d->first_text, d->frames_lost,
			      d->frames_lost == 1 ? "" : "s");
	else if (t->seq_lost || t->malformed)
		err = wt_fail(diag, WT_E_CORRUPT, -1,
			      "%" PRIu64 " packets lost, %" PRIu64 " malformed", t->seq_lost,
			      t->malformed);
	if (err) {
		uint32_t text = wt_builder_cstring(t->b, diag->text);

		in->damaged = 1;
		in->damage_offset = diag->offset;
		in->damage_text = text;
	}
	return err;
}

static int build(struct wt_trace *t)
{
	int err = wt_trace_sort(t);

	if (!err)
		err = wt_trace_join(t);
	if (!err)
		err = wt_trace_waits(t);
	if (err)
		return err;
	wt_trace_process(t);
	err = wt_trace_complete(t);
	return err ? err : wt_trace_emit(t);
}

static int read_warptap(struct wt_source *src, struct wt_builder *b, uint32_t input,
			struct wt_diag *diag)
{
	struct wt_trace t = {.b = b, .src = src, .input = input, .rank = -1, .level = -1};
	struct wt_frame_reader *r = NULL;
	struct wt_diag own = {.offset = -1};
	int err;

	if (!diag)
		diag = &own;
	err = wt_frame_reader_open(&r, read_source, src, diag);
	if (err)
		return err;
	err = read_packets(&t, r, diag);
	if (err)
		goto out;
	note_counted_losses(&t);
	if (t.seq_lost || t.malformed)
		t.lossy = 1;
	err = t.converted ? wt_trace_emit_tables(&t) : build(&t);
	if (err) {
		err = wt_fail(diag, err == -WT_E_CORRUPT ? WT_E_FORMAT : WT_E_NOMEM, -1,
			      err == -WT_E_CORRUPT ? "rows name what the file never introduced"
						   : "out of memory");
		goto out;
	}
	if (!t.is_converted)
		add_notes(&t);
	err = judge(&t, wt_frame_reader_damage(r), diag);
	if (t.is_converted)
		err = wt_trace_inherit(&t, err, diag);
out:
	wt_frame_reader_free(r);
	wt_trace_release(&t);
	return err;
}

const struct wt_importer wt_importer_warptap = {
	.name = "warptap",
	.human = "warptap trace",
	.probe = wt_frame_probe,
	.read = read_warptap,
};
