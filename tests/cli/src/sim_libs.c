/* SPDX-License-Identifier: Apache-2.0 */
/* link: cudart */
/*
 * The simulated math libraries from C, as a client sees them: found by soname, called through their public API, with
 * wrong arguments too. Prints "ok"; what was launched is read from the truth by sim-libs.sh.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <library_types.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_check.h"

static void *library;

static void use(const char *soname)
{
	library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		printf("%s\n", dlerror());
		exit(1);
	}
}

static void *sym(const char *name)
{
	void *p = dlsym(library, name);

	if (!p) {
		printf("%s is missing\n", name);
		exit(1);
	}
	return p;
}

/* A call by name; parameters are passed as they are written: pointers, ints and 64-bit values in registers. */
#define CALL(name, types, ...) (((int(*) types)sym(name))(__VA_ARGS__))

static char *data;
static void *stream;

static void cublas(void)
{
	float one = 1, zero = 0, tiny[4] = {1, 2, 3, 4}, back[4];
	void *h = NULL, *s = NULL;
	int value = -1;

	use("libcublas.so.13");
	CHECK(CALL("cublasCreate_v2", (void *), NULL) == 7);
	CHECK(CALL("cublasCreate_v2", (void *), &h) == 0 && h);
	CHECK(CALL("cublasSetStream_v2", (void *, void *), NULL, stream) == 1);
	CHECK(CALL("cublasSetStream_v2", (void *, void *), h, stream) == 0);
	CHECK(CALL("cublasGetStream_v2", (void *, void **), h, &s) == 0 && s == stream);
	CHECK(CALL("cublasSetMathMode", (void *, int), h, 3) == 0);
	CHECK(CALL("cublasGetMathMode", (void *, int *), h, &value) == 0 && value == 3);
	CHECK(CALL("cublasSetMathMode", (void *, int), h, 0) == 0);
	CHECK(CALL("cublasGetVersion_v2", (void *, int *), h, &value) == 0 && value >= 130000);
#define SGEMM(m, n, k)                                                                             \
	CALL("cublasSgemm_v2",                                                                     \
	     (void *, int, int, int, int, int, float *, void *, int, void *, int, float *, void *, \
	      int),                                                                                \
	     h, 1, 0, m, n, k, &one, data, 512, data, 512, &zero, data, 512)
	CHECK(SGEMM(512, 256, 512) == 0);
	CHECK(SGEMM(0, 256, 512) == 0);
	CHECK(SGEMM(-1, 256, 512) == 7);
	CHECK(CALL("cublasGemmStridedBatchedEx",
		   (void *, int, int, int, int, int, void *, void *, int, int, long long, void *,
		    int, int, long long, void *, void *, int, int, long long, int, int, int),
		   h, 0, 0, 128, 128, 64, &one, data, CUDA_R_16BF, 128, 8192LL, data, CUDA_R_16BF,
		   64, 8192LL, &zero, data, CUDA_R_16BF, 128, 16384LL, 8, 68, -1) == 0);
	CHECK(CALL("cublasSaxpy_v2", (void *, int, float *, void *, int, void *, int), h, 100, &one,
		   data, 1, data, 1) == 0);
	CHECK(CALL("cublasSaxpy_v2", (void *, int, float *, void *, int, void *, int), &tiny, 100,
		   &one, data, 1, data, 1) != 0);
	CHECK(CALL("cublasSetVector", (int, int, void *, int, void *, int), 4, 4, tiny, 1, data,
		   1) == 0);
	CHECK(CALL("cublasGetVector", (int, int, void *, int, void *, int), 4, 4, data, 1, back,
		   1) == 0);
	CHECK(!memcmp(tiny, back, sizeof(tiny)));
	CHECK(CALL("cublasDestroy_v2", (void *), h) == 0);
}

