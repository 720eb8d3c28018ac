/* SPDX-License-Identifier: Apache-2.0 */
/* JSON documents that are read as a whole, any bytes, as rocprofv3's and as the trace viewer's, up to a timeline. */
#include <stdint.h>

#include "fuzz_rows.h"
#include "import/importer.h"

extern const struct wt_importer wt_importer_rocprof, wt_importer_viewer;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct wt_importer *const importers[] = {&wt_importer_rocprof,
							      &wt_importer_viewer};

	for (int i = 0; i < 2; i++) {
		struct wt_diag diag = {.offset = -1};
		struct wt_builder *b = wt_builder_new();
		struct wt_source *src;
		int rc;

		if (!b || wt_source_open_memory(&src, data, n))
			abort();
		importers[i]->probe(data, n);
		rc = importers[i]->read(src, b, wt_builder_input(b, "fuzz", importers[i]->name),
					&diag);
		wt_source_close(src);
		fuzz_check(b, rc, &diag);
	}
	return 0;
}
