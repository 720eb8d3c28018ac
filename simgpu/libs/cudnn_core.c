/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcudnn.so.9: handles, tensor and filter descriptors, and the older calls that launch one kernel each. The graph
 * API is in cudnn_backend.c; everything else is a stub. Any thread; a descriptor is its caller's to guard.
 */
#include <stdlib.h>
#include <string.h>

#include "simgpu/libs/cudnn_graph.h"
#include "simgpu/libs/lib_kernel.h"
#include "simgpu/libs/lib_streams.h"

/* What the newest PyTorch was built with: it refuses an older library of the same major version. */
#define CUDNN_VERSION_NUMBER 92600
#define MAX_DIMS	     8

/* Tensor and filter descriptors. */
struct shape {
	int type, format, n;
	int dim[MAX_DIMS], stride[MAX_DIMS];
};

/* cudnnConvolution*AlgoPerf_t, as the callers' arrays hold it. */
struct algo_perf {
	int algo, status;
	float time;
	size_t memory;
	int determinism, math_type, reserved[3];
};

SIM_API int cudnnCreate(void **ret)
{
	return sim_handle_create(ret, CUDNN_NOT_INITIALIZED);
}

/* SIM_API_NAMES: cudnnDestroy cudnnSetStream cudnnGetStream */
SIM_HANDLE_DESTROY(cudnnDestroy, CUDNN_BAD_PARAM)
SIM_HANDLE_SET_STREAM(cudnnSetStream, CUDNN_BAD_PARAM)
SIM_HANDLE_GET_STREAM(cudnnGetStream, CUDNN_BAD_PARAM)

SIM_API size_t cudnnGetVersion(void)
{
	return CUDNN_VERSION_NUMBER;
}

SIM_API size_t cudnnGetCudartVersion(void)
{
	return CUDA_VERSION;
}

/* SIM_API_NAMES: cudnnGetProperty */
SIM_GET_PROPERTY(cudnnGetProperty, CUDNN_VERSION_NUMBER, CUDNN_BAD_PARAM)

SIM_API const char *cudnnGetErrorString(int status)
{
	switch (status) {
	case CUDNN_OK:
		return "CUDNN_STATUS_SUCCESS";
	case CUDNN_NOT_INITIALIZED:
		return "CUDNN_STATUS_NOT_INITIALIZED";
	case CUDNN_EXECUTION_FAILED:
		return "CUDNN_STATUS_EXECUTION_FAILED";
	}
	return "CUDNN_STATUS_BAD_PARAM";
}

SIM_API void cudnnGetLastErrorString(char *message, size_t n)
{
	if (message && n)
		message[0] = 0;
}

/* ---- descriptors ---- */
static int shape_new(void **ret)
{
	if (!ret)
		return CUDNN_BAD_PARAM_NULL;
	*ret = calloc(1, sizeof(struct shape));
	return *ret ? CUDNN_OK : CUDNN_ALLOC_FAILED;
}

SIM_API int cudnnCreateTensorDescriptor(void **ret)
{
	return shape_new(ret);
}

SIM_API int cudnnCreateFilterDescriptor(void **ret)
{
	return shape_new(ret);
}

SIM_API int cudnnDestroyTensorDescriptor(void *d)
{
	free(d);
	return CUDNN_OK;
}

SIM_API int cudnnDestroyFilterDescriptor(void *d)
{
	free(d);
	return CUDNN_OK;
}

static int shape_set(struct shape *s, int type, int format, int n, const int *dim,
		     const int *stride)
{
	if (!s || !dim || n < 0 || n > MAX_DIMS)
		return CUDNN_BAD_PARAM;
	memset(s, 0, sizeof(*s));
	s->type = type;
	s->format = format;
	s->n = n;
	for (int i = 0; i < n; i++) {
		s->dim[i] = dim[i];
		s->stride[i] = stride ? stride[i] : 0;
	}
	return CUDNN_OK;
}

SIM_API int cudnnSetTensorNdDescriptor(struct shape *s, int type, int n, const int *dim,
				       const int *stride)
{
	return shape_set(s, type, 0, n, dim, stride);
}

SIM_API int cudnnSetFilterNdDescriptor(struct shape *s, int type, int format, int n, const int *dim)
{
	return shape_set(s, type, format, n, dim, NULL);
}

SIM_API int cudnnSetTensor4dDescriptor(struct shape *s, int format, int type, int n, int c, int h,
				       int w)
{
	const int dim[] = {n, c, h, w};

	return shape_set(s, type, format, 4, dim, NULL);
}

static int shape_get(const struct shape *s, int wanted, int *n, int *dim, int *stride)
{
	if (!s)
		return CUDNN_BAD_PARAM;
	if (n)
		*n = s->n;
	for (int i = 0; i < wanted && i < s->n; i++) {
		if (dim)
			dim[i] = s->dim[i];
		if (stride)
			stride[i] = s->stride[i];
	}
	return CUDNN_OK;
}

