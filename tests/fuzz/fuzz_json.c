/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON scanner: any bytes, in the usual window and in one whose size the first byte chooses. Reading everything
 * and skipping everything must come to the same verdict in both.
 */
#include <stdint.h>
#include <stdlib.h>

#include "import/decimal.h"
#include "import/json_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MAX_DEPTH 2000 /* of this target's own recursion */

static int walk(struct wt_json *js, int depth)
{
	struct wt_json_text t;
	int kind = wt_json_peek(js), rc;
	int64_t ns;

	if (depth > MAX_DEPTH)
		return wt_json_skip(js);
	if (kind == WT_JSON_OBJECT) {
		rc = wt_json_enter_object(js);
		while (rc >= 0 && (rc = wt_json_key(js, &t)) > 0)
			rc = walk(js, depth + 1);
		return rc;
	}
	if (kind == WT_JSON_ARRAY) {
		rc = wt_json_enter_array(js);
		while (rc >= 0 && (rc = wt_json_item(js)) > 0)
			rc = walk(js, depth + 1);
		return rc;
	}
	if (kind == WT_JSON_STRING)
		return wt_json_string(js, &t);
	if (kind == WT_JSON_NUMBER) {
		rc = wt_json_number(js, &t);
		if (!rc)
			(void)wt_decimal_us_to_ns(t.s, t.n, &ns);
		return rc;
	}
	return kind < 0 ? kind : wt_json_skip(js);
}

static int verdict(const uint8_t *data, size_t n, size_t window, int skip)
{
	struct wt_source *src;
	struct wt_json *js;
	int rc;

	if (wt_source_open_memory(&src, data, n))
		abort();
	js = wt_json_new(src, window);
	if (!js)
		abort();
	rc = skip ? wt_json_skip(js) : walk(js, 0);
	if (!rc)
		rc = wt_json_finish(js);
	if (rc && !wt_json_diag(js)->text[0])
		abort();
	wt_json_free(js);
	wt_source_close(src);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	size_t window;
	int rc;

	/* gzip is fuzz_gzip's; here the two windows would see different places of a fault. */
	if (n < 2 || (data[1] == 0x1f && n > 2 && data[2] == 0x8b))
		return 0;
	window = 16 + data[0];
	rc = verdict(data + 1, n - 1, 0, 1);
	if (verdict(data + 1, n - 1, 0, 0) != rc || verdict(data + 1, n - 1, window, 0) != rc ||
	    verdict(data + 1, n - 1, window, 1) != rc)
		abort();
	return 0;
}
