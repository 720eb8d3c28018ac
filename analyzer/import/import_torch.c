/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PyTorch dumps beside its profiler: the NCCL flight recorder (what each rank had called, begun and finished when
 * the job hung) and memory snapshots. Both come as pickles or as JSON; values.h reads them, flight.c and snapshot.c
 * say what they mean.
 */
#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <string.h>

#include "import/importer.h"
#include "import/torch_dump.h"

/* Protocol 2 and later begin with its number; before, with a dictionary: "(d" or, in protocol 1, "}q". */
static int is_pickle(const uint8_t *head, size_t n)
{
	return n >= 2 && ((head[0] == 0x80 && head[1] >= 2 && head[1] <= 5) ||
			  (head[0] == '(' && head[1] == 'd') ||
			  (head[0] == '}' && (head[1] == 'q' || head[1] == 'r')));
}

static int has(const uint8_t *head, size_t n, const char *word)
{
	return memmem(head, n, word, strlen(word)) != NULL;
}

static int is_json_dump(const uint8_t *head, size_t n)
{
	size_t at = 0;

	while (at < n && strchr(" \t\r\n", head[at]) && head[at])
		at++;
	if (at >= n || head[at] != '{' || has(head, n, "\"traceEvents\""))
		return 0;
	/* Segments come first and can be longer than what is seen here. */
	if (has(head, n, "\"segments\"") && has(head, n, "\"total_size\""))
		return 1;
	return has(head, n, "\"pg_config\"") || has(head, n, "\"pg_status\"") ||
	       has(head, n, "\"collective_seq_id\"") || has(head, n, "\"device_traces\"");
}

static int probe_torch(const uint8_t *head, size_t n)
{
	return is_pickle(head, n) || is_json_dump(head, n);
}

/* What is missing at the end of a dump are its newest calls, or part of its memory: what is left would mislead. */
static int refuse_part(struct wt_diag *diag)
{
	char text[300];

	snprintf(text, sizeof(text), "%.250s", diag->text);
	return wt_fail(diag, WT_E_FORMAT, diag->offset,
		       "%s; part of a dump is not used: it would accuse the rank whose newest "
		       "calls are missing",
		       text);
}

static int read_torch(struct wt_source *src, struct wt_builder *b, uint32_t input,
		      struct wt_diag *diag)
{
	struct wt_values *v = NULL;
	uint32_t root;
	size_t n;
	const uint8_t *head = wt_source_head(src, &n);
	int err = is_pickle(head, n) ? wt_values_read_pickle(&v, src, diag)
				     : wt_values_read_json(&v, src, diag);

	if (err) {
		wt_values_free(v);
		return err == -WT_E_TRUNCATED || err == -WT_E_CORRUPT ? refuse_part(diag)
		       : err == -WT_E_NOMEM			      ? err
								      : -WT_E_FORMAT;
	}
	root = wt_values_root(v);
	if (wt_value_get(v, root, "entries") || wt_value_get(v, root, "pg_status"))
		err = wt_flight_read(v, wt_source_path(src), b, input, diag);
	else if (wt_value_get(v, root, "segments") || wt_value_get(v, root, "device_traces"))
		err = wt_snapshot_read(v, b, input, diag);
	else
		err = wt_fail(diag, WT_E_FORMAT, 0,
			      "found a dump of plain values, expected one of PyTorch's flight "
			      "recorder (entries, pg_config) or a "
			      "memory snapshot (segments, device_traces)");
	wt_values_free(v);
	return err;
}

const struct wt_importer wt_importer_torch = {
	.name = "torch-dump",
	.human = "PyTorch flight-recorder dump or memory snapshot (pickle, .json)",
	.probe = probe_torch,
	.read = read_torch,
};
