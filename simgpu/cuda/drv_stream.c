/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and events. What they mean for time stands in core/sim_lane.c; capture in drv_capture.c. */
#include "simgpu/cuda/drv.h"

#include <stdlib.h>

/* The per-thread default streams of this thread, one a context. Few, so a list; the id guards against a reused ctx. */
struct thread_stream {
	uint32_t context;
	struct CUstream_st *stream;
	struct thread_stream *next;
};
static __thread struct thread_stream *thread_streams __attribute__((tls_model("initial-exec")));

static uint64_t n_streams =
	2; /* unique ids 1 and 2 are the two default streams, as their handles are */

void drv_stream_init_legacy(CUcontext ctx)
{
	ctx->legacy.head.type = DRV_STREAM;
	ctx->legacy.ctx = ctx;
	ctx->legacy.lane = &ctx->space.legacy;
	ctx->legacy.unique = 1;
}

/* Streams whose work outlived them. (locked) */
static struct CUstream_st *dying;

static void reap(void)
{
	struct CUstream_st **link = &dying, *s;

	while ((s = *link)) {
		if (s->own.queued) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		s->head.type = DRV_STREAM; /* taken at destroy; says which list it goes to */
		drv_free(s);
	}
}

/* (locked) */
static struct CUstream_st *stream_new(CUcontext ctx, unsigned int flags, int priority)
{
	struct CUstream_st *s;

	reap();
	s = drv_new(DRV_STREAM, sizeof(*s));
	s->ctx = ctx;
	s->flags = flags;
	s->priority = priority;
	s->unique = ++n_streams;
	s->lane = &s->own;
	sim_lane_init(&s->own, &ctx->space, !(flags & CU_STREAM_NON_BLOCKING));
	s->next = ctx->streams;
	s->link = &ctx->streams;
	if (s->next)
		s->next->link = &s->next;
	ctx->streams = s;
	return s;
}

void drv_stream_destroy(struct CUstream_st *s)
{
	drv_capture_drop(s);
	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	sim_lane_release(&s->own);
	s->head.type = 0;
	s->dead = true;
	free(s->deps);
	s->deps = NULL;
	if (s->own.queued) {
		s->next = dying;
		dying = s;
	} else {
		s->head.type = DRV_STREAM;
		drv_free(s);
	}
}

static CUresult per_thread(CUcontext ctx, struct CUstream_st **ret)
{
	struct thread_stream *t;

	for (t = thread_streams; t; t = t->next)
		if (t->context == ctx->space.id)
			break;
	if (!t) {
		t = sim_alloc(sizeof(*t));
		t->context = ctx->space.id;
		sim_enter();
		t->stream = stream_new(ctx, CU_STREAM_DEFAULT, 0);
		t->stream->unique = 2;
		sim_leave();
		t->next = thread_streams;
		thread_streams = t;
	}
	*ret = t->stream;
	return CUDA_SUCCESS;
}

CUresult drv_stream(CUstream h, struct CUstream_st **ret)
{
	CUcontext ctx;
	CUresult r;

	if ((uintptr_t)h > 2) {
		if (!drv_is(h, DRV_STREAM))
			return CUDA_ERROR_INVALID_HANDLE;
		*ret = h;
		return (CUresult)h->ctx->space.error;
	}
	r = drv_context(&ctx);
	if (r != CUDA_SUCCESS)
		return r;
	if (h == CU_STREAM_PER_THREAD || (!h && sim_bracket.per_thread))
		return per_thread(ctx, ret);
	*ret = &ctx->legacy;
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	CUcontext ctx;
	CUresult r = drv_context(&ctx);

	if (!stream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	sim_enter();
	*stream = stream_new(ctx, flags, priority);
	sim_leave();
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamCreate(CUstream *stream, unsigned int flags)
{
	return sim_cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult sim_cuStreamDestroy_v2(CUstream stream)
{
	if (!drv_is(stream, DRV_STREAM) || stream->lane != &stream->own || stream->unique == 2)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_enter();
	drv_stream_destroy(stream);
	sim_leave();
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamDestroy(CUstream stream)
{
	return sim_cuStreamDestroy_v2(stream);
}

CUresult sim_cuStreamGetFlags(CUstream h, unsigned int *flags)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*flags = s->flags;
	return r;
}

CUresult sim_cuStreamGetPriority(CUstream h, int *priority)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (!priority)
		return CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*priority = s->priority;
	return r;
}

CUresult sim_cuStreamGetId(CUstream h, unsigned long long *id)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (!id)
		return CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*id = s->unique;
	return r;
}

CUresult sim_cuStreamGetCtx(CUstream h, CUcontext *ctx)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ctx = s->ctx;
	return r;
}

