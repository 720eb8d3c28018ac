/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the runtime finds the driver, and which context a thread has.
 *
 * Any thread. The driver is found once, by dlopen of its soname and dlsym of cuGetProcAddress_v2; the table is then
 * asked function by function with flags 0 and 2, and the first request is the empty name, as NVIDIA's runtime does.
 * There must be no other way to the driver in here: an interposer of those two gates has to see everything.
 *
 * Invariant: after rt_load() returned success no slot of rt_drv is NULL (what the driver lacks answers 801).
 */
#include "simgpu/cudart/rt.h"

#include <cudaTypedefs.h>
#include <dlfcn.h>

struct rt_driver rt_drv[2];
const struct sim_export *rt_sim;
__thread struct rt_thread rt_self;

static pthread_mutex_t rt_lock = PTHREAD_MUTEX_INITIALIZER;
static int rt_loaded; /* 1 = rt_drv is full and cuInit succeeded; written under rt_lock */
static CUcontext rt_primaries[RT_MAX_DEVICES];

typedef CUresult (*get_proc_fn)(const char *, void **, int, cuuint64_t,
				CUdriverProcAddressQueryResult *);
static get_proc_fn rt_get_proc;

static CUresult missing_entry(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

#define IS(name, pfn) __builtin_types_compatible_p(__typeof__(&name), pfn)
static const struct {
	const char *name;
	int version, version_ptsz; /* -1: no variant for a stream per thread */
	size_t offset;
} rows[] = {
#define ROW(name, v, vp) {#name, v, vp, offsetof(struct rt_driver, name)},
#include "rt_driver_table.inc"
#undef ROW
};
#define ROW(name, v, vp) _Static_assert((v) > 0, "no version of " #name " has the type of cuda.h");
#include "rt_driver_table.inc"
#undef ROW

static void fill_table(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int per_thread = 0; per_thread < 2; per_thread++) {
			void **slot = (void **)((char *)&rt_drv[per_thread] + rows[i].offset);
			int version = per_thread && rows[i].version_ptsz > 0 ? rows[i].version_ptsz
									     : rows[i].version;
			CUdriverProcAddressQueryResult status;
			void *fn = NULL;

			if (rt_get_proc(rows[i].name, &fn, version,
					per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
						   : CU_GET_PROC_ADDRESS_DEFAULT,
					&status) != CUDA_SUCCESS ||
			    !fn)
				fn = (void *)missing_entry;
			*slot = fn;
		}
	}
}

static void find_sim(void)
{
	static const char id[] = SIM_EXPORT_UUID_BYTES;
	CUresult (*get)(const void **, const CUuuid *) = NULL;
	CUdriverProcAddressQueryResult status;
	const void *table = NULL;
	CUuuid uuid;

	memcpy(uuid.bytes, id, sizeof(uuid.bytes));
	if (rt_get_proc("cuGetExportTable", (void **)&get, 3000, 0, &status) != CUDA_SUCCESS ||
	    !get || get(&table, &uuid) != CUDA_SUCCESS || !table)
		return;
	if (((const struct sim_export *)table)->version == SIM_EXPORT_VERSION)
		rt_sim = table;
}

/* Holds rt_lock. */
static cudaError_t load_driver(void)
{
	CUdriverProcAddressQueryResult status;
	void *lib, *nothing = NULL;

	if (!rt_get_proc) {
		lib = dlopen("libcuda.so.1", RTLD_NOW);
		if (!lib)
			return cudaErrorInsufficientDriver;
		rt_get_proc = (get_proc_fn)dlsym(lib, "cuGetProcAddress_v2");
		if (!rt_get_proc)
			return cudaErrorInsufficientDriver;
		rt_get_proc("", &nothing, 0, CU_GET_PROC_ADDRESS_DEFAULT, &status);
		fill_table();
		find_sim();
	}
	return RT_ERR(rt_drv[0].cuInit(0));
}

cudaError_t rt_load(void)
{
	cudaError_t err = cudaSuccess;

	if (__atomic_load_n(&rt_loaded, __ATOMIC_ACQUIRE))
		return cudaSuccess;
	pthread_mutex_lock(&rt_lock);
	if (!rt_loaded) {
		err = load_driver();
		if (err == cudaSuccess)
			__atomic_store_n(&rt_loaded, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&rt_lock);
	return err;
}

CUresult rt_proc_address(const char *name, void **ret, int version, cuuint64_t flags,
			 CUdriverProcAddressQueryResult *status)
{
	return rt_get_proc(name, ret, version, flags, status);
}

const struct sim_export *sim_rt_export(void)
{
	return rt_load() == cudaSuccess ? rt_sim : NULL;
}

cudaError_t rt_primary(int device, CUcontext *ret)
{
	CUcontext ctx;
	cudaError_t err = cudaSuccess;

	if (device < 0 || device >= RT_MAX_DEVICES)
		return cudaErrorInvalidDevice;
	ctx = __atomic_load_n(&rt_primaries[device], __ATOMIC_ACQUIRE);
	if (!ctx) {
		/* Retained once per copy of the runtime and never released, as in life, but for cudaDeviceReset. */
		pthread_mutex_lock(&rt_lock);
		ctx = rt_primaries[device];
		if (!ctx) {
			err = RT_ERR(rt_drv[0].cuDevicePrimaryCtxRetain(&ctx, device));
			if (err == cudaSuccess)
				__atomic_store_n(&rt_primaries[device], ctx, __ATOMIC_RELEASE);
		}
		pthread_mutex_unlock(&rt_lock);
	}
	if (err == cudaSuccess)
		*ret = ctx;
	return err;
}

void rt_forget_primary(int device)
{
	pthread_mutex_lock(&rt_lock);
	if (device >= 0 && device < RT_MAX_DEVICES)
		rt_primaries[device] = NULL;
	pthread_mutex_unlock(&rt_lock);
}

cudaError_t rt_context(void)
{
	CUcontext ctx = NULL;

	RT_TRY(DRV(cuCtxGetCurrent)(&ctx));
	if (ctx)
		return cudaSuccess;
	RT_TRY(rt_primary(rt_self.device, &ctx));
	return RT_ERR(DRV(cuCtxSetCurrent)(ctx));
}
