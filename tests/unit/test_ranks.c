/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks on hand-made timelines: delays, clocks, missing rows and chains are put in, and what comes out is compared with
 * what was put in, in nanoseconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ranks_scene.h"

/* Steps of compute and one all-reduce of 1 ms; rank `late` computes `delay` longer. 10 ms a step without it. */
static void train(struct scene *s, int steps, int late, int64_t delay_ns)
{
	int64_t at_ns = 0;

	for (int k = 0; k < steps; k++) {
		int64_t arrive_ns = at_ns + 9 * MS + (late >= 0 ? delay_ns : 0);

		for (int r = 0; r < s->ranks; r++) {
			int64_t busy_ns = 9 * MS + (r == late ? delay_ns : 0);

			op(s, r, 7, at_ns, at_ns + busy_ns, GEMM, -1);
			coll(s, r, at_ns + busy_ns, arrive_ns + MS,
			     like(77, (uint64_t)k + 1, (uint32_t)s->ranks, WT_COLL_ALL_REDUCE));
		}
		at_ns = arrive_ns + MS;
	}
}

static void test_straggler(void **state)
{
	for (int ranks = 2; ranks <= MOST; ranks *= 2) {
		struct scene s;
		struct result x;

		begin(&s, ranks, 0);
		train(&s, 30, 1, 3 * MS);
		x = end(&s);
		for (int r = 0; r < ranks; r++) {
			assert_int_equal(leaf(&x, r, WT_B3), r == 1 ? 0 : 30 * 3 * MS);
			assert_int_equal(leaf(&x, r, WT_B1),
					 30 * MS); /* no reference for this device */
			assert_int_equal(leaf(&x, r, WT_B5), 0);
			assert_int_equal(blamed(&x, r, 1, WT_A1), r == 1 ? 0 : 30 * 3 * MS);
			assert_int_equal(blamed(&x, r, -1, -1), r == 1 ? 0 : 30 * 3 * MS);
		}
		assert_int_equal(x.r->unblamed_ns, 0);
		assert_int_equal(rank_of(&x, x.r->stragglers[0].seat), 1);
		assert_true(x.r->stragglers[0].persistent);
		assert_int_equal(x.r->stragglers[0].late_ns, 3 * MS);
		assert_int_equal(x.r->stragglers[0].caused_ns, (ranks - 1) * 30 * 3 * MS);
		for (size_t i = 1; i < x.r->nstragglers; i++)
			assert_false(x.r->stragglers[i].persistent);
		assert_int_equal(x.r->comms[0].kind, WT_GROUP_ALL);
		assert_int_equal(x.r->comms[0].start_skew_p50_ns, 3 * MS);
		finish(&x);
	}
}

/* What is hidden behind compute is no loss: only the exposed part of the wait is booked. */
static void test_hidden(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 0);
	op(&s, 0, 7, 0, 4 * MS, GEMM, -1);
	coll(&s, 0, 1 * MS, 9 * MS, like(5, 1, 2, WT_COLL_ALL_REDUCE));
	op(&s, 1, 7, 0, 7 * MS, GEMM, -1);
	coll(&s, 1, 7 * MS, 9 * MS, like(5, 1, 2, WT_COLL_ALL_REDUCE));
	x = end(&s);
	assert_int_equal(x.r->parts[0].wait_ns, 6 * MS);
	assert_int_equal(leaf(&x, 0, WT_B3), 3 * MS); /* 4 to 7 ms; 1 to 4 lies under the kernel */
	assert_int_equal(leaf(&x, 0, WT_B1), 2 * MS);
	assert_int_equal(x.r->comms[0].hidden_ns, 3 * MS);
	assert_int_equal(x.r->comms[0].exposed_ns, 7 * MS);
	finish(&x);
}

