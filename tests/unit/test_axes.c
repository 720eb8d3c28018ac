/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, phases, recompute and modules of hand-made jobs: each expectation is worked out from the scene. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "axes/axes.h"
#include "axes/axes_impl.h"
#include "timeline/builder.h"

#define GEMM "ampere_sgemm_128x64_tn"
#define ADAM                                                                                       \
	"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor>"
#define NORM "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<LpNormFunctor>"

struct scene {
	struct wt_builder *b;
	uint16_t process, device;
	uint32_t stream;
	uint64_t correlation;
	int64_t host_ns, device_ns; /* where the next launch and the next kernel begin */
	struct wt_timeline *tl;
	struct wt_ledger *l;
	struct wt_axes *a;
	size_t nops;
};

static void open_scene(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->b = wt_builder_new();
	s->process = wt_builder_process(s->b, wt_builder_input(s->b, "a", "test"), 1);
	s->device = wt_builder_device(s->b, s->process, 0, NULL);
	s->stream = wt_builder_stream(s->b, s->process, s->device, 7);
	s->device_ns = 1000;
}

static void name_thread(struct scene *s, int64_t tid, const char *name)
{
	wt_builder_thread_at(s->b, wt_builder_thread(s->b, s->process, tid))->name =
		wt_builder_cstring(s->b, name);
}

/* Launched 10 ns after the one before, runs 100 ns right behind it: the host is ahead of the device. */
static void launch(struct scene *s, int64_t tid, const char *name, unsigned grid, uint64_t bytes)
{
	int copied = !strncmp(name, "Memcpy", 6);
	struct wt_shape shape = {.grid = {grid, 1, 1}, .block = {64, 1, 1}};
	struct wt_call c = {.start_ns = s->host_ns,
			    .end_ns = s->host_ns + 5,
			    .correlation = ++s->correlation,
			    .thread = wt_builder_thread(s->b, s->process, tid),
			    .stream = UINT32_MAX,
			    .parent = -1,
			    .process = s->process,
			    .kind = WT_CALL_LAUNCH};
	struct wt_op op = {.start_ns = s->device_ns,
			   .end_ns = s->device_ns + 100,
			   .correlation = s->correlation,
			   .stream = s->stream,
			   .device = s->device,
			   .process = s->process,
			   .kind = copied ? WT_OP_COPY : WT_OP_KERNEL,
			   .copy_kind = !copied		       ? WT_COPY_OTHER
					: strstr(name, "HtoD") ? WT_COPY_H2D
							       : WT_COPY_D2H,
			   .bytes = bytes,
			   .call = -1,
			   .collective = -1};

	c.name = wt_builder_cstring(s->b, "cudaLaunchKernel");
	wt_builder_call(s->b, &c);
	op.name = wt_builder_cstring(s->b, name);
	op.shape = wt_builder_shape(s->b, &shape);
	wt_builder_op(s->b, &op);
	s->host_ns += 10;
	s->device_ns += 100;
	s->nops++;
}

static void kernel(struct scene *s, int64_t tid, const char *name, unsigned grid)
{
	launch(s, tid, name, grid, 0);
}

static void copy_out(struct scene *s, int64_t tid, uint64_t bytes)
{
	launch(s, tid, "Memcpy DtoH (Device -> Pinned)", 0, bytes);
}

static void range(struct scene *s, int64_t tid, int kind, const char *name, int64_t step,
		  int marked, int64_t start_ns, int64_t end_ns)
{
	struct wt_range r = {.start_ns = start_ns,
			     .end_ns = end_ns,
			     .name = wt_builder_cstring(s->b, name),
			     .thread = wt_builder_thread(s->b, s->process, tid),
			     .step = step,
			     .process = s->process,
			     .kind = (uint8_t)kind,
			     .marked = (uint8_t)marked};

	wt_builder_range(s->b, &r);
}

static void build(struct scene *s)
{
	struct wt_diag diag;
	int64_t window_ns = 0, windows_ns = 0;

	assert_int_equal(wt_builder_finish(s->b, &s->tl, &diag), 0);
	assert_int_equal(wt_ledger_build(&s->l, s->tl, &diag), 0);
	assert_int_equal(wt_axes_build(&s->a, s->l), 0);
	/* Whatever the phases: they make up the window, and their leaves the ledger's. */
	for (int k = 0; k < WT_LEAVES; k++) {
		int64_t leaf_ns = 0;

		for (int p = 0; p < WT_PHASES; p++)
			leaf_ns += s->a->phases[p].leaves_ns[k];
		for (size_t d = 0; d < s->l->ndevices; d++)
			leaf_ns -= s->l->devices[d].account.leaves_ns[k];
		assert_int_equal(leaf_ns, 0);
	}
	for (int p = 0; p < WT_PHASES; p++)
		window_ns += s->a->phases[p].busy_ns + s->a->phases[p].idle_ns;
	for (size_t d = 0; d < s->l->ndevices; d++)
		windows_ns += s->l->devices[d].account.window_ns;
	assert_int_equal(window_ns, windows_ns);
}

static void close_scene(struct scene *s)
{
	wt_axes_free(s->a);
	wt_ledger_free(s->l);
	wt_timeline_free(s->tl);
}

