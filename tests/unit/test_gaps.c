/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causes of idle time, each case worked out by hand. One device; the first operation ends at 1000, the gap starts
 * there. Times in ns; the expectation lists the leaves of the whole window, every other leaf must be 0.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/ledger.h"
#include "timeline/builder.h"

struct scene {
	struct wt_builder *b;
	uint16_t process, device;
	uint32_t stream;
	uint64_t correlation;
};

static struct scene scene_new(int level)
{
	struct scene s = {.b = wt_builder_new()};

	s.process = wt_builder_process(s.b, wt_builder_input(s.b, "a", "test"), 1);
	s.device = wt_builder_device(s.b, s.process, 0, NULL);
	s.stream = wt_builder_stream(s.b, s.process, s.device, 7);
	wt_builder_process_at(s.b, s.process)->level = level;
	wt_builder_process_at(s.b, s.process)->ended = 1;
	return s;
}

static uint64_t call(struct scene *s, int64_t tid, enum wt_call_kind kind, int64_t start_ns,
		     int64_t end_ns)
{
	struct wt_call c = {.start_ns = start_ns,
			    .end_ns = end_ns,
			    .correlation = ++s->correlation,
			    .thread = wt_builder_thread(s->b, s->process, tid),
			    .stream = UINT32_MAX,
			    .parent = -1,
			    .process = s->process,
			    .kind = (uint8_t)kind};

	c.name = wt_builder_cstring(s->b, "call");
	wt_builder_call(s->b, &c);
	return s->correlation;
}

static void op_named(struct scene *s, uint64_t correlation, int kind, const char *name,
		     int64_t start_ns, int64_t end_ns)
{
	struct wt_op op = {.start_ns = start_ns,
			   .end_ns = end_ns,
			   .correlation = correlation,
			   .stream = s->stream,
			   .device = s->device,
			   .process = s->process,
			   .kind = (uint8_t)kind,
			   .copy_kind = WT_COPY_D2H,
			   .call = -1,
			   .collective = -1};

	op.name = wt_builder_cstring(s->b, name);
	wt_builder_op(s->b, &op);
}

/* A kernel of no known family, launched by thread 1 at a0 in 100 ns: its own time is A6. */
static void kernel(struct scene *s, int64_t a0_ns, int64_t start_ns, int64_t end_ns)
{
	op_named(s, call(s, 1, WT_CALL_LAUNCH, a0_ns, a0_ns + 100), WT_OP_KERNEL, "k", start_ns,
		 end_ns);
}

struct want {
	enum wt_leaf leaf;
	int64_t ns;
};

static const struct wt_slice *expect(struct scene *s, const struct want *want, size_t n,
				     enum wt_leaf find, struct wt_slice *ret)
{
	struct wt_timeline *tl = NULL;
	struct wt_ledger *l = NULL;
	struct wt_diag diag = {.offset = -1};
	int64_t leaves[WT_LEAVES] = {0};
	const struct wt_slice *found = NULL;

	assert_int_equal(wt_builder_finish(s->b, &tl, &diag), 0);
	assert_int_equal(wt_ledger_build(&l, tl, &diag), 0);
	assert_int_equal(l->ndevices, 1);
	for (size_t i = 0; i < n; i++)
		leaves[want[i].leaf] += want[i].ns;
	for (int i = 0; i < WT_LEAVES; i++)
		if (l->devices[0].account.leaves_ns[i] != leaves[i])
			fail_msg("%s: %ld, expected %ld", wt_leaves[i].key,
				 (long)l->devices[0].account.leaves_ns[i], (long)leaves[i]);
	for (size_t i = 0; i < l->devices[0].slices.n && !found; i++)
		if (wt_slices_at(&l->devices[0].slices, i)->leaf == find) {
			*ret = *wt_slices_at(&l->devices[0].slices, i);
			found = ret;
		}
	wt_ledger_free(l);
	wt_timeline_free(tl);
	return found;
}

#define EXPECT(s_, find_, ...)                                                                     \
	do {                                                                                       \
		const struct want want_[] = {__VA_ARGS__};                                         \
		slice = expect(s_, want_, sizeof(want_) / sizeof(want_[0]), find_, &copy);         \
	} while (0)

static struct wt_slice copy;
static const struct wt_slice *slice;

static void test_late_launch(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	kernel(&s, 3000, 8000, 9000); /* launched 2000 after the drain, starts 5000 later */
	EXPECT(&s, WT_D8, {WT_A6, 2000}, {WT_D8, 2000}, {WT_D9, 5000});
	assert_int_equal(slice->grade, 2);
}

