/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks on hand-made timelines, by kind of operation: sends and receives, roots, kernels without records; and what must
 * not be split: ends that disagree, transfers faster than the link.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ranks_scene.h"

static void p2p(struct scene *s, int rank, int peer, int is_send, int64_t start_ns, int64_t end_ns)
{
	struct wt_collective c = like(50, 0, 2, is_send ? WT_COLL_SEND : WT_COLL_RECV);

	c.rank = (uint32_t)rank;
	c.peer = peer;
	coll(s, rank, start_ns, end_ns, c);
}

/* Stage 1 waits for stage 0 inside its receive (B4) and, where its receive was not launched yet, before it (D12). */
static void test_pipeline(void **state)
{
	for (int clocks = 0; clocks < 2; clocks++) {
		struct scene s;
		struct result x;

		begin(&s, 2, clocks);
		if (clocks)
			collect(&s, 0, 100 * MS);
		op(&s, 0, 7, 0, 10 * MS, GEMM, -1);
		op(&s, 1, 7, 0, 2 * MS, GEMM, -1);
		p2p(&s, 0, 1, 1, 10 * MS, 11 * MS);
		p2p(&s, 1, 0, 0, 4 * MS, 11 * MS);
		op(&s, 0, 7, 11 * MS, 30 * MS, GEMM, -1);
		op(&s, 1, 7, 11 * MS, 15 * MS, GEMM, -1);
		p2p(&s, 0, 1, 1, 30 * MS, 31 * MS);
		p2p(&s, 1, 0, 0, 29 * MS, 31 * MS);
		x = end(&s);
		/* Without a common host the ends of the two transfers themselves tie the clocks. */
		assert_int_equal(leaf(&x, 1, WT_B4), 6 * MS + 1 * MS);
		assert_int_equal(leaf(&x, 1, WT_B1), 2 * MS);
		assert_int_equal(leaf(&x, 1, WT_D12), 2 * MS + 14 * MS);
		assert_int_equal(leaf(&x, 0, WT_B4), 0);
		assert_int_equal(leaf(&x, 0, WT_B1), 2 * MS);
		assert_int_equal(blamed(&x, 1, 0, WT_A1), 7 * MS);
		assert_int_equal(x.r->comms[0].kind, WT_GROUP_PIPELINE);
		finish(&x);
	}
}

/* A small send that is over before the other side asks for it has waited for nobody. */
static void test_buffered_send(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 1);
	collect(&s, 0, 100 * MS);
	p2p(&s, 0, 1, 1, 10 * MS, 11 * MS);
	p2p(&s, 1, 0, 0, 15 * MS, 16 * MS);
	x = end(&s);
	for (int r = 0; r < 2; r++) {
		assert_int_equal(leaf(&x, r, WT_B4), 0);
		assert_int_equal(leaf(&x, r, WT_B1), MS);
	}
	finish(&x);
}

/* Sends and receives alone, and a device that keeps another time than its host: many ends that agree outweigh it. */
static void test_pipeline_skewed(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 1);
	s.offset_ns[1] = 4 * MS;
	collect(&s, 0, 1000 * MS);
	for (int k = 0; k < 40; k++) {
		p2p(&s, 0, 1, 1, k * 20 * MS + 5 * MS, k * 20 * MS + 6 * MS);
		p2p(&s, 1, 0, 0, k * 20 * MS + 2 * MS, k * 20 * MS + 6 * MS);
	}
	x = end(&s);
	assert_int_equal(x.r->clocks[s.process[1]].state, WT_CLOCK_FITTED);
	assert_int_equal(x.r->clocks[s.process[1]].offset_ns, 4 * MS);
	assert_int_equal(leaf(&x, 1, WT_B4), 40 * 3 * MS);
	assert_int_equal(leaf(&x, 0, WT_B4), 0);
	finish(&x);
}

/* An all-to-all made of sends and receives in one group, carried by one kernel: all wait for the last one. */
static void test_grouped_all_to_all(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 3, 1);
	collect(&s, 0, 100 * MS);
	for (int r = 0; r < 3; r++) {
		int32_t lead = -1;

		for (int k = 0; k < 6; k++) {
			struct wt_collective c =
				like(50, 0, 3, k < 3 ? WT_COLL_SEND : WT_COLL_RECV);
			int32_t index;

			c.rank = (uint32_t)r;
			c.peer = k % 3;
			c.process = s.process[r];
			c.lead = lead;
			index = wt_builder_collective(s.b, &c);
			lead = lead < 0 ? index : lead;
		}
		op(&s, r, 20, 10 * MS + r * 2 * MS, 15 * MS, SENDRECV, lead);
	}
	x = end(&s);
	for (int r = 0; r < 3; r++) {
		assert_int_equal(leaf(&x, r, WT_B3), (2 - r) * 2 * MS);
		assert_int_equal(leaf(&x, r, WT_B4), 0);
		assert_int_equal(leaf(&x, r, WT_B1), MS);
	}
	assert_int_equal(x.r->comms[0].matched, 18);
	finish(&x);
}