/* One letter an operation, in the order of launch: f b r o g . (not known) ... */
static void phases_are(struct scene *s, const char *want)
{
	static const char letters[WT_PHASES] = ".fbrogecpdm";
	char got[512];
	size_t n = 0;

	assert_int_equal(strlen(want), s->nops);
	for (size_t i = 0; i < s->tl->nops && n < sizeof(got) - 1; i++)
		got[n++] = letters[s->a->phase[i]]; /* the device runs them in order */
	got[n] = '\0';
	assert_string_equal(got, want);
}

/* Start-up, then steps: forward on thread 1, backward on `tid`, a norm and the optimizer on thread 1. */
static void training(struct scene *s, int64_t tid, int steps)
{
	kernel(s, 1, "init_weights", 9);
	kernel(s, 1, "init_weights", 9);
	for (int n = 0; n < steps; n++) {
		kernel(s, 1, GEMM, 1);
		kernel(s, 1, "relu", 1);
		kernel(s, 1, GEMM, 2);
		kernel(s, tid, GEMM, 3);
		kernel(s, tid, "relu_grad", 1);
		kernel(s, tid, GEMM, 4);
		kernel(s, 1, NORM, 1);
		kernel(s, 1, ADAM, 1);
	}
}

static void test_by_thread_and_order(void **state)
{
	struct scene s;

	open_scene(&s);
	name_thread(&s, 2, "pt_autograd_0");
	training(&s, 2, 3);
	kernel(&s, 1, GEMM, 1); /* the next step has begun */
	build(&s);
	phases_are(&s, "..fffbbboofffbbboofffbbboof");
	assert_int_equal(s.a->phases[WT_PHASE_FORWARD].grades_ns[2], 1000);
	/* Steps end with the optimizer; the first has start-up in it, the last is not whole. */
	assert_int_equal(s.a->nsteps, 4);
	assert_int_equal(s.a->steps[0].source, WT_STEPS_OPTIMIZER);
	assert_int_equal(s.a->steps[0].partial, 1);
	assert_int_equal(s.a->steps[1].partial, 0);
	assert_int_equal(s.a->steps[2].partial, 0);
	assert_int_equal(s.a->steps[3].partial, 1);
	assert_int_equal(s.a->steps[1].start_ns, 1000 + 10 * 100);
	assert_int_equal(s.a->steps[1].end_ns, 1000 + 18 * 100);
	assert_int_equal(s.a->steps[1].ops, 8);
	close_scene(&s);
}

/* Threads without names: the one that launches no optimizer. */
static void test_nameless_threads(void **state)
{
	struct scene s;

	open_scene(&s);
	training(&s, 2, 2);
	build(&s);
	phases_are(&s, "..fffbbboofffbbboo");
	close_scene(&s);
}

/* All from one thread: nothing says what is backward. */
static void test_one_thread(void **state)
{
	struct scene s;

	open_scene(&s);
	training(&s, 1, 2);
	kernel(&s, 1, "layer_norm_backward", 1);
	build(&s);
	phases_are(&s, "..................b"); /* by its name alone */
	assert_int_equal(s.a->phases[WT_PHASE_BACKWARD].grades_ns[1], 100);
	close_scene(&s);
}

/* A block of five runs again inside backward; three elementwise kernels that repeat do not count. */
static void test_recompute(void **state)
{
	static const char *const block[] = {"norm", GEMM, "gelu", "scale", GEMM};
	struct scene s;

	open_scene(&s);
	name_thread(&s, 2, "thread 77 (pt_autograd_0)");
	for (int n = 0; n < 2; n++) {
		for (unsigned i = 0; i < 5; i++)
			kernel(&s, 1, block[i], i + 1);
		kernel(&s, 1, "loss", 1);
		kernel(&s, 2, "loss_grad", 1);
		for (unsigned i = 0; i < 5; i++)
			kernel(&s, 2, block[i], i + 1);
		kernel(&s, 2, GEMM, 7);
		kernel(&s, 2, "gelu", 3); /* two of forward's in a row */
		kernel(&s, 2, "scale", 4);
		kernel(&s, 2, GEMM, 8);
		kernel(&s, 1, ADAM, 1);
	}
	build(&s);
	phases_are(&s, "ffffffbrrrrrbbbboffffffbrrrrrbbbbo");
	close_scene(&s);
}

/* What the job says goes first; evaluation covers the forward inside it; the rest is found by order. */
static void test_marked(void **state)
{
	struct scene s;

	open_scene(&s);
	for (int n = 0; n < 6; n++)
		kernel(&s, 1, GEMM, 1); /* launched at 0 10 20 30 40 50 */
	range(&s, 1, WT_RANGE_STEP, "step", 40, 1, -5, 25);
	range(&s, 1, WT_RANGE_STEP, "step", 41, 1, 25, 55);
	range(&s, 1, WT_RANGE_STEP, "ProfilerStep#1", 1, 0, -5, 60); /* the job's own go first */
	range(&s, 1, WT_RANGE_EVALUATION, "eval", 0, 1, -5, 15);
	range(&s, 1, WT_RANGE_FORWARD, "forward", 0, 1, 5, 15);
	range(&s, 1, WT_RANGE_USER, "my_backward", 0, 0, 15, 25);
	range(&s, 1, WT_RANGE_FORWARD, "forward", 0, 1, 25, 35);
	build(&s);
	phases_are(&s, "eebf..");
	assert_int_equal(s.a->phases[WT_PHASE_EVALUATION].grades_ns[3], 200);
	assert_int_equal(s.a->phases[WT_PHASE_BACKWARD].grades_ns[2], 100);
	assert_int_equal(s.a->nsteps, 2);
	assert_int_equal(s.a->steps[0].number, 40);
	assert_int_equal(s.a->steps[0].grade, 3);
	assert_int_equal(s.a->steps[0].start_ns, 1000); /* nothing before: its first operation */
	assert_int_equal(s.a->steps[0].end_ns, 1300);
	assert_int_equal(s.a->steps[1].start_ns, 1300);
	assert_int_equal(s.a->steps[1].end_ns, 1600);
	close_scene(&s);
}

