/* link: cudart */
/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated runtime from C: data, streams, events, both launch forms, graphs, errors. Prints "ok" at the end. */
#include "sim_check.h"
#include "sim_kernels.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define N 10000

static const char add_kernel[1], mul_kernel[1];
static int host_calls;

static void data(void)
{
	static unsigned char in[N], out[N], plane[64 * 10], back[32 * 10];
	struct cudaPointerAttributes attr;
	void *d, *e, *pinned;
	size_t pitch;

	for (int i = 0; i < N; i++)
		in[i] = (unsigned char)(i * 7);
	OK(cudaMalloc(&d, N));
	OK(cudaMalloc(&e, N));
	OK(cudaMemcpy(d, in, N, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(e, d, N, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpy(out, e, N, cudaMemcpyDeviceToHost));
	CHECK(!memcmp(in, out, N));
	OK(cudaMemset((char *)e + 10, 0xab, 20));
	OK(cudaMemcpy(out, e, N, cudaMemcpyDefault));
	CHECK(!memcmp(in, out, 10) && out[10] == 0xab && out[29] == 0xab && out[30] == in[30]);

	OK(cudaMallocHost(&pinned, N));
	OK(cudaMemcpyAsync(pinned, d, N, cudaMemcpyDeviceToHost, 0));
	OK(cudaDeviceSynchronize());
	CHECK(!memcmp(in, pinned, N));
	OK(cudaPointerGetAttributes(&attr, d));
	CHECK(attr.type == cudaMemoryTypeDevice && attr.device == 0);
	OK(cudaPointerGetAttributes(&attr, pinned));
	CHECK(attr.type == cudaMemoryTypeHost);
	OK(cudaPointerGetAttributes(&attr, in));
	CHECK(attr.type == cudaMemoryTypeUnregistered);

	OK(cudaFree(e));
	OK(cudaMallocPitch(&e, &pitch, 32, 10));
	CHECK(pitch >= 32);
	for (int i = 0; i < 64 * 10; i++)
		plane[i] = (unsigned char)i;
	OK(cudaMemcpy2D(e, pitch, plane, 64, 32, 10, cudaMemcpyHostToDevice));
	OK(cudaMemcpy2D(back, 32, e, pitch, 32, 10, cudaMemcpyDeviceToHost));
	for (int y = 0; y < 10; y++)
		CHECK(!memcmp(back + 32 * y, plane + 64 * y, 32));
	OK(cudaFree(d));
	OK(cudaFree(e));
	OK(cudaFreeHost(pinned));
}

static void on_host(void *arg)
{
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_RELAXED);
}

static void launches(void)
{
	dim3 grid = {8, 2, 1}, block = {128, 1, 1}, g, b;
	float x = 1, *px = &x;
	void *args[] = {&px};
	cudaLaunchConfig_t config = {0};
	cudaStream_t s, t;
	cudaEvent_t start, stop, dep;
	cudaKernel_t handle = NULL;
	size_t smem;
	void *stream = NULL;
	float ms = -1;

	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaStreamCreate(&t));
	OK(cudaEventCreate(&start));
	OK(cudaEventCreate(&stop));
	OK(cudaEventCreateWithFlags(&dep, cudaEventDisableTiming));
	OK(cudaEventRecord(start, s));
	/* the form of nvcc 12 */
	CHECK(__cudaPushCallConfiguration(grid, block, 256, s) == 0);
	OK(__cudaPopCallConfiguration(&g, &b, &smem, &stream));
	CHECK(g.x == 8 && g.y == 2 && b.x == 128 && smem == 256 && stream == s);
	OK(cudaLaunchKernel(add_kernel, g, b, args, smem, stream));
	/* the form of nvcc 13 */
	OK(__cudaGetKernel(&handle, mul_kernel));
	OK(__cudaLaunchKernel(handle, grid, block, args, 0, s));
	config.gridDim = grid;
	config.blockDim = block;
	config.stream = t;
	OK(cudaLaunchKernelExC(&config, mul_kernel, args));
	OK(cudaEventRecord(dep, s));
	OK(cudaStreamWaitEvent(t, dep, 0));
	OK(cudaLaunchHostFunc(t, on_host, &host_calls));
	OK(cudaEventRecord(stop, s));
	OK(cudaEventSynchronize(stop));
	OK(cudaEventElapsedTime(&ms, start, stop));
	CHECK(ms > 0);
	OK(cudaStreamSynchronize(t));
	CHECK(__atomic_load_n(&host_calls, __ATOMIC_RELAXED) == 1);
	OK(cudaStreamQuery(s));
	OK(cudaEventDestroy(start));
	OK(cudaEventDestroy(stop));
	OK(cudaEventDestroy(dep));
	OK(cudaStreamDestroy(s));
	OK(cudaStreamDestroy(t));
}

