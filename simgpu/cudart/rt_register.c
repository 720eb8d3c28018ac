/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code the compiler registered: fat binaries, host functions, variables; and the way from any of them to the driver.
 *
 * Registration happens in constructors, thousands of times (PyTorch: 24,000 kernels), so it only notes; a library is
 * loaded into the driver when its first kernel or variable is asked for. Any thread: one lock for the tables, held
 * across the loading calls, which never come back here.
 */
#include "simgpu/cudart/rt.h"
#include "rt_impl.h"

#include <stdlib.h>

struct fat_binary {
	const void *image;
	CUlibrary library;
	int unloaded;
};

/* A host function or a host variable: its address is the key. */
struct entry {
	const void *key;
	struct fat_binary *fat; /* NULL: bound directly to handle */
	const char *name;
	size_t bytes; /* variables */
	void *handle; /* CUkernel, CUfunction, or NULL until first use */
};

struct table {
	struct entry *slots;
	size_t cap, used;
};

static pthread_mutex_t reg_lock = PTHREAD_MUTEX_INITIALIZER;
static struct table functions, variables;

static size_t slot_of(const struct table *t, const void *key)
{
	size_t i = ((uintptr_t)key * 0x9e3779b97f4a7c15ull >> 20) & (t->cap - 1);

	while (t->slots[i].key && t->slots[i].key != key)
		i = (i + 1) & (t->cap - 1);
	return i;
}

static struct entry *table_find(const struct table *t, const void *key)
{
	struct entry *e;

	if (!t->cap || !key)
		return NULL;
	e = &t->slots[slot_of(t, key)];
	return e->key ? e : NULL;
}

static int table_grow(struct table *t)
{
	struct table bigger = {NULL, t->cap ? t->cap * 2 : 256, t->used};

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -1;
	for (size_t i = 0; i < t->cap; i++)
		if (t->slots[i].key)
			bigger.slots[slot_of(&bigger, t->slots[i].key)] = t->slots[i];
	free(t->slots);
	*t = bigger;
	return 0;
}

/* The last registration of a key wins: a library loaded again at the same address is a new one. */
static void table_put(struct table *t, const struct entry *e)
{
	struct entry *slot;

	if (!e->key || (t->used * 2 >= t->cap && table_grow(t)))
		return;
	slot = &t->slots[slot_of(t, e->key)];
	if (!slot->key)
		t->used++;
	*slot = *e;
}

void sim_rt_bind(const void *func, CUfunction function)
{
	struct entry e = {func, NULL, NULL, 0, function};

	pthread_mutex_lock(&reg_lock);
	table_put(&functions, &e);
	pthread_mutex_unlock(&reg_lock);
}

void **rt_register_fat(void *image)
{
	struct fat_binary *fat = calloc(1, sizeof(*fat));

	if (fat)
		fat->image = image;
	return (void **)fat;
}

void rt_unregister_fat(void **handle)
{
	struct fat_binary *fat = (struct fat_binary *)handle;

	/* At exit the driver may be gone already: the library stays, only its use ends. */
	pthread_mutex_lock(&reg_lock);
	if (fat)
		fat->unloaded = 1;
	pthread_mutex_unlock(&reg_lock);
}

void rt_register_function(void **handle, const void *func, const char *name)
{
	struct entry e = {func, (struct fat_binary *)handle, name, 0, NULL};

	pthread_mutex_lock(&reg_lock);
	if (handle)
		table_put(&functions, &e);
	pthread_mutex_unlock(&reg_lock);
}

void rt_register_var(void **handle, const void *var, const char *name, size_t bytes)
{
	struct entry e = {var, (struct fat_binary *)handle, name, bytes, NULL};

	pthread_mutex_lock(&reg_lock);
	if (handle)
		table_put(&variables, &e);
	pthread_mutex_unlock(&reg_lock);
}

/* Holds reg_lock. */
static cudaError_t load_library(struct fat_binary *fat)
{
	if (fat->unloaded)
		return cudaErrorCudartUnloading;
	if (fat->library)
		return cudaSuccess;
	return RT_ERR(
		DRV(cuLibraryLoadData)(&fat->library, fat->image, NULL, NULL, 0, NULL, NULL, 0));
}

/* Holds reg_lock. */
static cudaError_t load_kernel(struct entry *e)
{
	CUkernel kernel = NULL;

	RT_TRY(load_library(e->fat));
	RT_TRY(DRV(cuLibraryGetKernel)(&kernel, e->fat->library, e->name));
	e->handle = kernel;
	return cudaSuccess;
}

cudaError_t rt_kernel(const void *func, CUfunction *ret)
{
	cudaError_t err = cudaSuccess;
	struct entry *e;

	if (!func)
		return cudaErrorInvalidDeviceFunction;
	RT_TRY(rt_context());
	pthread_mutex_lock(&reg_lock);
	e = table_find(&functions, func);
	if (e && !e->handle)
		err = load_kernel(e);
	if (err == cudaSuccess)
		*ret = e ? e->handle : (CUfunction)(uintptr_t)func; /* a cudaKernel_t in disguise */
	pthread_mutex_unlock(&reg_lock);
	return err;
}

cudaError_t rt_function(const void *func, CUfunction *ret)
{
	CUfunction kernel, function = NULL;

	RT_TRY(rt_kernel(func, &kernel));
	/* What a library brings by sim_rt_bind is a CUfunction already. */
	*ret = DRV(cuKernelGetFunction)(&function, (CUkernel)kernel) == CUDA_SUCCESS ? function
										     : kernel;
	return cudaSuccess;
}

cudaError_t rt_symbol(const void *symbol, CUdeviceptr *ret, size_t *ret_bytes)
{
	cudaError_t err = cudaErrorInvalidSymbol;
	CUdeviceptr at = 0;
	size_t bytes = 0;
	struct entry *e;

	RT_TRY(rt_context());
	pthread_mutex_lock(&reg_lock);
	e = table_find(&variables, symbol);
	if (e)
		err = load_library(e->fat);
	if (err == cudaSuccess)
		err = RT_ERR(DRV(cuLibraryGetGlobal)(&at, &bytes, e->fat->library, e->name));
	if (err == cudaSuccess) {
		*ret = at;
		*ret_bytes = bytes ? bytes : e->bytes;
	}
	pthread_mutex_unlock(&reg_lock);
	return err;
}

cudaError_t rt_cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
	CUfunction f;

	if (!kernelPtr)
		return cudaErrorInvalidValue;
	RT_TRY(rt_kernel(entryFuncAddr, &f));
	*kernelPtr = (cudaKernel_t)f;
	return cudaSuccess;
}

cudaError_t rt___cudaGetKernel(cudaKernel_t *kernel, const void *func)
{
	return rt_cudaGetKernel(kernel, func);
}

cudaError_t rt_cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
	CUfunction f;

	if (!functionPtr)
		return cudaErrorInvalidValue;
	RT_TRY(rt_function(symbolPtr, &f));
	*functionPtr = (cudaFunction_t)f;
	return cudaSuccess;
}
