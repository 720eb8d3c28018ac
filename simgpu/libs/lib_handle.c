/* SPDX-License-Identifier: Apache-2.0 */
/* See lib_handle.h. */
#include "simgpu/libs/lib_handle.h"

#include <stdlib.h>

#include "simgpu/libs/lib_kernel.h"

#define MAGIC	    0x73696d6c69626873ull
#define SMALL_BYTES 65536 /* what a kernel of unknown shape is taken to move */

struct sim_lib_handle *sim_lib_handle_new(void)
{
	struct sim_lib_handle *h;

	if (!sim_lib_driver())
		return NULL;
	h = calloc(1, sizeof(*h));
	if (h)
		h->magic = MAGIC;
	return h;
}

struct sim_lib_handle *sim_lib_handle(void *p)
{
	struct sim_lib_handle *h = p;

	return (uintptr_t)p > 4096 && h->magic == MAGIC ? h : NULL;
}

void sim_lib_handle_free(struct sim_lib_handle *h)
{
	if (h)
		h->magic = 0;
	free(h);
}

int sim_lib_handle_launch(void *handle, const char *name)
{
	struct sim_lib_handle *h = sim_lib_handle(handle);

	return h ? sim_lib_launch_small(name, SMALL_BYTES, h->stream) : CUDA_ERROR_INVALID_VALUE;
}