static void graphs(void)
{
	enum cudaStreamCaptureStatus status;
	dim3 grid = {4, 1, 1}, block = {32, 1, 1};
	int seven = 7, out = 0;
	cudaGraphExec_t exec;
	cudaStream_t s;
	cudaGraph_t graph;
	size_t nodes = 0;
	void *d;

	OK(cudaMalloc(&d, sizeof(int)));
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaMemset(d, 0, sizeof(int)));
	OK(cudaDeviceSynchronize());
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	OK(cudaStreamIsCapturing(s, &status));
	CHECK(status == cudaStreamCaptureStatusActive);
	OK(cudaLaunchKernel(add_kernel, grid, block, NULL, 0, s));
	OK(cudaMemcpyAsync(d, &seven, sizeof(int), cudaMemcpyHostToDevice, s));
	OK(cudaStreamEndCapture(s, &graph));
	OK(cudaGraphGetNodes(graph, NULL, &nodes));
	CHECK(nodes == 2);
	OK(cudaMemcpy(&out, d, sizeof(int), cudaMemcpyDeviceToHost));
	CHECK(out == 0); /* captured, not run */
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphLaunch(exec, s));
	OK(cudaStreamSynchronize(s));
	OK(cudaMemcpy(&out, d, sizeof(int), cudaMemcpyDeviceToHost));
	CHECK(out == 7);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaStreamDestroy(s));
	OK(cudaFree(d));
}

static void errors(void)
{
	dim3 one = {1, 1, 1};
	cudaArray_t array;
	int device = -1;
	void *p = &p;

	CHECK(cudaPeekAtLastError() == cudaSuccess);
	CHECK(cudaSetDevice(99) == cudaErrorInvalidDevice);
	CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
	CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
	CHECK(cudaGetLastError() == cudaSuccess);
	CHECK(cudaMalloc(&p, (size_t)1 << 50) == cudaErrorMemoryAllocation);
	CHECK(p == NULL);
	CHECK(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
	CHECK(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"));
	CHECK(!strcmp(cudaGetErrorString(cudaErrorInvalidPitchValue), "invalid pitch value"));
	CHECK(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"));
	CHECK(cudaMemcpy(&device, &device, 4, (enum cudaMemcpyKind)17) ==
	      cudaErrorInvalidMemcpyDirection);
	CHECK(cudaLaunchKernel(NULL, one, one, NULL, 0, 0) == cudaErrorInvalidDeviceFunction);
	CHECK(cudaMallocArray(&array, NULL, 1, 1, 0) == cudaErrorNotSupported);
	CHECK(array == NULL); /* a stub leaves nothing behind that looks like a result */
	cudaGetLastError();
}

static void device(void)
{
	struct cudaDeviceProp p;
	int n = 0, version = 0, value = 0;
	void *entry = NULL;
	enum cudaDriverEntryPointQueryResult found;
	size_t free_bytes, total;

	OK(cudaGetDeviceCount(&n));
	CHECK(n >= 1);
	OK(cudaRuntimeGetVersion(&version));
	CHECK(version == CUDART_VERSION);
	OK(cudaGetDeviceProperties(&p, 0));
	CHECK(p.name[0] && p.warpSize == 32 && p.multiProcessorCount > 0 &&
	      p.totalGlobalMem > 1u << 30);
	OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
	CHECK(value == p.multiProcessorCount);
	OK(cudaMemGetInfo(&free_bytes, &total));
	CHECK(total == p.totalGlobalMem && free_bytes <= total);
	OK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &entry, 12000, cudaEnableDefault,
					    &found));
	CHECK(entry && found == cudaDriverEntryPointSuccess);
	OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &entry, 12000, cudaEnableDefault,
					    &found));
	CHECK(found == cudaDriverEntryPointSymbolNotFound);
}

/* The per-thread default stream is another stream than the legacy one. */
cudaError_t cudaMemsetAsync_ptsz(void *devPtr, int value, size_t count, cudaStream_t stream);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);

static void *per_thread(void *arg)
{
	unsigned char out[64];
	void *d;

	OK(cudaMalloc(&d, sizeof(out)));
	OK(cudaMemsetAsync_ptsz(d, 3, sizeof(out), 0));
	OK(cudaStreamSynchronize_ptsz(0));
	OK(cudaMemcpy(out, d, sizeof(out), cudaMemcpyDeviceToHost));
	CHECK(out[0] == 3 && out[63] == 3);
	OK(cudaFree(d));
	return arg;
}

int main(void)
{
	pthread_t t[3];

	sim_kernel_add(add_kernel, "_Z3addPf");
	sim_kernel_add(mul_kernel, "_Z3mulPf");
	device();
	data();
	launches();
	graphs();
	errors();
	for (int i = 0; i < 3; i++)
		OK(pthread_create(&t[i], NULL, per_thread, NULL));
	for (int i = 0; i < 3; i++)
		OK(pthread_join(t[i], NULL));
	OK(cudaDeviceSynchronize());
	__cudaUnregisterFatBinary(sim_kernels_handle);
	puts("ok");
	return 0;
}
