/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading activity records (cupti_record.h). Records of one kind only ever grow at their end, so the fields up to the
 * size of the oldest structure we meet (11.8) are read by the newest structure's offsets; what came later is read only
 * where the release fills it. A field is copied out with memcpy: records are packed to 8 bytes, the buffer may be
 * anything. Stepping is CUPTI's own (cuptiActivityGetNextRecord): only it knows the sizes.
 */
#include "collectors/cupti_record.h"

#include <cupti.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/trouble.h"
#include "collectors/cupti_api.h"

#define UNTIMED	 WARPTAP__V1__RECORD_FLAG__RECORD_FLAG_UNTIMED
#define LAUNCHED WARPTAP__V1__RECORD_FLAG__RECORD_FLAG_DEVICE_LAUNCHED
#define MEMSET	 100 /* Copies.kind of a memset */

/* GET(to, struct, field): reads a field by its real offset and size. */
#define GET(to_, type_, field_)                                                                    \
	do {                                                                                       \
		_Static_assert(sizeof(to_) == sizeof(((type_ *)0)->field_), "same width");         \
		memcpy(&(to_), (const char *)rec + offsetof(type_, field_), sizeof(to_));          \
	} while (0)
#define HAS(avail_, type_, field_)                                                                 \
	((avail_) >= offsetof(type_, field_) + sizeof(((type_ *)0)->field_))

typedef CUpti_ActivityKernel10 kernel_rec;
typedef CUpti_ActivityMemcpy6 copy_rec;
typedef CUpti_ActivityMemcpyPtoP4 peer_rec;
typedef CUpti_ActivityMemset4 set_rec;
typedef CUpti_ActivityGraphTrace2 graph_rec;
typedef CUpti_ActivityAPI api_rec;
typedef CUpti_ActivityOverhead3 overhead_rec;

/* What every release since 11.8 has. */
#define KERNEL_BYTES   200u /* CUpti_ActivityKernel8 */
#define COPY_BYTES     88u  /* CUpti_ActivityMemcpy5, MemcpyPtoP4 is 96 */
#define SET_BYTES      88u  /* CUpti_ActivityMemset4 */
#define GRAPH_BYTES    48u  /* CUpti_ActivityGraphTrace */
#define OVERHEAD_BYTES 40u  /* CUpti_ActivityOverhead */

_Static_assert(offsetof(kernel_rec, start) == 16 && offsetof(kernel_rec, name) == 104 &&
		       offsetof(kernel_rec, graphNodeId) == 144 &&
		       offsetof(kernel_rec, graphId) == 156 &&
		       offsetof(kernel_rec, clusterX) == 176,
	       "the prefix that all releases share");
_Static_assert(sizeof(api_rec) == 40, "never changed");

static void judge(struct wt_dev_rec *r)
{
	if (r->start == 0 || r->end < r->start)
		r->flags |= UNTIMED;
}

static int read_api(const void *rec, size_t avail, int extra, struct wt_dev_rec *r)
{
	CUpti_ActivityKind kind;

	if (avail < sizeof(api_rec))
		return 0;
	r->kind = WT_DEV_API;
	GET(kind, api_rec, kind);
	GET(r->u.api.cbid, api_rec, cbid);
	GET(r->start, api_rec, start);
	GET(r->end, api_rec, end);
	GET(r->u.api.thread_word, api_rec, threadId);
	GET(r->correlation, api_rec, correlationId);
	r->u.api.runtime = kind == CUPTI_ACTIVITY_KIND_RUNTIME;
	return 1;
}

static uint32_t cluster_of(const void *rec)
{
	uint32_t x, y, z;

	GET(x, kernel_rec, clusterX);
	GET(y, kernel_rec, clusterY);
	GET(z, kernel_rec, clusterZ);
	if (x <= 1 && y <= 1 && z <= 1)
		return 0;
	return (x & 255) | (y & 255) << 8 | (z & 255) << 16;
}

