/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory and events between processes. An allocation that is exported moves into a file of its own, in place; the
 * handle names this process and the descriptor, and whoever opens it maps the same pages: what one writes the other
 * reads. An interprocess event is a page of such a file with counters. Processes see each other through /proc, so they
 * have to share a pid namespace and a user; the exporter has to live when the handle is opened, as in life.
 *
 * Lock order: sim_lock; the data lock, then the memory table.
 */
#include "simgpu/cuda/drv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x31636970756d6973ull /* "simupic1" */

struct handle {
	uint64_t magic;
	int32_t pid, fd, device, event;
	uint64_t bytes, inode;
};
_Static_assert(sizeof(struct handle) <= CU_IPC_HANDLE_SIZE, "a handle has 64 bytes");

static void fill(void *reserved, int fd, int device, bool event, size_t bytes, uint64_t inode)
{
	struct handle h = {.magic = MAGIC,
			   .pid = (int32_t)getpid(),
			   .fd = fd,
			   .device = device,
			   .event = event,
			   .bytes = bytes,
			   .inode = inode};

	memset(reserved, 0, CU_IPC_HANDLE_SIZE);
	memcpy(reserved, &h, sizeof(h));
}

/* The exporter's file; -1 with *ret_why. A descriptor that is another file by now is a stale handle. */
static int open_handle(const struct handle *h, bool event, CUresult *ret_why)
{
	char path[64];
	struct stat st;
	int fd;

	*ret_why = CUDA_ERROR_INVALID_VALUE;
	if (h->magic != MAGIC || (h->event != 0) != event || !h->bytes ||
	    h->bytes > (uint64_t)1 << 46)
		return -1;
	if (h->pid == getpid()) {
		*ret_why = CUDA_ERROR_INVALID_CONTEXT; /* the exporter has a pointer of its own */
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)h->pid, (int)h->fd);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || (uint64_t)st.st_ino != h->inode || (uint64_t)st.st_size < h->bytes) {
		close(fd);
		return -1;
	}
	return fd;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : (uint64_t)st.st_ino;
}

/* Moves what lies at the range into the file, all but zero pages. */
static bool move_out(const struct drv_range *r, int fd)
{
	bool ok = true;

	for (size_t at = 0, n; at < r->bytes && ok; at += n) {
		const char *p = (const char *)r->start + at;
		struct sim_span s;
		n = SIM_BLOCK - (r->start + at) % SIM_BLOCK;
		if (n > r->bytes - at)
			n = r->bytes - at;
		drv_span(p, &s);
		if (!s.pages || sim_pages_touched(s.pages, s.offset))
			ok = pwrite(fd, p, n, (off_t)at) == (ssize_t)n;
	}
	return ok;
}

/* (data locked) */
static CUresult export(const struct drv_range *r, struct drv_physical **ret)
{
	struct drv_physical *m;
	struct drv_range *now;
	size_t bytes = (r->bytes + SIM_PAGE - 1) / SIM_PAGE * SIM_PAGE;
	int fd = drv_memory_file("ipc", r->device, bytes);

	if (fd < 0 || !move_out(r, fd)) {
		if (fd >= 0)
			close(fd);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	m = drv_new(DRV_PHYSICAL, sizeof(*m));
	m->origin = DRV_EXPORTED;
	m->device = r->device;
	m->bytes = r->bytes;
	m->fd = fd;
	m->inode = inode_of(fd);
	m->shared = true;
	drv_memory_lock();
	now = drv_range_at(r->start);
	if (!now || now->id != r->id || !drv_map_file(r->start, bytes, fd, 0)) {
		drv_memory_unlock();
		close(fd);
		drv_free(m);
		return CUDA_ERROR_INVALID_VALUE;
	}
	m->mapped = 1;
	now->physical = m;
	drv_memory_unlock();
	*ret = m;
	return CUDA_SUCCESS;
}

CUresult sim_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	struct drv_physical *m;
	struct drv_range range;
	CUresult r = CUDA_SUCCESS;

	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	drv_data_enter();
	if (!drv_range_of(ptr, &range) || range.kind != DRV_MEM_DEVICE || range.pool) {
		r = CUDA_ERROR_INVALID_VALUE;
	} else if (range.physical && range.physical->origin != DRV_EXPORTED) {
		r = CUDA_ERROR_INVALID_VALUE; /* mappings and what others exported */
	} else {
		m = range.physical;
		if (!m)
			r = export(&range, &m);
		if (r == CUDA_SUCCESS)
			fill(handle->reserved, m->fd, m->device, false, m->bytes, m->inode);
	}
	drv_data_leave();
	return r;
}

