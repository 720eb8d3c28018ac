/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream-ordered allocation: the memory is there at once, it goes back when the stream has reached the free. What a
 * pool says it reserved is a number (whole chunks, held up to the release threshold); no memory is kept back for it, so
 * that cuMemGetInfo counts what is in use.
 */
#include "simgpu/cuda/drv.h"

#define CHUNK (32ull << 20)

static uint64_t chunks(uint64_t bytes)
{
	return (bytes + CHUNK - 1) / CHUNK * CHUNK;
}

void drv_pool_took(CUmemoryPool pool, uint64_t bytes)
{
	pool->used += bytes;
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	if (pool->used > pool->reserved)
		pool->reserved = chunks(pool->used);
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
}

static void shrink(CUmemoryPool pool, uint64_t keep)
{
	uint64_t least = chunks(pool->used > keep ? pool->used : keep);

	if (least < pool->reserved)
		pool->reserved = least;
}

void drv_pool_gave(CUmemoryPool pool, uint64_t bytes)
{
	pool->used -= bytes;
	shrink(pool, pool->threshold);
}

static CUresult pool_of(CUdevice dev, bool current, CUmemoryPool *ret)
{
	struct drv_device *d;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (dev < 0 || dev >= sim_settings.device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	d = &drv_devices[dev];
	sim_enter();
	if (!d->pool) {
		d->pool = drv_new(DRV_POOL, sizeof(*d->pool));
		d->pool->device = dev;
	}
	*ret = current && d->current_pool ? d->current_pool : d->pool;
	sim_leave();
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev)
{
	return pool_of(dev, false, pool);
}

CUresult sim_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	return pool_of(dev, true, pool);
}

CUresult sim_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	if (dev < 0 || dev >= sim_settings.device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!drv_is(pool, DRV_POOL) || pool->device != dev)
		return CUDA_ERROR_INVALID_VALUE;
	sim_enter();
	drv_devices[dev].current_pool = pool;
	sim_leave();
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	if (!pool || !props || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->location.id < 0 || props->location.id >= sim_settings.device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
		return CUDA_ERROR_NOT_SUPPORTED;
	*pool = drv_new(DRV_POOL, sizeof(**pool));
	(*pool)->device = props->location.id;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolDestroy(CUmemoryPool pool)
{
	if (!drv_is(pool, DRV_POOL))
		return CUDA_ERROR_INVALID_VALUE;
	sim_enter();
	if (drv_devices[pool->device].pool == pool) {
		sim_leave();
		return CUDA_ERROR_INVALID_VALUE; /* the default one stays */
	}
	if (drv_devices[pool->device].current_pool == pool)
		drv_devices[pool->device].current_pool = NULL;
	sim_leave();
	/* Its allocations point to it: it is freed with the process. */
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	if (!drv_is(pool, DRV_POOL))
		return CUDA_ERROR_INVALID_VALUE;
	drv_memory_lock();
	shrink(pool, keep);
	drv_memory_unlock();
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t n)
{
	return drv_is(pool, DRV_POOL) && (map || !n) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
				CUmemLocation *location)
{
	if (!flags || !location || !drv_is(pool, DRV_POOL))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return CUDA_SUCCESS;
}

static int *reuse_flag(CUmemoryPool pool, CUmemPool_attribute a)
{
	bool is = a >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
		  a <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;

	return is ? &pool->reuse[a - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] : NULL;
}

CUresult sim_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute a, void *value)
{
	if (!value || !drv_is(pool, DRV_POOL))
		return CUDA_ERROR_INVALID_VALUE;
	if (reuse_flag(pool, a))
		*reuse_flag(pool, a) = *(int *)value;
	else if (a == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		pool->threshold = *(cuuint64_t *)value;
	else if (*(cuuint64_t *)value)
		return CUDA_ERROR_INVALID_VALUE; /* a high-water mark can only be reset to the present */
	else if (a == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		pool->used_high = pool->used;
	else if (a == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
		pool->reserved_high = pool->reserved;
	else
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute a, void *value)
{
	if (!value || !drv_is(pool, DRV_POOL))
		return CUDA_ERROR_INVALID_VALUE;
	if (reuse_flag(pool, a))
		*(int *)value = *reuse_flag(pool, a);
	else if (a == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
		*(cuuint64_t *)value = pool->threshold;
	else if (a == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
		*(cuuint64_t *)value = pool->used;
	else if (a == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
		*(cuuint64_t *)value = pool->reserved;
	else if (a == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		*(cuuint64_t *)value = pool->used_high;
	else if (a == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
		*(cuuint64_t *)value = pool->reserved_high;
	else
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool, CUstream h)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	if (!ptr || !bytes || !drv_is(pool, DRV_POOL))
		return CUDA_ERROR_INVALID_VALUE;
	if (drv_capturing(s))
		return CUDA_ERROR_NOT_SUPPORTED; /* allocation nodes are not simulated */
	return drv_device_alloc(s->ctx, pool->device, bytes, pool, "async", ptr);
}

CUresult sim_cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream h)
{
	struct CUstream_st *s;
	CUmemoryPool pool;
	CUresult r = drv_stream(h, &s);

	if (r == CUDA_SUCCESS)
		r = pool_of(s->ctx->device, true, &pool);
	return r == CUDA_SUCCESS ? sim_cuMemAllocFromPoolAsync(ptr, bytes, pool, h) : r;
}

static void free_finish(struct sim_work *w)
{
	drv_release_at((uintptr_t)w->arg, DRV_MEM_DEVICE, w->op.tid, w->op.end_ns);
}
static const struct sim_behaviour free_behaviour = {.finish = free_finish};

CUresult sim_cuMemFreeAsync(CUdeviceptr ptr, CUstream h)
{
	struct CUstream_st *s;
	struct drv_range m;
	struct sim_work *w;
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS || !ptr)
		return r;
	if (!drv_range_of(ptr, &m) || m.start != ptr || m.kind != DRV_MEM_DEVICE ||
	    (m.physical && m.physical->origin != DRV_EXPORTED))
		return CUDA_ERROR_INVALID_VALUE;
	sim_enter();
	if (drv_capturing(s)) {
		r = CUDA_ERROR_NOT_SUPPORTED;
	} else if ((r = drv_capture_legacy(s)) == CUDA_SUCCESS) {
		w = sim_work_new();
		w->behaviour = &free_behaviour;
		w->arg = (void *)(uintptr_t)ptr;
		w->op.tid = drv_thread_id();
		sim_lane_submit(s->lane, w, sim_now_ns());
	}
	sim_leave();
	return r;
}
