/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exercises the simulated driver through its public API, one scene a run: sim_driver SCENE. A scene that finds anything
 * other than it expects prints file and line and exits 1. What the scenes left in the truth is checked by
 * tests/cli/sim-driver.sh.
 */
#define _GNU_SOURCE
#include "simgpu/core/sim_export.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(cond_)                                                                               \
	do {                                                                                       \
		if (!(cond_)) {                                                                    \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond_);        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define IS(want_, call_)                                                                           \
	do {                                                                                       \
		int got_ = (int)(call_);                                                           \
		if (got_ != (int)(want_)) {                                                        \
			fprintf(stderr, "%s:%d: %s answered %d, not %d\n", __FILE__, __LINE__,     \
				#call_, got_, (int)(want_));                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define OK(call_) IS(0, call_)

static const char ptx[] =
	".version 8.0\n.target sm_80\n.visible .entry alpha(\n)\n{ ret; }\n"
	".visible .entry beta(){ ld.global.u32 %r1, [counter]; ret; }\n"
	".visible .global .align 4 .u32 counter;\n.const .align 8 .b8 table[64] = {1};\n";
static CUcontext ctx;
static CUmodule mod;
static CUfunction alpha, beta;

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void setup(void)
{
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	OK(cuModuleLoadData(&mod, ptx));
	OK(cuModuleGetFunction(&alpha, mod, "alpha"));
	OK(cuModuleGetFunction(&beta, mod, "beta"));
}

static CUresult launch(CUfunction f, CUstream s)
{
	return cuLaunchKernel(f, 4, 2, 1, 128, 1, 1, 0, s, NULL, NULL);
}

/* A module has the variables that its image declares and no others. */
static void variables(void)
{
	CUdeviceptr first = 0, again = 0;
	size_t bytes = 0;

	OK(cuModuleGetGlobal(&first, &bytes, mod, "counter"));
	OK(cuModuleGetGlobal(&again, NULL, mod, "counter"));
	CHECK(first && first == again && bytes >= 4);
	OK(cuModuleGetGlobal(&again, &bytes, mod, "table"));
	CHECK(again != first && bytes >= 64);
	IS(CUDA_ERROR_NOT_FOUND,
	   cuModuleGetGlobal(&again, &bytes, mod, "nvshmemi_device_lib_version_d"));
	IS(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&again, &bytes, mod, "global"));
}

/* Streams, events, default-stream rules; elapsed time is the device's. */
static void scene_streams(void)
{
	CUstream a, b, n;
	CUevent e0, e1;
	float ms;
	int64_t t0;

	setup();
	OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
	OK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
	OK(cuStreamCreate(&n, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e0, 0));
	OK(cuEventCreate(&e1, 0));
	OK(cuEventQuery(e0));
	OK(cuEventRecord(e0, a));
	for (int i = 0; i < 50; i++)
		OK(launch(alpha, a));
	OK(cuEventRecord(e1, a));
	OK(cuStreamWaitEvent(b, e1, 0));
	OK(launch(beta, b));
	OK(launch(alpha, n));
	OK(launch(beta, NULL)); /* legacy: after a and b */
	OK(launch(alpha, b));	/* and b after it */
	t0 = now_ns();
	OK(cuStreamSynchronize(b));
	CHECK(now_ns() - t0 >= 0);
	OK(cuEventQuery(e1));
	OK(cuEventElapsedTime(&ms, e0, e1));
	CHECK(ms > 0.475f); /* 50 kernels of 10 us, 5 % of jitter; more where the host was slow */
	OK(cuStreamQuery(n));
	IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, e0, (CUevent)a));
	OK(cuStreamDestroy(a));
	IS(CUDA_ERROR_INVALID_HANDLE, launch(alpha, a));
	OK(cuCtxSynchronize());
}

/* Real data through every kind of copy. */
static void scene_copies(void)
{
	enum { N = 1 << 20 };
	unsigned char *host = malloc(N), *back = calloc(1, N), *pinned;
	CUdeviceptr d, e, bad;
	CUDA_MEMCPY2D c = {0};
	CUstream s;
	unsigned int type;
	size_t free_bytes, total;

	setup();
	for (int i = 0; i < N; i++)
		host[i] = (unsigned char)(i * 7 + i / 251);
	OK(cuMemAlloc(&d, N));
	OK(cuMemAlloc(&e, N));
	OK(cuMemGetInfo(&free_bytes, &total));
	CHECK(total - free_bytes == 2 * N);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemcpyHtoD(d, host, N));
	OK(cuMemcpyDtoDAsync(e, d, N, s));
	OK(cuMemcpyDtoHAsync(back, e, N, s)); /* pageable: over on return */
	CHECK(!memcmp(host, back, N));
	/* a small pageable source may be changed at once */
	OK(cuMemcpyHtoDAsync(d, host, 4096, s));
	memset(host, 0xee, 4096);
	OK(cuMemcpyDtoH(back, d, 0));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(back, d, 4096));
	CHECK(back[0] == 0 && back[1] == 7 && back[300] == (unsigned char)(2100 + 1));
	/* memset and pinned memory */
	OK(cuMemHostAlloc((void **)&pinned, N, 0));
	OK(cuMemsetD32Async(e, 0x01020304, N / 4, s));
	OK(cuMemcpyDtoHAsync(pinned, e, N, s));
	OK(cuStreamSynchronize(s));
	CHECK(pinned[0] == 4 && pinned[N - 1] == 1);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				 (CUdeviceptr)(uintptr_t)pinned));
	CHECK(type == CU_MEMORYTYPE_HOST);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d + 17));
	CHECK(type == CU_MEMORYTYPE_DEVICE);
	/* a sub-rectangle */
	OK(cuMemsetD8(e, 0, N));
	c.srcMemoryType = CU_MEMORYTYPE_HOST;
	c.srcHost = pinned;
	c.srcPitch = 64;
	c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.dstDevice = e;
	c.dstPitch = 256;
	c.dstXInBytes = 8;
	c.dstY = 1;
	c.WidthInBytes = 16;
	c.Height = 3;
	OK(cuMemcpy2D(&c));
	OK(cuMemcpyDtoH(back, e, 4 * 256));
	CHECK(back[256 + 7] == 0 && back[256 + 8] == 4 && back[256 + 23] == 1 &&
	      back[256 + 24] == 0);
	/* what is not memory of the device, or too much of it */
	IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD((CUdeviceptr)(uintptr_t)host, back, 16));
	IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(d + N - 8, host, 16));
	IS(CUDA_ERROR_INVALID_VALUE, cuMemFree(d + 256));
	IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&bad, total));
	OK(cuMemAlloc(&bad, total - 16 * N)); /* lazy: nothing is touched */
	OK(cuMemFree(bad));
	OK(cuMemFree(d));
	OK(cuMemFree(e));
	OK(cuMemAllocAsync(&d, N, s));
	OK(cuMemcpyDtoH(back, d, N));
	for (int i = 0; i < N; i++)
		CHECK(!back[i]); /* freed memory does not come back dirty */
	OK(cuMemFreeAsync(d, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemGetInfo(&free_bytes, &total));
	CHECK(total == free_bytes);
	OK(cuMemFreeHost(pinned));
	free(host);
	free(back);
}

