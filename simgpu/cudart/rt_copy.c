/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and fills. The direction a caller gives selects the driver call (cuMemcpyHtoDAsync, ...), as in NVIDIA's
 * runtime: interposers count the kinds by it. Arrays are not simulated. Any thread, no state.
 */
#include "simgpu/cudart/rt.h"
#include "rt_impl.h"

static cudaError_t copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	CUdeviceptr d = (CUdeviceptr)dst, s = (CUdeviceptr)src;

	if ((unsigned)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	RT_TRY(rt_context());
	if (!count)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return RT_ERR(DRV(cuMemcpyHtoD)(d, src, count));
	case cudaMemcpyDeviceToHost:
		return RT_ERR(DRV(cuMemcpyDtoH)(dst, s, count));
	case cudaMemcpyDeviceToDevice:
		return RT_ERR(DRV(cuMemcpyDtoD)(d, s, count));
	default:
		return RT_ERR(DRV(cuMemcpy)(d, s, count));
	}
}

static cudaError_t copy_async(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
			      cudaStream_t stream)
{
	CUdeviceptr d = (CUdeviceptr)dst, s = (CUdeviceptr)src;

	if ((unsigned)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	RT_TRY(rt_context());
	if (!count)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return RT_ERR(DRV(cuMemcpyHtoDAsync)(d, src, count, stream));
	case cudaMemcpyDeviceToHost:
		return RT_ERR(DRV(cuMemcpyDtoHAsync)(dst, s, count, stream));
	case cudaMemcpyDeviceToDevice:
		return RT_ERR(DRV(cuMemcpyDtoDAsync)(d, s, count, stream));
	default:
		return RT_ERR(DRV(cuMemcpyAsync)(d, s, count, stream));
	}
}

cudaError_t rt_cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	return copy(dst, src, count, kind);
}

cudaError_t rt_cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
			       cudaStream_t stream)
{
	return copy_async(dst, src, count, kind, stream);
}

cudaError_t rt_cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice,
			      size_t count)
{
	CUcontext to, from;

	RT_TRY(rt_context());
	RT_TRY(rt_primary(dstDevice, &to));
	RT_TRY(rt_primary(srcDevice, &from));
	return RT_ERR(DRV(cuMemcpyPeer)((CUdeviceptr)dst, to, (CUdeviceptr)src, from, count));
}

cudaError_t rt_cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
				   size_t count, cudaStream_t stream)
{
	CUcontext to, from;

	RT_TRY(rt_context());
	RT_TRY(rt_primary(dstDevice, &to));
	RT_TRY(rt_primary(srcDevice, &from));
	return RT_ERR(DRV(cuMemcpyPeerAsync)((CUdeviceptr)dst, to, (CUdeviceptr)src, from, count,
					     stream));
}

static cudaError_t in_symbol(const void *symbol, size_t count, size_t offset, char **ret)
{
	CUdeviceptr at;
	size_t bytes;

	RT_TRY(rt_symbol(symbol, &at, &bytes));
	if (offset > bytes || count > bytes - offset)
		return cudaErrorInvalidValue;
	*ret = (char *)at + offset;
	return cudaSuccess;
}

cudaError_t rt_cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset,
				  enum cudaMemcpyKind kind)
{
	char *at;

	RT_TRY(in_symbol(symbol, count, offset, &at));
	return copy(at, src, count, kind);
}

cudaError_t rt_cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
				    enum cudaMemcpyKind kind)
{
	char *at;

	RT_TRY(in_symbol(symbol, count, offset, &at));
	return copy(dst, at, count, kind);
}

cudaError_t rt_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
				       size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	char *at;

	RT_TRY(in_symbol(symbol, count, offset, &at));
	return copy_async(at, src, count, kind, stream);
}

cudaError_t rt_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
					 enum cudaMemcpyKind kind, cudaStream_t stream)
{
	char *at;

	RT_TRY(in_symbol(symbol, count, offset, &at));
	return copy_async(dst, at, count, kind, stream);
}

/* [kind]: memory type of source and destination. */
static const CUmemorytype kind_types[][2] = {
	[cudaMemcpyHostToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST},
	[cudaMemcpyHostToDevice] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},
	[cudaMemcpyDeviceToHost] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
	[cudaMemcpyDeviceToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE},
	[cudaMemcpyDefault] = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED},
};

