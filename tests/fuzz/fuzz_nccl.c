/* SPDX-License-Identifier: Apache-2.0 */
/* Records of NCCL Inspector and of profiler plugins, any bytes, up to a finished timeline. */
#include <stdint.h>

#include "fuzz_rows.h"
#include "import/import_nccl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct wt_diag diag = {.offset = -1};
	struct wt_builder *b = wt_builder_new();
	struct wt_source *src;
	int rc;

	if (!b || wt_source_open_memory(&src, data, n))
		abort();
	rc = wt_nccl_read(src, b, wt_builder_input(b, "fuzz", "nccl"), &diag);
	wt_source_close(src);
	fuzz_check(b, rc, &diag);
	return 0;
}
