/* SPDX-License-Identifier: Apache-2.0 */
/* What is before the first step, and what an autotuner launched, of hand-made jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "axes/axes.h"
#include "timeline/builder.h"

#define MIB 1048576u

struct scene {
	struct wt_builder *b;
	uint16_t process, device;
	uint32_t stream;
	uint64_t correlation;
	int64_t host_ns, device_ns; /* of the next launch and the next operation */
	struct wt_timeline *tl;
	struct wt_ledger *l;
	struct wt_axes *a;
};

/* `begun` as of struct wt_process; recording began at 0. */
static void open_scene(struct scene *s, int begun)
{
	struct wt_process *p;

	*s = (struct scene){.b = wt_builder_new(), .host_ns = 500, .device_ns = 1000};
	s->process = wt_builder_process(s->b, wt_builder_input(s->b, "a", "test"), 1);
	s->device = wt_builder_device(s->b, s->process, 0, NULL);
	s->stream = wt_builder_stream(s->b, s->process, s->device, 7);
	p = wt_builder_process_at(s->b, s->process);
	p->begun = begun;
	p->level = 3;
	p->collect_start_ns = 0;
	p->collect_end_ns = 1000000;
}

static void op(struct scene *s, int kind, const char *name, unsigned grid, uint64_t bytes, int node)
{
	struct wt_shape shape = {.grid = {grid, 1, 1}, .block = {128, 1, 1}};
	struct wt_op row = {.start_ns = s->device_ns,
			    .end_ns = s->device_ns + 100,
			    .correlation = s->correlation,
			    .bytes = bytes,
			    .name = wt_builder_cstring(s->b, name),
			    .stream = s->stream,
			    .shape = wt_builder_shape(s->b, &shape),
			    .device = s->device,
			    .process = s->process,
			    .kind = (uint8_t)kind,
			    .flags = node ? WT_OP_GRAPH_NODE : 0,
			    .call = -1,
			    .collective = -1};

	wt_builder_op(s->b, &row);
	s->device_ns += 100;
}

static void call(struct scene *s, int64_t tid, int kind)
{
	struct wt_call row = {.start_ns = s->host_ns,
			      .end_ns = s->host_ns + 5,
			      .correlation = ++s->correlation,
			      .name = wt_builder_cstring(s->b, "launch"),
			      .thread = wt_builder_thread(s->b, s->process, tid),
			      .stream = UINT32_MAX,
			      .parent = -1,
			      .process = s->process,
			      .kind = (uint8_t)kind};

	wt_builder_call(s->b, &row);
	s->host_ns += 10;
}

static void kernel(struct scene *s, int64_t tid, const char *name, unsigned grid)
{
	call(s, tid, WT_CALL_LAUNCH);
	op(s, WT_OP_KERNEL, name, grid, 0, 0);
}

static void flush(struct scene *s, uint64_t bytes)
{
	call(s, 1, WT_CALL_MEMSET);
	op(s, WT_OP_MEMSET, "Memset (Device)", 0, bytes, 0);
}

static void replay(struct scene *s)
{
	call(s, 1, WT_CALL_GRAPH_LAUNCH);
	op(s, WT_OP_KERNEL, "fusion", 1, 0, 1);
	op(s, WT_OP_KERNEL, "gemm_fusion", 1, 0, 1);
}

static void step(struct scene *s, int64_t number, int64_t from_ns)
{
	struct wt_range r = {.start_ns = from_ns,
			     .end_ns = s->host_ns,
			     .name = wt_builder_cstring(s->b, "train"),
			     .thread = wt_builder_thread(s->b, s->process, 1),
			     .step = number,
			     .process = s->process,
			     .kind = WT_RANGE_STEP,
			     .marked = 1};

	wt_builder_range(s->b, &r);
}

static void build(struct scene *s)
{
	struct wt_diag diag;

	assert_int_equal(wt_builder_finish(s->b, &s->tl, &diag), 0);
	assert_int_equal(wt_ledger_build(&s->l, s->tl, &diag), 0);
	assert_int_equal(wt_axes_build(&s->a, s->l), 0);
}

