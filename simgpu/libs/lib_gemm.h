/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One matrix product as a kernel: which name a library would give it on this device, how it is cut into blocks, and
 * what it costs. Declarations of NVIDIA's enumerators that are needed here are ours (a build wants no cublas headers).
 */
#ifndef SIM_LIB_GEMM_H
#define SIM_LIB_GEMM_H

#include <library_types.h>

#include "simgpu/libs/lib_kernel.h"

/* cublasComputeType_t */
enum sim_compute {
	SIM_COMPUTE_16F = 64,
	SIM_COMPUTE_32F = 68,
	SIM_COMPUTE_32F_PEDANTIC = 69,
	SIM_COMPUTE_64F = 70,
	SIM_COMPUTE_64F_PEDANTIC = 71,
	SIM_COMPUTE_32I = 72,
	SIM_COMPUTE_FAST_16F = 74,
	SIM_COMPUTE_FAST_16BF = 75,
	SIM_COMPUTE_FAST_TF32 = 77
};

struct sim_gemm {
	int64_t m, n, k, batch; /* of the column-major product */
	int trans_a, trans_b;	/* cublasOperation_t */
	int type_a, type_b, type_d;
	int compute;
	int reads_c;	  /* beta is not zero */
	double aux_bytes; /* epilogue: bias, gelu's auxiliary output */
};

uint32_t sim_type_bits(int type); /* cudaDataType; complex counts both parts */
/* 0 or CUDA_ERROR_INVALID_VALUE; an empty product launches nothing. */
int sim_gemm_launch(const struct sim_gemm *g, void *stream);

#endif
