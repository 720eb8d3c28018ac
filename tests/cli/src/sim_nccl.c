/* link: nccl cudart */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives between processes and between devices of one process: are the numbers right, does a host call return
 * while another rank is still away, what of bad use.  usage: sim_nccl procs N | devices N | late | misuse
 * Processes are forked before any CUDA call and share a page: the unique id, and flags to wait on.
 */
#include "sim_check.h"
#include "simgpu/nccl/nccl_api.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N 1000

struct page {
	ncclUniqueId id;
	volatile int have_id, rank0_returned;
};

static void wait_for(volatile int *flag)
{
	while (!*flag)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* What rank r holds at i. */
static int held(int r, int i)
{
	return (i + 1) % 7 + r;
}

static int want(ncclRedOp_t op, int nranks, int i)
{
	int sum = 0, prod = 1, least = held(0, i), most = held(nranks - 1, i);

	for (int r = 0; r < nranks; r++) {
		sum += held(r, i);
		prod *= held(r, i);
	}
	return op == ncclSum ? sum : op == ncclProd ? prod : op == ncclMin ? least : most;
}

#define REDUCE_OF(T, nccl_type)                                                                    \
	do {                                                                                       \
		static const ncclRedOp_t ops[] = {ncclSum, ncclProd, ncclMin, ncclMax};            \
		for (int o = 0; o < 4; o++) {                                                      \
			T host[N];                                                                 \
			void *d;                                                                   \
			for (int i = 0; i < N; i++)                                                \
				host[i] = (T)held(rank, i);                                        \
			OK(cudaMalloc(&d, sizeof(host)));                                          \
			OK(cudaMemcpyAsync(d, host, sizeof(host), cudaMemcpyHostToDevice, s));     \
			OK(ncclAllReduce(d, d, N, nccl_type, ops[o], c, s));                       \
			OK(cudaMemcpyAsync(host, d, sizeof(host), cudaMemcpyDeviceToHost, s));     \
			OK(cudaStreamSynchronize(s));                                              \
			for (int i = 0; i < N; i++)                                                \
				CHECK(host[i] == (T)want(ops[o], nranks, i));                      \
			OK(cudaFree(d));                                                           \
		}                                                                                  \
	} while (0)

static float half_to_float(uint16_t h, int bf16)
{
	uint32_t bits = (uint32_t)h << 16;
	float f;

	if (!bf16)
		return (float)(1024 + (h & 1023)) * (float)(1u << (h >> 10 & 31)) / 33554432.0f;
	memcpy(&f, &bits, sizeof(f));
	return f;
}

/* Small whole numbers are exact in both half types: 1.0 = 0x3c00 or 0x3f80; 2.0 = 0x4000 in both. */
static void halves(ncclComm_t c, int rank, int nranks, cudaStream_t s, int bf16)
{
	uint16_t one = bf16 ? 0x3f80 : 0x3c00, host[N];
	void *d;

	for (int i = 0; i < N; i++)
		host[i] = rank % 2 ? 0x4000 : one;
	OK(cudaMalloc(&d, sizeof(host)));
	OK(cudaMemcpyAsync(d, host, sizeof(host), cudaMemcpyHostToDevice, s));
	OK(ncclAllReduce(d, d, N, bf16 ? ncclBfloat16 : ncclFloat16, ncclSum, c, s));
	OK(cudaMemcpyAsync(host, d, sizeof(host), cudaMemcpyDeviceToHost, s));
	OK(cudaStreamSynchronize(s));
	for (int i = 0; i < N; i++)
		CHECK(half_to_float(host[i], bf16) == (float)(nranks + nranks / 2));
	OK(cudaFree(d));
}

static void average(ncclComm_t c, int rank, int nranks, cudaStream_t s)
{
	float host[N];
	void *d;

	for (int i = 0; i < N; i++)
		host[i] = (float)(2 * rank + i);
	OK(cudaMalloc(&d, sizeof(host)));
	OK(cudaMemcpyAsync(d, host, sizeof(host), cudaMemcpyHostToDevice, s));
	OK(ncclAllReduce(d, d, N, ncclFloat32, ncclAvg, c, s));
	OK(cudaMemcpyAsync(host, d, sizeof(host), cudaMemcpyDeviceToHost, s));
	OK(cudaStreamSynchronize(s));
	for (int i = 0; i < N; i++)
		CHECK(host[i] == (float)(nranks - 1 + i));
	OK(cudaFree(d));
}

/* What the other operations leave behind. All ranks have sent (rank * 1000 + i). */
static void others(ncclComm_t c, int rank, int nranks, cudaStream_t s)
{
	int part = 10, total = part * nranks, next = (rank + 1) % nranks,
	    last = (rank + nranks - 1) % nranks;
	int host[8 * 10], out[8 * 10];
	void *from, *to;

	CHECK(nranks <= 8);
	OK(cudaMalloc(&from, sizeof(host)));
	OK(cudaMalloc(&to, sizeof(host)));
	for (int i = 0; i < total; i++)
		host[i] = rank * 1000 + i;
#define SEND()                                                                                     \
	do {                                                                                       \
		OK(cudaMemcpyAsync(from, host, sizeof(host), cudaMemcpyHostToDevice, s));          \
		OK(cudaMemsetAsync(to, 0xff, sizeof(out), s));                                     \
	} while (0)
#define RECEIVE()                                                                                  \
	do {                                                                                       \
		OK(cudaMemcpyAsync(out, to, sizeof(out), cudaMemcpyDeviceToHost, s));              \
		OK(cudaStreamSynchronize(s));                                                      \
	} while (0)
	SEND();
	OK(ncclAllGather(from, to, part, ncclInt32, c, s));
	RECEIVE();
	for (int i = 0; i < total; i++)
		CHECK(out[i] == i / part * 1000 + i % part);

	SEND();
	OK(ncclReduceScatter(from, to, part, ncclInt32, ncclSum, c, s));
	RECEIVE();
	for (int i = 0; i < part; i++)
		CHECK(out[i] == nranks * (nranks - 1) / 2 * 1000 + nranks * (rank * part + i));
	CHECK(out[part] == -1); /* nothing beyond its part */

	SEND();
	OK(ncclBroadcast(from, to, total, ncclInt32, nranks - 1, c, s));
	RECEIVE();
	for (int i = 0; i < total; i++)
		CHECK(out[i] == (nranks - 1) * 1000 + i);

	SEND();
	OK(ncclReduce(from, to, total, ncclInt32, ncclMax, 0, c, s));
	RECEIVE();
	for (int i = 0; i < total; i++)
		CHECK(out[i] == (rank ? -1 : (nranks - 1) * 1000 + i));

	SEND();
	OK(ncclAlltoAll(from, to, part, ncclInt32, c, s));
	RECEIVE();
	for (int i = 0; i < total; i++)
		CHECK(out[i] == i / part * 1000 + rank * part + i % part);

	SEND();
	OK(ncclGroupStart());
	OK(ncclSend(from, part, ncclInt32, next, c, s));
	OK(ncclRecv(to, part, ncclInt32, last, c, s));
	OK(ncclGroupEnd());
	RECEIVE();
	for (int i = 0; i < part; i++)
		CHECK(out[i] == last * 1000 + i);
	OK(cudaFree(from));
	OK(cudaFree(to));
}

/* Two calls in a group, on two streams in turn, and many in a row: order and halves of the exchange. */
static void many(ncclComm_t c, int rank, int nranks, cudaStream_t s)
{
	double sums[2] = {rank + 1.0, rank + 10.0}, out[2];
	cudaStream_t t;
	void *d;

	OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	OK(cudaMalloc(&d, sizeof(sums)));
	OK(cudaMemcpyAsync(d, sums, sizeof(sums), cudaMemcpyHostToDevice, s));
	for (int i = 0; i < 20; i++) {
		cudaStream_t on = i % 3 ? s : t;

		OK(ncclGroupStart());
		OK(ncclAllReduce(d, d, 1, ncclFloat64, ncclAvg, c, on));
		OK(ncclAllReduce((double *)d + 1, (double *)d + 1, 1, ncclFloat64, ncclMax, c, on));
		OK(ncclGroupEnd());
	}
	OK(cudaStreamSynchronize(t));
	OK(cudaMemcpyAsync(out, d, sizeof(out), cudaMemcpyDeviceToHost, s));
	OK(cudaStreamSynchronize(s));
	CHECK(out[0] == (nranks + 1) / 2.0);
	CHECK(out[1] == nranks - 1 + 10.0);
	OK(cudaFree(d));
	OK(cudaStreamDestroy(t));
}

/* A captured collective meets its partners anew in each replay. */
static void graph(ncclComm_t c, int rank, int nranks, cudaStream_t s)
{
	int v = rank + 1, want_v = nranks * (nranks + 1) / 2 * nranks * nranks;
	cudaGraphExec_t exec;
	cudaGraph_t g;
	void *d;

	OK(cudaMalloc(&d, sizeof(v)));
	OK(cudaMemcpyAsync(d, &v, sizeof(v), cudaMemcpyHostToDevice, s));
	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
	OK(ncclAllReduce(d, d, 1, ncclInt32, ncclSum, c, s));
	OK(cudaStreamEndCapture(s, &g));
	OK(cudaGraphInstantiate(&exec, g, 0));
	for (int i = 0; i < 3; i++)
		OK(cudaGraphLaunch(exec, s));
	OK(cudaMemcpyAsync(&v, d, sizeof(v), cudaMemcpyDeviceToHost, s));
	OK(cudaStreamSynchronize(s));
	CHECK(v == want_v);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(g));
	OK(cudaFree(d));
}

