/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collector gemm: what a matrix product was asked to do. Its source is the wrappers of hooks_cublas.def, on the job's
 * threads; here is what they cannot read off the arguments. Descriptors of cuBLASLt are read by the library's own
 * getters, which work on the host alone and cost about 10 ns each (their insides change with every release). A getter
 * that is missing or fails leaves sizes at 0: "not known", never a guess.
 */
#include "collectors/gemm.h"

#include <errno.h>
#include <stdatomic.h>

#include "agent/hook_table.h"
#include "agent/real.h"

typedef wt_blas_status lt_getter(const void *object, int attr, void *buf, size_t bytes,
				 size_t *ret_written);
typedef wt_blas_status mode_getter(const void *handle, int *ret_mode);

/* NULL = the library has none. Looked up once; errno is the job's. */
static void *getter(_Atomic(void *) *slot, enum wt_library library, const char *name)
{
	void *p = atomic_load_explicit(slot, memory_order_relaxed);

	if (!p) {
		int saved = errno;

		p = wt_real_named(library, name);
		errno = saved;
		atomic_store_explicit(slot, p ? p : (void *)slot, memory_order_relaxed);
	}
	return p == (void *)slot ? NULL : p;
}

void wt_gemm_math_mode(struct wt_rec *rec, const void *handle)
{
	static _Atomic(void *) slot;
	mode_getter *get = (mode_getter *)getter(&slot, WT_LIB_CUBLAS, "cublasGetMathMode");
	int mode = 0;

	if (get && get(handle, &mode) == 0 && (mode & 15) == WT_MATH_TF32)
		rec->u.gemm.ops |= WT_GEMM_TF32;
}

/* Sums stand where one product has its sizes: multiply-adds, elements of A and B, elements of C. */
static void groups_done(struct wt_rec *rec, uint64_t macs, uint64_t in, uint64_t out)
{
	rec->u.gemm.m = (uint32_t)macs;
	rec->u.gemm.n = (uint32_t)(macs >> 32);
	rec->u.gemm.k = (uint32_t)in;
	rec->u.gemm.batch = (uint32_t)(in >> 32);
	rec->object = out;
	rec->u.gemm.ops = WT_GEMM_GROUPED;
}

#define GROUPS_BODY                                                                                \
	uint64_t macs = 0, in = 0, out = 0;                                                        \
	for (int64_t i = 0; i < (int64_t)groups && m && n && k && size; i++) {                     \
		uint64_t um = (uint64_t)m[i], un = (uint64_t)n[i], uk = (uint64_t)k[i],            \
			 us = (uint64_t)size[i];                                                   \
		macs += us * um * un * uk;                                                         \
		in += us * (um + un) * uk;                                                         \
		out += us * um * un;                                                               \
	}                                                                                          \
	groups_done(rec, macs, in, out);

void wt_gemm_groups(struct wt_rec *rec, const int *m, const int *n, const int *k, int groups,
		    const int *size)
{
	GROUPS_BODY
}

void wt_gemm_groups_64(struct wt_rec *rec, const int64_t *m, const int64_t *n, const int64_t *k,
		       int64_t groups, const int64_t *size)
{
	GROUPS_BODY
}

struct layout {
	uint64_t rows, cols;
	int64_t stride;
	int32_t batch;
	uint32_t type;
};

static int read_layout(lt_getter *get, const void *layout, struct layout *ret)
{
	size_t written;

	*ret = (struct layout){.batch = 1};
	if (!layout)
		return 0;
	/* Batch count and stride are optional: an old library may not know them. */
	get(layout, WT_LAYOUT_BATCH_COUNT, &ret->batch, sizeof(ret->batch), &written);
	get(layout, WT_LAYOUT_BATCH_STRIDE, &ret->stride, sizeof(ret->stride), &written);
	return !get(layout, WT_LAYOUT_TYPE, &ret->type, sizeof(ret->type), &written) &&
	       !get(layout, WT_LAYOUT_ROWS, &ret->rows, sizeof(ret->rows), &written) &&
	       !get(layout, WT_LAYOUT_COLS, &ret->cols, sizeof(ret->cols), &written);
}

void wt_gemm_fill_lt(struct wt_rec *rec, const void *desc, const void *a, const void *b,
		     const void *d)
{
	static _Atomic(void *) slots[2];
	lt_getter *layout =
		(lt_getter *)getter(&slots[0], WT_LIB_CUBLASLT, "cublasLtMatrixLayoutGetAttribute");
	lt_getter *of_desc =
		(lt_getter *)getter(&slots[1], WT_LIB_CUBLASLT, "cublasLtMatmulDescGetAttribute");
	int32_t compute = 0, ta = 0, tb = 0;
	uint32_t epilogue = 0;
	struct layout la, lb, ld;
	size_t written;

	if (!layout || !of_desc || !desc || !read_layout(layout, a, &la) ||
	    !read_layout(layout, b, &lb) || !read_layout(layout, d, &ld) ||
	    of_desc(desc, WT_DESC_COMPUTE_TYPE, &compute, sizeof(compute), &written) ||
	    of_desc(desc, WT_DESC_TRANSA, &ta, sizeof(ta), &written) ||
	    of_desc(desc, WT_DESC_TRANSB, &tb, sizeof(tb), &written))
		return;
	of_desc(desc, WT_DESC_EPILOGUE, &epilogue, sizeof(epilogue), &written);
	wt_gemm_fill(rec, (uint32_t)ta, (uint32_t)tb, ta ? la.cols : la.rows,
		     tb ? lb.rows : lb.cols, ta ? la.rows : la.cols,
		     ld.batch > 0 ? (uint64_t)ld.batch : 1);
	GEMM_TYPES(la.type, lb.type, ld.type, compute)
	rec->u.gemm.epilogue = (uint16_t)epilogue;
	if (ld.batch > 1) {
		STRIDES(la.stride, lb.stride)
	}
}
