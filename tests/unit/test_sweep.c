/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sweep and the account, against a checker that walks a small random timeline unit by unit, and by properties: sums
 * are exact, order of rows, names of streams and the origin of time decide nothing, windows add.
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

#define UNIT_NS	 1000
#define LENGTH	 120 /* units */
#define MOST_OPS 14
#define ROUNDS	 500

struct scene_op {
	int start, end, kind, unused, stream;
};
struct scene {
	struct scene_op ops[MOST_OPS];
	int nops, nholes;
	struct {
		int start, end;
	} holes[3];
};

/* What a record is, written down by hand: state, and the leaf its owner's time belongs to. */
static const struct {
	const char *name;
	uint8_t kind, copy_kind;
	enum wt_state state;
	enum wt_leaf leaf, short_leaf; /* from 10 us on, below */
} kinds[] = {
	{"ampere_bf16_s16816gemm_bf16_128x64_nn", WT_OP_KERNEL, 0, WT_STATE_COMPUTE, WT_A1, WT_A5},
	{"void at::native::reduce_kernel<512>", WT_OP_KERNEL, 0, WT_STATE_COMPUTE, WT_A3, WT_A5},
	{"nobody_knows_me", WT_OP_KERNEL, 0, WT_STATE_COMPUTE, WT_A6, WT_A6},
	{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", WT_OP_KERNEL, 0, WT_STATE_COMM, WT_B5, WT_B5},
	{"spin_kernel", WT_OP_KERNEL, 0, WT_STATE_SPIN, WT_B6, WT_B6},
	{"", WT_OP_COPY, WT_COPY_H2D, WT_STATE_COPY, WT_C2, WT_C2},
	{"", WT_OP_COPY, WT_COPY_D2H, WT_STATE_COPY, WT_C3, WT_C3},
	{"", WT_OP_COPY, WT_COPY_P2P, WT_STATE_COPY, WT_C5, WT_C5},
	{"", WT_OP_MEMSET, 0, WT_STATE_COPY, WT_C4, WT_C4},
	{"", WT_OP_GRAPH, 0, WT_STATE_COMPUTE, WT_A6, WT_A6},
};
#define NKINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

static uint32_t seed;
static int pick(int n)
{
	seed = seed * 1664525u + 1013904223u;
	return (int)((seed >> 8) % (uint32_t)n);
}

static void random_scene(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->nops = 1 + pick(MOST_OPS);
	for (int i = 0; i < s->nops; i++) {
		struct scene_op *op = &s->ops[i];

		op->start = pick(LENGTH);
		op->end = op->start + pick(pick(4) ? 15 : 60); /* some of no length */
		op->end = op->end > LENGTH ? LENGTH : op->end;
		op->kind = pick(NKINDS);
		op->stream = pick(3);
	}
	s->nholes = pick(4);
	for (int i = 0; i < s->nholes; i++) {
		s->holes[i].start = pick(LENGTH);
		s->holes[i].end = s->holes[i].start + pick(30);
	}
}

struct variant {
	int64_t shift_ns, stream_base, stream_step;
	int backwards;
};

static struct wt_ledger *ledger_of(const struct scene *s, const struct variant *v,
				   struct wt_timeline **ret_tl)
{
	struct wt_builder *b = wt_builder_new();
	uint16_t p = wt_builder_process(b, wt_builder_input(b, "a", "test"), 1);
	uint16_t d = wt_builder_device(b, p, 0, NULL);
	struct wt_ledger *l = NULL;
	struct wt_diag diag = {.offset = -1};

	for (int k = 0; k < s->nops; k++) {
		int i = v->backwards ? s->nops - 1 - k : k;
		const struct scene_op *o = &s->ops[i];
		struct wt_op op = {.start_ns = o->start * UNIT_NS + v->shift_ns,
				   .end_ns = o->end * UNIT_NS + v->shift_ns,
				   .correlation = (uint64_t)i + 1,
				   .kind = kinds[o->kind].kind,
				   .copy_kind = kinds[o->kind].copy_kind,
				   .call = -1,
				   .collective = -1};

		op.name = wt_builder_cstring(b, kinds[o->kind].name);
		op.stream = wt_builder_stream(b, p, d, v->stream_base + o->stream * v->stream_step);
		wt_builder_op(b, &op);
	}
	for (int i = 0; i < s->nholes; i++)
		wt_builder_hole(
			b, &(struct wt_hole){.start_ns = s->holes[i].start * UNIT_NS + v->shift_ns,
					     .end_ns = s->holes[i].end * UNIT_NS + v->shift_ns,
					     .stream = UINT32_MAX});
	assert_int_equal(wt_builder_finish(b, ret_tl, &diag), 0);
	assert_int_equal(wt_ledger_build(&l, *ret_tl, &diag), 0);
	return l;
}

/* Unit by unit: who is there, who owns it. Gaps (neither owner nor hole, inside the records) are leaf WT_LEAVES. */
static void brute_force(const struct scene *s, unsigned mask[LENGTH * 2], int leaf[LENGTH * 2])
{
	int first = LENGTH * 2, last = 0;

	for (int i = 0; i < s->nops; i++) {
		first = s->ops[i].start < first ? s->ops[i].start : first;
		last = s->ops[i].end > last ? s->ops[i].end : last;
	}
	for (int t = 0; t < LENGTH * 2; t++) {
		const struct scene_op *owner = NULL;
		int hole = 0;

		mask[t] = 0;
		for (int i = 0; i < s->nops; i++) {
			const struct scene_op *o = &s->ops[i];

			if (t < o->start || t >= o->end)
				continue;
			mask[t] |= kinds[o->kind].state;
			/* States in order of their bits; then the earlier, the lower stream, the lower correlation. */
			if (!owner || kinds[o->kind].state < kinds[owner->kind].state ||
			    (kinds[o->kind].state == kinds[owner->kind].state &&
			     (o->start < owner->start ||
			      (o->start == owner->start && o->stream < owner->stream))))
				owner = o;
		}
		for (int i = 0; i < s->nholes; i++)
			hole |= t >= s->holes[i].start && t < s->holes[i].end;
		leaf[t] = owner			   ? (owner->end - owner->start >= 10
							      ? (int)kinds[owner->kind].leaf
							      : (int)kinds[owner->kind].short_leaf)
			  : hole		   ? WT_E1
			  : t < first || t >= last ? WT_E5
						   : WT_LEAVES;
	}
}

/* Gaps have no host calls here: all of them are unresolved. */
static void check_window(const struct wt_ledger_device *d, const unsigned *mask, const int *leaf,
			 int w0, int w1)
{
	struct wt_account a;
	int64_t masks[1 << WT_STATES] = {0}, leaves[WT_LEAVES] = {0};

	assert_int_equal(wt_account_window(&d->slices, w0 * UNIT_NS, w1 * UNIT_NS, &a), 0);
	for (int t = w0; t < w1; t++) {
		masks[mask[t]] += UNIT_NS;
		leaves[leaf[t] == WT_LEAVES ? WT_D14 : leaf[t]] += UNIT_NS;
	}
	for (int i = 0; i < 1 << WT_STATES; i++)
		assert_int_equal(a.mask_ns[i], masks[i]);
	for (int i = 0; i < WT_LEAVES; i++)
		if (a.leaves_ns[i] != leaves[i])
			fail_msg("%s: %ld, expected %ld", wt_leaves[i].key, (long)a.leaves_ns[i],
				 (long)leaves[i]);
}

static void test_brute_force(void **state)
{
	static unsigned mask[LENGTH * 2];
	static int leaf[LENGTH * 2];
	const struct variant plain = {.stream_step = 1};

	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct scene s;
		struct wt_timeline *tl;
		struct wt_ledger *l;

		seed = round + 1;
		random_scene(&s);
		brute_force(&s, mask, leaf);
		l = ledger_of(&s, &plain, &tl);
		assert_int_equal(l->ndevices, 1);
		check_window(&l->devices[0], mask, leaf, 0, LENGTH * 2);
		for (int k = 0; k < 4; k++) {
			int w0 = pick(LENGTH * 2), w1 = w0 + pick(LENGTH * 2 - w0);

			check_window(&l->devices[0], mask, leaf, w0, w1);
		}
		wt_ledger_free(l);
		wt_timeline_free(tl);
	}
}

