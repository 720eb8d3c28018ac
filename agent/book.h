/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What creating and destroying calls leave in the registry. Called by the hooks' `after`, on job threads, at every
 * level, while the thread is busy (its own driver calls are not seen). Cold: may ask the driver, may take the
 * registry's lock. The caller keeps errno.
 */
#ifndef WT_BOOK_H
#define WT_BOOK_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_abi.h"
#include "registry.h"
#include "tls.h"

enum wt_book_where {
	WT_BOOK_HERE,
	WT_BOOK_EVERYWHERE
}; /* belongs to the current context, or to none */

/* Registry id of the thread's current context: cached, else asked of the driver; 0 = none. */
uint32_t wt_book_context_now(struct wt_tls *t);
/* The thread has got its ring, or been refused one: its counters move. */
void wt_book_ring(struct wt_tls *t);
void wt_book_context_new(CUcontext ctx, CUdevice dev); /* created: current from now on */
void wt_book_context_end(CUcontext ctx);
void wt_book_current(CUcontext ctx); /* set or pushed */
void wt_book_current_unknown(void);  /* popped */
void wt_book_primary(CUcontext ctx, CUdevice dev);
void wt_book_primary_released(CUdevice dev);
void wt_book_primary_reset(CUdevice dev);

void wt_book_stream(CUstream stream, unsigned int flags, int priority);
void wt_book_module(const void *module,
		    enum wt_book_where where); /* CUmodule or CUlibrary, just loaded */
void wt_book_module_seen(CUmodule module);     /* handed out again */
void wt_book_module_end(const void *module);
void wt_book_function(CUfunction function, const void *module, const char *name);
void wt_book_kernel(CUkernel kernel, const void *library, const char *name);
void wt_book_functions(const CUfunction *functions, unsigned int n, CUmodule module);
void wt_book_kernels(const CUkernel *kernels, unsigned int n, CUlibrary library);
void wt_book_kernel_function(CUfunction function, CUkernel kernel);

/* ---- book_graph.c ---- */
void wt_capture_began(void);
struct wt_rec;
void wt_book_capture_end(struct wt_rec *rec, int status, CUgraph *graph);
uint32_t wt_book_exec_new(CUgraph graph, CUgraphExec exec);
void wt_book_exec_update(CUgraphExec exec, CUgraph graph);
unsigned int wt_book_node_was(CUgraphExec exec, CUgraphNode node);
void wt_book_node_enabled(CUgraphExec exec, CUgraphNode node, unsigned int was, unsigned int now);

#define wt_book_end(kind_, handle_) wt_reg_end(kind_, (uint64_t)(handle_), wt_tsc())

#endif
