/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The little of cuBLAS's ABI that our wrappers pass through: our own declarations, so that the agent builds without its
 * headers and never depends on its version. test_cublas_types.c holds them against the real headers where they are.
 */
#ifndef WT_CUBLAS_TYPES_H
#define WT_CUBLAS_TYPES_H

#include <stddef.h>
#include <stdint.h>

struct CUstream_st;
typedef unsigned int wt_blas_status; /* cublasStatus_t */

#ifndef BLAS_HANDLE		    /* a test puts the real types here */
#define BLAS_HANDLE    void *	    /* cublasHandle_t */
#define BLAS_LT_HANDLE void *	    /* cublasLtHandle_t */
#define BLAS_LT_DESC   void *	    /* cublasLtMatmulDesc_t */
#define BLAS_LT_LAYOUT void *	    /* cublasLtMatrixLayout_t */
#define BLAS_LT_ALGO   void	    /* cublasLtMatmulAlgo_t; may be absent, never looked into */
#define BLAS_OP	       unsigned int /* cublasOperation_t */
#define BLAS_TYPE      unsigned int /* cudaDataType_t */
#define BLAS_COMPUTE   unsigned int /* cublasComputeType_t */
#define BLAS_ALGO      int	    /* cublasGemmAlgo_t */
#define BLAS_STREAM    struct CUstream_st *
#define BLAS_S	       float
#define BLAS_D	       double
#define BLAS_C	       void /* cuComplex */
#define BLAS_Z	       void /* cuDoubleComplex */
#define BLAS_H	       void /* __half */
#endif

#define WT_BLAS_NOT_SUPPORTED 15u

enum { /* cudaDataType_t, those that an entry point without a type argument means */
       WT_R_32F = 0,
       WT_R_64F = 1,
       WT_R_16F = 2,
       WT_C_32F = 4,
       WT_C_64F = 5,
       WT_R_8U = 8
};
enum { /* cublasComputeType_t, likewise */
       WT_COMPUTE_16F = 64,
       WT_COMPUTE_32F = 68,
       WT_COMPUTE_64F = 70,
       WT_COMPUTE_32I = 72
};
#define WT_MATH_TF32 3 /* cublasMath_t */
enum {		       /* cublasLtMatrixLayoutAttribute_t */
       WT_LAYOUT_TYPE = 0,
       WT_LAYOUT_ROWS = 2,
       WT_LAYOUT_COLS = 3,
       WT_LAYOUT_BATCH_COUNT = 5,
       WT_LAYOUT_BATCH_STRIDE = 6
};
enum { /* cublasLtMatmulDescAttributes_t */
       WT_DESC_COMPUTE_TYPE = 0,
       WT_DESC_TRANSA = 3,
       WT_DESC_TRANSB = 4,
       WT_DESC_EPILOGUE = 7
};

#endif