static cudaError_t describe_2d(CUDA_MEMCPY2D *c, void *dst, size_t dpitch, const void *src,
			       size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind)
{
	if ((unsigned)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (width > dpitch || width > spitch)
		return cudaErrorInvalidPitchValue;
	memset(c, 0, sizeof(*c));
	c->srcMemoryType = kind_types[kind][0];
	c->srcHost = src;
	c->srcDevice = (CUdeviceptr)src;
	c->srcPitch = spitch;
	c->dstMemoryType = kind_types[kind][1];
	c->dstHost = dst;
	c->dstDevice = (CUdeviceptr)dst;
	c->dstPitch = dpitch;
	c->WidthInBytes = width;
	c->Height = height;
	return cudaSuccess;
}

cudaError_t rt_cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			    size_t height, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D c;

	RT_TRY(describe_2d(&c, dst, dpitch, src, spitch, width, height, kind));
	RT_TRY(rt_context());
	return width && height ? RT_ERR(DRV(cuMemcpy2DUnaligned)(&c)) : cudaSuccess;
}

cudaError_t rt_cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
				 size_t width, size_t height, enum cudaMemcpyKind kind,
				 cudaStream_t stream)
{
	CUDA_MEMCPY2D c;

	RT_TRY(describe_2d(&c, dst, dpitch, src, spitch, width, height, kind));
	RT_TRY(rt_context());
	return width && height ? RT_ERR(DRV(cuMemcpy2DAsync)(&c, stream)) : cudaSuccess;
}

static cudaError_t describe_3d(CUDA_MEMCPY3D *c, const struct cudaMemcpy3DParms *p)
{
	if (!p)
		return cudaErrorInvalidValue;
	if ((unsigned)p->kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (p->srcArray || p->dstArray)
		return cudaErrorNotSupported;
	memset(c, 0, sizeof(*c));
	c->srcXInBytes = p->srcPos.x;
	c->srcY = p->srcPos.y;
	c->srcZ = p->srcPos.z;
	c->srcMemoryType = kind_types[p->kind][0];
	c->srcHost = p->srcPtr.ptr;
	c->srcDevice = (CUdeviceptr)p->srcPtr.ptr;
	c->srcPitch = p->srcPtr.pitch;
	c->srcHeight = p->srcPtr.ysize;
	c->dstXInBytes = p->dstPos.x;
	c->dstY = p->dstPos.y;
	c->dstZ = p->dstPos.z;
	c->dstMemoryType = kind_types[p->kind][1];
	c->dstHost = p->dstPtr.ptr;
	c->dstDevice = (CUdeviceptr)p->dstPtr.ptr;
	c->dstPitch = p->dstPtr.pitch;
	c->dstHeight = p->dstPtr.ysize;
	c->WidthInBytes = p->extent.width;
	c->Height = p->extent.height;
	c->Depth = p->extent.depth;
	return cudaSuccess;
}

cudaError_t rt_cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;

	RT_TRY(describe_3d(&c, p));
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemcpy3D)(&c));
}

cudaError_t rt_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	CUDA_MEMCPY3D c;

	RT_TRY(describe_3d(&c, p));
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemcpy3DAsync)(&c, stream));
}

cudaError_t rt_cudaMemset(void *devPtr, int value, size_t count)
{
	RT_TRY(rt_context());
	return count ? RT_ERR(DRV(cuMemsetD8)((CUdeviceptr)devPtr, (unsigned char)value, count))
		     : cudaSuccess;
}

cudaError_t rt_cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
	RT_TRY(rt_context());
	return count ? RT_ERR(DRV(cuMemsetD8Async)((CUdeviceptr)devPtr, (unsigned char)value, count,
						   stream))
		     : cudaSuccess;
}

cudaError_t rt_cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
	RT_TRY(rt_context());
	return RT_ERR(
		DRV(cuMemsetD2D8)((CUdeviceptr)devPtr, pitch, (unsigned char)value, width, height));
}

cudaError_t rt_cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width, size_t height,
				 cudaStream_t stream)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuMemsetD2D8Async)((CUdeviceptr)devPtr, pitch, (unsigned char)value,
					     width, height, stream));
}
