/* link: cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that marks what it does (include/warptap/annotate.h): agent_marks [STEPS [crowd THREADS]]
 * Before cuInit a range that cannot be recorded; then steps, each with input, forward, backward and a request that
 * begins on the main thread and ends on another; names of every length up to 130; a pop too many; a range left open.
 * A child of fork marks too and must leave nothing.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <warptap/annotate.h>

#define OK(call_)                                                                                  \
	do {                                                                                       \
		CUresult r_ = (call_);                                                             \
		if (r_ != CUDA_SUCCESS) {                                                          \
			fprintf(stderr, "agent_marks:%d: %s: %d\n", __LINE__, #call_, (int)r_);    \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)

static CUcontext ctx;
static CUfunction fn;
static long steps = 5;

static void launch(int n)
{
	for (int i = 0; i < n; i++)
		OK(cuLaunchKernel(fn, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

static void *ends_request(void *arg)
{
	wt_request_end(*(long *)arg);
	return NULL;
}

static void *crowd(void *arg)
{
	for (int i = 0; i < 20000; i++) {
		wt_range_push(WT_RANGE, "crowd");
		wt_range_pop();
	}
	return NULL;
}

static void one_step(long n)
{
	pthread_t t;

	wt_step_begin(n);
	wt_range_push(WT_INPUT, "batch");
	usleep(3000);
	wt_range_pop();
	wt_request_begin(1000 + n);
	wt_range_push(WT_FORWARD, NULL);
	launch(4);
	wt_range_pop();
	wt_range_push(WT_BACKWARD, "backward");
	launch(8);
	wt_range_pop();
	n += 1000;
	if (pthread_create(&t, NULL, ends_request, &n) || pthread_join(t, NULL))
		exit(3);
	OK(cuCtxSynchronize());
	wt_step_end();
}

int main(int argc, char **argv)
{
	static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry "
				  "job_kernel()\n{\n\tret;\n}\n";
	char name[131];
	pthread_t threads[64];
	CUdevice dev;
	CUmodule mod;
	int n = argc > 3 ? atoi(argv[3]) : 0, status = 0;
	pid_t child;

	steps = argc > 1 ? atol(argv[1]) : steps;
	wt_range_push(WT_FORWARD, "before there is a device");
	OK(cuInit(0));
	wt_range_pop();
	OK(cuDeviceGet(&dev, 0));
	wt_range_push(WT_RANGE, "start"); /* before there is a context */
	OK(cuDevicePrimaryCtxRetain(&ctx, dev));
	OK(cuCtxSetCurrent(ctx));
	OK(cuModuleLoadData(&mod, ptx));
	OK(cuModuleGetFunction(&fn, mod, "job_kernel"));
	wt_range_pop();
	errno = 77;
	for (long i = 0; i < steps; i++)
		one_step(i);
	for (int i = 0; i <= 130; i++) {
		memset(name, 'a' + i % 26, sizeof(name));
		name[i] = '\0';
		wt_range_push(WT_RANGE, name);
		wt_range_pop();
	}
	wt_mark(99, 1, 0, "no such mark");
	wt_mark(WT_MARK_PUSH, 1000, 0, "no such kind");
	for (int i = 0; i < n && i < 64; i++)
		if (pthread_create(&threads[i], NULL, crowd, NULL))
			exit(3);
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(threads[i], NULL);
	child = fork();
	if (!child) {
		wt_step_begin(4711);
		wt_step_end();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		return 4;
	wt_range_push(WT_CHECKPOINT, "left open");
	return 0;
}
