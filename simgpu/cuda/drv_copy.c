/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and memsets: what kind of memory is at either end, what is legal, moving the data. Every call becomes one task
 * of at most three dimensions. Arrays (textures) are not simulated.
 */
#include "simgpu/cuda/drv.h"

struct end {
	struct drv_range m;
	uint8_t kind; /* CUPTI's */
};

/* What lies at address. False: bytes reach past the allocation, or are not memory of the device where that is asked. */
static bool end_of(uintptr_t address, size_t bytes, bool device, struct end *ret)
{
	static const uint8_t kinds[] = {[DRV_MEM_NONE] = DRV_KIND_PAGEABLE,
					[DRV_MEM_DEVICE] = DRV_KIND_DEVICE,
					[DRV_MEM_PINNED] = DRV_KIND_PINNED,
					[DRV_MEM_MANAGED] = DRV_KIND_MANAGED,
					[DRV_MEM_REGISTERED] = DRV_KIND_PINNED};

	memset(ret, 0, sizeof(*ret));
	if (!drv_range_of(address, &ret->m)) {
		ret->kind = DRV_KIND_PAGEABLE;
		return !device && address;
	}
	ret->kind = kinds[ret->m.kind];
	return drv_range_covers(address, bytes);
}

static bool on_device(const struct end *e)
{
	return e->kind == DRV_KIND_DEVICE || e->kind == DRV_KIND_MANAGED;
}

static void classify(struct drv_copy *c, const struct end *dst, const struct end *src)
{
	c->dst_kind = dst->kind;
	c->src_kind = src->kind;
	c->pageable = dst->kind == DRV_KIND_PAGEABLE || src->kind == DRV_KIND_PAGEABLE;
	if (on_device(dst) && on_device(src)) {
		bool peer = dst->kind == DRV_KIND_DEVICE && src->kind == DRV_KIND_DEVICE &&
			    dst->m.device != src->m.device;
		c->kind = peer ? DRV_COPY_PTOP : DRV_COPY_DTOD;
		c->path = peer ? SIM_PATH_P2P : SIM_PATH_D2D;
		c->peer_device = (uint32_t)dst->m.device;
	} else if (on_device(dst)) {
		c->kind = DRV_COPY_HTOD;
		c->path = SIM_PATH_H2D;
	} else if (on_device(src)) {
		c->kind = DRV_COPY_DTOH;
		c->path = SIM_PATH_D2H;
	} else {
		c->kind = DRV_COPY_HTOH;
		c->path = SIM_PATH_H2H;
	}
}

/* Bytes from the first to the last one touched; 0 = overflow. */
static size_t span(size_t width, size_t height, size_t depth, size_t pitch, size_t slice)
{
	size_t rows, slices, ret;

	if (__builtin_mul_overflow(height - 1, pitch, &rows) ||
	    __builtin_mul_overflow(depth - 1, slice, &slices) ||
	    __builtin_add_overflow(rows, slices, &ret) || __builtin_add_overflow(ret, width, &ret))
		return 0;
	return ret;
}

/* Fills in what follows from the geometry. dst/src_device: that end has to be memory the device knows. */
static CUresult resolve(struct drv_copy *c, bool dst_device, bool src_device)
{
	struct end dst, src;
	size_t n = span(c->width, c->height, c->depth, c->dst_pitch, c->dst_slice);
	size_t m = span(c->width, c->height, c->depth, c->src_pitch, c->src_slice);

	if (!n || !m || !end_of((uintptr_t)c->dst, n, dst_device, &dst) ||
	    !end_of((uintptr_t)c->src, m, src_device, &src))
		return CUDA_ERROR_INVALID_VALUE;
	classify(c, &dst, &src);
	return CUDA_SUCCESS;
}

void drv_copy_run(const struct drv_copy *c)
{
	for (size_t z = 0; z < c->depth; z++)
		for (size_t y = 0; y < c->height; y++)
			sim_pages_copy(drv_span, c->dst + z * c->dst_slice + y * c->dst_pitch,
				       c->src + z * c->src_slice + y * c->src_pitch, c->width);
}

static CUresult linear(struct drv_task *t, uintptr_t dst, bool dst_device, uintptr_t src,
		       bool src_device, size_t bytes)
{
	memset(t, 0, sizeof(*t));
	t->type = CU_GRAPH_NODE_TYPE_MEMCPY;
	t->copy = (struct drv_copy){.dst = (char *)dst,
				    .src = (const char *)src,
				    .width = bytes,
				    .height = 1,
				    .depth = 1,
				    .dst_pitch = bytes,
				    .src_pitch = bytes,
				    .dst_slice = bytes,
				    .src_slice = bytes};
	return resolve(&t->copy, dst_device, src_device);
}

/* `wait`: a call of the synchronous kind. Device to device it does not wait for the copy either. */
static CUresult put(CUstream h, const struct drv_task *t, bool wait)
{
	struct CUstream_st *s;
	CUresult r = drv_stream(h, &s);

	if (r != CUDA_SUCCESS)
		return r;
	if (wait && t->type == CU_GRAPH_NODE_TYPE_MEMCPY && t->copy.kind != DRV_COPY_DTOD &&
	    t->copy.kind != DRV_COPY_PTOP)
		return drv_issue_wait(s, t);
	return drv_issue(s, t);
}

