/* SPDX-License-Identifier: Apache-2.0 */
/* agent/registry.c: lives of handles, names, the communicator's counter, many threads at once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "agent/registry.h"

static void test_before_init(void **state)
{
	struct wt_reg_entry e;

	assert_int_equal(wt_reg_add(WT_REG_STREAM, 1, 1, NULL), 0);
	assert_int_equal(wt_reg_find(WT_REG_STREAM, 1, 1, &e), 0);
	assert_int_equal(wt_reg_intern("x"), 0);
	assert_string_equal(wt_reg_name(0), "");
	wt_reg_end(WT_REG_STREAM, 1, 1);
	assert_int_equal(wt_reg_init(), 0);
	assert_int_equal(wt_reg_init(), 0);
}

static void test_reuse(void **state)
{
	struct wt_reg_entry e, init = {.context = 3};
	uint32_t a, b, c;

	init.u.stream.flags = 7;
	a = wt_reg_add(WT_REG_STREAM, 0x1000, 100, &init);
	assert_true(a > 0);
	wt_reg_end(WT_REG_STREAM, 0x1000, 200);
	b = wt_reg_add(WT_REG_STREAM, 0x1000, 300, NULL);
	assert_int_equal(b, a + 1);
	/* never told of the end: the next birth ends it */
	c = wt_reg_add(WT_REG_STREAM, 0x1000, 400, NULL);
	assert_int_equal(c, b + 1);

	assert_int_equal(wt_reg_find(WT_REG_STREAM, 0x1000, 99, &e), 0);
	assert_int_equal(wt_reg_find(WT_REG_STREAM, 0x1000, 100, &e), 1);
	assert_int_equal(e.id, a);
	assert_int_equal(e.context, 3);
	assert_int_equal(e.u.stream.flags, 7);
	assert_int_equal(e.death_tsc, 200);
	assert_int_equal(wt_reg_find(WT_REG_STREAM, 0x1000, 250, &e), 0);
	assert_int_equal(wt_reg_find(WT_REG_STREAM, 0x1000, 399, &e), 1);
	assert_int_equal(e.id, b);
	assert_int_equal(wt_reg_find(WT_REG_STREAM, 0x1000, 400, &e), 1);
	assert_int_equal(e.id, c);
	assert_int_equal(wt_reg_find(WT_REG_STREAM, 0x1000, UINT64_MAX, &e), 1);
	assert_int_equal(e.id, c);
	/* an end that is older than the birth belongs to a predecessor */
	wt_reg_end(WT_REG_STREAM, 0x1000, 350);
	assert_int_equal(wt_reg_find(WT_REG_STREAM, 0x1000, UINT64_MAX, &e), 1);
	assert_int_equal(wt_reg_by_id(WT_REG_STREAM, b, &e), 1);
	assert_int_equal(e.death_tsc, 400);
	assert_int_equal(wt_reg_by_id(WT_REG_STREAM, 999999, &e), 0);
	/* kinds do not mix */
	assert_int_equal(wt_reg_find(WT_REG_EXEC, 0x1000, UINT64_MAX, &e), 0);
}

static void test_modules_and_contexts(void **state)
{
	struct wt_reg_entry e, init = {0};
	uint32_t ctx = wt_reg_add(WT_REG_CONTEXT, 0xc0, 10, NULL);
	uint32_t mod, f[100], s;

	init.context = ctx;
	s = wt_reg_add(WT_REG_STREAM, 0x51, 11, &init);
	mod = wt_reg_add(WT_REG_MODULE, 0x40, 12, &init);
	init.u.function.module = mod;
	for (int i = 0; i < 100; i++)
		f[i] = wt_reg_add(WT_REG_FUNCTION, 0x9000 + (uint64_t)i * 16, 13, &init);
	init.u.function.module = 0;
	init.context = 0;
	assert_true(wt_reg_add(WT_REG_FUNCTION, 0x8000, 13, &init) > 0);
	wt_reg_end_module(mod, 20);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(wt_reg_by_id(WT_REG_FUNCTION, f[i], &e), 1);
		assert_int_equal(e.death_tsc, 20);
		assert_int_equal(e.u.function.module, mod);
	}
	assert_int_equal(wt_reg_find(WT_REG_FUNCTION, 0x8000, UINT64_MAX, &e), 1);
	assert_int_equal(wt_reg_find(WT_REG_STREAM, 0x51, UINT64_MAX, &e), 1);
	wt_reg_end_context(ctx, 30);
	assert_int_equal(wt_reg_by_id(WT_REG_STREAM, s, &e), 1);
	assert_int_equal(e.death_tsc, 30);
	assert_int_equal(wt_reg_find(WT_REG_CONTEXT, 0xc0, UINT64_MAX, &e), 0);
	assert_int_equal(wt_reg_find(WT_REG_FUNCTION, 0x8000, UINT64_MAX, &e), 1);
}

static void test_update_keeps_the_counter(void **state)
{
	struct wt_reg_entry e, init = {0};
	uint32_t id = 0, comm;

	init.u.comm.rank = 2;
	init.u.comm.nranks = 4;
	comm = wt_reg_add(WT_REG_COMM, 0xabc, 5, &init);
	assert_int_equal(wt_reg_comm_next(0xabc, &id), 1);
	assert_int_equal(id, comm);
	assert_int_equal(wt_reg_by_id(WT_REG_COMM, comm, &e), 1);
	assert_int_equal(wt_reg_comm_next(0xabc, &id), 2);
	e.u.comm.device = 1;
	wt_reg_update(WT_REG_COMM, comm, &e);
	assert_int_equal(wt_reg_comm_next(0xabc, &id), 3);
	assert_int_equal(wt_reg_by_id(WT_REG_COMM, comm, &e), 1);
	assert_int_equal(e.u.comm.device, 1);
	assert_int_equal(e.u.comm.rank, 2);
	assert_int_equal(wt_reg_comm_next(0xdef, &id), 0);
}