static void test_engine(void **state)
{
	struct scene s;

	open_scene(&s);
	for (int n = 0; n < 4; n++)
		kernel(&s, 1, GEMM, 1);
	range(&s, 1, WT_RANGE_USER, "execute_context_2(8192)_generation_0(0)", 0, 0, 0, 5);
	range(&s, 1, WT_RANGE_USER, "execute_context_0(0)_generation_8(8)", 0, 0, 10, 15);
	range(&s, 1, WT_RANGE_USER, "execute_context_1(64)_generation_8(8)", 0, 0, 20, 25);
	range(&s, 1, WT_RANGE_USER, "step[DECODE bs=32]", 0, 0, 30, 35);
	build(&s);
	phases_are(&s, "pdmd");
	assert_int_equal(s.a->nsteps, 4);
	assert_int_equal(s.a->steps[2].phase, WT_PHASE_MIXED);
	assert_int_equal(s.a->steps[0].source, WT_STEPS_NAMED);
	close_scene(&s);
}

/* No marks, no optimizer: eight kernels that repeat, with a layer of two inside. */
static void test_period(void **state)
{
	struct scene s;

	open_scene(&s);
	kernel(&s, 1, "start", 1);
	for (int n = 0; n < 6; n++) {
		kernel(&s, 1, "embed", 1);
		for (int i = 0; i < 3; i++) {
			kernel(&s, 1, "attention", 1);
			kernel(&s, 1, "mlp", 1);
		}
		kernel(&s, 1, "sample", 1);
	}
	build(&s);
	assert_int_equal(s.a->nsteps,
			 7); /* what is before the first border, 5 whole ones, the last */
	assert_int_equal(s.a->steps[1].source, WT_STEPS_PERIOD);
	assert_int_equal(s.a->steps[1].grade, 1);
	for (size_t i = 1; i < 6; i++) {
		assert_int_equal(s.a->steps[i].ops, 8);
		assert_int_equal(s.a->steps[i].partial, 0);
		assert_int_equal(s.a->steps[i].end_ns - s.a->steps[i].start_ns, 800);
	}
	close_scene(&s);
}

/* One graph launch; each letter a kernel of it. */
#define KV   "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>"
#define ROPE "void vllm::rotary_embedding_kernel<c10::BFloat16, true>"

/* A letter a kernel; K writes so many tokens to the cache. */
static void replay_for(struct scene *s, const char *nodes, unsigned tokens)
{
	struct wt_shape shape = {.grid = {tokens, 1, 1}, .block = {64, 1, 1}};
	struct wt_call c = {.start_ns = s->host_ns,
			    .end_ns = s->host_ns + 5,
			    .name = wt_builder_cstring(s->b, "cuGraphLaunch"),
			    .correlation = ++s->correlation,
			    .thread = wt_builder_thread(s->b, s->process, 1),
			    .stream = UINT32_MAX,
			    .parent = -1,
			    .process = s->process,
			    .kind = WT_CALL_GRAPH_LAUNCH};

	wt_builder_call(s->b, &c);
	for (; *nodes; nodes++) {
		struct wt_op op = {.start_ns = s->device_ns,
				   .end_ns = s->device_ns + 100,
				   .name = wt_builder_string(s->b, nodes, 1),
				   .correlation = s->correlation,
				   .stream = s->stream,
				   .device = s->device,
				   .process = s->process,
				   .kind = WT_OP_KERNEL,
				   .flags = WT_OP_GRAPH_NODE,
				   .call = -1,
				   .collective = -1};

		if (*nodes == 'K') {
			op.name = wt_builder_cstring(s->b, KV);
			op.shape = wt_builder_shape(s->b, &shape);
		}
		wt_builder_op(s->b, &op);
		s->device_ns += 100;
		s->nops++;
	}
	s->host_ns += 10;
}

static void replay(struct scene *s, const char *nodes)
{
	replay_for(s, nodes, 0);
}

