/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams, events and capture: one driver call each. Handles are the driver's own; the null stream means the legacy
 * or the thread's default stream by the variant that DRV picks. Any thread.
 */
#include "simgpu/cudart/rt.h"
#include "rt_impl.h"

#include <stdlib.h>

cudaError_t rt_cudaStreamCreate(cudaStream_t *pStream)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamCreate)(pStream, CU_STREAM_DEFAULT));
}

cudaError_t rt_cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamCreate)(pStream, flags));
}

cudaError_t rt_cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamCreateWithPriority)(pStream, flags, priority));
}

cudaError_t rt_cudaStreamDestroy(cudaStream_t stream)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamDestroy)(stream));
}

cudaError_t rt_cudaStreamSynchronize(cudaStream_t stream)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamSynchronize)(stream));
}

cudaError_t rt_cudaStreamQuery(cudaStream_t stream)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamQuery)(stream));
}

cudaError_t rt_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamWaitEvent)(stream, event, flags));
}

struct callback {
	cudaStreamCallback_t fn;
	void *arg;
};

static void CUDA_CB call_back(CUstream stream, CUresult status, void *arg)
{
	struct callback c = *(struct callback *)arg;

	free(arg);
	c.fn(stream, RT_ERR(status), c.arg);
}

cudaError_t rt_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
				     void *userData, unsigned int flags)
{
	struct callback *c;
	cudaError_t err;

	if (!callback)
		return cudaErrorInvalidValue;
	RT_TRY(rt_context());
	c = malloc(sizeof(*c));
	if (!c)
		return cudaErrorMemoryAllocation;
	*c = (struct callback){callback, userData};
	err = RT_ERR(DRV(cuStreamAddCallback)(stream, call_back, c, flags));
	if (err != cudaSuccess)
		free(c);
	return err;
}

cudaError_t rt_cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamGetPriority)(hStream, priority));
}

cudaError_t rt_cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamGetFlags)(hStream, flags));
}

cudaError_t rt_cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamGetId)(hStream, streamId));
}

cudaError_t rt_cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamGetDevice)(hStream, device));
}

cudaError_t rt_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamBeginCapture)(stream, (CUstreamCaptureMode)mode));
}

cudaError_t rt_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamEndCapture)(stream, pGraph));
}

cudaError_t rt_cudaStreamIsCapturing(cudaStream_t stream,
				     enum cudaStreamCaptureStatus *pCaptureStatus)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamIsCapturing)(stream, (CUstreamCaptureStatus *)pCaptureStatus));
}

cudaError_t rt_cudaStreamGetCaptureInfo(cudaStream_t stream,
					enum cudaStreamCaptureStatus *captureStatus_out,
					unsigned long long *id_out, cudaGraph_t *graph_out,
					const cudaGraphNode_t **dependencies_out,
					const cudaGraphEdgeData **edgeData_out,
					size_t *numDependencies_out)
{
	cuuint64_t id = 0;

	RT_TRY(rt_context());
	RT_TRY(DRV(cuStreamGetCaptureInfo)(
		stream, (CUstreamCaptureStatus *)captureStatus_out, &id, graph_out,
		dependencies_out, (const CUgraphEdgeData **)edgeData_out, numDependencies_out));
	if (id_out)
		*id_out = id;
	return cudaSuccess;
}

cudaError_t rt_cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
						   cudaGraphNode_t *dependencies,
						   const cudaGraphEdgeData *dependencyData,
						   size_t numDependencies, unsigned int flags)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamUpdateCaptureDependencies)(
		stream, dependencies, (const CUgraphEdgeData *)dependencyData, numDependencies,
		flags));
}

cudaError_t rt_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	return RT_ERR(DRV(cuThreadExchangeStreamCaptureMode)((CUstreamCaptureMode *)mode));
}

cudaError_t rt_cudaEventCreate(cudaEvent_t *event)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuEventCreate)(event, CU_EVENT_DEFAULT));
}

cudaError_t rt_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuEventCreate)(event, flags));
}

cudaError_t rt_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuEventRecord)(event, stream));
}

cudaError_t rt_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuEventRecordWithFlags)(event, stream, flags));
}

cudaError_t rt_cudaEventQuery(cudaEvent_t event)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuEventQuery)(event));
}

cudaError_t rt_cudaEventSynchronize(cudaEvent_t event)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuEventSynchronize)(event));
}

cudaError_t rt_cudaEventDestroy(cudaEvent_t event)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuEventDestroy)(event));
}

cudaError_t rt_cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuEventElapsedTime)(ms, start, end));
}
