/* link: cupti cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job with a profiler of its own, on CUPTI's activity API, made of words:
 *   init          cuInit, a context, a module            work=N    N launches, copies and memsets among them
 *   load, unload  two threads that launch all the time   wait=MS
 *   register, clock, enable, disable, flush, finalize, subscribe, unsubscribe     the profiler's calls, one by one
 *   session       register enable begin work=200 end disable flush
 *   other         the same from a thread of its own      bad       calls that must fail
 *   begin, end    marks of a session: what is submitted between them is the profiler's to get
 *   fork          a child that uses neither and exits    dlsym     from here on CUPTI is found by dlsym
 * Writes "session N BEGIN END" and "record N KIND CORRELATION START END" to stdout. A buffer that comes back and was
 * not lent by the profiler, or twice, is an error, as is any call with another result than CUPTI alone would give.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "sim_check.h"

#define BUFFER (256u << 10)
#define LENT   64

static CUcontext ctx;
static CUfunction kernel[4];
static CUdeviceptr mem;
static int session;
static atomic_int stop;
static pthread_t loaders[2];

/* The profiler's calls, linked or found by name. */
static struct {
	__typeof__(&cuptiActivityRegisterCallbacks) reg;
	__typeof__(&cuptiActivityRegisterTimestampCallback) clock;
	__typeof__(&cuptiActivityEnable) enable;
	__typeof__(&cuptiActivityDisable) disable;
	__typeof__(&cuptiActivityFlushAll) flush;
} tool = {cuptiActivityRegisterCallbacks, cuptiActivityRegisterTimestampCallback,
	  cuptiActivityEnable, cuptiActivityDisable, cuptiActivityFlushAll};

static void find_tool(void)
{
	void *h = dlopen("libcupti.so.13", RTLD_LAZY);

	CHECK(h);
	CHECK((tool.reg = (__typeof__(tool.reg))dlsym(h, "cuptiActivityRegisterCallbacks")));
	CHECK((tool.clock =
		       (__typeof__(tool.clock))dlsym(h, "cuptiActivityRegisterTimestampCallback")));
	CHECK((tool.enable = (__typeof__(tool.enable))dlsym(h, "cuptiActivityEnable")));
	CHECK((tool.disable = (__typeof__(tool.disable))dlsym(h, "cuptiActivityDisable")));
	CHECK((tool.flush = (__typeof__(tool.flush))dlsym(h, "cuptiActivityFlushAll")));
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- buffers, as Kineto keeps them: by address, under a lock that is also held around calls of CUPTI ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *lent[LENT];

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	pthread_mutex_lock(&lock);
	*buffer = aligned_alloc(8, BUFFER);
	*size = BUFFER;
	*max_records = 0;
	for (int i = 0; i < LENT; i++) {
		if (lent[i])
			continue;
		lent[i] = *buffer;
		pthread_mutex_unlock(&lock);
		return;
	}
	CHECK(!"too many buffers out");
}

static void print_record(const CUpti_Activity *r)
{
	if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
		const CUpti_ActivityKernel10 *k = (const void *)r;

		printf("record %d kernel %u %llu %llu\n", session, k->correlationId,
		       (unsigned long long)k->start, (unsigned long long)k->end);
	} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
		const CUpti_ActivityMemcpy6 *k = (const void *)r;

		printf("record %d memcpy %u %llu %llu\n", session, k->correlationId,
		       (unsigned long long)k->start, (unsigned long long)k->end);
	} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
		const CUpti_ActivityMemset4 *k = (const void *)r;

		printf("record %d memset %u %llu %llu\n", session, k->correlationId,
		       (unsigned long long)k->start, (unsigned long long)k->end);
	} else if (r->kind == CUPTI_ACTIVITY_KIND_DRIVER) {
		const CUpti_ActivityAPI *k = (const void *)r;

		printf("record %d api %u %llu %llu\n", session, k->correlationId,
		       (unsigned long long)k->start, (unsigned long long)k->end);
	} else {
		CHECK(!"a kind that was not asked for");
	}
}

static void CUPTIAPI complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			      size_t valid)
{
	CUpti_Activity *r = NULL;
	int i = 0;

	pthread_mutex_lock(&lock);
	while (i < LENT && (!buffer || lent[i] != buffer))
		i++;
	CHECK(i < LENT);
	lent[i] = NULL;
	pthread_mutex_unlock(&lock);
	while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS)
		print_record(r);
	free(buffer);
}

static uint64_t CUPTIAPI ticks(void)
{
	return __rdtsc();
}

/* ---- work ---- */

static void init(void)
{
	static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				  ".visible .entry k0()\n{\n\tret;\n}\n"
				  ".visible .entry k1()\n{\n\tret;\n}\n"
				  ".visible .entry k2()\n{\n\tret;\n}\n"
				  ".visible .entry k3()\n{\n\tret;\n}\n";
	CUmodule mod;
	CUdevice dev;

	OK(cuInit(0));
	OK(cuDeviceGet(&dev, 0));
	OK(cuCtxCreate(&ctx, NULL, 0, dev));
	OK(cuModuleLoadData(&mod, ptx));
	for (int i = 0; i < 4; i++) {
		char name[8];

		sprintf(name, "k%d", i);
		OK(cuModuleGetFunction(&kernel[i], mod, name));
	}
	OK(cuMemAlloc(&mem, 1 << 20));
}

