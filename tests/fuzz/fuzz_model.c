/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a model as report --model reads it: refused with a reason, or FLOPs that are a number. */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "bounds/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct wt_diag diag = {.offset = -1};
	struct wt_model m;

	if (wt_model_parse(&m, (const char *)data, n, &diag)) {
		assert(diag.text[0]);
		return 0;
	}
	assert(isfinite(wt_model_flops(&m)) && wt_model_flops(&m) > 0);
	assert(wt_model_hardware_flops(&m) >= 0);
	return 0;
}
