/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random jobs of several ranks, against a checker that walks them unit by unit: what of each exposed collective is
 * waiting and what is transfer; that splitting changes no other leaf, no mask and no sum; that neither the order of the
 * files nor that of the rows decides anything; that windows add.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ranks/ranks.h"
#include "timeline/builder.h"

#define UNIT_NS	  1000
#define MOST	  5
#define MOST_COLL 12
#define MOST_BUSY 20
#define LENGTH	  1200 /* units, at most */
#define ROUNDS	  400
#define GEMM	  "ampere_bf16_s16816gemm_bf16_128x64_nn"

struct span {
	int start, end;
};
struct scene {
	int ranks, ncolls, length;
	int alone[MOST_COLL]; /* the one rank whose row it is, -1 = all have it */
	int arrive[MOST_COLL][MOST], end[MOST_COLL]; /* end: on all ranks */
	struct span busy[MOST][MOST_BUSY];
	int nbusy[MOST];
};

static uint32_t seed;
static int pick(int n)
{
	seed = seed * 1664525u + 1013904223u;
	return (int)((seed >> 8) % (uint32_t)n);
}

static void draw(struct scene *s)
{
	int at[MOST] = {0}, last;

	memset(s, 0, sizeof(*s));
	s->ranks = 2 + pick(MOST - 1);
	s->ncolls = 1 + pick(MOST_COLL);
	for (int c = 0; c < s->ncolls; c++) {
		s->alone[c] = pick(8) ? -1 : pick(s->ranks);
		last = 0;
		for (int r = 0; r < s->ranks; r++) {
			s->arrive[c][r] = at[r] + pick(30);
			if (s->alone[c] < 0 || s->alone[c] == r)
				last = s->arrive[c][r] > last ? s->arrive[c][r] : last;
		}
		s->end[c] = last + 1 + pick(10);
		for (int r = 0; r < s->ranks; r++)
			if (s->alone[c] < 0 || s->alone[c] == r)
				at[r] = s->end[c] + pick(3);
		for (int r = 0; r < s->ranks; r++)
			s->length = at[r] > s->length ? at[r] : s->length;
	}
	s->length += 5;
	for (int r = 0; r < s->ranks; r++) {
		s->nbusy[r] = pick(MOST_BUSY);
		for (int k = 0; k < s->nbusy[r]; k++) {
			int start = pick(s->length - 1);

			s->busy[r][k] = (struct span){
				start,
				start + 1 + pick(s->length - start < 25 ? s->length - start : 25)};
		}
		/* something at both ends: the window is then the whole scene on every rank */
		s->busy[r][s->nbusy[r]++ % MOST_BUSY] = (struct span){0, 1};
		if (s->nbusy[r] > MOST_BUSY - 1)
			s->nbusy[r] = MOST_BUSY - 1;
		s->busy[r][s->nbusy[r]++] = (struct span){s->length - 1, s->length};
		s->busy[r][0] = (struct span){0, 1};
	}
}

struct leaves {
	int64_t b1, b3, b5;
};

/* By hand: each unit of a rank that has a collective resident and no compute. */
static struct leaves expect(const struct scene *s, int rank)
{
	struct leaves e = {0, 0, 0};

	for (int t = 0; t < s->length; t++) {
		int computes = 0;

		for (int k = 0; k < s->nbusy[rank]; k++)
			computes |= s->busy[rank][k].start <= t && t < s->busy[rank][k].end;
		for (int c = 0; c < s->ncolls && !computes; c++) {
			int last = 0;

			if ((s->alone[c] >= 0 && s->alone[c] != rank) || t < s->arrive[c][rank] ||
			    t >= s->end[c])
				continue;
			for (int r = 0; r < s->ranks; r++)
				last = s->arrive[c][r] > last ? s->arrive[c][r] : last;
			if (s->alone[c] >= 0)
				e.b5 += UNIT_NS;
			else if (t < last)
				e.b3 += UNIT_NS;
			else
				e.b1 += UNIT_NS;
			break;
		}
	}
	return e;
}

static void add_kernel(struct wt_builder *b, uint16_t p, uint16_t d, int stream, struct span at,
		       const char *name, int32_t coll)
{
	wt_builder_op(b, &(struct wt_op){.start_ns = (int64_t)at.start * UNIT_NS,
					 .end_ns = (int64_t)at.end * UNIT_NS,
					 .name = wt_builder_cstring(b, name),
					 .stream = wt_builder_stream(b, p, d, stream),
					 .device = d,
					 .process = p,
					 .kind = WT_OP_KERNEL,
					 .call = -1,
					 .collective = coll});
}

static void add_rank(struct wt_builder *b, const struct scene *s, int r, int backwards)
{
	char path[8] = {'r', (char)('0' + r), 0};
	uint16_t p = wt_builder_process(b, wt_builder_input(b, path, "test"), 100 + r);
	uint16_t d = wt_builder_device(b, p, 0, NULL);

	wt_builder_process_at(b, p)->rank = r;
	wt_builder_process_at(b, p)->world = s->ranks;
	for (int i = 0; i < s->ncolls; i++) {
		int c = backwards ? s->ncolls - 1 - i : i;
		struct wt_collective row = {.comm = 7,
					    .seq = (uint64_t)c,
					    .bytes = 4096,
					    .nranks = (uint32_t)s->ranks,
					    .call = -1,
					    .peer = -1,
					    .lead = -1,
					    .process = p,
					    .op = WT_COLL_ALL_REDUCE};

		if (s->alone[c] < 0 || s->alone[c] == r)
			add_kernel(b, p, d, 20, (struct span){s->arrive[c][r], s->end[c]},
				   "ncclDevKernel_AllReduce", wt_builder_collective(b, &row));
	}
	for (int i = 0; i < s->nbusy[r]; i++) {
		int k = backwards ? s->nbusy[r] - 1 - i : i;

		add_kernel(b, p, d, 30 + k, s->busy[r][k], GEMM, -1);
	}
}

