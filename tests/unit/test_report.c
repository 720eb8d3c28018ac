/* SPDX-License-Identifier: Apache-2.0 */
/* What a report says of a small recording of our own: counts, holes, cost, damage, and that nothing counted is null. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/report.h"
#include "timeline/builder.h"

static struct wt_timeline *finish(struct wt_builder *b)
{
	struct wt_timeline *tl = NULL;

	assert_int_equal(wt_builder_finish(b, &tl, NULL), 0);
	return tl;
}

/* The report as one line of JSON without spaces between tokens, and as text. */
static void render(const struct wt_timeline *tl, struct wt_strbuf *ret_json,
		   struct wt_strbuf *ret_text)
{
	struct wt_ledger *l = NULL;
	struct wt_ranks *ranks = NULL;
	struct wt_report *r = NULL;
	struct wt_strbuf raw = {.n = 0};

	assert_int_equal(wt_ledger_build(&l, tl, NULL), 0);
	assert_int_equal(wt_ranks_build(&ranks, l, NULL), 0);
	assert_int_equal(wt_report_new(&r, tl, l, ranks), 0);
	wt_report_json(r, &raw);
	wt_report_text(r, ret_text);
	for (size_t i = 0; i < raw.n; i++) {
		if (raw.s[i] == '\n')
			while (raw.s[i + 1] == ' ')
				i++;
		else
			wt_strbuf_addc(ret_json, raw.s[i]);
	}
	wt_strbuf_release(&raw);
	wt_report_free(r);
	wt_ranks_free(ranks);
	wt_ledger_free(l);
}

static void has(const struct wt_strbuf *text, const char *part)
{
	if (!strstr(wt_strbuf_text(text), part))
		fail_msg("'%s' is not in: %s", part, wt_strbuf_text(text));
}

static void test_own_recording(void **state)
{
	struct wt_builder *b = wt_builder_new();
	uint32_t in = wt_builder_input(b, "x.wt", "warptap");
	uint16_t p = wt_builder_process(b, in, 42);
	uint16_t d = wt_builder_device(b, p, 0, (const uint8_t[16]){0xab, 1});
	struct wt_process *pr = wt_builder_process_at(b, p);
	struct wt_op op = {.start_ns = 1000,
			   .end_ns = 21000,
			   .device = d,
			   .process = p,
			   .kind = WT_OP_KERNEL,
			   .call = -1,
			   .collective = -1};
	struct wt_strbuf json = {.n = 0}, text = {.n = 0};
	struct wt_timeline *tl;

	pr->level = 3;
	pr->rank = 1;
	pr->world = 2;
	pr->collect_start_ns = 0;
	pr->collect_end_ns = 100000;
	pr->hook_ns = 500;
	pr->writer_cpu_ns = 300;
	pr->cupti_ns = 200;
	op.stream = wt_builder_stream(b, p, d, 7);
	op.name = wt_builder_cstring(b, "ampere_sgemm_128x64_nn");
	wt_builder_op(b, &op);
	op.flags = WT_OP_UNTIMED;
	op.start_ns = op.end_ns = 0;
	wt_builder_op(b, &op);
	wt_builder_hole(b, &(struct wt_hole){.start_ns = 30000,
					     .end_ns = 50000,
					     .missing = 3,
					     .stream = op.stream,
					     .device = d,
					     .process = p});
	/* 10 launches: 6 timed, 1 untimed, 2 dropped, 1 in flight; two contexts of copies, all there. */
	wt_builder_count(b, &(struct wt_count){.process = p,
					       .kind = WT_COUNT_LAUNCH,
					       .counted = 10,
					       .timed = 6,
					       .untimed = 1,
					       .dropped_cupti = 2,
					       .in_flight = 1});
	for (uint32_t ctx = 0; ctx < 2; ctx++)
		wt_builder_count(b, &(struct wt_count){.process = p,
						       .kind = WT_COUNT_COPY,
						       .context = ctx,
						       .counted = 3,
						       .timed = 3});
	wt_builder_count(
		b, &(struct wt_count){.process = p, .kind = WT_COUNT_COLLECTIVE, .counted = 4});
	wt_builder_environment(b, p, "torch", "2.9");
	wt_builder_note(b, "said by the reader");
	tl = finish(b);
	assert_true(wt_report_damaged(tl)); /* the trace was not closed */
	render(tl, &json, &text);
	has(&json, "\"counted\":{\"launch\":10,\"graph_launch\":0,\"copy\":6,\"memset\":0,"
		   "\"collective\":4}");
	has(&json, "\"received\":{\"launch\":7,\"graph_launch\":0,\"copy\":6,\"memset\":0,"
		   "\"collective\":0}");
	/* 12 timed of 15 that could be: 16 counted, 1 still in flight. */
	has(&json, "\"missing\":2,\"in_flight\":1,\"share\":0.800000000,");
	has(&json, "\"holes\":[{\"rank\":1,\"device\":0,\"stream\":7,\"start_ns\":30000,\"end_ns\":"
		   "50000,\"missing\":3,\"paused\":false,\"in_flight\":false}]");
	has(&json, "\"window_ns\":100000,\"compute_ns\":20000,");
	has(&json, "\"none_ns\":80000,");
	has(&json,
	    "\"kernels\":{\"count\":2,\"union_ns\":20000,\"sum_ns\":20000,\"without_launch\":2,");
	has(&json, "\"uuid\":\"ab010000000000000000000000000000\"");
	/* 1000 ns of 100000. */
	has(&json, "\"hook_ns\":500,\"writer_cpu_ns\":300,\"cupti_ns\":200,");
	has(&json, "\"share\":0.010000000,\"audit\":[]}");
	has(&json, "\"environment\":{\"torch\":\"2.9\"}");
	has(&json, "said by the reader");
	has(&json, "no kernel was recognised as communication");
	has(&text, "level     trace");
	has(&text, "80.0000 % of 15 counted operations that ended");
	has(&text, "= 1.000 % of the time recorded");
	has(&text,
	    "of 40.000 us device time between the first and the last record (100.000 us with what "
	    "is outside), 50.0 % computing, 50.0 % without records");
	has(&text, "3 records lost on rank 1 device 0 stream 7 between +30.000 us and +50.000 us");
	has(&text, "did not close its trace");
	/* Half of the time between the records has none: nobody can win it. */
	has(&text, "not seen: E1 no records: lost or paused, 50.0 %; no gain is claimed for it");
	assert_null(strstr(json.s, "\"leaf\":\"E1\""));
	assert_null(strstr(text.s, "1. E1"));
	wt_strbuf_release(&json);
	wt_strbuf_release(&text);
	wt_timeline_free(tl);
}

