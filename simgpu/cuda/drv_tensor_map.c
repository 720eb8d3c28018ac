/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor maps of the tensor memory accelerator. They are opaque, and no simulated kernel reads one: the arguments are
 * checked as the driver documents it, and kept in the map so that equal arguments give equal maps.
 */
#include "simgpu/cuda/drv.h"

#include "simgpu/core/sim_devices.h"

#include <string.h>

static CUresult fill(CUtensorMap *map, void *address, cuuint32_t rank, const cuuint64_t *dim,
		     const cuuint64_t *strides, const cuuint32_t *box, uint64_t mode)
{
	uint64_t words[CU_TENSOR_MAP_NUM_QWORDS] = {0};

	if (!map || (uintptr_t)map % 64 || !dim || rank < 1 || rank > 5 || (uintptr_t)address % 16)
		return CUDA_ERROR_INVALID_VALUE;
	if (sim_settings.device->cc_major < 9)
		return CUDA_ERROR_NOT_SUPPORTED;
	words[0] = (uintptr_t)address;
	words[1] = mode << 8 | rank;
	for (cuuint32_t i = 0; i < rank; i++) {
		if (!dim[i] || dim[i] > (1ull << 32) || (box && (!box[i] || box[i] > 256)) ||
		    (i + 1 < rank && strides && (strides[i] % 16 || strides[i] >= 1ull << 40)))
			return CUDA_ERROR_INVALID_VALUE;
		words[2 + i] = dim[i] << 16 | (box ? box[i] : 0);
		if (i + 1 < rank && strides)
			words[8 + i] = strides[i];
	}
	memcpy(map->opaque, words, sizeof(words));
	return CUDA_SUCCESS;
}

CUresult sim_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
				    void *address, const cuuint64_t *dim, const cuuint64_t *strides,
				    const cuuint32_t *box, const cuuint32_t *element_strides,
				    CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
				    CUtensorMapL2promotion promotion,
				    CUtensorMapFloatOOBfill fill_with)
{
	if (!box || !element_strides || (rank > 1 && !strides))
		return CUDA_ERROR_INVALID_VALUE;
	return fill(map, address, rank, dim, strides, box,
		    (uint64_t)type << 32 | (uint64_t)interleave << 24 | (uint64_t)swizzle << 16 |
			    (uint64_t)promotion << 8 | (uint64_t)fill_with);
}

CUresult sim_cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
	uint64_t at = (uintptr_t)address;

	if (!map || (uintptr_t)map % 64 || at % 16)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(map->opaque, &at, sizeof(at));
	return CUDA_SUCCESS;
}