/* Kernels without records, by name and order between anchors; where counts differ nothing is said of that stretch. */
static void test_families(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 3, 1);
	collect(&s, 0, 1000 * MS);
	for (int k = 0; k < 4; k++) {
		int64_t at_ns = k * 20 * MS;

		for (int r = 0; k == 1 && r < 2; r++) /* lost on rank 2: parts no stretch */
			coll(&s, r, at_ns - 5 * MS, at_ns - 4 * MS,
			     like(4, 100, 3, WT_COLL_ALL_REDUCE));
		for (int r = 0; r < 3; r++) {
			op(&s, r, 7, at_ns + r * MS, at_ns + 3 * MS, "multimem_all_reduce_kernel",
			   -1);
			if (k == 2 && r == 0) /* one more on rank 0 */
				op(&s, r, 7, at_ns + 5 * MS, at_ns + 6 * MS,
				   "multimem_all_reduce_kernel", -1);
			coll(&s, r, at_ns + 10 * MS, at_ns + 11 * MS,
			     like(4, (uint64_t)k, 3, WT_COLL_ALL_REDUCE));
		}
	}
	x = end(&s);
	assert_int_equal(leaf(&x, 0, WT_B3), 3 * 2 * MS);
	assert_int_equal(leaf(&x, 0, WT_B5), 3 * MS + 1 * MS);
	assert_int_equal(leaf(&x, 1, WT_B5), 2 * MS);
	for (size_t i = 0; i < x.r->ncomms; i++) {
		const struct wt_rank_comm *c = &x.r->comms[i];

		if (!c->family)
			continue;
		assert_int_equal(c->matched, 9);
		assert_int_equal(c->why[WT_UNMATCHED_COUNTS], 4);
	}
	finish(&x);
}

/* Matched by number, yet it ends at another time on each rank: not one operation. */
static void test_ends_disagree(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 1);
	collect(&s, 0, 1000 * MS);
	for (int k = 0; k < 20; k++)
		for (int r = 0; r < 2; r++) {
			int64_t shift_ns = k == 13 && r ? 8 * MS : 0;

			coll(&s, r, k * 20 * MS + shift_ns, k * 20 * MS + MS + shift_ns,
			     like(4, (uint64_t)k, 2, WT_COLL_ALL_REDUCE));
		}
	x = end(&s);
	assert_int_equal(x.r->comms[0].why[WT_UNMATCHED_ENDS], 2);
	assert_int_equal(leaf(&x, 0, WT_B5), MS);
	finish(&x);
}

/* Faster than the links of the device allow: a wrong match, or a wrong size. */
static void test_faster_than_link(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 0);
	edges(&s, 0, 20 * MS);
	for (int r = 0; r < 2; r++) {
		struct wt_collective c = like(4, 1, 2, WT_COLL_ALL_REDUCE);

		wt_builder_device_at(s.b, s.device[r])->name =
			wt_builder_cstring(s.b, "NVIDIA H100 80GB HBM3");
		c.bytes = 450 * 1000 * 1000; /* 1 ms at 450 GB/s */
		coll(&s, r, r * 10 * US, 910 * US, c);
		c.seq = 2; /* just possible; the reference for it is longer, so all of it is B1 */
		coll(&s, r, 2 * MS, 3 * MS, c);
		c.seq = 3;
		coll(&s, r, 10 * MS, 15 * MS, c);
	}
	x = end(&s);
	assert_int_equal(x.r->comms[0].why[WT_UNMATCHED_PEAK], 2);
	assert_int_equal(leaf(&x, 0, WT_B5), 910 * US);
	/* The third: what is beyond the reference, 450 MB at the measured 1,673,900 ns for 512 MiB, is B2. */
	assert_in_range(leaf(&x, 0, WT_B2), 5 * MS - 1450 * US, 5 * MS - 1380 * US);
	assert_int_equal(leaf(&x, 0, WT_B1) + leaf(&x, 0, WT_B2), 6 * MS);
	finish(&x);
}