static atomic_int host_calls;
static void on_host(void *arg)
{
	CHECK(atomic_fetch_add(&host_calls, 1) == (int)(intptr_t)arg);
}

static void on_host_slow(void *arg)
{
	usleep(20000);
	*(int *)arg = 42;
}

/* Host functions in stream order; a later copy sees what they did. */
static void scene_host(void)
{
	CUstream s, other;
	CUdeviceptr d;
	int *pinned, back = 0;

	setup();
	variables();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&d, 64));
	OK(cuMemHostAlloc((void **)&pinned, 64, 0));
	*pinned = 1;
	for (int i = 0; i < 20; i++) {
		OK(launch(alpha, s));
		OK(cuLaunchHostFunc(s, on_host, (void *)(intptr_t)i));
	}
	OK(cuLaunchHostFunc(s, on_host_slow, pinned));
	OK(cuMemcpyHtoDAsync(d, pinned, 4, s));
	OK(launch(alpha, other));
	OK(cuStreamSynchronize(other)); /* not held up by the slow function */
	IS(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	OK(cuStreamSynchronize(s));
	CHECK(atomic_load(&host_calls) == 20);
	OK(cuMemcpyDtoH(&back, d, 4));
	CHECK(back == 42);
	/* a wait for a value holds the stream until the host writes it */
	*(volatile int *)pinned = 0;
	OK(cuStreamWaitValue32(s, (CUdeviceptr)(uintptr_t)pinned, 7, CU_STREAM_WAIT_VALUE_EQ));
	OK(launch(beta, s));
	usleep(3000);
	IS(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	*(volatile int *)pinned = 7;
	OK(cuStreamSynchronize(s));
	OK(cuStreamWriteValue32(s, d, 99, 0));
	OK(cuMemcpyDtoHAsync(&back, d, 4, s));
	CHECK(back == 99);
}

/* New parameters for the nodes of a child graph in an executable: the same shape only. */
static void scene_child_update(CUgraphExec x, CUgraph other, CUgraphNode node)
{
	CUgraph child;
	CUgraphNode nodes[8];
	CUgraphNodeType type;
	CUDA_MEMSET_NODE_PARAMS m;
	size_t n = 8;

	OK(cuGraphChildGraphNodeGetGraph(node, &child));
	OK(cuGraphGetNodes(child, nodes, &n));
	for (size_t i = 0; i < n; i++) {
		OK(cuGraphNodeGetType(nodes[i], &type));
		if (type != CU_GRAPH_NODE_TYPE_MEMSET)
			continue;
		OK(cuGraphMemsetNodeGetParams(nodes[i], &m));
		m.value = 7;
		OK(cuGraphMemsetNodeSetParams(nodes[i], &m));
	}
	IS(CUDA_ERROR_INVALID_VALUE, cuGraphExecChildGraphNodeSetParams(x, node, other));
	OK(cuGraphExecChildGraphNodeSetParams(x, node, child));
}

/* Capture over two streams, replay, changed nodes; explicit graphs. */
static void scene_graphs(void)
{
	CUstream s, t;
	CUevent fork, join;
	CUgraph g, h;
	CUgraphExec x;
	CUgraphNode nodes[8], n0, n1, n2;
	CUstreamCaptureStatus status;
	CUDA_KERNEL_NODE_PARAMS p = {0};
	CUDA_MEMSET_NODE_PARAMS m = {0};
	CUdeviceptr d;
	size_t n = 8;
	unsigned int word;

	setup();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	OK(cuMemAlloc(&d, 4096));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(launch(alpha, s));
	OK(cuEventRecord(fork, s));
	OK(cuStreamIsCapturing(t, &status));
	CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
	OK(cuStreamWaitEvent(t, fork, 0));
	OK(cuStreamIsCapturing(t, &status));
	CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(launch(beta, t));
	OK(launch(alpha, s));
	OK(cuMemsetD32Async(d, 5, 1024, t));
	OK(cuEventRecord(join, t));
	OK(cuStreamWaitEvent(s, join, 0));
	OK(launch(beta, s));
	IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&d, 64));
	IS(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(join));
	OK(cuStreamEndCapture(s, &g));
	OK(cuGraphGetNodes(g, nodes, &n));
	CHECK(n == 5);
	OK(cuGraphInstantiate(&x, g, 0));
	for (int i = 0; i < 3; i++)
		OK(cuGraphLaunch(x, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(&word, d, 4));
	CHECK(word == 5);
	OK(cuGraphNodeSetEnabled(x, nodes[0], 0));
	OK(cuGraphLaunch(x, s));
	OK(cuStreamSynchronize(s));

	/* an unjoined stream, a forbidden call */
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(fork, s));
	OK(cuStreamWaitEvent(t, fork, 0));
	OK(launch(alpha, t));
	IS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(s, &h));
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(s));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, launch(alpha, s));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &h));
	OK(launch(alpha, s));

	/* explicit: memset -> kernel -> child(the captured graph) */
	OK(cuGraphCreate(&h, 0));
	m.dst = d;
	m.elementSize = 4;
	m.value = 9;
	m.width = 4;
	m.height = 1;
	OK(cuGraphAddMemsetNode(&n0, h, NULL, 0, &m, ctx));
	p.func = alpha;
	p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
	OK(cuGraphAddKernelNode(&n1, h, &n0, 1, &p));
	OK(cuGraphAddChildGraphNode(&n2, h, &n1, 1, g));
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));
	OK(cuGraphInstantiate(&x, h, 0));
	p.gridDimX = 77;
	OK(cuGraphExecKernelNodeSetParams(x, n1, &p));
	OK(cuGraphLaunch(x, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(&word, d, 4));
	CHECK(word == 5); /* the child's memset came last */
	scene_child_update(x, h, n2);
	OK(cuGraphLaunch(x, NULL));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH(&word, d, 4));
	CHECK(word == 7);
	OK(cuGraphAddDependencies(h, &n2, &n0, NULL, 1));
	IS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&x, h, 0)); /* a cycle */
}

