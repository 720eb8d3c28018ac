// SPDX-License-Identifier: Apache-2.0
/*
 * The cost of a hooked call, on a driver that does nothing (tests/cli/src/fake_cuda.c):
 *   bench_hook count N    N launches, for an instruction counter
 *   bench_hook gemm N     N matrix products, on a cuBLAS that does nothing (fake_cublas.c)
 *   bench_hook dnn N      N plans executed, each with a pack made, filled and destroyed (fake_cudnn.c)
 *   bench_hook time       ns per call, three ways in turn within one run: straight to the driver's function, with two
 *                         rdtsc around it, through the entry point everybody uses (hooked when the agent is preloaded)
 * Driven by bench_hook.sh. Turns are interleaved and the median taken: on a shared machine nothing else means much.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define TURNS 401
#define BATCH 2000

static __typeof__(&cuLaunchKernel) launch, direct;
static volatile uint64_t sink;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void one(__typeof__(&cuLaunchKernel) fn)
{
	fn((CUfunction)0x55, 128, 2, 1, 256, 1, 1, 4096, (CUstream)0x66, NULL, NULL);
}

static int (*product)(void *h, int ta, int tb, int m, int n, int k, const void *alpha,
		      const void *a, int at, int lda, const void *b, int bt, int ldb,
		      const void *beta, void *c, int ct, int ldc, int compute, int algo);

static int products(long n)
{
	void *h = dlopen("libcublas.so.13", RTLD_NOW);

	product = h ? (__typeof__(product))dlsym(h, "cublasGemmEx") : NULL;
	if (!product)
		return 1;
	one(launch); /* the thread has its chunk */
	for (long i = 0; i < n; i++)
		product(NULL, 0, 1, 4096, 4096, 1024, NULL, NULL, 14, 4096, NULL, 14, 1024, NULL,
			NULL, 14, 4096, 68, -1);
	return 0;
}

/* As PyTorch does it: of a plan that stays, each execution has a pack of its own. */
static int plans(long n)
{
	void *h = dlopen("libcudnn.so.9", RTLD_NOW), *plan = NULL, *pack = NULL;
	int (*create)(int, void **);
	int (*set)(void *, int, int, int64_t, const void *);
	int (*execute)(void *, void *, void *);
	int (*destroy)(void *);
	int64_t uids[4] = {1, 2, 3, 4};
	void *data[4] = {NULL, NULL, NULL, NULL};

	create = h ? (__typeof__(create))dlsym(h, "cudnnBackendCreateDescriptor") : NULL;
	set = h ? (__typeof__(set))dlsym(h, "cudnnBackendSetAttribute") : NULL;
	execute = h ? (__typeof__(execute))dlsym(h, "cudnnBackendExecute") : NULL;
	destroy = h ? (__typeof__(destroy))dlsym(h, "cudnnBackendDestroyDescriptor") : NULL;
	if (!create || !set || !execute || !destroy)
		return 1;
	one(launch); /* the thread has its chunk */
	create(5, &plan);
	for (long i = 0; i < n; i++) {
		create(16, &pack);
		set(pack, 1000, 3, 4, uids);
		set(pack, 1001, 6, 4, data);
		execute(NULL, plan, pack);
		destroy(pack);
	}
	return 0;
}

static int64_t turn(int way)
{
	int64_t start = now_ns();

	for (int i = 0; i < BATCH; i++) {
		if (way == 0) {
			one(direct);
		} else if (way == 1) {
			uint64_t a = __rdtsc();

			one(direct);
			sink = __rdtsc() - a;
		} else {
			one(launch);
		}
	}
	return now_ns() - start;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void time_ways(void)
{
	static const char *const names[] = {"pass-through", "two rdtsc", "hooked"};
	static int64_t ns[3][TURNS];

	for (int t = 0; t < TURNS; t++)
		for (int way = 0; way < 3; way++)
			ns[way][t] = turn(way);
	for (int way = 0; way < 3; way++) {
		qsort(ns[way], TURNS, sizeof(ns[way][0]), by_value);
		printf("%-12s %6.1f ns a call (quartiles %.1f %.1f)\n", names[way],
		       (double)ns[way][TURNS / 2] / BATCH, (double)ns[way][TURNS / 4] / BATCH,
		       (double)ns[way][TURNS * 3 / 4] / BATCH);
	}
}

int main(int argc, char **argv)
{
	void *h = dlopen("libcuda.so.1", RTLD_NOW);
	void *(*pointer)(void) = h ? (__typeof__(pointer))dlsym(h, "fake_launch_pointer") : NULL;
	CUresult (*init)(unsigned int);
	CUresult (*create)(CUcontext *, unsigned int, CUdevice);
	CUcontext ctx;
	long n = argc == 3 ? atol(argv[2]) : 0;

	if (!pointer || argc < 2) {
		fprintf(stderr, "bench_hook: run it by bench_hook.sh, on the do-nothing driver\n");
		return 2;
	}
	direct = (__typeof__(direct))pointer();
	launch = (__typeof__(launch))dlsym(h, "cuLaunchKernel");
	init = (__typeof__(init))dlsym(h, "cuInit");
	create = (__typeof__(create))dlsym(h, "cuCtxCreate_v2");
	if (init(0) || create(&ctx, 0, 0))
		return 1;
	if (!strcmp(argv[1], "time"))
		time_ways();
	if (!strcmp(argv[1], "gemm"))
		return products(n);
	if (!strcmp(argv[1], "dnn"))
		return plans(n);
	for (long i = 0; i < n; i++)
		one(launch);
	return 0;
}
