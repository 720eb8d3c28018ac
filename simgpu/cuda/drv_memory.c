/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory: what a pointer is, allocation, registration, capacity.
 *
 * Device memory is lazy: one reservation of address space a device, from which allocations are cut first-fit in pages;
 * nothing is backed before it is touched, and freed pages are given back, so that fresh memory reads zero and models
 * far larger than this machine fit (drv_pages.c keeps them untouched). Not inherited by a fork, not dumped.
 *
 * The table of ranges is an array sorted by address under a lock of its own, a leaf: nothing is called with it held.
 */
#include "simgpu/cuda/drv.h"

#include "simgpu/core/sim_extent.h"
#include "simgpu/core/sim_fault.h"
#include "simgpu/core/sim_truth.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096ull

static struct {
	pthread_rwlock_t lock;
	struct drv_range *range;
	size_t n, room;
	uint64_t ids;
} table = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static struct {
	struct sim_extent *free;
	uintptr_t base; /* 0 = not set up */
	struct sim_pages pages;
	uint64_t used;	      /* in pages, against the capacity */
	uint64_t bytes, peak; /* as asked for */
} arena[DRV_MAX_DEVICES];     /* under table.lock */

static struct {
	uint64_t bytes, peak;
} pinned; /* under table.lock */

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

bool drv_range_covers(uintptr_t address, size_t bytes)
{
	struct drv_range *r;
	bool ret = false;

	pthread_rwlock_rdlock(&table.lock);
	for (r = lookup(address); r; r = lookup(address)) {
		size_t left = r->bytes - (address - r->start);
		bool mapping = r->physical && r->physical->origin != DRV_EXPORTED;
		if (mapping && !r->access)
			break;
		ret = bytes <= left;
		if (ret || !mapping)
			break;
		address += left;
		bytes -= left;
	}
	pthread_rwlock_unlock(&table.lock);
	return ret;
}

void drv_span(const void *address, struct sim_span *ret)
{
	uintptr_t a = (uintptr_t)address;
	struct drv_range *r;

	*ret = (struct sim_span){.left = SIZE_MAX};
	pthread_rwlock_rdlock(&table.lock);
	r = lookup(a);
	if (r) {
		ret->left = r->bytes - (a - r->start);
		ret->device = r->kind == DRV_MEM_DEVICE;
		ret->file = r->physical != NULL;
		if (r->physical && !r->physical->shared) {
			ret->pages = &r->physical->pages;
			ret->offset = a - r->start;
		} else if (ret->device && !r->physical) {
			ret->pages = &arena[r->device].pages;
			ret->offset = a - arena[r->device].base;
		}
	}
	pthread_rwlock_unlock(&table.lock);
}

void drv_memory_lock(void)
{
	pthread_rwlock_wrlock(&table.lock);
}

void drv_memory_unlock(void)
{
	pthread_rwlock_unlock(&table.lock);
}

struct drv_range *drv_range_at(uintptr_t address)
{
	return lookup(address);
}

struct drv_range *drv_range_from(uintptr_t address)
{
	size_t i = address ? above(address - 1) : 0;

	return i < table.n ? &table.range[i] : NULL;
}

void drv_range_insert(struct drv_range *r)
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

void drv_range_erase(struct drv_range *r)
{
	size_t i = (size_t)(r - table.range);

	memmove(r, r + 1, (table.n - i - 1) * sizeof(*r));
	table.n--;
}

