/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kineto text -> timeline -> converted trace -> timeline: both timelines have the same rows, whatever the text. And the
 * converted trace with one byte changed, behind a repaired checksum or not: read, or refused.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "import/import_kineto.h"
#include "timeline/fields.h"
#include "trace/convert.h"

extern const struct wt_importer wt_importer_warptap;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int take(void *arg, const void *bytes, size_t n)
{
	wt_strbuf_add(arg, bytes, n);
	return 0;
}

static struct wt_timeline *finish(struct wt_builder *b, int must)
{
	struct wt_timeline *tl = NULL;

	if (wt_builder_finish(b, &tl, NULL) && must)
		abort();
	return tl;
}

static struct wt_timeline *read_wt(const struct wt_strbuf *wt, int must)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_source *src;
	struct wt_diag diag = {.offset = -1};
	int rc;

	if (!b || wt_source_open_memory(&src, wt->s, wt->n))
		abort();
	rc = wt_importer_warptap.read(src, b, wt_builder_input(b, "fuzz", "warptap"), &diag);
	wt_source_close(src);
	if (rc && must)
		abort();
	if (rc && rc != -WT_E_CORRUPT && rc != -WT_E_TRUNCATED) {
		wt_builder_free(b);
		return NULL;
	}
	return finish(b, must);
}

static size_t rows_of(const struct wt_timeline *tl, int table)
{
	size_t n;

	memcpy(&n, (const char *)tl + wt_tables[table].n_in_timeline, sizeof(n));
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *a, *c;
	struct wt_strbuf wt = {.n = 0};
	struct wt_source *src;
	uint32_t input;
	int rc;

	if (n < 3 || (data[2] == 0x1f && n > 3 && data[3] == 0x8b)) {
		wt_builder_free(b);
		return 0;
	}
	if (!b || wt_source_open_memory(&src, data + 2, n - 2))
		abort();
	input = wt_builder_input(b, "fuzz", "kineto");
	rc = wt_kineto_read(src, b, input, 0, NULL);
	wt_source_close(src);
	/* Said again by whoever reads the converted trace: here it must come back whole. */
	wt_builder_input_at(b, input)->damaged = 0;
	a = finish(b, 1);
	if (rc != -WT_E_NOMEM && (wt_convert(a, take, &wt) || wt.failed))
		abort();
	c = read_wt(&wt, 1);
	for (int t = 0; t < WT_TABLES; t++)
		if (t != WT_TABLE_inputs && t != WT_TABLE_processes &&
		    rows_of(a, t) != rows_of(c, t))
			abort();
	for (size_t i = 0; i < a->nops; i++)
		if (a->ops[i].start_ns != c->ops[i].start_ns ||
		    a->ops[i].end_ns != c->ops[i].end_ns || a->ops[i].call != c->ops[i].call)
			abort();
	wt_timeline_free(c);
	wt.s[(data[0] | (size_t)data[1] << 8) % wt.n] ^= 1 + data[0] % 255;
	c = read_wt(&wt, 0);
	wt_timeline_free(c);
	wt_timeline_free(a);
	wt_strbuf_release(&wt);
	return 0;
}
