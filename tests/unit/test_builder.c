/* SPDX-License-Identifier: Apache-2.0 */
/* The timeline builder: interning, sorting, joining by (process, correlation); impossible rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "timeline/builder.h"

static struct wt_timeline *finish(struct wt_builder *b)
{
	struct wt_timeline *tl = NULL;
	struct wt_diag diag = {.offset = -1};

	assert_int_equal(wt_builder_finish(b, &tl, &diag), 0);
	return tl;
}

static struct wt_op op_at(int64_t start_ns, int64_t end_ns, uint64_t correlation)
{
	return (struct wt_op){.start_ns = start_ns,
			      .end_ns = end_ns,
			      .correlation = correlation,
			      .kind = WT_OP_KERNEL,
			      .call = -1,
			      .collective = -1};
}

static struct wt_call call_at(int64_t start_ns, int64_t end_ns, uint64_t correlation, uint8_t kind)
{
	return (struct wt_call){.start_ns = start_ns,
				.end_ns = end_ns,
				.correlation = correlation,
				.stream = UINT32_MAX,
				.parent = -1,
				.kind = kind};
}

static void test_interning(void **state)
{
	struct wt_builder *b = wt_builder_new();
	uint32_t in = wt_builder_input(b, "a", "test");
	uint16_t p = wt_builder_process(b, in, 7), q = wt_builder_process(b, in, 8);
	const uint8_t uuid[16] = {1, 2, 3}, zero[16] = {0};
	struct wt_shape shape = {.grid = {1, 2, 3}, .block = {32, 1, 1}};

	assert_int_equal(wt_builder_process(b, in, 7), p);
	assert_int_not_equal(p, q);
	assert_int_equal(wt_builder_process_at(b, p)->rank, -1);
	assert_int_equal(wt_builder_process_at(b, p)->level, -1);
	/* One UUID is one device, whatever the processes call it; without one it is each process's own. */
	assert_int_equal(wt_builder_device(b, p, 0, uuid), wt_builder_device(b, q, 3, uuid));
	assert_int_not_equal(wt_builder_device(b, p, 0, zero), wt_builder_device(b, q, 0, zero));
	assert_int_equal(wt_builder_device(b, p, 0, zero), wt_builder_device(b, p, 0, NULL));
	assert_int_equal(wt_builder_stream(b, p, 0, -1), wt_builder_stream(b, p, 0, -1));
	assert_int_not_equal(wt_builder_stream(b, p, 0, 7), wt_builder_stream(b, q, 0, 7));
	assert_int_not_equal(wt_builder_thread(b, p, 7), wt_builder_thread(b, q, 7));
	assert_int_equal(wt_builder_shape(b, &(struct wt_shape){.regs = 0}), 0);
	assert_int_equal(wt_builder_shape(b, &shape), wt_builder_shape(b, &shape));
	assert_int_not_equal(wt_builder_shape(b, &shape), 0);
	assert_int_equal(wt_builder_string(b, "", 0), 0);
	assert_int_equal(wt_builder_string(b, "abc", 2), wt_builder_cstring(b, "ab"));
	wt_builder_note(b, "n %d", 1);
	wt_builder_note(b, "n %d", 1);
	{
		struct wt_timeline *tl = finish(b);

		assert_int_equal(tl->nnotes, 1);
		assert_string_equal(wt_timeline_string(tl, tl->notes[0]), "n 1");
		assert_string_equal(wt_timeline_string(tl, 99999), "");
		wt_timeline_free(tl);
	}
}

/* Many keys: the sets grow and still find every one. */
static void test_many_keys(void **state)
{
	struct wt_builder *b = wt_builder_new();
	uint16_t p = wt_builder_process(b, wt_builder_input(b, "a", "test"), 1);

	for (int round = 0; round < 2; round++)
		for (int64_t i = 0; i < 5000; i++)
			assert_int_equal(wt_builder_thread(b, p, i * 4294967296), i);
	wt_builder_free(b);
}