static void test_skewed_clocks(void **state)
{
	struct scene s;
	struct result x;
	const struct wt_clock *c;

	begin(&s, 4, 1);
	s.offset_ns[1] = 3 * MS;
	s.offset_ns[2] = -700 * US;
	s.drift[2] = 50e-6;
	s.offset_ns[3] = 3600 * 1000 * MS;
	s.drift[3] = -200e-6;
	collect(&s, -5 * MS, 400 * MS);
	train(&s, 30, 3, 2 * MS);
	x = end(&s);
	assert_int_equal(x.r->clocks[s.process[0]].state, WT_CLOCK_ROOT);
	c = &x.r->clocks[s.process[1]];
	assert_int_equal(c->state, WT_CLOCK_FITTED);
	assert_int_equal(c->offset_ns, 3 * MS);
	c = &x.r->clocks[s.process[2]];
	assert_true(c->drift > 45e-6 && c->drift < 55e-6);
	assert_true(x.r->residual_ns < 5 * US);
	for (int r = 1; r < 4; r++) {
		/* a moment of truth, by the fitted clocks on rank 0's */
		int64_t ns = wt_clock_to_root(&x.r->clocks[s.process[r]], own(&s, r, 123 * MS));

		assert_in_range(ns, 123 * MS - 5 * US, 123 * MS + 5 * US);
		assert_in_range(wt_clock_from_root(&x.r->clocks[s.process[r]], 123 * MS),
				own(&s, r, 123 * MS) - 5 * US, own(&s, r, 123 * MS) + 5 * US);
	}
	for (int r = 0; r < 3; r++) {
		int64_t want_ns = 30 * 2 * MS;

		assert_in_range(leaf(&x, r, WT_B3), want_ns - want_ns / 100,
				want_ns + want_ns / 100);
		assert_in_range(blamed(&x, r, 3, WT_A1), want_ns - want_ns / 100,
				want_ns + want_ns / 100);
	}
	assert_int_equal(x.l->devices[0].account.window_ns, x.l->devices[3].account.window_ns);
	assert_in_range(x.l->devices[0].account.window_ns, 404 * MS, 405 * MS);
	finish(&x);
}

static void test_shared_clock(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 1);
	collect(&s, 0, 400 * MS);
	train(&s, 10, 0, MS);
	x = end(&s);
	assert_int_equal(x.r->clocks[s.process[1]].state, WT_CLOCK_SHARED);
	assert_int_equal(x.r->comms[0].end_skew_p95_ns, 0);
	finish(&x);
}

/* Only some ranks' files: a lower bound, inferred. Only one: nothing is split. */
static void test_missing_ranks(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 0);
	edges(&s, 0, 6 * MS);
	for (int r = 0; r < 2; r++)
		coll(&s, r, r * 2 * MS, 5 * MS, like(9, 1, 4, WT_COLL_ALL_REDUCE));
	x = end(&s);
	assert_int_equal(leaf(&x, 0, WT_B3), 2 * MS);
	assert_int_equal(x.r->parts[0].grade, 2);
	finish(&x);

	begin(&s, 1, 0);
	coll(&s, 0, 0, 5 * MS, like(9, 1, 4, WT_COLL_ALL_REDUCE));
	x = end(&s);
	assert_int_equal(leaf(&x, 0, WT_B5), 5 * MS);
	assert_int_equal(x.r->parts[0].why, WT_UNMATCHED_ALONE);
	finish(&x);
}

/* A number of the job's own that one rank lacks spoils nothing; counted ones do from there on, and so does a size. */
static void test_disagreement(void **state)
{
	for (int what = 0; what < 3; what++) {
		struct scene s;
		struct result x;
		uint64_t matched = 0;

		begin(&s, 2, 0);
		edges(&s, 0, 100 * MS);
		for (int k = 0; k < 10; k++) {
			for (int r = 0; r < 2; r++) {
				struct wt_collective c =
					like(3, (uint64_t)k, 2, WT_COLL_ALL_REDUCE);

				if (what < 2 && r == 1 && k == 6)
					continue;
				if (what == 1)
					c.flags = WT_COLL_SEQ_COUNTED;
				if (what == 2 && r == 1 && k == 6)
					c.bytes *= 2;
				coll(&s, r, k * 10 * MS + r * MS, k * 10 * MS + 5 * MS, c);
			}
		}
		x = end(&s);
		for (size_t i = 0; i < x.r->nparts; i++)
			matched += !x.r->parts[i].why;
		/* uneven counted numbers may all be shifted: the clocks of strangers do not prove the opposite */
		assert_int_equal(matched, what == 0 ? 18 : what == 1 ? 0 : 12);
		assert_int_equal(x.r->comms[0].stopped, what == 0   ? 0
							: what == 1 ? WT_UNMATCHED_COUNTS
								    : WT_UNMATCHED_DISAGREE);
		assert_int_equal(leaf(&x, 0, WT_B3), (int64_t)matched / 2 * MS);
		finish(&x);
	}
}