static void cublas_lt(void)
{
	void *h = NULL, *desc = NULL, *l[3] = {NULL, NULL, NULL}, *pref = NULL;
	char result[96], small[4];
	float one = 1, zero = 0;
	int trans = 1, n = 0, epilogue = 0;
	size_t written = 0, bytes = 32 << 20;

	use("libcublasLt.so.13");
	CHECK(CALL("cublasLtCreate", (void *), &h) == 0);
	CHECK(CALL("cublasLtMatmulDescCreate", (void *, int, int), &desc, 68, CUDA_R_32F) == 0);
	CHECK(CALL("cublasLtMatmulDescSetAttribute", (void *, int, void *, size_t), desc, 3, &trans,
		   sizeof(trans)) == 0);
	CHECK(CALL("cublasLtMatmulDescSetAttribute", (void *, int, void *, size_t), desc, 3, &trans,
		   (size_t)1) == 7);
	CHECK(CALL("cublasLtMatmulDescSetAttribute", (void *, int, void *, size_t), desc, 250,
		   &trans, sizeof(trans)) == 15);
	CHECK(CALL("cublasLtMatmulDescGetAttribute", (void *, int, void *, size_t, size_t *), desc,
		   7, &epilogue, sizeof(epilogue), &written) == 0);
	CHECK(epilogue == 1 && written == 4);
	CHECK(CALL("cublasLtMatmulDescGetAttribute", (void *, int, void *, size_t, size_t *), desc,
		   8, small, sizeof(small), NULL) == 7);
	for (int i = 0; i < 3; i++)
		CHECK(CALL("cublasLtMatrixLayoutCreate", (void *, int, uint64_t, uint64_t, int64_t),
			   &l[i], CUDA_R_16BF,
			   (uint64_t)(i == 0   ? 1024
				      : i == 1 ? 1024
					       : 4096),
			   (uint64_t)(i == 0 ? 4096 : 512), (int64_t)4096) == 0);
	CHECK(CALL("cublasLtMatmulPreferenceCreate", (void *), &pref) == 0);
	CHECK(CALL("cublasLtMatmulPreferenceSetAttribute", (void *, int, void *, size_t), pref, 1,
		   &bytes, sizeof(bytes)) == 0);
	CHECK(CALL("cublasLtMatmulAlgoGetHeuristic",
		   (void *, void *, void *, void *, void *, void *, void *, int, void *, int *), h,
		   desc, l[0], l[1], l[2], l[2], pref, 1, result, &n) == 0);
	CHECK(n == 1);
#define MATMUL(b)                                                                                  \
	CALL("cublasLtMatmul",                                                                     \
	     (void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,      \
	      void *, void *, void *, void *, size_t, void *),                                     \
	     h, desc, &one, data, l[0], data, b, &zero, data, l[2], data, l[2], result, NULL,      \
	     (size_t)0, stream)
	CHECK(MATMUL(l[1]) == 0);
	CHECK(MATMUL(NULL) == 7);
	CHECK(MATMUL(l[2]) == 7); /* inner dimensions differ */
	for (int i = 0; i < 3; i++)
		CHECK(CALL("cublasLtMatrixLayoutDestroy", (void *), l[i]) == 0);
	CALL("cublasLtMatmulPreferenceDestroy", (void *), pref);
	CALL("cublasLtMatmulDescDestroy", (void *), desc);
	CHECK(CALL("cublasLtDestroy", (void *), h) == 0);
	CHECK(cudaStreamQuery(stream) == cudaSuccess);
	CHECK(CALL("cublasLtDestroy", (void *), NULL) == 1);
}

/* A convolution through the graph API: tensors, operation, graph, heuristic, plan, execution. */
static void *backend(int type)
{
	void *d = NULL;

	CHECK(CALL("cudnnBackendCreateDescriptor", (int, void *), type, &d) == 0 && d);
	return d;
}

static void set(void *d, int name, int type, int64_t n, const void *v)
{
	CHECK(CALL("cudnnBackendSetAttribute", (void *, int, int, int64_t, const void *), d, name,
		   type, n, v) == 0);
}