CUresult sim_cuStreamGetCtx_v2(CUstream h, CUcontext *ctx, CUgreenCtx *green)
{
	if (green)
		*green = NULL;
	return sim_cuStreamGetCtx(h, ctx);
}

CUresult sim_cuStreamGetDevice(CUstream h, CUdevice *device)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*device = s->ctx->device;
	return r;
}

CUresult sim_cuStreamQuery(CUstream h)
{
	struct CUstream_st *s;
	struct sim_point p = {0};
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	sim_enter();
	if (drv_capturing(s)) {
		r = drv_capture_forbid(s);
	} else {
		int64_t now = sim_now_ns();
		sim_lane_now(s->lane, &p);
		/* Over by the clock, and only not yet completed: that moment is ours, not the program's. */
		if (!sim_point_done(&p, now) && (p.open || p.ns > now)) {
			r = CUDA_ERROR_NOT_READY;
			sim_point_clear(&p);
		} else {
			r = drv_wait(&p);
		}
	}
	sim_leave();
	return r;
}

CUresult sim_cuStreamSynchronize(CUstream h)
{
	struct CUstream_st *s;
	struct sim_point p = {0};
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	sim_enter();
	r = drv_capturing(s) ? drv_capture_forbid(s) : drv_capture_legacy(s);
	if (r == CUDA_SUCCESS) {
		CUcontext ctx = s->ctx;
		sim_lane_now(s->lane, &p);
		r = drv_wait(&p);
		if (r == CUDA_SUCCESS)
			r = (CUresult)ctx->space.error;
	}
	sim_leave();
	return r;
}

CUresult sim_cuStreamWaitEvent(CUstream h, CUevent e, unsigned int flags)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	if (!drv_is(e, DRV_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	sim_enter();
	if (e->capture || drv_capturing(s))
		r = drv_capture_wait(s, e);
	else if ((r = drv_capture_legacy(s)) != CUDA_SUCCESS)
		;
	else if (drv_shared_event_foreign(e))
		drv_shared_event_wait(e, s);
	else if (e->recorded)
		sim_lane_wait(s->lane, &e->at);
	sim_leave();
	return r;
}

CUresult sim_cuStreamCopyAttributes(CUstream dst, CUstream src)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(dst, &s);

	return r == CUDA_SUCCESS ? drv_stream(src, &s) : r;
}

CUresult sim_cuStreamGetAttribute(CUstream h, CUstreamAttrID attr, CUstreamAttrValue *value)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	memset(value, 0, sizeof(*value));
	if (r == CUDA_SUCCESS && attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		value->priority = s->priority;
	return r;
}

CUresult sim_cuStreamSetAttribute(CUstream h, CUstreamAttrID attr, const CUstreamAttrValue *value)
{
	struct CUstream_st *s;

	return value ? drv_stream(h, &s) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuStreamAttachMemAsync(CUstream h, CUdeviceptr ptr, size_t bytes, unsigned int flags)
{
	struct CUstream_st *s;
	struct drv_range m;
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	return drv_range_of(ptr, &m) && m.kind == DRV_MEM_MANAGED ? CUDA_SUCCESS
								  : CUDA_ERROR_INVALID_VALUE;
}
