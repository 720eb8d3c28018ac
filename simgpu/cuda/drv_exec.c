/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable graphs. Instantiation flattens child graphs, sorts the nodes by their edges and spreads them over lanes:
 * lane 0 is the stream of the launch, each further branch has a stream id of its own, so that operations of one stream
 * never overlap. All operations of a launch share its correlation id and name the executable and their node.
 * One executable does not overlap itself: a launch waits for the one before.
 */
#include "simgpu/cuda/drv.h"

#include <stdlib.h>

struct exec_node {
	struct drv_task task;
	CUgraphNode source;
	uint32_t *deps; /* indices, all smaller than its own */
	uint32_t n_deps;
	uint32_t lane;
	uint32_t
		first; /* of what stands for a child graph: its nodes are from there up to this one */
	bool enabled, has_follower;
	_Alignas(16) unsigned char param[256]; /* a struct of the library's */
};

struct CUgraphExec_st {
	struct drv_head head;
	uint32_t id;
	unsigned long long flags;
	struct exec_node *nodes;
	uint32_t n, room;
	uint32_t n_lanes;
	uint32_t lane_context, first_lane_id; /* stream ids of lanes 1.. in that context */
	uint64_t launches;
	struct sim_point tail;
};

static void set_task(struct exec_node *x, const struct drv_task *t)
{
	x->task = *t;
	if (t->type == CU_GRAPH_NODE_TYPE_KERNEL && t->kernel.param) {
		memmove(x->param, t->kernel.param, t->kernel.f->sim->param_bytes);
		x->task.kernel.param = x->param;
	}
}

/* Appends; parameters are pointed to when the array no longer moves. */
static uint32_t append(CUgraphExec e, CUgraphNode source, const struct drv_task *t,
		       const uint32_t *deps, uint32_t n_deps)
{
	struct exec_node *x;

	if (e->n == e->room) {
		e->room = e->room ? e->room * 2 : 64;
		x = sim_alloc(e->room * sizeof(*x));
		if (e->n)
			memcpy(x, e->nodes, e->n * sizeof(*x));
		free(e->nodes);
		e->nodes = x;
	}
	x = &e->nodes[e->n];
	memset(x, 0, sizeof(*x));
	x->source = source;
	x->first = e->n;
	x->enabled = true;
	x->deps = sim_alloc(n_deps * sizeof(*x->deps));
	if (n_deps)
		memcpy(x->deps, deps, n_deps * sizeof(*x->deps));
	x->n_deps = n_deps;
	set_task(x, t);
	return e->n++;
}

static bool flatten(CUgraphExec e, CUgraph g, const uint32_t *outer, uint32_t n_outer);

/* A child graph becomes its nodes, between what the node follows and a marker that stands for the node. */
static bool append_child(CUgraphExec e, CUgraphNode node, const uint32_t *deps, uint32_t n_deps,
			 uint32_t *ret)
{
	struct drv_task marker = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
	uint32_t first = e->n, *ends, n_ends = 0;

	if (!flatten(e, node->task.child, deps, n_deps))
		return false;
	ends = sim_alloc((e->n - first + n_deps) * sizeof(*ends));
	for (uint32_t i = first; i < e->n; i++)
		for (uint32_t d = 0; d < e->nodes[i].n_deps; d++)
			e->nodes[e->nodes[i].deps[d]].has_follower = true;
	for (uint32_t i = first; i < e->n; i++)
		if (!e->nodes[i].has_follower)
			ends[n_ends++] = i;
	if (first == e->n)
		for (uint32_t i = 0; i < n_deps; i++)
			ends[n_ends++] = deps[i];
	*ret = append(e, node, &marker, ends, n_ends);
	e->nodes[*ret].first = first;
	free(ends);
	return true;
}

/* Nodes of g in an order that follows the edges; roots follow `outer`. False: a cycle. */
static bool flatten(CUgraphExec e, CUgraph g, const uint32_t *outer, uint32_t n_outer)
{
	uint32_t *at = sim_alloc(g->n * sizeof(*at)); /* 0 = not yet, else index + 1 */
	uint32_t *deps = sim_alloc((g->n + n_outer) * sizeof(*deps));
	size_t done = 0;
	bool moved = true, ok = true;

	/* Creation order usually is an order already: then one pass. */
	while (moved && ok && done < g->n) {
		moved = false;
		for (size_t i = 0; i < g->n && ok; i++) {
			CUgraphNode node = g->nodes[i];
			uint32_t n = 0, index = 0;
			if (at[i])
				continue;
			while (n < node->n_deps && n < g->n && at[node->deps[n]->index]) {
				deps[n] = at[node->deps[n]->index] - 1;
				n++;
			}
			if (n < node->n_deps)
				continue;
			if (!n)
				for (; n < n_outer; n++)
					deps[n] = outer[n];
			if (node->task.type == CU_GRAPH_NODE_TYPE_GRAPH)
				ok = append_child(e, node, deps, n, &index);
			else
				index = append(e, node, &node->task, deps, n);
			at[i] = index + 1;
			done++;
			moved = true;
		}
	}
	ok = ok && done == g->n;
	free(at);
	free(deps);
	return ok;
}