static void test_join(void **state)
{
	struct wt_builder *b = wt_builder_new();
	uint32_t in = wt_builder_input(b, "a", "test");
	uint16_t p = wt_builder_process(b, in, 1), q = wt_builder_process(b, in, 2);
	uint16_t d = wt_builder_device(b, p, 0, NULL);
	uint32_t sp = wt_builder_stream(b, p, d, 7), sq = wt_builder_stream(b, q, d, 7);
	uint32_t tp = wt_builder_thread(b, p, 1), tq = wt_builder_thread(b, q, 1);
	struct wt_call c;
	struct wt_op op;
	struct wt_timeline *tl;

	/* Correlation 5 is in both processes; in p a runtime call encloses a driver call, and a query comes first. */
	c = call_at(400, 410, 5, WT_CALL_LAUNCH);
	c.process = q;
	c.thread = tq;
	wt_builder_call(b, &c);
	c = call_at(110, 150, 5, WT_CALL_LAUNCH);
	c.process = p;
	c.thread = tp;
	wt_builder_call(b, &c);
	c = call_at(100, 200, 5, WT_CALL_LAUNCH);
	c.process = p;
	c.thread = tp;
	wt_builder_call(b, &c);
	c = call_at(50, 60, 5, WT_CALL_OTHER);
	c.process = p;
	c.thread = tp;
	wt_builder_call(b, &c);
	op = op_at(500, 600, 5);
	op.process = q;
	op.device = d;
	op.stream = sq;
	wt_builder_op(b, &op);
	op = op_at(300, 350, 5);
	op.process = p;
	op.device = d;
	op.stream = sp;
	wt_builder_op(b, &op);
	op = op_at(300, 360, 6); /* no such call */
	op.process = p;
	op.device = d;
	op.stream = sp;
	wt_builder_op(b, &op);
	op = op_at(700, 800, 0); /* no correlation, but the importer knows */
	op.process = q;
	op.device = d;
	op.stream = sq;
	op.call = 0; /* as added: q's launch at 400 */
	wt_builder_op(b, &op);
	op.process = p; /* whose launch it is not */
	op.stream = sp;
	op.start_ns++;
	wt_builder_op(b, &op);
	tl = finish(b);
	assert_int_equal(tl->nops, 5);
	assert_int_equal(tl->ops[0].end_ns, 360); /* equal starts: the longer first */
	assert_int_equal(tl->ops[0].call, -1);
	assert_int_equal(tl->calls[tl->ops[1].call].start_ns, 100);
	assert_int_equal(tl->calls[tl->ops[2].call].start_ns, 400);
	assert_int_equal(tl->calls[tl->ops[3].call].start_ns, 400);
	assert_int_equal(tl->ops[4].call, -1);
	for (size_t i = 1; i < tl->ncalls; i++)
		assert_true(tl->calls[i - 1].process < tl->calls[i].process ||
			    tl->calls[i - 1].start_ns <= tl->calls[i].start_ns);
	assert_int_equal(tl->device_first[0], 0);
	assert_int_equal(tl->device_first[1], 5);
	wt_timeline_free(tl);
}

static void test_parents_follow(void **state)
{
	struct wt_builder *b = wt_builder_new();
	uint16_t p = wt_builder_process(b, wt_builder_input(b, "a", "test"), 1);
	struct wt_call c = call_at(20, 30, 0, WT_CALL_LAUNCH);
	struct wt_collective coll = {.process = p, .op = WT_COLL_ALL_REDUCE, .call = 1};
	struct wt_timeline *tl;

	c.thread = wt_builder_thread(b, p, 1);
	c.parent = 1; /* written before its parent, as rings do */
	wt_builder_call(b, &c);
	c = call_at(10, 40, 0, WT_CALL_COLLECTIVE);
	c.parent = 77; /* does not exist */
	wt_builder_call(b, &c);
	wt_builder_collective(b, &coll);
	tl = finish(b);
	assert_int_equal(tl->calls[0].kind, WT_CALL_COLLECTIVE);
	assert_int_equal(tl->calls[0].parent, -1);
	assert_int_equal(tl->calls[1].parent, 0);
	assert_int_equal(tl->collectives[0].call, 0);
	wt_timeline_free(tl);
}

static void test_impossible_rows(void **state)
{
	struct wt_builder *b = wt_builder_new();
	uint16_t p = wt_builder_process(b, wt_builder_input(b, "a", "test"), 1);
	uint16_t d = wt_builder_device(b, p, 0, NULL);
	struct wt_op op = op_at(INT64_MIN, INT64_MAX, 0);
	struct wt_timeline *tl = NULL;
	struct wt_diag diag = {.offset = -1};

	op.stream = wt_builder_stream(b, p, d, 7);
	op.shape = 1000;
	op.name = 1000;
	op.call = 1000;
	op.collective = 1000;
	wt_builder_op(b, &op);
	op = op_at(20, 10, 0); /* ends before it starts */
	wt_builder_op(b, &op);
	tl = finish(b);
	for (int i = 0; i < 2; i++) {
		assert_true(tl->ops[i].flags & WT_OP_UNTIMED);
		assert_int_equal(tl->ops[i].call, -1);
		assert_int_equal(tl->ops[i].collective, -1);
		assert_int_equal(tl->ops[i].shape, 0);
		assert_int_equal(tl->ops[i].name, 0);
	}
	wt_timeline_free(tl);

	/* A stream that nobody introduced is refused. */
	b = wt_builder_new();
	wt_builder_process(b, wt_builder_input(b, "a", "test"), 1);
	op = op_at(1, 2, 0);
	op.stream = 3;
	wt_builder_op(b, &op);
	assert_int_equal(wt_builder_finish(b, &tl, &diag), -WT_E_CORRUPT);
	assert_true(diag.text[0]);
}

static void test_full_tables(void **state)
{
	struct wt_builder *b = wt_builder_new();
	uint32_t in = wt_builder_input(b, "a", "test");
	struct wt_timeline *tl = NULL;
	struct wt_diag diag = {.offset = -1};

	wt_builder_process(b, in, 1);
	for (int64_t i = 0; i <= UINT16_MAX; i++)
		wt_builder_device(b, 0, i, NULL);
	assert_int_equal(wt_builder_device(b, 0, UINT16_MAX, NULL), 0);
	assert_int_equal(wt_builder_finish(b, &tl, &diag), -WT_E_LIMIT);
	assert_null(tl);
}

