/* SPDX-License-Identifier: Apache-2.0 */
/* link: cuda */
/*
 * Scenes of the simulated driver's memory: sim_memory SCENE. Accounting, pools, virtual memory management, sharing
 * between processes, running out. One line "ok" at the end; the script looks at the truth.
 */
#define _GNU_SOURCE /* memfd_create */
#include <cuda.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/src/sim_check.h"

#define MIB ((size_t)1 << 20)

static CUcontext start(int device)
{
	CUcontext ctx;
	CUdevice dev;

	OK(cuInit(0));
	OK(cuDeviceGet(&dev, device));
	OK(cuDevicePrimaryCtxRetain(&ctx, dev));
	OK(cuCtxSetCurrent(ctx));
	return ctx;
}

/* kB of this process that are there, shared memory included. */
static long resident_kb(void)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	long kb = -1;

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Rss: %ld kB", &kb) == 1)
			break;
	fclose(f);
	CHECK(kb > 0);
	return kb;
}

/* Every kind once; what the peak has to be stands in sim-memory.sh. */
static void account(void)
{
	CUdeviceptr a, b, c, pooled, managed;
	CUmemoryPool pool;
	size_t pitch, free0, free1, total;
	void *host;
	CUstream s;

	start(0);
	OK(cuMemGetInfo(&free0, &total));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&a, 1000001)); /* peak 1000001 */
	OK(cuMemAllocPitch(&b, &pitch, 100, 10, 4));
	CHECK(pitch == 512);		    /* 1005121 */
	OK(cuMemAlloc(&c, 70 * MIB));	    /* 74405441 */
	OK(cuMemFree(a));		    /* 73405440 */
	OK(cuMemAllocAsync(&pooled, 3, s)); /* 73405443 */
	OK(cuMemFree(c));
	OK(cuMemAllocHost(&host, 12345));
	OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemFreeAsync(pooled, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemFreeHost(host));
	OK(cuMemFree(managed));
	OK(cuMemFree(b));
	OK(cuMemGetInfo(&free1, &total));
	CHECK(free0 == free1);
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemAlloc(&a, 5)); /* left behind */
}

static cuuint64_t pool_value(CUmemoryPool pool, CUmemPool_attribute what)
{
	cuuint64_t v = 0;

	OK(cuMemPoolGetAttribute(pool, what, &v));
	return v;
}

static void pools(void)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	cuuint64_t v = 100 * MIB;
	CUdeviceptr a, b;
	CUmemoryPool pool, got;
	CUstream s;
	int off = 0;

	start(0);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemPoolCreate(&pool, &props));
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &v));
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &off));
	OK(cuMemAllocFromPoolAsync(&a, 50 * MIB, pool, s));
	OK(cuMemAllocFromPoolAsync(&b, 70 * MIB, pool, s));
	CHECK(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 120 * MIB);
	CHECK(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 128 * MIB);
	OK(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
	CHECK(got == pool);
	OK(cuMemFreeAsync(a, s));
	OK(cuMemFreeAsync(b, s));
	OK(cuStreamSynchronize(s));
	CHECK(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
	CHECK(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 120 * MIB);
	CHECK(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 128 * MIB);
	OK(cuMemPoolTrimTo(pool, 10 * MIB));
	CHECK(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 32 * MIB);
	CHECK(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 128 * MIB);
	v = 1;
	CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &v) ==
	      CUDA_ERROR_INVALID_VALUE);
	v = 0;
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &v));
	CHECK(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 0);
	OK(cuMemPoolDestroy(pool));
}

static const CUmemAccessDesc rw = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
				   CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

static CUmemAllocationProp plain(void)
{
	CUmemAllocationProp p;

	memset(&p, 0, sizeof(p));
	p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	return p;
}

