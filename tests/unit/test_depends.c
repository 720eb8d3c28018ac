/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What queued work waited for on its stream: cases worked out by hand, on the ledger; then random programs on two
 * devices, run in the order of their streams by a few lines here, where each stream remembers until when it was held:
 * what holds an operation up beyond the start of the gap before it can only be the other device.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/depends.h"
#include "ledger/gaps.h"
#include "ledger/ledger.h"
#include "timeline/builder.h"

#define US	1000
#define STREAMS 4 /* 0 and 1 on the first device, 2 and 3 on the second */

struct program {
	struct wt_builder *b;
	uint32_t stream[STREAMS], thread;
	uint16_t process, device[2];
	uint64_t correlation;
};

static struct program begin(void)
{
	struct program p = {.b = wt_builder_new()};

	p.process = wt_builder_process(p.b, wt_builder_input(p.b, "a", "test"), 1);
	wt_builder_process_at(p.b, p.process)->level = 3;
	p.thread = wt_builder_thread(p.b, p.process, 1);
	for (int i = 0; i < 2; i++)
		p.device[i] = wt_builder_device(p.b, p.process, i, NULL);
	for (int i = 0; i < STREAMS; i++)
		p.stream[i] = wt_builder_stream(p.b, p.process, p.device[i / 2], 7 + i);
	return p;
}

static int32_t call(struct program *p, int stream, enum wt_call_kind kind, int64_t at_ns)
{
	return wt_builder_call(p->b, &(struct wt_call){.start_ns = at_ns,
						       .end_ns = at_ns + 100,
						       .correlation = ++p->correlation,
						       .thread = p->thread,
						       .stream = p->stream[stream],
						       .parent = -1,
						       .process = p->process,
						       .kind = (uint8_t)kind});
}

static void put(struct program *p, int stream, int64_t at_ns, int64_t start_ns, int64_t end_ns)
{
	int32_t by = call(p, stream, WT_CALL_LAUNCH, at_ns);

	wt_builder_op(p->b, &(struct wt_op){.start_ns = start_ns,
					    .end_ns = end_ns,
					    .correlation = p->correlation,
					    .name = wt_builder_cstring(p->b, "k"),
					    .stream = p->stream[stream],
					    .device = p->device[stream / 2],
					    .process = p->process,
					    .kind = WT_OP_KERNEL,
					    .call = by,
					    .collective = -1});
}

static int32_t record(struct program *p, int stream, int64_t at_ns)
{
	return call(p, stream, WT_CALL_OTHER, at_ns);
}

static void wait(struct program *p, int stream, int64_t at_ns, enum wt_wait_kind kind,
		 int32_t recorded)
{
	wt_builder_wait(p->b, &(struct wt_wait){.call = call(p, stream, WT_CALL_OTHER, at_ns),
						.record = recorded,
						.process = p->process,
						.kind = (uint8_t)kind});
}

/* The first slice of a leaf on the first device, and the leaf's time. */
static int64_t leaf_ns(struct program *p, enum wt_leaf leaf, struct wt_slice *ret)
{
	struct wt_timeline *tl = NULL;
	struct wt_ledger *l = NULL;
	struct wt_diag diag = {.offset = -1};
	int64_t ns;

	*ret = (struct wt_slice){.leaf = WT_LEAVES};
	assert_int_equal(wt_builder_finish(p->b, &tl, &diag), 0);
	assert_int_equal(wt_ledger_build(&l, tl, &diag), 0);
	assert_int_equal(l->devices[0].device, p->device[0]);
	ns = l->devices[0].account.leaves_ns[leaf];
	for (size_t i = l->devices[0].slices.n; i-- > 0;)
		if (wt_slices_at(&l->devices[0].slices, i)->leaf == leaf)
			*ret = *wt_slices_at(&l->devices[0].slices, i);
	wt_ledger_free(l);
	wt_timeline_free(tl);
	return ns;
}

/* The first device drains at 10 us and waits for the second until 100, and 3 more for the news to come over. */
static void test_other_device(void **state)
{
	struct program p = begin();
	struct wt_slice s;

	(void)state;
	put(&p, 0, -9 * US, 0, 10 * US);
	put(&p, 2, -8 * US, 0, 100 * US);
	wait(&p, 0, -6 * US, WT_WAIT_EVENT, record(&p, 2, -7 * US));
	put(&p, 0, -5 * US, 103 * US, 110 * US);
	/* after its launch 15 of the cap of 20 are left, of which 5 lie in the gap: D9 */
	assert_int_equal(leaf_ns(&p, WT_D11, &s), 85 * US);
	assert_int_equal(s.why, WT_WHY_EVENT);
	assert_int_equal(s.grade, 2);
	assert_int_equal(s.end_ns, 100 * US);
}

/* From 100 on it is not known: too long for the floor. */
static void test_rest_is_unresolved(void **state)
{
	struct program p = begin();
	struct wt_slice s;

	(void)state;
	put(&p, 0, -90 * US, 0, 10 * US);
	put(&p, 2, -80 * US, 0, 100 * US);
	wait(&p, 0, -60 * US, WT_WAIT_EVENT, record(&p, 2, -70 * US));
	put(&p, 0, -50 * US, 140 * US, 150 * US);
	assert_int_equal(leaf_ns(&p, WT_D14, &s), 40 * US);
	assert_int_equal(s.start_ns, 100 * US);
}

static void test_host_function(void **state)
{
	struct program p = begin();
	struct wt_slice s;

	(void)state;
	put(&p, 0, -90 * US, 0, 10 * US);
	wait(&p, 0, -60 * US, WT_WAIT_HOST_FUNCTION, -1);
	put(&p, 0, -50 * US, 140 * US, 150 * US);
	assert_int_equal(leaf_ns(&p, WT_D11, &s), 130 * US);
	assert_int_equal(s.why, WT_WHY_HOST_FUNCTION);
}