static void test_queued_gap(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	kernel(&s, 500, 6000, 7000); /* queued; 5000 is the floor */
	EXPECT(&s, WT_D10, {WT_A6, 2000}, {WT_D10, 5000});
	assert_int_equal(slice->grade, 2);
}

static void test_just_launched(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	kernel(&s, 900, 7000,
	       8000); /* on its way when the device drained: latency, within the cap of 20000 */
	EXPECT(&s, WT_D9, {WT_A6, 2000}, {WT_D9, 6000});
}

static void test_starts_before_its_launch(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	kernel(&s, 4100, 4000, 5000); /* clocks disagree: the whole gap is the host's */
	EXPECT(&s, WT_D8, {WT_A6, 2000}, {WT_D8, 3000});
}

static void test_sync_and_refill(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	call(&s, 1, WT_CALL_SYNC, 400, 1300);
	kernel(&s, 3000, 4000, 5000);
	EXPECT(&s, WT_D7, {WT_A6, 2000}, {WT_D6, 300}, {WT_D7, 1700}, {WT_D9, 1000});
	assert_int_equal(slice->grade, 2);
}

/* A copy to the host that its call waited for drains the queue like a synchronise. */
static void test_blocking_copy(void **state)
{
	struct scene s = scene_new(-1);
	uint64_t id = call(&s, 1, WT_CALL_COPY, 100, 1200);

	op_named(&s, id, WT_OP_COPY, "", 0, 1000);
	kernel(&s, 2000, 2500, 3500);
	EXPECT(&s, WT_D6, {WT_C3, 1000}, {WT_A6, 1000}, {WT_D6, 200}, {WT_D7, 800}, {WT_D9, 500});
}

/* An asynchronous one, returned long before its copy ended, does not. */
static void test_async_copy(void **state)
{
	struct scene s = scene_new(-1);
	uint64_t id = call(&s, 1, WT_CALL_COPY, -300, -200);

	op_named(&s, id, WT_OP_COPY, "", 0, 1000);
	kernel(&s, 2000, 2500, 3500);
	EXPECT(&s, WT_D8, {WT_C3, 1000}, {WT_A6, 1000}, {WT_D8, 1000}, {WT_D9, 500});
}

/* Main waits, another thread launches afterwards: the wait is the reason all the same. */
static void test_handed_over(void **state)
{
	struct scene s = scene_new(3);

	kernel(&s, -50, 0, 1000);
	call(&s, 2, WT_CALL_SYNC, 400, 1300);
	kernel(&s, 3000, 4000, 5000);
	wt_builder_process_at(s.b, s.process)->collect_start_ns = 0;
	wt_builder_process_at(s.b, s.process)->collect_end_ns = 5000;
	EXPECT(&s, WT_D7, {WT_A6, 2000}, {WT_D6, 300}, {WT_D7, 1700}, {WT_D9, 1000});
}

/* But not if the launching thread was at work meanwhile. */
static void test_not_handed_over(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	call(&s, 2, WT_CALL_SYNC, 400, 1300);
	call(&s, 1, WT_CALL_OTHER, 500, 600);
	kernel(&s, 3000, 4000, 5000);
	EXPECT(&s, WT_D8, {WT_A6, 2000}, {WT_D8, 2000}, {WT_D9, 1000});
}

/* Three ordinary launches set the median (1000); the fourth takes 100000: 20000 are latency, the rest is not known. */
static void test_capped_latency(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	for (int i = 1; i <= 3; i++)
		kernel(&s, i * 10000, i * 10000 + 1000, (i + 1) * 10000 - 1000);
	kernel(&s, 40000, 140000, 141000);
	EXPECT(&s, WT_D14, {WT_A6, 1000 + 3 * 8000 + 1000}, {WT_D8, 9000 + 3 * 1000},
	       {WT_D9, 3 * 1000 + 20000}, {WT_D14, 80000});
	assert_int_equal(slice->why, WT_WHY_QUEUED);
}

static void blind(struct scene *s)
{
	kernel(s, -50, 0, 1000);
	for (int i = 1; i <= 3; i++)
		kernel(s, i * 10000, i * 10000 + 1000, (i + 1) * 10000 - 1000);
	kernel(s, 40000, 140000, 141000);
	/* Another thread waits from 50000, for longer than a wait needs to prove something. */
	call(s, 2, WT_CALL_SYNC, 50000, 139000);
}

