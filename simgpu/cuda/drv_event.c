/* SPDX-License-Identifier: Apache-2.0 */
/* Events: moments on the timeline. Their time is that of the stream when it gets there, never a host stamp. */
#include "simgpu/cuda/drv.h"

#include <stdlib.h>

void drv_event_forget_capture(struct CUevent_st *e)
{
	e->capture = NULL;
	free(e->deps);
	e->deps = NULL;
	e->n_deps = 0;
}

CUresult sim_cuEventCreate(CUevent *event, unsigned int flags)
{
	CUcontext ctx;
	CUresult r = drv_context(&ctx);
	CUevent e;

	if (!event || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	e = drv_new(DRV_EVENT, sizeof(*e));
	e->ctx = ctx;
	e->flags = flags;
	if (flags & CU_EVENT_INTERPROCESS)
		r = flags & CU_EVENT_DISABLE_TIMING ? drv_shared_event_make(e)
						    : CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*event = e;
	else
		drv_free(e);
	return r;
}

CUresult sim_cuEventDestroy_v2(CUevent e)
{
	if (!drv_is(e, DRV_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	sim_enter();
	sim_point_clear(&e->at);
	drv_event_forget_capture(e);
	drv_shared_event_free(e);
	sim_leave();
	drv_free(e);
	return CUDA_SUCCESS;
}

CUresult sim_cuEventDestroy(CUevent e)
{
	return sim_cuEventDestroy_v2(e);
}

CUresult sim_cuEventRecordWithFlags(CUevent e, CUstream h, unsigned int flags)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	if (!drv_is(e, DRV_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	sim_enter();
	if (drv_capturing(s)) {
		r = drv_capture_record(s, e);
	} else if ((r = drv_capture_legacy(s)) == CUDA_SUCCESS) {
		drv_event_forget_capture(e);
		if (e->shared)
			drv_shared_event_record(e, s);
		sim_lane_now(s->lane, &e->at);
		sim_point_at_least(&e->at, sim_earliest(sim_now_ns()));
		e->recorded = true;
	}
	sim_leave();
	return r;
}

CUresult sim_cuEventRecord(CUevent e, CUstream h)
{
	return sim_cuEventRecordWithFlags(e, h, 0);
}

CUresult sim_cuEventQuery(CUevent e)
{
	CUresult r = CUDA_SUCCESS;

	if (!drv_is(e, DRV_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	sim_enter();
	if (e->capture) {
		r = CUDA_ERROR_CAPTURED_EVENT;
	} else if (drv_shared_event_foreign(e)) {
		r = drv_shared_event_done(e) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
	} else if (e->recorded) {
		struct sim_point p = {0};
		int64_t now = sim_now_ns();
		sim_point_copy(&p, &e->at);
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

CUresult sim_cuEventSynchronize(CUevent e)
{
	CUresult r = CUDA_SUCCESS;

	if (!drv_is(e, DRV_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	sim_enter();
	if (e->capture) {
		r = CUDA_ERROR_CAPTURED_EVENT;
	} else if (drv_shared_event_foreign(e)) {
		struct timespec nap = {0, 50000};
		while (drv_is(e, DRV_EVENT) && !drv_shared_event_done(e)) {
			sim_leave();
			nanosleep(&nap, NULL);
			sim_enter();
		}
	} else if (e->recorded) {
		/* A copy: the event may be recorded again or destroyed meanwhile. */
		struct sim_point p = {0};
		CUcontext ctx = e->ctx;
		sim_point_copy(&p, &e->at);
		r = drv_wait(&p);
		if (r == CUDA_SUCCESS && drv_is(ctx, DRV_CTX))
			r = (CUresult)ctx->space.error;
	}
	sim_leave();
	return r;
}

CUresult sim_cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	CUresult r = CUDA_SUCCESS;
	int64_t now = sim_now_ns();

	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(start, DRV_EVENT) || !drv_is(end, DRV_EVENT) || !start->recorded ||
	    !end->recorded || (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	sim_enter();
	/* done also turns an operation that has closed into a time */
	if (!sim_point_done(&start->at, now) && (start->at.open || start->at.ns > now))
		r = CUDA_ERROR_NOT_READY;
	else if (!sim_point_done(&end->at, now) && (end->at.open || end->at.ns > now))
		r = CUDA_ERROR_NOT_READY;
	else
		*ms = (float)((double)(end->at.ns - start->at.ns) / 1e6);
	sim_leave();
	return r;
}

CUresult sim_cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	return sim_cuEventElapsedTime_v2(ms, start, end);
}
