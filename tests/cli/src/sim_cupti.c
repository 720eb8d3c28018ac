/* link: cupti cudart cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job watched through CUPTI: every record goes to stdout, one line each, for a script that knows the truth.
 *   sim_cupti BUFFER_BYTES ROUNDS [SHIFT_NS]
 * kernel, memcpy, memset: as in the truth's columns; api: domain cbid correlation. SHIFT_NS: the clock of the records.
 * The last lines are "buffers N empty M" and "dropped N".
 */
#include "sim_check.h"
#include "sim_kernels.h"

#include <cupti.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char short_kernel[1], long_kernel[1];
static size_t buffer_bytes;
static int buffers, empty;
static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER;

static void requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, buffer_bytes);
	*size = buffer_bytes;
	*max_records = 0;
}

static void print(CUpti_Activity *a)
{
	switch (a->kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
		CUpti_ActivityKernel10 *k = (CUpti_ActivityKernel10 *)a;

		printf("kernel\t%u\t%u\t%u\t%u\t%u\t%" PRIu64 "\t%" PRIu64
		       "\t%d,%d,%d\t%d,%d,%d\t%d\t%s\n",
		       k->deviceId, k->contextId, k->streamId, k->correlationId, k->graphId,
		       k->start, k->end, k->gridX, k->gridY, k->gridZ, k->blockX, k->blockY,
		       k->blockZ, k->staticSharedMemory + k->dynamicSharedMemory, k->name);
		CHECK(k->completed == k->end && k->registersPerThread > 0);
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMCPY: {
		CUpti_ActivityMemcpy6 *m = (CUpti_ActivityMemcpy6 *)a;

		printf("memcpy\t%u\t%u\t%u\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%u\n",
		       m->deviceId, m->contextId, m->streamId, m->correlationId, m->graphId,
		       m->start, m->end, m->bytes, m->copyKind);
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMCPY2: {
		CUpti_ActivityMemcpyPtoP4 *m = (CUpti_ActivityMemcpyPtoP4 *)a;

		printf("memcpy\t%u\t%u\t%u\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		       "\t%u\tpeer\t%u\t%u\n",
		       m->deviceId, m->contextId, m->streamId, m->correlationId, m->graphId,
		       m->start, m->end, m->bytes, m->copyKind, m->srcDeviceId, m->dstDeviceId);
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMSET: {
		CUpti_ActivityMemset4 *m = (CUpti_ActivityMemset4 *)a;

		printf("memset\t%u\t%u\t%u\t%u\t%u\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
		       m->deviceId, m->contextId, m->streamId, m->correlationId, m->graphId,
		       m->start, m->end, m->bytes);
		break;
	}
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_DRIVER: {
		CUpti_ActivityAPI *p = (CUpti_ActivityAPI *)a;
		int runtime = a->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
		const char *name = NULL;

		OK(cuptiGetCallbackName(runtime ? CUPTI_CB_DOMAIN_RUNTIME_API
						: CUPTI_CB_DOMAIN_DRIVER_API,
					p->cbid, &name));
		CHECK(p->start <= p->end && p->processId == (uint32_t)getpid());
		printf("api\t%s\t%s\t%u\t%" PRIu64 "\t%" PRIu64 "\t%u\n",
		       runtime ? "runtime" : "driver", name, p->correlationId, p->start, p->end,
		       p->returnValue);
		break;
	}
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
		CUpti_ActivityExternalCorrelation *e = (CUpti_ActivityExternalCorrelation *)a;

		printf("external\t%" PRIu64 "\t%u\n", e->externalId, e->correlationId);
		break;
	}
	default:
		CHECK(!"a kind that was not asked for");
	}
}

static void completed(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *a = NULL;
	CUptiResult rc;

	pthread_mutex_lock(&out_lock);
	buffers++;
	empty += !valid;
	CHECK(valid <= size && size == buffer_bytes);
	while ((rc = cuptiActivityGetNextRecord(buffer, valid, &a)) == CUPTI_SUCCESS)
		print(a);
	CHECK(rc == CUPTI_ERROR_MAX_LIMIT_REACHED);
	pthread_mutex_unlock(&out_lock);
	free(buffer);
}

/* Between two devices, where there are two. */
static void peers(void)
{
	void *here, *there;
	int n;

	OK(cudaGetDeviceCount(&n));
	if (n < 2)
		return;
	OK(cudaSetDevice(1));
	OK(cudaMalloc(&there, 1000));
	OK(cudaSetDevice(0));
	OK(cudaMalloc(&here, 1000));
	OK(cudaMemcpyPeerAsync(there, 1, here, 0, 1000, 0));
	OK(cudaMemcpyPeer(here, 0, there, 1, 500));
	OK(cudaDeviceSynchronize());
}

static uint64_t shift;

static uint64_t shifted_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + shift;
}