/* cuGetProcAddress by name, version and flags gives the exported functions. */
static void scene_proc(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW), *p = &p;
	CUresult (*v2)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
	CUresult (*v1)(const char *, void **, int, cuuint64_t);
	CUdriverProcAddressQueryResult st;

	CHECK(lib);
	v2 = (__typeof__(v2))dlsym(lib, "cuGetProcAddress_v2");
	v1 = (__typeof__(v1))dlsym(lib, "cuGetProcAddress");
	OK(v2("", &p, 0, 0, NULL)); /* as cudart begins */
	CHECK(!p);
	OK(v2("cuMemAlloc", &p, 2000, 0, &st));
	CHECK(p == dlsym(lib, "cuMemAlloc") && st == CU_GET_PROC_ADDRESS_SUCCESS);
	OK(v2("cuMemAlloc", &p, 12000, 0, &st));
	CHECK(p == dlsym(lib, "cuMemAlloc_v2"));
	OK(v2("cuMemcpyBatchAsync", &p, 12080, 0, &st));
	CHECK(p == dlsym(lib, "cuMemcpyBatchAsync"));
	OK(v2("cuLaunchKernel", &p, 12000, 0, &st));
	CHECK(p == dlsym(lib, "cuLaunchKernel"));
	OK(v2("cuLaunchKernel", &p, 12000, 2, &st));
	CHECK(p == dlsym(lib, "cuLaunchKernel_ptsz"));
	OK(v2("cuMemAlloc", &p, 12000, 2, &st)); /* no such variant: the plain one */
	CHECK(p == dlsym(lib, "cuMemAlloc_v2"));
	OK(v2("cuLaunchKernel", &p, 3000, 0, &st));
	CHECK(!p && st == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	OK(v2("cuNoSuchThing", &p, 12000, 0, &st));
	CHECK(!p && st == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	IS(CUDA_ERROR_INVALID_VALUE, v2("cuInit", &p, 99999, 0, &st));
	OK(v1("cuGetProcAddress", &p, 11030, 0));
	CHECK(p == dlsym(lib, "cuGetProcAddress"));
	OK(v1("cuGetProcAddress", &p, 12000, 0));
	CHECK(p == dlsym(lib, "cuGetProcAddress_v2"));
	IS(CUDA_ERROR_NOT_FOUND, v1("cuNoSuchThing", &p, 12000, 0));
	IS(CUDA_ERROR_NOT_INITIALIZED, cuCtxSynchronize());
	setup();
	OK(v2("cuCtxSynchronize", &p, 12000, 0, &st));
	OK(((CUresult(*)(void))p)());
}

static void scene_contexts(void)
{
	CUcontext a, b, cur;
	CUdevice dev;
	CUuuid u0, u1;
	CUdeviceptr d, e;
	CUstream s;
	unsigned int flags;
	int n, active;
	char word[4] = "abc", back[4];

	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	CHECK(n == 2);
	OK(cuDeviceGetUuid(&u0, 0));
	OK(cuDeviceGetUuid(&u1, 1));
	CHECK(memcmp(&u0, &u1, sizeof(u0)));
	IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&dev, 2));
	OK(cuCtxGetCurrent(&cur));
	CHECK(!cur);
	IS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&d, 64));
	OK(cuCtxCreate(&a, NULL, 0, 0));
	OK(cuCtxCreate(&b, NULL, 0, 1));
	OK(cuCtxGetDevice(&dev));
	CHECK(dev == 1);
	OK(cuMemAlloc(&e, 64));
	OK(cuCtxPopCurrent(&cur));
	CHECK(cur == b);
	OK(cuCtxGetCurrent(&cur));
	CHECK(cur == a);
	OK(cuMemAlloc(&d, 64));
	OK(cuMemcpyHtoD(d, word, 4));
	OK(cuMemcpyPeer(e, b, d, a, 4)); /* between devices */
	OK(cuMemcpyDtoH(back, e, 4));
	CHECK(!strcmp(back, "abc"));
	OK(cuCtxEnablePeerAccess(b, 0));
	IS(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(b, 0));
	OK(cuStreamCreate(&s, 0));
	OK(cuCtxDestroy(a));
	IS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(s)); /* went with its context */
	IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(a));
	IS(CUDA_ERROR_INVALID_VALUE, cuMemFree(d));
	OK(cuCtxDestroy(b));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(!active);
	OK(cuDevicePrimaryCtxRetain(&a, 0));
	OK(cuDevicePrimaryCtxRetain(&b, 0));
	CHECK(a == b);
	OK(cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(active);
	OK(cuDevicePrimaryCtxReset(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	CHECK(!active);
}

/* The scenario fails the 3rd allocation with code 2 and every cuStreamCreate from the 2nd with 801. */
static void scene_fail(void)
{
	CUdeviceptr d;
	CUstream s;

	setup();
	OK(cuMemAlloc(&d, 64));
	OK(cuMemAlloc(&d, 64));
	IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&d, 64));
	OK(cuMemAlloc(&d, 64));
	OK(cuStreamCreate(&s, 0));
	IS(CUDA_ERROR_NOT_SUPPORTED, cuStreamCreate(&s, 0));
	IS(CUDA_ERROR_NOT_SUPPORTED, cuStreamCreate(&s, 0));
}

