/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the control socket: any bytes; what is accepted prints and parses back to the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/control_msg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *exact = malloc(n ? n : 1), text[WT_CTL_REQUEST_MAX + 1];
	struct wt_ctl_request r = {.verb = 0}, back = {.verb = 0};
	struct wt_span span;
	int len;

	if (!exact)
		return 0;
	memcpy(exact, data, n); /* a copy of its size: one byte too far is seen */
	if (!wt_ctl_parse(exact, n, &r)) {
		len = wt_ctl_print(&r, text, sizeof(text));
		if (len < 0 || wt_ctl_parse(text, (size_t)len, &back) ||
		    memcmp(&r, &back, sizeof(r)) != 0)
			abort();
	}
	free(exact);
	exact = malloc(n + 1);
	if (!exact)
		return 0;
	memcpy(exact, data, n);
	exact[n] = 0;
	wt_span_parse(exact, &span);
	free(exact);
	return 0;
}