static size_t pages(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* Huge pages would make a byte written cost two megabytes. */
static void advise(void *p, size_t bytes)
{
	madvise(p, bytes, MADV_DONTFORK);
	madvise(p, bytes, MADV_DONTDUMP);
	madvise(p, bytes, MADV_NOHUGEPAGE);
}

void drv_arena_map(uintptr_t start, size_t bytes)
{
	void *p = mmap((void *)start, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	if (p == MAP_FAILED) {
		sim_complain("cannot map %zu bytes of device memory again", bytes);
		__builtin_trap();
	}
	advise(p, bytes);
}

/* Twice the capacity in addresses, so that first-fit does not run into fragmentation before the capacity is used. */
static bool reserve(CUdevice device)
{
	size_t bytes = (sim_fault_memory_bytes() + SIM_BLOCK) / SIM_BLOCK * SIM_BLOCK * 2;
	void *p;

	if (arena[device].base)
		return true;
	p = mmap(NULL, bytes + SIM_BLOCK, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return false;
	advise(p, bytes + SIM_BLOCK);
	arena[device].base = ((uintptr_t)p + SIM_BLOCK - 1) / SIM_BLOCK * SIM_BLOCK;
	sim_pages_init(&arena[device].pages, bytes, false);
	sim_extent_give(&arena[device].free, arena[device].base, bytes, NULL);
	return true;
}

static void give_back(CUdevice device, uintptr_t start, size_t bytes)
{
	struct sim_extent whole;

	madvise((void *)start, bytes, MADV_DONTNEED);
	sim_extent_give(&arena[device].free, start, bytes, &whole);
	sim_pages_forget(&arena[device].pages, whole.start - arena[device].base, whole.bytes);
}

/* Memory of the program's own is no allocation of anybody's: loading the module took it. */
static bool in_peak(const char *use)
{
	return strcmp(use, "module") != 0;
}

bool drv_account(CUdevice device, size_t bytes, const char *use, uint64_t address)
{
	if (pages(bytes) > sim_fault_memory_bytes() - arena[device].used)
		return false;
	arena[device].used += pages(bytes);
	if (in_peak(use))
		arena[device].bytes += bytes;
	if (arena[device].bytes > arena[device].peak)
		arena[device].peak = arena[device].bytes;
	sim_truth_memory(true, use, (uint32_t)device, bytes, address, drv_thread_id(),
			 sim_now_ns());
	return true;
}

static void unaccount_at(CUdevice device, size_t bytes, const char *use, uint64_t address,
			 uint32_t tid, int64_t ns)
{
	arena[device].used -= pages(bytes);
	if (in_peak(use))
		arena[device].bytes -= bytes;
	sim_truth_memory(false, use, (uint32_t)device, bytes, address, tid, ns);
}

void drv_unaccount(CUdevice device, size_t bytes, const char *use, uint64_t address)
{
	unaccount_at(device, bytes, use, address, drv_thread_id(), sim_now_ns());
}

void drv_memory_end(void)
{
	/* At exit a thread may have died with the lock. */
	if (pthread_rwlock_tryrdlock(&table.lock))
		return;
	for (int i = 0; i < sim_settings.device_count; i++)
		if (arena[i].peak)
			sim_truth_note("peak_bytes", "%d %llu", i,
				       (unsigned long long)arena[i].peak);
	if (pinned.peak)
		sim_truth_note("peak_pinned_bytes", "%llu", (unsigned long long)pinned.peak);
	pthread_rwlock_unlock(&table.lock);
}

CUresult drv_device_alloc(CUcontext ctx, CUdevice device, size_t bytes,
			  struct CUmemPoolHandle_st *pool, const char *use, CUdeviceptr *ret)
{
	struct drv_range r = {
		.bytes = bytes, .kind = DRV_MEM_DEVICE, .device = device, .pool = pool, .use = use};
	CUresult rc = CUDA_ERROR_OUT_OF_MEMORY;
	uint64_t start;

	r.ctx = ctx;
	r.context = ctx->space.id;
	if (bytes > sim_fault_memory_bytes())
		return rc;
	pthread_rwlock_wrlock(&table.lock);
	if (reserve(device) && pages(bytes) <= sim_fault_memory_bytes() - arena[device].used &&
	    (start = sim_extent_take(&arena[device].free, pages(bytes))) != SIM_NO_EXTENT) {
		drv_account(device, bytes, use, start);
		r.start = (uintptr_t)start;
		drv_range_insert(&r);
		if (pool)
			drv_pool_took(pool, bytes);
		*ret = r.start;
		rc = CUDA_SUCCESS;
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
	r.use = kind == DRV_MEM_MANAGED ? "managed" : "pinned";
	p = mmap(NULL, pages(bytes), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r.start = (uintptr_t)p;
	pthread_rwlock_wrlock(&table.lock);
	drv_range_insert(&r);
	if (kind == DRV_MEM_PINNED) {
		pinned.bytes += bytes;
		if (pinned.bytes > pinned.peak)
			pinned.peak = pinned.bytes;
	}
	sim_truth_memory(true, r.use, (uint32_t)r.device, bytes, r.start, drv_thread_id(),
			 sim_now_ns());
	pthread_rwlock_unlock(&table.lock);
	*ret = p;
	return CUDA_SUCCESS;
}

/* (table locked) What IPC shared: the importers keep the file, this process gets fresh pages. */
static void unshare(struct drv_range *r)
{
	struct drv_physical *m = r->physical;

	drv_arena_map(r->start, pages(r->bytes));
	r->physical = NULL;
	drv_physical_unmapped(m);
}

/* (table locked) */
static void release_range(struct drv_range *r, uint32_t tid, int64_t ns)
{
	if (r->kind == DRV_MEM_DEVICE && r->physical && r->physical->origin != DRV_EXPORTED) {
		munmap((void *)r->start, pages(r->bytes));
		drv_physical_unmapped(r->physical);
	} else if (r->kind == DRV_MEM_DEVICE) {
		unaccount_at(r->device, r->bytes, r->use, r->start, tid, ns);
		if (r->pool)
			drv_pool_gave(r->pool, r->bytes);
		if (r->physical)
			unshare(r);
		give_back(r->device, r->start, pages(r->bytes));
	} else if (r->kind != DRV_MEM_REGISTERED) {
		if (r->kind == DRV_MEM_PINNED)
			pinned.bytes -= r->bytes;
		sim_truth_memory(false, r->use, (uint32_t)r->device, r->bytes, r->start, tid, ns);
		munmap((void *)r->start, pages(r->bytes));
	}
	drv_range_erase(r);
}

CUresult drv_release_at(uintptr_t address, enum drv_memory_kind kind, uint32_t tid, int64_t ns)
{
	struct drv_range *r;
	CUresult rc = CUDA_ERROR_INVALID_VALUE;

	pthread_rwlock_wrlock(&table.lock);
	r = lookup(address);
	if (r && r->start == address && r->kind == kind) {
		release_range(r, tid, ns);
		rc = CUDA_SUCCESS;
	}
	pthread_rwlock_unlock(&table.lock);
	return rc;
}

CUresult drv_release(uintptr_t address, enum drv_memory_kind kind)
{
	return drv_release_at(address, kind, drv_thread_id(), sim_now_ns());
}

void drv_release_context(CUcontext ctx)
{
	pthread_rwlock_wrlock(&table.lock);
	for (size_t i = table.n; i-- > 0;)
		if (table.range[i].ctx == ctx)
			release_range(&table.range[i], drv_thread_id(), sim_now_ns());
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
CUresult drv_settle(CUcontext ctx)
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
	return drv_device_alloc(ctx, ctx->device, bytes, NULL, "device", ptr);
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
	/* Mappings and opened handles have calls of their own to end them. */
	if (m.physical && m.physical->origin != DRV_EXPORTED)
		return CUDA_ERROR_INVALID_VALUE;
	r = forbidden_by_capture(m.ctx);
	if (r == CUDA_SUCCESS)
		r = drv_settle(m.ctx);
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
	r = drv_settle(m.ctx);
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
			drv_range_insert(&m);
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
	r = drv_settle(m.ctx);
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
	*total = sim_fault_memory_bytes();
	*free_bytes = *total - drv_device_used(ctx->device);
	return CUDA_SUCCESS;
}
