/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the simulated math libraries: a name, a shape, and what the work costs. The driver runs them like any
 * other kernel; how long is decided inside the launch, for the device it goes to, by core/sim_roofline.h.
 *
 * cuBLAS, cuDNN and the like launch through the runtime they carry inside (lib_launch_rt.c); cuBLASLt asks the driver
 * itself (lib_launch_drv.c), as NVIDIA's do. Any thread.
 */
#ifndef SIM_LIB_KERNEL_H
#define SIM_LIB_KERNEL_H

#include <cuda.h>
#include <stdint.h>

#include "simgpu/core/sim_export.h"

#define SIM_LIB_OUTS 4
/* Device memory that reads zero once the kernel is over: what a caller will look at, such as an error count. */
struct sim_lib_out {
	void *p;
	uint64_t bytes;
};

struct sim_lib_work {
	const char *name; /* copied */
	uint32_t grid[3], block[3];
	uint32_t dyn_smem, regs;
	struct sim_cost cost;
	uint32_t n_outs;
	struct sim_lib_out outs[SIM_LIB_OUTS];
};

/* Launches; a CUresult (cudaError_t has the same numbers). */
int sim_lib_launch(const struct sim_lib_work *w, void *stream);
/* The launch of a small helper of which only the name is known: one wave, `bytes` moved. */
void sim_lib_small(struct sim_lib_work *w, const char *name, double bytes);
int sim_lib_launch_small(const char *name, double bytes, void *stream);

/* Attributes of the current device; 0 without a driver. */
int sim_lib_attribute(CUdevice_attribute what);
static inline int sim_lib_cc_major(void)
{
	return sim_lib_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
}

/* ---- what the two ways to the driver provide: lib_launch_rt.c or lib_launch_drv.c ---- */
const struct sim_export *sim_lib_driver(void); /* NULL: no simulated driver */
/* A kernel is known by its key from now on; takes the shared memory it may ask for. */
void sim_lib_bind(const void *key, CUfunction f, int max_dyn_smem);
int sim_lib_submit(const void *key, CUfunction f, const struct sim_lib_work *w, void **args,
		   void *stream);
void sim_lib_synchronize(void); /* the current context, if there is one */
int sim_lib_device_attribute(CUdevice_attribute what, int device);

#endif
