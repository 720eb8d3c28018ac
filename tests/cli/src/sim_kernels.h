/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of a C program, registered the way compiled CUDA registers them, with an image that holds no code: the
 * simulated driver knows kernels by their names alone. Include once in a program.
 */
#ifndef SIM_KERNELS_H
#define SIM_KERNELS_H

#include <cuda_runtime_api.h>

void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *hostFun, char *deviceFun,
			    const char *deviceName, int limit, void *tid, void *bid, void *bDim,
			    void *gDim, int *wSize);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t smem, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *smem, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *func);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t smem,
			       cudaStream_t stream);

static void **sim_kernels_handle;

/* One image for all: the header of a fat binary with nothing in it. */
static struct {
	unsigned magic;
	unsigned short version, header;
	unsigned long long bytes;
} sim_kernels_image = {0xba55ed50, 1, 16, 0};
static struct {
	int magic, version;
	const void *data;
	void *name;
} sim_kernels_wrapper = {0x466243b1, 1, &sim_kernels_image, NULL};

static inline void sim_kernel_add(const void *key, const char *name)
{
	if (!sim_kernels_handle)
		sim_kernels_handle = __cudaRegisterFatBinary(&sim_kernels_wrapper);
	__cudaRegisterFunction(sim_kernels_handle, key, (char *)key, name, -1, NULL, NULL, NULL,
			       NULL, NULL);
}

#endif