static void scene_stub(void)
{
	CUtexObject t = 1;

	setup();
	for (int i = 0; i < 3; i++)
		IS(CUDA_ERROR_NOT_SUPPORTED, cuTexObjectCreate(&t, NULL, NULL, NULL));
	CHECK(!t); /* outputs are zeroed */
}

static void in_child(int raw)
{
	CUdeviceptr d;
	pid_t pid = raw ? (pid_t)syscall(SYS_fork) : fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		IS(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc(&d, 64));
		IS(CUDA_ERROR_NOT_INITIALIZED, cuInit(0));
		IS(CUDA_ERROR_NOT_INITIALIZED, launch(alpha, NULL));
		exit(7); /* runs the exit handlers */
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void scene_fork(void)
{
	setup();
	for (int i = 0; i < 100; i++)
		OK(launch(alpha, NULL));
	in_child(0);
	in_child(1);
	OK(cuCtxSynchronize());
}

static void late(void)
{
	CUdeviceptr d;

	/* registered before cuInit, so it runs after the driver went */
	IS(CUDA_ERROR_DEINITIALIZED, cuMemAlloc(&d, 64));
	puts("after the driver");
}

/* Ends with kernels in flight (as long as the scenario says), and a host function that never returns. */
static void for_ever(void *arg)
{
	for (;;)
		pause();
}

static void scene_exit(void)
{
	CUstream s;

	atexit(late);
	setup();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 500; i++)
		OK(launch(beta, NULL));
	OK(launch(alpha, s));
	OK(cuStreamSynchronize(s));
	OK(cuLaunchHostFunc(s, for_ever, NULL));
	usleep(10000);
}

