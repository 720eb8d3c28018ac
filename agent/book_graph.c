// SPDX-License-Identifier: Apache-2.0
/*
 * Captures and graphs: how many kernel, copy and memset nodes a launch of an executable graph will run. Counted from
 * the graph it was made of, at instantiate and update, so that a launch costs nothing to account for. A graph with
 * conditional nodes, or one we could not read, is marked incomplete: its count is a lower bound and is said to be.
 *
 * Memory for the list of nodes is mapped and given back at once: never the job's heap.
 */
#define _GNU_SOURCE
#include "book.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "agent.h"
#include "hot.h"
#include "real_calls.h"

#define NODES_MAX (4u << 20) /* 32 MiB of handles; beyond it we do not look */
#define NODES_FEW 32	     /* no mapping for these: it would cost more than the rest */
#define NEST_MAX  16	     /* child graphs in child graphs */

enum { KERNELS, COPIES, MEMSETS };

/* ---- captures ---- */

void wt_capture_began(void)
{
	atomic_fetch_sub(&wt_words->minus_captures, 1);
}

static void capture_over(void)
{
	int32_t minus = atomic_load(&wt_words->minus_captures);

	while (minus < 0 &&
	       !atomic_compare_exchange_weak(&wt_words->minus_captures, &minus, minus + 1))
		;
}

static uint32_t graph_id(CUgraph graph)
{
	struct wt_reg_entry e;

	if (!graph)
		return 0;
	if (wt_reg_find(WT_REG_GRAPH, (uint64_t)graph, UINT64_MAX, &e))
		return e.id;
	return wt_reg_add(WT_REG_GRAPH, (uint64_t)graph, wt_tsc(), NULL);
}

/* Too high a count only costs questions, too low a one takes captured launches for real: in doubt it stays. */
void wt_book_capture_end(struct wt_rec *rec, int status, CUgraph *graph)
{
	if (status == CUDA_SUCCESS) {
		capture_over();
		rec->object = (uint64_t)*graph;
		graph_id(*graph);
		return;
	}
	if ((status == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
	     status == CUDA_ERROR_STREAM_CAPTURE_UNJOINED) &&
	    !wt_ask_capture(rec->stream))
		capture_over();
}

/* ---- nodes ---- */

static int copy_moves(CUgraphNode node)
{
	CUDA_MEMCPY3D p;

	memset(&p, 0, sizeof(p));
	if (WT_REAL_CALL(cuGraphMemcpyNodeGetParams, node, &p) != CUDA_SUCCESS)
		return 1;
	return p.WidthInBytes && p.Height && p.Depth;
}

static int memset_sets(CUgraphNode node)
{
	CUDA_MEMSET_NODE_PARAMS p;

	memset(&p, 0, sizeof(p));
	if (WT_REAL_CALL(cuGraphMemsetNodeGetParams, node, &p) != CUDA_SUCCESS)
		return 1;
	return p.width && p.height;
}

static void count_graph(CUgraph graph, struct wt_reg_entry *e, int depth);

static void count_node(CUgraphNode node, struct wt_reg_entry *e, int depth)
{
	CUgraphNodeType type;
	CUgraph child = NULL;

	if (WT_REAL_CALL(cuGraphNodeGetType, node, &type) != CUDA_SUCCESS) {
		e->u.graph.complete = 0;
		return;
	}
	if (type == CU_GRAPH_NODE_TYPE_KERNEL)
		e->u.graph.nodes[KERNELS]++;
	else if (type == CU_GRAPH_NODE_TYPE_MEMCPY)
		e->u.graph.nodes[COPIES] += (uint32_t)copy_moves(node);
	else if (type == CU_GRAPH_NODE_TYPE_MEMSET)
		e->u.graph.nodes[MEMSETS] += (uint32_t)memset_sets(node);
	else if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		e->u.graph.complete = 0;
	else if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
		if (WT_REAL_CALL(cuGraphChildGraphNodeGetGraph, node, &child) == CUDA_SUCCESS)
			count_graph(child, e, depth + 1);
		else
			e->u.graph.complete = 0;
	}
}

static void count_graph(CUgraph graph, struct wt_reg_entry *e, int depth)
{
	CUgraphNode few[NODES_FEW], *nodes = few;
	size_t n = 0, bytes;

	if (depth > NEST_MAX || WT_REAL_CALL(cuGraphGetNodes, graph, NULL, &n) != CUDA_SUCCESS ||
	    n > NODES_MAX) {
		e->u.graph.complete = 0;
		return;
	}
	if (!n)
		return;
	bytes = n * sizeof(*nodes);
	if (n > NODES_FEW)
		nodes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	if (nodes == MAP_FAILED) {
		e->u.graph.complete = 0;
		return;
	}
	if (WT_REAL_CALL(cuGraphGetNodes, graph, nodes, &n) == CUDA_SUCCESS)
		for (size_t i = 0; i < n; i++)
			count_node(nodes[i], e, depth);
	else
		e->u.graph.complete = 0;
	if (nodes != few)
		munmap(nodes, bytes);
}

static void count_all(CUgraph graph, struct wt_reg_entry *e)
{
	memset(e, 0, sizeof(*e));
	e->u.graph.complete = 1;
	e->u.graph.graph = graph_id(graph);
	count_graph(graph, e, 0);
}

uint32_t wt_book_exec_new(CUgraph graph, CUgraphExec exec)
{
	struct wt_reg_entry e;

	count_all(graph, &e);
	return wt_reg_add(WT_REG_EXEC, (uint64_t)exec, wt_tsc(), &e);
}

void wt_book_exec_update(CUgraphExec exec, CUgraph graph)
{
	struct wt_reg_entry old, e;

	if (!wt_reg_find(WT_REG_EXEC, (uint64_t)exec, UINT64_MAX, &old)) {
		wt_book_exec_new(graph, exec);
		return;
	}
	count_all(graph, &e);
	e.u.graph.graph = old.u.graph.graph;
	wt_reg_update(WT_REG_EXEC, old.id, &e);
}

unsigned int wt_book_node_was(CUgraphExec exec, CUgraphNode node)
{
	unsigned int was = 1;

	if (WT_REAL_CALL(cuGraphNodeGetEnabled, exec, node, &was) != CUDA_SUCCESS)
		return 1;
	return was;
}

void wt_book_node_enabled(CUgraphExec exec, CUgraphNode node, unsigned int was, unsigned int now)
{
	struct wt_reg_entry e, one;

	if (!was == !now || !wt_reg_find(WT_REG_EXEC, (uint64_t)exec, UINT64_MAX, &e))
		return;
	memset(&one, 0, sizeof(one));
	one.u.graph.complete = 1;
	count_node(node, &one, 0);
	for (int i = 0; i < 3; i++) {
		if (now)
			e.u.graph.nodes[i] += one.u.graph.nodes[i];
		else if (e.u.graph.nodes[i] >= one.u.graph.nodes[i])
			e.u.graph.nodes[i] -= one.u.graph.nodes[i];
	}
	wt_reg_update(WT_REG_EXEC, e.id, &e);
}
