/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a graph of cuDNN's operations computes and moves: pure functions over copies of its tensors (dnn.c keeps them).
 *
 *   multiply-adds   convolution: elements of y times what is summed for each; matmul: elements of C times k; attention
 *                   as its products, less what a causal mask leaves out
 *   bytes           tensors in memory once each; what the graph both writes and reads is not read again
 */
#ifndef WT_DNN_GRAPH_H
#define WT_DNN_GRAPH_H

#include "collectors/dnn.h"

#define WT_DNN_REFS	 16
#define WT_DNN_SUM_SEEN	 96
#define WT_DNN_SUM_INDEX 16

struct wt_dnn_tensor {
	int64_t uid, dim[WT_DNN_DIMS_MAX];
	uint8_t n, type;   /* cudaDataType_t */
	uint8_t broadcast; /* bit i: dimension i is one element, repeated */
	uint8_t is_virtual, by_value, ragged;
};

struct wt_dnn_ref {
	int64_t uid;
	uint64_t bytes, elements;
	uint32_t first, second, row, column; /* dimensions: the first two, the last two */
	uint16_t name;			     /* attribute */
	uint8_t type, in_memory, by_value;
};

struct wt_dnn_op {
	struct wt_dnn_op *next;
	uint32_t type;
	int32_t mode; /* of a pointwise operation */
	uint16_t n;
	uint8_t at_most, cut;	/* cut: more tensors than there is room for */
	uint8_t masks, shifted; /* of the graph that says what attention does with its scores */
	struct wt_dnn_ref ref[WT_DNN_REFS];
};

struct wt_dnn_sum {
	struct wt_dnn_work work;
	struct {
		int64_t uid;
		uint64_t bytes;
		int written;
	} seen[WT_DNN_SUM_SEEN];
	struct {
		int64_t uid;
		int shifted;
	} index[WT_DNN_SUM_INDEX]; /* tensors of row and column numbers, for masks */
	int nseen, nindex, masks, shifted, products, rank, unknown;
	uint64_t largest, q,
		s; /* multiply-adds of the largest product; rows and columns of scores */
};

int wt_dnn_is_op(unsigned type);
uint32_t wt_dnn_type(unsigned type); /* cudnnDataType_t -> cudaDataType_t; 255 = none */
uint64_t wt_dnn_elements(const struct wt_dnn_tensor *t);
uint64_t wt_dnn_bytes(const struct wt_dnn_tensor *t);
void wt_dnn_op_add(struct wt_dnn_op *op, unsigned name, const struct wt_dnn_tensor *t);
void wt_dnn_op_masked(struct wt_dnn_op *op, const struct wt_dnn_work *graph);
void wt_dnn_sum_begin(struct wt_dnn_sum *s);
void wt_dnn_sum_add(struct wt_dnn_sum *s, const struct wt_dnn_op *op);
void wt_dnn_sum_end(struct wt_dnn_sum *s, struct wt_dnn_work *ret);
void wt_dnn_convolution(unsigned kind, const struct wt_dnn_tensor *w, const struct wt_dnn_tensor *x,
			const struct wt_dnn_tensor *y, struct wt_dnn_work *ret);

#endif