static void work(int n)
{
	static char host[4096];

	OK(cuCtxSetCurrent(ctx));
	for (int i = 0; i < n; i++) {
		OK(cuLaunchKernel(kernel[i % 4], 1 + (unsigned)i % 3, 1, 1, 32, 1, 1, 0, NULL, NULL,
				  NULL));
		if (i % 16 == 15)
			OK(cuMemcpyHtoDAsync(mem, host, 64 + (size_t)i % 100, NULL));
		if (i % 50 == 49)
			OK(cuMemsetD8Async(mem, 0, 256, NULL));
	}
	OK(cuCtxSynchronize());
}

/* All launches are alike: only order tells them apart. */
static void *load(void *arg)
{
	CUstream s;

	OK(cuCtxSetCurrent(ctx));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	while (!atomic_load(&stop)) {
		for (int i = 0; i < 20; i++)
			OK(cuLaunchKernel(kernel[0], 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL));
		OK(cuStreamSynchronize(s));
		usleep(300);
	}
	return NULL;
}

static void child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		cuptiActivityFlushAll(0);
		tool.enable(CUPTI_ACTIVITY_KIND_MEMSET);
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
}

/* ---- the profiler ---- */

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					   CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
					   CUPTI_ACTIVITY_KIND_DRIVER};

static void flush(void)
{
	OK(tool.flush(0));
}

static void reg(void)
{
	/* A lock of its own around a call of CUPTI, taken in the callbacks too: nothing of it may run in here. */
	pthread_mutex_lock(&lock);
	OK(tool.reg(request, complete));
	pthread_mutex_unlock(&lock);
}

static void enable(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 4; i++)
		OK(tool.enable(kinds[i]));
	pthread_mutex_unlock(&lock);
}

static void disable(void)
{
	for (int i = 0; i < 4; i++)
		OK(tool.disable(kinds[i]));
}

static int64_t began;

static void begin(void)
{
	session++;
	began = now_ns();
}

static void end(void)
{
	printf("session %d %lld %lld\n", session, (long long)began, (long long)now_ns());
}

static void whole_session(void)
{
	reg();
	enable();
	begin();
	work(200);
	end();
	disable();
	flush();
}

static void *in_thread(void *arg)
{
	whole_session();
	return NULL;
}

static void other(void)
{
	pthread_t t;

	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
}

static void bad(void)
{
	CHECK(tool.reg(NULL, NULL) == CUPTI_ERROR_INVALID_PARAMETER);
	CHECK(tool.reg(request, NULL) == CUPTI_ERROR_INVALID_PARAMETER);
	CHECK(tool.enable((CUpti_ActivityKind)9999) == CUPTI_ERROR_INVALID_KIND);
	CHECK(tool.disable((CUpti_ActivityKind)-1) == CUPTI_ERROR_INVALID_KIND);
	CHECK(tool.clock(NULL) == CUPTI_ERROR_INVALID_PARAMETER);
	CHECK(cuptiActivityEnableContext(NULL, CUPTI_ACTIVITY_KIND_MEMCPY) != CUPTI_SUCCESS);
	CHECK(cuptiUnsubscribe(NULL) != CUPTI_SUCCESS);
}

static void start_load(void)
{
	for (int i = 0; i < 2; i++)
		pthread_create(&loaders[i], NULL, load, NULL);
}

static void stop_load(void)
{
	atomic_store(&stop, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(loaders[i], NULL);
}

static CUpti_SubscriberHandle subscriber;

static void subscribe(void)
{
	OK(cuptiSubscribe(&subscriber, NULL, NULL));
}

static void unsubscribe(void)
{
	OK(cuptiUnsubscribe(subscriber));
}

static void set_clock(void)
{
	OK(tool.clock(ticks));
}

static void finalize(void)
{
	OK(cuptiFinalize());
}

static const struct {
	const char *word;
	void (*fn)(void);
} words[] = {
	{"init", init},
	{"load", start_load},
	{"unload", stop_load},
	{"register", reg},
	{"clock", set_clock},
	{"enable", enable},
	{"disable", disable},
	{"flush", flush},
	{"finalize", finalize},
	{"subscribe", subscribe},
	{"unsubscribe", unsubscribe},
	{"session", whole_session},
	{"other", other},
	{"bad", bad},
	{"begin", begin},
	{"end", end},
	{"fork", child},
	{"dlsym", find_tool},
};

int main(int argc, char **argv)
{
	for (int a = 1; a < argc; a++) {
		size_t i = 0;

		if (!strncmp(argv[a], "work=", 5)) {
			work(atoi(argv[a] + 5));
			continue;
		}
		if (!strncmp(argv[a], "wait=", 5)) {
			usleep((useconds_t)atoi(argv[a] + 5) * 1000);
			continue;
		}
		while (i < sizeof(words) / sizeof(words[0]) && strcmp(words[i].word, argv[a]))
			i++;
		CHECK(i < sizeof(words) / sizeof(words[0]));
		words[i].fn();
	}
	return 0;
}
