/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual memory management: addresses and physical memory apart. Addresses are an inaccessible reservation; physical
 * memory is a piece of one sparse file a device, so that it can be mapped twice, moved and kept without addresses. What
 * leaves the process gets a file of its own first: one descriptor for each exported piece, not for each piece.
 *
 * Everything is under the lock of the memory table; an export also holds the data lock.
 */
#define _GNU_SOURCE /* memfd_create, fallocate */
#include "simgpu/cuda/drv.h"

#include "simgpu/core/sim_extent.h"
#include "simgpu/core/sim_fault.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRAIN	   ((size_t)SIM_BLOCK)
#define FILE_TITLE "simgpu-"

struct reservation {
	uintptr_t start;
	size_t bytes;
	struct reservation *next;
};

static struct reservation *reservations;
static struct {
	int fd; /* 0 = not made */
	struct sim_extent *free;
} files[DRV_MAX_DEVICES];

static size_t whole(size_t bytes)
{
	return (bytes + SIM_PAGE - 1) & ~(size_t)(SIM_PAGE - 1);
}

int drv_memory_file(const char *use, CUdevice device, uint64_t bytes)
{
	char name[64];
	int fd, high;

	snprintf(name, sizeof(name), FILE_TITLE "%s-%d", use, device);
	fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		return -1;
	/* Out of the way of programs that count on low numbers. */
	high = fcntl(fd, F_DUPFD_CLOEXEC, 200);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	if (ftruncate(fd, (off_t)bytes)) {
		close(fd);
		return -1;
	}
	return fd;
}

bool drv_map_file(uintptr_t address, size_t bytes, int fd, uint64_t offset)
{
	void *p = mmap((void *)address, whole(bytes), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_NORESERVE | (address ? MAP_FIXED : 0), fd, (off_t)offset);

	if (p == MAP_FAILED)
		return false;
	madvise(p, whole(bytes), MADV_DONTFORK);
	madvise(p, whole(bytes), MADV_DONTDUMP);
	return true;
}

static bool is_device(const CUmemLocation *l)
{
	return l->type == CU_MEM_LOCATION_TYPE_DEVICE && l->id >= 0 &&
	       l->id < sim_settings.device_count;
}

CUresult sim_cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
					   CUmemAllocationGranularity_flags option)
{
	if (!granularity || !prop || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !is_device(&prop->location))
		return CUDA_ERROR_INVALID_DEVICE;
	*granularity = GRAIN;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemAddressReserve(CUdeviceptr *ptr, size_t bytes, size_t alignment, CUdeviceptr hint,
				 unsigned long long flags)
{
	size_t align = alignment > GRAIN ? alignment : GRAIN;
	struct reservation *r;
	uintptr_t start;
	char *p;

	if (!ptr || !bytes || bytes % GRAIN || alignment & (alignment - 1) || flags ||
	    bytes > SIZE_MAX / 4 || align > SIZE_MAX / 4)
		return CUDA_ERROR_INVALID_VALUE;
	p = mmap((void *)(uintptr_t)hint, bytes + align, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	start = ((uintptr_t)p + align - 1) / align * align;
	if (start > (uintptr_t)p)
		munmap(p, start - (uintptr_t)p);
	munmap((void *)(start + bytes), (uintptr_t)p + align - start);
	r = sim_alloc(sizeof(*r));
	drv_memory_lock();
	*r = (struct reservation){start, bytes, reservations};
	reservations = r;
	drv_memory_unlock();
	*ptr = start;
	return CUDA_SUCCESS;
}

static bool nothing_in(uintptr_t start, size_t bytes)
{
	struct drv_range *r = drv_range_from(start);

	return !r || r->start >= start + bytes;
}

CUresult sim_cuMemAddressFree(CUdeviceptr ptr, size_t bytes)
{
	struct reservation **link = &reservations, *r;
	CUresult rc = CUDA_ERROR_INVALID_VALUE;

	drv_memory_lock();
	while ((r = *link) && (r->start != ptr || r->bytes != bytes))
		link = &r->next;
	if (r && nothing_in(ptr, bytes)) {
		*link = r->next;
		munmap((void *)(uintptr_t)ptr, bytes);
		free(r);
		rc = CUDA_SUCCESS;
	}
	drv_memory_unlock();
	return rc;
}

/* (memory locked) The piece's place in the device's file. */
static bool take(struct drv_physical *m)
{
	uint64_t room = (sim_fault_memory_bytes() / GRAIN + 1) * GRAIN * 2;

	if (!files[m->device].fd) {
		int fd = drv_memory_file("vmm", m->device, room);
		if (fd < 0)
			return false;
		files[m->device].fd = fd;
		sim_extent_give(&files[m->device].free, 0, room, NULL);
	}
	m->offset = sim_extent_take(&files[m->device].free, m->bytes);
	return m->offset != SIM_NO_EXTENT;
}

static void give_back(struct drv_physical *m)
{
	if (m->fd >= 0) {
		close(m->fd);
		return;
	}
	/* What is cut there next reads zero. */
	if (fallocate(files[m->device].fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)m->offset, (off_t)m->bytes))
		sim_complain("cannot give %zu bytes of device memory back", m->bytes);
	sim_extent_give(&files[m->device].free, m->offset, m->bytes, NULL);
}

static int file_of(const struct drv_physical *m)
{
	return m->fd >= 0 ? m->fd : files[m->device].fd;
}

/* (memory locked) */
static void free_if_unused(struct drv_physical *m)
{
	if (m->refs || m->mapped)
		return;
	if (m->origin == DRV_CREATED)
		drv_unaccount(m->device, m->bytes, "vmm", (uintptr_t)m);
	give_back(m);
	sim_pages_release(&m->pages);
	drv_free(m);
}

void drv_physical_unmapped(struct drv_physical *m)
{
	m->mapped--;
	free_if_unused(m);
}

static struct drv_physical *physical(CUmemGenericAllocationHandle handle)
{
	struct drv_physical *m = (struct drv_physical *)(uintptr_t)handle;

	return drv_is(m, DRV_PHYSICAL) && m->refs ? m : NULL;
}

CUresult sim_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
			 const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct drv_physical *m;
	CUresult r = CUDA_ERROR_OUT_OF_MEMORY;

	if (!handle || !prop || !bytes || bytes % GRAIN || flags ||
	    prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    prop->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!is_device(&prop->location))
		return CUDA_ERROR_INVALID_DEVICE;
	m = drv_new(DRV_PHYSICAL, sizeof(*m));
	m->origin = DRV_CREATED;
	m->device = prop->location.id;
	m->bytes = bytes;
	m->fd = -1;
	m->refs = 1;
	m->handle_types = prop->requestedHandleTypes;
	drv_memory_lock();
	if (drv_account(m->device, bytes, "vmm", (uintptr_t)m)) {
		if (take(m))
			r = CUDA_SUCCESS;
		else
			drv_unaccount(m->device, bytes, "vmm", (uintptr_t)m);
	}
	drv_memory_unlock();
	if (r != CUDA_SUCCESS) {
		drv_free(m);
		return r;
	}
	sim_pages_init(&m->pages, bytes, true);
	*handle = (uintptr_t)m;
	return r;
}