/* Two files name a communicator differently: matched by size and order, and said. */
static void test_fallback(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 0);
	edges(&s, 0, 50 * MS);
	for (int k = 0; k < 5; k++)
		for (int r = 0; r < 2; r++)
			coll(&s, r, k * 10 * MS + r * MS, k * 10 * MS + 5 * MS,
			     like(100 + (uint64_t)r, (uint64_t)k, 2, WT_COLL_ALL_REDUCE));
	x = end(&s);
	assert_int_equal(leaf(&x, 0, WT_B3), 5 * MS);
	assert_int_equal(x.r->parts[0].grade, 2);
	assert_true(x.r->comms[0].fallback);
	finish(&x);
}

/*
 * Ranks 0, 1 and 2, 3 share a tensor communicator each, 0, 2 and 1, 3 a data communicator. Rank 1 computes 4 ms too
 * long; rank 0 waits for it in the tensor group, comes late to the data group, and rank 2 waits there on rank 0 because
 * of rank 1.
 */
static void test_chain(void **state)
{
	struct scene s;
	struct result x;
	int64_t at_ns = 0;

	begin(&s, 4, 0);
	for (int k = 0; k < 8; k++) {
		for (int r = 0; r < 4; r++) {
			int64_t tp_ns = at_ns + 5 * MS + (r == 1 ? 4 * MS : 0);
			int64_t tp_end_ns = at_ns + 6 * MS + (r < 2 ? 4 * MS : 0);

			op(&s, r, 7, at_ns, tp_ns, GEMM, -1);
			coll(&s, r, tp_ns, tp_end_ns,
			     like(r < 2 ? 10 : 11, (uint64_t)k, 2, WT_COLL_ALL_REDUCE));
			coll(&s, r, tp_end_ns, at_ns + 12 * MS,
			     like(r % 2 ? 21 : 20, (uint64_t)k, 2, WT_COLL_ALL_REDUCE));
		}
		at_ns += 12 * MS;
	}
	x = end(&s);
	assert_int_equal(blamed(&x, 0, 1, WT_A1), 8 * 4 * MS);
	assert_int_equal(blamed(&x, 2, 1, WT_A1), 8 * 4 * MS); /* not on rank 0 */
	assert_int_equal(blamed(&x, 3, 1, WT_A1), 8 * 4 * MS);
	assert_int_equal(blamed(&x, 1, -1, -1), 0);
	for (size_t i = 0; i < x.r->nblames; i++) {
		const struct wt_blame *b = &x.r->blames[i];

		assert_int_equal(b->depth, rank_of(&x, b->waiter) == 2 ? 2 : 1);
		assert_int_equal(rank_of(&x, b->first), rank_of(&x, b->waiter) == 2 ? 0 : 1);
	}
	for (size_t i = 0; i < x.r->ncomms; i++)
		assert_int_equal(x.r->comms[i].kind,
				 x.r->comms[i].key < 20 ? WT_GROUP_TENSOR : WT_GROUP_DATA);
	finish(&x);
}

/* The same by step: each waits 3 ms on rank 1 in each of 30 steps but the fifth, which nobody names. */
static void test_steps(void **state)
{
	struct wt_rank_window windows[60];
	struct scene s;
	struct result x;
	size_t n = 0;

	begin(&s, 2, 0);
	train(&s, 30, 1, 3 * MS);
	x = end(&s);
	for (int k = 29; k >= 0; k--)
		for (int r = 0; r < 2; r++)
			if (k != 5)
				windows[n++] = (struct wt_rank_window){
					100 + k, k * 13 * MS, (k + 1) * 13 * MS, s.process[r]};
	assert_int_equal(wt_ranks_steps(x.r, windows, n), 0);
	assert_true(x.r->windows_are_steps);
	assert_int_equal(x.r->nsteps, 29);
	for (size_t i = 0; i < 29; i++) {
		assert_int_equal(x.r->steps[i].step, 100 + (int)i + (i >= 5));
		assert_int_equal(rank_of(&x, x.r->steps[i].culprit), 1);
		assert_int_equal(x.r->steps[i].leaf, WT_A1);
		assert_int_equal(x.r->steps[i].wait_ns, 3 * MS);
		assert_int_equal(x.r->steps[i].all_ns, 3 * MS);
	}
	assert_int_equal(x.r->stragglers[0].windows, 29);
	assert_int_equal(x.r->stragglers[0].flagged, 29);
	assert_true(x.r->stragglers[0].persistent);
	finish(&x);
}