/* (memory locked) */
static struct drv_range *find_opened(uint64_t inode)
{
	struct drv_range *r = drv_range_from(0);

	while (r &&
	       (!r->physical || r->physical->origin != DRV_OPENED || r->physical->inode != inode))
		r = drv_range_from(r->start + 1);
	return r;
}

CUresult sim_cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags)
{
	struct drv_range range = {.kind = DRV_MEM_DEVICE,
				  .access = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	struct drv_physical *m;
	struct drv_range *old;
	struct handle h;
	CUcontext ctx;
	CUresult r = drv_context(&ctx);
	void *p;
	int fd;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&h, handle.reserved, sizeof(h));
	fd = open_handle(&h, false, &r);
	if (fd < 0)
		return r;
	drv_memory_lock();
	old = find_opened(h.inode);
	if (old) {
		old->physical->refs++;
		*ptr = old->start;
		drv_memory_unlock();
		close(fd);
		return CUDA_SUCCESS;
	}
	p = mmap(NULL, h.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED) {
		drv_memory_unlock();
		close(fd);
		return CUDA_ERROR_MAP_FAILED;
	}
	madvise(p, h.bytes, MADV_DONTFORK);
	madvise(p, h.bytes, MADV_DONTDUMP);
	m = drv_new(DRV_PHYSICAL, sizeof(*m));
	m->origin = DRV_OPENED;
	m->device = h.device >= 0 && h.device < sim_settings.device_count ? h.device : ctx->device;
	m->bytes = h.bytes;
	m->fd = fd;
	m->inode = h.inode;
	m->shared = true;
	m->refs = 1;
	m->mapped = 1;
	range.start = (uintptr_t)p;
	range.bytes = h.bytes;
	range.device = m->device;
	range.ctx = ctx;
	range.context = ctx->space.id;
	range.physical = m;
	drv_range_insert(&range);
	drv_memory_unlock();
	*ptr = (CUdeviceptr)range.start;
	return CUDA_SUCCESS;
}

CUresult sim_cuIpcOpenMemHandle(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags)
{
	return sim_cuIpcOpenMemHandle_v2(ptr, handle, flags);
}

CUresult sim_cuIpcCloseMemHandle(CUdeviceptr ptr)
{
	struct drv_range m, *r;

	if (!drv_range_of(ptr, &m) || m.start != ptr || !m.physical ||
	    m.physical->origin != DRV_OPENED)
		return CUDA_ERROR_INVALID_VALUE;
	if (m.physical->refs == 1)
		drv_settle(m.ctx);
	drv_memory_lock();
	r = drv_range_at(ptr);
	if (r && r->id == m.id && !--r->physical->refs) {
		munmap((void *)r->start, r->bytes);
		drv_physical_unmapped(r->physical);
		drv_range_erase(r);
	}
	drv_memory_unlock();
	return CUDA_SUCCESS;
}

/* ---- events ---- */

/* The page both processes see. Records are numbered; done_ns is the time of record number `done`. */
struct page {
	_Atomic uint64_t recorded, done;
	_Atomic int64_t done_ns;
};

struct drv_shared {
	struct page *page;
	int fd;
	uint64_t mine; /* the last record of this process */
	uint32_t refs; /* the event, and work under way (locked) */
};