/* A launch call that does not return: latency up to the cap, then the host's; only behind its return is work queued. */
static void test_slow_launch_call(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -100, 0, 1000);
	op_named(&s, call(&s, 1, WT_CALL_LAUNCH, 900, 100000), WT_OP_KERNEL, "k", 160000, 161000);
	EXPECT(&s, WT_D8, {WT_A6, 2000}, {WT_D9, 19900}, {WT_D8, 79100}, {WT_D14, 60000});
	assert_int_equal(slice->why, WT_WHY_LAUNCHING);
}

/* Capture began in mid-run: the first wait can be for what was launched before. [60000, 139000) is blind. */
static void test_blind_spot(void **state)
{
	struct scene s = scene_new(-1);

	blind(&s);
	EXPECT(&s, WT_E2, {WT_A6, 26000}, {WT_D8, 12000}, {WT_D9, 23000}, {WT_E2, 79000},
	       {WT_D14, 1000});
	assert_int_equal(slice->grade, 2);
}

/* After an earlier wait everything is known, unless a launch left no record. */
static void test_no_blind_spot_after_a_wait(void **state)
{
	struct scene s = scene_new(-1);

	call(&s, 2, WT_CALL_SYNC, -500, -400);
	blind(&s);
	EXPECT(&s, WT_D14, {WT_A6, 26000}, {WT_D8, 12000}, {WT_D9, 23000}, {WT_D14, 80000});
}

static void test_blind_spot_of_unrecorded_launch(void **state)
{
	struct scene s = scene_new(-1);

	call(&s, 2, WT_CALL_SYNC, -500, -400);
	call(&s, 1, WT_CALL_GRAPH_LAUNCH, -300, -250); /* no operation bears its correlation */
	blind(&s);
	EXPECT(&s, WT_E2, {WT_A6, 26000}, {WT_D8, 12000}, {WT_D9, 23000}, {WT_E2, 79000},
	       {WT_D14, 1000});
}

/* A wait that ends 50000 after the drain: slow to wake if all work is recorded, else unrecorded work ran. */
static void test_slow_wake_up(void **state)
{
	struct scene s = scene_new(-1);

	call(&s, 1, WT_CALL_SYNC, -500, -400);
	kernel(&s, -50, 0, 1000);
	call(&s, 1, WT_CALL_SYNC, 200, 51000);
	kernel(&s, 52000, 53000, 54000);
	EXPECT(&s, WT_D6, {WT_A6, 2000}, {WT_D6, 50000}, {WT_D7, 1000}, {WT_D9, 1000});
	assert_int_equal(slice->grade, 3);
}

static void test_wait_for_unrecorded_work(void **state)
{
	struct scene s = scene_new(-1);

	call(&s, 1, WT_CALL_SYNC, -500, -400);
	kernel(&s, -50, 0, 1000);
	call(&s, 1, WT_CALL_GRAPH_LAUNCH, 100, 150);
	call(&s, 1, WT_CALL_SYNC, 200, 51000);
	kernel(&s, 52000, 53000, 54000);
	EXPECT(&s, WT_E2, {WT_A6, 2000}, {WT_E2, 50000}, {WT_D7, 1000}, {WT_D9, 1000});
}

/* A graph launched in the gap left no record: from there on the device was at work. */
static void wait_scene(struct scene *s)
{
	call(s, 1, WT_CALL_SYNC, -500, -400);
	kernel(s, -50, 0, 1000);
	call(s, 1, WT_CALL_LAUNCH, 100, 150); /* no operation bears its correlation */
	call(s, 1, WT_CALL_SYNC, 200, 51000);
	kernel(s, 52000, 53000, 54000);
}

/* The same in a trace of ours, twice: a record that hangs on no call may be the one that the launch lacks. */
static void test_loose_records_prove_nothing(void **state)
{
	struct scene s = scene_new(3);

	wait_scene(&s);
	EXPECT(&s, WT_E2, {WT_A6, 2000}, {WT_E2, 50000}, {WT_D7, 1000}, {WT_D9, 1000},
	       {WT_E5, 500});
	s = scene_new(3);
	wait_scene(&s);
	op_named(&s, 0, WT_OP_KERNEL, "k", 53500, 53600); /* beside the last kernel: owns no time */
	EXPECT(&s, WT_D6, {WT_A6, 2000}, {WT_D6, 50000}, {WT_D7, 1000}, {WT_D9, 1000},
	       {WT_E5, 500});
}

