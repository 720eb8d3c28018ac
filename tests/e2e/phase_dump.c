/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_dump PATH...: the phase of every device operation of traces, for tests that know the truth:
 * pid, correlation, start and end (ns), phase, grade; one line each.
 */
#include <inttypes.h>
#include <stdio.h>

#include "axes/axes.h"
#include "import/importer.h"
#include "timeline/builder.h"

int main(int argc, char **argv)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_ledger *l = NULL;
	struct wt_axes *a = NULL;
	struct wt_diag diag = {.text = ""};

	for (int i = 1; i < argc; i++) {
		if (wt_import_file(argv[i], b, &diag)) {
			fprintf(stderr, "%s: %s\n", argv[i], diag.text);
			return 2;
		}
	}
	if (wt_builder_finish(b, &tl, &diag) || wt_ledger_build(&l, tl, &diag) ||
	    wt_axes_build(&a, l)) {
		fprintf(stderr, "%s\n", diag.text);
		return 2;
	}
	for (size_t i = 0; i < tl->nops; i++) {
		const struct wt_op *op = &tl->ops[i];

		printf("%" PRId64 " %" PRIu64 " %" PRId64 " %" PRId64 " %s %d\n",
		       tl->processes[op->process].pid, op->correlation, op->start_ns, op->end_ns,
		       wt_phase_names[a->phase[i]], a->phase_grade[i]);
	}
	wt_axes_free(a);
	wt_ledger_free(l);
	wt_timeline_free(tl);
	return 0;
}
