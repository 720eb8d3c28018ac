/* shared: libfakecuda.so */
/* cflags: -Wl,-soname,libcuda.so.1 -Iagent -Wno-unused-function */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that does nothing but count: one stub per row of hooks_cuda.def, so that gates and hooks can be tried
 * without a timeline behind them. Made from the list under test on purpose: a hook whose name is not what its row
 * says shows up as a stub that is never reached.
 *
 *   fake_calls(name)        how often the stub ran           fake_fail(name, code)   what it answers from now on
 *   fake_nested(name, n)    calls n launches through the exported symbol each time, as a driver might
 *   FAKE_GPA=private        cuGetProcAddress gives addresses that dlsym does not
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_abi.h"
#include "hook_forms.h"

enum {
	FAKE_NONE,
#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) FAKE_##n_,
#include WT_HOOKS_CUDA
#undef WT_ROW
	FAKE_END
};

static struct {
	_Atomic long calls;
	_Atomic int fail, nested;
} state[FAKE_END];
static const char *const names[FAKE_END] = {
	"",
#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) #n_,
#include WT_HOOKS_CUDA
#undef WT_ROW
};

static _Thread_local CUcontext current;
static _Atomic int capturing;

static int find(const char *name)
{
	for (int i = 1; i < FAKE_END; i++)
		if (!strcmp(names[i], name))
			return i;
	fprintf(stderr, "fake_cuda: no %s\n", name);
	abort();
}

long fake_calls(const char *name)
{
	return state[find(name)].calls;
}

void fake_fail(const char *name, int code)
{
	state[find(name)].fail = code;
}

void fake_nested(const char *name, int n)
{
	state[find(name)].nested = n;
}

/* Reached through the PLT: an interposer sees it, as it would see a careless driver. */
CUresult cuLaunchKernel(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
			unsigned int, unsigned int, unsigned int, CUstream, void **, void **);

static CUresult enter(int id)
{
	state[id].calls++;
	errno = 4242; /* a driver call may leave anything here; the job must find it */
	for (int i = 0; i < state[id].nested; i++)
		cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	return (CUresult)state[id].fail;
}

static void *fresh(void)
{
	static _Atomic uintptr_t next = 0x10000;

	return (void *)(next += 16);
}

static void act(const char *name, void *a, void *b);

