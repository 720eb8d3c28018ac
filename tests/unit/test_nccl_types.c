// SPDX-License-Identifier: Apache-2.0
/*
 * agent/nccl_types.h and hooks_nccl.def against the real nccl.h, where there is one: sizes, values, and for every hook
 * that the header's function is of the type our list says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#if __has_include(<nccl.h>)
#pragma GCC diagnostic ignored "-Wstrict-prototypes" /* theirs */
#include <nccl.h>
#define WT_NCCL_CONFIG ncclConfig_t
#include "agent/hook_forms.h"
#include "agent/nccl_types.h"

static void test_values(void **state)
{
	assert_int_equal(sizeof(struct wt_nccl_id), sizeof(ncclUniqueId));
	assert_int_equal(_Alignof(struct wt_nccl_id), _Alignof(ncclUniqueId));
	assert_int_equal(WT_NCCL_SUCCESS, ncclSuccess);
	assert_int_equal(WT_NCCL_SYSTEM_ERROR, ncclSystemError);
	assert_int_equal(WT_NCCL_IN_PROGRESS, ncclInProgress);
	assert_int_equal(WT_NCCL_NO_COLOR, NCCL_SPLIT_NOCOLOR);
}

static void test_prototypes(void **state)
{
	unsigned rows = 0, same = 0;

#define WT_ROW(form_, pt_, l_, k_, v_, n_, p_, a_, f_, t_)                                         \
	rows++;                                                                                    \
	same += __builtin_types_compatible_p(wt_nccl_result(*) p_, __typeof__(&n_));
#include "agent/hooks_nccl.def"
#undef WT_ROW
	/* The three inits take the id by our struct: another tag, so another type; its size was compared above. */
	assert_int_equal(same, rows - 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_prototypes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("skip-ok: no nccl.h on this machine");
	return 77;
}
#endif