/*
 * Two products at half of the peak in 1 ms of records; the process lived for 100. What is left to gain is told of both
 * as of everything else: of the time between the records.
 */
static void test_half_of_the_peak(void **state)
{
	struct wt_builder *b = wt_builder_new();
	uint16_t p = wt_builder_process(b, wt_builder_input(b, "x.wt", "warptap"), 42);
	uint16_t d = wt_builder_device(b, p, 0, NULL);
	struct wt_work mm = {.m = 4096,
			     .n = 4096,
			     .k = 4096,
			     .batch = 1,
			     .kind = WT_WORK_GEMM,
			     .source = WT_WORK_BY_ARGUMENTS,
			     .a = WT_DTYPE_BF16,
			     .b = WT_DTYPE_BF16,
			     .out = WT_DTYPE_BF16,
			     .math = WT_DTYPE_BF16};
	struct wt_strbuf json = {.n = 0}, text = {.n = 0};
	struct wt_process *pr = wt_builder_process_at(b, p);
	struct wt_timeline *tl;

	pr->level = 3;
	pr->ended = 1;
	pr->collect_start_ns = 0;
	pr->collect_end_ns = 100000000;
	wt_builder_device_at(b, d)->name = wt_builder_cstring(b, "NVIDIA H100 80GB HBM3");
	wt_builder_device_at(b, d)->memory_bytes = 85000000000;
	for (int i = 0; i < 2; i++) {
		/* 2 x 4096^3 FLOP at 989.4 TFLOP/s are 138.9 us */
		int64_t at_ns = i ? 10722176 : 10000000;

		wt_builder_op(b, &(struct wt_op){.start_ns = at_ns,
						 .end_ns = at_ns + 277824,
						 .name = wt_builder_cstring(b, "nvjet_tst_x"),
						 .shape = wt_builder_shape_work(
							 b, 0, wt_builder_work(b, &mm)),
						 .stream = wt_builder_stream(b, p, d, 7),
						 .device = d,
						 .process = p,
						 .kind = WT_OP_KERNEL,
						 .call = -1,
						 .collective = -1});
	}
	tl = finish(b);
	render(tl, &json, &text);
	has(&text, "of computing, 100.0 % is compared with the device's peaks and reaches 50 % of "
		   "them: at the peaks at most 1.38 times as fast (modelled)");
	has(&text, "0.2749 TFLOP, 27.8 % of the dense bf16 peak between first and last record");
	has(&json, "\"hfu_kernels\":0.277");
	wt_strbuf_release(&json);
	wt_strbuf_release(&text);
	wt_timeline_free(tl);
}

