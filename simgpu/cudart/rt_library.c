/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries loaded by hand, user objects, memory of graphs, and what else of the newer runtime goes to the driver as it
 * comes. Any thread.
 */
#include "simgpu/cudart/rt.h"
#include "rt_impl.h"

cudaError_t rt_cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
				   enum cudaJitOption *jitOptions, void **jitOptionsValues,
				   unsigned int numJitOptions,
				   enum cudaLibraryOption *libraryOptions,
				   void **libraryOptionValues, unsigned int numLibraryOptions)
{
	RT_TRY(rt_context());
	/* No option changes anything here, and the runtime's numbers are the driver's. */
	return RT_ERR(
		DRV(cuLibraryLoadData)((CUlibrary *)library, code, NULL, NULL, 0, NULL, NULL, 0));
}

cudaError_t rt_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
				       enum cudaJitOption *jitOptions, void **jitOptionsValues,
				       unsigned int numJitOptions,
				       enum cudaLibraryOption *libraryOptions,
				       void **libraryOptionValues, unsigned int numLibraryOptions)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuLibraryLoadFromFile)((CUlibrary *)library, fileName, NULL, NULL, 0,
						 NULL, NULL, 0));
}

cudaError_t rt_cudaLibraryUnload(cudaLibrary_t library)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuLibraryUnload)((CUlibrary)library));
}

cudaError_t rt_cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuLibraryGetKernel)((CUkernel *)pKernel, (CUlibrary)library, name));
}

cudaError_t rt_cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuLibraryGetKernelCount)(count, (CUlibrary)lib));
}

cudaError_t rt_cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
					   cudaLibrary_t lib)
{
	RT_TRY(rt_context());
	return RT_ERR(
		DRV(cuLibraryEnumerateKernels)((CUkernel *)kernels, numKernels, (CUlibrary)lib));
}

cudaError_t rt_cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
				    const char *name)
{
	CUdeviceptr at = 0;

	RT_TRY(rt_context());
	RT_TRY(DRV(cuLibraryGetGlobal)(&at, bytes, (CUlibrary)library, name));
	if (dptr)
		*dptr = (void *)at;
	return cudaSuccess;
}

cudaError_t rt_cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr,
					       int value, int device)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuKernelSetAttribute)((CUfunction_attribute)attr, value, (CUkernel)kernel,
						device));
}

cudaError_t rt_cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
				    unsigned int initialRefcount, unsigned int flags)
{
	return RT_ERR(DRV(cuUserObjectCreate)(object_out, ptr, destroy, initialRefcount, flags));
}

cudaError_t rt_cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
	return RT_ERR(DRV(cuUserObjectRetain)(object, count));
}

cudaError_t rt_cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
	return RT_ERR(DRV(cuUserObjectRelease)(object, count));
}

cudaError_t rt_cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
					 unsigned int count, unsigned int flags)
{
	return RT_ERR(DRV(cuGraphRetainUserObject)(graph, object, count, flags));
}

cudaError_t rt_cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
					  unsigned int count)
{
	return RT_ERR(DRV(cuGraphReleaseUserObject)(graph, object, count));
}

cudaError_t rt_cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
					      void *value)
{
	return RT_ERR(DRV(cuDeviceGetGraphMemAttribute)(device, (CUgraphMem_attribute)attr, value));
}

cudaError_t rt_cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
					      void *value)
{
	return RT_ERR(DRV(cuDeviceSetGraphMemAttribute)(device, (CUgraphMem_attribute)attr, value));
}

cudaError_t rt_cudaDeviceGraphMemTrim(int device)
{
	return RT_ERR(DRV(cuDeviceGraphMemTrim)(device));
}

_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "same edge layout");

cudaError_t rt_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
					    cudaGraphEdgeData *edgeData, size_t *pNumDependencies)
{
	return RT_ERR(DRV(cuGraphNodeGetDependencies)(
		node, pDependencies, (CUgraphEdgeData *)edgeData, pNumDependencies));
}

cudaError_t rt_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
					     const cudaGraphNode_t *dependencies,
					     const cudaGraphEdgeData *dependencyData,
					     size_t numDependencies,
					     enum cudaStreamCaptureMode mode)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuStreamBeginCaptureToGraph)(stream, graph, dependencies,
						       (const CUgraphEdgeData *)dependencyData,
						       numDependencies, (CUstreamCaptureMode)mode));
}