struct result {
	struct wt_timeline *tl;
	struct wt_ledger *l;
	struct wt_ranks *r;
};

static struct result analyse(const struct scene *s, int backwards)
{
	struct wt_builder *b = wt_builder_new();
	struct result x;
	struct wt_account before[MOST];

	for (int i = 0; i < s->ranks; i++)
		add_rank(b, s, backwards ? s->ranks - 1 - i : i, backwards);
	assert_int_equal(wt_builder_finish(b, &x.tl, NULL), 0);
	assert_int_equal(wt_ledger_build(&x.l, x.tl, NULL), 0);
	assert_int_equal(x.l->ndevices, s->ranks);
	for (int i = 0; i < s->ranks; i++)
		before[i] = x.l->devices[i].account;
	assert_int_equal(wt_ranks_build(&x.r, x.l, NULL), 0);
	for (int i = 0; i < s->ranks; i++) {
		const struct wt_account *a = &x.l->devices[i].account;
		int64_t split_ns = 0;

		assert_int_equal(a->window_ns, before[i].window_ns);
		for (int m = 0; m < 1 << WT_STATES; m++)
			assert_int_equal(a->mask_ns[m], before[i].mask_ns[m]);
		for (int k = 0; k < WT_LEAVES; k++) {
			if (k >= WT_B1 && k <= WT_B5)
				split_ns += a->leaves_ns[k];
			else
				assert_int_equal(a->leaves_ns[k], before[i].leaves_ns[k]);
		}
		assert_int_equal(split_ns, before[i].leaves_ns[WT_B5]);
	}
	return x;
}

static void finish(struct result *x)
{
	wt_ranks_free(x->r);
	wt_ledger_free(x->l);
	wt_timeline_free(x->tl);
}

static void check(const struct scene *s, const struct result *x, int round)
{
	int64_t waits_ns = 0, blamed_ns = 0;

	for (int r = 0; r < s->ranks; r++) {
		const struct wt_account *a = &x->l->devices[r].account; /* in order of ranks */
		struct leaves want = expect(s, r);

		if (a->leaves_ns[WT_B1] != want.b1 || a->leaves_ns[WT_B3] != want.b3 ||
		    a->leaves_ns[WT_B5] != want.b5)
			fail_msg("round %d rank %d: B1 %ld B3 %ld B5 %ld, by hand %ld %ld %ld",
				 round, r, (long)a->leaves_ns[WT_B1], (long)a->leaves_ns[WT_B3],
				 (long)a->leaves_ns[WT_B5], (long)want.b1, (long)want.b3,
				 (long)want.b5);
		waits_ns += want.b3;
	}
	for (size_t i = 0; i < x->r->nblames; i++)
		blamed_ns += x->r->blames[i].wait_ns;
	assert_int_equal(x->r->wait_ns, waits_ns);
	assert_int_equal(blamed_ns,
			 waits_ns); /* every second of waiting is in one row, established or not */
	assert_int_equal(x->r->comms[0].wait_ns >= waits_ns, 1);
}

/* Two windows that touch sum to the whole, also where a wait is cut in the middle. */
static void check_windows(const struct scene *s, const struct result *x)
{
	for (int r = 0; r < s->ranks; r++) {
		const struct wt_ledger_device *d = &x->l->devices[r];
		int64_t cut_ns = (int64_t)pick(s->length) * UNIT_NS + 333;
		struct wt_account a, b;

		assert_int_equal(wt_account_window(&d->slices, d->w0_ns, cut_ns, &a), 0);
		assert_int_equal(wt_account_window(&d->slices, cut_ns, d->w1_ns, &b), 0);
		for (int k = 0; k < WT_LEAVES; k++)
			assert_int_equal(a.leaves_ns[k] + b.leaves_ns[k], d->account.leaves_ns[k]);
	}
}

static void test_random_jobs(void **state)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct scene s;
		struct result x, y;

		seed = (uint32_t)round * 2654435761u + 1;
		draw(&s);
		x = analyse(&s, 0);
		check(&s, &x, round);
		check_windows(&s, &x);
		y = analyse(&s, 1);
		check(&s, &y, round);
		assert_int_equal(x.r->nblames, y.r->nblames);
		assert_int_equal(x.r->unblamed_ns, y.r->unblamed_ns);
		for (size_t i = 0; i < x.r->nblames; i++) {
			int found = 0;

			for (size_t k = 0; k < y.r->nblames; k++)
				found |= x.r->blames[i].wait_ns == y.r->blames[k].wait_ns &&
					 x.r->blames[i].leaf == y.r->blames[k].leaf &&
					 x.r->seats[x.r->blames[i].waiter].rank ==
						 y.r->seats[y.r->blames[k].waiter].rank &&
					 x.r->seats[x.r->blames[i].culprit].rank ==
						 y.r->seats[y.r->blames[k].culprit].rank;
			assert_true(found);
		}
		finish(&x);
		finish(&y);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
