/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs as templates: nodes, edges, clones. Executables stand in drv_exec.c, parameters of nodes in drv_graph_node.c.
 * Graphs are not thread safe in CUDA either; the lock is taken only where the timeline or captures see them.
 */
#include "simgpu/cuda/drv.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_uint ids;

uint32_t drv_graph_id(void)
{
	return atomic_fetch_add(&ids, 1) + 1;
}

CUgraph drv_graph_new(void)
{
	CUgraph g = drv_new(DRV_GRAPH, sizeof(*g));

	g->id = drv_graph_id();
	return g;
}

void drv_node_set_task(CUgraphNode n, const struct drv_task *t)
{
	n->task = *t;
	if (t->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		n->task.copy.staged = NULL;
	if (t->type != CU_GRAPH_NODE_TYPE_KERNEL)
		return;
	n->task.kernel.param = NULL;
	n->task.kernel.raw = NULL;
	if (t->kernel.param) {
		memmove(n->param, t->kernel.param, t->kernel.f->sim->param_bytes);
		n->task.kernel.param = n->param;
		n->params[0] = n->param;
		if (t->kernel.f->fill) { /* its three parameters, as they were given */
			struct drv_fill *fill = (struct drv_fill *)n->param;

			n->params[1] = fill->value;
			n->params[2] = &fill->data;
		}
		n->task.kernel.raw = n->params;
	}
}

static void set_deps(CUgraphNode n, const CUgraphNode *deps, size_t count)
{
	CUgraphNode *copy = sim_alloc(count * sizeof(*copy));

	if (count)
		memcpy(copy, deps, count * sizeof(*copy));
	free(n->deps);
	n->deps = copy;
	n->n_deps = count;
}

CUgraphNode drv_graph_add(CUgraph g, const struct drv_task *t, const CUgraphNode *deps,
			  size_t n_deps)
{
	CUgraphNode n = drv_new(DRV_NODE, sizeof(*n));

	if (g->n == g->room) {
		size_t room = g->room ? g->room * 2 : 16;
		CUgraphNode *nodes = sim_alloc(room * sizeof(*nodes));
		if (g->n)
			memcpy(nodes, g->nodes, g->n * sizeof(*nodes));
		free(g->nodes);
		g->nodes = nodes;
		g->room = room;
	}
	n->graph = g;
	n->index = (uint32_t)g->n;
	n->id = (uint64_t)g->id << 32 | (n->index + 1);
	g->nodes[g->n++] = n;
	drv_node_set_task(n, t);
	if (t->type == CU_GRAPH_NODE_TYPE_GRAPH) {
		n->task.child = drv_graph_clone(t->child);
		n->task.child->owner = n;
	}
	set_deps(n, deps, n_deps);
	return n;
}

CUgraph drv_graph_clone(CUgraph g)
{
	CUgraph c = drv_graph_new();

	/* A node may follow one with a larger index: edges once all nodes are there. */
	for (size_t i = 0; i < g->n; i++)
		drv_graph_add(c, &g->nodes[i]->task, NULL, 0);
	for (size_t i = 0; i < g->n; i++) {
		set_deps(c->nodes[i], g->nodes[i]->deps, g->nodes[i]->n_deps);
		for (size_t k = 0; k < c->nodes[i]->n_deps; k++)
			c->nodes[i]->deps[k] = c->nodes[g->nodes[i]->deps[k]->index];
	}
	drv_hold_copy(g, c);
	return c;
}

static void node_free(CUgraphNode n)
{
	if (n->task.type == CU_GRAPH_NODE_TYPE_GRAPH)
		drv_graph_free(n->task.child);
	free(n->deps);
	drv_free(n);
}

void drv_graph_free(CUgraph g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n; i++)
		node_free(g->nodes[i]);
	free(g->nodes);
	drv_hold_drop(g);
	drv_free(g);
}

static bool valid_deps(CUgraph g, const CUgraphNode *deps, size_t n)
{
	if (n && !deps)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!drv_is(deps[i], DRV_NODE) || deps[i]->graph != g)
			return false;
	return true;
}

