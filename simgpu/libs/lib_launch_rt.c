/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of libraries that carry the static runtime inside: cuBLAS, cuDNN, cuFFT and the rest. See lib_kernel.h. */
#include "simgpu/cudart/rt.h"
#include "simgpu/libs/lib_kernel.h"

const struct sim_export *sim_lib_driver(void)
{
	return rt_load() == cudaSuccess ? sim_rt_export() : NULL;
}

void sim_lib_bind(const void *key, CUfunction f, int max_dyn_smem)
{
	sim_rt_bind(key, f);
	if (max_dyn_smem > 48 << 10)
		cudaFuncSetAttribute(key, cudaFuncAttributeMaxDynamicSharedMemorySize,
				     max_dyn_smem);
}

int sim_lib_submit(const void *key, CUfunction f, const struct sim_lib_work *w, void **args,
		   void *stream)
{
	dim3 grid = {w->grid[0], w->grid[1], w->grid[2]};
	dim3 block = {w->block[0], w->block[1], w->block[2]};

	return cudaLaunchKernel(key, grid, block, args, w->dyn_smem, stream);
}

void sim_lib_synchronize(void)
{
	cudaDeviceSynchronize();
}

int sim_lib_device_attribute(CUdevice_attribute what, int device)
{
	int value = 0;

	return cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)what, device) == cudaSuccess
		       ? value
		       : 0;
}