static void split(ncclComm_t c, int rank, int nranks)
{
	ncclComm_t half, none;
	int n, r;

	/* Reversed by key. */
	OK(ncclCommSplit(c, rank % 2, -rank, &half, NULL));
	OK(ncclCommCount(half, &n));
	OK(ncclCommUserRank(half, &r));
	CHECK(n == (nranks + 1 - rank % 2) / 2);
	CHECK(r == n - 1 - rank / 2);
	OK(ncclCommDestroy(half));
	OK(ncclCommSplit(c, rank == 0 ? 0 : NCCL_SPLIT_NOCOLOR, 0, &none, NULL));
	CHECK((none != NULL) == (rank == 0));
	OK(ncclCommDestroy(none));
}

static void use(ncclComm_t c, int rank, int nranks, int device)
{
	cudaStream_t s;
	int v;

	OK(cudaSetDevice(device));
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(ncclCommCount(c, &v));
	CHECK(v == nranks);
	OK(ncclCommUserRank(c, &v));
	CHECK(v == rank);
	OK(ncclCommCuDevice(c, &v));
	CHECK(v == device);
	REDUCE_OF(float, ncclFloat32);
	REDUCE_OF(double, ncclFloat64);
	REDUCE_OF(int8_t, ncclInt8);
	REDUCE_OF(uint8_t, ncclUint8);
	REDUCE_OF(int32_t, ncclInt32);
	REDUCE_OF(uint32_t, ncclUint32);
	REDUCE_OF(int64_t, ncclInt64);
	REDUCE_OF(uint64_t, ncclUint64);
	halves(c, rank, nranks, s, 0);
	halves(c, rank, nranks, s, 1);
	average(c, rank, nranks, s);
	others(c, rank, nranks, s);
	many(c, rank, nranks, s);
	graph(c, rank, nranks, s);
	OK(cudaStreamDestroy(s));
}