/* Late by chance, now one, now another: nobody is called a straggler, and it is said that it changes. */
static void test_rotating(void **state)
{
	struct scene s;
	struct result x;
	int64_t at_ns = 0;

	begin(&s, 4, 0);
	for (int k = 0; k < 80; k++) {
		for (int r = 0; r < 4; r++) {
			int64_t busy_ns = 9 * MS + (r == k % 4 ? 2 * MS : 0);

			op(&s, r, 7, at_ns, at_ns + busy_ns, GEMM, -1);
			coll(&s, r, at_ns + busy_ns, at_ns + 12 * MS,
			     like(77, (uint64_t)k, 4, WT_COLL_ALL_REDUCE));
		}
		at_ns += 12 * MS;
	}
	x = end(&s);
	for (size_t i = 0; i < x.r->nstragglers; i++)
		assert_false(x.r->stragglers[i].persistent);
	assert_true(x.r->rotating);
	finish(&x);
}

/* Two programs on one host that are no ranks of a job keep their own windows. */
static void test_strangers(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 1);
	collect(&s, 0, 100 * MS);
	for (int r = 0; r < 2; r++) {
		struct wt_process *p = wt_builder_process_at(s.b, s.process[r]);

		p->rank = -1;
		p->world = 0;
		p->collect_start_ns += r * 50 * MS;
		op(&s, r, 7, 60 * MS, 61 * MS, GEMM, -1);
	}
	x = end(&s);
	assert_int_equal(x.l->devices[0].account.window_ns, 100 * MS);
	assert_int_equal(x.l->devices[1].account.window_ns, 50 * MS);
	finish(&x);
}

/* Ends that jitter by 20 us: what looks like a wait because of it is nobody's fault, one of 3 ms is. */
static void test_residual(void **state)
{
	struct scene s;
	struct result x;
	uint32_t random = 1;

	begin(&s, 2, 1);
	collect(&s, 0, 2000 * MS);
	for (int k = 0; k < 100; k++) {
		int64_t wait_ns = k % 2 ? 3 * MS : 0;

		for (int r = 0; r < 2; r++) {
			int64_t jitter_ns = 0;

			random = random * 1664525u + 1013904223u;
			jitter_ns = r ? (int64_t)((random >> 8) % 40000) - 20000 : 0;
			op(&s, r, 7, k * 20 * MS, k * 20 * MS + 5 * MS + (r ? wait_ns : 0), GEMM,
			   -1);
			coll(&s, r, k * 20 * MS + 5 * MS + (r ? wait_ns : 0),
			     k * 20 * MS + 10 * MS + jitter_ns,
			     like(4, (uint64_t)k, 2, WT_COLL_ALL_REDUCE));
		}
	}
	x = end(&s);
	assert_int_equal(x.r->clocks[s.process[1]].state, WT_CLOCK_SHARED);
	/* 19 us, and as much as the median of 100 is off */
	assert_in_range(x.r->residual_ns, 15 * US, 25 * US);
	assert_in_range(blamed(&x, 0, 1, WT_A1), 50 * 3 * MS - 50 * 20 * US,
			50 * 3 * MS + 50 * 20 * US);
	/* One of twenty jitters is above the 95th percentile. */
	assert_true(x.r->unblamed_ns > 50 * 4 * US);
	assert_true(x.r->wait_ns - x.r->unblamed_ns - blamed(&x, 0, 1, WT_A1) < 10 * 30 * US);
	finish(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_straggler),     cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_skewed_clocks), cmocka_unit_test(test_shared_clock),
		cmocka_unit_test(test_missing_ranks), cmocka_unit_test(test_disagreement),
		cmocka_unit_test(test_fallback),      cmocka_unit_test(test_chain),
		cmocka_unit_test(test_steps),	      cmocka_unit_test(test_rotating),
		cmocka_unit_test(test_strangers),     cmocka_unit_test(test_residual),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
