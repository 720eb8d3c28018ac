/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of the libraries that launch on a stream one has set: cuBLAS, cuDNN, cuSPARSE, cuSOLVER, cuRAND. What all of
 * them keep is here; generated functions that launch a kernel of their library (launches.tsv) use it too.
 */
#ifndef SIM_LIB_HANDLE_H
#define SIM_LIB_HANDLE_H

#include <stdint.h>

struct sim_lib_handle {
	uint64_t magic;
	void *stream;
	int math_mode, pointer_mode, atomics_mode, sm_target;
	void *workspace;
	uint64_t workspace_bytes;
};

/* NULL: out of memory or no driver. */
struct sim_lib_handle *sim_lib_handle_new(void);
/* NULL when it is none of ours. */
struct sim_lib_handle *sim_lib_handle(void *p);
/* Waits for the current device first, as NVIDIA's do. NULL is none. */
void sim_lib_handle_free(struct sim_lib_handle *h);
/*
 * What a generated function does: launches `name` on the handle's stream. Its outputs (n_outs pairs of void *, size_t)
 * are zeroed: on the host at once, on the device when the kernel is over. 0, or a CUresult.
 */
int sim_lib_handle_launch(void *handle, const char *name, int n_outs, ...);

#endif