static void cudnn(void)
{
	int64_t w[4] = {64, 32, 3, 3}, x[4] = {8, 32, 56, 56}, y[4] = {8, 64, 56, 56}, n = -1,
		ws = -1;
	void *h = NULL, *t[3], *op, *graph, *heur, *cfg, *plan, *pack;
	int half = 2;

	use("libcudnn.so.9");
	CHECK(CALL("cudnnCreate", (void *), &h) == 0);
	CHECK(CALL("cudnnSetStream", (void *, void *), h, stream) == 0);
	CHECK(CALL("cudnnBackendSetAttribute", (void *, int, int, int64_t, const void *), h, 0, 3,
		   (int64_t)1, &n) != 0);
	for (int i = 0; i < 3; i++) {
		t[i] = backend(17);
		set(t[i], 901, 1, 1, &half);
		set(t[i], 902, 3, 4, i == 0 ? w : i == 1 ? x : y);
		CHECK(CALL("cudnnBackendFinalize", (void *), t[i]) == 0);
	}
	CHECK(CALL("cudnnBackendSetAttribute", (void *, int, int, int64_t, const void *), t[0], 902,
		   3, (int64_t)-1, w) != 0);
	CHECK(CALL("cudnnBackendSetAttribute", (void *, int, int, int64_t, const void *), t[0], 902,
		   3, (int64_t)1 << 60, w) != 0);
	op = backend(10);
	for (int i = 0; i < 3; i++)
		set(op, 703 + i, 15, 1, &t[i]);
	graph = backend(15);
	set(graph, 801, 15, 1, &op);
	heur = backend(4);
	set(heur, 201, 15, 1, &graph);
	cfg = backend(3);
	CHECK(CALL("cudnnBackendGetAttribute", (void *, int, int, int64_t, int64_t *, void *), heur,
		   202, 15, (int64_t)1, &n, &cfg) == 0);
	CHECK(n == 1);
	plan = backend(5);
	set(plan, 401, 15, 1, &cfg);
	CHECK(CALL("cudnnBackendGetAttribute", (void *, int, int, int64_t, int64_t *, void *), plan,
		   402, 3, (int64_t)1, &n, &ws) == 0);
	CHECK(n == 1 && ws == 0);
	/* A plan outlives what it was made from. */
	for (int i = 0; i < 3; i++)
		CALL("cudnnBackendDestroyDescriptor", (void *), t[i]);
	CALL("cudnnBackendDestroyDescriptor", (void *), op);
	CALL("cudnnBackendDestroyDescriptor", (void *), graph);
	CALL("cudnnBackendDestroyDescriptor", (void *), heur);
	CALL("cudnnBackendDestroyDescriptor", (void *), cfg);
	pack = backend(16);
	CHECK(CALL("cudnnBackendExecute", (void *, void *, void *), h, plan, pack) == 0);
	CHECK(CALL("cudnnBackendExecute", (void *, void *, void *), h, NULL, pack) != 0);
	CHECK(CALL("cudnnBackendDestroyDescriptor", (void *), pack) == 0);
	CHECK(CALL("cudnnBackendDestroyDescriptor", (void *), plan) == 0);
	CHECK(CALL("cudnnDestroy", (void *), h) == 0);
}

/* Weights of an LSTM must lie in the space without gaps or overlaps. */
static void recurrent(void)
{
	void *r = NULL, *m, *b, *md = NULL, *bd = NULL, *dropout = NULL;
	size_t bytes = 0, seen = 0;
	char *base = (char *)0x10000;

	CHECK(CALL("cudnnCreateRNNDescriptor", (void *), &r) == 0);
	CHECK(CALL("cudnnCreateTensorDescriptor", (void *), &md) == 0);
	CHECK(CALL("cudnnCreateTensorDescriptor", (void *), &bd) == 0);
#define SET_RNN(hidden)                                                                            \
	CALL("cudnnSetRNNDescriptor_v8",                                                           \
	     (void *, int, int, int, int, int, int, int, int, int, int, int, int, void *,          \
	      unsigned),                                                                           \
	     r, 0, 2, 2, 1, 0, 0, 0, 0, 8, hidden, 16, 2, dropout, 0u)
	CHECK(SET_RNN(0) != 0);
	CHECK(SET_RNN(16) == 0);
	CHECK(CALL("cudnnGetRNNWeightSpaceSize", (void *, void *, size_t *), NULL, r, &bytes) == 0);
	for (int layer = 0; layer < 4; layer++)
		for (int linear = 0; linear < 8; linear++) {
			int type, n, dim[3], stride[3];

			CHECK(CALL("cudnnGetRNNWeightParams",
				   (void *, void *, int, size_t, void *, int, void *, void **,
				    void *, void **),
				   NULL, r, layer, bytes, base, linear, md, &m, bd, &b) == 0);
			CHECK(CALL("cudnnGetTensorNdDescriptor",
				   (void *, int, int *, int *, int *, int *), md, 3, &type, &n, dim,
				   stride) == 0);
			CHECK(n == 3 && (char *)m == base + seen);
			seen += (size_t)dim[1] * (size_t)dim[2] * 4;
			CHECK((char *)b >= base + bytes - 4 * 8 * 16 * 4 &&
			      (char *)b < base + bytes);
		}
	CHECK(seen + 4 * 8 * 16 * 4 == bytes);
	CHECK(CALL("cudnnGetRNNWeightParams",
		   (void *, void *, int, size_t, void *, int, void *, void **, void *, void **),
		   NULL, r, 4, bytes, base, 0, md, &m, bd, &b) != 0);
	CALL("cudnnDestroyRNNDescriptor", (void *), r);
	CALL("cudnnDestroyTensorDescriptor", (void *), md);
	CALL("cudnnDestroyTensorDescriptor", (void *), bd);
}

