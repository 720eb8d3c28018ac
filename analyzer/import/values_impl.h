/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How values are stored, for their two readers. Items of a list lie in blocks of one array: [next block, items, item
 * ...]. All arrays are as large as the text allows from the start; pages never written cost nothing.
 */
#ifndef WT_VALUES_IMPL_H
#define WT_VALUES_IMPL_H

#include "import/values.h"

struct wt_value {
	uint32_t n; /* TEXT: bytes; LIST, MAP: last block */
	uint8_t kind;
	uint8_t has_text; /* REAL: at..n is its text */
	uint8_t is_cut;	  /* LIST, MAP: not read to its end */
	union {
		int64_t i;
		double real;
		uint64_t at;	/* TEXT: in the bytes */
		uint32_t first; /* LIST, MAP: first block; 0 = empty */
	} u;
};
_Static_assert(sizeof(struct wt_value) == 16, "memory is counted by this");

struct wt_values {
	uint8_t *bytes; /* of the file; of JSON, its decoded texts */
	size_t nbytes;
	struct wt_value *rows;
	size_t nrows, max_rows;
	uint32_t *items;
	size_t nitems, max_items;
	uint32_t root;
};

/* Room for a text of n bytes, values and items by its size. `bytes` stays NULL. NULL: no memory. */
struct wt_values *wt_values_new(size_t n);
/* A new value: its id, 0 when there are more than the text can hold. */
uint32_t wt_values_add(struct wt_values *v, uint8_t kind);
uint32_t wt_values_add_int(struct wt_values *v, int64_t i);
uint32_t wt_values_add_text(struct wt_values *v, size_t at, size_t n);
/* Appends items to a list or map. 0 or -WT_E_LIMIT. */
int wt_values_append(struct wt_values *v, uint32_t to, const uint32_t *items, size_t n);
/* The whole source in memory, *ret_n bytes; with -WT_E_TRUNCATED and -WT_E_CORRUPT what could be read of it. */
int wt_values_slurp(struct wt_source *src, uint8_t **ret, size_t *ret_n, struct wt_diag *diag);

#endif