/* A step is a small graph, a large one and two kernels; before them a graph of another kind and autotuning. */
static void test_graphs(void **state)
{
	struct scene s;

	open_scene(&s);
	for (int i = 0; i < 50; i++)
		kernel(&s, 1, i & 1 ? "DelayKernel" : "candidate", (unsigned)i);
	replay(&s, "xyz");
	for (int n = 0; n < 5; n++) {
		replay(&s, "ab");
		kernel(&s, 1, n & 1 ? "odd" : "even", 1);
		replay(&s, n & 1 ? "defghi" : "ihgfed"); /* branches end in any order */
		kernel(&s, 1, "update", 1);
	}
	build(&s);
	/* Start-up, five graphs of which the first waited for start-up and the last is open. */
	assert_int_equal(s.a->nsteps, 6);
	assert_int_equal(wt_axes_whole_steps(s.a), 3);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(s.a->steps[i].source, WT_STEPS_GRAPH);
		assert_int_equal(s.a->steps[i].grade, 2);
		assert_int_equal(s.a->steps[i].ops, i ? 10 : 53);
		assert_int_equal(s.a->steps[i].partial, i < 2 || i == 5);
		if (i)
			assert_int_equal(s.a->steps[i].end_ns - s.a->steps[i].start_ns, 1000);
	}
	close_scene(&s);
}

/* Graphs that are a small part of what a step runs do not make steps. */
static void test_few_graphs(void **state)
{
	struct scene s;

	open_scene(&s);
	for (int n = 0; n < 5; n++) {
		replay(&s, "a");
		for (int i = 0; i < 7; i++)
			kernel(&s, 1, i & 1 ? "attention" : "mlp", (unsigned)i);
	}
	build(&s);
	assert_true(s.a->nsteps > 0);
	assert_int_equal(s.a->steps[0].source, WT_STEPS_PERIOD);
	close_scene(&s);
}

/* The ranges of XLA around launches of [start, host_ns) on thread 1. */
static void said(struct scene *s, const char *name, int64_t start_ns)
{
	range(s, 1, WT_RANGE_USER, name, 0, 0, start_ns, s->host_ns);
}

/* One run: an instruction launched by itself, and a graph of instructions that were said while it was compiled. */
static void program_run(struct scene *s)
{
	int64_t from_ns = s->host_ns, at_ns = s->host_ns;

	kernel(s, 1, "gemm_fusion_1", 1);
	said(s,
	     "Thunk:#name=jit(step)/jvp(layer)/"
	     "dot_general,hlo_op=gemm_fusion.1,unique_hlo_op_id=8589934599#",
	     at_ns);
	kernel(s, 2, "copy of another thread", 1);
	at_ns = s->host_ns;
	replay(s, "abc");
	said(s, "Thunk:#hlo_op=command_buffer.2#", at_ns);
	said(s, "XlaModule:#prefix=args[0],hlo_module=jit_step,program_id=9#", from_ns);
}

/* Two programs a step; the larger decides; the step begins with the smaller one, which always goes before it. */
static void test_programs(void **state)
{
	struct scene s;
	int64_t at_ns;

	open_scene(&s);
	for (int i = 0; i < 20; i++)
		kernel(&s, 1, i & 1 ? "DelayKernel" : "candidate", (unsigned)i);
	at_ns = s.host_ns + 1;
	s.host_ns += 10;
	said(&s, "Thunk:#name=jit(step)/transpose(jvp(layer))/mul,hlo_op=a#", at_ns);
	said(&s, "Thunk:#name=jit(step)/rematted_computation/jvp(layer)/tanh,hlo_op=b#", at_ns);
	said(&s, "Thunk:#name=args[0],hlo_op=c#", at_ns);
	said(&s, "XlaModule:#prefix=args[0],hlo_module=jit_step,program_id=9#", at_ns - 1);
	for (int n = 0; n < 5; n++) {
		at_ns = s.host_ns;
		kernel(&s, 1, "wrapped_slice", 1);
		said(&s, "XlaModule:#hlo_module=jit_batch,program_id=3#", at_ns);
		program_run(&s);
	}
	build(&s);
	assert_int_equal(s.a->nsteps, 6);
	assert_int_equal(wt_axes_whole_steps(s.a), 3);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(s.a->steps[i].source, WT_STEPS_PROGRAM);
		assert_int_equal(s.a->steps[i].ops, i ? 6 : 20);
		assert_int_equal(s.a->steps[i].partial, i < 2 || i == 5);
	}
	assert_int_equal(s.a->nmodules, 5);
	assert_string_equal(wt_axes_text(s.a, s.a->modules[0].path),
			    "jit(step)/jvp(layer)/dot_general");
	assert_string_equal(wt_axes_text(s.a, s.a->modules[1].path),
			    "jit(step)/rematted_computation/jvp(layer)/tanh");
	assert_string_equal(wt_axes_text(s.a, s.a->modules[2].path),
			    "jit(step)/transpose(jvp(layer))/mul");
	assert_string_equal(wt_axes_text(s.a, s.a->modules[3].path), "jit_batch / wrapped_slice");
	assert_string_equal(wt_axes_text(s.a, s.a->modules[4].path), "jit_step / c");
	assert_int_equal(s.a->module_unknown_ns,
			 2500); /* before the programs, and the other thread's */
	phases_are(&s, "...................."
		       ".f.br."
		       ".f.br."
		       ".f.br."
		       ".f.br."
		       ".f.br.");
	close_scene(&s);
}

static void instruction(struct scene *s, const char *program, const char *name, const char *path)
{
	struct wt_instruction in = {.program = wt_builder_cstring(s->b, program),
				    .name = wt_builder_cstring(s->b, name),
				    .path = wt_builder_cstring(s->b, path)};

	wt_builder_instruction(s->b, &in);
}

