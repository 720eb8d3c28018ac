/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry points around the records: callbacks, flushing, reading, clock, ids, attributes, names. Any thread.
 * Before the first successful cuInit most of them answer CUPTI_ERROR_NOT_INITIALIZED.
 */
#include "simgpu/cupti/cupti_sim.h"

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct sim_export *sim_table;
static int thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;

void *cupti_driver_symbol(const char *name)
{
	static void *handle;
	void *h = __atomic_load_n(&handle, __ATOMIC_ACQUIRE);

	if (!h) {
		h = dlopen("libcuda.so.1", RTLD_NOW);
		if (!h)
			return NULL;
		__atomic_store_n(&handle, h, __ATOMIC_RELEASE);
	}
	return dlsym(h, name);
}

static int devices;

int cupti_devices(void)
{
	return __atomic_load_n(&devices, __ATOMIC_RELAXED);
}

static const struct sim_export *find_table(void)
{
	static const char id[] = SIM_EXPORT_UUID_BYTES;
	CUresult (*count)(int *) = (CUresult(*)(int *))cupti_driver_symbol("cuDeviceGetCount");
	CUresult (*get)(const void **, const CUuuid *) =
		(CUresult(*)(const void **, const CUuuid *))cupti_driver_symbol("cuGetExportTable");
	const struct sim_export *t = NULL;
	CUuuid uuid;
	int n;

	/* The cheapest question that only an initialised driver answers. */
	if (!count || !get || count(&n) != CUDA_SUCCESS)
		return NULL;
	__atomic_store_n(&devices, n, __ATOMIC_RELAXED);
	memcpy(uuid.bytes, id, sizeof(uuid.bytes));
	if (get((const void **)&t, &uuid) != CUDA_SUCCESS || !t || t->version != SIM_EXPORT_VERSION)
		return NULL;
	return t;
}

static int is_forked(const struct sim_export *t)
{
	return t && t->bytes >= offsetof(struct sim_export, forked) + sizeof(t->forked) &&
	       t->forked();
}

