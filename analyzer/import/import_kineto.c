/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kineto (torch.profiler) and other Chrome JSON files with GPU rows -> timeline, in one pass, in memory that grows
 * with the device operations and host calls alone.
 *
 * Rules: device work is complete events (ph X) of the categories kernel, gpu_memcpy, gpu_memset in either spelling;
 * the device is args.device, else the pid. Times are decimal microseconds taken as text; start and duration are
 * rounded each, end = start + duration. In a file with baseTimeNanoseconds they are relative to it: the builder adds it
 * in the end, so ranks with different bases are on one clock.
 *
 * A file is one process: device rows name a GPU instead of a process, so they belong to the process of the first host
 * call. Calls of another pid get a process of their own, which never joins device rows: correlation ids are unique in
 * one process only. Annotations stay with the first: in a container their pid is of another namespace than CUPTI's.
 * What the header says may come after the events, so it is applied at the end.
 *
 * Rows set aside until the end: those at or before time zero (lost time stamps, unless all of the file is there) and
 * collectives (their sequence number is their rank in time on their communicator).
 *
 * An event that is no sound JSON is read again, leniently (json_scan.h): what can be repaired counts as a repair
 * and is no damage. One that cannot is lost, and reading goes on with the next; the input is then marked damaged. On a
 * syntax error outside events, and at the end of a cut text, it stops; what came before is delivered.
 */
#include "import/import_kineto.h"

#include <stdlib.h>
#include <string.h>

#include "import/kineto_rows.h"

#define COUNT(a_) (sizeof(a_) / sizeof(*(a_)))

/* ---- the file ---- */

/* Words that begin an event, or can follow the list of events: where to go on after a bad one. */
static int is_key(struct wt_json_text key, int of_item)
{
	static const char *const item[] = {"ph",  "cat",  "name", "pid", "tid", "ts",
					   "dur", "args", "id",	  "bp",	 "s"};
	static const char *const top[] = {
		"traceName",	    "displayTimeUnit", "baseTimeNanoseconds", "schemaVersion",
		"deviceProperties", "distributedInfo", "otherData",	      "metadata",
		"stackFrames",	    "samples",	       "systemTraceEvents",   "traceEvents",
		"host_name"};
	const char *const *words = of_item ? item : top;
	size_t n = of_item ? COUNT(item) : COUNT(top);

	for (size_t i = 0; i < n; i++)
		if (strlen(words[i]) == key.n && !memcmp(words[i], key.s, key.n))
			return 1;
	return 0;
}

/* The next event, whatever it takes: as wt_kineto_parse(), and 0 for one that had to be given up. */
static int read_event(struct wt_kineto *k, const struct wt_kineto_event **ret)
{
	int rc;

	wt_json_mark(k->js);
	do
		rc = wt_kineto_parse(k->ps, ret);
	while (rc < 0 && wt_json_retry(k->js));
	k->nitems += wt_kineto_passed(k->ps);
	/* A repair that left an event without its phase took the event. */
	if (wt_json_was_repaired(k->js) && !wt_kineto_has_phase(k->ps))
		k->lost++;
	if (rc >= 0 || !wt_json_resync(k->js, k->is_array, is_key))
		return rc;
	k->lost++;
	return 0;
}

static int read_events(struct wt_kineto *k)
{
	const struct wt_kineto_event *ev = NULL;
	int rc = wt_json_peek(k->js), resync;

	if (rc != WT_JSON_ARRAY)
		return rc < 0 ? rc : wt_json_skip(k->js);
	k->has_events = 1;
	rc = wt_json_enter_array(k->js);
	if (rc)
		return rc;
	for (;;) {
		rc = wt_json_item(k->js);
		if (!rc)
			break;
		k->nitems++;
		if (rc < 0 && (resync = wt_json_resync(k->js, k->is_array, is_key))) {
			k->between += resync == 1; /* a comma too many or too few */
			k->lost += resync == 2;
			continue;
		}
		if (rc > 0)
			rc = read_event(k, &ev);
		if (rc > 0)
			rc = k->error = wt_kineto_deliver(k, ev);
		if (rc < 0)
			return rc;
	}
	wt_json_unmark(k->js);
	return 0;
}