static CUresult add(CUgraphNode *ret, CUgraph g, const CUgraphNode *deps, size_t n,
		    const struct drv_task *t)
{
	if (!ret || !drv_is(g, DRV_GRAPH) || !valid_deps(g, deps, n))
		return CUDA_ERROR_INVALID_VALUE;
	sim_enter();
	*ret = drv_graph_add(g, t, deps, n);
	sim_leave();
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphCreate(CUgraph *graph, unsigned int flags)
{
	if (!graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = drv_graph_new();
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphDestroy(CUgraph g)
{
	if (!drv_is(g, DRV_GRAPH) || g->owner)
		return CUDA_ERROR_INVALID_VALUE;
	sim_enter();
	drv_graph_free(g);
	sim_leave();
	drv_hold_run();
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphClone(CUgraph *clone, CUgraph g)
{
	if (!clone || !drv_is(g, DRV_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	*clone = drv_graph_clone(g);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphAddKernelNode_v2(CUgraphNode *n, CUgraph g, const CUgraphNode *deps,
				     size_t n_deps, const CUDA_KERNEL_NODE_PARAMS_v2 *p)
{
	struct drv_task t;
	CUresult r = drv_task_kernel(&t, p);

	return r == CUDA_SUCCESS ? add(n, g, deps, n_deps, &t) : r;
}

CUresult sim_cuGraphAddKernelNode(CUgraphNode *n, CUgraph g, const CUgraphNode *deps, size_t n_deps,
				  const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS_v2 q = {0};

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&q, p, sizeof(*p)); /* v1 is a prefix of v2 */
	return sim_cuGraphAddKernelNode_v2(n, g, deps, n_deps, &q);
}

CUresult sim_cuGraphAddMemcpyNode(CUgraphNode *n, CUgraph g, const CUgraphNode *deps, size_t n_deps,
				  const CUDA_MEMCPY3D *p, CUcontext ctx)
{
	struct drv_task t;
	CUresult r = p ? drv_task_copy3d(&t, p) : CUDA_ERROR_INVALID_VALUE;

	return r == CUDA_SUCCESS ? add(n, g, deps, n_deps, &t) : r;
}

CUresult sim_cuGraphAddMemsetNode(CUgraphNode *n, CUgraph g, const CUgraphNode *deps, size_t n_deps,
				  const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx)
{
	struct drv_task t;
	CUresult r = drv_task_memset(&t, p);

	return r == CUDA_SUCCESS ? add(n, g, deps, n_deps, &t) : r;
}

CUresult sim_cuGraphAddHostNode(CUgraphNode *n, CUgraph g, const CUgraphNode *deps, size_t n_deps,
				const CUDA_HOST_NODE_PARAMS *p)
{
	struct drv_task t = {.type = CU_GRAPH_NODE_TYPE_HOST};

	if (!p || !p->fn)
		return CUDA_ERROR_INVALID_VALUE;
	t.host = *p;
	return add(n, g, deps, n_deps, &t);
}

CUresult sim_cuGraphAddEmptyNode(CUgraphNode *n, CUgraph g, const CUgraphNode *deps, size_t n_deps)
{
	struct drv_task t = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

	return add(n, g, deps, n_deps, &t);
}

CUresult sim_cuGraphAddChildGraphNode(CUgraphNode *n, CUgraph g, const CUgraphNode *deps,
				      size_t n_deps, CUgraph child)
{
	struct drv_task t = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = child};

	return drv_is(child, DRV_GRAPH) && child != g ? add(n, g, deps, n_deps, &t)
						      : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphAddEventRecordNode(CUgraphNode *n, CUgraph g, const CUgraphNode *deps,
				       size_t n_deps, CUevent e)
{
	struct drv_task t = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .event = e};

	return drv_is(e, DRV_EVENT) ? add(n, g, deps, n_deps, &t) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuGraphAddEventWaitNode(CUgraphNode *n, CUgraph g, const CUgraphNode *deps,
				     size_t n_deps, CUevent e)
{
	struct drv_task t = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .event = e};

	return drv_is(e, DRV_EVENT) ? add(n, g, deps, n_deps, &t) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuGraphAddNode_v2(CUgraphNode *n, CUgraph g, const CUgraphNode *deps,
			       const CUgraphEdgeData *edges, size_t n_deps, CUgraphNodeParams *p)
{
	struct drv_task t;
	CUresult r = p ? drv_task_node(&t, p) : CUDA_ERROR_INVALID_VALUE;

	r = r == CUDA_SUCCESS ? add(n, g, deps, n_deps, &t) : r;
	if (r == CUDA_SUCCESS && t.type == CU_GRAPH_NODE_TYPE_GRAPH)
		p->graph.graph = (*n)->task.child;
	return r;
}

CUresult sim_cuGraphAddNode(CUgraphNode *n, CUgraph g, const CUgraphNode *deps, size_t n_deps,
			    CUgraphNodeParams *p)
{
	return sim_cuGraphAddNode_v2(n, g, deps, NULL, n_deps, p);
}

/* ---- asking ---- */
/* The usual protocol: NULL asks for the number, else *n entries at most are written. */
static CUresult list(const CUgraphNode *all, size_t count, CUgraphNode *ret, size_t *n)
{
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; ret && i < *n; i++)
		ret[i] = i < count ? all[i] : NULL;
	if (!ret || *n > count)
		*n = count;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *n)
{
	return drv_is(g, DRV_GRAPH) ? list(g->nodes, g->n, nodes, n) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGraphGetRootNodes(CUgraph g, CUgraphNode *nodes, size_t *n)
{
	CUgraphNode *roots;
	size_t count = 0;
	CUresult r;

	if (!drv_is(g, DRV_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	roots = sim_alloc(g->n * sizeof(*roots));
	for (size_t i = 0; i < g->n; i++)
		if (!g->nodes[i]->n_deps)
			roots[count++] = g->nodes[i];
	r = list(roots, count, nodes, n);
	free(roots);
	return r;
}

CUresult sim_cuGraphGetEdges_v2(CUgraph g, CUgraphNode *from, CUgraphNode *to,
				CUgraphEdgeData *edges, size_t *n)
{
	size_t k = 0;

	if (!drv_is(g, DRV_GRAPH) || !n || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < g->n; i++)
		for (size_t d = 0; d < g->nodes[i]->n_deps; d++, k++)
			if (from && k < *n) {
				from[k] = g->nodes[i]->deps[d];
				to[k] = g->nodes[i];
				if (edges)
					memset(&edges[k], 0, sizeof(*edges));
			}
	if (!from || *n > k)
		*n = k;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *n)
{
	return sim_cuGraphGetEdges_v2(g, from, to, NULL, n);
}

CUresult sim_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *deps,
					   CUgraphEdgeData *edges, size_t *n)
{
	if (!drv_is(node, DRV_NODE))
		return CUDA_ERROR_INVALID_VALUE;
	if (edges && n)
		memset(edges, 0, *n * sizeof(*edges));
	return list(node->deps, node->n_deps, deps, n);
}

CUresult sim_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *deps, size_t *n)
{
	return sim_cuGraphNodeGetDependencies_v2(node, deps, NULL, n);
}

CUresult sim_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *ret,
					     CUgraphEdgeData *edges, size_t *n)
{
	CUgraphNode *found;
	size_t count = 0;
	CUresult r;

	if (!drv_is(node, DRV_NODE))
		return CUDA_ERROR_INVALID_VALUE;
	found = sim_alloc(node->graph->n * sizeof(*found));
	for (size_t i = 0; i < node->graph->n; i++)
		for (size_t d = 0; d < node->graph->nodes[i]->n_deps; d++)
			if (node->graph->nodes[i]->deps[d] == node) {
				found[count++] = node->graph->nodes[i];
				break;
			}
	if (edges && n)
		memset(edges, 0, *n * sizeof(*edges));
	r = list(found, count, ret, n);
	free(found);
	return r;
}

CUresult sim_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *ret, size_t *n)
{
	return sim_cuGraphNodeGetDependentNodes_v2(node, ret, NULL, n);
}

CUresult sim_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	if (!type || !drv_is(node, DRV_NODE))
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->task.type;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
	if (!graph || !drv_is(node, DRV_NODE) || node->task.type != CU_GRAPH_NODE_TYPE_GRAPH)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = node->task.child;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeFindInClone(CUgraphNode *ret, CUgraphNode node, CUgraph clone)
{
	if (!ret || !drv_is(node, DRV_NODE) || !drv_is(clone, DRV_GRAPH) || node->index >= clone->n)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = clone->nodes[node->index];
	return CUDA_SUCCESS;
}

/* ---- changing ---- */
CUresult sim_cuGraphAddDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
				       const CUgraphEdgeData *edges, size_t n)
{
	if (!drv_is(g, DRV_GRAPH) || !valid_deps(g, from, n) || !valid_deps(g, to, n))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		CUgraphNode t = to[i], *all = sim_alloc((t->n_deps + 1) * sizeof(*all));
		if (t->n_deps)
			memcpy(all, t->deps, t->n_deps * sizeof(*all));
		all[t->n_deps] = from[i];
		set_deps(t, all, t->n_deps + 1);
		free(all);
	}
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
				    size_t n)
{
	return sim_cuGraphAddDependencies_v2(g, from, to, NULL, n);
}

static bool drop_edge(CUgraphNode from, CUgraphNode to)
{
	for (size_t i = 0; i < to->n_deps; i++)
		if (to->deps[i] == from) {
			to->deps[i] = to->deps[--to->n_deps];
			return true;
		}
	return false;
}

CUresult sim_cuGraphRemoveDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
					  const CUgraphEdgeData *edges, size_t n)
{
	if (!drv_is(g, DRV_GRAPH) || !valid_deps(g, from, n) || !valid_deps(g, to, n))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		if (!drop_edge(from[i], to[i]))
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
				       size_t n)
{
	return sim_cuGraphRemoveDependencies_v2(g, from, to, NULL, n);
}

CUresult sim_cuGraphDestroyNode(CUgraphNode node)
{
	CUgraph g;

	if (!drv_is(node, DRV_NODE))
		return CUDA_ERROR_INVALID_VALUE;
	g = node->graph;
	sim_enter();
	for (size_t i = 0; i < g->n; i++)
		drop_edge(node, g->nodes[i]);
	memmove(&g->nodes[node->index], &g->nodes[node->index + 1],
		(g->n - node->index - 1) * sizeof(*g->nodes));
	g->n--;
	for (size_t i = node->index; i < g->n; i++)
		g->nodes[i]->index = (uint32_t)i;
	node_free(node);
	sim_leave();
	return CUDA_SUCCESS;
}
