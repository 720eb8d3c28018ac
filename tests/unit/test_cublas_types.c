// SPDX-License-Identifier: Apache-2.0
/*
 * agent/cublas_types.h and hooks_cublas.def against the real headers, where they are: values, and for every hook that
 * the header's function is of the type our list says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#if __has_include(<cublasLt.h>) && __has_include(<cublas_v2.h>)
#pragma GCC diagnostic ignored "-Wstrict-prototypes" /* theirs */
#include <cublas_v2.h>
#include <cublasLt.h>
#define BLAS_HANDLE    cublasHandle_t
#define BLAS_LT_HANDLE cublasLtHandle_t
#define BLAS_LT_DESC   cublasLtMatmulDesc_t
#define BLAS_LT_LAYOUT cublasLtMatrixLayout_t
#define BLAS_LT_ALGO   cublasLtMatmulAlgo_t
#define BLAS_OP	       cublasOperation_t
#define BLAS_TYPE      cudaDataType
#define BLAS_COMPUTE   cublasComputeType_t
#define BLAS_ALGO      cublasGemmAlgo_t
#define BLAS_STREAM    cudaStream_t
#define BLAS_S	       float
#define BLAS_D	       double
#define BLAS_C	       cuComplex
#define BLAS_Z	       cuDoubleComplex
#define BLAS_H	       unsigned short
/* The header shows those of __half to C++ alone: nothing to compare with. */
cublasStatus_t cublasHgemm(), cublasHgemm_64(), cublasHgemmBatched(), cublasHgemmBatched_64(),
	cublasHgemmStridedBatched(), cublasHgemmStridedBatched_64();
#include "agent/cublas_types.h"
#include "agent/hook_forms.h"

static void test_values(void **state)
{
	assert_int_equal(WT_BLAS_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED);
	assert_int_equal(WT_R_32F, CUDA_R_32F);
	assert_int_equal(WT_R_64F, CUDA_R_64F);
	assert_int_equal(WT_R_16F, CUDA_R_16F);
	assert_int_equal(WT_C_32F, CUDA_C_32F);
	assert_int_equal(WT_C_64F, CUDA_C_64F);
	assert_int_equal(WT_R_8U, CUDA_R_8U);
	assert_int_equal(WT_COMPUTE_16F, CUBLAS_COMPUTE_16F);
	assert_int_equal(WT_COMPUTE_32F, CUBLAS_COMPUTE_32F);
	assert_int_equal(WT_COMPUTE_64F, CUBLAS_COMPUTE_64F);
	assert_int_equal(WT_COMPUTE_32I, CUBLAS_COMPUTE_32I);
	assert_int_equal(WT_MATH_TF32, CUBLAS_TF32_TENSOR_OP_MATH);
	assert_int_equal(WT_LAYOUT_TYPE, CUBLASLT_MATRIX_LAYOUT_TYPE);
	assert_int_equal(WT_LAYOUT_ROWS, CUBLASLT_MATRIX_LAYOUT_ROWS);
	assert_int_equal(WT_LAYOUT_COLS, CUBLASLT_MATRIX_LAYOUT_COLS);
	assert_int_equal(WT_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
	assert_int_equal(WT_LAYOUT_BATCH_STRIDE, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
	assert_int_equal(WT_DESC_COMPUTE_TYPE, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
	assert_int_equal(WT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA);
	assert_int_equal(WT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB);
	assert_int_equal(WT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE);
	assert_int_equal(CUBLAS_OP_N, 0); /* 2 bits each, and "not N" swaps sizes */
	assert_true(CUBLAS_OP_CONJG < 4);
}

static void test_prototypes(void **state)
{
	unsigned rows = 0;

#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_)                                         \
	rows++;                                                                                    \
	if (!__builtin_types_compatible_p(cublasStatus_t(*) p_, __typeof__(&n_)))                  \
		fail_msg("%s is of another type", #n_);
#include "agent/hooks_cublas.def"
#undef WT_ROW
	assert_true(rows > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_prototypes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("skip-ok: no headers of cuBLAS on this machine");
	return 77;
}
#endif
