// SPDX-License-Identifier: Apache-2.0
/*
 * Arguments that need more than a cast before they fit a row; see fill_cuda.h. Job threads, inside a hook: reads what
 * the job passed, exactly as the driver is about to. Pointers the driver would refuse are not followed.
 */
#define _GNU_SOURCE
#include "fill_cuda.h"

#include "fill.h"
#include "real_calls.h"

/* Hosts pass a handful of attributes; a wild count is the driver's to refuse, not ours to follow. */
#define ATTRS_MAX 64u

static void fill_attrs(struct wt_rec *rec, const CUlaunchConfig *config)
{
	unsigned int n = config->attrs && config->numAttrs <= ATTRS_MAX ? config->numAttrs : 0;

	for (unsigned int i = 0; i < n; i++) {
		const CUlaunchAttribute *a = &config->attrs[i];

		if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			rec->u.launch.cluster[0] = (uint8_t)a->value.clusterDim.x;
			rec->u.launch.cluster[1] = (uint8_t)a->value.clusterDim.y;
			rec->u.launch.cluster[2] = (uint8_t)a->value.clusterDim.z;
		} else if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
			rec->u.launch.attrs |= a->value.cooperative ? 1 : 0;
		} else if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
			rec->u.launch.attrs |=
				a->value.programmaticStreamSerializationAllowed ? 2 : 0;
		}
	}
}

void wt_fill_launch_ex(struct wt_rec *rec, const CUlaunchConfig *config, CUfunction f, int pt)
{
	if (!config) {
		rec->object = (uint64_t)f;
		return;
	}
	LAUNCH(f, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
	       config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream, 0)
	if (WT_UNLIKELY(config->numAttrs))
		fill_attrs(rec, config);
}

uint32_t wt_fill_launch_multi(struct wt_rec *rec, const CUDA_LAUNCH_PARAMS *list, unsigned int n)
{
	const int pt = 0;

	if (!list || !n)
		return 0;
	LAUNCH(list->function, list->gridDimX, list->gridDimY, list->gridDimZ, list->blockDimX,
	       list->blockDimY, list->blockDimZ, list->sharedMemBytes, list->hStream, 1)
	return n;
}

/* ---- copies ---- */

enum side { SIDE_HOST, SIDE_DEVICE, SIDE_ARRAY, SIDE_MANAGED, SIDE_UNKNOWN };

/* Rows: destination host, device, array. Columns: source likewise. */
static const uint8_t kinds[3][3] = {
	{WT_COPY_HTOH, WT_COPY_DTOH, WT_COPY_ATOH},
	{WT_COPY_HTOD, WT_COPY_DTOD, WT_COPY_ATOD},
	{WT_COPY_HTOA, WT_COPY_DTOA, WT_COPY_ATOA},
};

static void fill_copy(struct wt_rec *rec, uint64_t dst, enum side to, enum side from,
		      uint64_t bytes)
{
	rec->u.copy.bytes = bytes;
	rec->u.copy.dst = dst;
	if (to <= SIDE_ARRAY && from <= SIDE_ARRAY)
		rec->u.copy.kind = kinds[to][from];
	/* Host to host may be done by the CPU, managed memory by page migration: no record is promised for either. */
	if (!bytes || to == SIDE_MANAGED || from == SIDE_MANAGED ||
	    rec->u.copy.kind == WT_COPY_HTOH)
		rec->flags |= WT_REC_SOFT;
}

static enum side side_of_pointer(CUdeviceptr p)
{
	CUmemorytype type = 0;
	unsigned int managed = 0;
	CUresult r =
		WT_REAL_CALL(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);

	if (r == CUDA_ERROR_INVALID_VALUE)
		return SIDE_HOST; /* memory the driver has never heard of */
	if (r != CUDA_SUCCESS)
		return SIDE_UNKNOWN;
	if (type == CU_MEMORYTYPE_HOST)
		return SIDE_HOST;
	if (WT_REAL_CALL(cuPointerGetAttribute, &managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p) ==
		    CUDA_SUCCESS &&
	    managed)
		return SIDE_MANAGED;
	return SIDE_DEVICE;
}

void wt_fill_copy_any(struct wt_rec *rec, CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	fill_copy(rec, dst, side_of_pointer(dst), side_of_pointer(src), bytes);
}

static enum side side_of(CUmemorytype type, CUdeviceptr p)
{
	if (type == CU_MEMORYTYPE_HOST)
		return SIDE_HOST;
	if (type == CU_MEMORYTYPE_DEVICE)
		return SIDE_DEVICE;
	if (type == CU_MEMORYTYPE_ARRAY)
		return SIDE_ARRAY;
	return side_of_pointer(p);
}

/* The three structures differ in size and tail; the fields we read have the same names. */
#define FILL_SIDES(rec_, c_, bytes_)                                                               \
	fill_copy(rec_,                                                                            \
		  (c_)->dstMemoryType == CU_MEMORYTYPE_HOST    ? (uint64_t)(c_)->dstHost           \
		  : (c_)->dstMemoryType == CU_MEMORYTYPE_ARRAY ? (uint64_t)(c_)->dstArray          \
							       : (c_)->dstDevice,                  \
		  side_of((c_)->dstMemoryType, (c_)->dstDevice),                                   \
		  side_of((c_)->srcMemoryType, (c_)->srcDevice), bytes_)

void wt_fill_copy_2d(struct wt_rec *rec, const CUDA_MEMCPY2D *copy)
{
	if (copy)
		FILL_SIDES(rec, copy, copy->WidthInBytes * copy->Height);
}

void wt_fill_copy_3d(struct wt_rec *rec, const CUDA_MEMCPY3D *copy)
{
	if (copy)
		FILL_SIDES(rec, copy, copy->WidthInBytes * copy->Height * copy->Depth);
}

void wt_fill_copy_3d_peer(struct wt_rec *rec, const CUDA_MEMCPY3D_PEER *copy)
{
	if (!copy)
		return;
	FILL_SIDES(rec, copy, copy->WidthInBytes * copy->Height * copy->Depth);
	if (copy->srcContext != copy->dstContext)
		rec->u.copy.kind = WT_COPY_PTOP;
}

uint32_t wt_fill_copy_batch(struct wt_rec *rec, const size_t *sizes, size_t n)
{
	uint32_t moving = 0;

	rec->flags |= WT_REC_SOFT;
	for (size_t i = 0; sizes && i < n; i++) {
		rec->u.copy.bytes += sizes[i];
		moving += sizes[i] > 0;
	}
	rec->u.copy.rows = moving;
	return moving;
}

uint32_t wt_fill_copy_batch_3d(struct wt_rec *rec, const CUDA_MEMCPY3D_BATCH_OP *ops, size_t n)
{
	uint32_t moving = 0;

	rec->flags |= WT_REC_SOFT;
	for (size_t i = 0; ops && i < n; i++) {
		uint64_t bytes = ops[i].extent.width * ops[i].extent.height * ops[i].extent.depth;

		rec->u.copy.bytes += bytes;
		moving += bytes > 0;
	}
	rec->u.copy.rows = moving;
	return moving;
}