static void test_rooted(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 1);
	collect(&s, 0, 100 * MS);
	for (int r = 0; r < 2; r++) {
		struct wt_collective c = like(4, 1, 2, WT_COLL_BROADCAST);

		c.peer = 1;
		c.rank = (uint32_t)r;
		coll(&s, r, r * 4 * MS, 5 * MS, c);
	}
	x = end(&s);
	assert_int_equal(leaf(&x, 0, WT_B3), 4 * MS);
	assert_int_equal(leaf(&x, 1, WT_B3), 0);
	assert_int_equal(leaf(&x, 1, WT_B1), 1 * MS);
	finish(&x);
}

/* The root that came first sends nothing before the other is there; one that is done by then has sent to a buffer. */
static void test_early_root(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 1);
	collect(&s, 0, 100 * MS);
	for (int r = 0; r < 2; r++) {
		struct wt_collective c = like(4, 1, 2, WT_COLL_BROADCAST);

		c.peer = 0;
		c.rank = (uint32_t)r;
		coll(&s, r, r * 4 * MS, 5 * MS, c);
		c.seq = 2;
		coll(&s, r, (10 + r * 4) * MS, (12 + r * 4) * MS, c);
		c.op = WT_COLL_REDUCE;
		c.seq = 3;
		coll(&s, r, (30 - r * 4) * MS, 31 * MS, c); /* to a root that comes late */
	}
	x = end(&s);
	assert_int_equal(leaf(&x, 0, WT_B3), 4 * MS);
	assert_int_equal(leaf(&x, 0, WT_B1), 1 * MS + 2 * MS + 1 * MS);
	assert_int_equal(leaf(&x, 1, WT_B3), 4 * MS);
	assert_int_equal(leaf(&x, 1, WT_B1), 1 * MS + 2 * MS + 1 * MS);
	finish(&x);
}

/*
 * A communicator on two streams, as FSDP uses one: rank 0 comes to the third operation while the second still runs on
 * the other stream. Rank 1 comes late because of a kernel; what it did is compared since the first operation on both.
 */
static void test_two_streams(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 1);
	collect(&s, -50 * MS, 50 * MS);
	op(&s, 0, 7, -40 * MS, -10 * MS, GEMM, -1); /* long before: no reason */
	op(&s, 1, 7, -12 * MS, -10 * MS, GEMM, -1);
	op(&s, 1, 7, 8 * MS, 11 * MS, GEMM, -1);
	for (int r = 0; r < 2; r++) {
		struct wt_collective c = like(4, 1, 2, WT_COLL_ALL_GATHER);

		coll(&s, r, 1 * MS, 2 * MS, c);
		c.seq = 2;
		coll(&s, r, 3 * MS, 8 * MS, c);
		c.seq = 3;
		c.process = s.process[r];
		c.name = wt_builder_cstring(s.b, "AllGather");
		op(&s, r, 21, (r ? 11 : 7) * MS, 12 * MS, ALLREDUCE,
		   wt_builder_collective(s.b, &c));
	}
	x = end(&s);
	/* from 8 ms on: until then the second operation is what is exposed */
	assert_int_equal(blamed(&x, 0, -1, -1), 3 * MS);
	assert_int_equal(blamed(&x, 0, 1, WT_A1), 3 * MS);
	assert_int_equal(x.r->unblamed_ns, 0);
	finish(&x);
}

/* Along the chain of a broadcast all wait for the one that is missing; what a root scatters, each gets by itself. */
static void test_chain_of_three(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 3, 1);
	collect(&s, 0, 100 * MS);
	for (int r = 0; r < 3; r++) {
		struct wt_collective c = like(4, 1, 3, WT_COLL_BROADCAST);

		c.peer = 0;
		c.rank = (uint32_t)r;
		coll(&s, r, (r == 1 ? 8 : r) * MS, 9 * MS, c);
		c.op = WT_COLL_SCATTER;
		c.seq = 2;
		coll(&s, r, (r == 1 ? 28 : 20 + r) * MS, 29 * MS, c);
	}
	x = end(&s);
	assert_int_equal(leaf(&x, 0, WT_B3), (8 + 8) * MS);
	assert_int_equal(leaf(&x, 1, WT_B3), 0);
	assert_int_equal(leaf(&x, 2, WT_B3), (6 + 0) * MS);
	assert_int_equal(blamed(&x, 0, 1, -1), (8 + 8) * MS);
	assert_int_equal(blamed(&x, 2, 1, -1), 6 * MS);
	finish(&x);
}

