/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of cuBLASLt: opaque structs of fixed size that callers may keep on their own stack, so a value lives at
 * a fixed place in them. One row per attribute gives its number, size and place.
 */
#ifndef SIM_LT_ATTR_H
#define SIM_LT_ATTR_H

#include <stddef.h>
#include <stdint.h>

/* cublasStatus_t, as far as it is answered here. */
enum lt_status {
	LT_OK = 0,
	LT_NOT_INITIALIZED = 1,
	LT_ALLOC_FAILED = 3,
	LT_INVALID_VALUE = 7,
	LT_EXECUTION_FAILED = 13,
	LT_NOT_SUPPORTED = 15
};

struct lt_row {
	uint8_t attr, bytes, offset;
};
struct lt_kind {
	const struct lt_row *rows;
	size_t n_rows, size; /* of the opaque struct */
};
extern const struct lt_kind lt_layout_kind, lt_matmul_kind, lt_preference_kind, lt_algo_kind,
	lt_transform_kind;

int lt_attr_set(const struct lt_kind *kind, void *object, int attr, const void *buf, size_t bytes);
int lt_attr_get(const struct lt_kind *kind, const void *object, int attr, void *buf, size_t bytes,
		size_t *ret_written);
/* A value by its number, sign extended; 0 where the kind has no such attribute. */
int64_t lt_attr(const struct lt_kind *kind, const void *object, int attr);

/* Numbers of NVIDIA's enumerators that the code here reads. */
enum {
	LT_LAYOUT_TYPE = 0,
	LT_LAYOUT_ORDER = 1,
	LT_LAYOUT_ROWS = 2,
	LT_LAYOUT_COLS = 3,
	LT_LAYOUT_LD = 4,
	LT_LAYOUT_BATCH = 5,
	LT_LAYOUT_STRIDE = 6,
	LT_MATMUL_COMPUTE = 0,
	LT_MATMUL_SCALE_TYPE = 1,
	LT_MATMUL_TRANSA = 3,
	LT_MATMUL_TRANSB = 4,
	LT_MATMUL_EPILOGUE = 7,
	LT_MATMUL_AUX_POINTER = 11,
	LT_PREF_WORKSPACE = 1,
	LT_ALGO_ID = 0,
	LT_ALGO_TILE = 1,
	LT_ALGO_SPLITK = 2,
	LT_ALGO_STAGES = 6
};

#endif
