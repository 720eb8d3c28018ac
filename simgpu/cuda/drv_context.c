/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: the stack of every thread, primary contexts, creation and end, synchronising. The id of a context is the
 * one CUPTI shows: 1, 2, ... and never used again.
 */
#include "simgpu/cuda/drv.h"

#include "simgpu/core/sim_devices.h"

#define STACK_DEPTH 16

struct drv_device drv_devices[DRV_MAX_DEVICES];

static __thread struct {
	CUcontext ctx[STACK_DEPTH];
	int n;
} stack __attribute__((tls_model("initial-exec")));

static uint32_t n_contexts;

CUcontext drv_current(void)
{
	return stack.n ? stack.ctx[stack.n - 1] : NULL;
}

CUresult drv_context(CUcontext *ret)
{
	CUcontext c = drv_current();

	if (!drv_is(c, DRV_CTX))
		return c ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_ERROR_INVALID_CONTEXT;
	*ret = c;
	return (CUresult)c->space.error;
}

CUresult drv_wait(struct sim_point *p)
{
	bool ok = sim_point_wait(p);

	sim_point_clear(p);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_DEINITIALIZED;
}

/* A rendezvous that failed: the context is lost, as after any fault of a kernel. */
static void work_failed(struct sim_work *w)
{
	if (w->lane)
		w->lane->space->error = CUDA_ERROR_LAUNCH_FAILED;
}

