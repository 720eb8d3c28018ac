/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FLOPs and least bytes of what a kernel was asked to compute (struct wt_work of the timeline). Pure functions.
 *
 * FLOPs count a multiply-add as two, a complex product as four real ones with their additions (8 m n k). Bytes are what
 * must move at least, each operand and result once: a result that is added to is not counted as read, since whether
 * beta is zero is known on the device alone. 0 = not known.
 *
 *   product          2 m n k, batch times; (m k + k n) read, m n written
 *   attention        2 q s H (d_qk + d_v) - q^2 H (d_qk + d_v) where causal and q <= s; K and V once per group of heads
 *   its backward     2.5 times the FLOPs (five products instead of two); Q K V O dO read, dQ dK dV written
 *   stream           k FLOPs an element read
 *   sums             two FLOPs a multiply-add; bytes as they are
 */
#ifndef WT_WORK_H
#define WT_WORK_H

#include "timeline/timeline.h"

double wt_work_flops(const struct wt_work *w);
double wt_work_bytes(const struct wt_work *w);
double wt_dtype_bytes(enum wt_dtype t);	    /* of an element; 0 = not known */
const char *wt_dtype_name(enum wt_dtype t); /* "bf16"; "unknown" */
/* 1 where products of this format run on the matrix pipe of devices that have one for it. */
int wt_dtype_is_matrix(enum wt_dtype t);
/* The number format a kernel's name speaks of, UNKNOWN if none. An estimate. */
enum wt_dtype wt_dtype_of_name(const char *name);

#endif
