// SPDX-License-Identifier: Apache-2.0
/*
 * Contexts, streams, modules and functions into the registry; see book.h.
 *
 * The current context is a per-thread fact that only a handful of calls change, all of them hooked; its id is cached
 * in TLS so that the hot path needs no look-up. Handles are reused by the driver after a destroy or reset: an epoch,
 * moved by every end of a context, tells a cached id from a stale one.
 */
#define _GNU_SOURCE
#include "book.h"

#include <stdatomic.h>
#include <string.h>

#include "agent.h"
#include "arguments.h"
#include "real_calls.h"

#define DEVICES_MAX 128 /* ordinals beyond have no primary context of ours */

static _Atomic uint32_t context_epoch;
static _Atomic uint64_t primary[DEVICES_MAX];

/* ---- contexts ---- */

static void set_context(struct wt_tls *t, uint64_t handle, uint32_t id)
{
	uint32_t slot = id < WT_COUNT_CONTEXTS ? id : WT_COUNT_CONTEXTS - 1;

	t->context_handle = handle;
	t->context_epoch = atomic_load_explicit(&context_epoch, memory_order_relaxed);
	/* A thread without a ring keeps 0: that sends each of its calls to the slow path. */
	t->context = t->no_ring || id > UINT16_MAX ? 0 : (uint16_t)id;
	if (t->ring)
		t->counts = &t->ring->counts[slot][0][0];
	if (!t->context &&
	    t->row) { /* not in the middle of a row of the hot path: that one holds it */
		t->put_by = t->row;
		t->row = NULL;
	}
}

void wt_book_ring(struct wt_tls *t)
{
	set_context(t, t->context_handle, t->context);
}

static uint32_t context_id(CUcontext ctx, CUdevice dev)
{
	struct wt_reg_entry e;
	uint64_t now = wt_tsc();

	if (!ctx)
		return 0;
	if (wt_reg_find(WT_REG_CONTEXT, (uint64_t)ctx, UINT64_MAX, &e))
		return e.id;
	memset(&e, 0, sizeof(e));
	e.u.context.device = dev;
	return wt_reg_add(WT_REG_CONTEXT, (uint64_t)ctx, now, &e);
}

/* ctx is current: the driver can say on which device. */
static uint32_t current_id(CUcontext ctx)
{
	struct wt_reg_entry e;
	CUdevice dev = -1;

	if (!ctx)
		return 0;
	if (wt_reg_find(WT_REG_CONTEXT, (uint64_t)ctx, UINT64_MAX, &e))
		return e.id;
	if (WT_REAL_CALL(cuCtxGetDevice, &dev) != CUDA_SUCCESS)
		dev = -1;
	return context_id(ctx, dev);
}

uint32_t wt_book_context_now(struct wt_tls *t)
{
	CUcontext ctx = NULL;
	uint32_t id;

	if (t->context)
		return t->context;
	if (WT_REAL_CALL(cuCtxGetCurrent, &ctx) != CUDA_SUCCESS || !ctx)
		return 0;
	id = current_id(ctx);
	set_context(t, (uint64_t)ctx, id);
	return id;
}

void wt_book_context_new(CUcontext ctx, CUdevice dev)
{
	struct wt_reg_entry e = {.u.context.device = dev};

	set_context(&wt_tls, (uint64_t)ctx,
		    wt_reg_add(WT_REG_CONTEXT, (uint64_t)ctx, wt_tsc(), &e));
}

static void end_context(uint64_t handle)
{
	struct wt_reg_entry e;
	uint64_t now = wt_tsc();

	if (!wt_reg_find(WT_REG_CONTEXT, handle, UINT64_MAX, &e))
		return;
	atomic_fetch_add(&context_epoch, 1);
	wt_reg_end_context(e.id, now);
	wt_reg_end(WT_REG_CONTEXT, handle, now);
	wt_argument_forget();
}

void wt_book_context_end(CUcontext ctx)
{
	end_context((uint64_t)ctx);
	wt_book_current_unknown();
}

void wt_book_current(CUcontext ctx)
{
	struct wt_tls *t = &wt_tls;

	if (t->context && t->context_handle == (uint64_t)ctx &&
	    t->context_epoch == atomic_load_explicit(&context_epoch, memory_order_relaxed))
		return;
	set_context(t, (uint64_t)ctx, current_id(ctx));
}

void wt_book_current_unknown(void)
{
	set_context(&wt_tls, 0, 0);
}

void wt_book_primary(CUcontext ctx, CUdevice dev)
{
	context_id(ctx, dev);
	if (dev >= 0 && dev < DEVICES_MAX)
		atomic_store(&primary[dev], (uint64_t)ctx);
}