static void same_account(const struct wt_account *a, const struct wt_account *b)
{
	assert_memory_equal(a, b, sizeof(*a));
}

static void test_what_decides_nothing(void **state)
{
	static const struct variant variants[] = {
		{.stream_step = 1, .backwards = 1},
		{.stream_base = -1000, .stream_step = 77},
		{.stream_step = 1, .shift_ns = 1700000000000000123},
		{.stream_step = 1, .shift_ns = -1700000000000000123},
	};
	const struct variant plain = {.stream_step = 1};

	for (uint32_t round = 0; round < ROUNDS / 4; round++) {
		struct scene s;
		struct wt_timeline *tl, *other_tl;
		struct wt_ledger *l, *other;

		seed = round + 77777;
		random_scene(&s);
		l = ledger_of(&s, &plain, &tl);
		for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
			other = ledger_of(&s, &variants[i], &other_tl);
			same_account(&l->devices[0].account, &other->devices[0].account);
			assert_memory_equal(&l->devices[0].kernels, &other->devices[0].kernels,
					    sizeof(l->devices[0].kernels));
			assert_int_equal(l->devices[0].w0_ns + variants[i].shift_ns,
					 other->devices[0].w0_ns);
			wt_ledger_free(other);
			wt_timeline_free(other_tl);
		}
		wt_ledger_free(l);
		wt_timeline_free(tl);
	}
}

