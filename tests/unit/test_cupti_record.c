/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collectors/cupti_record.c: records laid out by the real headers, of every release they still describe, are read
 * right from the shared prefix; a record cut short is refused, never read beyond its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <cupti.h>

#include "collectors/cupti_api.h"
#include "collectors/cupti_record.h"

/* A record at the very end of its allocation: the sanitizer sees one byte too many. */
static int read_at_end(const void *rec, size_t bytes, int extra, struct wt_dev_rec *ret)
{
	void *copy = malloc(bytes ? bytes : 1);
	int r;

	memcpy(copy, rec, bytes);
	r = wt_cupti_record(copy, bytes, extra, ret);
	free(copy);
	return r;
}

/* Fills the fields all kernel structures share, by that structure's own names. */
#define FILL_KERNEL(k_)                                                                            \
	do {                                                                                       \
		memset(&(k_), 0xa5, sizeof(k_));                                                   \
		(k_).kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;                                 \
		(k_).registersPerThread = 64;                                                      \
		(k_).start = 1000;                                                                 \
		(k_).end = 1500;                                                                   \
		(k_).deviceId = 2;                                                                 \
		(k_).contextId = 3;                                                                \
		(k_).streamId = 13;                                                                \
		(k_).gridX = 10;                                                                   \
		(k_).gridY = 11;                                                                   \
		(k_).gridZ = 12;                                                                   \
		(k_).blockX = 128;                                                                 \
		(k_).blockY = 2;                                                                   \
		(k_).blockZ = 1;                                                                   \
		(k_).staticSharedMemory = 4096;                                                    \
		(k_).dynamicSharedMemory = 8192;                                                   \
		(k_).localMemoryPerThread = 16;                                                    \
		(k_).correlationId = 777;                                                          \
		(k_).name = "a_kernel";                                                            \
		(k_).queued = 5;                                                                   \
		(k_).submitted = 6;                                                                \
		(k_).graphNodeId = 0x100000002;                                                    \
		(k_).graphId = 9;                                                                  \
		(k_).clusterX = 2;                                                                 \
		(k_).clusterY = 1;                                                                 \
		(k_).clusterZ = 1;                                                                 \
	} while (0)

static void check_kernel(const struct wt_dev_rec *r)
{
	assert_int_equal(r->kind, WT_DEV_KERNEL);
	assert_int_equal(r->start, 1000);
	assert_int_equal(r->end, 1500);
	assert_int_equal(r->device, 2);
	assert_int_equal(r->context, 3);
	assert_int_equal(r->stream, 13);
	assert_int_equal(r->correlation, 777);
	assert_int_equal(r->graph_node, 0x100000002);
	assert_int_equal(r->graph, 9);
	assert_int_equal(r->u.kernel.grid[0], 10);
	assert_int_equal(r->u.kernel.grid[2], 12);
	assert_int_equal(r->u.kernel.block[0], 128);
	assert_int_equal(r->u.kernel.regs, 64);
	assert_int_equal(r->u.kernel.static_smem, 4096);
	assert_int_equal(r->u.kernel.dyn_smem, 8192);
	assert_int_equal(r->u.kernel.local_bytes, 16);
	assert_int_equal(r->u.kernel.cluster, 2 | 1 << 8 | 1 << 16);
	assert_string_equal(r->u.kernel.name, "a_kernel");
}

static void test_kernel_releases(void **state)
{
	struct wt_dev_rec r;
	CUpti_ActivityKernel8 k8;   /* 11.8 */
	CUpti_ActivityKernel9 k9;   /* 12.x */
	CUpti_ActivityKernel10 k10; /* 13.0 */

	FILL_KERNEL(k8);
	assert_int_equal(read_at_end(&k8, sizeof(k8), 0, &r), 1);
	check_kernel(&r);
	assert_int_equal(r.flags, 0);
	FILL_KERNEL(k9);
	assert_int_equal(read_at_end(&k9, sizeof(k9), 0, &r), 1);
	check_kernel(&r);
	FILL_KERNEL(k10);
	k10.isDeviceLaunched = 1;
	assert_int_equal(read_at_end(&k10, sizeof(k10), 1, &r), 1);
	check_kernel(&r);
	assert_int_equal(r.flags, WARPTAP__V1__RECORD_FLAG__RECORD_FLAG_DEVICE_LAUNCHED);
	/* a release that does not fill the field leaves what was in the buffer: not read */
	assert_int_equal(read_at_end(&k10, sizeof(k10), 0, &r), 1);
	assert_int_equal(r.flags, 0);
	/* the record that says it ended before it began, and the one that was never timed */
	k10.end = 999;
	assert_int_equal(read_at_end(&k10, sizeof(k10), 0, &r), 1);
	assert_int_equal(r.flags, WARPTAP__V1__RECORD_FLAG__RECORD_FLAG_UNTIMED);
	k10.start = k10.end = 0;
	assert_int_equal(read_at_end(&k10, sizeof(k10), 0, &r), 1);
	assert_int_equal(r.flags, WARPTAP__V1__RECORD_FLAG__RECORD_FLAG_UNTIMED);
}

