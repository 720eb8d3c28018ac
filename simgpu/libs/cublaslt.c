/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcublasLt.so.13: descriptors that keep what is put into them, a heuristic with one answer, and the matrix product
 * as a launch. Everything else is a stub. Any thread.
 */
#include <stdlib.h>
#include <string.h>

#include "simgpu/libs/lib_gemm.h"
#include "simgpu/libs/lib_stub.h"
#include "simgpu/libs/lt_attr.h"

#define LT_VERSION 130300
#define ALGO_ID	   66

struct lt_result { /* cublasLtMatmulHeuristicResult_t */
	uint64_t algo[8];
	size_t workspace;
	int state;
	float waves;
	int reserved[4];
};
_Static_assert(sizeof(struct lt_result) == 96, "as in cublasLt.h");

static int make(const struct lt_kind *kind, void **ret)
{
	if (!ret)
		return LT_INVALID_VALUE;
	*ret = calloc(1, kind->size);
	return *ret ? LT_OK : LT_ALLOC_FAILED;
}

static int init(const struct lt_kind *kind, void *object, size_t size)
{
	if (!object || size < kind->size)
		return LT_INVALID_VALUE;
	memset(object, 0, kind->size);
	return LT_OK;
}

static void put32(const struct lt_kind *kind, void *object, int attr, int32_t value)
{
	lt_attr_set(kind, object, attr, &value, sizeof(value));
}

static void put64(const struct lt_kind *kind, void *object, int attr, int64_t value)
{
	lt_attr_set(kind, object, attr, &value, sizeof(value));
}

/* ---- layouts ---- */
SIM_API int cublasLtMatrixLayoutInit_internal(void *layout, size_t size, int type, uint64_t rows,
					      uint64_t cols, int64_t ld)
{
	int r = init(&lt_layout_kind, layout, size);

	if (r != LT_OK)
		return r;
	put32(&lt_layout_kind, layout, LT_LAYOUT_TYPE, type);
	put64(&lt_layout_kind, layout, LT_LAYOUT_ROWS, (int64_t)rows);
	put64(&lt_layout_kind, layout, LT_LAYOUT_COLS, (int64_t)cols);
	put64(&lt_layout_kind, layout, LT_LAYOUT_LD, ld);
	put32(&lt_layout_kind, layout, LT_LAYOUT_BATCH, 1);
	return LT_OK;
}

SIM_API int cublasLtMatrixLayoutCreate(void **ret, int type, uint64_t rows, uint64_t cols,
				       int64_t ld)
{
	int r = make(&lt_layout_kind, ret);

	return r == LT_OK ? cublasLtMatrixLayoutInit_internal(*ret, lt_layout_kind.size, type, rows,
							      cols, ld)
			  : r;
}

SIM_API int cublasLtMatrixLayoutDestroy(void *layout)
{
	free(layout);
	return LT_OK;
}

SIM_API int cublasLtMatrixLayoutSetAttribute(void *layout, int attr, const void *buf, size_t bytes)
{
	return lt_attr_set(&lt_layout_kind, layout, attr, buf, bytes);
}

SIM_API int cublasLtMatrixLayoutGetAttribute(const void *layout, int attr, void *buf, size_t bytes,
					     size_t *written)
{
	return lt_attr_get(&lt_layout_kind, layout, attr, buf, bytes, written);
}

/* ---- operation descriptors ---- */
SIM_API int cublasLtMatmulDescInit_internal(void *desc, size_t size, int compute, int scale)
{
	int r = init(&lt_matmul_kind, desc, size);

	if (r != LT_OK)
		return r;
	put32(&lt_matmul_kind, desc, LT_MATMUL_COMPUTE, compute);
	put32(&lt_matmul_kind, desc, LT_MATMUL_SCALE_TYPE, scale);
	put32(&lt_matmul_kind, desc, LT_MATMUL_EPILOGUE, 1);
	return LT_OK;
}

SIM_API int cublasLtMatmulDescCreate(void **ret, int compute, int scale)
{
	int r = make(&lt_matmul_kind, ret);

	return r == LT_OK
		       ? cublasLtMatmulDescInit_internal(*ret, lt_matmul_kind.size, compute, scale)
		       : r;
}

SIM_API int cublasLtMatmulDescDestroy(void *desc)
{
	free(desc);
	return LT_OK;
}

SIM_API int cublasLtMatmulDescSetAttribute(void *desc, int attr, const void *buf, size_t bytes)
{
	return lt_attr_set(&lt_matmul_kind, desc, attr, buf, bytes);
}

