/* SPDX-License-Identifier: Apache-2.0 */
/* Words of fill.h that read a structure of the driver's, or ask it something. The caller keeps errno. */
#ifndef WT_FILL_CUDA_H
#define WT_FILL_CUDA_H

#include <stddef.h>

#include "cuda_abi.h"
#include "record.h"

void wt_fill_launch_ex(struct wt_rec *rec, const CUlaunchConfig *config, CUfunction f, int pt);
/* The row tells of the first launch, the return value how many there are. */
uint32_t wt_fill_launch_multi(struct wt_rec *rec, const CUDA_LAUNCH_PARAMS *list, unsigned int n);
/* Unified addresses: only the driver knows which way this goes. */
void wt_fill_copy_any(struct wt_rec *rec, CUdeviceptr dst, CUdeviceptr src, size_t bytes);
void wt_fill_copy_2d(struct wt_rec *rec, const CUDA_MEMCPY2D *copy);
void wt_fill_copy_3d(struct wt_rec *rec, const CUDA_MEMCPY3D *copy);
void wt_fill_copy_3d_peer(struct wt_rec *rec, const CUDA_MEMCPY3D_PEER *copy);
/* Batches are soft: how many records the driver makes of one is not known. Return the entries that move something. */
uint32_t wt_fill_copy_batch(struct wt_rec *rec, const size_t *sizes, size_t n);
uint32_t wt_fill_copy_batch_3d(struct wt_rec *rec, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t n);

#endif