static void others(void)
{
	void *p = NULL;
	int plan = -1, major = 0, minor = 0;
	size_t bytes = 77;

	use("libcufft.so.12");
	CHECK(CALL("cufftPlan1d", (int *, int, int, int), &plan, 1024, 0x29, 8) == 0);
	CHECK(CALL("cufftSetStream", (int, void *), plan, stream) == 0);
	CHECK(CALL("cufftExecC2C", (int, void *, void *, int), plan, data, data, 1) == 0);
	CHECK(CALL("cufftDestroy", (int), plan) == 0);
	CHECK(CALL("cufftExecC2C", (int, void *, void *, int), plan, data, data, 1) != 0);
	CHECK(CALL("cufftExecC2C", (int, void *, void *, int), -5, data, data, 1) != 0);
	use("libcusolver.so.12");
	CHECK(CALL("cusolverDnCreate", (void *), &p) == 0 && p);
	CHECK(CALL("cusolverDnSetStream", (void *, void *), p, stream) == 0);
	major = 99;
	CHECK(CALL("cusolverDnSgetrf_bufferSize", (void *, int, int, void *, int, int *), p, 64, 64,
		   data, 64, &major) == 0);
	CHECK(major == 0); /* a stub zeroes what it owes */
	CHECK(CALL("cusolverDnSgetrf", (void *, int, int, void *, int, void *, void *, void *), p,
		   64, 64, data, 64, data, data, data) == 0);
	use("libcusparse.so.12");
	CHECK(CALL("cusparseCreate", (void *), &p) == 0 && p);
	CHECK(CALL("cusparseSpMM_bufferSize",
		   (void *, int, int, void *, void *, void *, void *, void *, int, int, size_t *),
		   p, 0, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, &bytes) == 0);
	CHECK(bytes == 0);
	use("libnvrtc.so.13");
	CHECK(CALL("nvrtcVersion", (int *, int *), &major, &minor) == 0 && major == 13);
	CHECK(CALL("nvrtcGetPTXSize", (void *, size_t *), NULL, &bytes) != 0);
}

/* Libraries answer for their version in parts. */
static void property(const char *soname, const char *name, int major)
{
	int value = -1;

	use(soname);
	CHECK(CALL(name, (int, int *), 0, &value) == 0 && value == major);
	CHECK(CALL(name, (int, int *), 3, &value) != 0);
}

