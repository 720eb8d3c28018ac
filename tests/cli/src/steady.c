/* link: nccl cudart cuda */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that goes on, to be attached to: steady [seconds=S] [rate=LAUNCHES_PER_S] [threads=N] [collective=EACH]
 * [step=EACH] [later=RATE]
 *         [rank=R ranks=N id=FILE] [fork=N] [orphan] [close] [until=FILE] [launches=N]
 * Each thread launches one of 8 kernels at the given rate (0: flat out), a copy each 16th, a memset each 50th, a graph
 * of 3 kernels and a copy each 100th; with collective=K an all-reduce each K-th launch on thread 0. Waits each 64th. At
 * the end prints "launched N copied N set N graphs N collectives N". close: closes all descriptors from 3 on, now and
 * then, and opens files of its own. fork=N: so many children that end at once, on the way; orphan: one that stays for
 * five seconds, whatever becomes of its parent. later=RATE: after a third of the time at this rate. step=K: the first
 * thread marks a step each K-th launch (annotate.h). until=FILE: ends when that file is there, before its time too;
 * launches=N: when each thread has made so many, whatever the time: then a slow machine takes longer and does no less.
 * tell=FILE: for whoever kills it: a row of eight 64-bit numbers a thread, of calls that have returned (launches,
 * copies, memsets, graph launches, collectives); launch i of a thread then has i + 1 blocks.
 * die=_exit|abort|exec: how it ends itself after 0.7 s, in the middle of its work.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include "include/warptap/annotate.h"
#include "simgpu/nccl/nccl_api.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

#define OK(call_)                                                                                  \
	do {                                                                                       \
		int r_ = (int)(call_);                                                             \
		if (r_) {                                                                          \
			fprintf(stderr, "steady:%d: %s: %d\n", __LINE__, #call_, r_);              \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)
#define KERNELS 8

static CUcontext ctx;
static CUfunction kernel[KERNELS];
static ncclComm_t comm;
static double seconds = 2;
static long rate = 2000, later = -1, launches, collective, step, total[5];
static const char *until;
static volatile uint64_t (*told)[8]; /* by thread */
static _Atomic int threads_begun;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void load(void)
{
	static char ptx[KERNELS * 80 + 200];
	CUmodule mod;
	char *at = ptx;

	at += sprintf(at, ".version 8.0\n.target sm_80\n.address_size 64\n");
	for (int i = 0; i < KERNELS; i++)
		at += sprintf(at, ".visible .entry steady_%d()\n{\n\tret;\n}\n", i);
	OK(cuModuleLoadData(&mod, ptx));
	for (int i = 0; i < KERNELS; i++) {
		char name[32];

		sprintf(name, "steady_%d", i);
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

/* With other ranks all must make as many collectives: then the number decides and not the time. */
static int goes_on(long i, double end, int first)
{
	if (launches)
		return i < launches;
	if (collective && first)
		return i < (long)(seconds * (double)rate);
	return now() < end && !(until && i % 16 == 0 && !access(until, F_OK));
}

static void *work(void *arg)
{
	static char host[4096];
	long n[5] = {0}, i = 0, since = 0, at_rate, first = arg == NULL;
	double start, end;
	CUgraphExec exec;
	CUdeviceptr mem;
	CUstream s;
	static uint64_t nobody[16][8];
	volatile uint64_t *tell = (told ? told : nobody)[threads_begun++ & 15];

	OK(cuCtxSetCurrent(ctx));
	OK(cuMemAlloc(&mem, 1 << 20));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	exec = make_graph(s, mem, host);
	start = now();
	end = start + seconds;
	at_rate = rate;
	while (goes_on(i, end, (int)first)) {
		if (step && first && i % step == 0) {
			if (i)
				wt_step_end();
			wt_step_begin(i / step);
		}
		OK(cuLaunchKernel(kernel[i % KERNELS], told ? (unsigned)i + 1 : 1, 1, 1, 64, 1, 1,
				  0, s, NULL, NULL));
		tell[0] = (uint64_t)++n[0];
		if (i % 16 == 15 && ++n[1])
			OK(cuMemcpyHtoDAsync(mem, host, 256, s));
		if (i % 50 == 49 && ++n[2])
			OK(cuMemsetD8Async(mem, 0, 256, s));
		if (i % 100 == 99 && ++n[3])
			OK(cuGraphLaunch(exec, s));
		if (collective && first && i % collective == collective - 1 && ++n[4])
			OK(ncclAllReduce((void *)mem, (void *)mem, 64, ncclFloat, ncclSum, comm,
					 (cudaStream_t)s));
		for (int k = 1; k < 5; k++)
			tell[k] = (uint64_t)n[k];
		if (i % 64 == 63)
			OK(cuStreamSynchronize(s));
		i++;
		if (later >= 0 && at_rate != later && now() > start + seconds / 3) {
			at_rate = later;
			start = now();
			since = i;
		}
		while (at_rate && (double)(i - since) / (double)at_rate > now() - start)
			usleep(200);
	}
	OK(cuStreamSynchronize(s));
	pthread_mutex_lock(&lock);
	for (int k = 0; k < 5; k++)
		total[k] += n[k];
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void join_ranks(int rank, int ranks, const char *path)
{
	ncclUniqueId id;
	FILE *f;

	if (!rank) {
		char tmp[512];

		OK(ncclGetUniqueId(&id));
		snprintf(tmp, sizeof(tmp), "%s.tmp", path);
		f = fopen(tmp, "wb");
		if (!f || fwrite(&id, sizeof(id), 1, f) != 1 || fclose(f) || rename(tmp, path))
			exit(4);
	} else {
		while (!(f = fopen(path, "rb")))
			usleep(1000);
		if (fread(&id, sizeof(id), 1, f) != 1)
			exit(4);
		fclose(f);
	}
	OK(ncclCommInitRank(&comm, ranks, id, rank));
}

static long option(int argc, char **argv, const char *name, long none)
{
	size_t len = strlen(name);

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], name, len) && argv[i][len] == '=')
			return atol(argv[i] + len + 1);
	return none;
}

static const char *text(int argc, char **argv, const char *name)
{
	size_t len = strlen(name);

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], name, len) && (argv[i][len] == '=' || !argv[i][len]))
			return argv[i] + len + (argv[i][len] == '=');
	return NULL;
}

