/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of an XPlane file's rows: names, places in the model, kinds of copies, launches. The files are the fuzz
 * seeds that tests/gen/gen_xplane_corpus.sh makes; what they hold stands in tests/gen/gen_xplane.py. And the wire
 * format's edges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "import/import_xplane.h"
#include "import/xspace.h"

#define SEEDS	 "tests/fuzz/corpus/xplane/"
#define BEGAN_NS INT64_C(1741722099081044120) /* profile_start_time of every seed */

static struct wt_timeline *import(const char *name)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_diag diag = {.offset = -1};
	char path[256];

	assert_non_null(b);
	snprintf(path, sizeof(path), SEEDS "%s", name);
	if (wt_import_file(path, b, &diag))
		fail_msg("%s: %s", path, diag.text);
	assert_int_equal(wt_builder_finish(b, &tl, &diag), 0);
	return tl;
}

static const char *text(const struct wt_timeline *tl, uint32_t id)
{
	return wt_timeline_string(tl, id);
}

/* The n-th operation whose name begins so. */
static const struct wt_op *op_named(const struct wt_timeline *tl, const char *prefix, int n)
{
	for (size_t i = 0; i < tl->nops; i++)
		if (!strncmp(text(tl, tl->ops[i].name), prefix, strlen(prefix)) && !n--)
			return &tl->ops[i];
	fail_msg("no operation %s", prefix);
	return NULL;
}

static const struct wt_instruction *instruction_of(const struct wt_timeline *tl,
						   const struct wt_op *op)
{
	assert_true(op->instruction > 0 && op->instruction < tl->ninstructions);
	return &tl->instructions[op->instruction];
}

static void test_gpu(void **state)
{
	struct wt_timeline *tl = import("gpu");
	const struct wt_op *copy = op_named(tl, "MemcpyH2D", 0),
			   *gemm = op_named(tl, "gemm_fusion", 0);
	const struct wt_instruction *in = instruction_of(tl, gemm);
	const struct wt_shape *shape = &tl->shapes[gemm->shape];

	assert_int_equal(tl->nops, 7);
	assert_int_equal(copy->kind, WT_OP_COPY);
	assert_int_equal(copy->copy_kind, WT_COPY_H2D);
	assert_int_equal(copy->bytes, 65536);
	assert_int_equal(copy->flags, WT_OP_PAGEABLE);
	assert_string_equal(text(tl, in->path), "jit(step)/jit(main)/layer_0/attn/dot_general");
	assert_string_equal(text(tl, in->shapes), "bf16[128,512]");
	assert_string_equal(text(tl, in->category), "fusion");
	assert_string_equal(text(tl, in->name), "gemm_fusion_dot.17");
	assert_string_equal(text(tl, in->program), "jit_step");
	assert_false(in->by_category);
	assert_int_equal(shape->grid[0], 32);
	assert_int_equal(shape->block[0], 128);
	assert_int_equal(shape->regs, 40);
	assert_int_equal(shape->dyn_smem, 1024);
	/* Each operation has its own call; the wait is a sync that blocks. */
	for (size_t i = 0; i < tl->nops; i++) {
		assert_true(tl->ops[i].call >= 0);
		assert_int_equal(tl->calls[tl->ops[i].call].kind,
				 tl->ops[i].kind == WT_OP_COPY ? WT_CALL_COPY : WT_CALL_LAUNCH);
	}
	assert_int_equal(tl->calls[gemm->call].end_ns - tl->calls[gemm->call].start_ns, 3000);
	assert_int_equal(tl->devices[0].sm_count, 132);
	assert_int_equal(tl->devices[0].cc, 90);
	assert_int_equal(tl->devices[0].memory_bytes, 85018279936);
	assert_int_equal(tl->devices[0].peak_bytes_per_s, 3352320000000);
	assert_string_equal(text(tl, tl->processes[0].host), "host0");
	/* On the clock of the epoch, and the frame of the Python tracer is not there. */
	assert_int_equal(tl->inputs[0].base_ns, BEGAN_NS);
	assert_true(copy->start_ns > BEGAN_NS && copy->start_ns < BEGAN_NS + 1000000000);
	for (size_t i = 0; i < tl->nranges; i++)
		assert_int_not_equal(text(tl, tl->ranges[i].name)[0], '$');
	wt_timeline_free(tl);
}