static void test_silent_graph(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	call(&s, 1, WT_CALL_GRAPH_LAUNCH, 3000, 3100);
	kernel(&s, 60000, 61000, 62000);
	EXPECT(&s, WT_E2, {WT_A6, 2000}, {WT_D8, 2000}, {WT_E2, 57000}, {WT_D9, 1000});
}

static void test_no_launch_record(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	op_named(&s, 0, WT_OP_KERNEL, "k", 4000, 5000);
	EXPECT(&s, WT_D14, {WT_A6, 2000}, {WT_D14, 3000});
	assert_int_equal(slice->why, WT_WHY_NO_LAUNCH_RECORD);
}

/* Nodes of one graph: close together D10, further apart D11, and no claim about the host. */
static void test_graph_nodes(void **state)
{
	struct scene s = scene_new(-1);
	uint64_t id = call(&s, 1, WT_CALL_GRAPH_LAUNCH, -100, -50);

	op_named(&s, id, WT_OP_KERNEL, "k", 0, 1000);
	op_named(&s, id, WT_OP_KERNEL, "k", 2000, 3000);
	op_named(&s, id, WT_OP_KERNEL, "k", 33000, 34000);
	EXPECT(&s, WT_D11, {WT_A6, 3000}, {WT_D10, 1000}, {WT_D11, 30000});
	assert_int_equal(slice->why, WT_WHY_GRAPH_NODE);
}

/* Specific before general: a module load inside an allocation inside a refill. */
static void test_precedence(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	call(&s, 1, WT_CALL_SYNC, 400, 1300);	 /* D6 300, then D7 */
	call(&s, 1, WT_CALL_ALLOC, 2000, 6000);	 /* D3 4000 but for */
	call(&s, 1, WT_CALL_MODULE, 3000, 4500); /* D2 1500 */
	call(&s, 1, WT_CALL_COMM, 5500, 7000);	 /* D5 1000: 500 of it are D3's */
	kernel(&s, 10000, 10500, 11500);
	EXPECT(&s, WT_D2, {WT_A6, 2000}, {WT_D6, 300}, {WT_D7, 9000 - 300 - 5000}, {WT_D3, 2500},
	       {WT_D2, 1500}, {WT_D5, 1000}, {WT_D9, 500});
	assert_int_equal(slice->grade, 3);
}

/* A call of another thread explains nothing. */
static void test_other_thread_allocates(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	call(&s, 2, WT_CALL_ALLOC, 1000, 9000);
	kernel(&s, 10000, 10500, 11500);
	EXPECT(&s, WT_D8, {WT_A6, 2000}, {WT_D8, 9000}, {WT_D9, 500});
}

/* A kernel's first launch takes 500000 instead of 100: it was loaded. 20000 latency, then D2 until it returns. */
static void test_loads_at_first_launch(void **state)
{
	struct scene s = scene_new(-1);
	uint64_t id;

	kernel(&s, -50, 0, 1000);
	for (int i = 1; i <= 3; i++)
		kernel(&s, i * 10000, i * 10000 + 1000, (i + 1) * 10000 - 1000);
	id = call(&s, 1, WT_CALL_LAUNCH, 40000, 540000);
	op_named(&s, id, WT_OP_KERNEL, "new", 541000, 542000);
	EXPECT(&s, WT_D2, {WT_A6, 26000}, {WT_D8, 12000}, {WT_D9, 23000}, {WT_D2, 480000},
	       {WT_D14, 1000});
	assert_int_equal(slice->why, WT_WHY_FIRST_LAUNCH);
}

/* A hole in the gap: E1; before it nothing is known, after it the rules go on with the hole's end as the drain. */
static void test_hole(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	kernel(&s, 7000, 8000, 9000);
	wt_builder_hole(
		s.b, &(struct wt_hole){
			     .start_ns = 3000, .end_ns = 5000, .missing = 2, .stream = s.stream});
	EXPECT(&s, WT_D14, {WT_A6, 2000}, {WT_D14, 2000}, {WT_E1, 2000}, {WT_D8, 2000},
	       {WT_D9, 1000});
	assert_int_equal(slice->why, WT_WHY_BEFORE_HOLE);
}

