/* SPDX-License-Identifier: Apache-2.0 */
/* A table of kernel families as report --families reads it: refused with a line, or usable on any name. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "ledger/families.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct wt_diag diag = {.offset = -1};
	struct wt_families *f = NULL;
	int err = wt_families_parse(&f, (const char *)data, n, &diag);

	if (err) {
		assert(diag.text[0]);
		return 0;
	}
	wt_family_state(wt_family_of(f, 1, "void my_gemm_kernel<float>(int)"));
	wt_family_of(f, 2, "");
	wt_families_free(f);
	return 0;
}