CUresult sim_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct drv_physical *m;

	drv_memory_lock();
	m = physical(handle);
	if (m) {
		m->refs--;
		free_if_unused(m);
	}
	drv_memory_unlock();
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool reserved(uintptr_t start, size_t bytes)
{
	for (struct reservation *r = reservations; r; r = r->next)
		if (start >= r->start && start - r->start < r->bytes &&
		    bytes <= r->bytes - (start - r->start))
			return true;
	return false;
}

CUresult sim_cuMemMap(CUdeviceptr ptr, size_t bytes, size_t offset,
		      CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	struct drv_range range = {.start = ptr, .bytes = bytes, .kind = DRV_MEM_DEVICE};
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct drv_physical *m;

	if (!bytes || bytes % GRAIN || ptr % GRAIN || offset || flags)
		return r;
	drv_memory_lock();
	m = physical(handle);
	if (m && bytes <= m->bytes && reserved(ptr, bytes) && nothing_in(ptr, bytes)) {
		struct drv_range *before = drv_range_at(ptr);
		if (before) {
			r = CUDA_ERROR_INVALID_VALUE;
		} else if (!drv_map_file(ptr, bytes, file_of(m), m->offset)) {
			r = CUDA_ERROR_MAP_FAILED;
		} else {
			range.device = m->device;
			range.physical = m;
			m->mapped++;
			drv_range_insert(&range);
			r = CUDA_SUCCESS;
		}
	}
	drv_memory_unlock();
	return r;
}

/* (memory locked) [ptr, ptr + bytes) is mappings, whole ones, side by side. */
static bool mappings(uintptr_t ptr, size_t bytes)
{
	while (bytes) {
		struct drv_range *r = drv_range_at(ptr);
		if (!r || r->start != ptr || r->bytes > bytes || !r->physical ||
		    (r->physical->origin != DRV_CREATED && r->physical->origin != DRV_IMPORTED))
			return false;
		ptr += r->bytes;
		bytes -= r->bytes;
	}
	return true;
}

CUresult sim_cuMemUnmap(CUdeviceptr ptr, size_t bytes)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	CUcontext ctx = drv_current();

	if (!bytes || bytes % GRAIN || ptr % GRAIN)
		return r;
	/* Real memory would fault what is still under way; here it would be the process that faults. */
	if (ctx)
		drv_settle(ctx);
	drv_memory_lock();
	if (mappings(ptr, bytes)) {
		void *p = mmap((void *)(uintptr_t)ptr, bytes, PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		r = p == MAP_FAILED ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
		for (uintptr_t end = ptr + bytes; r == CUDA_SUCCESS && ptr < end;) {
			struct drv_range *one = drv_range_at(ptr);
			ptr += one->bytes;
			drv_physical_unmapped(one->physical);
			drv_range_erase(one);
		}
	}
	drv_memory_unlock();
	return r;
}

