// SPDX-License-Identifier: Apache-2.0
/*
 * collectors/nccl_plugin.h against the interface: where NCCL 2.23 to 2.29 has each member of its descriptors
 * (src/include/plugin/profiler/profiler_v1.h to _v6.h there), as numbers; the order of a plugin's functions; and that a
 * plugin that was not asked to do anything asks NCCL for nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collectors/nccl_plugin.h"

#define AT(v_, member_, want_)                                                                     \
	assert_int_equal(offsetof(struct wt_prof_descr_v##v_, u.member_), want_)

static void test_heads(void **state)
{
#define HEAD(v_, type_)                                                                            \
	assert_int_equal(offsetof(struct wt_prof_descr_v##v_, type), 0);                           \
	assert_int_equal(sizeof(((struct wt_prof_descr_v##v_ *)NULL)->type), type_);               \
	assert_int_equal(offsetof(struct wt_prof_descr_v##v_, parent), 8);                         \
	assert_int_equal(offsetof(struct wt_prof_descr_v##v_, rank), 16);                          \
	assert_int_equal(offsetof(struct wt_prof_descr_v##v_, u), 24);                             \
	AT(v_, proxy_op.pid, 24);                                                                  \
	AT(v_, proxy_op.channel, 28);                                                              \
	AT(v_, proxy_op.peer, 32);                                                                 \
	AT(v_, proxy_op.steps, 36);                                                                \
	AT(v_, proxy_op.chunk_bytes, 40);                                                          \
	AT(v_, proxy_op.is_send, 44)
	HEAD(1, 1);
	HEAD(2, 1);
	HEAD(3, 1);
	HEAD(4, 1);
	HEAD(5, 8);
}

static void test_collectives(void **state)
{
#define COLL(v_, seq_, func_, count_, channels_, warps_, algo_, proto_)                            \
	AT(v_, coll.seq, seq_);                                                                    \
	AT(v_, coll.func, func_);                                                                  \
	AT(v_, coll.count, count_);                                                                \
	AT(v_, coll.channels, channels_);                                                          \
	AT(v_, coll.warps, warps_);                                                                \
	AT(v_, coll.algo, algo_);                                                                  \
	AT(v_, coll.proto, proto_)
	COLL(1, 40, 48, 72, 104, 105, 106, 107);
	COLL(2, 40, 48, 72, 104, 105, 112, 120);
	COLL(3, 40, 48, 72, 96, 97, 104, 112);
	COLL(4, 24, 32, 56, 80, 81, 88, 96);
	COLL(5, 24, 32, 56, 80, 81, 88, 96);
}

static void test_others(void **state)
{
#define P2P(v_, func_, count_, peer_)                                                              \
	AT(v_, p2p.func, func_);                                                                   \
	AT(v_, p2p.count, count_);                                                                 \
	AT(v_, p2p.peer, peer_)
	P2P(1, 40, 64, 72);
	P2P(2, 40, 64, 72);
	P2P(3, 40, 64, 72);
	P2P(4, 24, 48, 56);
	P2P(5, 24, 48, 56);
	AT(4, p2p.channels, 60);
	AT(5, p2p.channels, 60);
	AT(3, kernel.channel, 24);
	AT(4, kernel.channel, 24);
	AT(4, kernel.timer, 32);
	AT(5, kernel.channel, 24);
	AT(5, kernel.timer, 32);
}

static void test_tables(void **state)
{
	const void *const all[] = {&ncclProfiler_v1, &ncclProfiler_v2, &ncclProfiler_v3,
				   &ncclProfiler_v4, &ncclProfiler_v5, &ncclProfiler_v6};
	void *context = NULL;
	int mask = -1;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		void *word[6];

		__builtin_memcpy(word, all[i], sizeof(word));
		assert_string_equal(word[0], "warptap");
		for (int k = 1; k < 6; k++)
			assert_non_null(word[k]);
	}
	assert_int_equal(offsetof(struct wt_prof_v1, init), 8);
	assert_int_equal(offsetof(struct wt_prof_v5, start), 16);
	assert_int_equal(offsetof(struct wt_prof_v5, stop), 24);
	assert_int_equal(offsetof(struct wt_prof_v5, state), 32);
	assert_int_equal(offsetof(struct wt_prof_v5, finalize), 40);
	assert_int_equal(ncclProfiler_v3.init(&context, &mask), 0);
	assert_int_equal(mask, 0);
	assert_non_null(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_collectives),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
