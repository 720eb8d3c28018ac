/* link: cudart */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What serving engines do and trainers do not: serving_traps _exit|term|kill
 * The parent holds the CUDA libraries, asks NVML for devices, forks two workers and never touches a GPU. A worker has a
 * device of its own, finds NCCL by dlopen and dlsym on that handle, and runs iterations: one graph launch of 49 kernels
 * of different names, an all-reduce, a kernel that samples and a small copy to the host. It ends by _exit, by the
 * parent's SIGTERM while it waits for more, or by SIGKILL as soon as it has done its work: no exit handler runs.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sim_check.h"
#include "sim_kernels.h"
#include "simgpu/nccl/nccl_api.h"

#define NODES	   49
#define ITERATIONS 30
#define WORKERS	   2

struct page {
	ncclUniqueId id;
	volatile int have_id, done[WORKERS];
};

static char keys[NODES + 1];
static char names[NODES + 1][32];

static struct {
	ncclResult_t (*GetUniqueId)(ncclUniqueId *);
	ncclResult_t (*CommInitRank)(ncclComm_t *, int, ncclUniqueId, int);
	ncclResult_t (*AllReduce)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t,
				  ncclComm_t, cudaStream_t);
} nccl;

static void find(void *handle, const char *name, void *slot)
{
	void *f = dlsym(handle, name);

	CHECK(f);
	memcpy(slot, &f, sizeof(f));
}

static void find_nccl(void)
{
	void *handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);

	CHECK(handle);
	find(handle, "ncclGetUniqueId", &nccl.GetUniqueId);
	find(handle, "ncclCommInitRank", &nccl.CommInitRank);
	find(handle, "ncclAllReduce", &nccl.AllReduce);
}

static void launch(int i, unsigned grid, cudaStream_t s)
{
	cudaKernel_t k;

	OK(__cudaGetKernel(&k, &keys[i]));
	OK(__cudaLaunchKernel(k, (dim3){grid, 1, 1}, (dim3){128, 1, 1}, NULL, 0, s));
}

static cudaGraphExec_t capture(cudaStream_t s)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < NODES; i++)
		launch(i, (unsigned)i + 1, s);
	OK(cudaStreamEndCapture(s, &graph));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphDestroy(graph));
	return exec;
}

static void join(struct page *page, int rank, ncclComm_t *ret)
{
	if (rank == 0) {
		OK(nccl.GetUniqueId(&page->id));
		page->have_id = 1;
	}
	while (!page->have_id)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	OK(nccl.CommInitRank(ret, WORKERS, page->id, rank));
}

static void worker(struct page *page, int rank, int wait_for_end)
{
	cudaGraphExec_t exec;
	cudaStream_t s;
	ncclComm_t comm;
	int32_t *device, host = -1;

	find_nccl();
	OK(cudaSetDevice(rank));
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaMalloc((void **)&device, 4096));
	OK(cudaMemsetAsync(device, 0, 4096, s));
	join(page, rank, &comm);
	exec = capture(s);
	for (int i = 0; i < ITERATIONS; i++) {
		OK(cudaGraphLaunch(exec, s));
		OK(nccl.AllReduce(device, device, 256, ncclFloat32, ncclSum, comm, s));
		launch(NODES, 4, s);
		OK(cudaMemcpyAsync(&host, device, sizeof(host), cudaMemcpyDeviceToHost, s));
		OK(cudaStreamSynchronize(s));
	}
	CHECK(host == 0);
	page->done[rank] = 1;
	while (wait_for_end)
		pause();
	_exit(0);
}

/* As an engine's front end asks for devices; it makes no context. */
static void look_at_devices(void)
{
	void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	int (*init)(void), (*count)(unsigned *);
	unsigned n = 0;

	CHECK(nvml);
	find(nvml, "nvmlInit_v2", &init);
	find(nvml, "nvmlDeviceGetCount_v2", &count);
	OK(init());
	OK(count(&n));
	CHECK(n == WORKERS);
}

int main(int argc, char **argv)
{
	int killed = argc > 1 && !strcmp(argv[1], "kill"), status;
	int by_signal = killed || (argc > 1 && !strcmp(argv[1], "term"));
	pid_t pid[WORKERS];
	struct page *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	for (int i = 0; i < NODES; i++)
		snprintf(names[i], sizeof(names[i]), "layer_kernel_%d", i);
	snprintf(names[NODES], sizeof(names[NODES]), "sample_kernel");
	for (int i = 0; i <= NODES; i++)
		sim_kernel_add(&keys[i], names[i]);
	__cudaRegisterFatBinaryEnd(sim_kernels_handle);
	look_at_devices();
	for (int r = 0; r < WORKERS; r++) {
		pid[r] = fork();
		CHECK(pid[r] >= 0);
		if (!pid[r])
			worker(page, r, by_signal);
	}
	for (int r = 0; by_signal && r < WORKERS; r++) {
		while (!page->done[r] && waitpid(pid[r], &status, WNOHANG) == 0)
			nanosleep(&(struct timespec){0, 1000000}, NULL);
		CHECK(page->done[r]);
	}
	/* An idle engine is stopped: what it did has been written by then. */
	for (int r = 0; by_signal && r < WORKERS; r++) {
		if (!r && !killed)
			usleep(1500000);
		kill(pid[r], killed ? SIGKILL : SIGTERM);
	}
	for (int r = 0; r < WORKERS; r++) {
		CHECK(waitpid(pid[r], &status, 0) == pid[r]);
		CHECK(by_signal ? WIFSIGNALED(status) &&
					  WTERMSIG(status) == (killed ? SIGKILL : SIGTERM)
				: WIFEXITED(status) && !WEXITSTATUS(status));
	}
	puts("ok");
	return 0;
}