/* In a command buffer a kernel's name says its instruction; NCCL's does not, and that is told with its number. */
static void test_command_buffers(void **state)
{
	struct wt_timeline *tl = import("gpu_buffers");
	const struct wt_op *gemm = op_named(tl, "gemm_fusion", 0), *comm = op_named(tl, "nccl", 0);
	const struct wt_instruction *in = instruction_of(tl, gemm);

	assert_string_equal(text(tl, in->path), "jit(step)/jit(main)/layer_0/attn/dot_general");
	assert_string_equal(text(tl, in->shapes), "bf16[128,512]");
	assert_true(gemm->flags & WT_OP_GRAPH_NODE);
	assert_int_equal(tl->calls[gemm->call].kind, WT_CALL_GRAPH_LAUNCH);
	assert_int_equal(gemm->call, comm->call);
	assert_string_equal(text(tl, instruction_of(tl, comm)->path), "");
	assert_int_equal(tl->nnotes, 1);
	assert_non_null(strstr(text(tl, tl->notes[0]), "of 3 kernels in command buffers 1 cannot"));
	wt_timeline_free(tl);
}

/* Lines made afterwards are no second set of records. */
static void test_derived(void **state)
{
	struct wt_timeline *tl = import("gpu_derived");

	assert_int_equal(tl->nops, 4);
	wt_timeline_free(tl);
}

static void test_tpu(void **state)
{
	struct wt_timeline *tl = import("tpu");
	const struct wt_op *conv = op_named(tl, "convolution fusion", 0);
	const struct wt_op *start = op_named(tl, "copy-start", 0),
			   *done = op_named(tl, "copy-done", 0);
	const struct wt_instruction *in = instruction_of(tl, conv);
	uint32_t first_step = 0;

	/* infeed, transfer, twice three operations, its end, outfeed, the wait for peers; the loop around is none */
	assert_int_equal(tl->nops, 11);
	assert_string_equal(text(tl, conv->name),
			    "convolution fusion f32[8,128] "
			    "jit(step)/jit(main)/while/body/layer/attn/dot_general");
	assert_string_equal(text(tl, in->path),
			    "jit(step)/jit(main)/while/body/layer/attn/dot_general");
	assert_string_equal(text(tl, in->category), "convolution fusion");
	assert_string_equal(text(tl, in->shapes), "f32[8,128]");
	assert_string_equal(text(tl, in->name), "fusion.0");
	assert_string_equal(text(tl, in->program), "jit_step");
	assert_true(in->by_category);
	assert_int_equal(in->flops, 1000000000);
	assert_int_equal(in->bytes, 4096);
	/* fusion.1 is another instruction of the same name: path, category and shape. */
	assert_int_equal(op_named(tl, "convolution fusion", 1)->name, conv->name);
	assert_int_not_equal(op_named(tl, "convolution fusion", 1)->instruction, conv->instruction);
	assert_int_equal(start->kind, WT_OP_COPY);
	assert_int_equal(start->copy_kind, WT_COPY_D2H);
	assert_int_equal(done->copy_kind, WT_COPY_D2H);
	assert_int_not_equal(start->stream, done->stream);
	assert_int_equal(op_named(tl, "infeed", 0)->copy_kind, WT_COPY_H2D);
	assert_true(op_named(tl, "infeed", 0)->flags & WT_OP_INPUT);
	assert_int_equal(op_named(tl, "outfeed", 0)->copy_kind, WT_COPY_D2H);
	assert_int_equal(op_named(tl, "barrier-cores", 0)->kind, WT_OP_KERNEL);
	/* One execution of the module: one launch. */
	for (size_t i = 0; i < tl->nops; i++) {
		assert_int_equal(tl->ops[i].call, 0);
		assert_true(tl->ops[i].flags & WT_OP_GRAPH_NODE);
	}
	assert_int_equal(tl->calls[0].kind, WT_CALL_GRAPH_LAUNCH);
	assert_string_equal(text(tl, tl->calls[0].name), "DoEnqueueProgram");
	assert_string_equal(text(tl, tl->devices[0].name), "TPU v6 Lite");
	assert_int_equal(tl->devices[0].peak_flops, 918000000000000);
	assert_int_equal(tl->devices[0].peak_bytes_per_s, 1637500000000);
	while (first_step < tl->nranges && tl->ranges[first_step].kind != WT_RANGE_STEP)
		first_step++;
	assert_true(first_step < tl->nranges);
	assert_true(tl->ranges[first_step].on_device && tl->ranges[first_step].step == 0);
	assert_int_equal(tl->ranges[first_step].start_ns, BEGAN_NS + 1000000);
	wt_timeline_free(tl);
}