/* A native trace's window is its collection: what lies outside the records is E5, a hole there is E1. */
static void test_native_window(void **state)
{
	struct scene s = scene_new(3);
	struct wt_process *p = wt_builder_process_at(s.b, s.process);

	p->collect_start_ns = -4000;
	p->collect_end_ns = 12000;
	kernel(&s, -50, 0, 1000);
	kernel(&s, 3000, 3500, 4000);
	wt_builder_hole(s.b,
			&(struct wt_hole){.start_ns = 6000, .end_ns = 9000, .stream = UINT32_MAX});
	EXPECT(&s, WT_E5, {WT_A6, 1500}, {WT_D8, 2000}, {WT_D9, 500}, {WT_E1, 3000},
	       {WT_E5, 4000 + 2000 + 3000});
	assert_int_equal(slice->grade, 3);
}

/* Two runs in one folder: until the second process records, nobody can have launched too late. */
static void test_next_process(void **state)
{
	static const uint8_t uuid[16] = {1};
	struct scene s = {.b = wt_builder_new()};
	uint32_t in = wt_builder_input(s.b, "a", "test");

	for (int i = 0; i < 2; i++) {
		struct wt_process *p;

		s.process = wt_builder_process(s.b, in, 1 + i);
		s.device = wt_builder_device(s.b, s.process, 0, uuid);
		s.stream = wt_builder_stream(s.b, s.process, s.device, 7);
		p = wt_builder_process_at(s.b, s.process);
		p->level = 3;
		p->ended = 1;
		p->collect_start_ns = i ? 700000 : 0;
		p->collect_end_ns = i ? 800000 : 300000;
		kernel(&s, i ? 750000 : 10000, i ? 755000 : 15000, i ? 800000 : 200000);
	}
	slice = expect(&s,
		       (struct want[]){{WT_E5, 15000},
				       {WT_A6, 185000 + 45000},
				       {WT_D14, 500000},
				       {WT_D8, 50000},
				       {WT_D9, 5000}},
		       5, WT_D14, &copy);
	assert_int_equal(slice->why, WT_WHY_NO_PROCESS);
}

/* Two ranks of a native job share the window from the later start to the earlier end. */
static void test_common_window(void **state)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_ledger *l = NULL;

	for (int r = 0; r < 2; r++) {
		uint16_t p = wt_builder_process(b, wt_builder_input(b, r ? "b" : "a", "test"), r);
		uint16_t d = wt_builder_device(b, p, 0, NULL);
		struct wt_op op = {.start_ns = 100,
				   .end_ns = 900,
				   .device = d,
				   .process = p,
				   .kind = WT_OP_KERNEL,
				   .call = -1,
				   .collective = -1};

		op.stream = wt_builder_stream(b, p, d, 7);
		wt_builder_process_at(b, p)->level = 3;
		wt_builder_process_at(b, p)->rank = r;
		wt_builder_process_at(b, p)->collect_start_ns = r ? 200 : 0;
		wt_builder_process_at(b, p)->collect_end_ns = r ? 1000 : 800;
		wt_builder_op(b, &op);
	}
	assert_int_equal(wt_builder_finish(b, &tl, NULL), 0);
	assert_int_equal(wt_ledger_build(&l, tl, NULL), 0);
	assert_int_equal(l->ndevices, 2);
	for (int r = 0; r < 2; r++) {
		assert_int_equal(l->devices[r].w0_ns, 200);
		assert_int_equal(l->devices[r].w1_ns, 800);
		assert_int_equal(wt_account_compute_ns(&l->devices[r].account), 600);
		assert_int_equal(l->devices[r].kernels.union_ns,
				 800); /* of the records, not of the window */
	}
	wt_ledger_free(l);
	wt_timeline_free(tl);
}

static void span_of(struct scene *s, int64_t tid, enum wt_range_kind kind, const char *name,
		    int64_t start_ns, int64_t end_ns)
{
	struct wt_range r = {.start_ns = start_ns,
			     .end_ns = end_ns,
			     .name = wt_builder_cstring(s->b, name),
			     .thread = wt_builder_thread(s->b, s->process, tid),
			     .process = s->process,
			     .kind = (uint8_t)kind};

	wt_builder_range(s->b, &r);
}

