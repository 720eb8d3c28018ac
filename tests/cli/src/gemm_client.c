// SPDX-License-Identifier: Apache-2.0
/* link: cublas cublasLt cudart */
/*
 * Calls of cuBLAS in its various forms, linked and by dlsym. Our own declarations: the simulated libraries bring no
 * headers. Prints a line for each call that a recorder must have: sizes, batch, types, compute, operations, flags.
 *   gemm_client           the calls
 *   gemm_client missing   a library without the entry point: dlsym says no
 *   gemm_client graph     three products captured (same kernel, other depths), replayed; a line
 *                         "flops N" for all of it, the two products outside included
 *   gemm_client second F  opens a second cuBLAS, F, and multiplies with the first
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void *handle;
int cudaSetDevice(int device);
int cudaMalloc(void **p, size_t bytes);
int cudaDeviceSynchronize(void);
int cudaStreamCreate(void **stream);
int cudaStreamBeginCapture(void *stream, int mode);
int cudaStreamEndCapture(void *stream, void **graph);
int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *exec, void *stream);
int cublasCreate_v2(handle *h);
int cublasSetStream_v2(handle h, void *stream);
int cublasSetMathMode(handle h, int mode);
int cublasSgemm_v2(handle h, int ta, int tb, int m, int n, int k, const float *alpha,
		   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
		   int ldc);
int cublasDgemm_v2_64(handle h, int ta, int tb, int64_t m, int64_t n, int64_t k,
		      const double *alpha, const double *a, int64_t lda, const double *b,
		      int64_t ldb, const double *beta, double *c, int64_t ldc);
int cublasGemmEx(handle h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
		 int at, int lda, const void *b, int bt, int ldb, const void *beta, void *c, int ct,
		 int ldc, int compute, int algo);
int cublasGemmStridedBatchedEx(handle h, int ta, int tb, int m, int n, int k, const void *alpha,
			       const void *a, int at, int lda, long long sa, const void *b, int bt,
			       int ldb, long long sb, const void *beta, void *c, int ct, int ldc,
			       long long sc, int batch, int compute, int algo);
int cublasSgemmGroupedBatched(handle h, const int *ta, const int *tb, const int *m, const int *n,
			      const int *k, const float *alpha, const float *const *a,
			      const int *lda, const float *const *b, const int *ldb,
			      const float *beta, float *const *c, const int *ldc, int groups,
			      const int *size);
int cublasLtMatmulDescCreate(handle *d, int compute, int scale);
int cublasLtMatmulDescSetAttribute(handle d, int attr, const void *v, size_t n);
int cublasLtMatrixLayoutCreate(handle *l, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(handle l, int attr, const void *v, size_t n);
int cublasLtMatmul(handle h, handle d, const void *alpha, const void *a, handle la, const void *b,
		   handle lb, const void *beta, const void *c, handle lc, void *out, handle lo,
		   const void *algo, void *space, size_t bytes, void *stream);

static int check(int rc, const char *what)
{
	if (rc)
		fprintf(stderr, "%s: %d\n", what, rc);
	return rc != 0;
}

static handle layout(int type, uint64_t rows, uint64_t cols, int32_t batch, int64_t stride)
{
	handle l = NULL;

	cublasLtMatrixLayoutCreate(&l, type, rows, cols, (int64_t)rows);
	cublasLtMatrixLayoutSetAttribute(l, 5, &batch, sizeof(batch));
	cublasLtMatrixLayoutSetAttribute(l, 6, &stride, sizeof(stride));
	return l;
}

/* fp8, A transposed, four products with one B, and a bias. */
static int lt(handle h, void *p, float *one)
{
	int32_t yes = 1;
	uint32_t epilogue = 4;
	handle d = NULL;

	cublasLtMatmulDescCreate(&d, 68, 0);
	cublasLtMatmulDescSetAttribute(d, 3, &yes, sizeof(yes));
	cublasLtMatmulDescSetAttribute(d, 7, &epilogue, sizeof(epilogue));
	puts("gemm 64 32 16 4 28 28 14 68 1 2 4");
	return check(cublasLtMatmul(h, d, one, p, layout(28, 16, 64, 4, 1024), p,
				    layout(28, 16, 32, 4, 0), one, p, layout(14, 64, 32, 4, 2048),
				    p, layout(14, 64, 32, 4, 2048), NULL, NULL, 0, NULL),
		     "cublasLtMatmul");
}