static void process(struct page *p, int rank, int nranks)
{
	ncclComm_t c;

	if (rank == 0) {
		OK(ncclGetUniqueId(&p->id));
		p->have_id = 1;
	}
	wait_for(&p->have_id);
	OK(ncclCommInitRank(&c, nranks, p->id, rank));
	use(c, rank, nranks, 0);
	split(c, rank, nranks);
	OK(ncclCommFinalize(c));
	OK(ncclCommDestroy(c));
}

/* Rank 1 does not call before rank 0's call has come back: only a call that returns at once gets this far. */
static void late(struct page *p, int rank, int nranks)
{
	float one = 1, sum = 0;
	cudaStream_t s;
	ncclComm_t c;
	void *d;

	if (rank == 0) {
		OK(ncclGetUniqueId(&p->id));
		p->have_id = 1;
	}
	wait_for(&p->have_id);
	OK(ncclCommInitRank(&c, nranks, p->id, rank));
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaMalloc(&d, sizeof(one)));
	OK(cudaMemcpy(d, &one, sizeof(one), cudaMemcpyHostToDevice));
	if (rank == 1)
		wait_for(&p->rank0_returned);
	OK(ncclAllReduce(d, d, 1, ncclFloat32, ncclSum, c, s));
	if (rank == 0) {
		nanosleep(&(struct timespec){0, 20000000}, NULL);
		CHECK(cudaStreamQuery(s) == cudaErrorNotReady);
		cudaGetLastError();
		p->rank0_returned = 1;
	}
	OK(cudaStreamSynchronize(s));
	OK(cudaMemcpy(&sum, d, sizeof(sum), cudaMemcpyDeviceToHost));
	CHECK(sum == 2);
	OK(ncclCommDestroy(c));
}