const struct sim_export *cupti_sim(void)
{
	const struct sim_export *t = __atomic_load_n(&sim_table, __ATOMIC_ACQUIRE);

	if (!t) {
		t = find_table();
		__atomic_store_n(&sim_table, t, __ATOMIC_RELEASE);
	}
	return is_forked(t) ? NULL : t;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint32_t cupti_version(void)
{
	const struct sim_export *sim = cupti_sim();
	const char *as = sim ? sim->scenario("cupti.version") : NULL;

	return as ? (uint32_t)strtoul(as, NULL, 10) : CUPTI_API_VERSION;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
	CUPTI_MAY_FAIL();
	if (!version)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*version = cupti_version();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	const struct sim_export *sim = cupti_sim();
	CUpti_TimestampCallbackFunc fn = cupti_client_clock();

	CUPTI_MAY_FAIL();
	if (!timestamp)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*timestamp = fn ? fn() : (uint64_t)cupti_device_clock(sim ? sim->now_ns() : now_ns());
	if (sim)
		sim->truth_note("cupti_timestamp", "%llu", (unsigned long long)*timestamp);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
					   CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
	CUPTI_MAY_FAIL();
	if (!funcBufferRequested || !funcBufferCompleted)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (is_forked(__atomic_load_n(&sim_table, __ATOMIC_ACQUIRE)))
		return CUPTI_ERROR_NOT_INITIALIZED;
	cupti_set_callbacks(funcBufferRequested, funcBufferCompleted);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	const struct sim_export *sim = cupti_sim();

	CUPTI_MAY_FAIL();
	if (!sim)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (!cupti_has_callbacks())
		return CUPTI_ERROR_INVALID_OPERATION;
	/* Every record in a buffer is complete here, so FORCED finds nothing that 0 does not. */
	sim->drain();
	cupti_flush();
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushPeriod(uint32_t time_ms)
{
	/* It would hand back full buffers only, and those never wait here. */
	return cupti_sim() ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_INITIALIZED;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes,
				       CUpti_Activity **record)
{
	uint8_t *at;

	CUPTI_MAY_FAIL();
	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!*record) {
		at = buffer;
	} else {
		size_t bytes = cupti_record_size((*record)->kind);

		if (!bytes)
			return CUPTI_ERROR_INVALID_KIND;
		at = (uint8_t *)*record + bytes;
	}
	if (at < buffer ||
	    (size_t)(at - buffer) + sizeof(CUpti_ActivityKind) > validBufferSizeBytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	if (!cupti_record_size(((CUpti_Activity *)at)->kind))
		return CUPTI_ERROR_INVALID_KIND;
	*record = (CUpti_Activity *)at;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId, size_t *dropped)
{
	CUPTI_MAY_FAIL();
	if (!dropped)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!cupti_sim())
		return CUPTI_ERROR_NOT_INITIALIZED;
	*dropped = cupti_take_dropped();
	return CUPTI_SUCCESS;
}

/* Attributes are kept and given back; none of them changes anything here. */
static struct {
	CUpti_ActivityAttribute attr;
	size_t bytes, value;
} attributes[] = {
	{CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, sizeof(size_t), 3200000},
	{CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP, sizeof(size_t), 8u << 20},
	{CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, sizeof(size_t), 250},
	{CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE, sizeof(size_t), 25000},
	{CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT, sizeof(size_t), 250},
	{CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, sizeof(uint8_t), 0},
	{CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, sizeof(size_t), 3},
	{CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE, sizeof(size_t), 3},
	{CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, sizeof(uint8_t), 0},
};

static CUptiResult attribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value, int set)
{
	if (!valueSize || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!cupti_sim())
		return CUPTI_ERROR_NOT_INITIALIZED;
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].attr != attr)
			continue;
		if (*valueSize < attributes[i].bytes)
			return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
		pthread_mutex_lock(&lock);
		if (set)
			memcpy(&attributes[i].value, value, attributes[i].bytes);
		else
			memcpy(value, &attributes[i].value, attributes[i].bytes);
		pthread_mutex_unlock(&lock);
		*valueSize = attributes[i].bytes;
		return CUPTI_SUCCESS;
	}
	return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
	return attribute(attr, valueSize, value, 1);
}

CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
	return attribute(attr, valueSize, value, 0);
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
	const struct sim_export *sim = cupti_sim();

	CUPTI_MAY_FAIL();
	if (!contextId)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!sim)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (!context || sim->context_id(context, contextId) != CUDA_SUCCESS)
		return CUPTI_ERROR_INVALID_CONTEXT;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
	const struct sim_export *sim = cupti_sim();
	CUresult (*push)(CUcontext) =
		(CUresult(*)(CUcontext))cupti_driver_symbol("cuCtxPushCurrent_v2");
	CUresult (*pop)(CUcontext *) =
		(CUresult(*)(CUcontext *))cupti_driver_symbol("cuCtxPopCurrent_v2");
	CUcontext old;
	int device;

	if (!deviceId)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!sim || !push || !pop)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (!context || push(context) != CUDA_SUCCESS)
		return CUPTI_ERROR_INVALID_CONTEXT;
	device = sim->current_device();
	pop(&old);
	if (device < 0)
		return CUPTI_ERROR_INVALID_CONTEXT;
	*deviceId = (uint32_t)device;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
			       uint32_t *streamId)
{
	const struct sim_export *sim = cupti_sim();

	CUPTI_MAY_FAIL();
	if (!streamId)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (!sim)
		return CUPTI_ERROR_NOT_INITIALIZED;
	if (!stream && perThreadStream)
		stream = CU_STREAM_PER_THREAD;
	if (sim->stream_id(context, stream, streamId) != CUDA_SUCCESS)
		return CUPTI_ERROR_INVALID_STREAM;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
	return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

static CUptiResult graph_id(enum sim_graph_object what, const void *handle, uint64_t *ret)
{
	const struct sim_export *sim = cupti_sim();

	if (!sim)
		return CUPTI_ERROR_NOT_INITIALIZED;
	*ret = handle ? sim->graph_id(what, handle) : 0;
	return *ret ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

/* XLA hands it an executable, cast: from before there was a call for those. */
CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
	uint64_t id = 0;
	CUptiResult rc;

	if (!pId)
		return CUPTI_ERROR_INVALID_PARAMETER;
	rc = graph_id(SIM_OBJECT_GRAPH, graph, &id);
	if (rc == CUPTI_ERROR_INVALID_PARAMETER)
		rc = graph_id(SIM_OBJECT_EXEC, graph, &id);
	if (rc == CUPTI_SUCCESS)
		*pId = (uint32_t)id;
	return rc;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
	uint64_t id = 0;
	CUptiResult rc =
		pId ? graph_id(SIM_OBJECT_EXEC, graphExec, &id) : CUPTI_ERROR_INVALID_PARAMETER;

	if (rc == CUPTI_SUCCESS)
		*pId = (uint32_t)id;
	return rc;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
	uint64_t id = 0;
	CUptiResult rc =
		nodeId ? graph_id(SIM_OBJECT_NODE, node, &id) : CUPTI_ERROR_INVALID_PARAMETER;

	if (rc == CUPTI_SUCCESS)
		*nodeId = id;
	return rc;
}

int cupti_system_thread_ids(void)
{
	return __atomic_load_n(&thread_id_type, __ATOMIC_RELAXED) ==
	       CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
}

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	if ((unsigned)type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	__atomic_store_n(&thread_id_type, (int)type, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	if (!type)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*type = (CUpti_ActivityThreadIdType)__atomic_load_n(&thread_id_type, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

/* External ids: a stack per thread, the top of each kind goes with every call. */
static __thread struct {
	CUpti_ExternalCorrelationKind kind;
	uint64_t id;
} external[64];
static __thread unsigned external_depth;

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID ||
	    kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (external_depth == sizeof(external) / sizeof(external[0]))
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	external[external_depth].kind = kind;
	external[external_depth++].id = id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
						  uint64_t *lastId)
{
	for (unsigned i = external_depth; i--;) {
		if (external[i].kind != kind)
			continue;
		if (lastId)
			*lastId = external[i].id;
		external_depth--;
		memmove(&external[i], &external[i + 1], (external_depth - i) * sizeof(external[0]));
		return CUPTI_SUCCESS;
	}
	return CUPTI_ERROR_QUEUE_EMPTY;
}

void cupti_external_records(uint32_t correlation)
{
	unsigned seen = 0;
	const struct sim_export *sim = cupti_sim();

	if (!external_depth || !sim ||
	    !cupti_was_on(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, 0, sim->now_ns()))
		return;
	for (unsigned i = external_depth; i--;) {
		CUpti_ActivityExternalCorrelation r;

		if (seen & 1u << external[i].kind)
			continue;
		seen |= 1u << external[i].kind;
		memset(&r, 0, sizeof(r));
		r.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
		r.externalKind = external[i].kind;
		r.externalId = external[i].id;
		r.correlationId = correlation;
		cupti_append(&r, sizeof(r), CUPTI_CLASS_OTHER);
	}
}

static const struct {
	int value;
	const char *name;
} results[] = {
#include "cupti_results.inc"
};

static const struct {
	int domain, cbid;
	const char *name;
} cbids[] = {
#include "cupti_cbids.inc"
};

CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
	if (!str)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		if (results[i].value == (int)result) {
			*str = results[i].name;
			return CUPTI_SUCCESS;
		}
	}
	return CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **str)
{
	return cuptiGetResultString(result, str);
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	if (!name)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < sizeof(cbids) / sizeof(cbids[0]); i++) {
		if (cbids[i].domain == (int)domain && cbids[i].cbid == (int)cbid) {
			*name = cbids[i].name;
			return CUPTI_SUCCESS;
		}
	}
	return CUPTI_ERROR_INVALID_PARAMETER;
}