static int calls(handle h, void *p)
{
	float one = 1, ones[2] = {1, 1};
	double done = 1;
	int two_ops[2] = {0, 0}, gm[2] = {3, 5}, gn[2] = {4, 6}, gk[2] = {7, 8}, size[2] = {2, 1};
	float *list[3] = {p, p, p};
	__typeof__(&cublasGemmEx) by_name =
		(__typeof__(by_name))dlsym(RTLD_DEFAULT, "cublasGemmEx");
	int bad = !by_name;

	puts("gemm 8 16 32 1 0 0 0 68 0 0 0");
	bad |= check(cublasSgemm_v2(h, 0, 0, 8, 16, 32, &one, p, 8, p, 32, &one, p, 8),
		     "cublasSgemm_v2");
	puts("gemm 9 17 33 1 1 1 1 70 5 0 0");
	bad |= check(cublasDgemm_v2_64(h, 1, 1, 9, 17, 33, &done, p, 33, p, 17, &done, p, 9),
		     "cublasDgemm_v2_64");
	puts("gemm 8 16 64 1 14 14 14 68 4 0 0");
	bad |= check(by_name(h, 0, 1, 8, 16, 64, &one, p, 14, 8, p, 14, 16, &one, p, 14, 8, 68, -1),
		     "cublasGemmEx");
	cublasSetMathMode(h, 3);
	puts("gemm 8 16 65 1 0 0 0 68 0 4 0");
	bad |= check(
		cublasGemmEx(h, 0, 0, 8, 16, 65, &one, p, 0, 8, p, 0, 65, &one, p, 0, 8, 68, -1),
		"cublasGemmEx");
	cublasSetMathMode(h, 0);
	puts("gemm 8 16 66 12 2 2 2 68 0 1 0");
	bad |= check(cublasGemmStridedBatchedEx(h, 0, 0, 8, 16, 66, &one, p, 2, 8, 0, p, 2, 66,
						1056, &one, p, 2, 8, 128, 12, 68, -1),
		     "cublasGemmStridedBatchedEx");
	/* 2 x (3 x 4 x 7) + 5 x 6 x 8 = 408; read 2 x 7 x 7 + 11 x 8 = 186; written 2 x 12 + 30 = 54 */
	puts("gemm 408 186 54 0 0 0 0 68 0 8 0");
	cublasSgemmGroupedBatched(h, two_ops, two_ops, gm, gn, gk, ones, (const float *const *)list,
				  gm, (const float *const *)list, gk, ones, list, gm, 2, size);
	bad |= lt(h, p, &one);
	return bad;
}

#define REPLAYS 4

static int multiply(handle h, void *p, int k)
{
	float one = 1;

	return cublasGemmEx(h, 0, 0, 64, 64, k, &one, p, 14, 64, p, 14, k, &one, p, 14, 64, 68, -1);
}

static int graph(handle h, void *p)
{
	static const int depth[3] = {32, 256, 64};
	void *stream, *captured, *exec;
	uint64_t sum = 0;

	if (cudaStreamCreate(&stream) || cublasSetStream_v2(h, stream) || multiply(h, p, 128) ||
	    cudaStreamBeginCapture(stream, 0))
		return 1;
	for (int i = 0; i < 3; i++) {
		if (check(multiply(h, p, depth[i]), "captured"))
			return 1;
		sum += (uint64_t)depth[i];
	}
	if (cudaStreamEndCapture(stream, &captured) || cudaGraphInstantiate(&exec, captured, 0))
		return 1;
	for (int i = 0; i < REPLAYS; i++)
		if (check(cudaGraphLaunch(exec, stream), "cudaGraphLaunch"))
			return 1;
	if (multiply(h, p, 128))
		return 1;
	printf("flops %llu\n", (unsigned long long)(2 * 64 * 64 * (sum * REPLAYS + 2 * 128)));
	return 0;
}

int main(int argc, char **argv)
{
	handle h = NULL;
	void *p = NULL;

	if (argc == 2 && !strcmp(argv[1], "missing")) {
		void *self = dlopen("libcudart.so.13", RTLD_NOW);

		puts(dlsym(self, "cublasHgemm") ? "found" : "not found");
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "second") && !dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	if (cudaSetDevice(0) || cublasCreate_v2(&h) || cudaMalloc(&p, 1 << 20))
		return 1;
	if (argc == 2 && !strcmp(argv[1], "graph") ? graph(h, p) : calls(h, p))
		return 1;
	return cudaDeviceSynchronize() != 0;
}
