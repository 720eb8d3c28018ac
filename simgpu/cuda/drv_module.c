/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules, libraries, functions. A CUkernel is the same object as the CUfunction it gives: kernels are not bound to a
 * context, the launch's stream decides. Functions live for ever: their names are in records that come later.
 */
#include "simgpu/cuda/drv.h"

#include "simgpu/core/sim_devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_FILE (1l << 30)

struct CUfunc_st *drv_func_new(const char *name)
{
	struct CUfunc_st *f = drv_new(DRV_FUNC, sizeof(*f));

	f->name = sim_intern(name);
	f->model = sim_model_of(f->name);
	drv_fill_init(f);
	f->regs = 32;
	f->max_threads = 1024;
	f->max_dyn_smem = 49152;
	f->carveout = -1;
	return f;
}

static struct drv_image *load(const void *data)
{
	struct drv_image *image = sim_alloc(sizeof(*image));

	drv_image_parse(image, data);
	return image;
}

/* By name; an image whose names are not known grows by what is asked for. (locked) */
static struct CUfunc_st *find(struct drv_image *image, const char *name)
{
	struct CUfunc_st *f;

	for (f = image->funcs; f; f = f->next)
		if (!strcmp(f->name, name))
			return f;
	if (image->complete || !*name)
		return NULL;
	f = drv_func_new(name);
	f->next = image->funcs;
	image->funcs = f;
	return f;
}

static CUresult module_new(CUmodule *ret, const void *data)
{
	CUcontext ctx;
	CUresult r = drv_context(&ctx);
	struct CUmod_st *m;

	if (!ret || !data)
		return CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	m = drv_new(DRV_MODULE, sizeof(*m));
	m->ctx = ctx;
	m->image = load(data);
	for (struct CUfunc_st *f = m->image->funcs; f; f = f->next)
		f->module = m;
	sim_enter();
	m->next = ctx->modules;
	ctx->modules = m;
	sim_leave();
	*ret = m;
	return CUDA_SUCCESS;
}

void drv_module_free(struct CUmod_st *m)
{
	/* The image stays: its functions are named by records under way. It is small. */
	drv_free(m);
}

CUresult sim_cuModuleLoadData(CUmodule *m, const void *image)
{
	return module_new(m, image);
}

CUresult sim_cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned int n,
				CUjit_option *options, void **values)
{
	return module_new(m, image);
}

CUresult sim_cuModuleLoadFatBinary(CUmodule *m, const void *image)
{
	return module_new(m, image);
}

static CUresult read_file(const char *path, char **ret)
{
	FILE *f = path ? fopen(path, "re") : NULL;
	CUresult r = CUDA_ERROR_FILE_NOT_FOUND;
	long n;

	if (!f)
		return path ? r : CUDA_ERROR_INVALID_VALUE;
	if (!fseek(f, 0, SEEK_END) && (n = ftell(f)) > 64 && n < MAX_FILE &&
	    !fseek(f, 0, SEEK_SET)) {
		char *p = sim_alloc((size_t)n + 1);
		if (fread(p, 1, (size_t)n, f) == (size_t)n) {
			*ret = p;
			r = CUDA_SUCCESS;
		} else {
			free(p);
		}
	} else {
		r = CUDA_ERROR_INVALID_IMAGE;
	}
	fclose(f);
	return r;
}

CUresult sim_cuModuleLoad(CUmodule *m, const char *path)
{
	char *data;
	CUresult r = read_file(path, &data);

	if (r == CUDA_SUCCESS) {
		r = module_new(m, data);
		free(data);
	}
	return r;
}