/* Which program a graph is, by all of its kernels; what two can be, and single launches, are not told. */
static void test_instructions(void **state)
{
	struct scene s;

	open_scene(&s);
	instruction(&s, "jit_one", "a", "jit(one)/jvp()/mul");
	instruction(&s, "jit_one", "b", "jit(one)/transpose(jvp())/mul");
	instruction(&s, "jit_two", "a", "jit(two)/add");
	instruction(&s, "jit_two", "c", "jit(two)/sub");
	replay(&s, "ab");
	replay(&s, "acl"); /* l: a library's */
	replay(&s, "a");
	kernel(&s, 1, "b", 1);
	build(&s);
	assert_int_equal(s.a->nmodules, 4);
	assert_string_equal(wt_axes_text(s.a, s.a->modules[0].path), "jit(one)/jvp()/mul");
	assert_string_equal(wt_axes_text(s.a, s.a->modules[1].path),
			    "jit(one)/transpose(jvp())/mul");
	assert_string_equal(wt_axes_text(s.a, s.a->modules[2].path), "jit(two)/add");
	assert_string_equal(wt_axes_text(s.a, s.a->modules[3].path), "jit(two)/sub");
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(s.a->modules[i].kernels, 1);
	assert_int_equal(s.a->module_unknown_ns, 300);
	phases_are(&s, "fb.....");
	close_scene(&s);
}

/* A process that drives two devices launches the step to one and to the other, in any order. */
static void test_devices(void **state)
{
	struct scene s;
	uint16_t device[2];
	uint32_t stream[2];

	open_scene(&s);
	for (int d = 0; d < 2; d++) {
		device[d] = wt_builder_device(s.b, s.process, d, NULL);
		stream[d] = wt_builder_stream(s.b, s.process, device[d], 7);
	}
	for (int n = 0; n < 10; n++) {
		int d = (n & 1) ^ (n & 2) / 2;

		s.device = device[d];
		s.stream = stream[d];
		replay(&s, "abcd");
	}
	build(&s);
	assert_int_equal(s.a->nsteps, 10);
	assert_int_equal(wt_axes_whole_steps(s.a), 6);
	for (size_t i = 0; i < 10; i++) {
		assert_int_equal(s.a->steps[i].device, i / 5);
		assert_int_equal(s.a->steps[i].number, i % 5);
		assert_int_equal(s.a->steps[i].ops, 4);
	}
	close_scene(&s);
}

static void test_no_period(void **state)
{
	struct scene s;
	unsigned x = 1;

	open_scene(&s);
	for (int n = 0; n < 200; n++) {
		char name[16];

		x = x * 1103515245u + 12345u;
		snprintf(name, sizeof(name), "k%u", x >> 16 & 7);
		kernel(&s, 1, name, 1);
	}
	build(&s);
	assert_int_equal(s.a->nsteps, 0);
	close_scene(&s);
}

static void test_modules(void **state)
{
	struct scene s;

	open_scene(&s);
	for (int n = 0; n < 4; n++)
		kernel(&s, 1, GEMM, 1);
	range(&s, 1, WT_RANGE_USER, "nn.Module: GPT_0", 0, 0, 0, 25);
	range(&s, 1, WT_RANGE_USER, "aten::linear", 0, 0, 8, 18);
	range(&s, 1, WT_RANGE_USER, "nn.Module: Linear_3", 0, 0, 5, 20);
	build(&s);
	assert_int_equal(s.a->nmodules, 2);
	assert_string_equal(wt_axes_text(s.a, s.a->modules[0].path), "GPT_0");
	assert_int_equal(s.a->modules[0].kernel_ns, 200); /* launched at 0 and 20 */
	assert_string_equal(wt_axes_text(s.a, s.a->modules[1].path), "GPT_0 / Linear_3");
	assert_int_equal(s.a->module_unknown_ns, 100);
	close_scene(&s);
}

