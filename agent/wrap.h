/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a row of the lists becomes as code. Included by hooks_cuda.c, hooks_nccl.c, hooks_cublas.c, hooks_cudnn.c
 * and hooks_cupti.c only.
 *
 *   hook_X    the wrapper (hidden name, so that the gates hand out ours whoever else exports X). HOOK rows record
 *             here when nothing is special; inert or off, they call the real one and no more
 *   slow_X    anything special: slot empty, first call, level count, capture open, busy; and all rows that keep books
 *   X         exported alias of hook_X, for clients bound by the linker
 */
#ifndef WT_WRAP_H
#define WT_WRAP_H

#include <errno.h>

#include "fill.h"

/* A preloaded symbol makes "is NCCL here?" succeed: then its calls fail like this instead of crashing. */
#define WT_RET_CUDA	 CUresult
#define WT_MISSING_CUDA	 CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
#define WT_RET_NCCL	 wt_nccl_result
#define WT_MISSING_NCCL	 WT_NCCL_SYSTEM_ERROR
#define WT_RET_CUBLAS	 wt_blas_status
#define WT_RET_CUBLASLT	 wt_blas_status
#define WT_RET_CUDNN	 wt_dnn_status
#define WT_RET_CUPTI	 wt_cupti_result
#define WT_MISSING_CUPTI 27 /* CUPTI_ERROR_NOT_SUPPORTED */

#define WT_EXPORT(l_, n_, p_)                                                                      \
	WT_RET_##l_ n_ p_ __attribute__((alias("hook_" #n_), visibility("default")));

#define WT_SLOT(n_) atomic_load_explicit(&wt_slot[WT_ID_##n_], memory_order_relaxed)

/* Least level at which the call is of interest. */
#define WT_LEAST_HOOK	WT_LEVEL_COUNT
#define WT_LEAST_LAUNCH WT_LEVEL_COUNT
#define WT_LEAST_OUT	WT_LEVEL_COUNT
#define WT_LEAST_BOOK	WT_LEVEL_OFF
#define WT_LEAST_ANY	WT_LEVEL_OFF

/* `after` of the four forms: only where the call succeeded, but for ANY. errno is the real call's. */
#define WT_AFTER_HOOK(t_)
#define WT_AFTER_LAUNCH(t_)
#define WT_AFTER_OUT(t_)                                                                           \
	if (!r) {                                                                                  \
		t_;                                                                                \
	}
#define WT_AFTER_BOOK(t_)                                                                          \
	int saved = errno;                                                                         \
	if (!r || WT_IN_PROGRESS(r)) {                                                             \
		t_;                                                                                \
	}                                                                                          \
	errno = saved;
#define WT_AFTER_ANY(t_)                                                                           \
	int saved = errno;                                                                         \
	t_;                                                                                        \
	errno = saved;

#endif