static CUresult copy(uintptr_t dst, bool dst_device, uintptr_t src, bool src_device, size_t bytes,
		     CUstream h, bool wait)
{
	struct CUstream_st *s;
	struct drv_task t;
	CUresult r;

	if (!bytes)
		return drv_stream(h, &s);
	r = linear(&t, dst, dst_device, src, src_device, bytes);
	return r == CUDA_SUCCESS ? put(h, &t, wait) : r;
}

CUresult sim_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	return copy(dst, false, src, false, n, NULL, true);
}

CUresult sim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream h)
{
	return copy(dst, false, src, false, n, h, false);
}

CUresult sim_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t n)
{
	return copy(dst, true, (uintptr_t)src, false, n, NULL, true);
}

CUresult sim_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t n, CUstream h)
{
	return copy(dst, true, (uintptr_t)src, false, n, h, false);
}

CUresult sim_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t n)
{
	return copy((uintptr_t)dst, false, src, true, n, NULL, true);
}

CUresult sim_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t n, CUstream h)
{
	return copy((uintptr_t)dst, false, src, true, n, h, false);
}

CUresult sim_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t n)
{
	return copy(dst, true, src, true, n, NULL, true);
}

CUresult sim_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream h)
{
	return copy(dst, true, src, true, n, h, false);
}

CUresult sim_cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
			  size_t n)
{
	if (!drv_is(dst_ctx, DRV_CTX) || !drv_is(src_ctx, DRV_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	return copy(dst, true, src, true, n, NULL, true);
}

CUresult sim_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
			       CUcontext src_ctx, size_t n, CUstream h)
{
	if (!drv_is(dst_ctx, DRV_CTX) || !drv_is(src_ctx, DRV_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	return copy(dst, true, src, true, n, h, false);
}

CUresult sim_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
				   size_t count, CUmemcpyAttributes *attrs, size_t *attr_idxs,
				   size_t n_attrs, CUstream h)
{
	CUresult r = CUDA_SUCCESS;

	if (!dsts || !srcs || !sizes || !count || !h)
		return CUDA_ERROR_INVALID_VALUE; /* the default stream is not allowed here */
	for (size_t i = 0; i < count && r == CUDA_SUCCESS; i++)
		r = copy(dsts[i], false, srcs[i], false, sizes[i], h, false);
	return r;
}

CUresult sim_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
				CUmemcpyAttributes *attrs, size_t *attr_idxs, size_t n_attrs,
				size_t *fail_idx, CUstream h)
{
	if (fail_idx)
		*fail_idx = SIZE_MAX;
	return sim_cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attrs, attr_idxs, n_attrs, h);
}

/* One end of a 3D copy: address of the first byte, and whether the device has to know it. False: an array. */
static bool base(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y,
		 size_t z, size_t pitch, size_t slice, char **ret, bool *ret_device)
{
	uintptr_t p;

	if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE &&
	    type != CU_MEMORYTYPE_UNIFIED)
		return false;
	p = type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : (uintptr_t)device;
	*ret = (char *)(p + x + y * pitch + z * slice);
	*ret_device = type == CU_MEMORYTYPE_DEVICE;
	return true;
}

CUresult drv_task_copy3d(struct drv_task *t, const CUDA_MEMCPY3D_v2 *p)
{
	struct drv_copy *c = &t->copy;
	bool dst_device, src_device;

	memset(t, 0, sizeof(*t));
	t->type = CU_GRAPH_NODE_TYPE_MEMCPY;
	c->width = p->WidthInBytes;
	c->height = p->Height;
	c->depth = p->Depth;
	c->dst_pitch = p->dstPitch ? p->dstPitch : c->width;
	c->src_pitch = p->srcPitch ? p->srcPitch : c->width;
	c->dst_slice = c->dst_pitch * (p->dstHeight ? p->dstHeight : c->height);
	c->src_slice = c->src_pitch * (p->srcHeight ? p->srcHeight : c->height);
	if (c->height > 1 &&
	    (c->dst_pitch < p->dstXInBytes + c->width || c->src_pitch < p->srcXInBytes + c->width))
		return CUDA_ERROR_INVALID_VALUE;
	if (!base(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes, p->dstY, p->dstZ,
		  c->dst_pitch, c->dst_slice, &c->dst, &dst_device) ||
	    !base(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes, p->srcY, p->srcZ,
		  c->src_pitch, c->src_slice, (char **)&c->src, &src_device))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!c->width || !c->height || !c->depth)
		return CUDA_SUCCESS;
	return resolve(c, dst_device, src_device);
}

static CUresult copy3d(const CUDA_MEMCPY3D_v2 *p, CUstream h, bool wait)
{
	struct CUstream_st *s;
	struct drv_task t;
	CUresult r;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if (!p->WidthInBytes || !p->Height || !p->Depth)
		return drv_stream(h, &s);
	r = drv_task_copy3d(&t, p);
	return r == CUDA_SUCCESS ? put(h, &t, wait) : r;
}

