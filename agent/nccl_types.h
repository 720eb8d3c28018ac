/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The little of NCCL's ABI that our wrappers pass through: our own declarations, so that the agent builds without
 * nccl.h and never depends on its version. test_nccl_types.c holds them against the real header where there is one.
 */
#ifndef WT_NCCL_TYPES_H
#define WT_NCCL_TYPES_H

#include <stddef.h>

struct ncclComm;
struct CUstream_st;
typedef struct ncclComm *wt_nccl_comm;	    /* ncclComm_t */
typedef struct CUstream_st *wt_cuda_stream; /* cudaStream_t == CUstream */
typedef unsigned int wt_nccl_type;	    /* ncclDataType_t */
typedef unsigned int wt_nccl_redop;	    /* ncclRedOp_t */
typedef unsigned int wt_nccl_result;	    /* ncclResult_t */
struct wt_nccl_id {			    /* ncclUniqueId: passed by value, so its size is ABI */
	char internal[128];
};
#ifndef WT_NCCL_CONFIG
#define WT_NCCL_CONFIG void /* grows with every release; never looked into */
#endif

#define WT_NCCL_SUCCESS	     0u
#define WT_NCCL_SYSTEM_ERROR 2u
#define WT_NCCL_IN_PROGRESS  7u
#define WT_NCCL_NO_COLOR     (-1)

#endif