SIM_API int cublasLtMatmulDescGetAttribute(const void *desc, int attr, void *buf, size_t bytes,
					   size_t *written)
{
	return lt_attr_get(&lt_matmul_kind, desc, attr, buf, bytes, written);
}

SIM_API int cublasLtMatrixTransformDescInit_internal(void *desc, size_t size, int scale)
{
	int r = init(&lt_transform_kind, desc, size);

	if (r == LT_OK)
		put32(&lt_transform_kind, desc, 0, scale);
	return r;
}

SIM_API int cublasLtMatrixTransformDescCreate(void **ret, int scale)
{
	int r = make(&lt_transform_kind, ret);

	return r == LT_OK ? cublasLtMatrixTransformDescInit_internal(*ret, lt_transform_kind.size,
								     scale)
			  : r;
}

SIM_API int cublasLtMatrixTransformDescDestroy(void *desc)
{
	free(desc);
	return LT_OK;
}

SIM_API int cublasLtMatrixTransformDescSetAttribute(void *desc, int attr, const void *buf,
						    size_t bytes)
{
	return lt_attr_set(&lt_transform_kind, desc, attr, buf, bytes);
}

SIM_API int cublasLtMatrixTransformDescGetAttribute(const void *desc, int attr, void *buf,
						    size_t bytes, size_t *written)
{
	return lt_attr_get(&lt_transform_kind, desc, attr, buf, bytes, written);
}

/* ---- preferences ---- */
SIM_API int cublasLtMatmulPreferenceInit_internal(void *pref, size_t size)
{
	return init(&lt_preference_kind, pref, size);
}

SIM_API int cublasLtMatmulPreferenceCreate(void **ret)
{
	return make(&lt_preference_kind, ret);
}

SIM_API int cublasLtMatmulPreferenceDestroy(void *pref)
{
	free(pref);
	return LT_OK;
}

SIM_API int cublasLtMatmulPreferenceSetAttribute(void *pref, int attr, const void *buf,
						 size_t bytes)
{
	return lt_attr_set(&lt_preference_kind, pref, attr, buf, bytes);
}

SIM_API int cublasLtMatmulPreferenceGetAttribute(const void *pref, int attr, void *buf,
						 size_t bytes, size_t *written)
{
	return lt_attr_get(&lt_preference_kind, pref, attr, buf, bytes, written);
}

/* ---- algorithms: there is one ---- */
static void fill_algo(void *algo)
{
	memset(algo, 0, lt_algo_kind.size);
	put32(&lt_algo_kind, algo, LT_ALGO_ID, ALGO_ID);
	put32(&lt_algo_kind, algo, LT_ALGO_TILE, 20);
	put32(&lt_algo_kind, algo, LT_ALGO_SPLITK, 1);
	put32(&lt_algo_kind, algo, LT_ALGO_STAGES, 14);
}

SIM_API int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c,
					   void *d, void *pref, int requested,
					   struct lt_result *results, int *ret_count)
{
	if (!desc || !a || !b || !c || !d || !results || !ret_count || requested < 1)
		return LT_INVALID_VALUE;
	memset(results, 0, sizeof(*results));
	fill_algo(results->algo);
	results->waves = 1;
	*ret_count = 1;
	return LT_OK;
}

SIM_API int cublasLtMatmulAlgoGetIds(void *handle, int compute, int scale, int a, int b, int c,
				     int d, int requested, int *ids, int *ret_count)
{
	if (requested < 1 || !ids || !ret_count)
		return LT_INVALID_VALUE;
	ids[0] = ALGO_ID;
	*ret_count = 1;
	return LT_OK;
}

SIM_API int cublasLtMatmulAlgoInit(void *handle, int compute, int scale, int a, int b, int c, int d,
				   int id, void *algo)
{
	if (!algo)
		return LT_INVALID_VALUE;
	fill_algo(algo);
	put32(&lt_algo_kind, algo, LT_ALGO_ID, id);
	return LT_OK;
}

SIM_API int cublasLtMatmulAlgoCheck(void *handle, void *desc, void *a, void *b, void *c, void *d,
				    const void *algo, struct lt_result *result)
{
	if (!algo || !result)
		return LT_INVALID_VALUE;
	memmove(result->algo, algo, sizeof(result->algo));
	result->workspace = 0;
	result->state = LT_OK;
	result->waves = 1;
	return LT_OK;
}

SIM_API int cublasLtMatmulAlgoConfigSetAttribute(void *algo, int attr, const void *buf,
						 size_t bytes)
{
	return lt_attr_set(&lt_algo_kind, algo, attr, buf, bytes);
}