static void test_wire(void **state)
{
	static const uint8_t longest[] = {0x08, 0xff, 0xff, 0xff, 0xff, 0xff,
					  0xff, 0xff, 0xff, 0xff, 0x01};
	static const uint8_t too_long[] = {0x08, 0xff, 0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0x80, 0x01};
	static const uint8_t group[] = {0x0b, 0x0c}, zero[] = {0x00, 0x01},
			     open[] = {0x12, 0x05, 'a', 'b'};
	static const uint8_t fixed[] = {0x0d, 1, 2, 3, 4,    0x11, 1, 0, 0,
					0,    0, 0, 0, 0x80, 0x11, 1, 2};
	struct wt_wire_field f;
	struct wt_wire w = wt_wire_of(longest, sizeof(longest));

	assert_int_equal(wt_wire_next(&w, &f), 1);
	assert_true(f.value == UINT64_MAX && f.number == 1);
	assert_int_equal(wt_wire_next(&w, &f), 0);
	w = wt_wire_of(longest, sizeof(longest) - 1);
	assert_int_equal(wt_wire_next(&w, &f), -WT_E_TRUNCATED);
	w = wt_wire_of(too_long, sizeof(too_long));
	assert_int_equal(wt_wire_next(&w, &f), -WT_E_CORRUPT);
	w = wt_wire_of(group, sizeof(group));
	assert_int_equal(wt_wire_next(&w, &f), -WT_E_CORRUPT);
	w = wt_wire_of(zero, sizeof(zero));
	assert_int_equal(wt_wire_next(&w, &f), -WT_E_CORRUPT);
	/* A message that is cut gives what is there of it. */
	w = wt_wire_of(open, sizeof(open));
	assert_int_equal(wt_wire_next(&w, &f), -WT_E_TRUNCATED);
	assert_true(f.n == 2 && !memcmp(f.bytes, "ab", 2));
	w = wt_wire_of(fixed, sizeof(fixed));
	assert_int_equal(wt_wire_next(&w, &f), 1);
	assert_int_equal(f.value, 0x04030201);
	assert_int_equal(wt_wire_next(&w, &f), 1);
	assert_true(f.value == UINT64_C(0x8000000000000001));
	assert_int_equal(wt_wire_next(&w, &f), -WT_E_TRUNCATED);
}

/* Text, other binaries and other protobuf are no XPlane; a converted one is, and is told where. */
static void test_probe(void **state)
{
	static const char json[] = "\n{\"traceEvents\": []}", cut[] = "\x0a\x20\x12\x0b/host:CPU";
	static const uint8_t converted[] =
		"\x0a\xef\xbf\xbd\x01\x12\x0d/device:GPU:0\x1a\xef\xbf\xbd";
	static const uint8_t other[] = {0x0a, 0x04, 0x12, 0x02, 'h', 'i'};

	assert_false(wt_xspace_probe((const uint8_t *)json, sizeof(json) - 1));
	assert_false(wt_xspace_probe(other, sizeof(other)));
	assert_false(wt_xspace_probe((const uint8_t *)"", 0));
	assert_true(wt_xspace_probe(converted, sizeof(converted) - 1));
	assert_int_equal(wt_xspace_textual(converted, sizeof(converted) - 1), 1);
	assert_int_equal(wt_xspace_textual((const uint8_t *)json, sizeof(json) - 1), -1);
	assert_int_equal(wt_xspace_textual((const uint8_t *)cut, sizeof(cut) - 1), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpu),	cmocka_unit_test(test_command_buffers),
		cmocka_unit_test(test_derived), cmocka_unit_test(test_tpu),
		cmocka_unit_test(test_wire),	cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