static void close_scene(struct scene *s)
{
	wt_axes_free(s->a);
	wt_ledger_free(s->l);
	wt_timeline_free(s->tl);
}

/* Two kernels of start-up, two candidates with XLA's kernels around them, a copy of another thread; five replays. */
static void compiled(struct scene *s)
{
	kernel(s, 1, "init", 1);
	kernel(s, 1, "init", 1);
	kernel(s, 1, "stream_executor::gpu::RedzoneAllocatorKernelImpl", 1);
	kernel(s, 1, "gemm_fusion_1", 64);
	kernel(s, 2, "another thread's", 1);
	kernel(s, 1, "stream_executor::gpu::DelayKernel", 1);
	kernel(s, 1, "gemm_fusion_1", 32);
	kernel(s, 1, "xla_fp_comparison", 1);
	kernel(s, 1, "the job's own", 1);
	for (int i = 0; i < 5; i++)
		replay(s);
}

static void test_compiled(void **state)
{
	struct scene s;
	const struct wt_startup *u;

	open_scene(&s, 1);
	compiled(&s);
	build(&s);
	/* What was before the first replay is no step, not even a partial one. */
	assert_int_equal(s.a->nsteps, 5);
	assert_int_equal(s.a->steps[0].number, 0);
	assert_int_equal(s.a->steps[0].partial, 1);
	assert_int_equal(s.a->steps[1].partial, 0);
	assert_int_equal(s.a->nstartups, 1);
	u = &s.a->startups[0];
	assert_int_equal(u->begin_ns, 0);
	assert_int_equal(u->end_ns, 1900); /* the device is behind */
	assert_int_equal(u->launches, 9);
	assert_int_equal(u->kernels, 9);
	assert_int_equal(u->kernel_ns, 900);
	assert_int_equal(u->source, WT_STEPS_GRAPH);
	assert_int_equal(u->grade, 2);
	assert_int_equal(u->with_first, 0);
	/* Three of XLA's own and what is between them on their thread. */
	assert_int_equal(u->tuning.kernels, 5);
	assert_int_equal(u->tuning.kernel_ns, 500);
	assert_int_equal(u->tuning.in_steps, 0);
	assert_int_equal(u->tuning.first_ns, 1200);
	assert_int_equal(u->tuning.last_ns, 1800);
	assert_int_equal(u->tuning.by, 1u << WT_TUNING_XLA);
	close_scene(&s);
}

/* Recording began later, or nothing says when: what is before the first replay may be the end of a step. */
static void test_cut(void **state)
{
	for (int begun = 0; begun <= 2; begun += 2) {
		struct scene s;

		open_scene(&s, begun);
		compiled(&s);
		build(&s);
		assert_int_equal(s.a->nsteps, 6);
		assert_int_equal(s.a->steps[0].partial, 1);
		assert_int_equal(s.a->nstartups, 1);
		assert_int_equal(s.a->startups[0].launches, 0);
		assert_int_equal(s.a->startups[0].tuning.kernels, 5);
		assert_int_equal(s.a->startups[0].tuning.in_steps, 5);
		close_scene(&s);
	}
}

/* With XLA's annotations: a candidate is a program of its own, and a run of the job's is none. */
static void test_programs(void **state)
{
	struct scene s;

	open_scene(&s, 1);
	kernel(&s, 1, "stream_executor::gpu::RedzoneAllocatorKernelImpl", 1);
	for (int own = 0; own < 2; own++) {
		struct wt_range r = {.start_ns = s.host_ns,
				     .end_ns = s.host_ns + 8,
				     .name = wt_builder_cstring(
					     s.b, own ? "XlaModule:#hlo_module=jit_f,program_id=3#"
						      : "XlaModule:#hlo_module=gemm_fusion_dot.1#"),
				     .thread = wt_builder_thread(s.b, s.process, 1),
				     .step = -1,
				     .process = s.process,
				     .kind = WT_RANGE_USER};

		kernel(&s, 1, own ? "the job's" : "candidate", 1);
		wt_builder_range(s.b, &r);
	}
	kernel(&s, 1, "stream_executor::gpu::DelayKernel", 1);
	build(&s);
	assert_int_equal(s.a->nstartups, 1);
	assert_int_equal(s.a->startups[0].tuning.kernels, 3);
	close_scene(&s);
}