CUresult sim_cuMemSetAccess(CUdeviceptr ptr, size_t bytes, const CUmemAccessDesc *desc, size_t n)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;

	if (!bytes || !desc || !n)
		return r;
	for (size_t i = 0; i < n; i++)
		if (desc[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
		    !is_device(&desc[i].location))
			return CUDA_ERROR_INVALID_DEVICE;
	drv_memory_lock();
	if (mappings(ptr, bytes)) {
		/* One answer for all devices: they share an address space and nothing here tells them apart. */
		for (uintptr_t at = ptr; at < ptr + bytes; at += drv_range_at(at)->bytes)
			drv_range_at(at)->access = desc[n - 1].flags;
		r = CUDA_SUCCESS;
	}
	drv_memory_unlock();
	return r;
}

CUresult sim_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
			    CUdeviceptr ptr)
{
	struct drv_range r;

	if (!flags || !location || !drv_range_of(ptr, &r) || !r.physical)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = r.access;
	return CUDA_SUCCESS;
}

CUresult sim_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
	struct drv_range *r;
	CUresult rc = CUDA_ERROR_INVALID_VALUE;

	if (!handle)
		return rc;
	drv_memory_lock();
	r = drv_range_at((uintptr_t)address);
	if (r && r->physical && r->physical->origin != DRV_OPENED &&
	    r->physical->origin != DRV_EXPORTED) {
		r->physical->refs++;
		*handle = (uintptr_t)r->physical;
		rc = CUDA_SUCCESS;
	}
	drv_memory_unlock();
	return rc;
}

CUresult sim_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						    CUmemGenericAllocationHandle handle)
{
	struct drv_physical *m;

	if (!prop)
		return CUDA_ERROR_INVALID_VALUE;
	drv_memory_lock();
	m = physical(handle);
	if (m) {
		memset(prop, 0, sizeof(*prop));
		prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
		prop->requestedHandleTypes = m->handle_types;
		prop->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		prop->location.id = m->device;
	}
	drv_memory_unlock();
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Only what was ever written: holes stay holes. */
static bool copy_written(struct drv_physical *m, int to)
{
	size_t n = GRAIN / 8;
	char *buf = sim_alloc(n);
	bool ok = true;

	for (size_t at = 0; at < m->bytes && ok; at += n)
		if (sim_pages_touched(&m->pages, at))
			ok = pread(files[m->device].fd, buf, n, (off_t)(m->offset + at)) ==
				     (ssize_t)n &&
			     pwrite(to, buf, n, (off_t)at) == (ssize_t)n;
	free(buf);
	return ok;
}

/* (data and memory locked) A file of its own, under the mappings there are. */
static bool make_own(struct drv_physical *m)
{
	int fd;

	if (m->fd >= 0)
		return true;
	fd = drv_memory_file("vmm", m->device, m->bytes);
	if (fd < 0 || !copy_written(m, fd)) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	for (struct drv_range *r = drv_range_from(0); r; r = drv_range_from(r->start + 1))
		if (r->physical == m && !drv_map_file(r->start, r->bytes, fd, 0))
			sim_complain("cannot map exported memory again: its contents part");
	give_back(m);
	m->fd = fd;
	m->offset = 0;
	m->shared = true;
	return true;
}

CUresult sim_cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
					  CUmemAllocationHandleType type, unsigned long long flags)
{
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	struct drv_physical *m;

	if (!shareable || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return r;
	drv_data_enter();
	drv_memory_lock();
	m = physical(handle);
	if (m && m->handle_types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
		int fd = make_own(m) ? fcntl(m->fd, F_DUPFD_CLOEXEC, 3) : -1;
		r = fd < 0 ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
		if (fd >= 0)
			*(int *)shareable = fd;
	}
	drv_memory_unlock();
	drv_data_leave();
	return r;
}

/* Which device a file's memory is of; -1: it is none of ours. */
static int device_of(int fd)
{
	static const char title[] = "/memfd:" FILE_TITLE "vmm-";
	char link[64], name[128];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof(name) - 1);
	if (n < 0)
		return -1;
	name[n] = 0;
	if (strncmp(name, title, sizeof(title) - 1))
		return -1;
	n = strtol(name + sizeof(title) - 1, NULL, 10);
	return n >= 0 && n < sim_settings.device_count ? (int)n : 0;
}

CUresult sim_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os_handle,
					    CUmemAllocationHandleType type)
{
	int fd = (int)(intptr_t)os_handle, device;
	struct drv_physical *m;
	struct stat st;

	if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	device = device_of(fd);
	if (device < 0 || fstat(fd, &st) || st.st_size <= 0 || (size_t)st.st_size % GRAIN)
		return CUDA_ERROR_INVALID_VALUE;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 200);
	if (fd < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	m = drv_new(DRV_PHYSICAL, sizeof(*m));
	m->origin = DRV_IMPORTED;
	m->device = device;
	m->bytes = (size_t)st.st_size;
	m->fd = fd;
	m->shared = true;
	m->refs = 1;
	m->handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	*handle = (uintptr_t)m;
	return CUDA_SUCCESS;
}