/* Processes that find no room are one, whose calls made nothing. */
static void test_many_processes(void **state)
{
	struct wt_builder *b = wt_builder_new();
	uint32_t in = wt_builder_input(b, "a", "test");
	struct wt_timeline *tl = NULL;
	struct wt_diag diag = {.offset = -1};
	struct wt_op op = op_at(1, 2, 0);
	struct wt_call call = {.start_ns = 1, .end_ns = 2, .correlation = 7, .parent = -1};
	uint16_t others;

	for (int64_t i = 0; i < 70000; i++)
		wt_builder_process(b, in, i);
	assert_int_equal(wt_builder_process(b, in, 5), 5);
	assert_int_equal(wt_builder_process(b, in, 65533), 65533);
	others = wt_builder_process(b, in, 65534);
	assert_int_equal(others, 65534);
	assert_int_equal(wt_builder_process(b, in, 69999), others);
	assert_int_equal(wt_builder_process(b, in, 123456), others);
	assert_int_equal(wt_builder_process_at(b, others)->pid, WT_PID_OTHERS);
	wt_builder_device(b, others, 0, NULL);
	op.stream = wt_builder_stream(b, others, 0, 1);
	op.process = call.process = others;
	op.correlation = call.correlation;
	call.thread = wt_builder_thread(b, others, 1);
	wt_builder_op(b, &op);
	wt_builder_call(b, &call);
	assert_int_equal(wt_builder_finish(b, &tl, &diag), 0);
	assert_int_equal(tl->ops[0].call, -1);
	assert_int_equal(tl->nprocesses, 65535);
	assert_int_equal(tl->nnotes, 1);
	wt_timeline_free(tl);
}

static void test_call_names(void **state)
{
	static const struct {
		const char *name;
		enum wt_call_kind kind;
		int blocks;
	} want[] = {
		{"cudaLaunchKernel", WT_CALL_LAUNCH, 0},
		{"cudaLaunchKernel_ptsz", WT_CALL_LAUNCH, 0},
		{"cudaLaunchKernelExC_v11060", WT_CALL_LAUNCH, 0},
		{"cuLaunchKernelEx", WT_CALL_LAUNCH, 0},
		{"cuLaunchHostFunc", WT_CALL_OTHER, 0},
		{"hipExtModuleLaunchKernel", WT_CALL_LAUNCH, 0},
		{"cudaGraphLaunch_v10000", WT_CALL_GRAPH_LAUNCH, 0},
		{"hipGraphLaunch", WT_CALL_GRAPH_LAUNCH, 0},
		{"cuGraphInstantiateWithFlags", WT_CALL_GRAPH, 0},
		{"cudaMemcpy", WT_CALL_COPY, 1},
		{"cudaMemcpyAsync", WT_CALL_COPY, 0},
		{"cuMemcpyHtoD_v2", WT_CALL_COPY, 1},
		{"cuMemcpyHtoDAsync_v2_ptsz", WT_CALL_COPY, 0},
		{"cudaMemcpy2DAsync", WT_CALL_COPY, 0},
		{"hipMemcpyWithStream", WT_CALL_COPY, 1},
		{"cuMemsetD8Async", WT_CALL_MEMSET, 0},
		{"cudaDeviceSynchronize", WT_CALL_SYNC, 1},
		{"cuStreamSynchronize_ptsz", WT_CALL_SYNC, 1},
		{"hipEventSynchronize", WT_CALL_SYNC, 1},
		{"cudaStreamWaitEvent", WT_CALL_OTHER, 0},
		{"cudaEventQuery", WT_CALL_OTHER, 0},
		{"cudaMalloc", WT_CALL_ALLOC, 0},
		{"cudaFree", WT_CALL_FREE, 1},
		{"cuMemFree_v2", WT_CALL_FREE, 1},
		{"cudaFreeAsync_v11020", WT_CALL_FREE, 0},
		{"cuModuleLoadDataEx", WT_CALL_MODULE, 0},
		{"cuLibraryLoadData", WT_CALL_MODULE, 0},
		{"cublasLtMatmul", WT_CALL_OTHER, 0},
		{"cudnnConvolutionForward", WT_CALL_OTHER, 0},
		{"cu", WT_CALL_OTHER, 0},
		{"", WT_CALL_OTHER, 0},
		{"_v2", WT_CALL_OTHER, 0},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		if (wt_call_kind_by_name(want[i].name) != want[i].kind ||
		    wt_call_blocks_by_name(want[i].name) != want[i].blocks)
			fail_msg("%s: kind %d, blocks %d", want[i].name,
				 wt_call_kind_by_name(want[i].name),
				 wt_call_blocks_by_name(want[i].name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interning),
		cmocka_unit_test(test_many_keys),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_parents_follow),
		cmocka_unit_test(test_impossible_rows),
		cmocka_unit_test(test_full_tables),
		cmocka_unit_test(test_many_processes),
		cmocka_unit_test(test_call_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