/* A driver gives one handle out again and again; who had it long ago is found without a walk through all of them. */
static void test_many_lives(void **state)
{
	const uint64_t lives = 200000, handle = 0xfeed000;
	struct wt_reg_entry e;
	uint32_t first = wt_reg_count(WT_REG_STREAM) + 1;

	for (uint64_t i = 0; i < lives; i++) {
		assert_int_equal(wt_reg_add(WT_REG_STREAM, handle, 1000 + 10 * i, NULL), first + i);
		if (i % 3)
			wt_reg_end(WT_REG_STREAM, handle, 1000 + 10 * i + 5);
		if (i % 5000 == 0) /* others of all buckets, between its lives */
			first += wt_reg_add(WT_REG_STREAM, handle + 16 * (i + 1), 1, NULL) > 0;
	}
	assert_int_equal(wt_reg_find(WT_REG_STREAM, handle, 999, &e), 0);
	for (uint64_t i = 0; i < lives; i++) {
		uint64_t tsc = 1000 + 10 * i;

		assert_int_equal(wt_reg_find(WT_REG_STREAM, handle, tsc + 4, &e), 1);
		assert_int_equal(e.birth_tsc, tsc);
		assert_int_equal(wt_reg_find(WT_REG_STREAM, handle, tsc + 7, &e), i % 3 == 0);
	}
	for (uint64_t i = 0; i < lives; i += 5000)
		assert_int_equal(wt_reg_find(WT_REG_STREAM, handle + 16 * (i + 1), UINT64_MAX, &e),
				 1);
}

static void test_names(void **state)
{
	char big[10000], text[32];
	uint32_t at[1000], b;

	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "kernel_%d", i);
		at[i] = wt_reg_intern(text);
		assert_true(at[i] != 0);
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "kernel_%d", i);
		assert_int_equal(wt_reg_intern(text), at[i]);
		assert_string_equal(wt_reg_name(at[i]), text);
	}
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	b = wt_reg_intern(big);
	assert_true(b != 0);
	assert_int_equal(strlen(wt_reg_name(b)), 4095);
	assert_int_equal(wt_reg_intern(NULL), 0);
	assert_int_equal(wt_reg_intern(""), 0);
}

static void test_full(void **state)
{
	uint64_t before = wt_reg_lost();
	int refused = 0;

	for (uint64_t i = 0; i < 5000; i++)
		refused += wt_reg_add(WT_REG_CONTEXT, 0x100000 + i * 8, 1, NULL) == 0;
	assert_true(refused > 0);
	assert_int_equal(wt_reg_lost() - before, refused);
}

#define THREADS 4
#define ROUNDS	20000

static _Atomic int failures;
static uint64_t seen[THREADS];

static void *churn(void *arg)
{
	uint64_t t = (uint64_t)(uintptr_t)arg, sum = 0;
	struct wt_reg_entry e, init = {0};
	uint32_t id;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t handle = 0x700000 + t * 64 + (i & 7);
		uint64_t tsc = i * 10 + 1;
		char name[32];

		init.u.graph.nodes[0] = init.u.graph.nodes[1] = init.u.graph.nodes[2] = (uint32_t)i;
		id = wt_reg_add(WT_REG_EXEC, handle, tsc, &init);
		if (!id || !wt_reg_find(WT_REG_EXEC, handle, tsc + 5, &e) || e.id != id)
			atomic_fetch_add(&failures, 1);
		init.u.graph.nodes[0] = init.u.graph.nodes[1] = init.u.graph.nodes[2] =
			~(uint32_t)i;
		wt_reg_update(WT_REG_EXEC, id, &init);
		/* somebody else's newest: never torn */
		if (wt_reg_by_id(WT_REG_EXEC, wt_reg_count(WT_REG_EXEC), &e) &&
		    (e.u.graph.nodes[0] != e.u.graph.nodes[1] ||
		     e.u.graph.nodes[1] != e.u.graph.nodes[2]))
			atomic_fetch_add(&failures, 1);
		if (i & 1)
			wt_reg_end(WT_REG_EXEC, handle, tsc + 6);
		snprintf(name, sizeof(name), "shared_%d", (int)(i % 500));
		if (!(id = wt_reg_intern(name)) || strcmp(wt_reg_name(id), name) != 0)
			atomic_fetch_add(&failures, 1);
		sum += wt_reg_comm_next(0xc0ffee, &id);
	}
	seen[t] = sum;
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t th[THREADS];
	uint64_t n = (uint64_t)THREADS * ROUNDS, sum = 0;
	uint32_t id;

	assert_true(wt_reg_add(WT_REG_COMM, 0xc0ffee, 1, NULL) > 0);
	for (uintptr_t t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&th[t], NULL, churn, (void *)t), 0);
	for (int t = 0; t < THREADS; t++) {
		pthread_join(th[t], NULL);
		sum += seen[t];
	}
	assert_int_equal(failures, 0);
	/* every number was given out once */
	assert_int_equal(sum, n * (n + 1) / 2);
	assert_int_equal(wt_reg_comm_next(0xc0ffee, &id), n + 1);
	assert_int_equal(wt_reg_count(WT_REG_EXEC), n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_before_init),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_modules_and_contexts),
		cmocka_unit_test(test_update_keeps_the_counter),
		cmocka_unit_test(test_many_lives),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
