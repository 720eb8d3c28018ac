/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what the driver tells to the structures that libcupti 13.0 emits. Operations arrive on the device thread when
 * they are over, API calls on the calling thread when they return; so no record is ever incomplete here. A kind that
 * was off when the work was submitted yields nothing, even if it is on when the work ends.
 */
#include "simgpu/cupti/cupti_sim.h"

#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROW(kind, type) [CUPTI_ACTIVITY_KIND_##kind] = sizeof(type)
static const uint16_t sizes[CUPTI_ACTIVITY_KIND_COUNT] = {
	ROW(KERNEL, CUpti_ActivityKernel10),
	ROW(CONCURRENT_KERNEL, CUpti_ActivityKernel10),
	ROW(MEMCPY, CUpti_ActivityMemcpy6),
	ROW(MEMCPY2, CUpti_ActivityMemcpyPtoP4),
	ROW(MEMSET, CUpti_ActivityMemset4),
	ROW(DRIVER, CUpti_ActivityAPI),
	ROW(RUNTIME, CUpti_ActivityAPI),
	ROW(EXTERNAL_CORRELATION, CUpti_ActivityExternalCorrelation),
	ROW(OVERHEAD, CUpti_ActivityOverhead3),
};

size_t cupti_record_size(CUpti_ActivityKind kind)
{
	return (unsigned)kind < CUPTI_ACTIVITY_KIND_COUNT ? sizes[kind] : 0;
}

/* Real ones come without times when the device lost its semaphores: start and end are 0, all else is there. */
static int loses_times(const struct sim_op *op)
{
	static int64_t number; /* device thread only */
	const struct sim_export *sim = cupti_sim();

	if (!sim || sim->bytes < offsetof(struct sim_export, fault) + sizeof(sim->fault) ||
	    !sim->fault(SIM_FAULT_ZEROED, ++number, 0))
		return 0;
	sim->truth_note("zeroed_record", "correlation=%u graph_node=%llu", op->correlation,
			(unsigned long long)op->graph_node);
	return 1;
}

static void kernel_record(const struct sim_op *op, CUpti_ActivityKind kind)
{
	CUpti_ActivityKernel10 r;

	memset(&r, 0, sizeof(r));
	r.kind = kind;
	r.registersPerThread = (uint16_t)op->regs;
	r.start = cupti_time(op->start_ns);
	r.end = cupti_time(op->end_ns);
	if (loses_times(op))
		r.start = r.end = 0;
	r.completed = r.end;
	r.deviceId = op->device;
	r.contextId = op->context;
	r.streamId = op->stream;
	r.gridX = (int32_t)op->grid[0];
	r.gridY = (int32_t)op->grid[1];
	r.gridZ = (int32_t)op->grid[2];
	r.blockX = (int32_t)op->block[0];
	r.blockY = (int32_t)op->block[1];
	r.blockZ = (int32_t)op->block[2];
	r.staticSharedMemory = (int32_t)op->static_smem;
	r.dynamicSharedMemory = (int32_t)op->dyn_smem;
	r.sharedMemoryExecuted = op->static_smem + op->dyn_smem;
	r.localMemoryPerThread = op->local_bytes;
	r.correlationId = op->correlation;
	r.gridId = op->correlation;
	r.name = op->name;
	r.graphNodeId = op->graph_node;
	r.graphId = op->graph;
	r.clusterX = op->cluster[0];
	r.clusterY = op->cluster[1];
	r.clusterZ = op->cluster[2];
	cupti_append(&r, sizeof(r), CUPTI_CLASS_KERNEL);
}

static void copy_record(const struct sim_op *op)
{
	CUpti_ActivityMemcpy6 r;

	memset(&r, 0, sizeof(r));
	r.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	r.copyKind = (uint8_t)op->copy_kind;
	r.srcKind = (uint8_t)op->src_kind;
	r.dstKind = (uint8_t)op->dst_kind;
	r.bytes = op->bytes;
	r.start = cupti_time(op->start_ns);
	r.end = cupti_time(op->end_ns);
	r.deviceId = op->device;
	r.contextId = op->context;
	r.streamId = op->stream;
	r.correlationId = op->correlation;
	r.graphNodeId = op->graph_node;
	r.graphId = op->graph;
	r.copyCount = 1;
	cupti_append(&r, sizeof(r), CUPTI_CLASS_COPY);
}

/* 0xffffffff: there are several. */
static uint32_t only_other_device(uint32_t device)
{
	return cupti_devices() == 2 ? 1 - device : UINT32_MAX;
}