static void *thread_work(void *arg)
{
	CUstream s;

	OK(cuCtxSetCurrent(ctx));
	OK(cuStreamCreate(&s, (intptr_t)arg & 1 ? CU_STREAM_NON_BLOCKING : 0));
	for (int i = 0; i < 2000; i++) {
		OK(launch(i & 1 ? alpha : beta, s));
		if (i % 100 == 0)
			OK(cuStreamSynchronize(s));
		if (i % 37 == 0)
			OK(launch(alpha, CU_STREAM_PER_THREAD));
		if (i % 501 == 0)
			OK(launch(alpha, NULL));
	}
	OK(cuStreamSynchronize(s));
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	return NULL;
}

static void scene_threads(void)
{
	pthread_t t[4];

	setup();
	for (intptr_t i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], NULL, thread_work, (void *)i));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	OK(cuCtxSynchronize());
}

/* A fixed program: with a hold its device times are the same in every run but for the origin. */
static void scene_hold(void)
{
	CUstream a, b;
	CUevent e;

	setup();
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, 0));
	for (int i = 0; i < 300; i++) {
		OK(launch(alpha, a));
		if (i % 10 == 0) {
			OK(cuEventRecord(e, a));
			OK(cuStreamWaitEvent(b, e, 0));
		}
		OK(launch(beta, b));
	}
	OK(cuCtxSynchronize());
}

