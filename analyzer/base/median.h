/* SPDX-License-Identifier: Apache-2.0 */
/* The median of times, the lower one of two, without sorting them. */
#ifndef WT_MEDIAN_H
#define WT_MEDIAN_H

#include <stddef.h>
#include <stdint.h>

/* Of n > 0 values, which are left in another order. */
int64_t wt_median_ns(int64_t *v, size_t n);

#endif