CUresult sim_cuModuleUnload(CUmodule m)
{
	struct CUmod_st **link;

	if (!drv_is(m, DRV_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	sim_enter();
	for (link = &m->ctx->modules; *link && *link != m; link = &(*link)->next)
		;
	if (*link)
		*link = m->next;
	drv_module_free(m);
	sim_leave();
	return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
	if (!f || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(m, DRV_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	sim_enter();
	*f = find(m->image, name);
	if (*f && !(*f)->module)
		(*f)->module = m;
	sim_leave();
	return *f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static unsigned int count(const struct drv_image *image)
{
	unsigned int n = 0;

	for (const struct CUfunc_st *f = image->funcs; f; f = f->next)
		n++;
	return n;
}

CUresult sim_cuModuleGetFunctionCount(unsigned int *n, CUmodule m)
{
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(m, DRV_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	*n = count(m->image);
	return CUDA_SUCCESS;
}

CUresult sim_cuModuleEnumerateFunctions(CUfunction *funcs, unsigned int n, CUmodule m)
{
	unsigned int i = 0;

	if (!funcs)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(m, DRV_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	for (struct CUfunc_st *f = m->image->funcs; f && i < n; f = f->next)
		funcs[i++] = f;
	return CUDA_SUCCESS;
}

/* A variable of the image: memory of the current device, made when first asked for. */
static CUresult global(struct drv_image *image, CUcontext ctx, const char *name,
		       CUdeviceptr *address, size_t *bytes)
{
	struct drv_global *g;
	CUresult r = CUDA_SUCCESS;

	sim_enter();
	for (g = image->globals; g && strcmp(g->name, name); g = g->next)
		;
	if (!g && image->complete)
		r = CUDA_ERROR_NOT_FOUND;
	else if (!g)
		g = drv_image_global(image, name, DRV_GLOBAL_BYTES);
	if (r == CUDA_SUCCESS && !g->address)
		r = drv_device_alloc(ctx, ctx->device, g->bytes, NULL, "module", &g->address);
	sim_leave();
	if (r == CUDA_SUCCESS && address)
		*address = g->address;
	if (r == CUDA_SUCCESS && bytes)
		*bytes = g->bytes;
	return r;
}

CUresult sim_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule m, const char *name)
{
	CUcontext ctx;
	CUresult r = drv_context(&ctx);

	if (!name || !*name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(m, DRV_MODULE))
		return CUDA_ERROR_INVALID_HANDLE;
	return r == CUDA_SUCCESS ? global(m->image, ctx, name, address, bytes) : r;
}

/* ---- libraries ---- */
static CUresult library_new(CUlibrary *ret, const void *data)
{
	struct CUlib_st *l;

	if (!ret || !data)
		return CUDA_ERROR_INVALID_VALUE;
	l = drv_new(DRV_LIBRARY, sizeof(*l));
	l->image = load(data);
	for (struct CUfunc_st *f = l->image->funcs; f; f = f->next)
		f->library = l;
	*ret = l;
	return CUDA_SUCCESS;
}

CUresult sim_cuLibraryLoadData(CUlibrary *l, const void *code, CUjit_option *jit, void **jit_values,
			       unsigned int n_jit, CUlibraryOption *options, void **values,
			       unsigned int n)
{
	return library_new(l, code);
}

CUresult sim_cuLibraryLoadFromFile(CUlibrary *l, const char *path, CUjit_option *jit,
				   void **jit_values, unsigned int n_jit, CUlibraryOption *options,
				   void **values, unsigned int n)
{
	char *data;
	CUresult r = read_file(path, &data);

	if (r == CUDA_SUCCESS) {
		r = library_new(l, data);
		free(data);
	}
	return r;
}

CUresult sim_cuLibraryUnload(CUlibrary l)
{
	if (!drv_is(l, DRV_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	drv_free(l);
	return CUDA_SUCCESS;
}

CUresult sim_cuLibraryGetKernel(CUkernel *k, CUlibrary l, const char *name)
{
	struct CUfunc_st *f;

	if (!k || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(l, DRV_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	sim_enter();
	f = find(l->image, name);
	if (f)
		f->library = l;
	sim_leave();
	*k = (CUkernel)f;
	return f ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult sim_cuLibraryGetKernelCount(unsigned int *n, CUlibrary l)
{
	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(l, DRV_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	*n = count(l->image);
	return CUDA_SUCCESS;
}

CUresult sim_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int n, CUlibrary l)
{
	unsigned int i = 0;

	if (!kernels)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(l, DRV_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	for (struct CUfunc_st *f = l->image->funcs; f && i < n; f = f->next)
		kernels[i++] = (CUkernel)f;
	return CUDA_SUCCESS;
}

CUresult sim_cuLibraryGetModule(CUmodule *ret, CUlibrary l)
{
	CUcontext ctx;
	CUresult r = drv_context(&ctx);
	struct CUmod_st *m;

	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(l, DRV_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	if (r != CUDA_SUCCESS)
		return r;
	sim_enter();
	for (m = ctx->modules; m && m->library != l; m = m->next)
		;
	if (!m) {
		m = drv_new(DRV_MODULE, sizeof(*m));
		m->ctx = ctx;
		m->image = l->image;
		m->library = l;
		m->next = ctx->modules;
		ctx->modules = m;
	}
	*ret = m;
	sim_leave();
	return CUDA_SUCCESS;
}

CUresult sim_cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary l, const char *name)
{
	CUcontext ctx;
	CUresult r = drv_context(&ctx);

	if (!name || !*name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(l, DRV_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	return r == CUDA_SUCCESS ? global(l->image, ctx, name, address, bytes) : r;
}

CUresult sim_cuKernelGetFunction(CUfunction *f, CUkernel k)
{
	if (!f)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(k, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	*f = (CUfunction)k;
	return CUDA_SUCCESS;
}

CUresult sim_cuKernelGetLibrary(CUlibrary *l, CUkernel k)
{
	if (!l)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(k, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	*l = ((struct CUfunc_st *)k)->library;
	return CUDA_SUCCESS;
}

CUresult sim_cuKernelGetName(const char **name, CUkernel k)
{
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(k, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	*name = ((struct CUfunc_st *)k)->name;
	return CUDA_SUCCESS;
}

/* Of the kernels that are simulated; of others the image would have to say. */
CUresult sim_cuKernelGetParamInfo(CUkernel k, size_t i, size_t *offset, size_t *bytes)
{
	if (!offset)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(k, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	return drv_fill_param((struct CUfunc_st *)k, i, offset, bytes);
}

/* ---- functions ---- */
CUresult sim_cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *bytes)
{
	return sim_cuKernelGetParamInfo((CUkernel)f, i, offset, bytes);
}

CUresult sim_cuFuncGetName(const char **name, CUfunction f)
{
	return sim_cuKernelGetName(name, (CUkernel)f);
}

CUresult sim_cuFuncGetModule(CUmodule *m, CUfunction f)
{
	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(f, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!f->module && f->library)
		return sim_cuLibraryGetModule(m, f->library);
	*m = f->module;
	return CUDA_SUCCESS;
}

CUresult sim_cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction f)
{
	const struct sim_device_type *d = sim_settings.device;
	int version = (int)(d->cc_major * 10 + d->cc_minor);

	if (!value || a < 0 || a >= CU_FUNC_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(f, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	{
		const struct {
			CUfunction_attribute id;
			int value;
		} rows[] = {
			{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, (int)f->max_threads},
			{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, (int)f->static_smem},
			{CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, (int)f->local_bytes},
			{CU_FUNC_ATTRIBUTE_NUM_REGS, (int)f->regs},
			{CU_FUNC_ATTRIBUTE_PTX_VERSION, version},
			{CU_FUNC_ATTRIBUTE_BINARY_VERSION, version},
			{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f->max_dyn_smem},
			{CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, f->carveout},
		};
		*value = 0;
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			if (rows[i].id == a)
				*value = rows[i].value;
	}
	return CUDA_SUCCESS;
}

CUresult sim_cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int value)
{
	if (!drv_is(f, DRV_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	if (a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		if (value < 0 ||
		    (uint32_t)value + f->static_smem > sim_settings.device->smem_per_block_optin)
			return CUDA_ERROR_INVALID_VALUE;
		f->max_dyn_smem = value;
	} else if (a == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
		f->carveout = value;
	} else if (a <= CU_FUNC_ATTRIBUTE_CACHE_MODE_CA) {
		return CUDA_ERROR_INVALID_VALUE; /* read-only */
	}
	return CUDA_SUCCESS;
}

CUresult sim_cuKernelGetAttribute(int *value, CUfunction_attribute a, CUkernel k, CUdevice dev)
{
	return sim_cuFuncGetAttribute(value, a, (CUfunction)k);
}

CUresult sim_cuKernelSetAttribute(CUfunction_attribute a, int value, CUkernel k, CUdevice dev)
{
	return sim_cuFuncSetAttribute((CUfunction)k, a, value);
}

CUresult sim_cuFuncSetCacheConfig(CUfunction f, CUfunc_cache config)
{
	return drv_is(f, DRV_FUNC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuKernelSetCacheConfig(CUkernel k, CUfunc_cache config, CUdevice dev)
{
	return drv_is(k, DRV_FUNC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction f)
{
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return drv_is(f, DRV_FUNC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuFuncLoad(CUfunction f)
{
	return drv_is(f, DRV_FUNC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuProfilerStart(void)
{
	return CUDA_SUCCESS;
}

CUresult sim_cuProfilerStop(void)
{
	return CUDA_SUCCESS;
}