static void peer_record(const struct sim_op *op)
{
	CUpti_ActivityMemcpyPtoP4 r;

	memset(&r, 0, sizeof(r));
	r.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	r.copyKind = (uint8_t)op->copy_kind;
	r.srcKind = (uint8_t)op->src_kind;
	r.dstKind = (uint8_t)op->dst_kind;
	r.bytes = op->bytes;
	r.start = cupti_time(op->start_ns);
	r.end = cupti_time(op->end_ns);
	r.deviceId = op->device;
	r.contextId = op->context;
	r.streamId = op->stream;
	/*
	 * The driver names the target. A copy that the target itself runs has another device as its source, and only
	 * with two devices is it clear which.
	 */
	r.dstDeviceId = op->peer_device;
	r.srcDeviceId = op->device != op->peer_device ? op->device : only_other_device(op->device);
	r.srcContextId = r.srcDeviceId == op->device ? op->context : 0;
	r.dstContextId = r.dstDeviceId == op->device ? op->context : 0;
	r.correlationId = op->correlation;
	r.graphNodeId = op->graph_node;
	r.graphId = op->graph;
	cupti_append(&r, sizeof(r), CUPTI_CLASS_COPY);
}

static void memset_record(const struct sim_op *op)
{
	CUpti_ActivityMemset4 r;

	memset(&r, 0, sizeof(r));
	r.kind = CUPTI_ACTIVITY_KIND_MEMSET;
	r.value = op->value;
	r.bytes = op->bytes;
	r.start = cupti_time(op->start_ns);
	r.end = cupti_time(op->end_ns);
	r.deviceId = op->device;
	r.contextId = op->context;
	r.streamId = op->stream;
	r.correlationId = op->correlation;
	r.memoryKind = (uint16_t)op->dst_kind;
	r.graphNodeId = op->graph_node;
	r.graphId = op->graph;
	cupti_append(&r, sizeof(r), CUPTI_CLASS_MEMSET);
}

void cupti_on_op(void *arg, const struct sim_op *op)
{
	int peer = op->kind == SIM_OP_MEMCPY && (op->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP ||
						 op->peer_device != op->device);
	CUpti_ActivityKind kind;

	if (op->kind == SIM_OP_KERNEL) {
		kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
		if (!cupti_was_on(kind, op->context, op->submit_ns))
			kind = CUPTI_ACTIVITY_KIND_KERNEL;
	} else {
		kind = op->kind == SIM_OP_MEMSET ? CUPTI_ACTIVITY_KIND_MEMSET
		       : peer			 ? CUPTI_ACTIVITY_KIND_MEMCPY2
						 : CUPTI_ACTIVITY_KIND_MEMCPY;
	}
	if (!cupti_was_on(kind, op->context, op->submit_ns))
		return;
	if (op->kind == SIM_OP_KERNEL)
		kernel_record(op, kind);
	else if (op->kind == SIM_OP_MEMSET)
		memset_record(op);
	else if (peer)
		peer_record(op);
	else
		copy_record(op);
}

/*
 * CUPTI may flush on a thread of the job, which launches nothing meanwhile. A scenario makes it so, after the call's
 * own record: the call is over for all but the caller.
 */
static void hold_thread(const struct sim_api *api, uint32_t thread)
{
	static int64_t number;
	const struct sim_export *sim = cupti_sim();
	CUpti_ActivityOverhead3 r;
	int64_t ns = 0, from_ns, to_ns;

	if (sim && sim->bytes >= offsetof(struct sim_export, fault) + sizeof(sim->fault))
		ns = sim->fault(SIM_FAULT_HOLD_NS, __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED),
				0);
	if (!ns)
		return;
	from_ns = sim->now_ns();
	nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
	to_ns = sim->now_ns();
	sim->truth_note("held_thread", "tid=%d start_ns=%lld end_ns=%lld", (int)gettid(),
			(long long)from_ns, (long long)to_ns);
	if (!cupti_was_on(CUPTI_ACTIVITY_KIND_OVERHEAD, 0, from_ns))
		return;
	memset(&r, 0, sizeof(r));
	r.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	r.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
	r.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
	r.objectId.pt.processId = (uint32_t)getpid();
	r.objectId.pt.threadId = thread;
	r.start = cupti_time(from_ns);
	r.end = cupti_time(to_ns);
	r.correlationId = api->correlation;
	cupti_append(&r, sizeof(r), CUPTI_CLASS_OTHER);
}

void cupti_on_api(void *arg, const struct sim_api *api)
{
	CUpti_ActivityAPI r;

	cupti_external_records(api->correlation);
	if (!cupti_api_on(api->domain, api->cbid, api->start_ns))
		return;
	memset(&r, 0, sizeof(r));
	r.kind = api->domain == SIM_RUNTIME ? CUPTI_ACTIVITY_KIND_RUNTIME
					    : CUPTI_ACTIVITY_KIND_DRIVER;
	r.cbid = api->cbid;
	r.start = cupti_time(api->start_ns);
	r.end = cupti_time(api->end_ns);
	r.processId = (uint32_t)getpid();
	r.threadId = cupti_system_thread_ids() ? (uint32_t)gettid() : api->thread_word;
	r.correlationId = api->correlation;
	r.returnValue = (uint32_t)api->result;
	cupti_append(&r, sizeof(r), CUPTI_CLASS_API);
	hold_thread(api, r.threadId);
}
