/* link: nccl cudart */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small job of ranks that a scenario hurts.  usage: sim_faults train RANKS STEPS | abort RANKS | pair | oom
 *   train  steps of a kernel on one stream, an all-reduce and a barrier of the host; all ranks end together
 *   abort  an all-reduce hangs: the watchdog of each rank aborts the communicator, and the device goes on
 *   pair   4 ranks, sends and receives around the ring, each link timed
 *   oom    allocations until there is no more; the answers are its output
 * Ranks are processes, forked before any CUDA call; rank r runs on device r where there are so many, else on 0.
 */
#include "sim_check.h"
#include "sim_kernels.h"
#include "simgpu/nccl/nccl_api.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct page {
	ncclUniqueId id;
	volatile int have_id;
};

static char step_kernel;

static void nap(long ns)
{
	nanosleep(&(struct timespec){0, ns}, NULL);
}

static ncclComm_t join(struct page *p, int rank, int n)
{
	int devices;
	ncclComm_t c;

	sim_kernel_add(&step_kernel, "train_step");
	OK(cudaGetDeviceCount(&devices));
	OK(cudaSetDevice(devices >= n ? rank : 0));
	if (rank == 0) {
		OK(ncclGetUniqueId(&p->id));
		p->have_id = 1;
	}
	while (!p->have_id)
		nap(1000000);
	OK(ncclCommInitRank(&c, n, p->id, rank));
	return c;
}

static void kernel(cudaStream_t s)
{
	cudaKernel_t k;

	OK(__cudaGetKernel(&k, &step_kernel));
	OK(__cudaLaunchKernel(k, (dim3){8, 1, 1}, (dim3){128, 1, 1}, NULL, 0, s));
}

static int steps;

static void train(struct page *p, int rank, int n)
{
	ncclComm_t c = join(p, rank, n);
	float host[256], *d;
	cudaStream_t s;

	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaMalloc((void **)&d, sizeof(host)));
	for (int i = 0; i < steps; i++) {
		for (int k = 0; k < 256; k++)
			host[k] = (float)(rank + k + i);
		OK(cudaMemcpyAsync(d, host, sizeof(host), cudaMemcpyHostToDevice, s));
		kernel(s);
		OK(ncclAllReduce(d, d, 256, ncclFloat32, ncclSum, c, s));
		OK(cudaMemcpyAsync(host, d, sizeof(host), cudaMemcpyDeviceToHost, s));
		OK(cudaStreamSynchronize(s));
		for (int k = 0; k < 256; k++)
			CHECK(host[k] == (float)(n * (n - 1) / 2 + n * (k + i)));
	}
	OK(ncclCommDestroy(c));
}

static void hang(struct page *p, int rank, int n)
{
	ncclComm_t c = join(p, rank, n), second;
	ncclResult_t async;
	cudaStream_t s, t;
	float *d;
	int waits = 0;

	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	OK(cudaMalloc((void **)&d, 1024));
	OK(ncclCommSplit(c, 0, rank, &second, NULL));
	OK(ncclAllReduce(d, d, 256, ncclFloat32, ncclSum, c, s));
	OK(cudaStreamSynchronize(s));
	OK(ncclAllReduce(d, d, 256, ncclFloat32, ncclSum, c, s)); /* number 2 hangs */
	kernel(s);
	OK(ncclAllReduce(d, d, 256, ncclFloat32, ncclSum, c, s)); /* waits behind it */
	/* Another communicator behind it, too: aborting that one first must not take for ever. */
	OK(ncclAllReduce(d, d, 256, ncclFloat32, ncclSum, second, s));
	for (; waits < 20; waits++) {
		CHECK(cudaStreamQuery(s) == cudaErrorNotReady);
		cudaGetLastError();
		nap(5000000);
	}
	OK(ncclCommGetAsyncError(c, &async));
	CHECK(async == ncclSuccess); /* a hang is not an error anybody knows of */
	kernel(t);
	OK(cudaStreamSynchronize(t)); /* other streams are not held up */
	OK(ncclCommAbort(second));
	OK(ncclCommAbort(c));
	CHECK(ncclCommCount(c, NULL) == ncclInvalidArgument);
	OK(cudaStreamSynchronize(s)); /* what was pending is dropped, the device goes on */
	kernel(s);
	OK(cudaStreamSynchronize(s));
	OK(cudaGetLastError());
}

static void pair(struct page *p, int rank, int n)
{
	ncclComm_t c = join(p, rank, n);
	cudaStream_t s;
	char *d;

	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaMalloc((void **)&d, 8 << 20));
	for (int a = 0; a < n; a++) {
		int b = (a + 1) % n;
		if (rank == a)
			OK(ncclSend(d, 4 << 20, ncclInt8, b, c, s));
		if (rank == b)
			OK(ncclRecv(d, 4 << 20, ncclInt8, a, c, s));
		OK(cudaStreamSynchronize(s));
		OK(ncclAllReduce(d, d, 1 << 20, ncclFloat32, ncclSum, c,
				 s)); /* 4 MiB: moves no data */
		OK(cudaStreamSynchronize(s));
	}
	OK(ncclCommDestroy(c));
}

static int oom(void)
{
	int rc = 0;
	void *p;

	sim_kernel_add(&step_kernel, "train_step");
	for (int i = 0; i < 12 && !rc; i++) {
		rc = cudaMalloc(&p, (size_t)100 << 20);
		printf("allocation %d: %s\n", i, cudaGetErrorName(rc));
		if (!rc)
			kernel(NULL);
	}
	printf("last error: %s\n", cudaGetErrorName(cudaGetLastError()));
	OK(cudaDeviceSynchronize());
	printf("device goes on: %s\n", cudaGetErrorName(cudaGetLastError()));
	return rc ? 1 : 0;
}

static int forked(int n, void (*fn)(struct page *, int, int))
{
	struct page *p =
		mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int failed = 0, status;
	char text[16];

	CHECK(p != MAP_FAILED);
	for (int r = 0; r < n; r++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			snprintf(text, sizeof(text), "%d", r);
			setenv("RANK", text, 1);
			fn(p, r, n);
			exit(0);
		}
	}
	for (int r = 0; r < n; r++) {
		CHECK(wait(&status) > 0);
		failed |= status;
	}
	return failed != 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 4;

	steps = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 10;
	if (!strcmp(what, "train"))
		return forked(n, train);
	if (!strcmp(what, "abort"))
		return forked(n, hang);
	if (!strcmp(what, "pair"))
		return forked(4, pair);
	if (!strcmp(what, "oom"))
		return oom();
	fprintf(stderr, "usage: sim_faults train RANKS STEPS | abort RANKS | pair | oom\n");
	return 2;
}