#define FAKE_STUB(n_, p_, out_)                                                                    \
	static CUresult impl_##n_ p_                                                               \
	{                                                                                          \
		CUresult r = enter(FAKE_##n_);                                                     \
		if (r == CUDA_SUCCESS) {                                                           \
			out_;                                                                      \
		}                                                                                  \
		return r;                                                                          \
	}                                                                                          \
	CUresult n_ p_ __attribute__((alias("impl_" #n_)));

/* The first parameter of creating calls is where the new handle goes; the act() table knows which those are. */
#define FIRST_(a_, ...)	     a_
#define FIRST(...)	     FIRST_(__VA_ARGS__, 0)
#define SECOND_(a_, b_, ...) b_
#define SECOND(...)	     SECOND_(__VA_ARGS__, 0, 0)

#define FAKE_DEF_HOOK(n_, p_, a_) FAKE_STUB(n_, p_, (void)0)
#define FAKE_DEF_POLL		  FAKE_DEF_HOOK
#define FAKE_DEF_LAUNCH		  FAKE_DEF_HOOK
#define FAKE_DEF_OUT(n_, p_, a_)                                                                   \
	FAKE_STUB(n_, p_, act(#n_, (void *)(uintptr_t)FIRST a_, (void *)(uintptr_t)SECOND a_))
#define FAKE_DEF_BOOK FAKE_DEF_OUT
#define FAKE_DEF_ANY  FAKE_DEF_OUT
#define FAKE_DEF_OWN(n_, p_, a_)
#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_) FAKE_DEF_##form_(n_, p_, a_)
#include WT_HOOKS_CUDA
#undef WT_ROW

static int is(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static void act(const char *name, void *a, void *b)
{
	static const char *const creators[] = {
		"cuCtxCreate",	       "cuEventCreate",		  "cuModuleLoad",
		"cuModuleGetFunction", "cuLibraryLoad",		  "cuLibraryGet",
		"cuKernelGetFunc",     "cuStreamCreate",	  "cuGreenCtxStream",
		"cuMemAlloc",	       "cuMemHostAlloc",	  "cuMemCreate",
		"cuGraphInstantiate",  "cuDevicePrimaryCtxRetain"};

	for (size_t i = 0; i < sizeof(creators) / sizeof(creators[0]); i++)
		if (is(name, creators[i]))
			*(void **)a = fresh();
	if (is(name, "cuDevicePrimaryCtxRetain"))
		*(void **)a = (void *)0x7000; /* the same each time */
	if (is(name, "cuCtxCreate"))
		current = *(CUcontext *)a;
	else if (is(name, "cuCtxSetCurrent") || is(name, "cuCtxPushCurrent"))
		current = a;
	else if (is(name, "cuCtxPopCurrent") || is(name, "cuCtxDestroy"))
		current = NULL;
	else if (is(name, "cuStreamBeginCapture"))
		capturing++;
	else if (is(name, "cuStreamEndCapture")) {
		capturing--;
		*(void **)b = fresh();
	}
}

/* ---- by hand ---- */

CUresult cuInit(unsigned int flags)
{
	return enter(FAKE_cuInit);
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	*ctx = current;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *dev)
{
	*dev = 0;
	return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	*flags = 0;
	*active = 0;
	return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	*status = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

/* Handles below 16 MiB are "device", all else is host memory the driver has not seen. */
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	if (ptr >= 16 << 20)
		return CUDA_ERROR_INVALID_VALUE;
	*(unsigned int *)data =
		attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? CU_MEMORYTYPE_DEVICE : 0;
	return CUDA_SUCCESS;
}

/* For the bench: the function itself, past every interposer. */
void *fake_launch_pointer(void)
{
	return (void *)impl_cuLaunchKernel;
}

/* ---- cuGetProcAddress: base name, newest ABI not newer than asked, twin by flag ---- */

static int base_is(const char *name, int pt, const char *symbol)
{
	size_t n = strlen(name) - (pt ? 5 : 0);

	if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v')
		n -= 3;
	return strlen(symbol) == n && !strncmp(name, symbol, n);
}

static CUresult private_launch(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
			       unsigned int bx, unsigned int by, unsigned int bz, unsigned int smem,
			       CUstream s, void **p, void **e)
{
	return impl_cuLaunchKernel(f, gx, gy, gz, bx, by, bz, smem, s, p, e);
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status);
static void *impl_cuGetProcAddress = (void *)cuGetProcAddress;
static void *impl_cuGetProcAddress_v2 = (void *)cuGetProcAddress_v2;
static void *impl_cuInit = (void *)cuInit;

#define ADDRESS_HOOK(n_) (void *)impl_##n_
#define ADDRESS_LAUNCH	 ADDRESS_HOOK
#define ADDRESS_OUT(n_)	 (void *)impl_##n_
#define ADDRESS_BOOK(n_) (void *)impl_##n_
#define ADDRESS_ANY(n_)	 (void *)impl_##n_
#define ADDRESS_POLL(n_) (void *)impl_##n_
#define ADDRESS_OWN(n_)	 impl_##n_

static void *lookup(const char *symbol, int version, cuuint64_t flags)
{
	int best[2] = {-1, -1};
	void *found[2] = {NULL, NULL};

#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_)                                         \
	if (base_is(#n_, pt_, symbol) && (v_) <= version && (v_) > best[pt_]) {                    \
		best[pt_] = (v_);                                                                  \
		found[pt_] = ADDRESS_##form_(n_);                                                  \
	}
#include WT_HOOKS_CUDA
#undef WT_ROW
	if (!strcmp(symbol, "cuCtxGetCurrent"))
		return (void *)cuCtxGetCurrent;
	/* An ABI from the future: nobody's list has it. */
	if (!strcmp(symbol, "cuMemcpyHtoDAsync") && version > 14000)
		return (void *)lookup;
	if (!strcmp(symbol, "cuLaunchKernel") && !flags && getenv("FAKE_GPA"))
		return (void *)private_launch;
	return flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && found[1] ? found[1]
										 : found[0];
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
	state[FAKE_cuGetProcAddress].calls++;
	if (!*symbol) {
		if (pfn)
			*pfn = NULL;
		return CUDA_SUCCESS;
	}
	*pfn = lookup(symbol, version, flags);
	return *pfn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	CUresult r = cuGetProcAddress(symbol, pfn, version, flags);

	if (status)
		*status = r ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
	return r == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : r;
}
