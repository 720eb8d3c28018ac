/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture: what is put on a capturing stream becomes a node of a graph instead of an operation. A capture
 * spreads to other streams when they wait for an event recorded in it, and has to be joined again before it ends.
 * A call that cannot be captured ends the capture as invalid, as the driver does: the mistake shows at EndCapture too.
 */
#include "simgpu/cuda/drv.h"

#include "simgpu/core/sim_truth.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct drv_capture {
	uint64_t id; /* 0 = free: events may still point here */
	CUgraph graph;
	CUstreamCaptureMode mode;
	CUstreamCaptureStatus status;
	struct CUstream_st *origin, *streams;
	pid_t thread;
	bool into_given; /* BeginCaptureToGraph: the graph is the caller's */
	struct drv_capture *next_free;
};

static struct drv_capture *free_captures;
static uint64_t n_captures; /* ever */
static atomic_uint open_captures;
static __thread CUstreamCaptureMode thread_mode __attribute__((tls_model("initial-exec")));

bool drv_capturing(struct CUstream_st *s)
{
	return s->capture != NULL;
}

bool drv_capture_refuses_unsafe(CUcontext ctx)
{
	return ctx->captures && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

static void set_deps(CUgraphNode **deps, size_t *n, const CUgraphNode *from, size_t count)
{
	CUgraphNode *copy = sim_alloc(count * sizeof(*copy));

	if (count)
		memcpy(copy, from, count * sizeof(*copy));
	free(*deps);
	*deps = copy;
	*n = count;
}

static void add_deps(struct CUstream_st *s, const CUgraphNode *from, size_t count)
{
	CUgraphNode *all = sim_alloc((s->n_deps + count) * sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < s->n_deps; i++)
		all[n++] = s->deps[i];
	for (size_t i = 0; i < count; i++) {
		size_t k = 0;
		while (k < n && all[k] != from[i])
			k++;
		if (k == n)
			all[n++] = from[i];
	}
	free(s->deps);
	s->deps = all;
	s->n_deps = n;
}

static void enlist(struct drv_capture *c, struct CUstream_st *s)
{
	s->capture = c;
	s->next_captured = c->streams;
	c->streams = s;
}

static CUresult invalidate(struct drv_capture *c, CUresult why)
{
	c->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
	return why;
}

CUresult drv_capture_forbid(struct CUstream_st *s)
{
	return invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult drv_capture_legacy(struct CUstream_st *s)
{
	if (!open_captures || s->lane != &s->ctx->space.legacy)
		return CUDA_SUCCESS;
	for (struct CUstream_st *o = s->ctx->streams; o; o = o->next)
		if (o->capture && o->own.blocking)
			return invalidate(o->capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	return CUDA_SUCCESS;
}

CUresult drv_capture_add(struct CUstream_st *s, const struct drv_task *t, CUgraphNode *ret)
{
	struct drv_capture *c = s->capture;
	CUgraphNode n;

	if (c->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	n = drv_graph_add(c->graph, t, s->deps, s->n_deps);
	set_deps(&s->deps, &s->n_deps, &n, 1);
	if (ret)
		*ret = n;
	return CUDA_SUCCESS;
}

CUresult drv_capture_record(struct CUstream_st *s, struct CUevent_st *e)
{
	if (s->capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	sim_point_clear(&e->at);
	e->recorded = false;
	e->capture = s->capture;
	e->capture_id = s->capture->id;
	set_deps(&e->deps, &e->n_deps, s->deps, s->n_deps);
	return CUDA_SUCCESS;
}

CUresult drv_capture_wait(struct CUstream_st *s, struct CUevent_st *e)
{
	struct drv_capture *c = e->capture;

	if (!c) {
		if (!e->recorded)
			return CUDA_SUCCESS;
		return invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	}
	if (c->id != e->capture_id)
		return s->capture ? invalidate(s->capture, CUDA_ERROR_CAPTURED_EVENT)
				  : CUDA_ERROR_CAPTURED_EVENT;
	if (c->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (s->capture && s->capture != c) {
		invalidate(c, 0);
		return invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
	}
	if (s->lane == &s->ctx->space.legacy)
		return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	if (!s->capture)
		enlist(c, s);
	add_deps(s, e->deps, e->n_deps);
	return CUDA_SUCCESS;
}

static void close_capture(struct drv_capture *c)
{
	struct CUstream_st *s;

	if (c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL)
		c->origin->ctx->captures--;
	while ((s = c->streams)) {
		c->streams = s->next_captured;
		s->capture = NULL;
		s->n_deps = 0;
	}
	open_captures--;
	c->id = 0;
	c->next_free = free_captures;
	free_captures = c;
}

void drv_capture_drop(struct CUstream_st *s)
{
	struct drv_capture *c = s->capture;
	struct CUstream_st **link;

	if (!c)
		return;
	if (c->origin == s) {
		CUgraph g = c->into_given ? NULL : c->graph;
		close_capture(c);
		drv_graph_free(g);
		return;
	}
	invalidate(c, 0);
	for (link = &c->streams; *link != s; link = &(*link)->next_captured)
		;
	*link = s->next_captured;
	s->capture = NULL;
}

static CUresult begin(CUstream h, CUstreamCaptureMode mode, CUgraph graph, const CUgraphNode *deps,
		      size_t n)
{
	struct CUstream_st *s;
	struct drv_capture *c;
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	if (mode > CU_STREAM_CAPTURE_MODE_RELAXED || (n && !deps))
		return CUDA_ERROR_INVALID_VALUE;
	if (s->lane == &s->ctx->space.legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	sim_enter();
	if (s->capture) {
		sim_leave();
		return CUDA_ERROR_ILLEGAL_STATE;
	}
	c = free_captures;
	if (c)
		free_captures = c->next_free;
	else
		c = sim_alloc(sizeof(*c));
	*c = (struct drv_capture){.id = ++n_captures,
				  .mode = mode,
				  .status = CU_STREAM_CAPTURE_STATUS_ACTIVE,
				  .origin = s,
				  .thread = (pid_t)syscall(SYS_gettid),
				  .into_given = graph != NULL,
				  .graph = graph ? graph : drv_graph_new()};
	open_captures++;
	if (mode == CU_STREAM_CAPTURE_MODE_GLOBAL)
		s->ctx->captures++;
	enlist(c, s);
	set_deps(&s->deps, &s->n_deps, deps, n);
	sim_leave();
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamBeginCapture_v2(CUstream h, CUstreamCaptureMode mode)
{
	return begin(h, mode, NULL, NULL, 0);
}

CUresult sim_cuStreamBeginCapture(CUstream h)
{
	return begin(h, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL, 0);
}

CUresult sim_cuStreamBeginCaptureToGraph(CUstream h, CUgraph graph, const CUgraphNode *deps,
					 const CUgraphEdgeData *edges, size_t n,
					 CUstreamCaptureMode mode)
{
	return drv_is(graph, DRV_GRAPH) ? begin(h, mode, graph, deps, n) : CUDA_ERROR_INVALID_VALUE;
}

/* Marks a node and all it follows. Depth is bounded by marking before descending, over an explicit stack. */
static void mark(CUgraph g, bool *seen, const CUgraphNode *from, size_t n)
{
	CUgraphNode *stack = sim_alloc(g->n * sizeof(*stack));
	size_t top = 0;

	for (size_t i = 0; i < n; i++)
		if (!seen[from[i]->index]) {
			seen[from[i]->index] = true;
			stack[top++] = from[i];
		}
	while (top) {
		CUgraphNode x = stack[--top];
		for (size_t i = 0; i < x->n_deps; i++)
			if (!seen[x->deps[i]->index]) {
				seen[x->deps[i]->index] = true;
				stack[top++] = x->deps[i];
			}
	}
	free(stack);
}

static bool joined(struct drv_capture *c)
{
	bool *seen = sim_alloc(c->graph->n * sizeof(*seen)), ok = true;

	mark(c->graph, seen, c->origin->deps, c->origin->n_deps);
	for (struct CUstream_st *s = c->streams; s && ok; s = s->next_captured)
		for (size_t i = 0; i < s->n_deps; i++)
			ok = ok && seen[s->deps[i]->index];
	free(seen);
	return ok;
}

CUresult sim_cuStreamEndCapture(CUstream h, CUgraph *graph)
{
	struct CUstream_st *s;
	struct drv_capture *c;
	CUgraph g;
	CUresult r = drv_stream(h, &s);

	if (graph)
		*graph = NULL;
	if (r != CUDA_SUCCESS)
		return r;
	sim_enter();
	c = s->capture;
	if (!c)
		r = CUDA_ERROR_ILLEGAL_STATE;
	else if (c->origin != s)
		r = invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	else if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
		 c->thread != (pid_t)syscall(SYS_gettid))
		r = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (r != CUDA_SUCCESS) {
		sim_leave();
		return r;
	}
	if (c->status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!joined(c))
		r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	g = c->graph;
	if (r != CUDA_SUCCESS || !graph) {
		if (!c->into_given)
			drv_graph_free(g);
	} else {
		*graph = g;
		sim_truth_note("capture", "graph=%u nodes=%zu", g->id, g->n);
	}
	close_capture(c);
	sim_leave();
	return r;
}

CUresult sim_cuStreamIsCapturing(CUstream h, CUstreamCaptureStatus *status)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	if (!open_captures) { /* the usual case, without the lock */
		*status = CU_STREAM_CAPTURE_STATUS_NONE;
		return CUDA_SUCCESS;
	}
	sim_enter();
	r = drv_capture_legacy(s);
	if (r == CUDA_SUCCESS)
		*status = s->capture ? s->capture->status : CU_STREAM_CAPTURE_STATUS_NONE;
	sim_leave();
	return r;
}

CUresult sim_cuStreamGetCaptureInfo_v3(CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id,
				       CUgraph *graph, const CUgraphNode **deps,
				       const CUgraphEdgeData **edges, size_t *n)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	if (edges)
		*edges = NULL;
	sim_enter();
	r = drv_capture_legacy(s);
	if (r == CUDA_SUCCESS) {
		*status = s->capture ? s->capture->status : CU_STREAM_CAPTURE_STATUS_NONE;
		if (id)
			*id = s->capture ? s->capture->id : 0;
		if (graph)
			*graph = s->capture ? s->capture->graph : NULL;
		if (deps)
			*deps = s->deps;
		if (n)
			*n = s->capture ? s->n_deps : 0;
	}
	sim_leave();
	return r;
}

CUresult sim_cuStreamGetCaptureInfo_v2(CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id,
				       CUgraph *graph, const CUgraphNode **deps, size_t *n)
{
	return sim_cuStreamGetCaptureInfo_v3(h, status, id, graph, deps, NULL, n);
}

CUresult sim_cuStreamGetCaptureInfo(CUstream h, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return sim_cuStreamGetCaptureInfo_v3(h, status, id, NULL, NULL, NULL, NULL);
}

CUresult sim_cuStreamUpdateCaptureDependencies_v2(CUstream h, CUgraphNode *deps,
						  const CUgraphEdgeData *edges, size_t n,
						  unsigned int flags)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	if ((n && !deps) || flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		if (!drv_is(deps[i], DRV_NODE))
			return CUDA_ERROR_INVALID_VALUE;
	sim_enter();
	if (!s->capture)
		r = CUDA_ERROR_ILLEGAL_STATE;
	else if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		set_deps(&s->deps, &s->n_deps, deps, n);
	else
		add_deps(s, deps, n);
	sim_leave();
	return r;
}

CUresult sim_cuStreamUpdateCaptureDependencies(CUstream h, CUgraphNode *deps, size_t n,
					       unsigned int flags)
{
	return sim_cuStreamUpdateCaptureDependencies_v2(h, deps, NULL, n, flags);
}

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = thread_mode;

	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}