static int read_header_key(struct wt_kineto *k, struct wt_json_text key)
{
	size_t ndevices = k->header.ndevices;
	char name[64];
	int rc;

	/* The key's text would not outlive a second reading of its value. */
	key.n = key.n < sizeof(name) ? key.n : sizeof(name);
	memcpy(name, key.s, key.n);
	key.s = name;
	wt_json_mark(k->js);
	do {
		k->header.ndevices = ndevices;
		rc = wt_kineto_header_key(&k->header, k->js, key);
	} while (rc < 0 && wt_json_retry(k->js));
	wt_json_was_repaired(k->js);
	wt_json_unmark(k->js);
	wt_json_drop(k->js);
	return rc;
}

static int read_top(struct wt_kineto *k)
{
	struct wt_json_text key;
	int rc = wt_json_peek(k->js);

	if (rc < 0)
		return rc;
	if (rc == WT_JSON_ARRAY) {
		k->is_array = 1;
		rc = read_events(k);
		return rc < 0 ? rc : wt_json_finish(k->js);
	}
	rc = wt_json_enter_object(k->js);
	if (rc)
		return rc;
	while ((rc = wt_json_key(k->js, &key)) > 0) {
		if (key.n == 11 && !memcmp(key.s, "traceEvents", 11))
			rc = read_events(k);
		else
			rc = read_header_key(k, key);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	/* Another JSON document, or the first line of many: not ours, whatever follows. */
	if (!k->has_events)
		return 0;
	return wt_json_finish(k->js);
}

/* What to add to all times: some writers state a base and give absolute times all the same. */
static int64_t base_of(const struct wt_kineto *k)
{
	int64_t base = k->header.base_ns;

	return base > 0 && k->first_ns != INT64_MAX && k->first_ns >= base ? 0 : base;
}

static void note_repairs(struct wt_kineto *k)
{
	struct wt_input *in = wt_builder_input_at(k->b, k->input);
	const struct wt_diag *first = wt_json_fault(k->js);
	const char *path = wt_builder_get(k->b, in->path);

	uint64_t repairs = wt_json_repairs(k->js) + k->between;

	in->repairs = repairs + k->bad_text;
	in->lost_events = k->lost;
	if (repairs)
		wt_builder_note(k->b,
				"%s: %llu faults of the text were repaired, the first: %.300s",
				path, (unsigned long long)repairs, first->text);
	if (k->bad_text)
		wt_builder_note(k->b,
				"%s: %llu names are not UTF-8, the first before byte %lld of the "
				"text; such bytes are printed as U+FFFD",
				path, (unsigned long long)k->bad_text, (long long)k->bad_text_at);
}

/* What can only be said when the whole file was read; also after damage. */
static int complete(struct wt_kineto *k)
{
	int rc = wt_kineto_deliver_late(k);

	wt_kineto_work_finish(&k->works, k->b);
	wt_kineto_deliver_memory(k);
	wt_kineto_deliver_counters(k);
	wt_kineto_apply_names(k);
	wt_kineto_header_apply(&k->header, k->input, k->device_list, k->ndevices);
	wt_builder_input_at(k->b, k->input)->base_ns = base_of(k);
	note_repairs(k);
	if (k->untimed)
		wt_builder_note(
			k->b,
			"%s: %llu device records have no usable times: counted, they own no time",
			wt_builder_get(k->b, wt_builder_input_at(k->b, k->input)->path),
			(unsigned long long)k->untimed);
	return rc;
}

/* What read() must return for the scanner's or our own `rc`, and why. */
static int judge(struct wt_kineto *k, int rc, struct wt_diag *diag)
{
	const struct wt_diag *scanned = wt_json_diag(k->js);
	int known =
		wt_kineto_seen(k->ps) || k->header.recognised || (k->has_events && !k->is_array);
	int err = -rc;

	if (rc == 0 && known && k->lost) {
		wt_builder_input_at(k->b, k->input)->damaged = 1;
		if (diag)
			*diag = *wt_json_fault(k->js);
		return wt_fail(diag, WT_E_CORRUPT, wt_json_fault(k->js)->offset,
			       "%llu events lost to faults of the text, the first: %.400s",
			       (unsigned long long)k->lost, wt_json_fault(k->js)->text);
	}
	if (rc == 0 && known)
		return 0;
	if (rc == 0 && k->is_array && !k->nitems)
		return 0;
	if (rc == 0)
		return wt_fail(
			diag, WT_E_FORMAT, 0,
			"JSON, but no trace: expected an object with traceEvents, or an array "
			"of trace events");
	if (!wt_json_error(k->js))
		return wt_fail(diag, err == WT_E_NOMEM ? WT_E_NOMEM : WT_E_CORRUPT,
			       wt_json_offset(k->js), "%s",
			       err == WT_E_NOMEM ? "out of memory"
						 : "more than 4096 different devices");
	if (diag)
		*diag = *scanned;
	if (err == WT_E_NOMEM || wt_source_refused(k->src))
		return rc;
	if (!known)
		return wt_fail(diag, WT_E_FORMAT, scanned->offset,
			       "not a trace: expected Kineto / Chrome JSON, %.400s", scanned->text);
	/* What came before was delivered, whatever ended it. */
	return err == WT_E_TRUNCATED || err == WT_E_IO ? -WT_E_TRUNCATED : -WT_E_CORRUPT;
}

static int read_file(struct wt_source *src, struct wt_builder *b, uint32_t input,
		     size_t window_bytes, int plainly, struct wt_diag *diag)
{
	struct wt_kineto *k = calloc(1, sizeof(*k));
	int rc = -WT_E_NOMEM, late;

	if (!k)
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	k->b = b;
	k->src = src;
	k->input = input;
	k->first_ns = INT64_MAX;
	k->process = wt_builder_process(b, input, /* pid= */ -1);
	k->header = (struct wt_kineto_header){.b = b, .process = k->process, .rank = -1};
	k->js = wt_json_new(src, window_bytes);
	k->ps = k->js ? wt_kineto_parser_new(k->js) : NULL;
	if (k->ps) {
		if (wt_builder_keeps_asides(b))
			wt_kineto_parser_keep_asides(k->ps);
		if (plainly)
			wt_kineto_parser_plain(k->ps);
		rc = read_top(k);
		late = complete(k);
		rc = judge(k, late ? late : rc, diag);
	} else {
		wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	}
	wt_kineto_parser_free(k->ps);
	wt_json_free(k->js);
	wt_kineto_header_release(&k->header);
	wt_map_release(&k->devices);
	wt_map_release(&k->threads);
	free(k->call_kinds);
	wt_map_release(&k->seqs);
	wt_map_release(&k->counter_index);
	free(k->counters);
	free(k->late);
	free(k->names);
	free(k);
	return rc;
}

int wt_kineto_read(struct wt_source *src, struct wt_builder *b, uint32_t input, size_t window_bytes,
		   struct wt_diag *diag)
{
	return read_file(src, b, input, window_bytes, 0, diag);
}

int wt_kineto_read_plainly(struct wt_source *src, struct wt_builder *b, uint32_t input,
			   size_t window_bytes, struct wt_diag *diag)
{
	return read_file(src, b, input, window_bytes, 1, diag);
}

static int read_kineto(struct wt_source *src, struct wt_builder *b, uint32_t input,
		       struct wt_diag *diag)
{
	return wt_kineto_read(src, b, input, 0, diag);
}

/* An object, or an array of objects. What it holds is found out by reading. */
static int probe_kineto(const uint8_t *head, size_t n)
{
	static const char *const follows[] = {['{'] = "\"}", ['['] = "{]"};
	uint8_t open = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t c = head[i];

		if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
			continue;
		if (open)
			return strchr(follows[open], c) != NULL;
		if (c != '{' && c != '[')
			return 0;
		open = c;
	}
	return open != 0;
}

const struct wt_importer wt_importer_kineto = {
	.name = "kineto",
	.human = "Kineto / Chrome JSON (.json, .json.gz)",
	.probe = probe_kineto,
	.read = read_kineto,
};
