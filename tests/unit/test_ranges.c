/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of the host: what their names mean, who encloses whom, and which one a thread was in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/ranges.h"
#include "timeline/builder.h"

static void test_names(void **state)
{
	static const struct {
		const char *name;
		int kind;
		int64_t number;
	} want[] = {
		{"ProfilerStep#12", WT_RANGE_STEP, 12},
		{"ProfilerStep", WT_RANGE_USER, -1},
		{"step 7", WT_RANGE_STEP, 7},
		{"Iteration: 3", WT_RANGE_STEP, 3},
		{"train_step 41", WT_RANGE_STEP, 41},
		{"step", WT_RANGE_USER, -1},
		{"step 7 of 9", WT_RANGE_USER, -1},
		{"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", WT_RANGE_INPUT,
		 -1},
		{"Optimizer.step#AdamW.step", WT_RANGE_OPTIMIZER, -1},
		{"autograd::engine::evaluate_function: AddmmBackward0", WT_RANGE_BACKWARD, -1},
		{"nn.Module: Linear_3", WT_RANGE_MODULE, -1},
		{"execute_context_8(8192)_generation_0(0)", WT_RANGE_STEP, -1},
		{"execute_context_0(0)_generation_0(0)", WT_RANGE_NO_WORK, -1},
		{"execute_32_context_0(sq0sk0)_generation_32(sq32)", WT_RANGE_STEP, -1},
		{"step[DECODE bs=32]", WT_RANGE_STEP, -1},
		{"load_data", WT_RANGE_INPUT, -1},
		{"LoadData", WT_RANGE_INPUT, -1}, /* what is between the words does not count */
		{"DataLoader", WT_RANGE_INPUT, -1},
		{"unload_database", WT_RANGE_USER, -1},
		{"Forward", WT_RANGE_FORWARD, -1},
		{"forwarder", WT_RANGE_USER, -1},
		{"my_backward_pass", WT_RANGE_BACKWARD, -1},
		{"torch.save", WT_RANGE_CHECKPOINT, -1},
		{"activation_checkpointing", WT_RANGE_USER, -1},
		{"retrieval", WT_RANGE_USER, -1}, /* "eval" is not a word of it */
		{"", WT_RANGE_USER, -1},
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		int64_t number;
		int kind = wt_range_kind_by_name(want[i].name, &number);

		if (kind != want[i].kind || number != want[i].number)
			fail_msg("%s: kind %d number %ld, expected %d %ld", want[i].name, kind,
				 (long)number, want[i].kind, (long)want[i].number);
	}
}

struct scene {
	struct wt_builder *b;
	uint16_t process;
	uint32_t thread[3];
	struct wt_timeline *tl;
	struct wt_ranges x;
};

static void open_scene(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->b = wt_builder_new();
	s->process = wt_builder_process(s->b, wt_builder_input(s->b, "a", "test"), 1);
	for (int i = 0; i < 3; i++)
		s->thread[i] = wt_builder_thread(s->b, s->process, 100 + i);
}

static void range(struct scene *s, int thread, int kind, const char *name, int64_t start_ns,
		  int64_t end_ns)
{
	struct wt_range r = {.start_ns = start_ns,
			     .end_ns = end_ns,
			     .name = wt_builder_cstring(s->b, name),
			     .thread = s->thread[thread],
			     .step = -1,
			     .process = s->process,
			     .kind = (uint8_t)kind};

	wt_builder_range(s->b, &r);
}

static void freeze(struct scene *s)
{
	struct wt_diag diag;

	assert_int_equal(wt_builder_finish(s->b, &s->tl, &diag), 0);
	assert_int_equal(wt_ranges_init(&s->x, s->tl), 0);
}

static void close_scene(struct scene *s)
{
	wt_ranges_release(&s->x);
	wt_timeline_free(s->tl);
}

static const char *at(struct scene *s, int thread, int64_t t_ns, uint32_t kinds)
{
	int32_t i = wt_ranges_at(&s->x, s->thread[thread], t_ns, kinds);

	return i < 0 ? "" : wt_timeline_string(s->tl, s->tl->ranges[i].name);
}

