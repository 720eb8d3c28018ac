/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kineto importer up to a finished timeline: any bytes, two windows; both must give the same rows.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/import_kineto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct wt_timeline *import(const uint8_t *data, size_t n, size_t window, int *ret_rc)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_source *src;
	struct wt_diag diag = {.offset = -1};
	int rc;

	if (!b || wt_source_open_memory(&src, data, n))
		abort();
	rc = *ret_rc = wt_kineto_read(src, b, wt_builder_input(b, "fuzz", "kineto"), window, &diag);
	if (rc && !diag.text[0])
		abort();
	wt_source_close(src);
	if (wt_builder_finish(b, &tl, &diag))
		abort();
	for (size_t i = 0; i < tl->nops; i++)
		if (tl->ops[i].end_ns < tl->ops[i].start_ns || tl->ops[i].device >= tl->ndevices ||
		    tl->ops[i].stream >= tl->nstreams ||
		    tl->ops[i].collective >= (int64_t)tl->ncollectives ||
		    tl->ops[i].call >= (int64_t)tl->ncalls)
			abort();
	return tl;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct wt_timeline *a, *b;
	int rc_a, rc_b;

	if (n < 2 || (data[1] == 0x1f && n > 2 && data[2] == 0x8b))
		return 0;
	a = import(data + 1, n - 1, 0, &rc_a);
	b = import(data + 1, n - 1, 16 + data[0], &rc_b);
	if (rc_a != rc_b || a->nops != b->nops || a->ncalls != b->ncalls ||
	    a->nranges != b->nranges)
		abort();
	if (a->nops && memcmp(a->ops, b->ops, a->nops * sizeof(*a->ops)))
		abort();
	wt_timeline_free(a);
	wt_timeline_free(b);
	return 0;
}
