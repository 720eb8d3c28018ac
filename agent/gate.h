/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers by hook id, for the gates; NULL where the id is of another library. */
#ifndef WT_GATE_H
#define WT_GATE_H

#include "cuda_abi.h"
#include "hook_table.h"

extern void *const wt_wrappers_cuda[WT_ID_END];
extern void *const wt_wrappers_nccl[WT_ID_END];
extern void *const wt_wrappers_cublas[WT_ID_END];
extern void *const wt_wrappers_cudnn[WT_ID_END];
extern void *const wt_wrappers_cupti[WT_ID_END];

CUresult hook_cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags);
CUresult hook_cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
				  CUdriverProcAddressQueryResult *status);

#endif
