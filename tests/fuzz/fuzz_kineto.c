/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kineto importer up to a finished timeline: any bytes, two windows, with and without the memory of layouts; all
 * must give the same rows and the same fault.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/import_kineto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int (*const readers[])(struct wt_source *, struct wt_builder *, uint32_t, size_t,
			      struct wt_diag *) = {wt_kineto_read, wt_kineto_read_plainly};

static struct wt_timeline *import(const uint8_t *data, size_t n, size_t window, int plainly,
				  struct wt_diag *ret_diag, int *ret_rc)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_source *src;
	struct wt_diag diag = {.offset = -1};
	int rc;

	if (!b || wt_source_open_memory(&src, data, n))
		abort();
	rc = *ret_rc =
		readers[plainly](src, b, wt_builder_input(b, "fuzz", "kineto"), window, &diag);
	if (rc && !diag.text[0])
		abort();
	wt_source_close(src);
	*ret_diag = diag;
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

static void compare(const uint8_t *data, size_t n, size_t window_a, size_t window_b, int plainly)
{
	struct wt_timeline *a, *b;
	struct wt_diag diag_a, diag_b;
	int rc_a, rc_b;

	a = import(data, n, window_a, 0, &diag_a, &rc_a);
	b = import(data, n, window_b, plainly, &diag_b, &rc_b);
	if (rc_a != rc_b || a->nops != b->nops || a->ncalls != b->ncalls ||
	    a->nranges != b->nranges || a->inputs[0].repairs != b->inputs[0].repairs ||
	    a->inputs[0].lost_events != b->inputs[0].lost_events)
		abort();
	if (plainly && rc_a && (diag_a.offset != diag_b.offset || strcmp(diag_a.text, diag_b.text)))
		abort();
	if (a->nframes != b->nframes || a->ncounters != b->ncounters)
		abort();
	for (size_t i = 0; i < a->ncounters; i++) {
		const struct wt_counter *x = &a->counters[i], *y = &b->counters[i];

		if (x->samples != y->samples || x->min != y->min || x->max != y->max ||
		    x->mean != y->mean || x->last != y->last || x->max_ns != y->max_ns ||
		    x->min > x->mean || x->mean > x->max)
			abort();
	}
	if (a->nops && memcmp(a->ops, b->ops, a->nops * sizeof(*a->ops)))
		abort();
	wt_timeline_free(a);
	wt_timeline_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 2 || (data[1] == 0x1f && n > 2 && data[2] == 0x8b))
		return 0;
	compare(data + 1, n - 1, 0, 16 + data[0], 0);
	compare(data + 1, n - 1, 0, 0, 1);
	return 0;
}
