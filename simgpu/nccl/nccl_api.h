/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL 2.28 as its users see it: our own declarations, so that nothing of ours needs NCCL installed to build.
 *
 * Where the real nccl.h was included first, the types are left to it and only the prototypes are repeated: a
 * difference in any of them, or in a value of the lists below, then fails to compile (tests/cli/sim-nccl-api.sh).
 */
#ifndef SIM_NCCL_API_H
#define SIM_NCCL_API_H

#include <cuda_runtime_api.h>
#include <limits.h>
#include <stddef.h>

#define NCCL_API_RESULTS(X)                                                                        \
	X(ncclSuccess, 0)                                                                          \
	X(ncclUnhandledCudaError, 1)                                                               \
	X(ncclSystemError, 2)                                                                      \
	X(ncclInternalError, 3)                                                                    \
	X(ncclInvalidArgument, 4)                                                                  \
	X(ncclInvalidUsage, 5)                                                                     \
	X(ncclRemoteError, 6)                                                                      \
	X(ncclInProgress, 7)                                                                       \
	X(ncclNumResults, 8)

#define NCCL_API_TYPES(X)                                                                          \
	X(ncclInt8, 0)                                                                             \
	X(ncclChar, 0)                                                                             \
	X(ncclUint8, 1)                                                                            \
	X(ncclInt32, 2)                                                                            \
	X(ncclInt, 2)                                                                              \
	X(ncclUint32, 3)                                                                           \
	X(ncclInt64, 4)                                                                            \
	X(ncclUint64, 5)                                                                           \
	X(ncclFloat16, 6)                                                                          \
	X(ncclHalf, 6)                                                                             \
	X(ncclFloat32, 7)                                                                          \
	X(ncclFloat, 7)                                                                            \
	X(ncclFloat64, 8)                                                                          \
	X(ncclDouble, 8)                                                                           \
	X(ncclBfloat16, 9)                                                                         \
	X(ncclFloat8e4m3, 10)                                                                      \
	X(ncclFloat8e5m2, 11)                                                                      \
	X(ncclNumTypes, 12)

#define NCCL_API_OPS(X)                                                                            \
	X(ncclSum, 0)                                                                              \
	X(ncclProd, 1)                                                                             \
	X(ncclMax, 2)                                                                              \
	X(ncclMin, 3)                                                                              \
	X(ncclAvg, 4)                                                                              \
	X(ncclNumOps, 5)                                                                           \
	X(ncclMaxRedOp, 0x7fffffff)