static void misuse(void)
{
	cudaStream_t s;
	ncclComm_t c;
	float host[4];
	void *d;
	ncclUniqueId id;
	ncclResult_t async;

	CHECK(ncclGetUniqueId(NULL) == ncclInvalidArgument);
	OK(ncclGetUniqueId(&id));
	CHECK(ncclCommInitRank(&c, 2, id, 2) == ncclInvalidArgument);
	CHECK(strstr(ncclGetLastError(NULL), "rank 2 of 2"));
	OK(ncclCommInitRank(&c, 1, id, 0));
	OK(cudaStreamCreate(&s));
	OK(cudaMalloc(&d, sizeof(host)));
	CHECK(ncclAllReduce(d, d, 4, (ncclDataType_t)77, ncclSum, c, s) == ncclInvalidArgument);
	CHECK(ncclAllReduce(d, d, 4, ncclFloat32, (ncclRedOp_t)9, c, s) == ncclInvalidArgument);
	CHECK(ncclAllReduce(NULL, d, 4, ncclFloat32, ncclSum, c, s) == ncclInvalidArgument);
	CHECK(ncclAllReduce(host, d, 4, ncclFloat32, ncclSum, c, s) == ncclInvalidArgument);
	CHECK(ncclAllReduce(d, d, 4, ncclFloat32, ncclSum, NULL, s) == ncclInvalidArgument);
	CHECK(ncclBroadcast(d, d, 4, ncclFloat32, 5, c, s) == ncclInvalidArgument);
	CHECK(ncclGroupEnd() == ncclInvalidUsage);
	CHECK(ncclCommRevoke(c, 0) == ncclInvalidUsage);
	OK(ncclAllReduce(d, d, 4, ncclFloat32, ncclSum, c, s)); /* one rank: nothing to do */
	OK(cudaStreamSynchronize(s));
	OK(ncclCommGetAsyncError(c, &async));
	CHECK(async == ncclSuccess);
	CHECK(!strcmp(ncclGetErrorString(ncclSuccess), "no error"));
	OK(ncclCommDestroy(c));
	CHECK(ncclCommCount(c, NULL) == ncclInvalidArgument); /* dead, and known to be */
}

static void forked(int n, void (*fn)(struct page *, int, int))
{
	struct page *p =
		mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int failed = 0, status;

	CHECK(p != MAP_FAILED);
	for (int r = 0; r < n; r++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			fn(p, r, n);
			exit(0);
		}
	}
	for (int r = 0; r < n; r++) {
		CHECK(wait(&status) > 0);
		failed |= status != 0;
	}
	CHECK(!failed);
}

struct thread_arg {
	ncclComm_t c;
	int rank, nranks;
};

static void *device_thread(void *arg)
{
	struct thread_arg *a = arg;

	use(a->c, a->rank, a->nranks, a->rank);
	return NULL;
}

/* One process, a device and a thread per rank; then one thread for all of them, with groups. */
static void devices(int n)
{
	struct thread_arg args[8];
	pthread_t threads[8];
	ncclComm_t c[8];
	void *d[8];
	int v, old;

	CHECK(n <= 8);
	OK(ncclCommInitAll(c, n, NULL));
	OK(cudaGetDevice(&old));
	CHECK(old == 0);
	for (int r = 0; r < n; r++) {
		args[r] = (struct thread_arg){c[r], r, n};
		OK(pthread_create(&threads[r], NULL, device_thread, &args[r]));
	}
	for (int r = 0; r < n; r++)
		OK(pthread_join(threads[r], NULL));
	for (int r = 0; r < n; r++) {
		v = r + 1;
		OK(cudaSetDevice(r));
		OK(cudaMalloc(&d[r], sizeof(int)));
		OK(cudaMemcpy(d[r], &v, sizeof(v), cudaMemcpyHostToDevice));
	}
	OK(cudaSetDevice(0));
	OK(ncclGroupStart());
	for (int r = 0; r < n; r++)
		OK(ncclAllReduce(d[r], d[r], 1, ncclInt32, ncclSum, c[r], NULL));
	OK(ncclGroupEnd());
	OK(cudaGetDevice(&old));
	CHECK(old == 0);
	for (int r = 0; r < n; r++) {
		OK(cudaSetDevice(r));
		OK(cudaDeviceSynchronize());
		OK(cudaMemcpy(&v, d[r], sizeof(v), cudaMemcpyDeviceToHost));
		CHECK(v == n * (n + 1) / 2);
	}
	for (int r = 0; r < n; r++)
		OK(ncclCommDestroy(c[r]));
}

int main(int argc, char **argv)
{
	int version = 0;

	CHECK(argc > 1);
	if (!strcmp(argv[1], "procs"))
		forked((int)strtol(argv[2], NULL, 10), process);
	else if (!strcmp(argv[1], "late"))
		forked(2, late);
	else if (!strcmp(argv[1], "devices"))
		devices((int)strtol(argv[2], NULL, 10));
	else
		misuse();
	OK(ncclGetVersion(&version));
	CHECK(version == NCCL_VERSION_CODE);
	puts("ok");
	return 0;
}
