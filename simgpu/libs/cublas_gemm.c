/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix products of cuBLAS. All of them end in cublasLtMatmul, called across the edge between the two libraries as
 * NVIDIA's does it, so whoever watches that call sees it inside the outer one. Any thread.
 */
#include <stdint.h>
#include <string.h>

#include "simgpu/libs/lib_gemm.h"
#include "simgpu/libs/lib_handle.h"
#include "simgpu/libs/lib_stub.h"
#include "simgpu/libs/lt_attr.h"

/* Of libcublasLt.so.13. */
int cublasLtMatmulDescInit_internal(void *desc, size_t size, int compute, int scale);
int cublasLtMatmulDescSetAttribute(void *desc, int attr, const void *buf, size_t bytes);
int cublasLtMatrixLayoutInit_internal(void *layout, size_t size, int type, uint64_t rows,
				      uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(void *layout, int attr, const void *buf, size_t bytes);
int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *la,
		   const void *b, void *lb, const void *beta, const void *c, void *lc, void *d,
		   void *ld, const void *algo, void *workspace, size_t workspace_bytes,
		   void *stream);

#define MATH_TF32 3 /* CUBLAS_TF32_TENSOR_OP_MATH */

struct product {
	int ta, tb;
	int64_t m, n, k, batch;
	const void *alpha, *a, *b, *beta;
	void *c;
	int type_a, type_b, type_c, compute, scale;
	int64_t lda, ldb, ldc;
};

static int layout(uint64_t *l, int type, int64_t rows, int64_t cols, int64_t ld, int64_t batch)
{
	int32_t count = batch < INT32_MAX ? (int32_t)batch : INT32_MAX;
	int r = cublasLtMatrixLayoutInit_internal(l, lt_layout_kind.size, type, (uint64_t)rows,
						  (uint64_t)cols, ld);

	return r == LT_OK
		       ? cublasLtMatrixLayoutSetAttribute(l, LT_LAYOUT_BATCH, &count, sizeof(count))
		       : r;
}

static int multiply(void *handle, const struct product *p)
{
	uint64_t desc[32], a[8], b[8], c[8];
	struct sim_lib_handle *h = sim_lib_handle(handle);
	int compute = p->compute;

	if (!h)
		return LT_NOT_INITIALIZED;
	if (p->m < 0 || p->n < 0 || p->k < 0 || p->batch < 0 || p->ta < 0 || p->ta > 2 ||
	    p->tb < 0 || p->tb > 2)
		return LT_INVALID_VALUE;
	if (!p->m || !p->n || !p->batch)
		return LT_OK;
	if (compute == SIM_COMPUTE_32F && p->type_a == CUDA_R_32F && h->math_mode == MATH_TF32)
		compute = SIM_COMPUTE_FAST_TF32;
	if (cublasLtMatmulDescInit_internal(desc, sizeof(desc), compute, p->scale) ||
	    cublasLtMatmulDescSetAttribute(desc, 2, &h->pointer_mode, sizeof(int)) ||
	    cublasLtMatmulDescSetAttribute(desc, LT_MATMUL_TRANSA, &p->ta, sizeof(int)) ||
	    cublasLtMatmulDescSetAttribute(desc, LT_MATMUL_TRANSB, &p->tb, sizeof(int)) ||
	    layout(a, p->type_a, p->ta ? p->k : p->m, p->ta ? p->m : p->k, p->lda, p->batch) ||
	    layout(b, p->type_b, p->tb ? p->n : p->k, p->tb ? p->k : p->n, p->ldb, p->batch) ||
	    layout(c, p->type_c, p->m, p->n, p->ldc, p->batch))
		return LT_INVALID_VALUE;
	return cublasLtMatmul(handle, desc, p->alpha, p->a, a, p->b, b, p->beta, p->c, c, p->c, c,
			      NULL, h->workspace, h->workspace_bytes, h->stream);
}

static int scale_of(int compute, int type_c)
{
	switch (compute) {
	case SIM_COMPUTE_16F:
	case SIM_COMPUTE_16F + 1:
		return CUDA_R_16F;
	case SIM_COMPUTE_32I:
	case SIM_COMPUTE_32I + 1:
		return CUDA_R_32I;
	case SIM_COMPUTE_64F:
	case SIM_COMPUTE_64F_PEDANTIC:
		return type_c == CUDA_C_64F ? CUDA_C_64F : CUDA_R_64F;
	}
	return type_c == CUDA_C_32F ? CUDA_C_32F : CUDA_R_32F;
}

/* The classic forms: S, D, C, Z, H; plain, in batches of pointers, in strided batches; 32-bit and 64-bit dimensions. */
#define PRODUCT(batch_, at, bt, ct, compute_, scale_)                                              \
	((const struct product){.ta = ta,                                                          \
				.tb = tb,                                                          \
				.m = m,                                                            \
				.n = n,                                                            \
				.k = k,                                                            \
				.batch = batch_,                                                   \
				.alpha = alpha,                                                    \
				.a = a,                                                            \
				.b = b,                                                            \
				.beta = beta,                                                      \
				.c = c,                                                            \
				.type_a = at,                                                      \
				.type_b = bt,                                                      \
				.type_c = ct,                                                      \
				.compute = compute_,                                               \
				.scale = scale_,                                                   \
				.lda = lda,                                                        \
				.ldb = ldb,                                                        \
				.ldc = ldc})

