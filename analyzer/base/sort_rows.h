/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting what is nearly in order already, as events in files are: stable, in time that grows with the number of
 * ascending runs. Thread-safe.
 */
#ifndef WT_SORT_ROWS_H
#define WT_SORT_ROWS_H

#include <stddef.h>

/* As qsort_r(), and equal rows stay in their order. */
void wt_sort_rows(void *rows, size_t n, size_t size,
		  int (*compare)(const void *, const void *, void *), void *arg);

#endif