static void test_windows_add(void **state)
{
	const struct variant plain = {.stream_step = 1};

	for (uint32_t round = 0; round < ROUNDS / 4; round++) {
		struct scene s;
		struct wt_timeline *tl;
		struct wt_ledger *l;
		struct wt_account whole, sum = {.window_ns = 0};
		int64_t at = -5 * UNIT_NS, end = (LENGTH + 40) * UNIT_NS;

		seed = round + 1234567;
		random_scene(&s);
		l = ledger_of(&s, &plain, &tl);
		assert_int_equal(wt_account_window(&l->devices[0].slices, at, end, &whole), 0);
		while (at < end) {
			int64_t next = at + 1 + pick(30 * UNIT_NS);
			struct wt_account part;
			int64_t *to = (int64_t *)&sum, *from = (int64_t *)&part;

			next = next > end ? end : next;
			assert_int_equal(wt_account_window(&l->devices[0].slices, at, next, &part),
					 0);
			for (size_t i = 0; i < sizeof(sum) / sizeof(*to); i++)
				to[i] += from[i];
			at = next;
		}
		same_account(&whole, &sum);
		wt_ledger_free(l);
		wt_timeline_free(tl);
	}
}

/* Two streams: [0,40) gemm beside [10,50) collective, a copy [45,70), nothing [70,80), a kernel [80,100). */
static void test_by_hand(void **state)
{
	const struct variant plain = {.stream_step = 1};
	const struct scene s = {
		.ops = {{0, 40, 0, 0, 0}, {10, 50, 3, 0, 1}, {45, 70, 5, 0, 2}, {80, 100, 1, 0, 0}},
		.nops = 4};
	struct wt_timeline *tl;
	struct wt_ledger *l = ledger_of(&s, &plain, &tl);
	const struct wt_account *a = &l->devices[0].account;
	const struct wt_kernel_stats *k = &l->devices[0].kernels;

	assert_int_equal(a->window_ns, 100 * UNIT_NS);
	assert_int_equal(wt_account_compute_ns(a), 60 * UNIT_NS);
	assert_int_equal(wt_account_comm_exposed_ns(a), 10 * UNIT_NS);
	assert_int_equal(wt_account_copy_exposed_ns(a), 20 * UNIT_NS);
	assert_int_equal(wt_account_none_ns(a), 10 * UNIT_NS);
	assert_int_equal(wt_account_comm_total_ns(a), 40 * UNIT_NS);
	assert_int_equal(k->count, 3);
	assert_int_equal(k->sum_ns, 100 * UNIT_NS);
	assert_int_equal(k->union_ns, 70 * UNIT_NS);
	assert_int_equal(k->without_launch, 3);
	assert_int_equal(k->same_stream_overlaps, 0);
	wt_ledger_free(l);
	wt_timeline_free(tl);
}