#define CLASSIC(name, batched, type, compute, I, suffix)                                           \
	SIM_API int cublas##name##suffix(void *h, int ta, int tb, I m, I n, I k,                   \
					 const void *alpha, const void *a, I lda, const void *b,   \
					 I ldb, const void *beta, void *c, I ldc)                  \
	{                                                                                          \
		return multiply(h, &PRODUCT(1, type, type, type, compute, type));                  \
	}                                                                                          \
	SIM_API int cublas##batched##Batched##suffix(                                              \
		void *h, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, I lda,   \
		const void *b, I ldb, const void *beta, void *c, I ldc, I batch)                   \
	{                                                                                          \
		return multiply(h, &PRODUCT(batch, type, type, type, compute, type));              \
	}                                                                                          \
	SIM_API int cublas##batched##StridedBatched##suffix(                                       \
		void *h, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, I lda,   \
		long long sa, const void *b, I ldb, long long sb, const void *beta, void *c,       \
		I ldc, long long sc, I batch)                                                      \
	{                                                                                          \
		return multiply(h, &PRODUCT(batch, type, type, type, compute, type));              \
	}
#define CLASSIC_BOTH(name, batched, type, compute)                                                 \
	CLASSIC(name, batched, type, compute, int, )                                               \
	CLASSIC(name, batched, type, compute, int64_t, _64)

/*
 * SIM_API_NAMES: cublasSgemm_v2 cublasSgemm_v2_64 cublasSgemmBatched cublasSgemmBatched_64
 * cublasSgemmStridedBatched cublasSgemmStridedBatched_64
 * cublasDgemm_v2 cublasDgemm_v2_64 cublasDgemmBatched cublasDgemmBatched_64
 * cublasDgemmStridedBatched cublasDgemmStridedBatched_64
 * cublasCgemm_v2 cublasCgemm_v2_64 cublasCgemmBatched cublasCgemmBatched_64
 * cublasCgemmStridedBatched cublasCgemmStridedBatched_64
 * cublasZgemm_v2 cublasZgemm_v2_64 cublasZgemmBatched cublasZgemmBatched_64
 * cublasZgemmStridedBatched cublasZgemmStridedBatched_64
 * cublasHgemm cublasHgemm_64 cublasHgemmBatched cublasHgemmBatched_64
 * cublasHgemmStridedBatched cublasHgemmStridedBatched_64
 */
CLASSIC_BOTH(Sgemm_v2, Sgemm, CUDA_R_32F, SIM_COMPUTE_32F)
CLASSIC_BOTH(Dgemm_v2, Dgemm, CUDA_R_64F, SIM_COMPUTE_64F)
CLASSIC_BOTH(Cgemm_v2, Cgemm, CUDA_C_32F, SIM_COMPUTE_32F)
CLASSIC_BOTH(Zgemm_v2, Zgemm, CUDA_C_64F, SIM_COMPUTE_64F)
CLASSIC_BOTH(Hgemm, Hgemm, CUDA_R_16F, SIM_COMPUTE_16F)

#define EX(I, suffix)                                                                              \
	SIM_API int cublasSgemmEx##suffix(                                                         \
		void *h, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, int at,  \
		I lda, const void *b, int bt, I ldb, const void *beta, void *c, int ct, I ldc)     \
	{                                                                                          \
		return multiply(h, &PRODUCT(1, at, bt, ct, SIM_COMPUTE_32F, CUDA_R_32F));          \
	}                                                                                          \
	SIM_API int cublasGemmEx##suffix(void *h, int ta, int tb, I m, I n, I k,                   \
					 const void *alpha, const void *a, int at, I lda,          \
					 const void *b, int bt, I ldb, const void *beta, void *c,  \
					 int ct, I ldc, int compute, int algo)                     \
	{                                                                                          \
		return multiply(h, &PRODUCT(1, at, bt, ct, compute, scale_of(compute, ct)));       \
	}                                                                                          \
	SIM_API int cublasGemmBatchedEx##suffix(                                                   \
		void *h, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, int at,  \
		I lda, const void *b, int bt, I ldb, const void *beta, void *c, int ct, I ldc,     \
		I batch, int compute, int algo)                                                    \
	{                                                                                          \
		return multiply(h, &PRODUCT(batch, at, bt, ct, compute, scale_of(compute, ct)));   \
	}                                                                                          \
	SIM_API int cublasGemmStridedBatchedEx##suffix(                                            \
		void *h, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, int at,  \
		I lda, long long sa, const void *b, int bt, I ldb, long long sb, const void *beta, \
		void *c, int ct, I ldc, long long sc, I batch, int compute, int algo)              \
	{                                                                                          \
		return multiply(h, &PRODUCT(batch, at, bt, ct, compute, scale_of(compute, ct)));   \
	}

/*
 * SIM_API_NAMES: cublasSgemmEx cublasSgemmEx_64 cublasGemmEx cublasGemmEx_64
 * cublasGemmBatchedEx cublasGemmBatchedEx_64 cublasGemmStridedBatchedEx cublasGemmStridedBatchedEx_64
 */
EX(int, )
EX(int64_t, _64)