/* Until somebody kills it. */
static void scene_forever(void)
{
	setup();
	for (;;) {
		for (int i = 0; i < 10; i++)
			OK(launch(alpha, NULL));
		OK(cuCtxSynchronize());
	}
}

/* Kernels that a library brings, by the private table: rendezvous, tag, sink, drain. */
static const struct sim_export *door;
static atomic_int met, moved, n_ops, n_apis, n_ended;
static _Atomic int64_t meets_at;
static uint32_t op_stream, op_correlation, api_correlation;

static int64_t meet_cost(void *arg, const struct sim_launch *l)
{
	return *(const int *)l->param * 1000;
}

static void meet_arrive(void *arg, const struct sim_launch *l, int64_t start_ns,
			int64_t duration_ns)
{
	CHECK(*(const int *)l->param == 30 && duration_ns == 30000 && l->grid[0] == 4);
	CHECK(now_ns() >= start_ns);
	atomic_store(&met, 1);
}

static int meet_poll(void *arg, const struct sim_launch *l, int64_t *ret)
{
	*ret = atomic_load(&meets_at);
	return *ret < 0 ? -1 : *ret > 0;
}

static void meet_finish(void *arg, const struct sim_launch *l)
{
	atomic_fetch_add(&moved, 1);
}

static void meet_tag(void *arg, const struct sim_launch *l, char *buf, uint64_t n)
{
	snprintf(buf, n, "meeting of %d", *(const int *)l->param);
}

static void on_op(void *arg, const struct sim_op *op)
{
	if (!strcmp(op->name ? op->name : "", "meeting")) {
		CHECK(!strcmp(op->tag, "meeting of 30"));
		op_stream = op->stream;
		op_correlation = op->correlation;
	}
	atomic_fetch_add(&n_ops, 1);
}

static void on_api(void *arg, const struct sim_api *a)
{
	CHECK(a->end_ns >= a->start_ns && a->correlation);
	if (a->domain == SIM_RUNTIME)
		api_correlation = a->correlation;
	atomic_fetch_add(&n_apis, 1);
}

static void on_context_end(void *arg, uint32_t context)
{
	CHECK(context == 1);
	atomic_fetch_add(&n_ended, 1);
}

