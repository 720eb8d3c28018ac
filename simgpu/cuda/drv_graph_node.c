/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of graph nodes: from the API's structs to tasks and back, of templates and of executables. */
#include "simgpu/cuda/drv.h"

CUresult drv_task_kernel(struct drv_task *t, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	memset(t, 0, sizeof(*t));
	t->type = CU_GRAPH_NODE_TYPE_KERNEL;
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	t->kernel = (struct drv_kernel){.f = p->func ? p->func : (CUfunction)p->kern,
					.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
					.block = {p->blockDimX, p->blockDimY, p->blockDimZ},
					.dyn_smem = p->sharedMemBytes};
	if (!drv_is(t->kernel.f, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!drv_kernel_param(&t->kernel, p->kernelParams))
		return CUDA_ERROR_INVALID_VALUE;
	return drv_check_launch(&t->kernel);
}

static CUresult kernel_v1(struct drv_task *t, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 q = {0};

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&q, p, sizeof(*p));
	return drv_task_kernel(t, &q);
}

static CUresult host(struct drv_task *t, const CUDA_HOST_NODE_PARAMS *p)
{
	memset(t, 0, sizeof(*t));
	t->type = CU_GRAPH_NODE_TYPE_HOST;
	if (!p || !p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	t->host = *p;
	return CUDA_SUCCESS;
}

CUresult drv_task_node(struct drv_task *t, const CUgraphNodeParams *p)
{
	memset(t, 0, sizeof(*t));
	t->type = p->type;
	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL: {
		CUDA_KERNEL_NODE_PARAMS_v2 q = {0};
		memcpy(&q, &p->kernel, sizeof(q)); /* v3 is v2 under another name */
		return drv_task_kernel(t, &q);
	}
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return drv_task_copy3d(t, &p->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET: {
		CUDA_MEMSET_NODE_PARAMS_v1 q = {p->memset.dst,	 p->memset.pitch,
						p->memset.value, p->memset.elementSize,
						p->memset.width, p->memset.height};
		return drv_task_memset(t, &q);
	}
	case CU_GRAPH_NODE_TYPE_HOST: {
		CUDA_HOST_NODE_PARAMS_v1 q = {p->host.fn, p->host.userData};
		return host(t, &q);
	}
	case CU_GRAPH_NODE_TYPE_GRAPH:
		t->child = p->graph.graph;
		return drv_is(t->child, DRV_GRAPH) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		t->event = p->eventWait.event;
		return drv_is(t->event, DRV_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		t->event = p->eventRecord.event;
		return drv_is(t->event, DRV_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	default:
		return CUDA_ERROR_NOT_SUPPORTED; /* semaphores, allocation, conditionals */
	}
}

static bool is(CUgraphNode n, CUgraphNodeType type)
{
	return drv_is(n, DRV_NODE) && n->task.type == type;
}

CUresult sim_cuGraphKernelNodeGetParams_v2(CUgraphNode n, CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	const struct drv_kernel *k;

	if (!p || !is(n, CU_GRAPH_NODE_TYPE_KERNEL))
		return CUDA_ERROR_INVALID_VALUE;
	k = &n->task.kernel;
	memset(p, 0, sizeof(*p));
	p->func = k->f;
	p->gridDimX = k->grid[0];
	p->gridDimY = k->grid[1];
	p->gridDimZ = k->grid[2];
	p->blockDimX = k->block[0];
	p->blockDimY = k->block[1];
	p->blockDimZ = k->block[2];
	p->sharedMemBytes = k->dyn_smem;
	p->kernelParams = k->raw;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeGetParams(CUgraphNode n, CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 q;
	CUresult r = sim_cuGraphKernelNodeGetParams_v2(n, &q);

	if (r == CUDA_SUCCESS && p)
		memcpy(p, &q, sizeof(*p));
	return p ? r : CUDA_ERROR_INVALID_VALUE;
}

static CUresult set(CUgraphNode n, CUgraphNodeType type, const struct drv_task *t, CUresult r)
{
	if (r != CUDA_SUCCESS)
		return r;
	if (!is(n, type))
		return CUDA_ERROR_INVALID_VALUE;
	drv_node_set_task(n, t);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphKernelNodeSetParams_v2(CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	struct drv_task t;
	CUresult r = drv_task_kernel(&t, p);

	return set(n, CU_GRAPH_NODE_TYPE_KERNEL, &t, r);
}

CUresult sim_cuGraphKernelNodeSetParams(CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	struct drv_task t;
	CUresult r = kernel_v1(&t, p);

	return set(n, CU_GRAPH_NODE_TYPE_KERNEL, &t, r);
}

CUresult sim_cuGraphMemcpyNodeSetParams(CUgraphNode n, const CUDA_MEMCPY3D *p)
{
	struct drv_task t;
	CUresult r = p ? drv_task_copy3d(&t, p) : CUDA_ERROR_INVALID_VALUE;

	return set(n, CU_GRAPH_NODE_TYPE_MEMCPY, &t, r);
}

CUresult sim_cuGraphMemcpyNodeGetParams(CUgraphNode n, CUDA_MEMCPY3D *p)
{
	const struct drv_copy *c;

	if (!p || !is(n, CU_GRAPH_NODE_TYPE_MEMCPY))
		return CUDA_ERROR_INVALID_VALUE;
	c = &n->task.copy;
	memset(p, 0, sizeof(*p));
	p->WidthInBytes = c->width;
	p->Height = c->height;
	p->Depth = c->depth;
	p->srcMemoryType = p->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
	p->srcDevice = (CUdeviceptr)(uintptr_t)c->src;
	p->dstDevice = (CUdeviceptr)(uintptr_t)c->dst;
	p->srcPitch = c->src_pitch;
	p->dstPitch = c->dst_pitch;
	p->srcHeight = c->src_pitch ? c->src_slice / c->src_pitch : 0;
	p->dstHeight = c->dst_pitch ? c->dst_slice / c->dst_pitch : 0;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphMemsetNodeSetParams(CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct drv_task t;
	CUresult r = drv_task_memset(&t, p);

	return set(n, CU_GRAPH_NODE_TYPE_MEMSET, &t, r);
}

CUresult sim_cuGraphMemsetNodeGetParams(CUgraphNode n, CUDA_MEMSET_NODE_PARAMS *p)
{
	const struct drv_memset *m;

	if (!p || !is(n, CU_GRAPH_NODE_TYPE_MEMSET))
		return CUDA_ERROR_INVALID_VALUE;
	m = &n->task.memset;
	*p = (CUDA_MEMSET_NODE_PARAMS){(CUdeviceptr)(uintptr_t)m->dst,
				       m->pitch,
				       m->value,
				       m->element,
				       m->width,
				       m->height};
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphHostNodeSetParams(CUgraphNode n, const CUDA_HOST_NODE_PARAMS *p)
{
	struct drv_task t;
	CUresult r = host(&t, p);

	return set(n, CU_GRAPH_NODE_TYPE_HOST, &t, r);
}

CUresult sim_cuGraphHostNodeGetParams(CUgraphNode n, CUDA_HOST_NODE_PARAMS *p)
{
	if (!p || !is(n, CU_GRAPH_NODE_TYPE_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	*p = n->task.host;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphEventRecordNodeGetEvent(CUgraphNode n, CUevent *e)
{
	if (!e || !is(n, CU_GRAPH_NODE_TYPE_EVENT_RECORD))
		return CUDA_ERROR_INVALID_VALUE;
	*e = n->task.event;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphEventWaitNodeGetEvent(CUgraphNode n, CUevent *e)
{
	if (!e || !is(n, CU_GRAPH_NODE_TYPE_WAIT_EVENT))
		return CUDA_ERROR_INVALID_VALUE;
	*e = n->task.event;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeSetParams(CUgraphNode n, CUgraphNodeParams *p)
{
	struct drv_task t;
	CUresult r = p ? drv_task_node(&t, p) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS && t.type == CU_GRAPH_NODE_TYPE_GRAPH)
		return CUDA_ERROR_NOT_SUPPORTED;
	return r == CUDA_SUCCESS ? set(n, t.type, &t, r) : r;
}

/* ---- the same on an executable ---- */
CUresult sim_cuGraphExecKernelNodeSetParams_v2(CUgraphExec e, CUgraphNode n,
					       const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	struct drv_task t;
	CUresult r = drv_task_kernel(&t, p);

	return r == CUDA_SUCCESS ? drv_exec_set(e, n, &t) : r;
}

CUresult sim_cuGraphExecKernelNodeSetParams(CUgraphExec e, CUgraphNode n,
					    const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	struct drv_task t;
	CUresult r = kernel_v1(&t, p);

	return r == CUDA_SUCCESS ? drv_exec_set(e, n, &t) : r;
}

CUresult sim_cuGraphExecMemcpyNodeSetParams(CUgraphExec e, CUgraphNode n, const CUDA_MEMCPY3D *p,
					    CUcontext ctx)
{
	struct drv_task t;
	CUresult r = p ? drv_task_copy3d(&t, p) : CUDA_ERROR_INVALID_VALUE;

	return r == CUDA_SUCCESS ? drv_exec_set(e, n, &t) : r;
}

CUresult sim_cuGraphExecMemsetNodeSetParams(CUgraphExec e, CUgraphNode n,
					    const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx)
{
	struct drv_task t;
	CUresult r = drv_task_memset(&t, p);

	return r == CUDA_SUCCESS ? drv_exec_set(e, n, &t) : r;
}

CUresult sim_cuGraphExecHostNodeSetParams(CUgraphExec e, CUgraphNode n,
					  const CUDA_HOST_NODE_PARAMS *p)
{
	struct drv_task t;
	CUresult r = host(&t, p);

	return r == CUDA_SUCCESS ? drv_exec_set(e, n, &t) : r;
}

CUresult sim_cuGraphExecNodeSetParams(CUgraphExec e, CUgraphNode n, CUgraphNodeParams *p)
{
	struct drv_task t;
	CUresult r = p ? drv_task_node(&t, p) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS && t.type == CU_GRAPH_NODE_TYPE_GRAPH)
		return sim_cuGraphExecChildGraphNodeSetParams(e, n, t.child);
	return r == CUDA_SUCCESS ? drv_exec_set(e, n, &t) : r;
}
