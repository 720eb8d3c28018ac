/* link: cuda */
/* cflags: -Iagent */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the driver that reaches it in one way and does one thing: gate_client WAY WHAT
 *   WAY   linked dlsym dlvsym gpa1 gpa2 gpa2ptsz default
 *   WHAT  calls    1 context, 2 streams, 5 launches, 3 copies (1 of 0 bytes), 2 memsets, 4 other calls
 *         threads  8 threads of 3000 launches each
 *         fork     children by fork and raw fork that launch, and exit in every way
 *         fail     half of the launches refused
 *         nested   launches made by the driver itself
 *         capture  launches captured and not
 *         level0   errno left by the driver is what the caller sees
 * Ends by SIGKILL if END=kill, by _exit if END=_exit, else returns from main. The driver must be fake_cuda.c's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_abi.h"

CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);

#define CHECK(x_)                                                                                  \
	do {                                                                                       \
		if (!(x_)) {                                                                       \
			fprintf(stderr, "gate_client:%d: %s\n", __LINE__, #x_);                    \
			exit(3);                                                                   \
		}                                                                                  \
	} while (0)

static struct {
	__typeof__(&cuInit) init;
	__typeof__(&cuCtxCreate_v2) ctx_create;
	__typeof__(&cuCtxSetCurrent) ctx_set;
	__typeof__(&cuStreamCreate) stream_create;
	__typeof__(&cuLaunchKernel) launch;
	__typeof__(&cuMemcpyHtoDAsync_v2) copy;
	__typeof__(&cuMemsetD32Async) set;
	__typeof__(&cuStreamBeginCapture_v2) begin;
	__typeof__(&cuStreamEndCapture) end;
	__typeof__(&cuStreamSynchronize) sync;
	__typeof__(&cuMemcpyAsync) copy_any;
} cu;
static struct {
	long (*calls)(const char *);
	void (*fail)(const char *, int);
	void (*nested)(const char *, int);
} fake;
static CUcontext ctx;
static CUstream stream;

/* field, name asked of cuGetProcAddress, version that means the ABI, ABI name */
#define ENTRIES(X)                                                                                 \
	X(init, "cuInit", 2000, cuInit)                                                            \
	X(ctx_create, "cuCtxCreate", 3020, cuCtxCreate_v2)                                         \
	X(ctx_set, "cuCtxSetCurrent", 4000, cuCtxSetCurrent)                                       \
	X(stream_create, "cuStreamCreate", 2000, cuStreamCreate)                                   \
	X(launch, "cuLaunchKernel", 7000, cuLaunchKernel)                                          \
	X(copy, "cuMemcpyHtoDAsync", 7000, cuMemcpyHtoDAsync_v2)                                   \
	X(set, "cuMemsetD32Async", 7000, cuMemsetD32Async)                                         \
	X(begin, "cuStreamBeginCapture", 10010, cuStreamBeginCapture_v2)                           \
	X(end, "cuStreamEndCapture", 10000, cuStreamEndCapture)                                    \
	X(sync, "cuStreamSynchronize", 7000, cuStreamSynchronize)                                  \
	X(copy_any, "cuMemcpyAsync", 7000, cuMemcpyAsync)

static void *(*look)(const char *base, const char *abi, int version);
static void *handle;
static CUresult (*gpa1)(const char *, void **, int, cuuint64_t);
static CUresult (*gpa2)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
static cuuint64_t gpa_flags;

static void *by_dlsym(const char *base, const char *abi, int version)
{
	return dlsym(handle, abi);
}

static void *by_default(const char *base, const char *abi, int version)
{
	return dlsym(RTLD_DEFAULT, abi);
}

/* The fake has no versions; asking for one must fail with or without us, so the plain name is next. */
static void *by_dlvsym(const char *base, const char *abi, int version)
{
	void *p = dlvsym(handle, abi, "NO_SUCH_1.0");

	return p ? p : dlsym(handle, abi);
}

static void *by_gpa1(const char *base, const char *abi, int version)
{
	void *p = NULL;

	CHECK(!gpa1(base, &p, version, gpa_flags));
	return p;
}

static void *by_gpa2(const char *base, const char *abi, int version)
{
	void *p = NULL;

	/* As NVIDIA's runtime does: status may be NULL, and so may the pointer of the empty name. */
	CHECK(!gpa2(base, &p, version, gpa_flags, NULL));
	return p;
}

static void open_way(const char *way)
{
	void *p = NULL;

	handle = dlopen("libcuda.so.1", RTLD_NOW);
	CHECK(handle);
	fake.calls = (__typeof__(fake.calls))dlsym(handle, "fake_calls");
	fake.fail = (__typeof__(fake.fail))dlsym(handle, "fake_fail");
	fake.nested = (__typeof__(fake.nested))dlsym(handle, "fake_nested");
	CHECK(fake.calls && fake.fail && fake.nested);
	if (!strcmp(way, "linked")) {
#define X(f_, base_, v_, abi_) cu.f_ = abi_;
		ENTRIES(X)
#undef X
		return;
	}
	if (!strcmp(way, "dlsym"))
		look = by_dlsym;
	else if (!strcmp(way, "dlvsym"))
		look = by_dlvsym;
	else if (!strcmp(way, "default"))
		look = by_default;
	else if (!strcmp(way, "gpa1")) {
		CUresult (*first)(const char *, void **, int, cuuint64_t) =
			(__typeof__(first))dlsym(handle, "cuGetProcAddress");
		CHECK(!first("", NULL, 0, 0));
		CHECK(!first("cuGetProcAddress", &p, 11030, 0)); /* four arguments */
		gpa1 = (__typeof__(gpa1))p;
		look = by_gpa1;
	} else {
		CUresult (*first)(const char *, void **, int, cuuint64_t,
				  CUdriverProcAddressQueryResult *) =
			(__typeof__(first))dlsym(handle, "cuGetProcAddress_v2");
		CHECK(!first("", NULL, 0, 0, NULL));
		CHECK(!first("cuGetProcAddress", &p, 12000, 0, NULL)); /* five */
		gpa2 = (__typeof__(gpa2))p;
		gpa_flags = !strcmp(way, "gpa2ptsz") ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
						     : 0;
		look = by_gpa2;
	}
#define X(f_, base_, v_, abi_)                                                                     \
	cu.f_ = (__typeof__(cu.f_))look(base_, #abi_, v_);                                         \
	CHECK(cu.f_);
	ENTRIES(X)
#undef X
}

static CUresult launch(void)
{
	return cu.launch((CUfunction)0x55, 7, 6, 5, 4, 3, 2, 1024, stream, NULL, NULL);
}

static void start(void)
{
	CHECK(!cu.init(0));
	CHECK(!cu.ctx_create(&ctx, 0, 0));
	CHECK(!cu.stream_create(&stream, 1));
}

static void do_calls(void)
{
	CUstream second;

	CHECK(!cu.stream_create(&second, 1));
	for (int i = 0; i < 5; i++) {
		errno = 0;
		CHECK(!launch());
		CHECK(errno == 4242);
	}
	for (int i = 0; i < 3; i++)
		CHECK(!cu.copy(0x1000, &second, (size_t)i * 100, second));
	for (int i = 0; i < 2; i++)
		CHECK(!cu.set(0x1000, 1, 10, second));
	CHECK(!cu.copy_any((CUdeviceptr)&second, (CUdeviceptr)&ctx, 8,
			   second)); /* host to host: soft */
	CHECK(!cu.copy_any(0x1000, (CUdeviceptr)&ctx, 8, second));
	for (int i = 0; i < 2; i++)
		CHECK(!cu.sync(second));
}

static void *many(void *arg)
{
	CHECK(!cu.ctx_set(ctx));
	for (int i = 0; i < 3000; i++)
		CHECK(!launch());
	return NULL;
}

static void do_threads(void)
{
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		CHECK(!pthread_create(&t[i], NULL, many, NULL));
	for (int i = 0; i < 8; i++)
		CHECK(!pthread_join(t[i], NULL));
}

static void child(int how)
{
	for (int i = 0; i < 10; i++)
		CHECK(!launch());
	if (how == 0)
		exit(0);
	if (how == 1)
		_exit(0);
	if (how == 2)
		_Exit(0);
	if (how == 3)
		quick_exit(0);
	kill(getpid(), SIGKILL);
}

static void do_fork(void)
{
	for (int how = 0; how < 5; how++)
		for (int raw = 0; raw < 2; raw++) {
			int status;
			pid_t pid = raw ? (pid_t)syscall(SYS_fork) : fork();

			CHECK(pid >= 0);
			if (!pid)
				child(how);
			CHECK(waitpid(pid, &status, 0) == pid);
			CHECK(how == 4 ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
				       : WIFEXITED(status) && !WEXITSTATUS(status));
			CHECK(!launch());
		}
	/* A vfork child shares our memory until it is gone: its _exit must not close our trace. */
	if (!vfork())
		_exit(0);
	CHECK(!launch());
}

static void do_fail(void)
{
	for (int i = 0; i < 10; i++) {
		fake.fail("cuLaunchKernel", i % 2 ? 700 : 0);
		CHECK((int)launch() == (i % 2 ? 700 : 0));
	}
}

static void do_nested(void)
{
	fake.nested("cuMemcpyHtoDAsync_v2", 4);
	for (int i = 0; i < 3; i++)
		CHECK(!cu.copy(0x1000, &ctx, 100, stream));
	CHECK(fake.calls("cuLaunchKernel") == 12);
}

static void do_capture(void)
{
	CUgraph graph;

	CHECK(!launch());
	CHECK(!cu.begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (int i = 0; i < 4; i++)
		CHECK(!launch());
	CHECK(!cu.end(stream, &graph));
	CHECK(!launch());
}

static const struct {
	const char *name;
	void (*run)(void);
} jobs[] = {{"calls", do_calls}, {"threads", do_threads}, {"fork", do_fork},
	    {"fail", do_fail},	 {"nested", do_nested},	  {"capture", do_capture}};

int main(int argc, char **argv)
{
	const char *end = getenv("END");

	CHECK(argc == 3);
	open_way(argv[1]);
	start();
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
		if (!strcmp(argv[2], jobs[i].name))
			jobs[i].run();
	printf("launched %ld\n", fake.calls("cuLaunchKernel") + fake.calls("cuLaunchKernel_ptsz"));
	fflush(stdout);
	if (end && !strcmp(end, "kill"))
		kill(getpid(), SIGKILL);
	if (end && !strcmp(end, "_exit"))
		_exit(7);
	return 0;
}
