/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the simulated runtime: the driver table, the thread's state, and the bracket of every exported call.
 *
 * exported cudaX (generated) -> RT_WRAP: load, api_enter -> rt_cudaX (by hand) -> DRV(cuY) -> api_exit, last error.
 * The runtime knows the driver only by pointers from cuGetProcAddress_v2, as NVIDIA's does; several copies (the
 * shared library, the archive inside libnccl) live in one process and meet only in the driver's primary contexts.
 */
#ifndef SIM_RT_H
#define SIM_RT_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "simgpu/core/sim_export.h"
#include "simgpu/cudart/sim_stub.h"

#define RT_MAX_DEVICES 64

/* Of cudaProfiler.h, which comes in a package of its own. */
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

struct rt_driver {
#define D(name) __typeof__(name) *name;
#include "simgpu/cudart/rt_driver.def"
#undef D
};

/* [0]: legacy default stream, [1]: the variants for a default stream per thread. */
extern struct rt_driver rt_drv[2];
extern const struct sim_export *rt_sim; /* NULL under a driver that is not the simulated one */

struct rt_config {
	dim3 grid, block;
	size_t smem;
	cudaStream_t stream;
};

struct rt_thread {
	int ptsz;   /* inside a _ptsz or _ptds call: index into rt_drv */
	int device; /* what cudaSetDevice said; 0 at first */
	cudaError_t last_error;
	unsigned configs; /* stack of <<<>>> configurations */
	struct rt_config config[8];
};
extern __thread struct rt_thread rt_self;

#define DRV(name) (rt_drv[rt_self.ptsz].name)
/* CUresult and cudaError_t share their numbers since CUDA 10.1. */
#define RT_ERR(expr) ((cudaError_t)(expr))
#define RT_TRY(expr)                                                                               \
	do {                                                                                       \
		cudaError_t try_err_ = RT_ERR(expr);                                               \
		if (try_err_ != cudaSuccess)                                                       \
			return try_err_;                                                           \
	} while (0)

/* Finds and initialises the driver once; cudaErrorInsufficientDriver or cuInit's answer on failure. */
cudaError_t rt_load(void);
/* Makes a context current: the thread's own, else the primary context of its device. */
cudaError_t rt_context(void);
cudaError_t rt_primary(int device, CUcontext *ret);
/* Entry of cuGetProcAddress, for cudaGetDriverEntryPoint. */
CUresult rt_proc_address(const char *name, void **ret, int version, cuuint64_t flags,
			 CUdriverProcAddressQueryResult *status);
void rt_forget_primary(int device);

/* The kernel behind a host function or a cudaKernel_t; loads its library at first use. */
cudaError_t rt_kernel(const void *func, CUfunction *ret);
/* The same as a CUfunction of the current context, for calls that refuse a CUkernel. */
cudaError_t rt_function(const void *func, CUfunction *ret);
cudaError_t rt_symbol(const void *symbol, CUdeviceptr *ret, size_t *ret_bytes);

/* What the compiler's constructors say; a handle is opaque. */
void **rt_register_fat(void *image);
void rt_unregister_fat(void **handle);
void rt_register_function(void **handle, const void *func, const char *name);
void rt_register_var(void **handle, const void *var, const char *name, size_t bytes);

/* For libraries of ours with this runtime inside: func launches the driver's function from now on. */
void sim_rt_bind(const void *func, CUfunction function);
const struct sim_export *sim_rt_export(void);

static inline void rt_enter(uint32_t cbid, int ptsz)
{
	rt_self.ptsz = ptsz;
	if (rt_sim && cbid)
		rt_sim->api_enter(SIM_RUNTIME, cbid);
}

static inline cudaError_t rt_exit(uint32_t cbid, int outer_ptsz, cudaError_t err)
{
	if (rt_sim && cbid)
		rt_sim->api_exit(SIM_RUNTIME, cbid, err);
	rt_self.ptsz = outer_ptsz;
	if (err != cudaSuccess)
		rt_self.last_error = err;
	return err;
}

#define RT_WRAP(cbid_, ptsz_, call)                                                                \
	do {                                                                                       \
		int outer_ = rt_self.ptsz;                                                         \
		cudaError_t err_ = rt_load();                                                      \
		if (err_ != cudaSuccess)                                                           \
			return rt_self.last_error = err_;                                          \
		rt_enter(cbid_, ptsz_);                                                            \
		err_ = call;                                                                       \
		return rt_exit(cbid_, outer_, err_);                                               \
	} while (0)

#define RT_STUB(cbid_, name_)                                                                      \
	do {                                                                                       \
		static unsigned char once_;                                                        \
		sim_stub_used(&once_, "cudart", name_);                                            \
		rt_self.last_error = cudaErrorNotSupported;                                        \
		return cudaErrorNotSupported;                                                      \
	} while (0)

#endif
