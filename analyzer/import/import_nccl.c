/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What NCCL's own observers write, one JSON object after another: NCCL Inspector (an object a collective that finished,
 * with its number, size and duration; event times only when verbose) and profiler plugins that print their events
 * (calls, collectives, kernels as CUPTI saw them). nccl_lines.h says what becomes of an object.
 *
 * Objects are told apart by their braces, so that both one a line and printed-over-lines are read; an object that is no
 * JSON is counted and passed over, because these files are written by a thread that a dying job takes along.
 */
#define _GNU_SOURCE /* memmem */
#include <stdlib.h>
#include <string.h>

#include "import/import_nccl.h"
#include "import/nccl_lines.h"

#define MAX_OBJECT_BYTES (1u << 20)
#define READ_BYTES	 (1u << 16)

struct splitter {
	struct wt_nccl *k;
	char *object;
	size_t n;
	int depth, quoted, escaped, too_long;
	uint64_t objects, lost;
	int64_t offset, first_lost; /* of the byte at hand; of the first object that was lost */
};

static void lose(struct splitter *s)
{
	if (!s->lost++)
		s->first_lost = s->offset;
}

static int finish_object(struct splitter *s)
{
	struct wt_source *src;
	struct wt_values *v = NULL;
	int err;

	if (s->too_long) {
		lose(s);
		return 0;
	}
	if (wt_source_open_memory(&src, s->object, s->n))
		return -WT_E_NOMEM;
	err = wt_values_read_json(&v, src, NULL);
	wt_source_close(src);
	if (err == -WT_E_NOMEM)
		return err;
	if (err) {
		wt_values_free(v);
		lose(s);
		return 0;
	}
	s->objects++;
	err = wt_nccl_object(s->k, v);
	wt_values_free(v);
	return err;
}

/* One byte: 0, or an error of the objects' consumer. */
static int feed(struct splitter *s, char c)
{
	int end = 0;

	if (!s->depth && c != '{')
		return 0; /* between objects: white space, commas, the brackets of an array */
	if (!s->depth)
		s->n = 0, s->quoted = s->escaped = s->too_long = 0;
	/* A line feed cannot stand in a string: an object cut off there must not take the next one with it. */
	if (s->quoted && c == '\n') {
		lose(s);
		s->depth = s->quoted = 0;
		return 0;
	}
	if (s->n < MAX_OBJECT_BYTES)
		s->object[s->n++] = c;
	else
		s->too_long = 1;
	if (s->escaped)
		s->escaped = 0;
	else if (s->quoted && c == '\\')
		s->escaped = 1;
	else if (c == '"')
		s->quoted = !s->quoted;
	else if (!s->quoted && (c == '{' || c == '['))
		s->depth++;
	else if (!s->quoted && (c == '}' || c == ']'))
		end = --s->depth == 0;
	return end ? finish_object(s) : 0;
}

static int judge(struct splitter *s, struct wt_source *src, long rc, struct wt_diag *diag)
{
	struct wt_input *in = wt_builder_input_at(s->k->b, s->k->input);

	in->lost_events += s->lost;
	if (rc == -WT_E_NOMEM)
		return wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	if (!s->k->known)
		return wt_fail(diag, WT_E_FORMAT, 0,
			       "found JSON objects, expected records of NCCL Inspector or of a "
			       "profiler plugin");
	if (rc < 0)
		return wt_fail(diag, rc == -WT_E_TRUNCATED ? WT_E_TRUNCATED : WT_E_CORRUPT,
			       wt_source_disk_offset(src), "%.200s; %llu records were read",
			       wt_source_fault(src)->text, (unsigned long long)s->objects);
	if (s->depth)
		return wt_fail(diag, WT_E_TRUNCATED, wt_source_disk_offset(src),
			       "the file ends inside a record; %llu were read",
			       (unsigned long long)s->objects);
	if (s->lost)
		return wt_fail(diag, WT_E_CORRUPT, s->first_lost,
			       "%llu records are no JSON; %llu were read",
			       (unsigned long long)s->lost, (unsigned long long)s->objects);
	return 0;
}

int wt_nccl_read(struct wt_source *src, struct wt_builder *b, uint32_t input, struct wt_diag *diag)
{
	struct splitter s = {.k = wt_nccl_new(b, input), .object = malloc(MAX_OBJECT_BYTES)};
	char *bytes = malloc(READ_BYTES);
	long got = -WT_E_NOMEM;
	int err = s.k && s.object && bytes ? 0 : -WT_E_NOMEM;

	while (!err && (got = wt_source_read(src, bytes, READ_BYTES)) > 0)
		for (long i = 0; i < got && !err; i++, s.offset++)
			err = feed(&s, bytes[i]);
	if (s.k) {
		err = err ? err : wt_nccl_finish(s.k);
		err = judge(&s, src, err ? err : got, diag);
	} else {
		err = wt_fail(diag, WT_E_NOMEM, -1, "out of memory");
	}
	wt_nccl_free(s.k);
	free(s.object);
	free(bytes);
	return err;
}

static int has(const uint8_t *head, size_t n, const char *word)
{
	return memmem(head, n, word, strlen(word)) != NULL;
}

static int probe_nccl(const uint8_t *head, size_t n)
{
	size_t at = 0;

	while (at < n && head[at] && strchr(" \t\r\n[", head[at]))
		at++;
	if (at >= n || head[at] != '{' || has(head, n, "\"traceEvents\""))
		return 0;
	return (has(head, n, "\"header\"") &&
		(has(head, n, "\"coll_perf\"") || has(head, n, "\"p2p_perf\""))) ||
	       has(head, n, "\"ProfilerLifecycle\"") ||
	       (has(head, n, "\"recordType\"") && has(head, n, "ncclProfile"));
}

const struct wt_importer wt_importer_nccl = {
	.name = "nccl",
	.human = "NCCL Inspector or profiler-plugin records (.json, .jsonl)",
	.probe = probe_nccl,
	.read = wt_nccl_read,
};