SIM_API int cudnnGetTensorNdDescriptor(const struct shape *s, int wanted, int *type, int *n,
				       int *dim, int *stride)
{
	if (s && type)
		*type = s->type;
	return shape_get(s, wanted, n, dim, stride);
}

SIM_API int cudnnGetFilterNdDescriptor(const struct shape *s, int wanted, int *type, int *format,
				       int *n, int *dim)
{
	if (s && type)
		*type = s->type;
	if (s && format)
		*format = s->format;
	return shape_get(s, wanted, n, dim, NULL);
}

/* ---- convolutions of the older API ---- */
static int one_algorithm(int requested, int *returned, struct algo_perf *perf)
{
	if (requested < 1 || !perf)
		return CUDNN_BAD_PARAM;
	memset(perf, 0, sizeof(*perf));
	perf->algo = 1;
	perf->time = 0.01f;
	perf->determinism = 1;
	if (returned)
		*returned = 1;
	return CUDNN_OK;
}

#define ALGORITHMS(what)                                                                           \
	SIM_API int cudnnGetConvolution##what##Algorithm_v7(void *h, void *a, void *b, void *conv, \
							    void *c, int requested, int *returned, \
							    struct algo_perf *perf)                \
	{                                                                                          \
		return one_algorithm(requested, returned, perf);                                   \
	}                                                                                          \
	SIM_API int cudnnFindConvolution##what##AlgorithmEx(                                       \
		void *h, void *ad, const void *a, void *bd, const void *b, void *conv, void *cd,   \
		void *c, int requested, int *returned, struct algo_perf *perf, void *work,         \
		size_t bytes)                                                                      \
	{                                                                                          \
		return one_algorithm(requested, returned, perf);                                   \
	}
/* SIM_API_NAMES: cudnnGetConvolutionForwardAlgorithm_v7 cudnnFindConvolutionForwardAlgorithmEx */
/* SIM_API_NAMES: cudnnGetConvolutionBackwardDataAlgorithm_v7 cudnnFindConvolutionBackwardDataAlgorithmEx */
/* SIM_API_NAMES: cudnnGetConvolutionBackwardFilterAlgorithm_v7 cudnnFindConvolutionBackwardFilterAlgorithmEx */
ALGORITHMS(Forward)
ALGORITHMS(BackwardData)
ALGORITHMS(BackwardFilter)

static void operand(struct cudnn_dims *d, const struct shape *s)
{
	if (!s)
		return;
	d->type = s->type;
	d->n = s->n;
	for (int i = 0; i < s->n; i++)
		d->dim[i] = s->dim[i];
}

static int convolve(void *handle, int type, const struct shape *w, const struct shape *x,
		    const struct shape *y)
{
	struct sim_lib_handle *h = sim_lib_handle(handle);
	struct cudnn_operation op = {.type = type};
	struct cudnn_graph g = {0};

	if (!h)
		return CUDNN_BAD_PARAM;
	operand(&op.operand[0], w);
	operand(&op.operand[1], x);
	operand(&op.operand[2], y);
	cudnn_graph_add(&g, &op);
	return cudnn_graph_launch(&g, h->stream) ? CUDNN_EXECUTION_FAILED : CUDNN_OK;
}

SIM_API int cudnnConvolutionForward(void *h, const void *alpha, const struct shape *xd,
				    const void *x, const struct shape *wd, const void *w,
				    void *conv, int algo, void *work, size_t bytes,
				    const void *beta, const struct shape *yd, void *y)
{
	return convolve(h, CUDNN_OP_CONV_FORWARD, wd, xd, yd);
}

SIM_API int cudnnConvolutionBiasActivationForward(void *h, const void *a1, const struct shape *xd,
						  const void *x, const struct shape *wd,
						  const void *w, void *conv, int algo, void *work,
						  size_t bytes, const void *a2,
						  const struct shape *zd, const void *z,
						  const struct shape *bd, const void *b, void *act,
						  const struct shape *yd, void *y)
{
	return convolve(h, CUDNN_OP_CONV_FORWARD, wd, xd, yd);
}

SIM_API int cudnnConvolutionBackwardData(void *h, const void *alpha, const struct shape *wd,
					 const void *w, const struct shape *dyd, const void *dy,
					 void *conv, int algo, void *work, size_t bytes,
					 const void *beta, const struct shape *dxd, void *dx)
{
	return convolve(h, CUDNN_OP_CONV_BWD_DATA, wd, dxd, dyd);
}

SIM_API int cudnnConvolutionBackwardFilter(void *h, const void *alpha, const struct shape *xd,
					   const void *x, const struct shape *dyd, const void *dy,
					   void *conv, int algo, void *work, size_t bytes,
					   const void *beta, const struct shape *dwd, void *dw)
{
	return convolve(h, CUDNN_OP_CONV_BWD_FILTER, dwd, xd, dyd);
}