/* Graphs and executables have numbers of their own; a node's begins with its graph's. */
static void graph_ids(cudaGraph_t graph, cudaGraphExec_t exec)
{
	cudaGraphNode_t nodes[2];
	uint32_t g = 0, e = 0, as_xla_asks = 0;
	uint64_t n = 0;
	size_t count = 2;

	OK(cudaGraphGetNodes(graph, nodes, &count));
	OK(cuptiGetGraphId(graph, &g));
	OK(cuptiGetGraphExecId(exec, &e));
	OK(cuptiGetGraphId((CUgraph)exec, &as_xla_asks));
	OK(cuptiGetGraphNodeId(nodes[1], &n));
	CHECK(g && e && g != e && as_xla_asks == e && n >> 32 == g && (n & UINT32_MAX) == 2);
	CHECK(cuptiGetGraphExecId((CUgraphExec)graph, &e) == CUPTI_ERROR_INVALID_PARAMETER);
	CHECK(cuptiGetGraphNodeId(NULL, &n) == CUPTI_ERROR_INVALID_PARAMETER);
}

static void work(int rounds)
{
	dim3 grid = {7, 5, 3}, block = {64, 2, 1};
	static float host[4096];
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	cudaStream_t s[2];
	void *d;

	OK(cudaStreamCreateWithFlags(&s[0], cudaStreamNonBlocking));
	OK(cudaStreamCreate(&s[1]));
	OK(cudaMalloc(&d, sizeof(host)));
	OK(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeRelaxed));
	OK(cudaLaunchKernel(short_kernel, grid, block, NULL, 0, s[0]));
	OK(cudaMemsetAsync(d, 1, 128, s[0]));
	OK(cudaStreamEndCapture(s[0], &graph));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	graph_ids(graph, exec);
	for (int i = 0; i < rounds; i++) {
		OK(cudaMemcpyAsync(d, host, sizeof(host), cudaMemcpyHostToDevice, s[i & 1]));
		OK(cudaLaunchKernel(short_kernel, grid, block, NULL, 100, s[i & 1]));
		OK(cudaLaunchKernel(long_kernel, block, grid, NULL, 0, 0));
		OK(cudaMemsetAsync(d, 0, 100, s[1]));
		if (i % 4 == 0)
			OK(cudaGraphLaunch(exec, s[0]));
		if (i % 16 == 15)
			OK(cudaDeviceSynchronize());
	}
	/* One call of the driver's own, not inside a runtime call. */
	OK(cuMemsetD8Async((CUdeviceptr)d, 3, 64, s[1]));
	OK(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	static const CUpti_ActivityKind kinds[] = {
		CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		CUPTI_ACTIVITY_KIND_MEMCPY,
		CUPTI_ACTIVITY_KIND_MEMSET,
		CUPTI_ACTIVITY_KIND_RUNTIME,
		CUPTI_ACTIVITY_KIND_DRIVER,
		CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
		CUPTI_ACTIVITY_KIND_MEMCPY2,
	};
	uint64_t before, after, id;
	uint32_t version, ctx_id, stream_id;
	size_t dropped = 0;
	CUcontext ctx;

	CHECK(argc == 3 || argc == 4);
	shift = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
	buffer_bytes = strtoul(argv[1], NULL, 10);
	sim_kernel_add(short_kernel, "_Z5shortPf");
	sim_kernel_add(long_kernel, "_Z4longPf");

	CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME) == CUPTI_ERROR_NOT_INITIALIZED);
	OK(cuptiActivityRegisterCallbacks(requested, completed));
	OK(cudaFree(NULL));
	OK(cuptiGetVersion(&version));
	CHECK(version == CUPTI_API_VERSION);
	CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) == CUPTI_ERROR_NOT_SUPPORTED);
	CHECK(cuptiActivityEnable((CUpti_ActivityKind)100000) == CUPTI_ERROR_INVALID_KIND);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		OK(cuptiActivityEnable(kinds[i]));
	OK(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, 0));
	if (shift)
		OK(cuptiActivityRegisterTimestampCallback(shifted_clock));
	OK(cuptiGetTimestamp(&before));
	OK(cuCtxGetCurrent(&ctx));
	OK(cuptiGetContextId(ctx, &ctx_id));
	CHECK(ctx_id == 1);
	OK(cuptiGetStreamId(ctx, NULL, &stream_id));
	CHECK(stream_id == 7);
	OK(cuptiGetDeviceId(ctx, &stream_id));
	CHECK(stream_id == 0);

	cudaGetLastError(); /* switched off one by one */
	OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 4711));
	OK(cudaDeviceSynchronize());
	OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &id));
	CHECK(id == 4711);
	peers();
	work((int)strtol(argv[2], NULL, 10));
	OK(cuptiGetTimestamp(&after));
	CHECK(after > before);
	OK(cuptiActivityFlushAll(0));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		OK(cuptiActivityDisable(kinds[i]));
	/* Off: nothing of this may appear. */
	work(1);
	OK(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	printf("stamps\t%" PRIu64 "\t%" PRIu64 "\n", before, after);
	printf("buffers\t%d\tempty\t%d\n", buffers, empty);
	printf("dropped\t%zu\n", dropped);
	return 0;
}