static CUresult attach(struct CUevent_st *e, int fd)
{
	struct drv_shared *s;
	void *p = mmap(NULL, SIM_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		close(fd);
		return CUDA_ERROR_MAP_FAILED;
	}
	s = sim_alloc(sizeof(*s));
	s->page = p;
	s->fd = fd;
	s->refs = 1;
	e->shared = s;
	return CUDA_SUCCESS;
}

static void unref(struct drv_shared *s)
{
	if (--s->refs)
		return;
	munmap(s->page, SIM_PAGE);
	close(s->fd);
	free(s);
}

CUresult drv_shared_event_make(struct CUevent_st *e)
{
	int fd = drv_memory_file("event", 0, SIM_PAGE);

	return fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : attach(e, fd);
}

void drv_shared_event_free(struct CUevent_st *e)
{
	if (e->shared)
		unref(e->shared);
	e->shared = NULL;
}

bool drv_shared_event_foreign(const struct CUevent_st *e)
{
	return e->shared && atomic_load(&e->shared->page->recorded) != e->shared->mine;
}

bool drv_shared_event_done(const struct CUevent_st *e)
{
	struct page *p = e->shared->page;

	return atomic_load(&p->done) >= atomic_load(&p->recorded);
}

/* A record or a wait on its way. */
struct step {
	struct drv_shared *shared;
	uint64_t number;
};

static void step_release(struct sim_work *w)
{
	struct step *step = w->arg;

	unref(step->shared);
	free(step);
}

static void record_finish(struct sim_work *w)
{
	struct step *step = w->arg;
	struct page *p = step->shared->page;

	if (atomic_load(&p->done) >= step->number)
		return;
	atomic_store(&p->done_ns, w->op.end_ns);
	atomic_store(&p->done, step->number);
}

static int wait_poll(struct sim_work *w, int64_t *ret_end_ns)
{
	struct step *step = w->arg;
	struct page *p = step->shared->page;

	if (atomic_load(&p->done) < step->number)
		return 0;
	*ret_end_ns = atomic_load(&p->done_ns);
	return 1;
}

static const struct sim_behaviour record_behaviour = {.finish = record_finish,
						      .release = step_release};
static const struct sim_behaviour wait_behaviour = {
	.open = true, .poll = wait_poll, .release = step_release};

static void put(struct CUevent_st *e, struct CUstream_st *s, uint64_t number,
		const struct sim_behaviour *behaviour)
{
	struct step *step = sim_alloc(sizeof(*step));
	struct sim_work *w = sim_work_new();

	step->shared = e->shared;
	step->shared->refs++;
	step->number = number;
	w->behaviour = behaviour;
	w->arg = step;
	sim_lane_submit(s->lane, w, sim_now_ns());
}

void drv_shared_event_record(struct CUevent_st *e, struct CUstream_st *s)
{
	e->shared->mine = atomic_fetch_add(&e->shared->page->recorded, 1) + 1;
	put(e, s, e->shared->mine, &record_behaviour);
}

void drv_shared_event_wait(struct CUevent_st *e, struct CUstream_st *s)
{
	put(e, s, atomic_load(&e->shared->page->recorded), &wait_behaviour);
}

CUresult sim_cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent e)
{
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (!drv_is(e, DRV_EVENT) || !e->shared)
		return CUDA_ERROR_INVALID_HANDLE;
	fill(handle->reserved, e->shared->fd, 0, true, SIM_PAGE, inode_of(e->shared->fd));
	return CUDA_SUCCESS;
}

CUresult sim_cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
	struct handle h;
	CUcontext ctx;
	CUresult r = drv_context(&ctx);
	CUevent e;
	int fd;

	if (r != CUDA_SUCCESS)
		return r;
	if (!event)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&h, handle.reserved, sizeof(h));
	fd = open_handle(&h, true, &r);
	if (fd < 0)
		return r;
	e = drv_new(DRV_EVENT, sizeof(*e));
	e->ctx = ctx;
	e->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
	r = attach(e, fd);
	if (r != CUDA_SUCCESS) {
		drv_free(e);
		return r;
	}
	*event = e;
	return CUDA_SUCCESS;
}
