/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the runtime hands out: device, pinned, managed, pools; what a pointer is. Copies are in rt_copy.c.
 * Any thread; no state here, the driver owns every allocation.
 */
#include "simgpu/cudart/rt.h"
#include "rt_impl.h"

cudaError_t rt_cudaMalloc(void **devPtr, size_t size)
{
	CUdeviceptr p = 0;

	if (!devPtr)
		return cudaErrorInvalidValue;
	*devPtr = NULL;
	RT_TRY(rt_context());
	if (!size)
		return cudaSuccess;
	RT_TRY(DRV(cuMemAlloc)(&p, size));
	*devPtr = (void *)p;
	return cudaSuccess;
}

cudaError_t rt_cudaFree(void *devPtr)
{
	/* cudaFree(0) is the old way to ask for the context. */
	RT_TRY(rt_context());
	return devPtr ? RT_ERR(DRV(cuMemFree)((CUdeviceptr)devPtr)) : cudaSuccess;
}

cudaError_t rt_cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
	if (!devPtr || !pitch)
		return cudaErrorInvalidValue;
	*devPtr = NULL;
	RT_TRY(rt_context());
	if (!width || !height)
		return cudaSuccess;
	return RT_ERR(DRV(cuMemAllocPitch)((CUdeviceptr *)devPtr, pitch, width, height, 4));
}

cudaError_t rt_cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
	void *p;
	size_t pitch = 0;

	if (!pitchedDevPtr || (extent.depth && extent.height > SIZE_MAX / extent.depth))
		return cudaErrorInvalidValue;
	RT_TRY(rt_cudaMallocPitch(&p, &pitch, extent.width, extent.height * extent.depth));
	*pitchedDevPtr = (struct cudaPitchedPtr){p, pitch, extent.width, extent.height};
	return cudaSuccess;
}

cudaError_t rt_cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemAllocManaged)((CUdeviceptr *)devPtr, size, flags));
}

cudaError_t rt_cudaMallocHost(void **ptr, size_t size)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemHostAlloc)(ptr, size, 0));
}

cudaError_t rt_cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemHostAlloc)(pHost, size, flags));
}

cudaError_t rt_cudaFreeHost(void *ptr)
{
	RT_TRY(rt_context());
	return ptr ? RT_ERR(DRV(cuMemFreeHost)(ptr)) : cudaSuccess;
}

cudaError_t rt_cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemHostRegister)(ptr, size, flags));
}

cudaError_t rt_cudaHostUnregister(void *ptr)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemHostUnregister)(ptr));
}

cudaError_t rt_cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemHostGetDevicePointer)((CUdeviceptr *)pDevice, pHost, flags));
}

cudaError_t rt_cudaHostGetFlags(unsigned int *pFlags, void *pHost)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemHostGetFlags)(pFlags, pHost));
}

cudaError_t rt_cudaMemGetInfo(size_t *free, size_t *total)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemGetInfo)(free, total));
}

cudaError_t rt_cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemAllocAsync)((CUdeviceptr *)devPtr, size, hStream));
}

cudaError_t rt_cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemFreeAsync)((CUdeviceptr)devPtr, hStream));
}

cudaError_t rt_cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
				       cudaStream_t stream)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemAllocFromPoolAsync)((CUdeviceptr *)ptr, size, (CUmemoryPool)memPool,
						   stream));
}

cudaError_t rt_cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
	return RT_ERR(DRV(cuDeviceGetDefaultMemPool)((CUmemoryPool *)memPool, device));
}

cudaError_t rt_cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
	return RT_ERR(DRV(cuDeviceGetMemPool)((CUmemoryPool *)memPool, device));
}

cudaError_t rt_cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
	return RT_ERR(DRV(cuDeviceSetMemPool)(device, (CUmemoryPool)memPool));
}

cudaError_t rt_cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
	_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "same layout");
	return RT_ERR(
		DRV(cuMemPoolCreate)((CUmemoryPool *)memPool, (const CUmemPoolProps *)poolProps));
}

cudaError_t rt_cudaMemPoolDestroy(cudaMemPool_t memPool)
{
	return RT_ERR(DRV(cuMemPoolDestroy)((CUmemoryPool)memPool));
}

cudaError_t rt_cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
	return RT_ERR(DRV(cuMemPoolTrimTo)((CUmemoryPool)memPool, minBytesToKeep));
}

cudaError_t rt_cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
				       void *value)
{
	return RT_ERR(DRV(cuMemPoolSetAttribute)((CUmemoryPool)memPool, (CUmemPool_attribute)attr,
						 value));
}

cudaError_t rt_cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
				       void *value)
{
	return RT_ERR(DRV(cuMemPoolGetAttribute)((CUmemoryPool)memPool, (CUmemPool_attribute)attr,
						 value));
}

cudaError_t rt_cudaMemPoolSetAccess(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList,
				    size_t count)
{
	_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "same layout");
	return RT_ERR(DRV(cuMemPoolSetAccess)((CUmemoryPool)memPool,
					      (const CUmemAccessDesc *)descList, count));
}

static CUmemLocation location_of(struct cudaMemLocation l)
{
	_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "same layout");
	CUmemLocation r;

	memcpy(&r, &l, sizeof(r));
	return r;
}

cudaError_t rt_cudaMemPrefetchAsync(const void *devPtr, size_t count,
				    struct cudaMemLocation location, unsigned int flags,
				    cudaStream_t stream)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemPrefetchAsync)((CUdeviceptr)devPtr, count, location_of(location),
					      flags, stream));
}

cudaError_t rt_cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
			     struct cudaMemLocation location)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemAdvise)((CUdeviceptr)devPtr, count, (CUmem_advise)advice,
				       location_of(location)));
}

cudaError_t rt_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
	CUpointer_attribute keys[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER,
	};
	CUmemorytype type = 0;
	unsigned managed = 0;
	int device = -2;
	void *dev = NULL, *host = NULL;
	void *values[] = {&type, &managed, &device, &dev, &host};

	if (!attributes)
		return cudaErrorInvalidValue;
	RT_TRY(rt_context());
	RT_TRY(DRV(cuPointerGetAttributes)(5, keys, values, (CUdeviceptr)ptr));
	memset(attributes, 0, sizeof(*attributes));
	attributes->device = device;
	attributes->devicePointer = dev;
	attributes->hostPointer = host;
	attributes->type = managed			  ? cudaMemoryTypeManaged
			   : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
			   : type == CU_MEMORYTYPE_HOST	  ? cudaMemoryTypeHost
							  : cudaMemoryTypeUnregistered;
	if (attributes->type == cudaMemoryTypeUnregistered) {
		attributes->device = cudaInvalidDeviceId;
		attributes->hostPointer = (void *)(uintptr_t)ptr;
	}
	return cudaSuccess;
}

cudaError_t rt_cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
	CUdeviceptr at;
	size_t bytes;

	if (!devPtr)
		return cudaErrorInvalidValue;
	RT_TRY(rt_symbol(symbol, &at, &bytes));
	*devPtr = (void *)at;
	return cudaSuccess;
}

cudaError_t rt_cudaGetSymbolSize(size_t *size, const void *symbol)
{
	CUdeviceptr at;

	if (!size)
		return cudaErrorInvalidValue;
	return rt_symbol(symbol, &at, size);
}
