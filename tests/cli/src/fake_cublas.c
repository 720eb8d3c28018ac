// SPDX-License-Identifier: Apache-2.0
/* shared: libfakecublas.so */
/* A cuBLAS that does nothing, for the cost of our wrapper around it (tests/bench/bench_hook.c). */
int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
		 int at, int lda, const void *b, int bt, int ldb, const void *beta, void *c, int ct,
		 int ldc, int compute, int algo);

int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
		 int at, int lda, const void *b, int bt, int ldb, const void *beta, void *c, int ct,
		 int ldc, int compute, int algo)
{
	return 0;
}
