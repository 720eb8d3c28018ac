/* link: nccl cudart */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training with the memory of a large model, sharded over ranks, and no model: bf16 parameters, fp32 master copies and
 * two Adam moments in shards, gathered layers, gradients in buckets, activations.  usage: sim_large RANKS PARAMETERS
 * Prints "rank N peak BYTES" for each rank (what it allocated at most) and, where all ranks are at their fullest, the
 * proportional share of memory of all of them: "resident KB" (smaps_rollup's Pss, which counts shared memory once).
 */
#include "sim_check.h"
#include "sim_kernels.h"
#include "simgpu/nccl/nccl_api.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LAYERS 32
#define STEPS  2

struct page {
	ncclUniqueId id;
	volatile int have_id, full, go_on;
	volatile pid_t pids[64];
};

static char step_kernel;
static uint64_t parameters, now_bytes, peak_bytes;

static void *take(size_t bytes)
{
	void *p;

	OK(cudaMalloc(&p, bytes));
	now_bytes += bytes;
	if (now_bytes > peak_bytes)
		peak_bytes = now_bytes;
	return p;
}

static void give(void *p, size_t bytes)
{
	OK(cudaFree(p));
	now_bytes -= bytes;
}

static void wait_for(volatile int *word, int least)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < least)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void kernel(cudaStream_t s)
{
	cudaKernel_t k;

	OK(__cudaGetKernel(&k, &step_kernel));
	OK(__cudaLaunchKernel(k, (dim3){132, 1, 1}, (dim3){256, 1, 1}, NULL, 0, s));
}

/* A step: layers are gathered, used and dropped; gradients go back by reduce-scatter; the shard is updated. */
static void step(ncclComm_t c, int n, cudaStream_t s, char *shard, char *gradients,
		 char *activations, char *optimizer)
{
	size_t layer = parameters / LAYERS, part = layer / (size_t)n;
	float scale = 1, norm[4] = {0};

	OK(cudaMemcpyAsync(activations, norm, sizeof(norm), cudaMemcpyHostToDevice, s));
	for (int pass = 0; pass < 2; pass++)
		for (int l = 0; l < LAYERS; l++) {
			char *whole = take(layer * 2);
			OK(ncclAllGather(shard + (size_t)l * part * 2, whole, part, ncclBfloat16, c,
					 s));
			kernel(s);
			if (pass) {
				OK(cudaMemsetAsync(gradients, 0, layer * 2, s));
				kernel(s);
				OK(ncclReduceScatter(gradients, gradients, part, ncclBfloat16,
						     ncclSum, c, s));
			} else {
				/* Checkpointed activations are copied within the device. */
				OK(cudaMemcpyAsync(activations + ((size_t)(l + 1) << 25),
						   activations, 1 << 25, cudaMemcpyDeviceToDevice,
						   s));
			}
			give(whole, layer * 2);
		}
	/* The norm of the gradient is what the host reads. */
	OK(cudaMemcpyAsync(optimizer, &scale, 4, cudaMemcpyHostToDevice, s));
	OK(ncclAllReduce(optimizer, optimizer, 1, ncclFloat32, ncclSum, c, s));
	kernel(s);
	OK(cudaMemcpyAsync(norm, optimizer, 4, cudaMemcpyDeviceToHost, s));
	OK(cudaStreamSynchronize(s));
	CHECK(norm[0] == (float)n);
}

static void rank_main(struct page *p, int rank, int n)
{
	size_t mine = parameters / (size_t)n;
	char *shard, *optimizer, *gradients, *activations, *bucket;
	cudaStream_t s;
	ncclComm_t c;

	sim_kernel_add(&step_kernel, "transformer_step");
	if (rank == 0) {
		OK(ncclGetUniqueId(&p->id));
		p->have_id = 1;
	}
	wait_for(&p->have_id, 1);
	OK(ncclCommInitRank(&c, n, p->id, rank));
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	shard = take(mine * 2);
	optimizer = take(mine * 12); /* master, two moments, fp32 each */
	gradients = take(parameters / LAYERS * 2);
	activations = take((size_t)(LAYERS + 1) << 25);
	bucket = take((size_t)256 << 20);
	OK(cudaMemsetAsync(optimizer, 0, mine * 12, s));
	for (int i = 0; i < STEPS; i++) {
		step(c, n, s, shard, gradients, activations, optimizer);
		/* A whole bucket of another kind of parallelism. */
		OK(ncclAllReduce(bucket, bucket, 64 << 20, ncclFloat32, ncclAvg, c, s));
	}
	OK(cudaStreamSynchronize(s));
	__atomic_add_fetch(&p->full, 1, __ATOMIC_ACQ_REL);
	wait_for(&p->go_on, 1);
	printf("rank %d peak %llu\n", rank, (unsigned long long)peak_bytes);
	OK(ncclCommDestroy(c));
}

static long share_kb(pid_t pid)
{
	char path[64], line[256];
	long kb = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	f = fopen(path, "r");
	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Pss: %ld kB", &kb) == 1)
			break;
	fclose(f);
	CHECK(kb > 0);
	return kb;
}

int main(int argc, char **argv)
{
	struct page *p =
		mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int n = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0, status, failed = 0;
	long kb = 0;

	if (n < 2 || n > 64 || p == MAP_FAILED) {
		fprintf(stderr, "usage: sim_large RANKS PARAMETERS\n");
		return 2;
	}
	parameters = strtoull(argv[2], NULL, 10) / (uint64_t)(LAYERS * n) * (uint64_t)(LAYERS * n);
	for (int r = 0; r < n; r++) {
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			char text[16];
			snprintf(text, sizeof(text), "%d", r);
			setenv("RANK", text, 1);
			rank_main(p, r, n);
			exit(0);
		}
		p->pids[r] = pid;
	}
	while (__atomic_load_n(&p->full, __ATOMIC_ACQUIRE) < n) {
		if (waitpid(-1, &status, WNOHANG) > 0) {
			p->go_on = 1;
			CHECK(!"a rank ended early");
		}
		nanosleep(&(struct timespec){0, 5000000}, NULL);
	}
	for (int r = 0; r < n; r++)
		kb += share_kb(p->pids[r]);
	printf("resident %ld\n", kb);
	fflush(stdout);
	p->go_on = 1;
	for (int r = 0; r < n; r++) {
		CHECK(wait(&status) > 0);
		failed |= status;
	}
	return failed != 0;
}
