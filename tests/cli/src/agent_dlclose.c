/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the CUDA libraries by itself, works with them, and closes them again, N times; at the end libcuda too. Nothing
 * is linked, so a library is gone when its last handle is closed, and may come back elsewhere: between two rounds a
 * mapping is laid where it was, if it is gone.
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MUST(cond_)                                                                                \
	do {                                                                                       \
		if (!(cond_)) {                                                                    \
			fprintf(stderr, "agent_dlclose:%d: not so: %s\n", __LINE__, #cond_);       \
			_exit(4);                                                                  \
		}                                                                                  \
	} while (0)

static void *cuda;

static void *symbol(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	if (!p)
		fprintf(stderr, "no %s\n", name);
	MUST(p);
	return p;
}
#define CALL(lib_, type_, name_) ((type_)symbol(lib_, name_))

static void driver(int launches)
{
	static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				  ".visible .entry close_kernel()\n{\n\tret;\n}\n";
	static CUcontext ctx;
	static CUfunction kernel;
	__typeof__(&cuLaunchKernel) launch = CALL(cuda, __typeof__(launch), "cuLaunchKernel");
	CUmodule mod;

	if (!ctx) {
		MUST(CALL(cuda, __typeof__(&cuInit), "cuInit")(0) == 0);
		MUST(CALL(cuda, CUresult(*)(CUcontext *, unsigned, CUdevice),
			  "cuCtxCreate_v2")(&ctx, 0, 0) == 0);
		MUST(CALL(cuda, __typeof__(&cuModuleLoadData), "cuModuleLoadData")(&mod, ptx) == 0);
		MUST(CALL(cuda, __typeof__(&cuModuleGetFunction),
			  "cuModuleGetFunction")(&kernel, mod, "close_kernel") == 0);
	}
	for (int i = 0; i < launches; i++)
		MUST(launch(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) == 0);
	MUST(CALL(cuda, __typeof__(&cuCtxSynchronize), "cuCtxSynchronize")() == 0);
}

static const char *wanted;
static uintptr_t from, to;

static int where(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (!strstr(info->dlpi_name, wanted))
		return 0;
	from = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			to = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
			     info->dlpi_phdr[i].p_memsz;
	return 1;
}

/* Whoever still jumps there is killed. */
static void bury(void)
{
	size_t bytes = (to - from + 4095) & ~4095ul;

	if (from && !dl_iterate_phdr(where, NULL))
		MUST(mmap((void *)from, bytes, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			  0) == (void *)from);
}

static void *open_it(const char *name)
{
	void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		fprintf(stderr, "%s\n", dlerror());
	MUST(lib);
	wanted = name;
	from = to = 0;
	MUST(dl_iterate_phdr(where, NULL));
	return lib;
}

static void close_it(void *lib)
{
	MUST(dlclose(lib) == 0);
	dl_iterate_phdr(where, NULL);
	bury();
}

static void blas(void)
{
	void *lib = open_it("libcublas.so.13"), *handle = NULL, *p;
	float one = 1;

	MUST(CALL(cuda, CUresult(*)(CUdeviceptr *, size_t), "cuMemAlloc_v2")((CUdeviceptr *)&p,
									     1 << 20) == 0);
	MUST(CALL(lib, int (*)(void **), "cublasCreate_v2")(&handle) == 0);
	MUST(CALL(lib,
		  int (*)(void *, int, int, int, int, int, const float *, const void *, int,
			  const void *, int, const float *, void *, int),
		  "cublasSgemm_v2")(handle, 0, 0, 16, 16, 16, &one, p, 16, p, 16, &one, p, 16) ==
	     0);
	MUST(CALL(cuda, __typeof__(&cuCtxSynchronize), "cuCtxSynchronize")() == 0);
	MUST(CALL(lib, int (*)(void *), "cublasDestroy_v2")(handle) == 0);
	close_it(lib);
}

static void nccl(void)
{
	void *lib = open_it("libnccl.so.2"), *comm = NULL;
	int device = 0;

	MUST(CALL(lib, int (*)(void **, int, const int *), "ncclCommInitAll")(&comm, 1, &device) ==
	     0);
	MUST(CALL(lib, int (*)(void *), "ncclCommDestroy")(comm) == 0);
	close_it(lib);
}

static void runtime(void)
{
	void *lib = open_it("libcudart.so.13");
	int n = 0;

	MUST(CALL(lib, int (*)(int *), "cudaGetDeviceCount")(&n) == 0 && n);
	MUST(CALL(lib, int (*)(void), "cudaDeviceSynchronize")() == 0);
	close_it(lib);
}

static void cupti(void)
{
	void *lib = open_it("libcupti.so.13");
	unsigned version;

	MUST(CALL(lib, int (*)(unsigned *), "cuptiGetVersion")(&version) == 0);
	close_it(lib);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;

	cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	MUST(cuda);
	for (int i = 0; i < n; i++) {
		driver(100);
		runtime();
		blas();
		nccl();
		cupti();
	}
	driver(100);
	MUST(dlclose(cuda) == 0);
	puts("done");
	return 0;
}
