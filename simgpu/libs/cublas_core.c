/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcublas.so.13: handles and their settings, and the copies. The products are in cublas_gemm.c; what remains of
 * BLAS launches a kernel of its name (launches.tsv) or is a stub. Any thread; a handle is its caller's to guard.
 */
#include <string.h>

#include "simgpu/cudart/rt.h"
#include "simgpu/libs/lib_handle.h"
#include "simgpu/libs/lib_kernel.h"
#include "simgpu/libs/lib_stub.h"
#include "simgpu/libs/lt_attr.h"

#define CUBLAS_VERSION_NUMBER 130300

/* A handle with its settings, or the call ends. */
#define HANDLE(h, p)                                                                               \
	struct sim_lib_handle *h = sim_lib_handle(p);                                              \
	if (!h)                                                                                    \
	return LT_NOT_INITIALIZED

SIM_API int cublasCreate_v2(void **ret)
{
	struct sim_lib_handle *h;

	if (!ret)
		return LT_INVALID_VALUE;
	/* As in life, making a handle makes the device's context. */
	if (cudaFree(NULL) != cudaSuccess)
		return LT_NOT_INITIALIZED;
	h = sim_lib_handle_new();
	if (!h)
		return LT_NOT_INITIALIZED;
	*ret = h;
	return LT_OK;
}

SIM_API int cublasDestroy_v2(void *handle)
{
	HANDLE(h, handle);
	sim_lib_handle_free(h);
	return LT_OK;
}

SIM_API int cublasSetStream_v2(void *handle, void *stream)
{
	HANDLE(h, handle);
	h->stream = stream;
	h->workspace = NULL; /* a new stream means the default workspace */
	h->workspace_bytes = 0;
	return LT_OK;
}

SIM_API int cublasGetStream_v2(void *handle, void **ret)
{
	HANDLE(h, handle);
	if (!ret)
		return LT_INVALID_VALUE;
	*ret = h->stream;
	return LT_OK;
}

SIM_API int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes)
{
	HANDLE(h, handle);
	h->workspace = workspace;
	h->workspace_bytes = bytes;
	return LT_OK;
}

static int get_int(void *handle, size_t at, int *ret)
{
	HANDLE(h, handle);
	if (!ret)
		return LT_INVALID_VALUE;
	memcpy(ret, (char *)h + at, sizeof(*ret));
	return LT_OK;
}

static int set_int(void *handle, size_t at, int value)
{
	HANDLE(h, handle);
	memcpy((char *)h + at, &value, sizeof(value));
	return LT_OK;
}

#define SETTING(name, member)                                                                      \
	SIM_API int cublasGet##name(void *handle, int *ret)                                        \
	{                                                                                          \
		return get_int(handle, offsetof(struct sim_lib_handle, member), ret);              \
	}                                                                                          \
	SIM_API int cublasSet##name(void *handle, int value)                                       \
	{                                                                                          \
		return set_int(handle, offsetof(struct sim_lib_handle, member), value);            \
	}

/* SIM_API_NAMES: cublasGetMathMode cublasSetMathMode cublasGetPointerMode_v2 cublasSetPointerMode_v2 */
/* SIM_API_NAMES: cublasGetAtomicsMode cublasSetAtomicsMode cublasGetSmCountTarget cublasSetSmCountTarget */
SETTING(MathMode, math_mode)
SETTING(PointerMode_v2, pointer_mode)
SETTING(AtomicsMode, atomics_mode)
SETTING(SmCountTarget, sm_target)

SIM_API int cublasGetVersion_v2(void *handle, int *ret)
{
	if (!ret)
		return LT_INVALID_VALUE;
	*ret = CUBLAS_VERSION_NUMBER;
	return LT_OK;
}

SIM_API size_t cublasGetCudartVersion(void)
{
	return CUDART_VERSION;
}

/* SIM_API_NAMES: cublasGetProperty */
SIM_GET_PROPERTY(cublasGetProperty, CUBLAS_VERSION_NUMBER, LT_INVALID_VALUE)

/* Rows and columns between host and device; increments other than one are rare, and copied as a pitched rectangle. */
static int copy2d(const void *src, size_t src_pitch, void *dst, size_t dst_pitch, size_t width,
		  size_t height, enum cudaMemcpyKind kind, cudaStream_t stream, int async)
{
	cudaError_t err;

	if (async)
		err = cudaMemcpy2DAsync(dst, dst_pitch, src, src_pitch, width, height, kind,
					stream);
	else
		err = cudaMemcpy2D(dst, dst_pitch, src, src_pitch, width, height, kind);
	return err == cudaSuccess ? LT_OK : LT_INVALID_VALUE;
}

static int vector(int n, int size, const void *x, int incx, void *y, int incy,
		  enum cudaMemcpyKind kind, cudaStream_t stream, int async)
{
	if (n < 0 || size <= 0 || incx <= 0 || incy <= 0)
		return LT_INVALID_VALUE;
	if (!n)
		return LT_OK;
	return copy2d(x, (size_t)size * (size_t)incx, y, (size_t)size * (size_t)incy, (size_t)size,
		      (size_t)n, kind, stream, async);
}

static int matrix(int rows, int cols, int size, const void *a, int lda, void *b, int ldb,
		  enum cudaMemcpyKind kind, cudaStream_t stream, int async)
{
	if (rows < 0 || cols < 0 || size <= 0 || lda < rows || ldb < rows)
		return LT_INVALID_VALUE;
	if (!rows || !cols)
		return LT_OK;
	return copy2d(a, (size_t)size * (size_t)lda, b, (size_t)size * (size_t)ldb,
		      (size_t)size * (size_t)rows, (size_t)cols, kind, stream, async);
}

#define COPIES(verb, kind)                                                                         \
	SIM_API int cublas##verb##Vector(int n, int size, const void *x, int incx, void *y,        \
					 int incy)                                                 \
	{                                                                                          \
		return vector(n, size, x, incx, y, incy, kind, NULL, 0);                           \
	}                                                                                          \
	SIM_API int cublas##verb##VectorAsync(int n, int size, const void *x, int incx, void *y,   \
					      int incy, cudaStream_t stream)                       \
	{                                                                                          \
		return vector(n, size, x, incx, y, incy, kind, stream, 1);                         \
	}                                                                                          \
	SIM_API int cublas##verb##Matrix(int rows, int cols, int size, const void *a, int lda,     \
					 void *b, int ldb)                                         \
	{                                                                                          \
		return matrix(rows, cols, size, a, lda, b, ldb, kind, NULL, 0);                    \
	}                                                                                          \
	SIM_API int cublas##verb##MatrixAsync(int rows, int cols, int size, const void *a,         \
					      int lda, void *b, int ldb, cudaStream_t stream)      \
	{                                                                                          \
		return matrix(rows, cols, size, a, lda, b, ldb, kind, stream, 1);                  \
	}

/* SIM_API_NAMES: cublasSetVector cublasSetVectorAsync cublasSetMatrix cublasSetMatrixAsync */
/* SIM_API_NAMES: cublasGetVector cublasGetVectorAsync cublasGetMatrix cublasGetMatrixAsync */
COPIES(Set, cudaMemcpyHostToDevice)
COPIES(Get, cudaMemcpyDeviceToHost)
