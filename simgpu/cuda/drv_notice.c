/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose honest answer is "nothing": this driver writes no error log, and graphs own no memory (there are no
 * allocation nodes), so callbacks are accepted and never called, and all amounts are zero.
 */
#include "simgpu/cuda/drv.h"

#include <stdlib.h>

CUresult sim_cuLogsRegisterCallback(CUlogsCallback fn, void *arg, CUlogsCallbackHandle *ret)
{
	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret)
		*ret = (CUlogsCallbackHandle)(uintptr_t)fn;
	return CUDA_SUCCESS;
}

CUresult sim_cuLogsUnregisterCallback(CUlogsCallbackHandle handle)
{
	return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuLogsCurrent(CUlogIterator *ret, unsigned int flags)
{
	if (!ret || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = 0;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
	if (device < 0 || device >= sim_settings.device_count || !value ||
	    attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	*(cuuint64_t *)value = 0;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
	/* Only the high-water marks can be set, and only to zero. */
	if (device < 0 || device >= sim_settings.device_count || !value ||
	    (attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH &&
	     attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH) ||
	    *(cuuint64_t *)value)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGraphMemTrim(CUdevice device)
{
	return device >= 0 && device < sim_settings.device_count ? CUDA_SUCCESS
								 : CUDA_ERROR_INVALID_DEVICE;
}