static void nvml(void)
{
	char name[64], uuid[96], tiny[4];
	unsigned int n = 0;
	int on = 0;
	struct { /* nvmlFieldValue_t */
		unsigned int id, scope;
		long long at, latency;
		int type, status;
		unsigned long long value;
	} field[2] = {{.id = 91}, {.id = 100000}}; /* links; no such field */
	void *d = NULL, *same = NULL;

	use("libnvidia-ml.so.1");
	CHECK(CALL("nvmlDeviceGetCount_v2", (unsigned *), &n) == 1); /* uninitialised */
	CHECK(CALL("nvmlInit_v2", (void), ) == 0);
	CHECK(CALL("nvmlDeviceGetCount_v2", (unsigned *), &n) == 0 && n == 2);
	CHECK(CALL("nvmlDeviceGetHandleByIndex_v2", (unsigned, void *), 2u, &d) == 2);
	CHECK(CALL("nvmlDeviceGetHandleByIndex_v2", (unsigned, void *), 1u, &d) == 0);
	CHECK(CALL("nvmlDeviceGetName", (void *, char *, unsigned), d, name, 64u) == 0);
	CHECK(!strcmp(name, "NVIDIA H100 80GB HBM3"));
	CHECK(CALL("nvmlDeviceGetName", (void *, char *, unsigned), d, tiny, 4u) == 7);
	CHECK(CALL("nvmlDeviceGetUUID", (void *, char *, unsigned), d, uuid, 96u) == 0);
	CHECK(CALL("nvmlDeviceGetHandleByUUID", (char *, void *), uuid, &same) == 0 && same == d);
	CHECK(CALL("nvmlDeviceGetNvLinkState", (void *, unsigned, int *), d, 17u, &on) == 0 &&
	      on == 1);
	CHECK(CALL("nvmlDeviceGetNvLinkState", (void *, unsigned, int *), d, 18u, &on) == 2);
	CHECK(CALL("nvmlDeviceGetP2PStatus", (void *, void *, int, int *), d, d, 0, &on) == 0 &&
	      on == 0);
	CHECK(CALL("nvmlDeviceGetCurrPcieLinkGeneration", (void *, int *), d, &on) == 0 && on == 5);
	CHECK(CALL("nvmlDeviceGetFieldValues", (void *, int, void *), d, 2, field) == 0);
	CHECK(!field[0].status && field[0].value == 18 && field[1].status == 3);
	CHECK(CALL("nvmlDeviceGetFieldValues", (void *, int, void *), d, 0, field) == 2);
	CHECK(CALL("nvmlShutdown", (void), ) == 0);
	CHECK(CALL("nvmlShutdown", (void), ) == 1);
}

/* A handle is given back, and its library closed, while a kernel of the library runs: the device is waited for. */
static void destroyed(const char *name, void *handle)
{
	CHECK(CALL(name, (void *), handle) == 0);
	CHECK(cudaStreamQuery(stream) == cudaSuccess);
	dlclose(library);
	CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

static void destroy(void)
{
	float one = 1, zero = 0;
	void *h = NULL;
	int plan = -1;

	use("libcublas.so.13");
	CHECK(CALL("cublasCreate_v2", (void *), &h) == 0);
	CHECK(CALL("cublasSetStream_v2", (void *, void *), h, stream) == 0);
	CHECK(SGEMM(512, 256, 512) == 0);
	destroyed("cublasDestroy_v2", h);
	use("libcusolver.so.12");
	CHECK(CALL("cusolverDnCreate", (void *), &h) == 0);
	CHECK(CALL("cusolverDnSetStream", (void *, void *), h, stream) == 0);
	CHECK(CALL("cusolverDnSgetrf", (void *, int, int, void *, int, void *, void *, void *), h,
		   4, 4, data, 4, data, data, data) == 0);
	destroyed("cusolverDnDestroy", h);
	use("libcufft.so.12");
	CHECK(CALL("cufftPlan1d", (int *, int, int, int), &plan, 256, 0x29, 1) == 0);
	CHECK(CALL("cufftSetStream", (int, void *), plan, stream) == 0);
	CHECK(CALL("cufftExecC2C", (int, void *, void *, int), plan, data, data, -1) == 0);
	destroyed("cufftDestroy", (void *)(intptr_t)plan);
	cublas_lt();
	dlclose(library);
	use("libcublas.so.13");
	CHECK(CALL("cublasDestroy_v2", (void *), NULL) == 1);
}

int main(int argc, char **argv)
{
	nvml(); /* first: it must not need CUDA */
	if (argc > 1 && !strcmp(argv[1], "nvml"))
		return 0;
	CHECK(cudaMalloc((void **)&data, 64 << 20) == cudaSuccess);
	CHECK(cudaStreamCreate((cudaStream_t *)&stream) == cudaSuccess);
	if (argc > 1 && !strcmp(argv[1], "destroy")) {
		destroy();
		puts("ok");
		return 0;
	}
	cublas();
	cublas_lt();
	cudnn();
	recurrent();
	others();
	property("libcusparse.so.12", "cusparseGetProperty", 12);
	property("libcusolver.so.12", "cusolverGetProperty", 12);
	property("libcufft.so.12", "cufftGetProperty", 12);
	property("libcublas.so.13", "cublasGetProperty", 13);
	CHECK(cudaDeviceSynchronize() == cudaSuccess);
	puts("ok");
	return 0;
}