/* All-reduce in backward: of gradients, unless forward uses that communicator too. */
static void collective(struct scene *s, int64_t tid, uint64_t comm)
{
	struct wt_collective c = {
		.comm = comm, .op = WT_COLL_ALL_REDUCE, .call = -1, .process = s->process};
	struct wt_call call = {.start_ns = s->host_ns,
			       .end_ns = s->host_ns + 5,
			       .correlation = ++s->correlation,
			       .thread = wt_builder_thread(s->b, s->process, tid),
			       .stream = UINT32_MAX,
			       .parent = -1,
			       .process = s->process,
			       .kind = WT_CALL_LAUNCH};
	struct wt_op op = {.start_ns = s->device_ns,
			   .end_ns = s->device_ns + 100,
			   .correlation = s->correlation,
			   .stream = s->stream,
			   .device = s->device,
			   .process = s->process,
			   .kind = WT_OP_KERNEL,
			   .call = -1};

	c.name = wt_builder_cstring(s->b, "AllReduce");
	op.collective = wt_builder_collective(s->b, &c);
	op.name = wt_builder_cstring(s->b, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
	wt_builder_call(s->b, &call);
	wt_builder_op(s->b, &op);
	s->host_ns += 10;
	s->device_ns += 100;
	s->nops++;
}

static void test_gradient_comm(void **state)
{
	struct scene s;

	open_scene(&s);
	name_thread(&s, 2, "pt_autograd_0");
	for (int n = 0; n < 2; n++) {
		kernel(&s, 1, GEMM, 1);
		collective(&s, 1, 5); /* tensor parallel */
		kernel(&s, 2, GEMM, 2);
		collective(&s, 2, 5);
		collective(&s, 2, 6); /* data parallel */
		kernel(&s, 2, GEMM, 2);
		kernel(&s, 1, ADAM, 1);
	}
	build(&s);
	phases_are(&s, "ffbbgboffbbgbo");
	close_scene(&s);
}

/* A pass of two layers over so many tokens. */
static void layers(struct scene *s, unsigned tokens)
{
	for (int i = 0; i < 2; i++) {
		kernel(s, 1, ROPE, tokens);
		kernel(s, 1, KV, tokens);
		kernel(s, 1, GEMM, 4);
	}
}

/* As vLLM's second runner does it: fresh requests are noted three times, then one more for their pages. */
static void runner2(struct scene *s, unsigned fresh, int prompts, unsigned tokens,
		    unsigned requests)
{
	for (int i = 0; fresh && i < 3; i++)
		kernel(s, 1, "_apply_write_kernel", fresh);
	if (fresh || requests == 3)
		kernel(s, 1, "_apply_write_kernel", requests);
	if (prompts)
		kernel(s, 1, "_prepare_prefill_inputs_kernel", requests);
	layers(s, tokens);
	kernel(s, 1, "_gumbel_sample_kernel", requests);
	kernel(s, 1, "_post_update_kernel", requests);
}

static void iteration_is(const struct scene *s, size_t i, enum wt_phase phase, int64_t context,
			 int64_t context_tokens, int64_t generation)
{
	const struct wt_step *step = &s->a->steps[i];

	assert_int_equal(step->source, WT_STEPS_ENGINE);
	assert_int_equal(step->phase, phase);
	assert_int_equal(step->batch.source, WT_BATCH_GEOMETRY);
	assert_int_equal(step->batch.context_requests, context);
	assert_int_equal(step->batch.context_tokens, context_tokens);
	assert_int_equal(step->batch.generation_requests, generation);
	assert_int_equal(step->batch.generation_tokens, generation);
	assert_int_equal(step->batch.tokens, context_tokens + generation);
	assert_int_equal(step->batch.requests, context + generation);
	assert_int_equal(step->batch.layers, 2);
}

static void test_iterations(void **state)
{
	struct scene s;

	open_scene(&s);
	for (int i = 0; i < 30; i++)
		kernel(&s, 1, "warm_up", 7);
	layers(&s, 16); /* nothing samples behind these */
	layers(&s, 8);
	runner2(&s, 2, 1, 64, 2); /* two prompts: all the budget, the second one goes on */
	runner2(&s, 0, 1, 21, 2);
	runner2(&s, 0, 0, 2, 2);
	runner2(&s, 1, 1, 11, 3);
	runner2(&s, 0, 0, 3, 3);  /* pages for all three, none of them new */
	runner2(&s, 3, 1, 30, 3); /* all ended, three others came */
	build(&s);
	assert_int_equal(s.a->nsteps, 6);
	iteration_is(&s, 0, WT_PHASE_PREFILL, 2, 64, 0);
	iteration_is(&s, 1, WT_PHASE_MIXED, 1, 20, 1);
	iteration_is(&s, 2, WT_PHASE_DECODE, 0, 0, 2);
	iteration_is(&s, 3, WT_PHASE_MIXED, 1, 9, 2);
	iteration_is(&s, 4, WT_PHASE_DECODE, 0, 0, 3);
	iteration_is(&s, 5, WT_PHASE_PREFILL, 3, 30, 0);
	/* Start-up is in no iteration: the first has what is before its layers in the others. */
	assert_int_equal(s.a->steps[0].ops, 5 + 6 + 2);
	assert_int_equal(s.a->phases[WT_PHASE_UNKNOWN].kernels, 30 + 2 * 6);
	assert_int_equal(s.a->phases[WT_PHASE_DECODE].grades_ns[2], (8 + 9) * 100);
	close_scene(&s);
}

/* An engine that says nothing of new requests: those of the iteration before go on. */
static void test_iterations_by_history(void **state)
{
	static const struct {
		unsigned tokens, requests;
	} run[] = {{40, 2}, {2, 2}, {33, 3}, {3, 3}, {1, 1}};
	struct scene s;

	open_scene(&s);
	for (size_t i = 0; i < 5; i++) {
		layers(&s, run[i].tokens);
		kernel(&s, 1, "_gumbel_sample_kernel", run[i].requests);
	}
	build(&s);
	assert_int_equal(s.a->nsteps, 5);
	/* Nothing is known of what ran before the first: tokens and requests, not how they part. */
	assert_int_equal(s.a->steps[0].batch.tokens, 40);
	assert_int_equal(s.a->steps[0].batch.requests, 2);
	assert_int_equal(s.a->steps[0].batch.context_requests, -1);
	assert_int_equal(s.a->steps[0].batch.grade, 1);
	iteration_is(&s, 1, WT_PHASE_DECODE, 0, 0, 2);
	iteration_is(&s, 2, WT_PHASE_MIXED, 1, 31, 2);
	iteration_is(&s, 3, WT_PHASE_DECODE, 0, 0, 3);
	iteration_is(&s, 4, WT_PHASE_DECODE, 0, 0, 1);
	close_scene(&s);
}

/* Prompts that are longer than the budget go on in the next iteration; tokens are copied to the host. */
static void test_iterations_in_parts(void **state)
{
	static const struct {
		unsigned tokens, requests;
	} run[] = {{11, 1}, {64, 3}, {64, 4}, {64, 3}, {3, 3}};
	struct scene s;

	open_scene(&s);
	layers(&s, 16);
	kernel(&s, 1, "_gumbel_sample_kernel", 16); /* a warm-up: nobody is told */
	for (size_t i = 0; i < 5; i++) {
		layers(&s, run[i].tokens);
		kernel(&s, 1, run[i].requests > 1 ? "_gumbel_sample_kernel" : "argmax_kernel",
		       run[i].requests);
		copy_out(&s, 1, 4 * run[i].requests);
	}
	build(&s);
	assert_int_equal(s.a->nsteps, 6);
	assert_true(s.a->steps[0].startup && s.a->steps[1].partial && !s.a->steps[2].partial);
	assert_int_equal(s.a->nstartups, 1);
	assert_int_equal(s.a->startups[0].iterations, 1);
	assert_int_equal(s.a->startups[0].source, WT_STEPS_ENGINE);
	iteration_is(&s, 1, WT_PHASE_PREFILL, 1, 11, 0);
	iteration_is(&s, 2, WT_PHASE_MIXED, 2, 63, 1);
	iteration_is(&s, 3, WT_PHASE_MIXED, 2, 62, 2);
	iteration_is(&s, 4, WT_PHASE_MIXED, 1, 62, 2);
	iteration_is(&s, 5, WT_PHASE_DECODE, 0, 0, 3);
	close_scene(&s);
}

/* Graphs for what is between attention are made for a rounded number of tokens, which is what grids then say. */
static void test_iterations_in_pieces(void **state)
{
	struct scene s;

	open_scene(&s);
	/* In pieces; without graphs; in pieces, but as many tokens as requests; or more, but nothing is new. */
	for (int n = 0; n < 4; n++) {
		unsigned requests = n >= 2 ? 4 : 1;

		for (int i = 0; n % 2 == 0 && i < 3; i++)
			kernel(&s, 1, "_apply_write_kernel", 1);
		for (int i = 0; i < 2; i++) {
			if (n != 1)
				replay(&s, "ab");
			kernel(&s, 1, KV, n == 2 ? 4 : n == 3 ? 8 : 16);
		}
		kernel(&s, 1, "_gumbel_sample_kernel", requests);
		kernel(&s, 1, "_post_update_kernel", requests);
	}
	build(&s);
	assert_int_equal(s.a->nsteps, 4);
	iteration_is(&s, 0, WT_PHASE_PREFILL, 1, 16, 0);
	assert_int_equal(s.a->steps[0].batch.grade, 1);
	assert_int_equal(s.a->steps[1].batch.grade, 2);
	iteration_is(&s, 2, WT_PHASE_DECODE, 0, 0, 4);
	assert_int_equal(s.a->steps[2].batch.grade, 2);
	iteration_is(&s, 3, WT_PHASE_DECODE, 0, 0, 4);
	assert_int_equal(s.a->steps[3].batch.grade, 1);
	assert_int_equal(s.a->phases[WT_PHASE_PREFILL].grades_ns[1],
			 0); /* that it is one is known */
	close_scene(&s);
}

/* The host copies something of 4 or 8 bytes for each token: so many there are, whatever the graph was made for. */
static void test_iterations_in_pieces_copied(void **state)
{
	static const struct {
		unsigned tokens, bytes[5];
		int64_t is;
		int grade;
	} run[] = {
		{16, {36, 88, 88, 8, 44}, 11, 2}, /* ids of 4 bytes, positions of 8 */
		{16, {36, 16, 16, 8, 88}, 16, 1}, /* one copy alone is chance */
		{16, {56, 28, 28, 64, 4}, 16, 1}, /* 7 would be a smaller graph */
		{256, {1024, 2048, 2048, 8, 3}, 256, 2},
		{16, {68, 68, 8, 8, 8}, 16, 1}, /* 17 would not fit */
		{3, {16, 16, 8, 8, 4}, 2, 2}, /* so many agree on that of requests: all generate */
		{4, {8, 12, 8, 8, 24}, 3, 2}, /* what is copied for each request is no token */
		{3, {8, 8, 16, 5, 3}, 3, 1},
	};
	struct scene s;

	open_scene(&s);
	layers(&s, 16);
	kernel(&s, 1, "_gumbel_sample_kernel", 16);
	for (size_t n = 0; n < sizeof(run) / sizeof(run[0]); n++) {
		for (int i = 0; i < 5; i++)
			launch(&s, 1, "Memcpy HtoD (Pinned -> Device)", 0, run[n].bytes[i]);
		for (int i = 0; i < 2; i++) {
			replay(&s, "ab");
			kernel(&s, 1, KV, run[n].tokens);
		}
		kernel(&s, 1, "_gumbel_sample_kernel", 2);
		copy_out(&s, 1, 8);
	}
	build(&s);
	assert_int_equal(s.a->nsteps, sizeof(run) / sizeof(run[0]) + 1);
	for (size_t n = 0; n < sizeof(run) / sizeof(run[0]); n++) {
		assert_int_equal(s.a->steps[n + 1].batch.tokens, run[n].is);
		assert_int_equal(s.a->steps[n + 1].batch.grade, run[n].grade);
	}
	close_scene(&s);
}

/* Fills whose sizes were read tell tokens from padding. Those beyond one for each that generates are guessed ahead. */
static void test_iterations_filled(void **state)
{
	static const struct {
		const char *pass; /* a graph of all layers, or in pieces */
		unsigned rounded, filled[2], fresh, requests, context_tokens, generation_tokens;
		int grade;
	} run[] = {
		{NULL, 16, {11, 5}, 1, 1, 11, 0, 2}, {NULL, 16, {16, 0}, 1, 1, 16, 0, 2},
		{NULL, 16, {11, 4}, 1, 1, 16, 0, 1}, {"KaKb", 24, {18, 6}, 1, 1, 18, 0, 2},
		{"KaKb", 8, {3, 5}, 0, 3, 0, 3, 2},  {"KaKb", 8, {6, 2}, 0, 3, 0, 6, 2},
		{NULL, 24, {21, 3}, 1, 3, 19, 2, 1},
	};
	struct scene s;

	open_scene(&s);
	for (size_t n = 0; n < sizeof(run) / sizeof(run[0]); n++) {
		for (int i = 0; run[n].fresh && i < 3; i++)
			kernel(&s, 1, "_apply_write_kernel", run[n].fresh);
		for (int i = 0; i < 2 && run[n].filled[i]; i++)
			launch(&s, 1,
			       "void at::native::vectorized_elementwise_kernel<4, "
			       "at::native::FillFunctor<bool> >",
			       1, run[n].filled[i]);
		if (run[n].fresh)
			kernel(&s, 1, "_prepare_prefill_inputs_kernel", run[n].requests);
		for (int i = 0; i < (run[n].pass ? 1 : 2); i++) {
			replay_for(&s, run[n].pass ? run[n].pass : "ab", run[n].rounded);
			if (!run[n].pass)
				kernel(&s, 1, KV, run[n].rounded);
		}
		kernel(&s, 1, "_post_update_kernel", run[n].requests);
	}
	build(&s);
	assert_int_equal(s.a->nsteps, sizeof(run) / sizeof(run[0]));
	for (size_t n = 0; n < s.a->nsteps; n++) {
		const struct wt_batch *b = &s.a->steps[n].batch;

		assert_int_equal(b->context_tokens, run[n].context_tokens);
		assert_int_equal(b->generation_tokens, run[n].generation_tokens);
		assert_int_equal(b->grade, run[n].grade);
	}
	close_scene(&s);
}

/* What samples once a layer chooses experts; a job that trains serves nothing. */
static void test_no_iterations(void **state)
{
	struct scene s;

	open_scene(&s);
	for (int i = 0; i < 8; i++) {
		kernel(&s, 1, KV, 5);
		kernel(&s, 1, "argmax_kernel", 5);
	}
	build(&s);
	assert_int_equal(s.a->nsteps, 1);
	assert_int_equal(s.a->steps[0].batch.layers, 8);
	close_scene(&s);
	open_scene(&s);
	for (int i = 0; i < 4; i++) {
		layers(&s, 5);
		kernel(&s, 1, "_gumbel_sample_kernel", 5);
		kernel(&s, 1, ADAM, 1);
	}
	build(&s);
	for (size_t i = 0; i < s.a->nsteps; i++)
		assert_int_equal(s.a->steps[i].source, WT_STEPS_OPTIMIZER);
	close_scene(&s);
}

static void test_attended(void **state)
{
	struct wt_batch b;

	(void)state;
	assert_true(wt_batch_of_name("execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_"
				     "generation_37(sq37sk34489sqsq37sqsk34489)",
				     &b));
	assert_int_equal(b.kv_tokens, 8430 + 34489);
	assert_int_equal(b.squares, 7475785 + 37);
	assert_int_equal(b.pairs, 7671310 + 34489);
	/* Without the sums of one part, or without any, nothing is known of the whole. */
	assert_true(wt_batch_of_name("execute_9_context_1(8)_generation_1(sq1sk7sqsq1sqsk7)", &b));
	assert_int_equal(b.kv_tokens, -1);
	assert_true(wt_batch_of_name("execute_context_1(888_788544)_generation_0(0)", &b));
	assert_int_equal(b.pairs, -1);
	assert_true(wt_batch_of_name("step[DECODE bs=32]", &b));
	assert_int_equal(b.squares, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_thread_and_order),
		cmocka_unit_test(test_nameless_threads),
		cmocka_unit_test(test_one_thread),
		cmocka_unit_test(test_recompute),
		cmocka_unit_test(test_marked),
		cmocka_unit_test(test_engine),
		cmocka_unit_test(test_period),
		cmocka_unit_test(test_no_period),
		cmocka_unit_test(test_graphs),
		cmocka_unit_test(test_few_graphs),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_gradient_comm),
		cmocka_unit_test(test_iterations),
		cmocka_unit_test(test_iterations_by_history),
		cmocka_unit_test(test_iterations_in_parts),
		cmocka_unit_test(test_iterations_in_pieces),
		cmocka_unit_test(test_iterations_in_pieces_copied),
		cmocka_unit_test(test_iterations_filled),
		cmocka_unit_test(test_no_iterations),
		cmocka_unit_test(test_attended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
