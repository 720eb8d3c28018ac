/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device rows of an Nsight Systems export: kernels, copies, memsets, and whole graphs where the recording did not go
 * into their nodes. See nsys.h. Times are nanoseconds since the start of the session, whose own time the builder adds.
 */
#include "import/nsys.h"

#include <string.h>

/* The columns that all device rows begin with. */
#define COMMON "start", "end", "deviceId", "streamId", "correlationId", "globalPid"
enum { START, END, DEVICE, STREAM, CORRELATION, PID, OWN };

static int64_t number(sqlite3_stmt *s, int column)
{
	return sqlite3_column_int64(s, column);
}

static uint32_t small(sqlite3_stmt *s, int column)
{
	int64_t v = number(s, column);

	return v >= 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

/* Zero to zero is how lost time stamps look. */
static int is_timed(sqlite3_stmt *s)
{
	int64_t start = number(s, START), end = number(s, END);

	return sqlite3_column_type(s, START) == SQLITE_INTEGER &&
	       sqlite3_column_type(s, END) == SQLITE_INTEGER && end >= start && (start || end);
}

static struct wt_op common(struct wt_nsys *k, sqlite3_stmt *s, uint8_t kind)
{
	uint16_t process = wt_nsys_process(k, s, PID),
		 device = wt_nsys_device(k, process, number(s, DEVICE));
	struct wt_op op = {
		.correlation = (uint64_t)number(s, CORRELATION),
		.stream = wt_builder_stream(k->b, process, device, number(s, STREAM)),
		.call = -1,
		.collective = -1,
		.device = device,
		.process = process,
		.kind = kind,
	};

	k->rows++;
	if (is_timed(s)) {
		op.start_ns = number(s, START);
		op.end_ns = number(s, END);
	} else {
		op.flags = WT_OP_UNTIMED;
		k->untimed++;
	}
	return op;
}

/* ---- kernels ---- */

enum {
	NAME = OWN,
	SHORT_NAME,
	REGS,
	GRID,
	BLOCK = GRID + 3,
	STATIC_SMEM = BLOCK + 3,
	DYN_SMEM,
	NODE
};

static int is_nccl(const char *name)
{
	return strstr(name, "nccl") != NULL;
}

/* Kernels of NCCL wait: which collective they belong to is known when the ranges have been read. */
static void hold_back(struct wt_nsys *k, const struct wt_op *op)
{
	if (!WT_NSYS_ROOM(k, nccl_ops))
		return;
	k->nccl_ops[k->nnccl_ops] = (struct wt_nsys_nccl_op){.op = *op, .thread = UINT32_MAX};
	if (op->correlation &&
	    wt_map_put(&k->nccl_launches, wt_nsys_key(op->process, op->correlation),
		       (uint32_t)k->nnccl_ops))
		k->error = -WT_E_NOMEM;
	k->nnccl_ops++;
}

static int add_kernel(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;
	struct wt_op op = common(k, s, WT_OP_KERNEL);
	struct wt_shape shape = {
		.grid = {small(s, GRID), small(s, GRID + 1), small(s, GRID + 2)},
		.block = {small(s, BLOCK), small(s, BLOCK + 1), small(s, BLOCK + 2)},
		.static_smem = small(s, STATIC_SMEM),
		.dyn_smem = small(s, DYN_SMEM),
		.regs = small(s, REGS),
	};

	op.name = wt_nsys_string(k, s, NAME);
	if (!op.name)
		op.name = wt_nsys_string(k, s, SHORT_NAME);
	if (shape.grid[0] || shape.block[0])
		op.shape = wt_builder_shape(k->b, &shape);
	if (number(s, NODE))
		op.flags |= WT_OP_GRAPH_NODE;
	if (is_nccl(wt_builder_get(k->b, op.name)))
		hold_back(k, &op);
	else
		wt_builder_op(k->b, &op);
	return k->error;
}

int wt_nsys_read_kernels(struct wt_nsys *k)
{
	static const char *const columns[] = {COMMON,
					      "demangledName|name|mangledName",
					      "shortName",
					      "registersPerThread",
					      "gridX",
					      "gridY",
					      "gridZ",
					      "blockX",
					      "blockY",
					      "blockZ",
					      "staticSharedMemory",
					      "dynamicSharedMemory",
					      "graphNodeId",
					      NULL};

	return wt_nsys_read_table(k, "CUPTI_ACTIVITY_KIND_KERNEL", columns, add_kernel);
}

/* ---- copies and memsets ---- */

enum { BYTES = OWN, COPY_KIND, SRC_KIND, DST_KIND, COPY_NODE };
enum { MEMSET_NODE = OWN + 1 };

/* CUpti_ActivityMemcpyKind; 11 to 13 are Nsight's own, for pages that moved. */
static const struct {
	const char *name;
	uint8_t kind;
} copies[] = {
	{"Memcpy", WT_COPY_OTHER},
	{"Memcpy HtoD", WT_COPY_H2D},
	{"Memcpy DtoH", WT_COPY_D2H},
	{"Memcpy HtoA", WT_COPY_H2D},
	{"Memcpy AtoH", WT_COPY_D2H},
	{"Memcpy AtoA", WT_COPY_D2D},
	{"Memcpy AtoD", WT_COPY_D2D},
	{"Memcpy DtoA", WT_COPY_D2D},
	{"Memcpy DtoD", WT_COPY_D2D},
	{"Memcpy HtoH", WT_COPY_H2H},
	{"Memcpy PtoP", WT_COPY_P2P},
	{"Memcpy Unified HtoD", WT_COPY_H2D},
	{"Memcpy Unified DtoH", WT_COPY_D2H},
	{"Memcpy Unified DtoD", WT_COPY_D2D},
};

static int add_copy(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;
	struct wt_op op = common(k, s, WT_OP_COPY);
	uint32_t kind = small(s, COPY_KIND);
	int host_is_pageable =
		(sqlite3_column_type(s, SRC_KIND) == SQLITE_INTEGER && number(s, SRC_KIND) == 0) ||
		(sqlite3_column_type(s, DST_KIND) == SQLITE_INTEGER && number(s, DST_KIND) == 0);

	if (kind >= sizeof(copies) / sizeof(copies[0]))
		kind = 0;
	op.name = wt_builder_cstring(k->b, copies[kind].name);
	op.copy_kind = copies[kind].kind;
	op.bytes = number(s, BYTES) > 0 ? (uint64_t)number(s, BYTES) : 0;
	if (host_is_pageable)
		op.flags |= WT_OP_PAGEABLE;
	if (number(s, COPY_NODE))
		op.flags |= WT_OP_GRAPH_NODE;
	wt_builder_op(k->b, &op);
	return k->error;
}

int wt_nsys_read_copies(struct wt_nsys *k)
{
	static const char *const columns[] = {COMMON,	 "bytes",	"copyKind", "srcKind",
					      "dstKind", "graphNodeId", NULL};

	return wt_nsys_read_table(k, "CUPTI_ACTIVITY_KIND_MEMCPY", columns, add_copy);
}

static int add_memset(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;
	struct wt_op op = common(k, s, WT_OP_MEMSET);

	op.name = wt_builder_cstring(k->b, "Memset");
	op.bytes = number(s, BYTES) > 0 ? (uint64_t)number(s, BYTES) : 0;
	if (number(s, MEMSET_NODE))
		op.flags |= WT_OP_GRAPH_NODE;
	wt_builder_op(k->b, &op);
	return k->error;
}

int wt_nsys_read_memsets(struct wt_nsys *k)
{
	static const char *const columns[] = {COMMON, "bytes", "graphNodeId", NULL};

	return wt_nsys_read_table(k, "CUPTI_ACTIVITY_KIND_MEMSET", columns, add_memset);
}

/* ---- whole graphs, and which stream a host call waited for ---- */

static int add_graph(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;
	struct wt_op op = common(k, s, WT_OP_GRAPH);

	op.name = wt_builder_cstring(k->b, "CUDA graph");
	wt_builder_op(k->b, &op);
	return k->error;
}

int wt_nsys_read_graphs(struct wt_nsys *k)
{
	static const char *const columns[] = {COMMON, NULL};

	return wt_nsys_read_table(k, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns, add_graph);
}

#define ALL_STREAMS UINT32_MAX /* of the column: the whole context */

static int add_sync(void *arg, sqlite3_stmt *s)
{
	struct wt_nsys *k = arg;
	int64_t stream = number(s, STREAM);
	uint16_t process, device;

	k->rows++;
	if (stream < 0 || stream >= ALL_STREAMS || !number(s, CORRELATION))
		return 0;
	process = wt_nsys_process(k, s, PID);
	device = wt_nsys_device(k, process, number(s, DEVICE));
	if (wt_map_put(&k->syncs, wt_nsys_key(process, (uint64_t)number(s, CORRELATION)),
		       wt_builder_stream(k->b, process, device, stream)))
		k->error = -WT_E_NOMEM;
	return k->error;
}

int wt_nsys_read_syncs(struct wt_nsys *k)
{
	static const char *const columns[] = {COMMON, NULL};

	return wt_nsys_read_table(k, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns, add_sync);
}
