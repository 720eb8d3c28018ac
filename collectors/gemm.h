/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a matrix product was asked to do, into its row: words of hooks_cublas.def and what they call. Job threads,
 * inside the wrapper, before the real call. Pointers of the job are never followed but for the host arrays of grouped
 * products.
 */
#ifndef WT_GEMM_H
#define WT_GEMM_H

#include <stdint.h>

#include "agent/cublas_types.h"
#include "agent/record.h"

/* Sizes have 48 bits: the low 32 in the row's fields, the rest in `object`. */
static inline __attribute__((always_inline)) void wt_gemm_fill(struct wt_rec *rec, uint32_t ta,
							       uint32_t tb, uint64_t m, uint64_t n,
							       uint64_t k, uint64_t batch)
{
	rec->u.gemm.m = (uint32_t)m;
	rec->u.gemm.n = (uint32_t)n;
	rec->u.gemm.k = (uint32_t)k;
	rec->u.gemm.batch = (uint32_t)batch;
	rec->object = (m >> 32 & 0xFFFF) | (n >> 32 & 0xFFFF) << 16 | (k >> 32 & 0xFFFF) << 32 |
		      batch >> 32 << 48;
	rec->u.gemm.ops = (uint8_t)((ta & 3) | (tb & 3) << 2);
}

#define GEMM_TYPES(a_, b_, c_, compute_)                                                           \
	rec->u.gemm.type_a = (uint8_t)(a_);                                                        \
	rec->u.gemm.type_b = (uint8_t)(b_);                                                        \
	rec->u.gemm.type_c = (uint8_t)(c_);                                                        \
	rec->u.gemm.compute = (uint8_t)(compute_);
#define GEMM_EX(batch_, a_, b_, c_, compute_)                                                      \
	wt_gemm_fill(rec, transa, transb, (uint64_t)m, (uint64_t)n, (uint64_t)k,                   \
		     (uint64_t)(batch_));                                                          \
	GEMM_TYPES(a_, b_, c_, compute_)
#define GEMM(batch_, a_, b_, c_, compute_)                                                         \
	GEMM_EX(batch_, WT_##a_, WT_##b_, WT_##c_, WT_COMPUTE_##compute_)
#define STRIDES(a_, b_)                                                                            \
	rec->u.gemm.ops |= (uint8_t)(((a_) ? 0 : WT_GEMM_SHARED_A) | ((b_) ? 0 : WT_GEMM_SHARED_B));
/* Whether fp32 inputs go through the matrix pipe as tf32 is a setting of the handle. */
#define MATH_MODE                                                                                  \
	if (rec->u.gemm.compute == WT_COMPUTE_32F &&                                               \
	    (rec->u.gemm.type_a == WT_R_32F || rec->u.gemm.type_a == WT_C_32F))                    \
		wt_gemm_math_mode(rec, (const void *)handle);
#define GROUPS	  wt_gemm_groups(rec, m_array, n_array, k_array, group_count, group_size);
#define GROUPS_64 wt_gemm_groups_64(rec, m_array, n_array, k_array, group_count, group_size);

void wt_gemm_math_mode(struct wt_rec *rec, const void *handle);
void wt_gemm_groups(struct wt_rec *rec, const int *m, const int *n, const int *k, int groups,
		    const int *size);
void wt_gemm_groups_64(struct wt_rec *rec, const int64_t *m, const int64_t *n, const int64_t *k,
		       int64_t groups, const int64_t *size);
void wt_gemm_fill_lt(struct wt_rec *rec, const void *desc, const void *a, const void *b,
		     const void *d);

#endif
