/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of NCCL's interface that train2 uses, for machines without nccl.h. Where nccl.h was included first, its own
 * types stand and the compiler checks ours against them: values by assertion, prototypes by declaring them again.
 */
#ifndef TRAIN2_NCCL_MIN_H
#define TRAIN2_NCCL_MIN_H

#include <cuda_runtime.h>
#include <stddef.h>

#ifdef NCCL_MAJOR
static_assert(NCCL_UNIQUE_ID_BYTES == 128 && sizeof(ncclUniqueId) == 128, "unique id is 128 bytes");
static_assert(ncclSuccess == 0 && ncclSum == 0, "result and operation values");
static_assert(ncclFloat32 == 7 && ncclBfloat16 == 9, "data type values");
#else
struct ncclComm;
using ncclComm_t = struct ncclComm *;
struct ncclUniqueId {
	char internal[128];
};
enum ncclResult_t { ncclSuccess = 0 };
enum ncclDataType_t { ncclFloat32 = 7, ncclBfloat16 = 9 };
enum ncclRedOp_t { ncclSum = 0 };
#endif

extern "C" {
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
			   ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
const char *ncclGetErrorString(ncclResult_t result);
}
#endif
