/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work by shapes: a file with "Input Dims" tells what an operator was asked to compute, and a kernel's "External id"
 * which operator that was. Of an operator's kernels the longest has the work. Operators come before kernels in the
 * files Kineto writes; a kernel of an operator not yet seen is kept in mind until the end.
 */
#ifndef WT_KINETO_WORK_H
#define WT_KINETO_WORK_H

#include "base/map.h"
#include "import/kineto_event.h"
#include "timeline/builder.h"

struct wt_kineto_works {
	struct wt_map by_id; /* External id -> index into rows */
	struct wt_kineto_owner {
		uint32_t work;
		uint32_t op; /* the longest kernel so far, index of the builder + 1 */
	} * rows;
	size_t n, room;
	struct wt_kineto_early { /* kernels whose operator had not come; ids beyond 32 bits have none */
		uint32_t external, op;
	} * early;
	size_t nearly, early_room;
};

/* Whether an operator of that name is in kineto_ops.def: its arguments are worth reading. */
int wt_kineto_is_shaped(const struct wt_json_text *name);
/* An operator's event. 0 or -WT_E_NOMEM. */
int wt_kineto_work_add(struct wt_kineto_works *w, struct wt_builder *b,
		       const struct wt_kineto_event *ev);
/* A kernel that was added to the builder just now. 0 or -WT_E_NOMEM. */
int wt_kineto_work_kernel(struct wt_kineto_works *w, struct wt_builder *b, uint64_t external);
/* After all events: gives kernels their work, and frees. */
void wt_kineto_work_finish(struct wt_kineto_works *w, struct wt_builder *b);

#endif