/* Two kernels of one operation: the time between them is neither waiting nor transfer. */
static void test_gap_inside(void **state)
{
	struct scene s;
	struct result x;
	const struct wt_rank_comm *c;

	begin(&s, 2, 1);
	collect(&s, 0, 100 * MS);
	for (int r = 0; r < 2; r++) {
		struct wt_collective k = like(4, 1, 2, WT_COLL_ALL_REDUCE);
		int32_t index;

		k.process = s.process[r];
		index = wt_builder_collective(s.b, &k);
		op(&s, r, 20, (10 + r) * MS, 15 * MS, ALLREDUCE, index);
		op(&s, r, 7, 15 * MS + 200 * US, 15 * MS + 700 * US, GEMM, -1);
		op(&s, r, 20, 16 * MS, 20 * MS, ALLREDUCE, index);
		op(&s, r, 7, 19 * MS, 21 * MS, GEMM, -1);
	}
	x = end(&s);
	c = &x.r->comms[0];
	assert_int_equal(c->wait_ns, MS);
	assert_int_equal(c->transfer_ns, 2 * (4 + 4) * MS);
	/* Nor is it communication that compute hides. */
	assert_int_equal(c->hidden_ns, 2 * MS);
	assert_int_equal(c->exposed_ns, (5 + 4 + 3 + 3) * MS);
	finish(&x);
}

/* Two communicators at once, and no compute: one hides the other from the ledger, compute hides neither. */
static void test_beside_another(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 1);
	collect(&s, 0, 100 * MS);
	for (int r = 0; r < 2; r++) {
		struct wt_collective k = like(5, 1, 2, WT_COLL_ALL_REDUCE);

		coll(&s, r, 10 * MS, 20 * MS, like(4, 1, 2, WT_COLL_ALL_REDUCE));
		k.process = s.process[r];
		op(&s, r, 21, 12 * MS, 18 * MS, ALLREDUCE, wt_builder_collective(s.b, &k));
	}
	x = end(&s);
	assert_int_equal(x.r->ncomms, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(x.r->comms[i].hidden_ns, 0);
	finish(&x);
}

/* A process that only looked at a second device takes part once, and its calls without kernels are of the first. */
static void test_looked_at(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 1);
	collect(&s, 0, 100 * MS);
	for (int r = 0; r < 2; r++) {
		struct wt_collective c = like(4, 2, 2, WT_COLL_ALL_REDUCE);

		/* made first, and used by nobody */
		wt_builder_stream(s.b, s.process[r], s.device[!r], 77);
		coll(&s, r, 10 * MS, 20 * MS, like(4, 1, 2, WT_COLL_ALL_REDUCE));
		c.process = s.process[r];
		wt_builder_collective(s.b, &c);
	}
	x = end(&s);
	assert_int_equal(x.r->nseats, 2);
	for (size_t i = 0; i < x.r->nparts; i++)
		assert_int_equal(x.r->seats[x.r->parts[i].seat].device,
				 s.device[x.r->seats[x.r->parts[i].seat].rank]);
	finish(&x);
}

/* One export of Nsight Systems has one clock; a host's name in another tool's file proves none. */
static void test_one_export(void **state)
{
	for (int nsys = 0; nsys < 2; nsys++) {
		struct wt_builder *b = wt_builder_new();
		uint32_t in = wt_builder_input(b, "x", "test");
		struct scene s = {.b = b, .ranks = 2};
		struct result x;

		for (int r = 0; r < 2; r++) {
			s.process[r] = wt_builder_process(b, in, 100 + r);
			wt_builder_process_at(b, s.process[r])->host =
				wt_builder_cstring(b, nsys ? WT_HOST_OF_EXPORT "x" : "somewhere");
			s.device[r] = wt_builder_device(b, s.process[r], r, NULL);
			op(&s, r, 7, 0, 5 * MS, GEMM, -1);
			op(&s, r, 20, (5 + r) * MS, 10 * MS, SENDRECV, -1);
		}
		x = end(&s);
		assert_int_equal(x.r->clocks[s.process[1]].state,
				 nsys ? WT_CLOCK_SHARED : WT_CLOCK_UNKNOWN);
		assert_int_equal(x.r->wait_ns, nsys ? 1 * MS : 0);
		finish(&x);
	}
}