/* What the job says it was doing; a module loaded while waiting for input is loading. */
static void test_annotated(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	span_of(&s, 1, WT_RANGE_INPUT, "batch", 500, 3000); /* began before the drain */
	call(&s, 1, WT_CALL_MODULE, 2000, 2200);
	span_of(&s, 1, WT_RANGE_CHECKPOINT, "save", 3000, 4500);
	span_of(&s, 1, WT_RANGE_COMM_SETUP, "barrier", 4500, 5000);
	span_of(&s, 1, WT_RANGE_NO_WORK, "idle", 5000, 5600);
	span_of(&s, 2, WT_RANGE_INPUT, "another thread's", 5600, 5700);
	span_of(&s, 0, WT_RANGE_USER, "Activity Buffer Request", 5700, 5900);
	span_of(&s, 0, WT_RANGE_USER, "Lazy Function Loading", 5890, 6000);
	kernel(&s, 6000, 6100, 7000);
	EXPECT(&s, WT_D1, {WT_A6, 1900}, {WT_D1, 1800}, {WT_D2, 200}, {WT_D4, 1500}, {WT_D5, 500},
	       {WT_D13, 600}, {WT_D8, 100}, {WT_E3, 200}, {WT_D2, 100}, {WT_D9, 100});
	assert_int_equal(slice->grade, 3);
}

/* A name of another tool's range says it too; a thread that did nothing waited for what another did. */
static void test_annotated_elsewhere(void **state)
{
	struct scene s = scene_new(-1);

	kernel(&s, -50, 0, 1000);
	span_of(&s, 2, WT_RANGE_USER, "enumerate(DataLoader)#x.__next__", 1200, 1800);
	span_of(&s, 2, WT_RANGE_USER, "some words", 1000, 1900);
	kernel(&s, 2000, 2100, 3000);
	EXPECT(&s, WT_D1, {WT_A6, 1900}, {WT_D1, 600}, {WT_D8, 400}, {WT_D9, 100});
}

static void copy_at(struct scene *s, int64_t a0_ns, int64_t start_ns, int64_t end_ns)
{
	struct wt_op op = {.start_ns = start_ns,
			   .end_ns = end_ns,
			   .correlation = call(s, 1, WT_CALL_COPY, a0_ns, a0_ns + 10),
			   .stream = s->stream,
			   .device = s->device,
			   .process = s->process,
			   .kind = WT_OP_COPY,
			   .copy_kind = WT_COPY_H2D,
			   .call = -1,
			   .collective = -1};

	op.name = wt_builder_cstring(s->b, "Memcpy HtoD");
	wt_builder_op(s->b, &op);
}

/* Copies to the device: in the input range, right after it, after a launch, and of offloaded state. */
static void test_copies_of_input(void **state)
{
	struct scene s = scene_new(-1);

	span_of(&s, 1, WT_RANGE_INPUT, "batch", 0, 1000);
	copy_at(&s, 500, 1000, 1100);  /* C1, grade 3 */
	copy_at(&s, 1010, 1100, 1300); /* C1, grade 2 */
	kernel(&s, 1050, 1300, 1400);
	copy_at(&s, 1200, 1400, 1800); /* C2: after a launch */
	span_of(&s, 1, WT_RANGE_OFFLOAD, "weights", 1250, 1300);
	copy_at(&s, 1260, 1800, 2600); /* C6 */
	EXPECT(&s, WT_C1, {WT_C1, 300}, {WT_A6, 100}, {WT_C2, 400}, {WT_C6, 800});
	assert_int_equal(slice->grade, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_annotated),
		cmocka_unit_test(test_annotated_elsewhere),
		cmocka_unit_test(test_copies_of_input),
		cmocka_unit_test(test_late_launch),
		cmocka_unit_test(test_queued_gap),
		cmocka_unit_test(test_just_launched),
		cmocka_unit_test(test_starts_before_its_launch),
		cmocka_unit_test(test_sync_and_refill),
		cmocka_unit_test(test_blocking_copy),
		cmocka_unit_test(test_async_copy),
		cmocka_unit_test(test_handed_over),
		cmocka_unit_test(test_not_handed_over),
		cmocka_unit_test(test_capped_latency),
		cmocka_unit_test(test_slow_launch_call),
		cmocka_unit_test(test_blind_spot),
		cmocka_unit_test(test_no_blind_spot_after_a_wait),
		cmocka_unit_test(test_blind_spot_of_unrecorded_launch),
		cmocka_unit_test(test_slow_wake_up),
		cmocka_unit_test(test_wait_for_unrecorded_work),
		cmocka_unit_test(test_loose_records_prove_nothing),
		cmocka_unit_test(test_silent_graph),
		cmocka_unit_test(test_no_launch_record),
		cmocka_unit_test(test_graph_nodes),
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_other_thread_allocates),
		cmocka_unit_test(test_loads_at_first_launch),
		cmocka_unit_test(test_hole),
		cmocka_unit_test(test_native_window),
		cmocka_unit_test(test_next_process),
		cmocka_unit_test(test_common_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