static void test_same_stream_overlap(void **state)
{
	const struct variant plain = {.stream_step = 1};
	/* On stream 0: b starts before a ends, c before a ends (b lies inside a), d when c ends. */
	const struct scene s = {
		.ops = {{0, 40, 0, 0, 0}, {10, 20, 0, 0, 0}, {30, 50, 0, 0, 0}, {50, 60, 0, 0, 0}},
		.nops = 4};
	struct wt_timeline *tl;
	struct wt_ledger *l = ledger_of(&s, &plain, &tl);

	assert_int_equal(l->devices[0].kernels.same_stream_overlaps, 2);
	assert_int_equal(l->devices[0].kernels.same_stream_overlap_ns, 20 * UNIT_NS);
	assert_int_equal(l->devices[0].account.crowded_ns, 20 * UNIT_NS);
	wt_ledger_free(l);
	wt_timeline_free(tl);
}

/* A kernel that fills the device owns the time it shares with an earlier one that does not. */
static void test_owner_by_share(void **state)
{
	struct wt_builder *b = wt_builder_new();
	uint16_t p = wt_builder_process(b, wt_builder_input(b, "a", "test"), 1);
	uint16_t d = wt_builder_device(b, p, 0, NULL);
	struct wt_shape small = {.grid = {1, 1, 1}, .block = {128, 1, 1}},
			big = {.grid = {4096, 1, 1}, .block = {256, 1, 1}};
	struct wt_op op = {
		.start_ns = 0, .end_ns = 60000, .kind = WT_OP_KERNEL, .call = -1, .collective = -1};
	struct wt_timeline *tl = NULL;
	struct wt_ledger *l = NULL;

	wt_builder_device_at(b, d)->sm_count = 132;
	op.name = wt_builder_cstring(b, "void at::native::reduce_kernel<512>");
	op.shape = wt_builder_shape(b, &small);
	op.stream = wt_builder_stream(b, p, d, 1);
	wt_builder_op(b, &op);
	op.name = wt_builder_cstring(b, "ampere_sgemm_128x64_nn");
	op.shape = wt_builder_shape(b, &big);
	op.stream = wt_builder_stream(b, p, d, 2);
	op.start_ns = 20000;
	op.end_ns = 50000;
	wt_builder_op(b, &op);
	assert_int_equal(wt_builder_finish(b, &tl, NULL), 0);
	assert_int_equal(wt_ledger_build(&l, tl, NULL), 0);
	assert_int_equal(l->devices[0].account.leaves_ns[WT_A3], 30000);
	assert_int_equal(l->devices[0].account.leaves_ns[WT_A2], 30000);
	assert_int_equal(l->devices[0].account.crowded_ns, 30000);
	wt_ledger_free(l);
	wt_timeline_free(tl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_same_stream_overlap),
		cmocka_unit_test(test_owner_by_share),
		cmocka_unit_test(test_brute_force),
		cmocka_unit_test(test_what_decides_nothing),
		cmocka_unit_test(test_windows_add),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
