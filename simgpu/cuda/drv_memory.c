/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: what a pointer is, allocation, registration, capacity.
 *
 * Device memory is lazy: one reservation of address space a device, from which allocations are cut first-fit in pages;
 * nothing is backed before it is touched, and freed pages are given back, so that fresh memory reads zero and models
 * far larger than this machine fit. Not inherited by a fork, not dumped.
 *
 * The table of ranges is an array sorted by address under a lock of its own, a leaf: nothing is called with it held.
 */
#include "simgpu/cuda/drv.h"

#include "simgpu/core/sim_devices.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096ull

struct extent {
	uintptr_t start;
	size_t bytes;
	struct extent *next; /* by address */
};

static struct {
	pthread_rwlock_t lock;
	struct drv_range *range;
	size_t n, room;
	uint64_t ids;
} table = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static struct {
	struct extent *free; /* NULL and !reserved: not set up */
	bool reserved;
	uint64_t used;
} arena[DRV_MAX_DEVICES]; /* under table.lock */

/* Index of the first range that starts above address. */
static size_t above(uintptr_t address)
{
	size_t lo = 0, hi = table.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (table.range[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct drv_range *lookup(uintptr_t address)
{
	size_t i = above(address);

	if (!i || address - table.range[i - 1].start >= table.range[i - 1].bytes)
		return NULL;
	return &table.range[i - 1];
}

bool drv_range_of(uintptr_t address, struct drv_range *ret)
{
	struct drv_range *r;

	pthread_rwlock_rdlock(&table.lock);
	r = lookup(address);
	if (r)
		*ret = *r;
	pthread_rwlock_unlock(&table.lock);
	return r != NULL;
}

static void insert(struct drv_range *r)
{
	size_t i = above(r->start);

	if (table.n == table.room) {
		size_t room = table.room ? table.room * 2 : 256;
		struct drv_range *bigger = sim_alloc(room * sizeof(*bigger));
		if (table.n)
			memcpy(bigger, table.range, table.n * sizeof(*bigger));
		free(table.range);
		table.range = bigger;
		table.room = room;
	}
	memmove(&table.range[i + 1], &table.range[i], (table.n - i) * sizeof(*table.range));
	r->id = ++table.ids;
	table.range[i] = *r;
	table.n++;
}

static void erase(struct drv_range *r)
{
	size_t i = (size_t)(r - table.range);

	memmove(r, r + 1, (table.n - i - 1) * sizeof(*r));
	table.n--;
}

/* Twice the capacity in addresses, so that first-fit does not run into fragmentation before the capacity is used. */
static bool reserve(CUdevice device)
{
	size_t bytes = (sim_settings.device->memory_bytes + PAGE) / PAGE * PAGE * 2;
	struct extent *e;
	void *p;

	if (arena[device].reserved)
		return true;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	if (p == MAP_FAILED)
		return false;
	madvise(p, bytes, MADV_DONTFORK);
	madvise(p, bytes, MADV_DONTDUMP);
	e = sim_alloc(sizeof(*e));
	*e = (struct extent){(uintptr_t)p, bytes, NULL};
	arena[device].free = e;
	arena[device].reserved = true;
	return true;
}

static uintptr_t cut(CUdevice device, size_t bytes)
{
	for (struct extent **link = &arena[device].free, *e; (e = *link); link = &e->next)
		if (e->bytes >= bytes) {
			uintptr_t ret = e->start;
			e->start += bytes;
			e->bytes -= bytes;
			if (!e->bytes) {
				*link = e->next;
				free(e);
			}
			return ret;
		}
	return 0;
}

static void give_back(CUdevice device, uintptr_t start, size_t bytes)
{
	struct extent **link = &arena[device].free, *prev = NULL, *e;

	madvise((void *)start, bytes, MADV_DONTNEED);
	for (; (e = *link) && e->start < start; link = &e->next)
		prev = e;
	if (prev && prev->start + prev->bytes == start) {
		prev->bytes += bytes;
	} else {
		struct extent *n = sim_alloc(sizeof(*n));
		*n = (struct extent){start, bytes, e};
		*link = n;
		prev = n;
	}
	if (e && prev->start + prev->bytes == e->start) {
		prev->bytes += e->bytes;
		prev->next = e->next;
		free(e);
	}
}

static size_t pages(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

CUresult drv_device_alloc(CUcontext ctx, CUdevice device, size_t bytes,
			  struct CUmemPoolHandle_st *pool, CUdeviceptr *ret)
{
	uint64_t capacity = sim_settings.device->memory_bytes;
	struct drv_range r = {
		.bytes = bytes, .kind = DRV_MEM_DEVICE, .device = device, .pool = pool};
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;

	r.ctx = ctx;
	r.context = ctx->space.id;
	if (bytes > capacity)
		return rc;
	pthread_rwlock_wrlock(&table.lock);
	if (arena[device].used + pages(bytes) <= capacity && reserve(device)) {
		r.start = cut(device, pages(bytes));
		if (r.start) {
			insert(&r);
			arena[device].used += pages(bytes);
			if (pool) {
				pool->used += bytes;
				if (pool->used > pool->used_high)
					pool->used_high = pool->used;
			}
			*ret = r.start;
			rc = CUDA_SUCCESS;
		}
	}
	pthread_rwlock_unlock(&table.lock);
	return rc;
}

/* Host memory, pinned or managed: plain anonymous memory with an entry in the table. */
static CUresult host_alloc(CUcontext ctx, size_t bytes, enum drv_memory_kind kind,
			   unsigned int flags, void **ret)
{
	struct drv_range r = {.bytes = bytes, .kind = kind, .device = ctx->device, .flags = flags};
	void *p;

	r.ctx = ctx;
	r.context = ctx->space.id;
	p = mmap(NULL, pages(bytes), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r.start = (uintptr_t)p;
	pthread_rwlock_wrlock(&table.lock);
	insert(&r);
	pthread_rwlock_unlock(&table.lock);
	*ret = p;
	return CUDA_SUCCESS;
}

/* (table locked) */
static void release_range(struct drv_range *r)
{
	if (r->kind == DRV_MEM_DEVICE) {
		arena[r->device].used -= pages(r->bytes);
		if (r->pool)
			r->pool->used -= r->bytes;
		give_back(r->device, r->start, pages(r->bytes));
	} else if (r->kind != DRV_MEM_REGISTERED) {
		munmap((void *)r->start, pages(r->bytes));
	}
	erase(r);
}

CUresult drv_release(uintptr_t address, enum drv_memory_kind kind)
{
	struct drv_range *r;
	CUresult rc = CUDA_ERROR_INVALID_VALUE;

	pthread_rwlock_wrlock(&table.lock);
	r = lookup(address);
	if (r && r->start == address && r->kind == kind) {
		release_range(r);
		rc = CUDA_SUCCESS;
	}
	pthread_rwlock_unlock(&table.lock);
	return rc;
}

void drv_release_context(CUcontext ctx)
{
	pthread_rwlock_wrlock(&table.lock);
	for (size_t i = table.n; i-- > 0;)
		if (table.range[i].ctx == ctx)
			release_range(&table.range[i]);
	pthread_rwlock_unlock(&table.lock);
}

uint64_t drv_device_used(CUdevice device)
{
	uint64_t ret;

	pthread_rwlock_rdlock(&table.lock);
	ret = arena[device].used;
	pthread_rwlock_unlock(&table.lock);
	return ret;
}

/* Freeing waits for everything under way that may use the memory, as the real calls do. */
static CUresult settle_context(CUcontext ctx)
{
	struct sim_point p = {0};
	CUresult r;

	sim_enter();
	sim_space_now(&ctx->space, &p);
	r = drv_wait(&p);
	sim_leave();
	return r;
}

/* cudaMalloc during a capture in global mode would be part of it by mistake: the driver refuses. */
static CUresult forbidden_by_capture(CUcontext ctx)
{
	return drv_capture_refuses_unsafe(ctx) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
					       : CUDA_SUCCESS;
}

CUresult sim_cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	CUcontext ctx;
	CUresult r = drv_context(&ctx);

	if (r == CUDA_SUCCESS)
		r = forbidden_by_capture(ctx);
	if (r != CUDA_SUCCESS)
		return r;
	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	return drv_device_alloc(ctx, ctx->device, bytes, NULL, ptr);
}

CUresult sim_cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
				unsigned int element)
{
	size_t p = (width + 511) / 512 * 512;

	if (!ptr || !pitch || !width || !height ||
	    (element != 4 && element != 8 && element != 16) || height > SIZE_MAX / p)
		return CUDA_ERROR_INVALID_VALUE;
	*pitch = p;
	return sim_cuMemAlloc_v2(ptr, p * height);
}

CUresult sim_cuMemFree_v2(CUdeviceptr ptr)
{
	struct drv_range m;
	CUresult r;

	if (!ptr)
		return CUDA_SUCCESS;
	if (!drv_range_of(ptr, &m) || m.start != ptr ||
	    (m.kind != DRV_MEM_DEVICE && m.kind != DRV_MEM_MANAGED))
		return CUDA_ERROR_INVALID_VALUE;
	r = forbidden_by_capture(m.ctx);
	if (r == CUDA_SUCCESS)
		r = settle_context(m.ctx);
	return r == CUDA_SUCCESS ? drv_release(ptr, m.kind) : r;
}

CUresult sim_cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags)
{
	CUcontext ctx;
	CUresult r = drv_context(&ctx);
	void *p;

	if (!ptr || !bytes || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		r = host_alloc(ctx, bytes, DRV_MEM_MANAGED, flags, &p);
	if (r == CUDA_SUCCESS)
		*ptr = (CUdeviceptr)(uintptr_t)p;
	return r;
}

CUresult sim_cuMemHostAlloc(void **pp, size_t bytes, unsigned int flags)
{
	CUcontext ctx;
	CUresult r = drv_context(&ctx);

	if (!pp || !bytes || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	return r == CUDA_SUCCESS ? host_alloc(ctx, bytes, DRV_MEM_PINNED, flags, pp) : r;
}

CUresult sim_cuMemAllocHost_v2(void **pp, size_t bytes)
{
	return sim_cuMemHostAlloc(pp, bytes, 0);
}

CUresult sim_cuMemFreeHost(void *p)
{
	struct drv_range m;
	CUresult r;

	if (!p)
		return CUDA_SUCCESS;
	if (!drv_range_of((uintptr_t)p, &m) || m.start != (uintptr_t)p || m.kind != DRV_MEM_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	r = settle_context(m.ctx);
	return r == CUDA_SUCCESS ? drv_release((uintptr_t)p, DRV_MEM_PINNED) : r;
}

CUresult sim_cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags)
{
	CUcontext ctx;
	CUresult r = drv_context(&ctx);
	struct drv_range m = {
		.start = (uintptr_t)p, .bytes = bytes, .kind = DRV_MEM_REGISTERED, .flags = flags};

	if (!p || !bytes || m.start > UINTPTR_MAX - bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	m.ctx = ctx;
	m.context = ctx->space.id;
	m.device = ctx->device;
	pthread_rwlock_wrlock(&table.lock);
	{
		size_t i = above(m.start + bytes - 1);
		if (i && table.range[i - 1].start + table.range[i - 1].bytes > m.start)
			r = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
		else
			insert(&m);
	}
	pthread_rwlock_unlock(&table.lock);
	return r;
}

CUresult sim_cuMemHostUnregister(void *p)
{
	struct drv_range m;
	CUresult r;

	if (!drv_range_of((uintptr_t)p, &m) || m.start != (uintptr_t)p ||
	    m.kind != DRV_MEM_REGISTERED)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	r = settle_context(m.ctx);
	return r == CUDA_SUCCESS ? drv_release((uintptr_t)p, DRV_MEM_REGISTERED) : r;
}

CUresult sim_cuMemHostGetDevicePointer_v2(CUdeviceptr *ptr, void *p, unsigned int flags)
{
	struct drv_range m;

	if (!ptr || flags || !drv_range_of((uintptr_t)p, &m) || m.kind == DRV_MEM_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	*ptr = (CUdeviceptr)(uintptr_t)p;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemHostGetFlags(unsigned int *flags, void *p)
{
	struct drv_range m;

	if (!flags || !drv_range_of((uintptr_t)p, &m) || m.kind != DRV_MEM_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = m.flags;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	CUcontext ctx;
	CUresult r = drv_context(&ctx);

	if (!free_bytes || !total)
		return CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	*total = sim_settings.device->memory_bytes;
	*free_bytes = *total - drv_device_used(ctx->device);
	return CUDA_SUCCESS;
}
