/* SPDX-License-Identifier: Apache-2.0 */
/* The dead writer's state, as far as packing goes on with it: registry, tables, ids, clock. */
#ifndef WT_RESUME_H
#define WT_RESUME_H

#include "agent/pack.h"
#include "recover/box_image.h"
#include "recover/trace_scan.h"

/* Fills the registry from the box. 0, -WT_E_NOMEM. */
int wt_resume_registry(const struct wt_box_image *box);
/* Makes p go on where the trace ends: its file is open at that place. 0, -WT_E_NOMEM. */
int wt_resume_pack(struct wt_pack *p, const struct wt_box_image *box, const struct wt_scan *scan);
void wt_resume_release(struct wt_pack *p);

/* ---- writer_stubs.c ---- */
/* What the writer's code is told of the process: its header, its newest clock row, sizes of CUPTI's records. */
void wt_stubs_set(const Warptap__V1__Header *header, const struct wt_clock_row *clock,
		  const struct wt_box_head *box);
uint64_t wt_stubs_unread(
	void); /* bytes of buffers behind a record of unknown size, since the last call of set */

#endif