/* Only the last release destroys; how many holders there are only the driver knows. */
void wt_book_primary_released(CUdevice dev)
{
	unsigned int flags = 0;
	int active = 1;

	if (WT_REAL_CALL(cuDevicePrimaryCtxGetState, dev, &flags, &active) == CUDA_SUCCESS &&
	    !active)
		wt_book_primary_reset(dev);
}

void wt_book_primary_reset(CUdevice dev)
{
	if (dev < 0 || dev >= DEVICES_MAX)
		return;
	end_context(atomic_load(&primary[dev]));
	wt_book_current_unknown();
}

/* ---- streams, modules, functions ---- */

void wt_book_stream(CUstream stream, unsigned int flags, int priority)
{
	struct wt_reg_entry e = {.context = wt_book_context_now(&wt_tls)};

	e.u.stream.flags = flags;
	e.u.stream.priority = priority;
	wt_reg_add(WT_REG_STREAM, (uint64_t)stream, wt_tsc(), &e);
}

void wt_book_module(const void *module, enum wt_book_where where)
{
	struct wt_reg_entry e = {.context = 0};

	if (where == WT_BOOK_HERE)
		e.context = wt_book_context_now(&wt_tls);
	wt_reg_add(WT_REG_MODULE, (uint64_t)module, wt_tsc(), &e);
}

void wt_book_module_seen(CUmodule module)
{
	struct wt_reg_entry e;

	if (!wt_reg_find(WT_REG_MODULE, (uint64_t)module, UINT64_MAX, &e))
		wt_book_module(module, WT_BOOK_HERE);
}

void wt_book_module_end(const void *module)
{
	struct wt_reg_entry e;
	uint64_t now = wt_tsc();

	if (!wt_reg_find(WT_REG_MODULE, (uint64_t)module, UINT64_MAX, &e))
		return;
	wt_reg_end_module(e.id, now);
	wt_reg_end(WT_REG_MODULE, (uint64_t)module, now);
	wt_argument_forget();
}

static uint32_t module_id(const void *module)
{
	struct wt_reg_entry e;

	return wt_reg_find(WT_REG_MODULE, (uint64_t)module, UINT64_MAX, &e) ? e.id : 0;
}

/* Only of a function that is loaded: asking for what lazy loading has put off would load it. */
static uint32_t max_threads(CUfunction function)
{
	int n = 0;

	if (WT_REAL_CALL(cuFuncGetAttribute, &n, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
			 function) != CUDA_SUCCESS ||
	    n < 0)
		return 0;
	return (uint32_t)n;
}

static void add_function(const void *function, uint32_t module, uint32_t name, CUfunction loaded)
{
	struct wt_reg_entry e;

	/* Asking again for a function gives the same handle: still the same function. */
	if (!function || (wt_reg_find(WT_REG_FUNCTION, (uint64_t)function, UINT64_MAX, &e) &&
			  e.u.function.module == module && e.u.function.name == name))
		return;
	memset(&e, 0, sizeof(e));
	e.u.function.module = module;
	e.u.function.name = name;
	e.u.function.max_threads = loaded ? max_threads(loaded) : 0;
	wt_reg_add(WT_REG_FUNCTION, (uint64_t)function, wt_tsc(), &e);
}

void wt_book_function(CUfunction function, const void *module, const char *name)
{
	add_function(function, module_id(module), name ? wt_reg_intern(name) : 0, function);
	wt_argument_learn(function, name, 0);
}

void wt_book_kernel(CUkernel kernel, const void *library, const char *name)
{
	add_function(kernel, module_id(library), name ? wt_reg_intern(name) : 0, NULL);
	wt_argument_learn(kernel, name, 1);
}

void wt_book_functions(const CUfunction *functions, unsigned int n, CUmodule module)
{
	uint32_t id = module_id(module);

	for (unsigned int i = 0; functions && i < n; i++) {
		const char *name = NULL;

		if (WT_REAL_CALL(cuFuncGetName, &name, functions[i]) == CUDA_SUCCESS && name) {
			add_function(functions[i], id, wt_reg_intern(name), NULL);
			wt_argument_learn(functions[i], name, 0);
		}
	}
}

void wt_book_kernels(const CUkernel *kernels, unsigned int n, CUlibrary library)
{
	uint32_t id = module_id(library);

	for (unsigned int i = 0; kernels && i < n; i++) {
		const char *name = NULL;

		if (WT_REAL_CALL(cuKernelGetName, &name, kernels[i]) == CUDA_SUCCESS && name) {
			add_function(kernels[i], id, wt_reg_intern(name), NULL);
			wt_argument_learn(kernels[i], name, 1);
		}
	}
}

void wt_book_kernel_function(CUfunction function, CUkernel kernel)
{
	struct wt_reg_entry e;

	if (wt_reg_find(WT_REG_FUNCTION, (uint64_t)kernel, UINT64_MAX, &e))
		add_function(function, e.u.function.module, e.u.function.name, function);
	wt_argument_learn_function(function, kernel);
}
