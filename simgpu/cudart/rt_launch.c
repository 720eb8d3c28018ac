/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel launches and what one asks of a kernel. Code of nvcc 13 comes by __cudaLaunchKernel with a handle, older code
 * by cudaLaunchKernel and cudaLaunchKernelExC with a host function; all end in one driver launch. Any thread.
 */
#include "simgpu/cudart/rt.h"
#include "rt_impl.h"

_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "same attribute layout");

static cudaError_t launch(CUfunction f, dim3 grid, dim3 block, void **args, size_t smem,
			  cudaStream_t stream)
{
	if (smem > UINT32_MAX)
		return cudaErrorInvalidValue;
	return RT_ERR(DRV(cuLaunchKernel)(f, grid.x, grid.y, grid.z, block.x, block.y, block.z,
					  (unsigned)smem, stream, args, NULL));
}

cudaError_t rt_cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
				size_t sharedMem, cudaStream_t stream)
{
	CUfunction f;

	RT_TRY(rt_kernel(func, &f));
	return launch(f, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t rt___cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args,
				  size_t sharedMem, cudaStream_t stream)
{
	if (!kernel)
		return cudaErrorInvalidResourceHandle;
	RT_TRY(rt_context());
	return launch((CUfunction)kernel, gridDim, blockDim, args, sharedMem, stream);
}

cudaError_t rt_cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim,
					   void **args, size_t sharedMem, cudaStream_t stream)
{
	CUfunction f;

	if (sharedMem > UINT32_MAX)
		return cudaErrorInvalidValue;
	RT_TRY(rt_kernel(func, &f));
	return RT_ERR(DRV(cuLaunchCooperativeKernel)(f, gridDim.x, gridDim.y, gridDim.z, blockDim.x,
						     blockDim.y, blockDim.z, (unsigned)sharedMem,
						     stream, args));
}

cudaError_t rt_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	CUlaunchConfig c = {0};
	CUfunction f;

	if (!config || config->dynamicSmemBytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	RT_TRY(rt_kernel(func, &f));
	c.gridDimX = config->gridDim.x;
	c.gridDimY = config->gridDim.y;
	c.gridDimZ = config->gridDim.z;
	c.blockDimX = config->blockDim.x;
	c.blockDimY = config->blockDim.y;
	c.blockDimZ = config->blockDim.z;
	c.sharedMemBytes = (unsigned)config->dynamicSmemBytes;
	c.hStream = config->stream;
	c.attrs = (CUlaunchAttribute *)
			  config->attrs; /* the same layout and numbers, asserted above */
	c.numAttrs = config->numAttrs;
	return RT_ERR(DRV(cuLaunchKernelEx)(&c, f, args, NULL));
}

cudaError_t rt_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuLaunchHostFunc)(stream, fn, userData));
}

static int func_attr(CUfunction f, CUfunction_attribute attr)
{
	int value = 0;

	return DRV(cuFuncGetAttribute)(&value, attr, f) == CUDA_SUCCESS ? value : 0;
}

cudaError_t rt_cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
	CUfunction f;

	if (!attr)
		return cudaErrorInvalidValue;
	RT_TRY(rt_function(func, &f));
	memset(attr, 0, sizeof(*attr));
	attr->sharedSizeBytes = func_attr(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
	attr->constSizeBytes = func_attr(f, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
	attr->localSizeBytes = func_attr(f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
	attr->maxThreadsPerBlock = func_attr(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
	attr->numRegs = func_attr(f, CU_FUNC_ATTRIBUTE_NUM_REGS);
	attr->ptxVersion = func_attr(f, CU_FUNC_ATTRIBUTE_PTX_VERSION);
	attr->binaryVersion = func_attr(f, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
	attr->cacheModeCA = func_attr(f, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
	attr->maxDynamicSharedSizeBytes =
		func_attr(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
	attr->preferredShmemCarveout =
		func_attr(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
	return cudaSuccess;
}

cudaError_t rt_cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
	CUfunction f;

	RT_TRY(rt_function(func, &f));
	return RT_ERR(DRV(cuFuncSetAttribute)(f, (CUfunction_attribute)attr, value));
}

cudaError_t rt_cudaFuncGetName(const char **name, const void *func)
{
	CUfunction f;

	if (!name)
		return cudaErrorInvalidValue;
	RT_TRY(rt_kernel(func, &f));
	return RT_ERR(DRV(cuKernelGetName)(name, (CUkernel)f));
}

cudaError_t rt_cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
	CUfunction f;

	return rt_kernel(func, &f); /* a hint: nothing to keep */
}

cudaError_t rt_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
							     int blockSize, size_t dynamicSMemSize)
{
	CUfunction f;

	RT_TRY(rt_function(func, &f));
	return RT_ERR(DRV(cuOccupancyMaxActiveBlocksPerMultiprocessor)(numBlocks, f, blockSize,
								       dynamicSMemSize));
}

cudaError_t rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
	CUfunction f;

	RT_TRY(rt_function(func, &f));
	return RT_ERR(DRV(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(
		numBlocks, f, blockSize, dynamicSMemSize, flags));
}