static void vmm(void)
{
	CUmemAllocationProp prop = plain(), got;
	CUmemGenericAllocationHandle h[3], again;
	size_t grain, n, bytes, free0, free1, total;
	unsigned long long access;
	CUdeviceptr va, other, base;
	char text[] = "across the seam", back[64];
	int yes;

	start(0);
	OK(cuDeviceGetAttribute(&yes, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
	CHECK(yes == 1);
	OK(cuMemGetInfo(&free0, &total));
	OK(cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	CHECK(grain == 2 * MIB);
	n = 10 * grain;
	OK(cuMemAddressReserve(&va, 8 * n, 0, 0, 0));
	OK(cuMemAddressReserve(&other, n, 64 * MIB, 0, 0));
	CHECK(other % (64 * MIB) == 0);
	for (int i = 0; i < 3; i++)
		OK(cuMemCreate(&h[i], n, &prop, 0));
	OK(cuMemGetInfo(&free1, &total));
	CHECK(free0 - free1 == 3 * n);
	CHECK(cuMemCreate(&again, n + 1, &prop, 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemMap(va + 4096, n, 0, h[0], 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemMap(va + 8 * n, n, 0, h[0], 0) == CUDA_ERROR_INVALID_VALUE);
	OK(cuMemMap(va, n, 0, h[0], 0));
	OK(cuMemMap(va + n, n, 0, h[1], 0));
	CHECK(cuMemMap(va + n, n, 0, h[2], 0) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemcpyHtoD(va, text, sizeof(text)) == CUDA_ERROR_INVALID_VALUE); /* no access yet */
	CHECK(cuMemSetAccess(va, 3 * n, &rw, 1) == CUDA_ERROR_INVALID_VALUE);
	OK(cuMemSetAccess(va, 2 * n, &rw, 1));
	OK(cuMemGetAccess(&access, &rw.location, va + n));
	CHECK(access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	/* One copy over two pieces. */
	OK(cuMemcpyHtoD(va + n - 5, text, sizeof(text)));
	OK(cuMemcpyDtoH(back, va + n - 5, sizeof(text)));
	CHECK(!strcmp(back, text));
	CHECK(cuMemcpyHtoD(va + 2 * n - 5, text, sizeof(text)) == CUDA_ERROR_INVALID_VALUE);
	OK(cuMemGetAddressRange(&base, &bytes, va + n + 7));
	CHECK(base == va + n && bytes == n);
	/* The same piece at two places. */
	OK(cuMemMap(other, n, 0, h[1], 0));
	OK(cuMemSetAccess(other, n, &rw, 1));
	OK(cuMemcpyDtoH(back, other, 11));
	CHECK(!memcmp(back, text + 5, 11));
	OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(other + 100)));
	CHECK(again == h[1]);
	OK(cuMemRelease(again));
	OK(cuMemGetAllocationPropertiesFromHandle(&got, h[1]));
	CHECK(got.location.id == 0 && got.type == CU_MEM_ALLOCATION_TYPE_PINNED);
	CHECK(cuMemFree(va) == CUDA_ERROR_INVALID_VALUE);
	CHECK(cuMemAddressFree(other, n) == CUDA_ERROR_INVALID_VALUE); /* mapped */
	CHECK(cuMemUnmap(va, n + grain) == CUDA_ERROR_INVALID_VALUE);
	/* Contents stay with the piece, not with the address. */
	OK(cuMemUnmap(va, 2 * n));
	CHECK(cuMemcpyDtoH(back, va, 1) == CUDA_ERROR_INVALID_VALUE);
	OK(cuMemMap(va + 3 * n, n, 0, h[0], 0));
	OK(cuMemSetAccess(va + 3 * n, n, &rw, 1));
	OK(cuMemcpyDtoH(back, va + 4 * n - 5, 5));
	CHECK(!memcmp(back, text, 5));
	/* Released while mapped: it lives until it is unmapped. Fresh memory reads zero though the place was used. */
	for (int i = 0; i < 3; i++)
		OK(cuMemRelease(h[i]));
	CHECK(cuMemRelease(h[2]) == CUDA_ERROR_INVALID_VALUE);
	OK(cuMemGetInfo(&free1, &total));
	CHECK(free0 - free1 == 2 * n);
	OK(cuMemUnmap(va + 3 * n, n));
	OK(cuMemUnmap(other, n));
	OK(cuMemGetInfo(&free1, &total));
	CHECK(free0 == free1);
	OK(cuMemCreate(&h[0], 3 * n, &prop, 0));
	OK(cuMemMap(va, 3 * n, 0, h[0], 0));
	OK(cuMemSetAccess(va, 3 * n, &rw, 1));
	for (size_t at = 0; at < 3 * n; at += grain / 2 + 1) {
		back[0] = 1;
		OK(cuMemcpyDtoH(back, va + at, 1));
		CHECK(!back[0]);
	}
	OK(cuMemUnmap(va, 3 * n));
	OK(cuMemRelease(h[0]));
	OK(cuMemAddressFree(va, 8 * n));
	OK(cuMemAddressFree(other, n));
	CHECK(cuMemAddressFree(other, n) == CUDA_ERROR_INVALID_VALUE);
}

static void send_fd(int socket, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	CHECK(sendmsg(socket, &m, 0) == 1);
}

static int receive_fd(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	int fd;

	CHECK(recvmsg(socket, &m, 0) == 1);
	CHECK(CMSG_FIRSTHDR(&m));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}

static void say(int socket, const void *p, size_t n)
{
	CHECK(write(socket, p, n) == (ssize_t)n);
}

static void hear(int socket, void *p, size_t n)
{
	CHECK(recv(socket, p, n, MSG_WAITALL) == (ssize_t)n);
}

/* Runs child(socket) in a process of its own, forked before there is a driver. */
static int with(void (*child)(int), pid_t *ret_pid)
{
	int pair[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	*ret_pid = fork();
	CHECK(*ret_pid >= 0);
	if (!*ret_pid) {
		close(pair[0]);
		child(pair[1]);
		exit(0);
	}
	close(pair[1]);
	return pair[0];
}

static void joined(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void put(CUdeviceptr p, uint32_t v)
{
	OK(cuMemcpyHtoD(p, &v, 4));
}

static uint32_t get(CUdeviceptr p)
{
	uint32_t v;

	OK(cuMemcpyDtoH(&v, p, 4));
	return v;
}

static void vmm_child(int socket)
{
	CUmemGenericAllocationHandle h;
	CUdeviceptr va;
	int fd = receive_fd(socket), rubbish = memfd_create("no", 0);
	char c = 0;

	start(0);
	OK(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd,
					  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	close(fd);
	CHECK(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)rubbish,
					     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ==
	      CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAddressReserve(&va, 20 * MIB, 0, 0, 0));
	OK(cuMemMap(va, 20 * MIB, 0, h, 0));
	OK(cuMemSetAccess(va, 20 * MIB, &rw, 1));
	CHECK(get(va + 4 * MIB) == 111 && get(va + 12 * MIB) == 222 && !get(va));
	put(va + 6 * MIB, 333);
	say(socket, &c, 1);
	hear(socket, &c, 1);
	OK(cuMemUnmap(va, 20 * MIB));
	OK(cuMemRelease(h));
}

static void vmm_export(void)
{
	CUmemAllocationProp prop = plain();
	CUmemGenericAllocationHandle h, closed;
	CUdeviceptr va;
	pid_t pid;
	int socket = with(vmm_child, &pid), fd;
	char c;

	start(0);
	OK(cuMemCreate(&closed, 2 * MIB, &prop, 0));
	CHECK(cuMemExportToShareableHandle(&fd, closed, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
					   0) == CUDA_ERROR_INVALID_VALUE);
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
	CHECK(cuMemCreate(&h, 2 * MIB, &prop, 0) == CUDA_ERROR_NOT_SUPPORTED);
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	OK(cuMemCreate(&h, 20 * MIB, &prop, 0));
	OK(cuMemAddressReserve(&va, 40 * MIB, 0, 0, 0));
	OK(cuMemMap(va, 20 * MIB, 0, h, 0));
	OK(cuMemSetAccess(va, 20 * MIB, &rw, 1));
	put(va + 4 * MIB, 111);
	OK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	put(va + 12 * MIB, 222); /* after it became shared */
	send_fd(socket, fd);
	close(fd);
	hear(socket, &c, 1);
	CHECK(get(va + 6 * MIB) == 333 && get(va + 4 * MIB) == 111);
	say(socket, &c, 1);
	joined(pid);
	OK(cuMemUnmap(va, 20 * MIB));
	OK(cuMemRelease(h));
	OK(cuMemRelease(closed));
}

static void ipc_child(int socket)
{
	CUipcMemHandle mem, bad;
	CUdeviceptr p, q, mine;
	CUipcEventHandle eh;
	CUevent e, back;
	CUstream s;
	char c = 0;

	start(0);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&back, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	hear(socket, &mem, sizeof(mem));
	hear(socket, &eh, sizeof(eh));
	OK(cuIpcOpenMemHandle(&p, mem, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	OK(cuIpcOpenMemHandle(&q, mem, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CHECK(p == q);
	OK(cuIpcCloseMemHandle(q));
	memset(&bad, 1, sizeof(bad));
	CHECK(cuIpcOpenMemHandle(&q, bad, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
	      CUDA_ERROR_INVALID_VALUE);
	CHECK(get(p) == 1 && get(p + 9 * MIB) == 2 && !get(p + 5 * MIB));
	CHECK(cuMemFree(p) == CUDA_ERROR_INVALID_VALUE);
	OK(cuIpcOpenEventHandle(&e, eh));
	OK(cuEventQuery(e)); /* not recorded yet */
	OK(cuIpcGetEventHandle(&eh, back));
	say(socket, &eh, sizeof(eh));
	hear(socket, &c, 1); /* the other one has recorded, behind a slow copy */
	/* The stream waits for the other process: what it copies then is there. */
	OK(cuMemAlloc(&mine, 4 * MIB));
	OK(cuStreamWaitEvent(s, e, 0));
	OK(cuMemcpyDtoDAsync(mine, p + 9 * MIB, 4, s));
	OK(cuEventRecord(back, s));
	OK(cuStreamSynchronize(s));
	CHECK(get(mine) == 3);
	OK(cuEventQuery(e));
	OK(cuEventSynchronize(e));
	put(p + 5 * MIB, 4);
	say(socket, &c, 1);
	hear(socket, &c, 1); /* the other one freed it: the mapping still holds what was there */
	CHECK(get(p + 5 * MIB) == 4);
	OK(cuIpcCloseMemHandle(p));
	CHECK(cuIpcCloseMemHandle(p) == CUDA_ERROR_INVALID_VALUE);
	OK(cuEventDestroy(e));
	say(socket, &c, 1);
}

static void ipc(void)
{
	CUdeviceptr p, q, big, base;
	CUipcEventHandle eh;
	CUipcMemHandle mem, again;
	CUevent e, back, timed;
	size_t bytes, free0, free1, total;
	CUstream s;
	pid_t pid;
	int socket = with(ipc_child, &pid);
	void *host;
	char c = 0;

	start(0);
	OK(cuMemGetInfo(&free0, &total));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&q, 3000)); /* so that p shares a block with a neighbour */
	OK(cuMemAlloc(&p, 10 * MIB));
	OK(cuMemAlloc(&big, 1000 * MIB));
	put(q + 2996, 77);
	put(p, 1);
	OK(cuIpcGetMemHandle(&mem, p));
	OK(cuIpcGetMemHandle(&again, p + 64));
	CHECK(!memcmp(&mem, &again, sizeof(mem)));
	CHECK(get(p) == 1 && get(q + 2996) == 77);
	put(p + 9 * MIB, 2);
	CHECK(cuIpcOpenMemHandle(&base, mem, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
	      CUDA_ERROR_INVALID_CONTEXT);
	OK(cuMemGetAddressRange(&base, &bytes, p + 5));
	CHECK(base == p && bytes == 10 * MIB);
	OK(cuEventCreate(&timed, 0));
	CHECK(cuIpcGetEventHandle(&eh, timed) == CUDA_ERROR_INVALID_HANDLE);
	CHECK(cuEventCreate(&e, CU_EVENT_INTERPROCESS) == CUDA_ERROR_INVALID_VALUE);
	OK(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	OK(cuIpcGetEventHandle(&eh, e));
	say(socket, &mem, sizeof(mem));
	say(socket, &eh, sizeof(eh));
	hear(socket, &eh, sizeof(eh));
	OK(cuIpcOpenEventHandle(&back, eh));
	/* Some tens of milliseconds of copies, the value that counts at their end. */
	OK(cuMemAllocHost(&host, 4));
	*(uint32_t *)host = 3;
	for (int i = 0; i < 100; i++)
		OK(cuMemcpyDtoDAsync(big, big + 500 * MIB, 500 * MIB, s));
	OK(cuMemcpyHtoDAsync(p + 9 * MIB, host, 4, s));
	OK(cuEventRecord(e, s));
	CHECK(cuEventQuery(e) == CUDA_ERROR_NOT_READY);
	say(socket, &c, 1);
	hear(socket, &c, 1);
	OK(cuStreamWaitEvent(s, back, 0));
	OK(cuStreamSynchronize(s));
	OK(cuEventQuery(back));
	CHECK(get(p + 5 * MIB) == 4);
	OK(cuMemFree(p));
	/* What is cut there next is fresh, and not shared with anybody. */
	OK(cuMemAlloc(&p, 10 * MIB));
	CHECK(!get(p) && !get(p + 5 * MIB) && !get(p + 9 * MIB));
	put(p + 5 * MIB, 5);
	say(socket, &c, 1);
	hear(socket, &c, 1);
	joined(pid);
	CHECK(get(q + 2996) == 77);
	OK(cuMemFree(p));
	OK(cuMemFree(q));
	OK(cuMemFree(big));
	OK(cuMemGetInfo(&free1, &total));
	CHECK(free0 == free1);
	OK(cuEventDestroy(e));
	OK(cuEventDestroy(back));
}

/* Gigabytes of copies and fills of nothing, in a process of a few megabytes. */
static void lazy(void)
{
	size_t big = 4096 * MIB;
	CUdeviceptr a, b;
	long before;
	char one = 1, back[3];

	start(0);
	OK(cuMemAlloc(&a, big));
	OK(cuMemAlloc(&b, big));
	before = resident_kb();
	OK(cuMemcpyDtoD(b, a, big));
	OK(cuMemsetD8(a, 0, big));
	OK(cuMemcpyHtoD(a + 1000 * MIB + 1, &one, 1));
	OK(cuMemcpyDtoD(b, a, big));
	OK(cuMemcpyDtoH(back, b + 1000 * MIB, 3));
	CHECK(!back[0] && back[1] == 1 && !back[2]);
	OK(cuMemsetD32(a, 0x01010101, 16 * MIB)); /* 64 MiB are there now */
	OK(cuCtxSynchronize());
	CHECK(resident_kb() - before > 60000);
	OK(cuMemsetD32(a, 0, big / 4));
	OK(cuMemcpyDtoD(b, a, big));
	OK(cuCtxSynchronize());
	if (resident_kb() - before > 8000) {
		fprintf(stderr, "%ld kB more than before\n", resident_kb() - before);
		exit(1);
	}
	OK(cuMemcpyDtoH(back, b + 1000 * MIB, 3));
	CHECK(!back[0] && !back[1] && !back[2]);
}

/* With [device] memory = 1GiB: what fits fits, what does not says so, and nothing else changes. */
static void oom(void)
{
	CUmemAllocationProp prop = plain();
	CUmemGenericAllocationHandle h;
	CUdeviceptr p[16], q;
	size_t free_bytes, total;
	CUstream s;
	int n = 0;

	start(0);
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemGetInfo(&free_bytes, &total));
	CHECK(total == 1024 * MIB && free_bytes == total);
	OK(cuDeviceTotalMem(&total, 0));
	CHECK(total == 1024 * MIB);
	while (n < 16 && cuMemAlloc(&p[n], 100 * MIB) == CUDA_SUCCESS)
		n++;
	CHECK(n == 10);
	CHECK(cuMemAlloc(&q, 100 * MIB) == CUDA_ERROR_OUT_OF_MEMORY);
	CHECK(cuMemAllocAsync(&q, 100 * MIB, s) == CUDA_ERROR_OUT_OF_MEMORY);
	CHECK(cuMemCreate(&h, 100 * MIB, &prop, 0) == CUDA_ERROR_OUT_OF_MEMORY);
	CHECK(cuMemAlloc(&q, SIZE_MAX / 2) == CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAlloc(&q, 24 * MIB));
	OK(cuMemFree(p[3]));
	OK(cuMemCreate(&h, 100 * MIB, &prop, 0));
	OK(cuMemRelease(h));
	OK(cuMemAlloc(&p[3], 100 * MIB));
	OK(cuCtxSynchronize());
}

static void absent(void)
{
	CUmulticastObjectProp prop = {.numDevices = 2, .size = 2 * MIB};
	CUmemGenericAllocationHandle h;
	size_t n;
	int yes;

	start(0);
	CHECK(cuMulticastCreate(&h, &prop) == CUDA_ERROR_NOT_SUPPORTED);
	CHECK(cuMulticastGetGranularity(&n, &prop, 0) == CUDA_ERROR_NOT_SUPPORTED);
	OK(cuDeviceGetAttribute(&yes, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
	CHECK(!yes);
	CHECK(cuCoredumpGetAttribute(0, &yes, &n) == CUDA_ERROR_NOT_SUPPORTED);
}

static const struct {
	const char *name;
	void (*run)(void);
} scenes[] = {{"account", account}, {"pools", pools}, {"vmm", vmm}, {"vmm-export", vmm_export},
	      {"ipc", ipc},	    {"lazy", lazy},   {"oom", oom}, {"absent", absent}};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (!strcmp(argv[1], scenes[i].name)) {
			scenes[i].run();
			puts("ok");
			return 0;
		}
	fprintf(stderr, "usage: sim_memory SCENE\n");
	return 2;
}