#define FILL_COPY(c_)                                                                              \
	do {                                                                                       \
		memset(&(c_), 0xa5, sizeof(c_));                                                   \
		(c_).kind = CUPTI_ACTIVITY_KIND_MEMCPY;                                            \
		(c_).copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;                                   \
		(c_).srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;                                  \
		(c_).dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;                                  \
		(c_).bytes = 1ull << 33;                                                           \
		(c_).start = 10;                                                                   \
		(c_).end = 20;                                                                     \
		(c_).deviceId = 1;                                                                 \
		(c_).contextId = 2;                                                                \
		(c_).streamId = 7;                                                                 \
		(c_).correlationId = 42;                                                           \
		(c_).graphNodeId = 3;                                                              \
		(c_).graphId = 4;                                                                  \
	} while (0)

static void check_copy(const struct wt_dev_rec *r)
{
	assert_int_equal(r->kind, WT_DEV_COPY);
	assert_int_equal(r->u.copy.kind, 1);
	assert_int_equal(r->u.copy.bytes, 1ull << 33);
	assert_int_equal(r->u.copy.src_mem, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
	assert_int_equal(r->u.copy.dst_mem, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
	assert_int_equal(r->start, 10);
	assert_int_equal(r->end, 20);
	assert_int_equal(r->device, 1);
	assert_int_equal(r->context, 2);
	assert_int_equal(r->stream, 7);
	assert_int_equal(r->correlation, 42);
	assert_int_equal(r->graph_node, 3);
	assert_int_equal(r->graph, 4);
}

static void test_copies(void **state)
{
	struct wt_dev_rec r;
	CUpti_ActivityMemcpy5 c5;
	CUpti_ActivityMemcpy6 c6;
	CUpti_ActivityMemcpyPtoP4 p;
	CUpti_ActivityMemset4 s;

	FILL_COPY(c5);
	assert_int_equal(read_at_end(&c5, sizeof(c5), 0, &r), 1);
	check_copy(&r);
	FILL_COPY(c6);
	c6.isDeviceLaunched = 0;
	assert_int_equal(read_at_end(&c6, sizeof(c6), 1, &r), 1);
	check_copy(&r);
	assert_int_equal(r.flags, 0);
	FILL_COPY(p);
	p.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
	p.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
	p.dstDeviceId = 5;
	assert_int_equal(read_at_end(&p, sizeof(p), 0, &r), 1);
	assert_int_equal(r.u.copy.kind, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
	assert_int_equal(r.u.copy.peer_device, 6);
	assert_int_equal(r.graph, 4);
	memset(&s, 0, sizeof(s));
	s.kind = CUPTI_ACTIVITY_KIND_MEMSET;
	s.bytes = 12;
	s.start = 1;
	s.end = 2;
	s.correlationId = 8;
	s.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	assert_int_equal(read_at_end(&s, sizeof(s), 0, &r), 1);
	assert_int_equal(r.u.copy.kind, 100);
	assert_int_equal(r.u.copy.bytes, 12);
	assert_int_equal(r.u.copy.dst_mem, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
	assert_int_equal(r.correlation, 8);
}

static void test_api_and_graph(void **state)
{
	CUpti_ActivityAPI a = {.kind = CUPTI_ACTIVITY_KIND_DRIVER, .cbid = 307};
	CUpti_ActivityGraphTrace2 g = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE};
	struct wt_dev_rec r;

	a.threadId = 0xdeadbeef;
	a.correlationId = 4000000000u;
	assert_int_equal(read_at_end(&a, sizeof(a), 0, &r), 1);
	assert_int_equal(r.kind, WT_DEV_API);
	assert_int_equal(r.u.api.cbid, 307);
	assert_int_equal(r.u.api.runtime, 0);
	assert_int_equal(r.u.api.thread_word, 0xdeadbeef);
	assert_int_equal(r.correlation, 4000000000u);
	a.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
	assert_int_equal(read_at_end(&a, sizeof(a), 0, &r), 1);
	assert_int_equal(r.u.api.runtime, 1);
	g.correlationId = 3;
	g.start = 5;
	g.end = 9;
	g.graphId = 2;
	g.streamId = 7;
	/* 48 bytes before 12.4 */
	assert_int_equal(read_at_end(&g, 48, 0, &r), 1);
	assert_int_equal(r.kind, WT_DEV_GRAPH);
	assert_int_equal(r.graph, 2);
	assert_int_equal(r.stream, 7);
}

/* 40 bytes before 12.4, then a correlation, then a pointer; a thread that is none of the job's is 0. */
static void test_overhead(void **state)
{
	CUpti_ActivityOverhead3 o = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD};
	struct wt_dev_rec r;

	o.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
	o.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
	o.objectId.pt.processId = 99;
	o.objectId.pt.threadId = 0xdeadbeef;
	o.start = 1700000000000000000;
	o.end = o.start + 70;
	for (size_t n = 40; n <= sizeof(o); n += 8) {
		memset(&r, 0, sizeof(r));
		assert_int_equal(read_at_end(&o, n, 0, &r), 1);
		assert_int_equal(r.kind, WT_DEV_OVERHEAD);
		assert_int_equal(r.u.overhead.kind, 1 << 16);
		assert_int_equal(r.u.overhead.thread_word, 0xdeadbeef);
		assert_int_equal(r.end - r.start, 70);
	}
	assert_int_equal(read_at_end(&o, 39, 0, &r), 0);
	o.objectKind = CUPTI_ACTIVITY_OBJECT_PROCESS;
	memset(&r, 0, sizeof(r));
	assert_int_equal(read_at_end(&o, sizeof(o), 0, &r), 1);
	assert_int_equal(r.u.overhead.thread_word, 0);
	o.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
	o.end = o.start;
	assert_int_equal(read_at_end(&o, sizeof(o), 0, &r), 1);
	assert_int_equal(r.u.overhead.thread_word, 0);
}

/* Every kind, cut at every length: refused or read, never beyond the end (the sanitizer watches). */
static void test_cut(void **state)
{
	uint8_t bytes[256];
	struct wt_dev_rec r;

	for (int32_t kind = -2; kind < 64; kind++) {
		memset(bytes, 0x11, sizeof(bytes));
		memcpy(bytes, &kind, sizeof(kind));
		for (size_t n = 0; n <= sizeof(bytes); n++) {
			int got = read_at_end(bytes, n, 1, &r);

			assert_true(got == 0 || got == 1);
			if (n < 40)
				assert_int_equal(got, 0);
		}
	}
}

static int step; /* what the fake below does wrong */

static CUptiResult fake_next(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	uint8_t *at = *record ? (uint8_t *)*record + sizeof(CUpti_ActivityAPI) : buffer;

	if (step == 1)
		at = buffer + valid + 8; /* lost its way */
	if (at + sizeof(CUpti_ActivityAPI) > buffer + valid && step == 0)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)at;
	return CUPTI_SUCCESS;
}

static void count(void *arg, const struct wt_dev_rec *r)
{
	*(int *)arg += r->kind == WT_DEV_API;
}

static void test_buffer(void **state)
{
	CUpti_ActivityAPI a[10] = {0};
	int n = 0;

	for (int i = 0; i < 10; i++)
		a[i].kind = i == 3 ? CUPTI_ACTIVITY_KIND_MARKER : CUPTI_ACTIVITY_KIND_DRIVER;
	wt_cupti.cuptiActivityGetNextRecord = fake_next;
	assert_int_equal(wt_cupti_buffer((uint8_t *)a, sizeof(a), count, &n), 1);
	assert_int_equal(n, 9);
	step = 1;
	n = 0;
	assert_int_equal(wt_cupti_buffer((uint8_t *)a, sizeof(a), count, &n), 0);
	assert_int_equal(n, 0);
	step = 0;
	assert_int_equal(wt_cupti_buffer((uint8_t *)a, 0, count, &n), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_releases),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_api_and_graph),
		cmocka_unit_test(test_overhead),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
