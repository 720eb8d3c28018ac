/* SPDX-License-Identifier: Apache-2.0 */
/* Nsight Systems databases, any bytes, up to a finished timeline: SQLite itself and what we ask of it. */
#include <stdint.h>

#include "fuzz_rows.h"
#include "import/import_nsys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct wt_diag diag = {.offset = -1};
	struct wt_builder *b = wt_builder_new();
	int rc;

	if (!b)
		abort();
	rc = wt_nsys_read_memory(data, n, b, wt_builder_input(b, "fuzz", "nsys"), &diag);
	fuzz_check(b, rc, &diag);
	return 0;
}
