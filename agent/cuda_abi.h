/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h with its version macros taken back: cuCtxDestroy is then the old entry point and cuCtxDestroy_v2 the new
 * one, which is what hooks have to spell. Only names that the lists use bare need it.
 */
#ifndef WT_CUDA_ABI_H
#define WT_CUDA_ABI_H

#include <cuda.h>

#undef cuCtxCreate
#undef cuCtxDestroy
#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuGetProcAddress
#undef cuGraphExecUpdate
#undef cuGraphInstantiate
#undef cuMemcpy3DBatchAsync
#undef cuMemcpyBatchAsync
#undef cuStreamBatchMemOp
#undef cuStreamBeginCapture
#undef cuStreamDestroy
#undef cuStreamWaitValue32
#undef cuStreamWaitValue64
#undef cuStreamWriteValue32
#undef cuStreamWriteValue64

#endif