/* What a source does not say is not zero: a collective's bytes, waiting where nothing is matched, a device's name. */
static void test_not_said(void **state)
{
	struct wt_builder *b = wt_builder_new();
	uint32_t in = wt_builder_input(b, "x", "nsys");
	struct wt_strbuf json = {.n = 0}, text = {.n = 0};
	struct wt_timeline *tl;

	for (int r = 0; r < 2; r++) {
		uint16_t p = wt_builder_process(b, in, 100 + r);
		uint16_t d = wt_builder_device(b, p, r, NULL);
		struct wt_collective c = {.dtype = UINT32_MAX,
					  .name = wt_builder_cstring(b, "ncclSend"),
					  .op = WT_COLL_SEND,
					  .peer = -1,
					  .call = -1,
					  .lead = -1,
					  .process = p};
		int32_t send = wt_builder_collective(b, &c);

		c.name = wt_builder_cstring(b, "ncclRecv");
		c.op = WT_COLL_RECV;
		c.lead = send;
		wt_builder_collective(b, &c);
		wt_builder_op(
			b, &(struct wt_op){.start_ns = 1000,
					   .end_ns = 21000,
					   .name = wt_builder_cstring(b, "ncclDevKernel_SendRecv"),
					   .stream = wt_builder_stream(b, p, d, 7),
					   .device = d,
					   .process = p,
					   .kind = WT_OP_KERNEL,
					   .call = -1,
					   .collective = send});
	}
	tl = finish(b);
	render(tl, &json, &text);
	has(&text, "exposed waiting of all ranks not established: no operation is matched");
	has(&text, "ncclSend: 2 calls, bytes not known, 2 kernels, ");
	has(&text, "ncclRecv: 2 calls, bytes not known, 0 kernels, carried by those of calls "
		   "grouped with it, ");
	has(&text, "device 0: the recording does not say what part it is: no peaks");
	has(&json, "\"wait_ns\":null,\"not_established_ns\":null,");
	has(&json, "\"count\":2,\"bytes\":null,");
	wt_strbuf_release(&json);
	wt_strbuf_release(&text);
	wt_timeline_free(tl);
}

static void test_nothing_counted(void **state)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_strbuf json = {.n = 0}, text = {.n = 0};
	struct wt_timeline *tl;

	wt_builder_process(b, wt_builder_input(b, "x.json", "kineto"), 42);
	tl = finish(b);
	assert_false(wt_report_damaged(tl));
	render(tl, &json, &text);
	has(&json, "\"devices\":[]");
	has(&json, "\"counted\":{\"launch\":null,\"graph_launch\":null,\"copy\":null,\"memset\":"
		   "null,\"collective\":null}");
	has(&json, "\"missing\":null,\"in_flight\":null,\"share\":null");
	has(&json, "\"cost\":{\"hook_ns\":null,");
	has(&json, "\"opportunities\":[]");
	has(&json, "no device records");
	has(&text, "cost      not recorded");
	wt_strbuf_release(&json);
	wt_strbuf_release(&text);
	wt_timeline_free(tl);
}

static uint16_t native_process(struct wt_builder *b, const char *path, int64_t start_ns,
			       int64_t end_ns)
{
	uint16_t p = wt_builder_process(b, wt_builder_input(b, path, "warptap"), start_ns + 1);
	struct wt_process *pr = wt_builder_process_at(b, p);

	pr->level = 3;
	pr->ended = 1;
	pr->collect_start_ns = start_ns;
	pr->collect_end_ns = end_ns;
	return p;
}

/* Cut before the first counts: not known is not 0. */
static void test_cut_before_counts(void **state)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_strbuf json = {.n = 0}, text = {.n = 0};
	uint16_t p = native_process(b, "x.wt", 0, 100);
	struct wt_timeline *tl;

	wt_builder_process_at(b, p)->ended = 0;
	tl = finish(b);
	render(tl, &json, &text);
	has(&json, "\"counted\":{\"launch\":null,\"graph_launch\":null,");
	has(&text, "1 of 1 processes cut: their ends are not in it");
	wt_strbuf_release(&json);
	wt_strbuf_release(&text);
	wt_timeline_free(tl);
}