/* (locked) */
static CUcontext context_new(CUdevice dev, unsigned int flags, bool primary)
{
	static const size_t limits[] = {[CU_LIMIT_STACK_SIZE] = 1024,
					[CU_LIMIT_PRINTF_FIFO_SIZE] = 7340032,
					[CU_LIMIT_MALLOC_HEAP_SIZE] = 8388608,
					[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
					[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
					[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64};
	CUcontext c = drv_new(DRV_CTX, sizeof(*c));

	sim_work_failed = work_failed;
	sim_space_init(&c->space, ++n_contexts, (uint32_t)dev);
	c->unique = n_contexts;
	c->device = dev;
	c->flags = flags;
	c->primary = primary;
	c->api_version = 3020;
	memcpy(c->limits, limits, sizeof(limits));
	drv_stream_init_legacy(c);
	return c;
}

/* Waits for all work, then ends the context. Returns with the lock given up. */
static void context_end(CUcontext c)
{
	struct sim_point p = {0};
	uint32_t id = c->space.id;

	sim_space_now(&c->space, &p);
	drv_wait(&p);
	while (c->streams)
		drv_stream_destroy(c->streams);
	while (c->modules) {
		struct CUmod_st *m = c->modules;
		c->modules = m->next;
		drv_module_free(m);
	}
	sim_point_clear(&c->space.legacy.tail);
	sim_point_clear(&c->space.orphans);
	sim_point_clear(&c->space.blocking_orphans);
	sim_leave();
	drv_release_context(c);
	sim_sink_context_end(id);
	drv_free(c);
}

static CUresult create(CUcontext *ret, unsigned int flags, CUdevice dev)
{
	CUcontext c;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (dev < 0 || dev >= sim_settings.device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	if (stack.n == STACK_DEPTH)
		return CUDA_ERROR_INVALID_VALUE;
	sim_engine_start();
	sim_enter();
	c = context_new(dev, flags, false);
	sim_leave();
	stack.ctx[stack.n++] = c;
	*ret = c;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxCreate(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	return create(ctx, flags, dev);
}

CUresult sim_cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	return create(ctx, flags, dev);
}

CUresult sim_cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *params, int n, unsigned int flags,
			    CUdevice dev)
{
	return n ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : create(ctx, flags, dev);
}

CUresult sim_cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned int flags,
			    CUdevice dev)
{
	if (params && (params->numExecAffinityParams || params->cigParams))
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return create(ctx, flags, dev);
}

CUresult sim_cuCtxDestroy_v2(CUcontext ctx)
{
	if (!drv_is(ctx, DRV_CTX) || ctx->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (drv_current() == ctx)
		stack.n--;
	sim_enter();
	context_end(ctx);
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxDestroy(CUcontext ctx)
{
	return sim_cuCtxDestroy_v2(ctx);
}

CUresult sim_cuCtxPushCurrent_v2(CUcontext ctx)
{
	if (!drv_is(ctx, DRV_CTX) || stack.n == STACK_DEPTH)
		return CUDA_ERROR_INVALID_CONTEXT;
	stack.ctx[stack.n++] = ctx;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxPushCurrent(CUcontext ctx)
{
	return sim_cuCtxPushCurrent_v2(ctx);
}

CUresult sim_cuCtxPopCurrent_v2(CUcontext *ctx)
{
	if (!stack.n)
		return CUDA_ERROR_INVALID_CONTEXT;
	stack.n--;
	if (ctx)
		*ctx = stack.ctx[stack.n];
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxPopCurrent(CUcontext *ctx)
{
	return sim_cuCtxPopCurrent_v2(ctx);
}

CUresult sim_cuCtxSetCurrent(CUcontext ctx)
{
	if (ctx && !drv_is(ctx, DRV_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ctx) {
		if (stack.n)
			stack.n--;
		return CUDA_SUCCESS;
	}
	if (!stack.n)
		stack.n = 1;
	stack.ctx[stack.n - 1] = ctx;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetCurrent(CUcontext *ctx)
{
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	*ctx = drv_current();
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetDevice(CUdevice *dev)
{
	CUcontext c = drv_current();

	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(c, DRV_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	*dev = c->device;
	return CUDA_SUCCESS;
}

/* NULL = the current one. */
static CUcontext given_or_current(CUcontext ctx)
{
	CUcontext c = ctx ? ctx : drv_current();

	return drv_is(c, DRV_CTX) ? c : NULL;
}

CUresult sim_cuCtxGetDevice_v2(CUdevice *dev, CUcontext ctx)
{
	CUcontext c = given_or_current(ctx);

	if (!dev)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	*dev = c->device;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetFlags(unsigned int *flags)
{
	CUcontext c = given_or_current(NULL);

	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	*flags = c->flags;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetFlags(unsigned int flags)
{
	CUcontext c = given_or_current(NULL);

	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	c->flags = flags;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
	CUcontext c = given_or_current(ctx);

	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	*id = c->unique;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	CUcontext c = given_or_current(ctx);

	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	*version = c->api_version;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetLimit(size_t *value, CUlimit limit)
{
	CUcontext c = given_or_current(NULL);

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if ((unsigned)limit >= DRV_LIMITS || limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	*value = c->limits[limit];
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxSetLimit(CUlimit limit, size_t value)
{
	CUcontext c = given_or_current(NULL);

	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	if ((unsigned)limit >= DRV_LIMITS || limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	c->limits[limit] = value;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxGetCacheConfig(CUfunc_cache *config)
{
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	*config = CU_FUNC_CACHE_PREFER_NONE;
	return given_or_current(NULL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuCtxSetCacheConfig(CUfunc_cache config)
{
	return given_or_current(NULL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return given_or_current(NULL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult synchronize(CUcontext c)
{
	struct sim_point p = {0};
	CUresult r;

	sim_enter();
	for (struct CUstream_st *s = c->streams; s; s = s->next)
		if (drv_capturing(s)) {
			r = drv_capture_forbid(s);
			sim_leave();
			return r;
		}
	sim_space_now(&c->space, &p);
	r = drv_wait(&p);
	if (r == CUDA_SUCCESS)
		r = (CUresult)c->space.error;
	sim_leave();
	return r;
}

CUresult sim_cuCtxSynchronize(void)
{
	CUcontext c;
	CUresult r = drv_context(&c);

	return r != CUDA_SUCCESS ? r : synchronize(c);
}

CUresult sim_cuCtxSynchronize_v2(CUcontext ctx)
{
	CUcontext c = given_or_current(ctx);

	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	return c->space.error ? (CUresult)c->space.error : synchronize(c);
}

static bool other_device(CUcontext c, CUcontext peer)
{
	return drv_is(c, DRV_CTX) && drv_is(peer, DRV_CTX) && c->device != peer->device;
}

CUresult sim_cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	CUcontext c = drv_current();

	if (!drv_is(c, DRV_CTX) || !drv_is(peer, DRV_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (flags || !other_device(c, peer))
		return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	if (c->peers & 1ull << peer->device)
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	c->peers |= 1ull << peer->device;
	return CUDA_SUCCESS;
}

CUresult sim_cuCtxDisablePeerAccess(CUcontext peer)
{
	CUcontext c = drv_current();

	if (!drv_is(c, DRV_CTX) || !drv_is(peer, DRV_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!(c->peers & 1ull << peer->device))
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	c->peers &= ~(1ull << peer->device);
	return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	struct drv_device *d;

	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (dev < 0 || dev >= sim_settings.device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	sim_engine_start();
	d = &drv_devices[dev];
	sim_enter();
	if (!d->primary)
		d->primary = context_new(dev, d->primary_flags, true);
	d->primary->refs++;
	*ctx = d->primary;
	sim_leave();
	return CUDA_SUCCESS;
}

static CUresult primary_end(CUdevice dev, bool reset)
{
	struct drv_device *d;
	CUcontext c;

	if (dev < 0 || dev >= sim_settings.device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	d = &drv_devices[dev];
	sim_enter();
	c = d->primary;
	if (!c || (!reset && --c->refs)) {
		sim_leave();
		return c || reset ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
	}
	d->primary = NULL;
	context_end(c);
	return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	return primary_end(dev, false);
}

CUresult sim_cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return primary_end(dev, false);
}

CUresult sim_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	return primary_end(dev, true);
}

CUresult sim_cuDevicePrimaryCtxReset(CUdevice dev)
{
	return primary_end(dev, true);
}

CUresult sim_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	if (dev < 0 || dev >= sim_settings.device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	sim_enter();
	drv_devices[dev].primary_flags = flags;
	if (drv_devices[dev].primary)
		drv_devices[dev].primary->flags = flags;
	sim_leave();
	return CUDA_SUCCESS;
}

CUresult sim_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	return sim_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult sim_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	if (dev < 0 || dev >= sim_settings.device_count)
		return CUDA_ERROR_INVALID_DEVICE;
	sim_enter();
	*flags = drv_devices[dev].primary_flags;
	*active = drv_devices[dev].primary != NULL;
	sim_leave();
	return CUDA_SUCCESS;
}