static void scene_export(void)
{
	static const CUuuid id = {SIM_EXPORT_UUID_BYTES}, other = {"somebody else's"};
	const struct sim_sink sink = {NULL, on_op, on_api, on_context_end};
	const struct sim_kernel k = {.name = "meeting",
				     .param_bytes = sizeof(int),
				     .duration_ns = meet_cost,
				     .arrive = meet_arrive,
				     .poll = meet_poll,
				     .finish = meet_finish,
				     .tag = meet_tag};
	const void *table;
	CUstream s, t;
	CUfunction f;
	CUgraph g;
	CUgraphExec x;
	uint32_t word;
	int param = 30;
	void *params[] = {&param};

	OK(cuGetExportTable(&table, &id));
	IS(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&table, &other));
	OK(cuGetExportTable(&table, &id));
	door = table;
	CHECK(door->version == SIM_EXPORT_VERSION && door->bytes >= sizeof(*door));
	CHECK(door->current_device() == -1);
	IS(CUDA_ERROR_NOT_INITIALIZED, door->kernel_create(&f, &k));
	setup();
	CHECK(door->current_device() == 0);
	OK(door->context_id(ctx, &word));
	CHECK(word == 1);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	OK(door->stream_id(ctx, NULL, &word));
	CHECK(word == 7);
	OK(door->stream_id(ctx, t, &word));
	CHECK(word == 9);
	OK(door->kernel_create(&f, &k));
	door->set_sink(&sink);
	door->api_enter(SIM_RUNTIME, 1);
	OK(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, t, params, NULL));
	door->api_exit(SIM_RUNTIME, 1, 0);
	CHECK(atomic_load(&n_apis) == 1); /* the driver call inside is not told of */
	param = 0;			  /* the parameters were copied */
	OK(launch(alpha, t));
	OK(launch(alpha, s));
	OK(cuStreamSynchronize(s));
	usleep(5000);
	IS(CUDA_ERROR_NOT_READY, cuStreamQuery(t));
	CHECK(atomic_load(&met) && !atomic_load(&moved));
	door->drain();
	CHECK(atomic_load(&n_ops) == 1); /* the one on s */
	atomic_store(&meets_at, now_ns() + 2000000);
	OK(cuStreamSynchronize(t));
	CHECK(now_ns() >= atomic_load(&meets_at) && atomic_load(&moved) == 1);
	door->drain();
	CHECK(atomic_load(&n_ops) == 3 && op_stream == 9 && op_correlation == api_correlation);
	/* in a graph, parameters copied again */
	param = 30;
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, s, params, NULL));
	OK(cuStreamEndCapture(s, &g));
	OK(cuGraphInstantiate(&x, g, 0));
	param = 0;
	OK(cuGraphLaunch(x, s));
	OK(cuGraphLaunch(x, s));
	OK(cuStreamSynchronize(s));
	CHECK(atomic_load(&moved) == 3);
	/* a failed one loses the context */
	param = 30;
	atomic_store(&meets_at, -1);
	OK(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, t, params, NULL));
	IS(CUDA_ERROR_LAUNCH_FAILED, cuStreamSynchronize(t));
	IS(CUDA_ERROR_LAUNCH_FAILED, launch(alpha, s));
	door->truth_note("remark", "%d of %s", 1, "them");
	OK(cuDevicePrimaryCtxReset(0));
	CHECK(atomic_load(&n_ended) == 1);
	door->set_sink(NULL);
}

/* Prints what a launch costs the host; no assertion. */
static void scene_cost(void)
{
	enum { N = 200000 };
	int64_t t0;
	CUstream s;

	setup();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	t0 = now_ns();
	for (int i = 0; i < N; i++)
		OK(launch(alpha, s));
	printf("%.0f ns a launch\n", (double)(now_ns() - t0) / N);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenes[] = {{"streams", scene_streams}, {"copies", scene_copies},
		      {"host", scene_host},	  {"graphs", scene_graphs},
		      {"proc", scene_proc},	  {"contexts", scene_contexts},
		      {"fail", scene_fail},	  {"stub", scene_stub},
		      {"fork", scene_fork},	  {"exit", scene_exit},
		      {"threads", scene_threads}, {"hold", scene_hold},
		      {"forever", scene_forever}, {"export", scene_export},
		      {"cost", scene_cost}};

	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (argc == 2 && !strcmp(argv[1], scenes[i].name)) {
			scenes[i].run();
			return 0;
		}
	fprintf(stderr, "usage: sim_driver SCENE\n");
	return 2;
}
