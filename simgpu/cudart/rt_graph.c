/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs: made by capture or node by node, instantiated, launched. Handles are the driver's; only the node parameters
 * change shape on the way (a host function becomes a kernel, a copy becomes a driver descriptor). Any thread.
 */
#include "simgpu/cudart/rt.h"
#include "rt_impl.h"

cudaError_t rt_cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
	return RT_ERR(DRV(cuGraphCreate)(pGraph, flags));
}

cudaError_t rt_cudaGraphDestroy(cudaGraph_t graph)
{
	return RT_ERR(DRV(cuGraphDestroy)(graph));
}

cudaError_t rt_cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
	return RT_ERR(DRV(cuGraphClone)(pGraphClone, originalGraph));
}

cudaError_t rt_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
	return RT_ERR(DRV(cuGraphGetNodes)(graph, nodes, numNodes));
}

cudaError_t rt_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
				     size_t *pNumRootNodes)
{
	return RT_ERR(DRV(cuGraphGetRootNodes)(graph, pRootNodes, pNumRootNodes));
}

cudaError_t rt_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
	return RT_ERR(DRV(cuGraphNodeGetType)(node, (CUgraphNodeType *)pType));
}

cudaError_t rt_cudaGraphDestroyNode(cudaGraphNode_t node)
{
	return RT_ERR(DRV(cuGraphDestroyNode)(node));
}

cudaError_t rt_cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				     const cudaGraphNode_t *pDependencies, size_t numDependencies)
{
	return RT_ERR(DRV(cuGraphAddEmptyNode)(pGraphNode, graph, pDependencies, numDependencies));
}

cudaError_t rt_cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				      const cudaGraphNode_t *pDependencies, size_t numDependencies,
				      const struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS p = {0};
	CUfunction f;

	if (!pNodeParams)
		return cudaErrorInvalidValue;
	RT_TRY(rt_kernel(pNodeParams->func, &f));
	p.func = f;
	p.gridDimX = pNodeParams->gridDim.x;
	p.gridDimY = pNodeParams->gridDim.y;
	p.gridDimZ = pNodeParams->gridDim.z;
	p.blockDimX = pNodeParams->blockDim.x;
	p.blockDimY = pNodeParams->blockDim.y;
	p.blockDimZ = pNodeParams->blockDim.z;
	p.sharedMemBytes = pNodeParams->sharedMemBytes;
	p.kernelParams = pNodeParams->kernelParams;
	p.extra = pNodeParams->extra;
	return RT_ERR(
		DRV(cuGraphAddKernelNode)(pGraphNode, graph, pDependencies, numDependencies, &p));
}

cudaError_t rt_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					const cudaGraphNode_t *pDependencies,
					size_t numDependencies, void *dst, const void *src,
					size_t count, enum cudaMemcpyKind kind)
{
	static const CUmemorytype types[][2] = {
		{CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST},
		{CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},
		{CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
		{CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE},
		{CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED},
	};
	CUDA_MEMCPY3D c = {0};
	CUcontext ctx;

	if ((unsigned)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	RT_TRY(rt_context());
	RT_TRY(DRV(cuCtxGetCurrent)(&ctx));
	c.srcMemoryType = types[kind][0];
	c.srcHost = src;
	c.srcDevice = (CUdeviceptr)src;
	c.dstMemoryType = types[kind][1];
	c.dstHost = dst;
	c.dstDevice = (CUdeviceptr)dst;
	c.srcPitch = c.dstPitch = c.WidthInBytes = count;
	c.Height = c.Depth = c.srcHeight = c.dstHeight = 1;
	return RT_ERR(DRV(cuGraphAddMemcpyNode)(pGraphNode, graph, pDependencies, numDependencies,
						&c, ctx));
}

cudaError_t rt_cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				      const cudaGraphNode_t *pDependencies, size_t numDependencies,
				      const struct cudaMemsetParams *pMemsetParams)
{
	CUDA_MEMSET_NODE_PARAMS p = {0};
	CUcontext ctx;

	if (!pMemsetParams)
		return cudaErrorInvalidValue;
	RT_TRY(rt_context());
	RT_TRY(DRV(cuCtxGetCurrent)(&ctx));
	p.dst = (CUdeviceptr)pMemsetParams->dst;
	p.pitch = pMemsetParams->pitch;
	p.value = pMemsetParams->value;
	p.elementSize = pMemsetParams->elementSize;
	p.width = pMemsetParams->width;
	p.height = pMemsetParams->height;
	return RT_ERR(DRV(cuGraphAddMemsetNode)(pGraphNode, graph, pDependencies, numDependencies,
						&p, ctx));
}

cudaError_t rt_cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				    const cudaGraphNode_t *pDependencies, size_t numDependencies,
				    const struct cudaHostNodeParams *pNodeParams)
{
	CUDA_HOST_NODE_PARAMS p = {0};

	if (!pNodeParams)
		return cudaErrorInvalidValue;
	p.fn = pNodeParams->fn;
	p.userData = pNodeParams->userData;
	return RT_ERR(
		DRV(cuGraphAddHostNode)(pGraphNode, graph, pDependencies, numDependencies, &p));
}

cudaError_t rt_cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					  const cudaGraphNode_t *pDependencies,
					  size_t numDependencies, cudaGraph_t childGraph)
{
	return RT_ERR(DRV(cuGraphAddChildGraphNode)(pGraphNode, graph, pDependencies,
						    numDependencies, childGraph));
}

cudaError_t rt_cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
				    unsigned long long flags)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuGraphInstantiateWithFlags)(pGraphExec, graph, flags));
}

cudaError_t rt_cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
					     unsigned long long flags)
{
	return rt_cudaGraphInstantiate(pGraphExec, graph, flags);
}

cudaError_t rt_cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
					      cudaGraphInstantiateParams *instantiateParams)
{
	_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS),
		       "same layout");
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuGraphInstantiateWithParams)(
		pGraphExec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)instantiateParams));
}

cudaError_t rt_cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
				   cudaGraphExecUpdateResultInfo *resultInfo)
{
	_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo),
		       "same layout");
	return RT_ERR(DRV(cuGraphExecUpdate)(hGraphExec, hGraph,
					     (CUgraphExecUpdateResultInfo *)resultInfo));
}

cudaError_t rt_cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
	return RT_ERR(DRV(cuGraphExecDestroy)(graphExec));
}

cudaError_t rt_cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuGraphUpload)(graphExec, stream));
}

cudaError_t rt_cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	RT_TRY(rt_context());
	return RT_ERR(DRV(cuGraphLaunch)(graphExec, stream));
}