static void benchmark(struct scene *s, int times)
{
	for (int i = 0; i < times; i++) {
		flush(s, 256 * MIB);
		kernel(s, 1, "candidate", 8);
		kernel(s, 1, "candidate's reduction", 1);
	}
}

/* Marked steps; the first one benchmarks two candidates, which makes it no step like the others. */
static void test_benchmark(void **state)
{
	struct scene s;

	open_scene(&s, 1);
	kernel(&s, 1, "init", 1);
	for (int i = 0; i < 4; i++) {
		int64_t from_ns = s.host_ns;

		kernel(&s, 1, "forward", 1);
		if (!i) {
			benchmark(&s, 8);
			kernel(&s, 1, "backward", 1);
			benchmark(&s, 3); /* too few to be told */
		}
		kernel(&s, 1, "backward", 2);
		step(&s, i, from_ns);
	}
	build(&s);
	assert_int_equal(s.a->nsteps, 4);
	assert_int_equal(s.a->steps[0].partial, 1);
	assert_int_equal(wt_axes_whole_steps(s.a), 3);
	assert_int_equal(s.a->nstartups, 1);
	assert_int_equal(s.a->startups[0].kernels, 1);
	assert_int_equal(s.a->startups[0].source, WT_STEPS_MARKED);
	assert_int_equal(s.a->startups[0].tuning.kernels, 16);
	assert_int_equal(s.a->startups[0].tuning.in_steps, 16);
	assert_int_equal(s.a->startups[0].tuning.by, 1u << WT_TUNING_BENCHMARK);
	close_scene(&s);
}

/* Where each step is a benchmark, that is the job. */
static void test_only_benchmarks(void **state)
{
	struct scene s;

	open_scene(&s, 1);
	for (int i = 0; i < 3; i++) {
		int64_t from_ns = s.host_ns;

		benchmark(&s, 8);
		step(&s, i, from_ns);
	}
	build(&s);
	assert_int_equal(wt_axes_whole_steps(s.a), 3);
	assert_int_equal(s.a->startups[0].tuning.kernels, 48);
	close_scene(&s);
}

/* Gradients set to zero, one after the other; large memsets before different kernels; small ones before equal ones. */
static void test_no_benchmark(void **state)
{
	struct scene s;

	open_scene(&s, 1);
	for (int i = 0; i < 4; i++) {
		int64_t from_ns = s.host_ns;

		for (int k = 0; k < 10; k++)
			flush(&s, 256 * MIB);
		for (unsigned k = 0; k < 10; k++) {
			flush(&s, 256 * MIB);
			kernel(&s, 1, "layer", k + 1);
		}
		for (int k = 0; k < 10; k++) {
			flush(&s, 16 * MIB);
			kernel(&s, 1, "split", 1);
		}
		step(&s, i, from_ns);
	}
	build(&s);
	assert_int_equal(wt_axes_whole_steps(s.a), 4);
	assert_int_equal(s.a->nstartups, 1);
	assert_int_equal(s.a->startups[0].ops, 0);
	assert_int_equal(s.a->startups[0].tuning.kernels, 0);
	close_scene(&s);
}

/* Fills of integers empty the cache as well, under Triton; without steps there is only the autotuning. */
static void test_fills(void **state)
{
	static const char fill[] =
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>>";
	struct scene s;

	open_scene(&s, 1);
	for (int i = 0; i < 7; i++) {
		kernel(&s, 1, fill, 131072);
		kernel(&s, 1, "candidate", 1);
	}
	for (int i = 0; i < 2; i++)
		kernel(&s, 1, "work", 1);
	build(&s);
	assert_int_equal(s.a->nstartups, 1);
	assert_int_equal(s.a->startups[0].tuning.kernels, 14);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compiled),     cmocka_unit_test(test_cut),
		cmocka_unit_test(test_benchmark),    cmocka_unit_test(test_only_benchmarks),
		cmocka_unit_test(test_no_benchmark), cmocka_unit_test(test_fills),
		cmocka_unit_test(test_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