SIM_API int cublasLtMatmulAlgoConfigGetAttribute(const void *algo, int attr, void *buf,
						 size_t bytes, size_t *written)
{
	return lt_attr_get(&lt_algo_kind, algo, attr, buf, bytes, written);
}

/* ---- the product ---- */
static int beta_is_zero(const void *desc, const void *beta)
{
	int64_t mode = lt_attr(&lt_matmul_kind, desc, 2);
	static const char zero[16];
	int64_t scale = lt_attr(&lt_matmul_kind, desc, LT_MATMUL_SCALE_TYPE);

	if (!beta || mode != 0) /* on the device: not known here */
		return !beta;
	return !memcmp(beta, zero, sim_type_bits((int)scale) / 8);
}

static int64_t layout(const void *l, int attr)
{
	return lt_attr(&lt_layout_kind, l, attr);
}

SIM_API int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *la,
			   const void *b, void *lb, const void *beta, const void *c, void *lc,
			   void *d, void *ld, const void *algo, void *workspace,
			   size_t workspace_bytes, void *stream)
{
	struct sim_gemm g = {0};
	int row;

	if (!desc || !la || !lb || !ld || !alpha)
		return LT_INVALID_VALUE;
	row = layout(ld, LT_LAYOUT_ORDER) == 1;
	g.trans_a = (int)lt_attr(&lt_matmul_kind, desc, LT_MATMUL_TRANSA);
	g.trans_b = (int)lt_attr(&lt_matmul_kind, desc, LT_MATMUL_TRANSB);
	g.m = layout(ld, LT_LAYOUT_ROWS);
	g.n = layout(ld, LT_LAYOUT_COLS);
	g.k = layout(la, g.trans_a ? LT_LAYOUT_ROWS : LT_LAYOUT_COLS);
	g.batch = layout(ld, LT_LAYOUT_BATCH);
	if (g.batch < 1)
		g.batch = 1;
	if (layout(lb, g.trans_b ? LT_LAYOUT_COLS : LT_LAYOUT_ROWS) != g.k && !row)
		return LT_INVALID_VALUE;
	g.type_a = (int)layout(la, LT_LAYOUT_TYPE);
	g.type_b = (int)layout(lb, LT_LAYOUT_TYPE);
	g.type_d = (int)layout(ld, LT_LAYOUT_TYPE);
	g.compute = (int)lt_attr(&lt_matmul_kind, desc, LT_MATMUL_COMPUTE);
	g.reads_c = !beta_is_zero(desc, beta);
	if (lt_attr(&lt_matmul_kind, desc, LT_MATMUL_AUX_POINTER))
		g.aux_bytes = (double)g.m * (double)g.n * sim_type_bits(g.type_d) / 8;
	return sim_gemm_launch(&g, stream) == CUDA_SUCCESS ? LT_OK : LT_EXECUTION_FAILED;
}

SIM_API int cublasLtMatrixTransform(void *handle, void *desc, const void *alpha, const void *a,
				    void *la, const void *beta, const void *b, void *lb, void *c,
				    void *lc, void *stream)
{
	double bytes;

	if (!desc || !la || !lc)
		return LT_INVALID_VALUE;
	bytes = 2 * (double)layout(la, LT_LAYOUT_ROWS) * (double)layout(la, LT_LAYOUT_COLS) *
		sim_type_bits((int)layout(la, LT_LAYOUT_TYPE)) / 8;
	return sim_lib_launch_small("cublasLt_matrix_transform_kernel", bytes, stream) ==
			       CUDA_SUCCESS
		       ? LT_OK
		       : LT_EXECUTION_FAILED;
}

/* ---- the rest ---- */
SIM_API int cublasLtCreate(void **ret)
{
	if (!ret)
		return LT_INVALID_VALUE;
	if (!sim_lib_driver())
		return LT_NOT_INITIALIZED;
	*ret = sim_lib_dummy();
	return LT_OK;
}

SIM_API int cublasLtDestroy(void *handle)
{
	if (!handle)
		return LT_NOT_INITIALIZED;
	sim_lib_synchronize();
	return LT_OK;
}

SIM_API size_t cublasLtGetVersion(void)
{
	return LT_VERSION;
}

SIM_API size_t cublasLtGetCudartVersion(void)
{
	return CUDA_VERSION; /* the same number */
}

/* SIM_API_NAMES: cublasLtGetProperty */
SIM_GET_PROPERTY(cublasLtGetProperty, LT_VERSION, LT_INVALID_VALUE)