static void tell_to(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	void *p = MAP_FAILED;

	if (fd >= 0 && !ftruncate(fd, 4096))
		p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		exit(4);
	told = p;
}

static void die(const char *how, double after)
{
	usleep((useconds_t)(after * 1e6));
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	if (!strcmp(how, "_exit"))
		syscall(SYS_exit_group, 9); /* as _exit does, but for what stands before it */
}

int main(int argc, char **argv)
{
	int threads = (int)option(argc, argv, "threads", 1),
	    rank = (int)option(argc, argv, "rank", 0);
	const char *id = text(argc, argv, "id");
	pthread_t th[16];
	CUdevice dev;

	if (text(argc, argv, "seconds"))
		seconds = atof(text(argc, argv, "seconds"));
	rate = option(argc, argv, "rate", rate);
	collective = option(argc, argv, "collective", 0);
	step = option(argc, argv, "step", 0);
	later = option(argc, argv, "later", -1);
	launches = option(argc, argv, "launches", 0);
	until = text(argc, argv, "until");
	if (text(argc, argv, "tell"))
		tell_to(text(argc, argv, "tell"));
	OK(cuInit(0));
	OK(cuDeviceGet(&dev, (int)option(argc, argv, "device", 0)));
	OK(cuDevicePrimaryCtxRetain(&ctx, dev));
	OK(cuCtxSetCurrent(ctx));
	load();
	if (collective)
		join_ranks(rank, (int)option(argc, argv, "ranks", 1), id);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (int i = 0; i < threads && i < 16; i++)
		pthread_create(&th[i], NULL, work, i ? &th[i] : NULL);
	for (long i = option(argc, argv, "fork", 0); i > 0; i--) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	if (text(argc, argv, "orphan") && !fork()) {
		sleep(5);
		_exit(0);
	}
	if (text(argc, argv, "close"))
		for (int round = 0; round < 5; round++) {
			usleep(100000);
			for (int fd = 400; fd < 600; fd++) {
				close(fd);
				if (fd % 3 == 0)
					dup2(2, fd); /* the number is ours now */
			}
		}
	if (text(argc, argv, "die"))
		die(text(argc, argv, "die"), 0.7);
	for (int i = 0; i < threads && i < 16; i++)
		pthread_join(th[i], NULL);
	printf("launched %ld copied %ld set %ld graphs %ld collectives %ld\n", total[0], total[1],
	       total[2], total[3], total[4]);
	return 0;
}
