/* SPDX-License-Identifier: Apache-2.0 */
/* Where communication stands, from traces: silent where all is finished, else who has not come and what is unpaired. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ranks/progress.h"
#include "timeline/builder.h"

#define COMM 0x1234567800000000u

static struct wt_builder *begin(int ranks)
{
	struct wt_builder *b = wt_builder_new();
	uint32_t input = wt_builder_input(b, "job", "warptap");

	for (int i = 0; i < ranks; i++) {
		uint16_t p = wt_builder_process(b, input, 100 + i);

		wt_builder_process_at(b, p)->rank = i;
		wt_builder_process_at(b, p)->level = 3;
		wt_builder_member(b, &(struct wt_member){.comm = COMM, .place = i, .rank = i});
	}
	return b;
}

static void stand(struct wt_builder *b, int rank, int64_t called, int64_t finished)
{
	wt_builder_standing(b, &(struct wt_standing){.comm = COMM,
						     .enqueued = called,
						     .started = -1,
						     .completed = finished,
						     .process = (uint16_t)rank});
}

static void pass(struct wt_builder *b, int rank, uint8_t op, int32_t peer, uint8_t flags)
{
	wt_builder_collective(b, &(struct wt_collective){.comm = COMM,
							 .call = -1,
							 .lead = -1,
							 .peer = peer,
							 .nranks = 2,
							 .rank = (uint32_t)rank,
							 .process = (uint16_t)rank,
							 .op = op,
							 .flags = flags});
}

static struct wt_progress *progress_of(struct wt_builder *b, struct wt_timeline **ret)
{
	struct wt_progress *p;

	assert_int_equal(wt_builder_finish(b, ret, NULL), 0);
	assert_int_equal(wt_progress_build(&p, *ret), 0);
	return p;
}

static void test_silent(void **state)
{
	struct wt_builder *b = begin(2);
	struct wt_timeline *tl;

	(void)state;
	stand(b, 0, 30, 30);
	stand(b, 1, 28, 28); /* it was ended a moment before */
	assert_null(progress_of(b, &tl));
	wt_timeline_free(tl);
}

static void test_not_called(void **state)
{
	struct wt_builder *b = begin(3);
	struct wt_progress *p;
	struct wt_timeline *tl;

	(void)state;
	stand(b, 0, 30, 20);
	stand(b, 1, 20, 20);
	stand(b, 2, 22, 20);
	p = progress_of(b, &tl);
	assert_non_null(p);
	assert_int_equal(p->traces, 1);
	assert_int_equal(p->nsuspects, 1);
	assert_int_equal(p->suspects[0].rank, 1);
	assert_int_equal(p->suspects[0].why, WT_SUSPECT_NOT_CALLED);
	assert_int_equal(p->suspects[0].seq, 21);
	assert_int_equal(p->suspects[0].waiting, 2);
	wt_progress_free(p);
	wt_timeline_free(tl);
}

/* Sends that arrived count for nothing; one that did not, without a receive, is held against the other side. */
static void test_unpaired(void **state)
{
	struct wt_builder *b = begin(2);
	struct wt_progress *p;
	struct wt_timeline *tl;

	(void)state;
	stand(b, 0, -1, -1);
	stand(b, 1, -1, -1);
	pass(b, 0, WT_COLL_SEND, 1, WT_COLL_COMPLETED);
	pass(b, 1, WT_COLL_RECV, 0, WT_COLL_COMPLETED);
	pass(b, 0, WT_COLL_SEND, 1, 0);
	p = progress_of(b, &tl);
	assert_non_null(p);
	assert_int_equal(p->nsuspects, 1);
	assert_int_equal(p->suspects[0].rank, 1);
	assert_int_equal(p->suspects[0].why, WT_SUSPECT_UNPAIRED);
	wt_progress_free(p);
	wt_timeline_free(tl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_not_called),
		cmocka_unit_test(test_unpaired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