static const char *of_call(struct scene *s, int thread, int64_t t_ns, uint32_t kinds)
{
	struct wt_call c = {.thread = s->thread[thread],
			    .process = s->process,
			    .start_ns = t_ns,
			    .end_ns = t_ns + 1};
	int32_t i = wt_ranges_of_call(&s->x, &c, kinds);

	return i < 0 ? "" : wt_timeline_string(s->tl, s->tl->ranges[i].name);
}

#define ANY (~0u)

static void test_nest(void **state)
{
	struct scene s;

	open_scene(&s);
	range(&s, 0, WT_RANGE_STEP, "outer", 0, 1000000);
	range(&s, 0, WT_RANGE_FORWARD, "f", 100, 400);
	/* A thousand brothers between the outer range and the moment asked for. */
	for (int i = 0; i < 1000; i++)
		range(&s, 0, WT_RANGE_USER, "small", 1000 + 10 * i, 1005 + 10 * i);
	range(&s, 0, WT_RANGE_BACKWARD, "b", 20000, 30000);
	range(&s, 1, WT_RANGE_INPUT, "in", 50, 60);
	range(&s, 1, WT_RANGE_REQUEST, "request", 0, 100);
	freeze(&s);
	assert_string_equal(at(&s, 0, 200, ANY), "f");
	assert_string_equal(at(&s, 0, 200, WT_KIND_BIT(STEP)), "outer");
	assert_string_equal(at(&s, 0, 400, ANY), "outer"); /* half open */
	assert_string_equal(at(&s, 0, 10996, ANY), "outer");
	assert_string_equal(at(&s, 0, 10996, WT_KIND_BIT(FORWARD)), "");
	assert_string_equal(at(&s, 0, 25000, ANY), "b");
	assert_string_equal(at(&s, 0, 1000000, ANY), "");
	assert_string_equal(at(&s, 0, -1, ANY), "");
	assert_string_equal(at(&s, 1, 70, ANY), ""); /* a request encloses nothing */
	assert_string_equal(at(&s, 2, 200, ANY), "");
	/* A thread without a range of its own is in what the others are in. */
	assert_string_equal(of_call(&s, 2, 25000, ANY), "b");
	assert_string_equal(of_call(&s, 2, 55, ANY), "in"); /* began last */
	assert_string_equal(of_call(&s, 1, 55, WT_KIND_BIT(STEP)), "outer");
	assert_string_equal(of_call(&s, 0, 55, ANY), "outer"); /* its own goes first */
	close_scene(&s);
}

static void test_walk(void **state)
{
	struct scene s;
	size_t cursor = SIZE_MAX;
	int32_t i;

	open_scene(&s);
	range(&s, 0, WT_RANGE_INPUT, "a", 0, 100);
	range(&s, 0, WT_RANGE_INPUT, "inside a", 20, 90);
	range(&s, 0, WT_RANGE_FORWARD, "f", 100, 200);
	range(&s, 0, WT_RANGE_INPUT, "c", 250, 260);
	freeze(&s);
	i = wt_ranges_next(&s.x, s.thread[0], 50, 255, WT_KIND_BIT(INPUT), &cursor);
	assert_string_equal(wt_timeline_string(s.tl, s.tl->ranges[i].name), "a");
	i = wt_ranges_next(&s.x, s.thread[0], 50, 255, WT_KIND_BIT(INPUT), &cursor);
	assert_string_equal(wt_timeline_string(s.tl, s.tl->ranges[i].name), "inside a");
	i = wt_ranges_next(&s.x, s.thread[0], 50, 255, WT_KIND_BIT(INPUT), &cursor);
	assert_string_equal(wt_timeline_string(s.tl, s.tl->ranges[i].name), "c");
	assert_int_equal(wt_ranges_next(&s.x, s.thread[0], 50, 255, WT_KIND_BIT(INPUT), &cursor),
			 -1);
	i = wt_ranges_before(&s.x, s.thread[0], 240, WT_KIND_BIT(INPUT));
	assert_string_equal(wt_timeline_string(s.tl, s.tl->ranges[i].name), "inside a");
	assert_int_equal(wt_ranges_before(&s.x, s.thread[0], 80, WT_KIND_BIT(INPUT)), -1);
	close_scene(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_nest),
		cmocka_unit_test(test_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