#ifndef NCCL_H_
#define NCCL_UNIQUE_ID_BYTES  128
#define NCCL_VERSION_CODE     22809
#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_SPLIT_NOCOLOR    -1

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;
typedef struct {
	char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

#define NCCL_API_ENUM(name, value) name = value,
typedef enum { NCCL_API_RESULTS(NCCL_API_ENUM) } ncclResult_t;
typedef enum { NCCL_API_TYPES(NCCL_API_ENUM) } ncclDataType_t;
typedef enum { NCCL_API_OPS(NCCL_API_ENUM) } ncclRedOp_t;
typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

typedef struct ncclConfig_v22800 {
	size_t size;
	unsigned int magic, version;
	int blocking, cgaClusterSize, minCTAs, maxCTAs;
	const char *netName;
	int splitShare, trafficClass;
	const char *commName;
	int collnetEnable, CTAPolicy, shrinkShare, nvlsCTAs, nChannelsPerNetPeer,
		nvlinkCentricSched;
} ncclConfig_t;

typedef struct ncclSimInfo_v22200 {
	size_t size;
	unsigned int magic, version;
	float estimatedTime;
} ncclSimInfo_t;
#endif

/* Return type, name, parameters. Each exists as ncclX, weak, and pncclX. */
#define NCCL_API_FUNCTIONS(F)                                                                      \
	F(ncclResult_t, MemAlloc, (void **ptr, size_t size))                                       \
	F(ncclResult_t, MemFree, (void *ptr))                                                      \
	F(ncclResult_t, GetVersion, (int *version))                                                \
	F(ncclResult_t, GetUniqueId, (ncclUniqueId * uniqueId))                                    \
	F(ncclResult_t, CommInitRankConfig,                                                        \
	  (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t *config))    \
	F(ncclResult_t, CommInitRank,                                                              \
	  (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank))                          \
	F(ncclResult_t, CommInitAll, (ncclComm_t * comm, int ndev, const int *devlist))            \
	F(ncclResult_t, CommInitRankScalable,                                                      \
	  (ncclComm_t * newcomm, int nranks, int myrank, int nId, ncclUniqueId *commIds,           \
	   ncclConfig_t *config))                                                                  \
	F(ncclResult_t, CommFinalize, (ncclComm_t comm))                                           \
	F(ncclResult_t, CommDestroy, (ncclComm_t comm))                                            \
	F(ncclResult_t, CommAbort, (ncclComm_t comm))                                              \
	F(ncclResult_t, CommRevoke, (ncclComm_t comm, int revokeFlags))                            \
	F(ncclResult_t, CommSplit,                                                                 \
	  (ncclComm_t comm, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config))        \
	F(ncclResult_t, CommShrink,                                                                \
	  (ncclComm_t comm, int *excludeRanksList, int excludeRanksCount, ncclComm_t *newcomm,     \
	   ncclConfig_t *config, int shrinkFlags))                                                 \
	F(const char *, GetErrorString, (ncclResult_t result))                                     \
	F(const char *, GetLastError, (ncclComm_t comm))                                           \
	F(ncclResult_t, CommGetAsyncError, (ncclComm_t comm, ncclResult_t * asyncError))           \
	F(ncclResult_t, CommCount, (const ncclComm_t comm, int *count))                            \
	F(ncclResult_t, CommCuDevice, (const ncclComm_t comm, int *device))                        \
	F(ncclResult_t, CommUserRank, (const ncclComm_t comm, int *rank))                          \
	F(ncclResult_t, CommRegister,                                                              \
	  (const ncclComm_t comm, void *buff, size_t size, void **handle))                         \
	F(ncclResult_t, CommDeregister, (const ncclComm_t comm, void *handle))                     \
	F(ncclResult_t, CommWindowRegister,                                                        \
	  (ncclComm_t comm, void *buff, size_t size, ncclWindow_t *win, int winFlags))             \
	F(ncclResult_t, CommWindowDeregister, (ncclComm_t comm, ncclWindow_t win))                 \
	F(ncclResult_t, RedOpCreatePreMulSum,                                                      \
	  (ncclRedOp_t * op, void *scalar, ncclDataType_t datatype,                                \
	   ncclScalarResidence_t residence, ncclComm_t comm))                                      \
	F(ncclResult_t, RedOpDestroy, (ncclRedOp_t op, ncclComm_t comm))                           \
	F(ncclResult_t, Reduce,                                                                    \
	  (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,            \
	   ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream))                        \
	F(ncclResult_t, Bcast,                                                                     \
	  (void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,           \
	   cudaStream_t stream))                                                                   \
	F(ncclResult_t, Broadcast,                                                                 \
	  (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,  \
	   ncclComm_t comm, cudaStream_t stream))                                                  \
	F(ncclResult_t, AllReduce,                                                                 \
	  (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,            \
	   ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream))                                  \
	F(ncclResult_t, ReduceScatter,                                                             \
	  (const void *sendbuff, void *recvbuff, size_t recvcount, ncclDataType_t datatype,        \
	   ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream))                                  \
	F(ncclResult_t, AllGather,                                                                 \
	  (const void *sendbuff, void *recvbuff, size_t sendcount, ncclDataType_t datatype,        \
	   ncclComm_t comm, cudaStream_t stream))                                                  \
	F(ncclResult_t, AlltoAll,                                                                  \
	  (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,            \
	   ncclComm_t comm, cudaStream_t stream))                                                  \
	F(ncclResult_t, Gather,                                                                    \
	  (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,  \
	   ncclComm_t comm, cudaStream_t stream))                                                  \
	F(ncclResult_t, Scatter,                                                                   \
	  (const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,  \
	   ncclComm_t comm, cudaStream_t stream))                                                  \
	F(ncclResult_t, Send,                                                                      \
	  (const void *sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm, \
	   cudaStream_t stream))                                                                   \
	F(ncclResult_t, Recv,                                                                      \
	  (void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,       \
	   cudaStream_t stream))                                                                   \
	F(ncclResult_t, GroupStart, (void))                                                        \
	F(ncclResult_t, GroupEnd, (void))                                                          \
	F(ncclResult_t, GroupSimulateEnd, (ncclSimInfo_t * simInfo))                               \
	F(void, ResetDebugInit, (void))

#define NCCL_API_DECLARE(ret, name, params)                                                        \
	ret nccl##name params;                                                                     \
	ret pnccl##name params;
NCCL_API_FUNCTIONS(NCCL_API_DECLARE)

#endif
