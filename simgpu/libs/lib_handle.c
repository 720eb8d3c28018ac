/* SPDX-License-Identifier: Apache-2.0 */
/* See lib_handle.h. */
#include "simgpu/libs/lib_handle.h"

#include <cuda_runtime_api.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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
	if (!h)
		return;
	/* What was launched needs the library's code until it is over, and the library may be closed now. */
	sim_lib_synchronize();
	h->magic = 0;
	free(h);
}

/* Host memory is zeroed here; device memory joins the launch. */
static void add_out(struct sim_lib_work *w, void *p, size_t bytes)
{
	struct cudaPointerAttributes at = {0};

	if (!p || !bytes)
		return;
	if (cudaPointerGetAttributes(&at, p) == cudaSuccess &&
	    (at.type == cudaMemoryTypeDevice || at.type == cudaMemoryTypeManaged)) {
		if (w->n_outs < SIM_LIB_OUTS)
			w->outs[w->n_outs++] = (struct sim_lib_out){p, bytes};
	} else {
		memset(p, 0, bytes);
	}
}

int sim_lib_handle_launch(void *handle, const char *name, int n_outs, ...)
{
	struct sim_lib_handle *h = sim_lib_handle(handle);
	struct sim_lib_work w;
	va_list ap;

	if (!h)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lib_small(&w, name, SMALL_BYTES);
	va_start(ap, n_outs);
	for (int i = 0; i < n_outs; i++) {
		void *p = va_arg(ap, void *);

		add_out(&w, p, va_arg(ap, size_t));
	}
	va_end(ap);
	return sim_lib_launch(&w, h->stream);
}