/* Two runs on one device: the pause is idle, not a slow host; and the first lines say what they mean. */
static void test_two_runs(void **state)
{
	static const uint8_t uuid[16] = {1};
	struct wt_builder *b = wt_builder_new();
	struct wt_strbuf json = {.n = 0}, text = {.n = 0};
	struct wt_timeline *tl;

	for (int i = 0; i < 2; i++) {
		uint16_t p =
			native_process(b, i ? "b.wt" : "a.wt", i * 500000, i * 500000 + 200000);
		uint16_t d = wt_builder_device(b, p, 0, uuid);
		struct wt_op op = {.start_ns = i * 500000,
				   .end_ns = i * 500000 + 200000,
				   .device = d,
				   .process = p,
				   .kind = WT_OP_KERNEL,
				   .call = -1,
				   .collective = -1};

		op.stream = wt_builder_stream(b, p, d, 7);
		op.name = wt_builder_cstring(b, "ampere_sgemm_128x64_nn");
		wt_builder_op(b, &op);
	}
	tl = finish(b);
	render(tl, &json, &text);
	has(&text, "a.wt and b.wt used device 0 one after the other");
	has(&text, "mostly computing: of 700.000 us device time, 57.1 % computing, 42.9 % idle\n");
	has(&text, "largest use: A2 arithmetic, 400.000 us = 57.1 % (estimated)");
	has(&text, "D14 idle, cause unknown: idle, and the records do not say why\n"
		   "        in one piece of 300.000 us at +200.000 us");
	wt_strbuf_release(&json);
	wt_strbuf_release(&text);
	wt_timeline_free(tl);
}

/* Two ranks share a window; the longest piece of a leaf is told as far as it lies in it. */
static void test_piece_in_window(void **state)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_strbuf json = {.n = 0}, text = {.n = 0};
	struct wt_timeline *tl;

	for (int i = 0; i < 2; i++) {
		uint16_t p = native_process(b, i ? "b.wt" : "a.wt", i, 100000 + i * 900000);
		uint16_t d = wt_builder_device(b, p, i, (const uint8_t[16]){(uint8_t)(i + 1)});
		struct wt_op op = {.start_ns = 1,
				   .end_ns = 100000 + i * 900000,
				   .device = d,
				   .process = p,
				   .kind = WT_OP_KERNEL,
				   .call = -1,
				   .collective = -1};

		wt_builder_process_at(b, p)->rank = i;
		op.stream = wt_builder_stream(b, p, d, 7);
		op.name = wt_builder_cstring(b, "my_very_own_thing");
		wt_builder_op(b, &op);
	}
	tl = finish(b);
	render(tl, &json, &text);
	has(&text, "in one piece of 99.999 us at +0 ns");
	assert_null(strstr(wt_strbuf_text(&text), "999.999 us"));
	wt_strbuf_release(&json);
	wt_strbuf_release(&text);
	wt_timeline_free(tl);
}

static void test_damaged_input(void **state)
{
	struct wt_builder *b = wt_builder_new();
	uint32_t in = wt_builder_input(b, "x.json", "kineto");
	struct wt_strbuf json = {.n = 0}, text = {.n = 0};
	struct wt_timeline *tl;
	uint32_t what = wt_builder_cstring(b, "ends inside an event");

	wt_builder_input_at(b, in)->damaged = 1;
	wt_builder_input_at(b, in)->damage_offset = 777;
	wt_builder_input_at(b, in)->damage_text = what;
	wt_builder_input_at(b, in)->lost_events = 1;
	tl = finish(b);
	assert_true(wt_report_damaged(tl));
	render(tl, &json, &text);
	has(&json, "\"damaged\":true,\"lost\":{\"packets\":0,\"bytes\":0,\"events\":1,\"repairs\":"
		   "0,\"offset\":777,"
		   "\"text\":\"ends inside an event\"}");
	has(&text, "x.json: byte 777: ends inside an event\n    lost: 1 events\n");
	wt_strbuf_release(&json);
	wt_strbuf_release(&text);
	wt_timeline_free(tl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_recording),	  cmocka_unit_test(test_half_of_the_peak),
		cmocka_unit_test(test_not_said),	  cmocka_unit_test(test_nothing_counted),
		cmocka_unit_test(test_cut_before_counts), cmocka_unit_test(test_two_runs),
		cmocka_unit_test(test_piece_in_window),	  cmocka_unit_test(test_damaged_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