static CUresult copy2d(const CUDA_MEMCPY2D_v2 *p, CUstream h, bool wait)
{
	CUDA_MEMCPY3D_v2 q = {0};

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	q.srcXInBytes = p->srcXInBytes;
	q.srcY = p->srcY;
	q.srcMemoryType = p->srcMemoryType;
	q.srcHost = p->srcHost;
	q.srcDevice = p->srcDevice;
	q.srcPitch = p->srcPitch;
	q.dstXInBytes = p->dstXInBytes;
	q.dstY = p->dstY;
	q.dstMemoryType = p->dstMemoryType;
	q.dstHost = p->dstHost;
	q.dstDevice = p->dstDevice;
	q.dstPitch = p->dstPitch;
	q.WidthInBytes = p->WidthInBytes;
	q.Height = p->Height;
	q.Depth = 1;
	return copy3d(&q, h, wait);
}

CUresult sim_cuMemcpy2D_v2(const CUDA_MEMCPY2D_v2 *p)
{
	return copy2d(p, NULL, true);
}

CUresult sim_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D_v2 *p)
{
	return copy2d(p, NULL, true);
}

CUresult sim_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D_v2 *p, CUstream h)
{
	return copy2d(p, h, false);
}

CUresult sim_cuMemcpy3D_v2(const CUDA_MEMCPY3D_v2 *p)
{
	return copy3d(p, NULL, true);
}

CUresult sim_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D_v2 *p, CUstream h)
{
	return copy3d(p, h, false);
}

void drv_memset_run(const struct drv_memset *m)
{
	for (size_t y = 0; y < m->height; y++) {
		char *row = m->dst + y * m->pitch;
		if (!m->value) {
			sim_pages_zero(drv_span, row, m->width * m->element);
			continue;
		}
		drv_touch(row, m->width * m->element);
		if (m->element == 1) {
			memset(row, (int)m->value, m->width);
			continue;
		}
		for (size_t x = 0; x < m->width; x++)
			memcpy(row + x * m->element, &m->value,
			       m->element); /* little-endian, as the device is */
	}
}

CUresult drv_task_memset(struct drv_task *t, const CUDA_MEMSET_NODE_PARAMS_v1 *p)
{
	size_t row, n;
	struct end e;

	memset(t, 0, sizeof(*t));
	t->type = CU_GRAPH_NODE_TYPE_MEMSET;
	if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) ||
	    !p->width || !p->height)
		return CUDA_ERROR_INVALID_VALUE;
	if (__builtin_mul_overflow(p->width, (size_t)p->elementSize, &row) ||
	    (p->height > 1 && p->pitch < row))
		return CUDA_ERROR_INVALID_VALUE;
	n = span(row, p->height, 1, p->height > 1 ? p->pitch : row, 0);
	if (!n || !end_of(p->dst, n, true, &e) || p->dst % p->elementSize)
		return CUDA_ERROR_INVALID_VALUE;
	t->memset = (struct drv_memset){.dst = (char *)(uintptr_t)p->dst,
					.width = p->width,
					.height = p->height,
					.pitch = p->height > 1 ? p->pitch : row,
					.value = p->value,
					.element = p->elementSize,
					.dst_kind = e.kind};
	return CUDA_SUCCESS;
}

static CUresult fill(CUdeviceptr dst, size_t pitch, unsigned int value, unsigned int element,
		     size_t width, size_t height, CUstream h)
{
	CUDA_MEMSET_NODE_PARAMS_v1 p = {dst, pitch, value, element, width, height};
	struct CUstream_st *s;
	struct drv_task t;
	CUresult r;

	if (!width || !height)
		return drv_stream(h, &s);
	r = drv_task_memset(&t, &p);
	return r == CUDA_SUCCESS ? put(h, &t, false) : r;
}

#define MEMSET(bits_, type_)                                                                       \
	CUresult sim_cuMemsetD##bits_##_v2(CUdeviceptr dst, type_ v, size_t n)                     \
	{                                                                                          \
		return fill(dst, 0, v, bits_ / 8, n, 1, NULL);                                     \
	}                                                                                          \
	CUresult sim_cuMemsetD##bits_##Async(CUdeviceptr dst, type_ v, size_t n, CUstream h)       \
	{                                                                                          \
		return fill(dst, 0, v, bits_ / 8, n, 1, h);                                        \
	}                                                                                          \
	CUresult sim_cuMemsetD2D##bits_##_v2(CUdeviceptr dst, size_t pitch, type_ v, size_t w,     \
					     size_t h)                                             \
	{                                                                                          \
		return fill(dst, pitch, v, bits_ / 8, w, h, NULL);                                 \
	}                                                                                          \
	CUresult sim_cuMemsetD2D##bits_##Async(CUdeviceptr dst, size_t pitch, type_ v, size_t w,   \
					       size_t height, CUstream h)                          \
	{                                                                                          \
		return fill(dst, pitch, v, bits_ / 8, w, height, h);                               \
	}
MEMSET(8, unsigned char)
MEMSET(16, unsigned short)
MEMSET(32, unsigned int)