static int read_kernel(const void *rec, size_t avail, int extra, struct wt_dev_rec *r)
{
	uint16_t regs;
	uint8_t launched = 0;

	if (avail < KERNEL_BYTES)
		return 0;
	r->kind = WT_DEV_KERNEL;
	GET(regs, kernel_rec, registersPerThread);
	r->u.kernel.regs = regs;
	GET(r->start, kernel_rec, start);
	GET(r->end, kernel_rec, end);
	GET(r->device, kernel_rec, deviceId);
	GET(r->context, kernel_rec, contextId);
	GET(r->stream, kernel_rec, streamId);
	GET(r->u.kernel.grid[0], kernel_rec, gridX);
	GET(r->u.kernel.grid[1], kernel_rec, gridY);
	GET(r->u.kernel.grid[2], kernel_rec, gridZ);
	GET(r->u.kernel.block[0], kernel_rec, blockX);
	GET(r->u.kernel.block[1], kernel_rec, blockY);
	GET(r->u.kernel.block[2], kernel_rec, blockZ);
	GET(r->u.kernel.static_smem, kernel_rec, staticSharedMemory);
	GET(r->u.kernel.dyn_smem, kernel_rec, dynamicSharedMemory);
	GET(r->u.kernel.local_bytes, kernel_rec, localMemoryPerThread);
	GET(r->correlation, kernel_rec, correlationId);
	GET(r->u.kernel.name, kernel_rec, name);
	GET(r->u.kernel.queued, kernel_rec, queued);
	GET(r->u.kernel.submitted, kernel_rec, submitted);
	GET(r->graph_node, kernel_rec, graphNodeId);
	GET(r->graph, kernel_rec, graphId);
	r->u.kernel.cluster = cluster_of(rec);
	if (extra && HAS(avail, kernel_rec, isDeviceLaunched))
		GET(launched, kernel_rec, isDeviceLaunched);
	if (launched)
		r->flags |= LAUNCHED;
	judge(r);
	return 1;
}

static int read_copy(const void *rec, size_t avail, int extra, struct wt_dev_rec *r)
{
	uint8_t kind, src, dst, launched = 0;

	if (avail < COPY_BYTES)
		return 0;
	r->kind = WT_DEV_COPY;
	GET(kind, copy_rec, copyKind);
	GET(src, copy_rec, srcKind);
	GET(dst, copy_rec, dstKind);
	r->u.copy.kind = kind;
	r->u.copy.src_mem = src;
	r->u.copy.dst_mem = dst;
	GET(r->u.copy.bytes, copy_rec, bytes);
	GET(r->start, copy_rec, start);
	GET(r->end, copy_rec, end);
	GET(r->device, copy_rec, deviceId);
	GET(r->context, copy_rec, contextId);
	GET(r->stream, copy_rec, streamId);
	GET(r->correlation, copy_rec, correlationId);
	GET(r->graph_node, copy_rec, graphNodeId);
	GET(r->graph, copy_rec, graphId);
	if (extra && HAS(avail, copy_rec, isDeviceLaunched))
		GET(launched, copy_rec, isDeviceLaunched);
	if (launched)
		r->flags |= LAUNCHED;
	judge(r);
	return 1;
}

static int read_peer(const void *rec, size_t avail, int extra, struct wt_dev_rec *r)
{
	uint8_t kind, src, dst;
	uint32_t peer;

	if (avail < COPY_BYTES)
		return 0;
	r->kind = WT_DEV_COPY;
	GET(kind, peer_rec, copyKind);
	GET(src, peer_rec, srcKind);
	GET(dst, peer_rec, dstKind);
	r->u.copy.kind = kind;
	r->u.copy.src_mem = src;
	r->u.copy.dst_mem = dst;
	GET(r->u.copy.bytes, peer_rec, bytes);
	GET(r->start, peer_rec, start);
	GET(r->end, peer_rec, end);
	GET(r->device, peer_rec, deviceId);
	GET(r->context, peer_rec, contextId);
	GET(r->stream, peer_rec, streamId);
	GET(peer, peer_rec, dstDeviceId);
	GET(r->correlation, peer_rec, correlationId);
	GET(r->graph_node, peer_rec, graphNodeId);
	if (HAS(avail, peer_rec, graphId))
		GET(r->graph, peer_rec, graphId);
	r->u.copy.peer_device = peer + 1;
	judge(r);
	return 1;
}

static int read_memset(const void *rec, size_t avail, int extra, struct wt_dev_rec *r)
{
	uint16_t mem;

	if (avail < SET_BYTES)
		return 0;
	r->kind = WT_DEV_COPY;
	r->u.copy.kind = MEMSET;
	GET(r->u.copy.bytes, set_rec, bytes);
	GET(r->start, set_rec, start);
	GET(r->end, set_rec, end);
	GET(r->device, set_rec, deviceId);
	GET(r->context, set_rec, contextId);
	GET(r->stream, set_rec, streamId);
	GET(r->correlation, set_rec, correlationId);
	GET(mem, set_rec, memoryKind);
	r->u.copy.dst_mem = mem;
	GET(r->graph_node, set_rec, graphNodeId);
	GET(r->graph, set_rec, graphId);
	judge(r);
	return 1;
}

