/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every importer's fuzz target asserts: an error has words, and whatever was delivered is a timeline whose indices
 * stay inside its tables.
 */
#ifndef WT_FUZZ_ROWS_H
#define WT_FUZZ_ROWS_H

#include <stdlib.h>

#include "timeline/builder.h"

static inline void fuzz_check(struct wt_builder *b, int rc, const struct wt_diag *diag)
{
	struct wt_timeline *tl = NULL;

	if (rc && !diag->text[0])
		abort();
	if (wt_builder_finish(b, &tl, NULL))
		abort();
	for (size_t i = 0; i < tl->nops; i++)
		if (tl->ops[i].end_ns < tl->ops[i].start_ns || tl->ops[i].device >= tl->ndevices ||
		    tl->ops[i].stream >= tl->nstreams || tl->ops[i].process >= tl->nprocesses ||
		    tl->ops[i].collective >= (int64_t)tl->ncollectives ||
		    tl->ops[i].call >= (int64_t)tl->ncalls)
			abort();
	for (size_t i = 0; i < tl->ncalls; i++)
		if (tl->calls[i].thread >= tl->nthreads || tl->calls[i].process >= tl->nprocesses)
			abort();
	wt_timeline_free(tl);
}

#endif