/* A function that the stream had left behind when the device drained. */
static void test_function_is_over(void **state)
{
	struct program p = begin();
	struct wt_slice s;

	(void)state;
	wait(&p, 0, -95 * US, WT_WAIT_HOST_FUNCTION, -1);
	put(&p, 0, -90 * US, 0, 10 * US);
	put(&p, 0, -50 * US, 140 * US, 150 * US);
	assert_int_equal(leaf_ns(&p, WT_D11, &s), 0);
}

/* Work of the device itself is no answer; nor is an end after the start of what is said to have waited for it. */
static void test_no_answer(void **state)
{
	for (int other = 0; other < 2; other++) {
		struct program p = begin();
		struct wt_slice s;

		put(&p, 0, -90 * US, 0, 10 * US);
		put(&p, other ? 2 : 1, -80 * US, 0, other ? 200 * US : 9 * US);
		wait(&p, 0, -60 * US, WT_WAIT_EVENT, record(&p, other ? 2 : 1, -70 * US));
		put(&p, 0, -50 * US, 140 * US, 150 * US);
		if (!other) /* else nothing is looked at */
			wait(&p, 3, -40 * US, WT_WAIT_HOST_FUNCTION, -1);
		assert_int_equal(leaf_ns(&p, WT_D11, &s), 0);
	}
	(void)state;
}

/* ---- random programs ---- */

static unsigned pick(uint64_t *seed, unsigned n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(*seed >> 33) % n;
}

#define ROUNDS 2000
#define PUTS   40

struct truth {
	int64_t start_ns, end_ns, held_ns; /* held: until when its stream was not free */
	int device;
};

static size_t run(struct program *p, uint64_t *seed, struct truth *truth)
{
	int64_t tail_ns[STREAMS] = {0}, event_ns[3] = {0}, now_ns = 0;
	int32_t event[3] = {-1, -1, -1};
	size_t n = 0;

	for (int i = 0; i < PUTS; i++) {
		int s = (int)pick(seed, STREAMS), e = (int)pick(seed, 3);

		now_ns += 200 + pick(seed, 2000);
		switch (pick(seed, 4)) {
		case 0:
			event[e] = record(p, s, now_ns);
			event_ns[e] = tail_ns[s];
			break;
		case 1:
			if (event[e] < 0)
				break;
			wait(p, s, now_ns, WT_WAIT_EVENT, event[e]);
			tail_ns[s] = event_ns[e] > tail_ns[s] ? event_ns[e] : tail_ns[s];
			break;
		default:
			truth[n].held_ns = tail_ns[s];
			truth[n].start_ns = tail_ns[s] > now_ns ? tail_ns[s] : now_ns;
			truth[n].start_ns += 1 + pick(seed, 3000);
			truth[n].end_ns = truth[n].start_ns + 1 + pick(seed, 60000);
			truth[n].device = s / 2;
			put(p, s, now_ns, truth[n].start_ns, truth[n].end_ns);
			tail_ns[s] = truth[n++].end_ns;
		}
	}
	return n;
}

/* When the device had nothing left to do before t. */
static int64_t drained_ns(const struct truth *truth, size_t n, int device, int64_t t_ns)
{
	int64_t drained = INT64_MIN;

	for (size_t i = 0; i < n; i++)
		if (truth[i].device == device && truth[i].start_ns < t_ns &&
		    truth[i].end_ns > drained)
			drained = truth[i].end_ns;
	return drained;
}

static const struct truth *truth_of(const struct truth *truth, size_t n, const struct wt_op *op)
{
	for (size_t i = 0; i < n; i++)
		if (truth[i].start_ns == op->start_ns && truth[i].end_ns == op->end_ns)
			return &truth[i];
	return NULL;
}

static void test_random(void **state)
{
	uint64_t seed = 7;
	size_t held = 0, gaps = 0;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		struct truth truth[PUTS];
		struct program p = begin();
		size_t n = run(&p, &seed, truth);
		struct wt_timeline *tl = NULL;
		struct wt_depends d;

		assert_int_equal(wt_builder_finish(p.b, &tl, NULL), 0);
		assert_int_equal(wt_depends_init(&d, tl), 0);
		for (uint32_t i = 0; i < tl->nops; i++) {
			const struct truth *t = truth_of(truth, n, &tl->ops[i]);
			struct wt_gap gap = {.end_ns = t->start_ns, .op = i};
			int64_t want, got;
			uint8_t why;

			gap.start_ns = drained_ns(truth, n, t->device, t->start_ns);
			if (gap.start_ns >= gap.end_ns || gap.start_ns < 0)
				continue;
			want = t->held_ns > gap.start_ns ? t->held_ns : gap.start_ns;
			got = wt_depends_until(&d, i, &gap, &why);
			if (got != want)
				fail_msg("round %d, [%ld, %ld): %ld, in truth %ld", round,
					 (long)gap.start_ns, (long)gap.end_ns, (long)got,
					 (long)want);
			assert_int_equal(why, got > gap.start_ns ? WT_WHY_EVENT : WT_WHY_NONE);
			held += got > gap.start_ns;
			gaps++;
		}
		wt_depends_release(&d);
		wt_timeline_free(tl);
	}
	print_message("%zu gaps, in %zu of them the other device was waited for\n", gaps, held);
	assert_true(held > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_device),  cmocka_unit_test(test_rest_is_unresolved),
		cmocka_unit_test(test_host_function), cmocka_unit_test(test_function_is_over),
		cmocka_unit_test(test_no_answer),     cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
