/* link: cupti cudart */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callback API of the simulated CUPTI, user objects of graphs, and a client's clock that counts in its own unit.
 * Prints "ok" at the end.
 */
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "sim_check.h"

static struct {
	int enter, exit, bad;
	uint32_t correlation;
	size_t bytes;
	char name[64];
	uint64_t mark;
} seen[3]; /* by domain */

static void on_call(void *arg, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	const CUpti_CallbackData *d = data;
	void *p = NULL;

	if (domain > CUPTI_CB_DOMAIN_RUNTIME_API || arg != seen) {
		seen[0].bad++;
		return;
	}
	if (d->callbackSite == CUPTI_API_ENTER) {
		seen[domain].enter++;
		*d->correlationData = 4711 + (uint64_t)domain;
		snprintf(seen[domain].name, sizeof(seen[domain].name), "%s", d->functionName);
		seen[domain].correlation = d->correlationId;
		if (cbid == CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async &&
		    domain == CUPTI_CB_DOMAIN_DRIVER_API)
			seen[domain].bytes = ((const cuMemsetD8Async_params *)d->functionParams)->N;
		cudaMalloc(&p, 16); /* must not come back here */
		cudaFree(p);
	} else {
		seen[domain].exit++;
		seen[domain].mark = *d->correlationData;
		seen[0].bad += *(int *)d->functionReturnValue != 0 ||
			       d->correlationId != seen[domain].correlation;
	}
}

static void callbacks(void)
{
	CUpti_SubscriberHandle s = NULL, other = NULL;
	uint32_t on = 7;
	void *p;

	OK(cudaMalloc(&p, 4096));
	OK(cuptiSubscribe(&s, on_call, seen));
	CHECK(cuptiSubscribe(&other, on_call, seen) ==
	      CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	CHECK(cuptiEnableDomain(1, other, CUPTI_CB_DOMAIN_DRIVER_API) ==
	      CUPTI_ERROR_INVALID_PARAMETER);
	OK(cudaMemsetAsync(p, 1, 100, 0));
	CHECK(!seen[1].enter && !seen[2].enter);
	OK(cuptiEnableCallback(1, s, CUPTI_CB_DOMAIN_DRIVER_API,
			       CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async));
	OK(cuptiEnableDomain(1, s, CUPTI_CB_DOMAIN_RUNTIME_API));
	OK(cuptiGetCallbackState(&on, s, CUPTI_CB_DOMAIN_DRIVER_API,
				 CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async));
	CHECK(on == 1);
	OK(cudaMemsetAsync(p, 1, 100, 0));
	CHECK(seen[1].enter == 1 && seen[1].exit == 1 && seen[1].bytes == 100);
	CHECK(seen[2].enter == 1 && seen[2].exit == 1);
	CHECK(seen[1].mark == 4712 && seen[2].mark == 4713);
	CHECK(seen[1].correlation == seen[2].correlation);
	CHECK(!strcmp(seen[1].name, "cuMemsetD8Async") && strstr(seen[2].name, "cudaMemsetAsync"));
	OK(cuptiEnableAllDomains(0, s));
	OK(cudaMemsetAsync(p, 1, 100, 0));
	CHECK(seen[1].enter == 1 && seen[2].enter == 1);
	OK(cuptiEnableAllDomains(1, s));
	OK(cudaDeviceSynchronize());
	CHECK(seen[1].enter > 1 && seen[2].enter == 2 && seen[1].enter == seen[1].exit);
	OK(cuptiFinalize());
	OK(cudaDeviceSynchronize());
	CHECK(seen[2].enter == 2 && !seen[0].bad);
	CHECK(cuptiUnsubscribe(s) == CUPTI_ERROR_INVALID_PARAMETER);
	OK(cuptiSubscribe(&s, on_call, seen));
	OK(cuptiUnsubscribe(s));
	OK(cudaFree(p));
}

static int destroyed;

static void destroy(void *arg)
{
	destroyed += *(int *)arg;
}

static void user_objects(void)
{
	cudaUserObject_t o;
	cudaGraphExec_t e;
	cudaGraphNode_t n;
	cudaGraph_t g;
	int one = 1;

	OK(cudaUserObjectCreate(&o, &one, destroy, 2, cudaUserObjectNoDestructorSync));
	CHECK(cudaUserObjectCreate(&o, &one, destroy, 0, cudaUserObjectNoDestructorSync) != 0);
	OK(cudaGraphCreate(&g, 0));
	OK(cudaGraphAddEmptyNode(&n, g, NULL, 0));
	OK(cudaGraphRetainUserObject(g, o, 1, cudaGraphUserObjectMove));
	OK(cudaGraphInstantiate(&e, g, 0));
	OK(cudaGraphDestroy(g));
	OK(cudaUserObjectRelease(o, 1));
	CHECK(!destroyed); /* the executable holds it */
	OK(cudaGraphExecDestroy(e));
	CHECK(destroyed == 1);
}

/* Ticks of 0.37 ns since some moment. */
static uint64_t ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)((double)((uint64_t)t.tv_sec % 1000 * 1000000000 + (uint64_t)t.tv_nsec) /
			  0.37);
}

static uint64_t first_tick, last_tick, records, wrong;

static void request(uint8_t **buffer, size_t *size, size_t *max)
{
	static uint8_t bytes[1 << 16] __attribute__((aligned(8)));

	*buffer = bytes;
	*size = sizeof(bytes);
	*max = 0;
}

static void complete(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *r = NULL;
	uint64_t before = first_tick;

	last_tick = ticks();
	while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
		const CUpti_ActivityMemset4 *m = (const CUpti_ActivityMemset4 *)r;

		records++;
		/* In order, inside the session, and as long as the device was busy: 0.37 ns a tick. */
		wrong += m->start < before || m->end < m->start || m->end > last_tick ||
			 (double)(m->end - m->start) * 0.37 > 1e6;
		before = m->end;
	}
}

static void client_clock(void)
{
	void *p;

	OK(cudaMalloc(&p, 4096));
	OK(cuptiActivityRegisterTimestampCallback(ticks));
	OK(cuptiActivityRegisterCallbacks(request, complete));
	OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	first_tick = ticks();
	for (int i = 0; i < 20; i++) {
		struct timespec pause = {0, 10000000};

		OK(cudaMemsetAsync(p, 0, 4096, 0));
		OK(cudaDeviceSynchronize());
		nanosleep(&pause, NULL);
	}
	OK(cuptiActivityFlushAll(0));
	CHECK(records == 20 && !wrong);
	OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET));
	OK(cudaFree(p));
}

int main(void)
{
	OK(cudaFree(NULL));
	callbacks();
	user_objects();
	client_clock();
	puts("ok");
	return 0;
}
