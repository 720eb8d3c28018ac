/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of cuBLASLt: its initialiser finds the driver's functions by plain dlsym, before anybody called cuInit, and
 * keeps the pointers. Without a driver it stays quiet, and every launch fails. See lib_kernel.h.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "simgpu/libs/lib_kernel.h"

static struct {
	__typeof__(cuLaunchKernel) *launch;
	__typeof__(cuFuncSetAttribute) *set_attribute;
	__typeof__(cuDeviceGetAttribute) *get_attribute;
	__typeof__(cuCtxSynchronize) *synchronize;
	__typeof__(cuGetExportTable) *export_table;
	const struct sim_export *sim;
} drv;

__attribute__((constructor)) static void find_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_LAZY);

	if (!lib)
		return;
	drv.launch = (__typeof__(drv.launch))dlsym(lib, "cuLaunchKernel");
	drv.set_attribute = (__typeof__(drv.set_attribute))dlsym(lib, "cuFuncSetAttribute");
	drv.get_attribute = (__typeof__(drv.get_attribute))dlsym(lib, "cuDeviceGetAttribute");
	drv.synchronize = (__typeof__(drv.synchronize))dlsym(lib, "cuCtxSynchronize");
	drv.export_table = (__typeof__(drv.export_table))dlsym(lib, "cuGetExportTable");
}

const struct sim_export *sim_lib_driver(void)
{
	const struct sim_export *sim = __atomic_load_n(&drv.sim, __ATOMIC_ACQUIRE);
	const void *table = NULL;
	CUuuid id;

	if (!sim && drv.export_table && drv.launch && drv.set_attribute && drv.get_attribute) {
		memcpy(id.bytes, SIM_EXPORT_UUID_BYTES, sizeof(id.bytes));
		if (drv.export_table(&table, &id) == CUDA_SUCCESS) {
			sim = table;
			if (sim->version != SIM_EXPORT_VERSION)
				sim = NULL;
			__atomic_store_n(&drv.sim, sim, __ATOMIC_RELEASE);
		}
	}
	return sim;
}

void sim_lib_bind(const void *key, CUfunction f, int max_dyn_smem)
{
	if (max_dyn_smem > 48 << 10)
		drv.set_attribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, max_dyn_smem);
}

int sim_lib_submit(const void *key, CUfunction f, const struct sim_lib_work *w, void **args,
		   void *stream)
{
	return drv.launch(f, w->grid[0], w->grid[1], w->grid[2], w->block[0], w->block[1],
			  w->block[2], w->dyn_smem, stream, args, NULL);
}

void sim_lib_synchronize(void)
{
	if (drv.synchronize)
		drv.synchronize();
}

int sim_lib_device_attribute(CUdevice_attribute what, int device)
{
	int value = 0;

	return drv.get_attribute && drv.get_attribute(&value, what, device) == CUDA_SUCCESS ? value
											    : 0;
}
