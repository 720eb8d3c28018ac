/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where communication stands, from traces: silent where all is finished, else who has not come and what is unpaired.
 * From public dumps of hung jobs: the ranks their injector held, found by sequence numbers alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "import/job.h"
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

/* ---- public dumps of hung jobs, whose injector wrote down which ranks it held ---- */

#define DUMPS "../shared/traces/nccl/"

/* The ranks of "Fault ranks: [12, 14]"; how many. */
static size_t culprits_of(const char *set, int32_t *ranks, size_t room)
{
	char path[256], line[256] = "";
	const char *at;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), DUMPS "%s/fault_injection.log", set);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	at = strchr(line, '[');
	while (at && n < room && sscanf(at + 1, "%d", &ranks[n]) == 1) {
		n++;
		at = strchr(at + 1, ',');
	}
	assert_true(n > 0);
	return n;
}

static struct wt_timeline *read_dumps(const char *set)
{
	struct wt_job job = {.n = 0};
	struct wt_diag diag = {.offset = -1};
	struct wt_builder *b = NULL;
	struct wt_timeline *tl;
	char path[256];

	snprintf(path, sizeof(path), DUMPS "%s", set);
	if (wt_job_add(&job, path, &diag))
		fail_msg("%s: %s", path, diag.text);
	assert_int_equal(wt_job_read(&job, &b), 0);
	assert_int_equal(wt_builder_finish(b, &tl, NULL), 0);
	wt_job_release(&job);
	return tl;
}

/* The farthest that any rank came on a communicator. */
static void farthest(const struct wt_timeline *from, uint64_t comm, int64_t *called,
		     int64_t *finished)
{
	for (size_t i = 0; i < from->nstandings; i++) {
		const struct wt_standing *s = &from->standings[i];

		if (s->comm != comm)
			continue;
		*called = s->enqueued > *called ? s->enqueued : *called;
		*finished = s->completed > *finished ? s->completed : *finished;
	}
}

static int is_among(int32_t rank, const int32_t *ranks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (ranks[i] == rank)
			return 1;
	return 0;
}

/*
 * What the dumps say in sequence numbers, and no more: who is in a communicator, and the last number each rank called
 * and finished there. No times, names or sizes, no sends or receives. The spared ranks get the farthest numbers of all
 * in place of their own.
 */
static struct wt_progress *judge_numbers(const struct wt_timeline *from, const int32_t *spared,
					 size_t nspared, struct wt_timeline **ret)
{
	struct wt_builder *b = wt_builder_new();
	uint32_t input = wt_builder_input(b, "numbers", "warptap");

	for (size_t i = 0; i < from->nprocesses; i++) {
		uint16_t p = wt_builder_process(b, input, 100 + (int64_t)i);

		assert_int_equal(p, i);
		wt_builder_process_at(b, p)->rank = from->processes[i].rank;
		wt_builder_process_at(b, p)->level = -1; /* a dump */
	}
	for (size_t i = 0; i < from->nmembers; i++)
		wt_builder_member(b, &from->members[i]);
	for (size_t i = 0; i < from->nstandings; i++) {
		const struct wt_standing *s = &from->standings[i];
		struct wt_standing fed = {.comm = s->comm,
					  .enqueued = s->enqueued,
					  .started = -1,
					  .completed = s->completed,
					  .process = s->process,
					  .p2p = s->p2p};

		if (is_among(from->processes[s->process].rank, spared, nspared))
			farthest(from, s->comm, &fed.enqueued, &fed.completed);
		wt_builder_standing(b, &fed);
	}
	return progress_of(b, ret);
}

static int names(const struct wt_progress *p, int32_t rank)
{
	for (size_t i = 0; p && i < p->nsuspects; i++)
		if (p->suspects[i].rank == rank)
			return 1;
	return 0;
}

static void check_set(const char *set, uint8_t why)
{
	struct wt_timeline *from = read_dumps(set), *tl;
	struct wt_progress *p;
	int32_t culprits[8];
	size_t n = culprits_of(set, culprits, 8);

	p = judge_numbers(from, NULL, 0, &tl);
	assert_non_null(p);
	assert_int_equal(p->ranks, 16);
	assert_int_equal(p->nsuspects, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(p->suspects[i].rank, culprits[i]);
		assert_int_equal(p->suspects[i].why, why);
	}
	wt_progress_free(p);
	wt_timeline_free(tl);

	/* It is the numbers that accuse: with those of the others in place of its own, none of them is named. */
	p = judge_numbers(from, culprits, n, &tl);
	for (size_t i = 0; i < n; i++)
		assert_false(names(p, culprits[i]));
	wt_progress_free(p);
	wt_timeline_free(tl);
	wt_timeline_free(from);
}

static void test_public_dumps(void **state)
{
	(void)state;
	if (access(DUMPS, R_OK)) {
		print_message("no " DUMPS " here: public dumps not judged\n");
		skip();
	}
	check_set("r001", WT_SUSPECT_NOT_FINISHED);
	check_set("r003", WT_SUSPECT_NOT_CALLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_not_called),
		cmocka_unit_test(test_unpaired),
		cmocka_unit_test(test_public_dumps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