/* A node goes on in the lane of the first one it follows that nobody else goes on from; else it opens a lane. */
static void spread(CUgraphExec e)
{
	bool *taken = sim_alloc(e->n * sizeof(*taken));

	e->n_lanes = 0;
	for (uint32_t i = 0; i < e->n; i++) {
		struct exec_node *x = &e->nodes[i];
		uint32_t d = 0;
		while (d < x->n_deps && taken[x->deps[d]])
			d++;
		if (d < x->n_deps) {
			x->lane = e->nodes[x->deps[d]].lane;
			taken[x->deps[d]] = true;
		} else {
			x->lane = e->n_lanes++;
		}
		for (d = 0; d < x->n_deps; d++)
			e->nodes[x->deps[d]].has_follower = true;
		if (x->task.type == CU_GRAPH_NODE_TYPE_KERNEL && x->task.kernel.param)
			x->task.kernel.param = x->param;
	}
	free(taken);
}

static void release_nodes(CUgraphExec e)
{
	for (uint32_t i = 0; i < e->n; i++)
		free(e->nodes[i].deps);
	free(e->nodes);
	e->nodes = NULL;
	e->n = e->room = 0;
}

static CUresult instantiate(CUgraphExec *ret, CUgraph g, unsigned long long flags)
{
	CUgraphExec e;

	if (!ret || !drv_is(g, DRV_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return CUDA_ERROR_NOT_SUPPORTED;
	e = drv_new(DRV_EXEC, sizeof(*e));
	e->id = drv_graph_id();
	e->flags = flags;
	if (!flatten(e, g, NULL, 0)) {
		release_nodes(e);
		drv_free(e);
		return CUDA_ERROR_INVALID_VALUE;
	}
	spread(e);
	drv_hold_copy(g, e);
	*ret = e;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphInstantiateWithFlags(CUgraphExec *e, CUgraph g, unsigned long long flags)
{
	return instantiate(e, g, flags);
}

CUresult sim_cuGraphInstantiate_v2(CUgraphExec *e, CUgraph g, CUgraphNode *error_node, char *log,
				   size_t bytes)
{
	if (error_node)
		*error_node = NULL;
	if (log && bytes)
		*log = 0;
	return instantiate(e, g, 0);
}

CUresult sim_cuGraphInstantiate(CUgraphExec *e, CUgraph g, CUgraphNode *error_node, char *log,
				size_t bytes)
{
	return sim_cuGraphInstantiate_v2(e, g, error_node, log, bytes);
}

CUresult sim_cuGraphInstantiateWithParams(CUgraphExec *e, CUgraph g,
					  CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	CUresult r;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	r = instantiate(e, g, p->flags);
	p->hErrNode_out = NULL;
	p->result_out =
		r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
	return r;
}

CUresult sim_cuGraphExecDestroy(CUgraphExec e)
{
	if (!drv_is(e, DRV_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	sim_enter();
	release_nodes(e);
	sim_point_clear(&e->tail);
	sim_leave();
	drv_hold_drop(e);
	drv_hold_run();
	drv_free(e);
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphExecGetFlags(CUgraphExec e, cuuint64_t *flags)
{
	if (!flags || !drv_is(e, DRV_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = e->flags;
	return CUDA_SUCCESS;
}

uint32_t drv_exec_id(const void *handle)
{
	return drv_is(handle, DRV_EXEC) ? ((CUgraphExec)(uintptr_t)handle)->id : 0;
}

static struct exec_node *node_of(CUgraphExec e, CUgraphNode n)
{
	if (!drv_is(e, DRV_EXEC) || !drv_is(n, DRV_NODE))
		return NULL;
	/* Usually at its own index: no child graphs before it. */
	if (n->index < e->n && e->nodes[n->index].source == n)
		return &e->nodes[n->index];
	for (uint32_t i = 0; i < e->n; i++)
		if (e->nodes[i].source == n)
			return &e->nodes[i];
	return NULL;
}

CUresult drv_exec_set(CUgraphExec e, CUgraphNode n, const struct drv_task *t)
{
	struct exec_node *x = node_of(e, n);

	if (!x || x->task.type != t->type)
		return CUDA_ERROR_INVALID_VALUE;
	sim_enter();
	set_task(x, t);
	sim_leave();
	return CUDA_SUCCESS;
}

/* The task of another executable's node, in place of x's. */
static void take_task(struct exec_node *x, const struct exec_node *from)
{
	struct drv_task t = from->task;

	if (t.type == CU_GRAPH_NODE_TYPE_KERNEL && t.kernel.param)
		t.kernel.param = from->param;
	set_task(x, &t);
}

/* Nodes [at, at + fresh->n) of e against those of a graph flattened alone: same kinds, same edges among themselves. */
static bool same_child(CUgraphExec e, uint32_t at, CUgraphExec fresh)
{
	for (uint32_t i = 0; i < fresh->n; i++) {
		struct exec_node *x = &e->nodes[at + i], *y = &fresh->nodes[i];
		if (x->task.type != y->task.type || (y->n_deps && x->n_deps != y->n_deps))
			return false;
		for (uint32_t d = 0; d < y->n_deps; d++)
			if (x->deps[d] != at + y->deps[d])
				return false;
	}
	return true;
}

CUresult sim_cuGraphExecChildGraphNodeSetParams(CUgraphExec e, CUgraphNode n, CUgraph child)
{
	struct exec_node *x = node_of(e, n);
	struct CUgraphExec_st fresh = {0};
	bool ok;

	if (!x || n->task.type != CU_GRAPH_NODE_TYPE_GRAPH || !drv_is(child, DRV_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	ok = flatten(&fresh, child, NULL, 0) && e->nodes + x->first + fresh.n == x &&
	     same_child(e, x->first, &fresh);
	sim_enter();
	for (uint32_t i = 0; ok && i < fresh.n; i++)
		take_task(&e->nodes[x->first + i], &fresh.nodes[i]);
	sim_leave();
	release_nodes(&fresh);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool can_disable(const struct exec_node *x)
{
	return x->task.type == CU_GRAPH_NODE_TYPE_KERNEL ||
	       x->task.type == CU_GRAPH_NODE_TYPE_MEMCPY ||
	       x->task.type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult sim_cuGraphNodeSetEnabled(CUgraphExec e, CUgraphNode n, unsigned int enabled)
{
	struct exec_node *x = node_of(e, n);

	if (!x || !can_disable(x))
		return CUDA_ERROR_INVALID_VALUE;
	x->enabled = enabled != 0;
	return CUDA_SUCCESS;
}

CUresult sim_cuGraphNodeGetEnabled(CUgraphExec e, CUgraphNode n, unsigned int *enabled)
{
	struct exec_node *x = node_of(e, n);

	if (!x || !enabled || !can_disable(x))
		return CUDA_ERROR_INVALID_VALUE;
	*enabled = x->enabled;
	return CUDA_SUCCESS;
}

static bool same_shape(CUgraphExec a, CUgraphExec b, CUgraphExecUpdateResult *why, uint32_t *where)
{
	*where = 0;
	*why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	if (a->n != b->n)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		struct exec_node *x = &a->nodes[i], *y = &b->nodes[i];
		*where = i;
		if (x->task.type != y->task.type) {
			*why = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
			return false;
		}
		if (x->n_deps != y->n_deps ||
		    (x->n_deps && memcmp(x->deps, y->deps, x->n_deps * sizeof(*x->deps))))
			return false;
	}
	*why = CU_GRAPH_EXEC_UPDATE_SUCCESS;
	return true;
}

CUresult sim_cuGraphExecUpdate_v2(CUgraphExec e, CUgraph g, CUgraphExecUpdateResultInfo *info)
{
	struct CUgraphExec_st fresh = {0};
	CUgraphExecUpdateResult why = CU_GRAPH_EXEC_UPDATE_ERROR;
	uint32_t where = 0;
	bool ok;

	if (!info || !drv_is(e, DRV_EXEC) || !drv_is(g, DRV_GRAPH))
		return CUDA_ERROR_INVALID_VALUE;
	memset(info, 0, sizeof(*info));
	ok = flatten(&fresh, g, NULL, 0) && same_shape(e, &fresh, &why, &where);
	if (ok) {
		sim_enter();
		for (uint32_t i = 0; i < e->n; i++) {
			take_task(&e->nodes[i], &fresh.nodes[i]);
			e->nodes[i].source = fresh.nodes[i].source;
		}
		sim_leave();
	}
	info->result = why;
	info->errorNode = ok || where >= fresh.n ? NULL : fresh.nodes[where].source;
	release_nodes(&fresh);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

CUresult sim_cuGraphExecUpdate(CUgraphExec e, CUgraph g, CUgraphNode *error_node,
			       CUgraphExecUpdateResult *result)
{
	CUgraphExecUpdateResultInfo info;
	CUresult r = sim_cuGraphExecUpdate_v2(e, g, &info);

	if (r == CUDA_ERROR_INVALID_VALUE)
		return r;
	if (error_node)
		*error_node = info.errorNode;
	if (result)
		*result = info.result;
	return r;
}

CUresult sim_cuGraphUpload(CUgraphExec e, CUstream h)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	return drv_is(e, DRV_EXEC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Stream ids of the further lanes, drawn once per context. (locked) */
static uint32_t lane_id(CUgraphExec e, const struct sim_lane *l, uint32_t lane)
{
	if (!lane)
		return l->id;
	if (e->lane_context != l->space->id) {
		e->lane_context = l->space->id;
		e->first_lane_id = l->space->next_lane_id;
		l->space->next_lane_id += e->n_lanes - 1;
	}
	return e->first_lane_id + lane - 1;
}

/* (locked) One operation of the launch; points[i] becomes its end. */
static void run_node(CUgraphExec e, uint32_t i, struct sim_lane *l, struct sim_point *points,
		     struct sim_point *before, int64_t base_ns, int64_t submit_ns)
{
	struct exec_node *x = &e->nodes[i];
	static const struct drv_task nothing = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
	const struct drv_task *t = x->enabled ? &x->task : &nothing;
	uint32_t device = l->space->device;
	uint64_t number = e->launches * e->n + i;
	struct sim_work *w;

	w = drv_work(t, drv_duration(t, base_ns, device, 1ull << 63 | e->id, number), device);
	if (!x->n_deps)
		sim_work_after(w, before);
	for (uint32_t d = 0; d < x->n_deps; d++)
		sim_work_after(w, &points[x->deps[d]]);
	if (t->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT && t->event->recorded)
		sim_work_after(w, &t->event->at);
	w->op.device = device;
	w->op.context = l->space->id;
	w->op.stream = lane_id(e, l, x->lane);
	w->op.graph = e->id;
	w->op.graph_node = (uint64_t)e->id << 32 | (i + 1);
	if (w->op.kind || w->behaviour) {
		w->lane = l;
		l->queued++;
	}
	w->refs++;
	sim_work_submit(w, submit_ns);
	sim_point_set(&points[i], w);
	sim_work_unref(w);
	if (t->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
		sim_point_copy(&t->event->at, &points[i]);
		sim_point_at_least(&t->event->at, sim_earliest(submit_ns));
		t->event->recorded = true;
		drv_event_forget_capture(t->event);
	}
}

static void run(CUgraphExec e, struct sim_lane *l, const int64_t *base_ns)
{
	struct sim_point *points = sim_alloc(e->n * sizeof(*points)), before = {0}, after = {0};
	int64_t submit_ns;

	sim_lane_throttle(l);
	submit_ns = sim_now_ns();
	sim_lane_now(l, &before);
	sim_point_join(&before, &e->tail);
	sim_point_copy(&after, &before);
	for (uint32_t i = 0; i < e->n; i++)
		run_node(e, i, l, points, &before, base_ns[i], submit_ns);
	for (uint32_t i = 0; i < e->n; i++) {
		if (!e->nodes[i].has_follower)
			sim_point_join(&after, &points[i]);
		sim_point_clear(&points[i]);
	}
	e->launches++;
	sim_point_copy(&e->tail, &after);
	sim_point_join(&l->tail, &after);
	sim_point_clear(&before);
	sim_point_clear(&after);
	free(points);
}

/* A graph launched into a capture becomes a child graph of it. */
static CUresult capture(struct CUstream_st *s, CUgraphExec e)
{
	CUgraph g = drv_graph_new();
	struct drv_task t = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = g};
	CUresult r;

	for (uint32_t i = 0; i < e->n; i++) {
		CUgraphNode *deps = sim_alloc(e->nodes[i].n_deps * sizeof(*deps));
		for (uint32_t d = 0; d < e->nodes[i].n_deps; d++)
			deps[d] = g->nodes[e->nodes[i].deps[d]];
		drv_graph_add(g, &e->nodes[i].task, deps, e->nodes[i].n_deps);
		free(deps);
	}
	r = drv_capture_add(s, &t, NULL);
	drv_graph_free(g);
	return r;
}

CUresult sim_cuGraphLaunch(CUgraphExec e, CUstream h)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);
	int64_t *base_ns;

	if (r != CUDA_SUCCESS)
		return r;
	if (!drv_is(e, DRV_EXEC))
		return CUDA_ERROR_INVALID_VALUE;
	/* The cost functions of libraries run without the lock. */
	base_ns = sim_alloc(e->n * sizeof(*base_ns));
	for (uint32_t i = 0; i < e->n; i++)
		base_ns[i] = drv_kernel_base_ns(&e->nodes[i].task, (uint32_t)s->ctx->device);
	sim_enter();
	if (drv_capturing(s))
		r = capture(s, e);
	else if ((r = drv_capture_legacy(s)) == CUDA_SUCCESS)
		run(e, s->lane, base_ns);
	sim_leave();
	free(base_ns);
	return r;
}