/* What a communicator joins: by the names that frameworks give, else by its members and what it does. */
static void test_group_kinds(void **state)
{
	static const struct {
		const char *name;
		int stride; /* of its two members; 0: all ranks of the job */
		uint8_t op;
		enum wt_group_kind kind;
		int grade;
	} cases[] = {
		{"TENSOR_MODEL_PARALLEL_GROUP", 1, WT_COLL_ALL_REDUCE, WT_GROUP_TENSOR, 3},
		{"PIPELINE_MODEL_PARALLEL_GROUP", 1, WT_COLL_ALL_REDUCE, WT_GROUP_PIPELINE, 3},
		{"DATA_PARALLEL_GROUP_WITH_CP", 1, WT_COLL_ALL_REDUCE, WT_GROUP_DATA, 3},
		{"EXPERT_MODEL_PARALLEL_GROUP", 1, WT_COLL_ALL_REDUCE, WT_GROUP_EXPERT, 3},
		{"EXPERT_DATA_PARALLEL_GROUP", 1, WT_COLL_ALL_REDUCE, WT_GROUP_DATA, 3},
		{"CONTEXT_PARALLEL_GROUP", 1, WT_COLL_ALL_REDUCE, WT_GROUP_CONTEXT, 3},
		{"mesh_tp", 2, WT_COLL_ALL_REDUCE, WT_GROUP_TENSOR, 3},
		{"mesh_fsdp", 1, WT_COLL_ALL_GATHER, WT_GROUP_DATA, 3},
		{"pp:0", 1, WT_COLL_ALL_REDUCE, WT_GROUP_PIPELINE, 3},
		{"ep:0", 1, WT_COLL_ALL_REDUCE, WT_GROUP_EXPERT, 3},
		{"cp_1", 1, WT_COLL_ALL_REDUCE, WT_GROUP_CONTEXT, 3},
		/* not a word by itself */
		{"default_pg_tpu", 2, WT_COLL_ALL_REDUCE, WT_GROUP_DATA, 1},
		{NULL, 1, WT_COLL_ALL_REDUCE, WT_GROUP_TENSOR, 1},
		{NULL, 2, WT_COLL_ALL_REDUCE, WT_GROUP_DATA, 1},
		{NULL, 1, WT_COLL_ALL_TO_ALL, WT_GROUP_EXPERT, 1},
		{NULL, 0, WT_COLL_ALL_REDUCE, WT_GROUP_ALL, 1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t members = cases[i].stride ? 2 : 4;
		struct scene s;
		struct result x;

		begin(&s, 4, 1);
		collect(&s, 0, 100 * MS);
		for (uint32_t k = 0; k < members; k++) {
			struct wt_collective c = like(9, 1, members, cases[i].op);

			if (cases[i].name)
				c.group = wt_builder_cstring(s.b, cases[i].name);
			coll(&s, (int)k * (cases[i].stride ? cases[i].stride : 1), 10 * MS, 20 * MS,
			     c);
		}
		x = end(&s);
		assert_int_equal(x.r->ncomms, 1);
		if (x.r->comms[0].kind != cases[i].kind ||
		    x.r->comms[0].kind_grade != cases[i].grade)
			fail_msg("case %zu, %s: %s, grade %d", i,
				 cases[i].name ? cases[i].name : "",
				 wt_group_names[x.r->comms[0].kind], x.r->comms[0].kind_grade);
		finish(&x);
	}
}

/* Rank 1 has no record before it comes to the root's operation: its beginning is the reason. */
static void test_late_start(void **state)
{
	struct scene s;
	struct result x;

	begin(&s, 2, 1);
	collect(&s, 0, 100 * MS);
	for (int r = 0; r < 2; r++) {
		struct wt_collective c = like(4, 1, 2, WT_COLL_BROADCAST);

		c.peer = 0;
		c.rank = (uint32_t)r;
		coll(&s, r, (10 + r * 40) * MS, 51 * MS, c);
	}
	x = end(&s);
	assert_int_equal(blamed(&x, 0, 1, WT_E5), 40 * MS);
	finish(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_ends_disagree),
		cmocka_unit_test(test_faster_than_link),
		cmocka_unit_test(test_rooted),
		cmocka_unit_test(test_early_root),
		cmocka_unit_test(test_two_streams),
		cmocka_unit_test(test_late_start),
		cmocka_unit_test(test_chain_of_three),
		cmocka_unit_test(test_gap_inside),
		cmocka_unit_test(test_group_kinds),
		cmocka_unit_test(test_beside_another),
		cmocka_unit_test(test_looked_at),
		cmocka_unit_test(test_one_export),
		cmocka_unit_test(test_buffered_send),
		cmocka_unit_test(test_pipeline_skewed),
		cmocka_unit_test(test_grouped_all_to_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
