/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's dumps, any bytes: as a pickle and as JSON, then as flight recorder and memory snapshot up to a timeline,
 * and on to who holds the job up.
 */
#include <stdint.h>

#include "fuzz_rows.h"
#include "import/torch_dump.h"
#include "ranks/progress.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct wt_values *read_values(const uint8_t *data, size_t n, int json)
{
	struct wt_diag diag = {.offset = -1};
	struct wt_values *v = NULL;
	struct wt_source *src;
	int rc;

	if (wt_source_open_memory(&src, data, n))
		abort();
	rc = json ? wt_values_read_json(&v, src, &diag) : wt_values_read_pickle(&v, src, &diag);
	wt_source_close(src);
	if ((rc && !diag.text[0]) || (!rc && !v) || (v && rc && !json))
		abort();
	if (v && rc && !wt_value_is_cut(v, wt_values_root(v)))
		abort();
	return v;
}

static void interpret(const struct wt_values *v)
{
	struct wt_diag diag = {.offset = -1};
	struct wt_builder *b = wt_builder_new();
	struct wt_progress *p = NULL;
	struct wt_timeline *tl = NULL;
	uint32_t input;

	if (!b)
		abort();
	input = wt_builder_input(b, "dump_3", "torch-dump");
	if (wt_flight_read(v, "dump_3", b, input, &diag) && !diag.text[0])
		abort();
	wt_flight_read(v, "dump_4", b, wt_builder_input(b, "dump_4", "torch-dump"), &diag);
	wt_snapshot_read(v, b, input, &diag);
	if (wt_builder_finish(b, &tl, NULL))
		abort();
	if (wt_progress_build(&p, tl))
		abort();
	for (size_t i = 0; p && i < p->nsuspects; i++)
		if (p->suspects[i].comm >= p->ncomms ||
		    p->suspects[i].why < WT_SUSPECT_NOT_FINISHED ||
		    p->suspects[i].why > WT_SUSPECT_CIRCLE)
			abort();
	wt_progress_free(p);
	wt_timeline_free(tl);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	for (int json = 0; json < 2; json++) {
		/* A source of memory inflates gzip too; that is fuzz_gzip's. */
		struct wt_values *v = n > 1 && data[0] == 0x1f && data[1] == 0x8b
					      ? NULL
					      : read_values(data, n, json);

		if (v)
			interpret(v);
		wt_values_free(v);
	}
	return 0;
}
