/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in the job's own code kernels were launched: the innermost frame (struct wt_frame) around the launch on its
 * thread. Of a kernel's call sites, the one with most of its time is kept.
 */
#ifndef WT_SITES_H
#define WT_SITES_H

#include "report/report.h"

struct wt_sites;

/* 0 or -WT_E_NOMEM. *ret is NULL where no source has frames; the functions below take that. */
int wt_sites_new(struct wt_sites **ret, const struct wt_timeline *tl);
/* A kernel of that row: 0 or -WT_E_NOMEM. */
int wt_sites_add(struct wt_sites *s, size_t row, const struct wt_op *op);
/* Gives the rows their call sites, before they are put into another order. */
void wt_sites_finish(const struct wt_sites *s, struct wt_kernel_row *rows);
void wt_sites_free(struct wt_sites *s);

#endif
