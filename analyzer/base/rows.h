/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of tables that grow, and of windows. A page that is touched for the first time costs a fault, which takes
 * longer than what is put there, and a table that moves is touched twice. Plain malloc() memory: free() gives it back.
 */
#ifndef WT_ROWS_H
#define WT_ROWS_H

#include <stddef.h>

/* The command's, before all else: which memory the allocator takes from where. */
void wt_rows_begin(void);
/* A table of `bytes` to at least `need`; *ret_bytes: what it has room for then. NULL: no memory, it is as it was. */
void *wt_rows_grow(void *rows, size_t bytes, size_t need, size_t *ret_bytes);
/* Memory that will be written whole, soon: its pages come in one go. */
void wt_rows_populate(void *at, size_t bytes);

#endif
