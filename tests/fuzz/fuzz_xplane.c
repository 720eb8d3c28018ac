/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XPlane importer up to a finished timeline: any bytes, with or without gzip around them.
 */
#include <stdint.h>
#include <stdlib.h>

#include "import/import_xplane.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_source *src;
	struct wt_diag diag = {.offset = -1};
	const uint8_t *head;
	size_t nhead;
	int rc;

	if (!b || wt_source_open_memory(&src, data, n))
		abort();
	head = wt_source_head(src, &nhead);
	wt_importer_xplane.probe(head, nhead);
	rc = wt_importer_xplane.read(src, b, wt_builder_input(b, "fuzz", "xplane"), &diag);
	if (rc && !diag.text[0])
		abort();
	wt_source_close(src);
	if (wt_builder_finish(b, &tl, &diag))
		abort();
	for (size_t i = 0; i < tl->nops; i++)
		if (tl->ops[i].end_ns < tl->ops[i].start_ns || tl->ops[i].device >= tl->ndevices ||
		    tl->ops[i].stream >= tl->nstreams ||
		    tl->ops[i].instruction >= tl->ninstructions ||
		    tl->ops[i].call >= (int64_t)tl->ncalls)
			abort();
	wt_timeline_free(tl);
	return 0;
}
