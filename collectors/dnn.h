/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call of cuDNN was asked to compute, into its row: words of hooks_cudnn.def and what they call. Job threads,
 * inside the wrapper. A call is summed up: multiply-adds of its products, bytes that are read and written at least.
 */
#ifndef WT_DNN_H
#define WT_DNN_H

#include <stdint.h>

#include "agent/cudnn_types.h"
#include "agent/record.h"

enum wt_dnn_kind { /* LibraryWork of trace.proto; 0 is a product of cuBLAS */
		   WT_DNN_CONVOLUTION_FORWARD = 1,
		   WT_DNN_CONVOLUTION_DATA,
		   WT_DNN_CONVOLUTION_WEIGHTS,
		   WT_DNN_MATMUL,
		   WT_DNN_ATTENTION,
		   WT_DNN_ATTENTION_BACKWARD,
		   WT_DNN_NORM_FORWARD,
		   WT_DNN_NORM_BACKWARD,
		   WT_DNN_OTHER,
		   WT_DNN_UNKNOWN
};

struct wt_dnn_work {
	uint64_t macs, read, written; /* bytes */
	uint8_t type_a, type_b, type_c, kind;
	uint8_t flags; /* WT_GEMM_CAUSAL, WT_GEMM_AT_MOST */
	uint8_t known, masks, shifted;
};

#define CONVOLUTION(kind_, w_, x_, y_)                                                             \
	wt_dnn_fill_conv(rec, WT_DNN_CONVOLUTION_##kind_, (const void *)w_, (const void *)x_,      \
			 (const void *)y_);
#define NORM(kind_, x_, read_, written_)                                                           \
	wt_dnn_fill_norm(rec, WT_DNN_NORM_##kind_, (const void *)x_, read_, written_);

/* Descriptors of the graph API: made, gone, an attribute set, asked for into others. Of calls that succeeded. */
void wt_dnn_made(unsigned type, void *const *descriptor);
void wt_dnn_gone(const void *descriptor);
void wt_dnn_set(const void *descriptor, unsigned name, unsigned type, int64_t count,
		const void *values);
void wt_dnn_got(const void *descriptor, unsigned name, unsigned type, int64_t room,
		const int64_t *count, const void *values);

void wt_dnn_fill_plan(struct wt_rec *rec, const void *plan, const void *pack);
void wt_dnn_fill_conv(struct wt_rec *rec, unsigned kind, const void *w, const void *x,
		      const void *y);
void wt_dnn_fill_norm(struct wt_rec *rec, unsigned kind, const void *x, uint64_t read,
		      uint64_t written);

#endif
