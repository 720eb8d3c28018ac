/* SPDX-License-Identifier: Apache-2.0 */
/* What can be asked of a pointer, and hints about memory that change nothing here. */
#include "simgpu/cuda/drv.h"

union value {
	void *p;
	CUdeviceptr d;
	CUmemorytype type;
	int i;
	unsigned int u;
	unsigned long long id;
	size_t n;
};

static bool is_host(const struct drv_range *m)
{
	return m->kind == DRV_MEM_PINNED || m->kind == DRV_MEM_REGISTERED;
}

/* Size of the answer, 0 = no such attribute here. m->kind may be NONE: plain host memory. */
static size_t attribute(CUpointer_attribute a, uintptr_t ptr, const struct drv_range *m,
			union value *v)
{
	bool known = m->kind != DRV_MEM_NONE;

	memset(v, 0, sizeof(*v));
	switch (a) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		v->p = m->ctx;
		return sizeof(v->p);
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		v->type = !known ? 0 : is_host(m) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		return sizeof(v->type);
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		v->d = known ? ptr : 0;
		return sizeof(v->d);
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		v->p = known && m->kind != DRV_MEM_DEVICE ? (void *)ptr : NULL;
		return sizeof(v->p);
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		return sizeof(v->u);
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		v->id = m->id;
		return sizeof(v->id);
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		v->u = m->kind == DRV_MEM_MANAGED;
		return sizeof(v->u);
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		v->i = known ? m->device : -2; /* no device */
		return sizeof(v->i);
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		v->u = m->kind == DRV_MEM_DEVICE && !m->pool;
		return sizeof(v->u);
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		v->d = m->start;
		return sizeof(v->d);
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		v->n = m->bytes;
		return sizeof(v->n);
	case CU_POINTER_ATTRIBUTE_MAPPED:
		v->u = known;
		return sizeof(v->u);
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		return sizeof(v->id);
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		return sizeof(v->u);
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		v->u = known ? 3 : 0; /* read and write */
		return sizeof(v->u);
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		v->p = m->pool;
		return sizeof(v->p);
	default:
		return 0;
	}
}

CUresult sim_cuPointerGetAttribute(void *data, CUpointer_attribute a, CUdeviceptr ptr)
{
	struct drv_range m = {0};
	union value v;
	size_t n;

	if (!data || !drv_range_of(ptr, &m))
		return CUDA_ERROR_INVALID_VALUE;
	n = attribute(a, ptr, &m, &v);
	if (!n)
		return CUDA_ERROR_NOT_SUPPORTED;
	memcpy(data, &v, n);
	return CUDA_SUCCESS;
}

/* Unlike the single form this answers for plain host memory too: zeroes. */
CUresult sim_cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attributes, void **data,
				    CUdeviceptr ptr)
{
	struct drv_range m = {0};

	if (!attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	drv_range_of(ptr, &m);
	for (unsigned int i = 0; i < n; i++) {
		union value v;
		size_t bytes = attribute(attributes[i], ptr, &m, &v);
		if (!bytes)
			return CUDA_ERROR_NOT_SUPPORTED;
		memcpy(data[i], &v, bytes);
	}
	return CUDA_SUCCESS;
}

CUresult sim_cuPointerSetAttribute(const void *value, CUpointer_attribute a, CUdeviceptr ptr)
{
	struct drv_range m;

	if (!value || !drv_range_of(ptr, &m))
		return CUDA_ERROR_INVALID_VALUE;
	return a == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr ptr)
{
	struct drv_range m;

	if (!drv_range_of(ptr, &m))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = m.start;
	if (bytes)
		*bytes = m.bytes;
	return CUDA_SUCCESS;
}

static CUresult hint(CUdeviceptr ptr, size_t bytes)
{
	struct drv_range m;

	if (!drv_range_of(ptr, &m) || m.kind != DRV_MEM_MANAGED ||
	    bytes > m.bytes - (ptr - m.start))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemAdvise(CUdeviceptr ptr, size_t bytes, CUmem_advise advice, CUdevice device)
{
	return hint(ptr, bytes);
}

CUresult sim_cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, CUmem_advise advice,
			    CUmemLocation location)
{
	return hint(ptr, bytes);
}

CUresult sim_cuMemPrefetchAsync(CUdeviceptr ptr, size_t bytes, CUdevice device, CUstream h)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	return r == CUDA_SUCCESS ? hint(ptr, bytes) : r;
}

CUresult sim_cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t bytes, CUmemLocation location,
				   unsigned int flags, CUstream h)
{
	return sim_cuMemPrefetchAsync(ptr, bytes, 0, h);
}