static int read_graph(const void *rec, size_t avail, int extra, struct wt_dev_rec *r)
{
	if (avail < GRAPH_BYTES)
		return 0;
	r->kind = WT_DEV_GRAPH;
	GET(r->correlation, graph_rec, correlationId);
	GET(r->start, graph_rec, start);
	GET(r->end, graph_rec, end);
	GET(r->device, graph_rec, deviceId);
	GET(r->graph, graph_rec, graphId);
	GET(r->context, graph_rec, contextId);
	GET(r->stream, graph_rec, streamId);
	judge(r);
	return 1;
}

/* Thread word 0: of a process or a device, or without times; it explains no gap of a thread. */
static int read_overhead(const void *rec, size_t avail, int extra, struct wt_dev_rec *r)
{
	CUpti_ActivityObjectKindId id;
	CUpti_ActivityObjectKind object;
	CUpti_ActivityOverheadKind kind;

	if (avail < OVERHEAD_BYTES)
		return 0;
	GET(kind, overhead_rec, overheadKind);
	GET(object, overhead_rec, objectKind);
	GET(id, overhead_rec, objectId);
	GET(r->start, overhead_rec, start);
	GET(r->end, overhead_rec, end);
	r->kind = WT_DEV_OVERHEAD;
	r->u.overhead.kind = (uint32_t)kind;
	if (object == CUPTI_ACTIVITY_OBJECT_THREAD && r->start && r->end > r->start)
		r->u.overhead.thread_word = id.pt.threadId;
	return 1;
}

/* Not what the job would have waited for without us: modules and functions loaded, PTX compiled. */
int wt_cupti_overhead_is_ours(uint32_t kind)
{
	return kind == CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH ||
	       kind == CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION ||
	       kind == CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE;
}

/* By kind; a hole is a kind that is passed over. Kinds are appended and never renumbered. */
static int (*const readers[])(const void *, size_t, int, struct wt_dev_rec *) = {
	[CUPTI_ACTIVITY_KIND_MEMCPY] = read_copy,
	[CUPTI_ACTIVITY_KIND_MEMSET] = read_memset,
	[CUPTI_ACTIVITY_KIND_KERNEL] = read_kernel,
	[CUPTI_ACTIVITY_KIND_DRIVER] = read_api,
	[CUPTI_ACTIVITY_KIND_RUNTIME] = read_api,
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = read_kernel,
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = read_peer,
	[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = read_graph,
	[CUPTI_ACTIVITY_KIND_OVERHEAD] = read_overhead,
};

int wt_cupti_record(const void *rec, size_t avail, int extra, struct wt_dev_rec *ret)
{
	CUpti_ActivityKind kind;

	if (avail < sizeof(kind))
		return 0;
	memcpy(&kind, rec, sizeof(kind));
	if ((size_t)kind >= sizeof(readers) / sizeof(readers[0]) || !readers[kind])
		return 0;
	memset(ret, 0, sizeof(*ret));
	return readers[kind](rec, avail, extra, ret);
}

/* The record before this one ends where it begins: so long are those of its kind. */
static void learn(const uint8_t *before, const uint8_t *at, int extra)
{
	CUpti_ActivityKind kind;

	if (!before || at <= before)
		return;
	memcpy(&kind, before, sizeof(kind));
	wt_box_stride((uint32_t)kind, (size_t)(at - before), extra);
}

uint64_t wt_cupti_buffer(uint8_t *buf, size_t valid_bytes,
			 void (*fn)(void *arg, const struct wt_dev_rec *r), void *arg)
{
	CUpti_Activity *rec = NULL;
	const uint8_t *before = NULL;
	uint64_t other = 0;
	uint32_t version = 0;
	CUptiResult r;
	int extra = 0;

	if (wt_cupti.cuptiGetVersion && wt_cupti.cuptiGetVersion(&version) == CUPTI_SUCCESS)
		extra = version >= 130000;
	while ((r = wt_cupti.cuptiActivityGetNextRecord(buf, valid_bytes, &rec)) == CUPTI_SUCCESS) {
		const uint8_t *at = (const uint8_t *)rec;
		struct wt_dev_rec dev;

		if (at < buf || at >= buf + valid_bytes)
			break;
		learn(before, at, extra);
		before = at;
		if (wt_cupti_record(at, (size_t)(buf + valid_bytes - at), extra, &dev))
			fn(arg, &dev);
		else
			other++;
	}
	if (r != CUPTI_SUCCESS &&
	    r != CUPTI_ERROR_MAX_LIMIT_REACHED) /* the rest of the buffer is lost */
		WT_TROUBLE(CUPTI, (int)r);
	return other;
}
