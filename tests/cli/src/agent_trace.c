/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job on the driver API, to be recorded: agent_trace LAUNCHES [THREADS [HOW]]
 * Launches of 40 kernels in a repeating order on four streams, a copy each 16th, a memset each 50th, a wait each 500th,
 * a graph of three kernels and a copy launched now and then. HOW: return (default), _exit,
 * kill (SIGKILL), fork (a child that launches).
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call_)                                                                                  \
	do {                                                                                       \
		CUresult r_ = (call_);                                                             \
		if (r_ != CUDA_SUCCESS) {                                                          \
			fprintf(stderr, "agent_trace:%d: %s: %d\n", __LINE__, #call_, (int)r_);    \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)

#define KERNELS 40
#define STREAMS 4

static CUcontext ctx;
static CUfunction kernel[KERNELS];
static long launches;

static void load(void)
{
	static char ptx[KERNELS * 80 + 200];
	CUmodule mod;
	char *at = ptx;

	at += sprintf(at, ".version 8.0\n.target sm_80\n.address_size 64\n");
	for (int i = 0; i < KERNELS; i++)
		at += sprintf(at, ".visible .entry job_kernel_%d()\n{\n\tret;\n}\n", i);
	OK(cuModuleLoadData(&mod, ptx));
	for (int i = 0; i < KERNELS; i++) {
		char name[32];

		sprintf(name, "job_kernel_%d", i);
		OK(cuModuleGetFunction(&kernel[i], mod, name));
	}
}

static CUgraphExec make_graph(CUstream stream, CUdeviceptr to, const void *from)
{
	CUgraphExec exec;
	CUgraph graph;

	OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	for (int i = 0; i < 3; i++)
		OK(cuLaunchKernel(kernel[i], 2, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	OK(cuMemcpyHtoDAsync(to, from, 64, stream));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void *work(void *arg)
{
	static char host[4096];
	unsigned x = 12345;
	CUstream s[STREAMS];
	CUgraphExec exec;
	CUdeviceptr mem;

	OK(cuCtxSetCurrent(ctx));
	OK(cuMemAlloc(&mem, 1 << 20));
	for (int i = 0; i < STREAMS; i++)
		OK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
	exec = make_graph(s[0], mem, host);
	for (long i = 0; i < launches; i++) {
		CUstream st = s[i / 8 % STREAMS];

		x = x * 1664525 + 1013904223;
		OK(cuLaunchKernel(kernel[i % 97 % KERNELS], 1 + (unsigned)(i % 11),
				  1 + (unsigned)(i % 3), 1, 128, 1, 1, (unsigned)(i % 5) * 1024, st,
				  NULL, NULL));
		for (volatile unsigned spin = x >> 24; spin; spin--)
			;
		if (i % 16 == 15)
			OK(cuMemcpyHtoDAsync(mem, host, 64 + (size_t)(i % 100), st));
		if (i % 50 == 49)
			OK(cuMemsetD8Async(mem, 0, 256, st));
		if (i % 200 == 199)
			OK(cuGraphLaunch(exec, s[0]));
		if (i % 500 == 499)
			OK(cuStreamSynchronize(st));
	}
	OK(cuCtxSynchronize());
	return NULL;
}

static void child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		/* a child may not use CUDA; it may call it all the same, and must end as it would without us */
		cuLaunchKernel(kernel[0], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
		exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	const char *how = argc > 3 ? argv[3] : "return";
	pthread_t th[16];
	CUdevice dev;

	launches = argc > 1 ? atol(argv[1]) : 1000;
	OK(cuInit(0));
	OK(cuDeviceGet(&dev, 0));
	OK(cuCtxCreate(&ctx, NULL, 0, dev));
	load();
	for (int i = 0; i < threads && i < 16; i++)
		pthread_create(&th[i], NULL, work, NULL);
	for (int i = 0; i < threads && i < 16; i++)
		pthread_join(th[i], NULL);
	if (strcmp(how, "fork") == 0)
		child();
	if (strcmp(how, "kill") == 0) {
		usleep(1500000);
		kill(getpid(), SIGKILL);
	}
	if (strcmp(how, "_exit") == 0)
		_exit(7);
	return 0;
}
