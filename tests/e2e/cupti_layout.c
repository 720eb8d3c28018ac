/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled with the headers of one release of CUPTI at a time (tests/cli/cupti-versions.sh): lays out a record of each
 * kind in that release's own newest structure, fields by name, and says in words what a reader has to find.
 *   cupti_layout RECORDS >WORDS 2>SIZES     SIZES: the API version and the size of each record
 * -DKERNEL=CUpti_ActivityKernel9 and so on name the structures; -DHAS_x where a structure has a younger member.
 * What no member covers is filled with 0xa5: padding of one release is a member of the next.
 */
#include <cupti_activity.h>
#include <cupti_version.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static _Alignas(8) uint8_t bytes[4096];
static size_t used, size[16], n;

static void *room(size_t want)
{
	void *at = bytes + used;

	memset(at, 0xa5, want);
	size[n++] = want;
	used += want;
	return at;
}

static void api(void)
{
	CUpti_ActivityAPI *a = room(sizeof(*a));

	a->kind = CUPTI_ACTIVITY_KIND_RUNTIME;
	a->cbid = 211;
	a->start = 11;
	a->end = 12;
	a->processId = 7;
	a->threadId = 0xdeadbeef;
	a->correlationId = 42;
	a->returnValue = 0;
	printf("api cbid %u runtime 1 thread %x start %llu end %llu correlation %u\n", a->cbid,
	       a->threadId, (unsigned long long)a->start, (unsigned long long)a->end,
	       a->correlationId);
}

static void kernel(CUpti_ActivityKind kind, unsigned launched)
{
	KERNEL *k = room(sizeof(*k));

	k->kind = kind;
	k->registersPerThread = 64;
	k->start = 1000;
	k->end = 1500;
	k->deviceId = 2;
	k->contextId = 3;
	k->streamId = 13;
	k->gridX = 10;
	k->gridY = 11;
	k->gridZ = 12;
	k->blockX = 128;
	k->blockY = 2;
	k->blockZ = 1;
	k->staticSharedMemory = 4096;
	k->dynamicSharedMemory = 8192;
	k->localMemoryPerThread = 16;
	k->correlationId = 777;
	k->name = (const char *)(uintptr_t)0x123450;
	k->queued = 5;
	k->submitted = 6;
	k->graphNodeId = 0x100000002;
	k->graphId = 9;
	k->clusterX = 2;
	k->clusterY = 1;
	k->clusterZ = 1;
#ifdef HAS_KERNEL_LAUNCHED
	k->isDeviceLaunched = (uint8_t)launched;
#endif
	printf("kernel name %llx start %llu end %llu device %u context %u stream %u grid %d %d %d "
	       "block "
	       "%d %d %d smem %d %d local %u correlation %u node %llx graph %u cluster %u %u %u "
	       "regs %u launched %u\n",
	       (unsigned long long)(uintptr_t)k->name, (unsigned long long)k->start,
	       (unsigned long long)k->end, k->deviceId, k->contextId, k->streamId, k->gridX,
	       k->gridY, k->gridZ, k->blockX, k->blockY, k->blockZ, k->staticSharedMemory,
	       k->dynamicSharedMemory, k->localMemoryPerThread, k->correlationId,
	       (unsigned long long)k->graphNodeId, k->graphId, k->clusterX, k->clusterY,
	       k->clusterZ, k->registersPerThread,
#ifdef HAS_KERNEL_LAUNCHED
	       CUPTI_API_VERSION >= 130000 ? launched : 0
#else
	       0
#endif
	);
}

#define TOLD_COPY(c_, kind_, bytes_, src_, dst_, peer_)                                            \
	printf("copy kind %u bytes %llu start %llu end %llu device %u context %u stream %u "       \
	       "correlation %u node %llx graph %u from %u to %u peer %u\n",                        \
	       (unsigned)(kind_), (unsigned long long)(bytes_), (unsigned long long)(c_)->start,   \
	       (unsigned long long)(c_)->end, (c_)->deviceId, (c_)->contextId, (c_)->streamId,     \
	       (c_)->correlationId, (unsigned long long)(c_)->graphNodeId, (c_)->graphId,          \
	       (unsigned)(src_), (unsigned)(dst_), (unsigned)(peer_))

static void copies(void)
{
	MEMCPY *c = room(sizeof(*c));
	PEERCPY *p = room(sizeof(*p));
	MEMSET *s = room(sizeof(*s));

	c->kind = CUPTI_ACTIVITY_KIND_MEMCPY;
	c->copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
	c->srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
	c->dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	c->bytes = 1ull << 33;
	c->start = 2000;
	c->end = 2100;
	c->deviceId = 1;
	c->contextId = 2;
	c->streamId = 7;
	c->correlationId = 778;
	c->graphNodeId = 3;
	c->graphId = 4;
#ifdef HAS_MEMCPY_LAUNCHED
	c->isDeviceLaunched = 0;
#endif
	TOLD_COPY(c, c->copyKind, c->bytes, c->srcKind, c->dstKind, 0);
	p->kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	p->copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
	p->srcKind = p->dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	p->bytes = 4096;
	p->start = 2200;
	p->end = 2300;
	p->deviceId = 1;
	p->contextId = 2;
	p->streamId = 8;
	p->srcDeviceId = 1;
	p->dstDeviceId = 5;
	p->correlationId = 779;
	p->graphNodeId = 0;
	p->graphId = 4;
	TOLD_COPY(p, p->copyKind, p->bytes, p->srcKind, p->dstKind, p->dstDeviceId + 1);
	s->kind = CUPTI_ACTIVITY_KIND_MEMSET;
	s->value = 1;
	s->bytes = 12;
	s->start = 2400;
	s->end = 2500;
	s->deviceId = 1;
	s->contextId = 2;
	s->streamId = 9;
	s->correlationId = 780;
	s->memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	s->graphNodeId = 6;
	s->graphId = 4;
	TOLD_COPY(s, 100, s->bytes, 0, s->memoryKind, 0);
}

static void graph(void)
{
	GRAPHTRACE *g = room(sizeof(*g));

	g->kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
	g->correlationId = 781;
	g->start = 3000;
	g->end = 3500;
	g->deviceId = 1;
	g->graphId = 4;
	g->contextId = 2;
	g->streamId = 7;
	printf("graph %u start %llu end %llu device %u context %u stream %u correlation %u\n",
	       g->graphId, (unsigned long long)g->start, (unsigned long long)g->end, g->deviceId,
	       g->contextId, g->streamId, g->correlationId);
}

static void overhead(void)
{
	OVERHEAD *o = room(sizeof(*o));

	o->kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
	o->overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
	o->objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
	o->objectId.pt.processId = 7;
	o->objectId.pt.threadId = 0xdeadbeef;
	o->start = 4000;
	o->end = 4100;
	printf("overhead %u thread %x start %llu end %llu\n", (unsigned)o->overheadKind,
	       o->objectId.pt.threadId, (unsigned long long)o->start, (unsigned long long)o->end);
}

int main(int argc, char **argv)
{
	FILE *out = argc == 2 ? fopen(argv[1], "wb") : NULL;

	if (!out)
		return 2;
	api();
	kernel(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
	kernel(CUPTI_ACTIVITY_KIND_KERNEL, 1);
	copies();
	graph();
	overhead();
	api();
	fwrite(bytes, 1, used, out);
	if (fclose(out))
		return 1;
	fprintf(stderr, "%u", (unsigned)CUPTI_API_VERSION);
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, " %zu", size[i]);
	fputc('\n', stderr);
	return 0;
}
