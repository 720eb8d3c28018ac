/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device work of train2: what a transformer layer's forward and backward pass launches, named as the libraries of
 * the field name their kernels, so that a profiler's families apply. Every call queues kernels on `s` and returns.
 */
#ifndef TRAIN2_KERNELS_H
#define TRAIN2_KERNELS_H

#include <cuda_bf16.h>
#include <cuda_runtime.h>

/* Sizes of one layer's work. rows = batch * seq; all are multiples of 64, the head dimension is 64. */
struct shape {
	int batch, seq, hidden, layers;
};

/* c[m,n] = a[m,k] * b[n,k]^T, all bf16, sums in fp32 on tensor cores. */
void launch_gemm(cudaStream_t s, const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *c,
		 int m, int n, int k);
/* Gradient of the input: c[m,n] = a[m,k] * b[k,n]. */
void launch_gemm_dgrad(cudaStream_t s, const __nv_bfloat16 *a, const __nv_bfloat16 *b,
		       __nv_bfloat16 *c, int m, int n, int k);
/* Weight gradient: c[m,n] = a[k,m]^T * b[k,n]. */
void launch_gemm_wgrad(cudaStream_t s, const __nv_bfloat16 *a, const __nv_bfloat16 *b,
		       __nv_bfloat16 *c, int m, int n, int k);
/* Causal attention over qkv[rows, 3 * hidden]; lse[rows * heads] keeps the softmax's log-sum for the way back. */
void launch_attention(cudaStream_t s, const __nv_bfloat16 *qkv, __nv_bfloat16 *out, float *lse,
		      const struct shape *sh);
void launch_attention_bwd(cudaStream_t s, const __nv_bfloat16 *qkv, const __nv_bfloat16 *out,
			  const __nv_bfloat16 *dout, const float *lse, float *delta,
			  __nv_bfloat16 *dqkv, const struct shape *sh);
void launch_layer_norm(cudaStream_t s, const __nv_bfloat16 *x, __nv_bfloat16 *y, int rows,
		       int hidden);
void launch_layer_norm_bwd(cudaStream_t s, const __nv_bfloat16 *x, const __nv_bfloat16 *dy,
			   __nv_bfloat16 *dx, int rows, int hidden);
void launch_gelu(cudaStream_t s, const __nv_bfloat16 *x, __nv_bfloat16 *y, size_t n);
void launch_gelu_bwd(cudaStream_t s, const __nv_bfloat16 *x, const __nv_bfloat16 *dy,
		     __nv_bfloat16 *dx, size_t n);
/* loss[0] = mean over rows of -log softmax(x)[label]; dx = its gradient. */
void launch_loss(cudaStream_t s, const __nv_bfloat16 *x, const int *label, float *loss,
		 __nv_bfloat16 *dx, int rows, int hidden);
/* One AdamW update of n parameters kept in fp32 beside their bf16 copy; grad is scaled first. */
void launch_adam(cudaStream_t s, const __nv_bfloat16 *grad, float *master, float *m, float *v,
		 __nv_bfloat16 *param, size_t n, float grad_scale, int step);
void launch_fill(cudaStream_t s, __nv_bfloat16 *x, size_t n, float scale, unsigned seed);
void launch_zero(cudaStream_t s, float *x, size_t n);
void launch_widen(cudaStream_t s, const __nv_bfloat16 *x, float *y, size_t n);
#endif
