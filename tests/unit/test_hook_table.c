// SPDX-License-Identifier: Apache-2.0
/* The lists of hooks as data, held against the numbers of trace.proto. Versions: tests/cli/agent-lists.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/agent.h"
#include "agent/fill.h"
#include "agent/hook_table.h"
#include "proto/trace.pb-c.h"

#define KIND(n_) assert_int_equal(WT_KIND_##n_, WARPTAP__V1__COUNT_KIND__COUNT_KIND_##n_)
#define COLLECTIVE(n_)                                                                             \
	assert_int_equal(WT_COLL_##n_, WARPTAP__V1__COLLECTIVE_OP__COLLECTIVE_OP_##n_)
#define FLAG(r_, n_) assert_int_equal(WT_REC_##r_, WARPTAP__V1__CALL_FLAG__CALL_FLAG_##n_)

static void test_numbers_of_the_file(void **state)
{
	KIND(NONE);
	KIND(LAUNCH);
	KIND(GRAPH_LAUNCH);
	KIND(COPY);
	KIND(MEMSET);
	KIND(COLLECTIVE);
	KIND(HOST_FUNC);
	KIND(EVENT);
	KIND(WAIT);
	KIND(OTHER);
	KIND(SYNC);
	KIND(ALLOC);
	KIND(FREE);
	KIND(MODULE);
	KIND(GRAPH);
	KIND(COMM);
	KIND(CONTEXT);
	KIND(GEMM);
	KIND(MARK);
	COLLECTIVE(ALL_REDUCE);
	COLLECTIVE(ALL_GATHER);
	COLLECTIVE(REDUCE_SCATTER);
	COLLECTIVE(BROADCAST);
	COLLECTIVE(REDUCE);
	COLLECTIVE(SEND);
	COLLECTIVE(RECV);
	COLLECTIVE(ALL_TO_ALL);
	COLLECTIVE(GATHER);
	COLLECTIVE(SCATTER);
	FLAG(CAPTURED, CAPTURED);
	FLAG(PARENT_AHEAD, PARENT_AHEAD);
	FLAG(BLOCKING, BLOCKING);
	FLAG(SOFT, SOFT);
	FLAG(IN_NCCL, IN_NCCL);
	FLAG(IN_BLAS, IN_BLAS);
	assert_int_equal(WT_DONE, WARPTAP__V1__COUNT_STATE__COUNT_STATE_DONE);
	assert_int_equal(WT_CAPTURED, WARPTAP__V1__COUNT_STATE__COUNT_STATE_CAPTURED);
	assert_int_equal(WT_FAILED, WARPTAP__V1__COUNT_STATE__COUNT_STATE_FAILED);
	assert_int_equal(WT_SOFT, WARPTAP__V1__COUNT_STATE__COUNT_STATE_SOFT);
	assert_int_equal(WT_UNROWED, WT_COUNT_STATES - 1);
}

static void test_rows(void **state)
{
	assert_int_equal(wt_hook_count(), WT_ID_END - 1);
	assert_string_equal(wt_hook_name(0), "");
	assert_string_equal(wt_hook_name(UINT32_MAX), "");
	assert_int_equal(wt_hook_find("cuNoSuchThing"), 0);
	assert_int_equal(wt_hook_find(""), 0);
	assert_int_equal(wt_hook_kind(wt_hook_find("cuLaunchKernel_ptsz")), WT_KIND_LAUNCH);
	for (uint32_t i = 1; i < WT_ID_END; i++) {
		const struct wt_hook *h = &wt_hooks[i];
		const char *rest = h->name + h->base_len;

		assert_int_equal(wt_hook_find(h->name), i); /* names are unique */
		assert_true(h->kind < WT_COUNT_SLOTS);
		if (rest[0] == '_' && rest[1] == 'v')
			rest += 3;
		assert_true(h->pt ? !strcmp(rest, "_ptsz") || !strcmp(rest, "_ptds") : !*rest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_of_the_file),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
