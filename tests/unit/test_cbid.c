/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two lists of CUPTI's call numbers must agree: the calls the collector asks API records of, and the numbers the reader
 * knows the class of. A call that is asked for and not known is a hole in every alignment that runs over it: a captured
 * launch has no device record that could tell its class.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <cupti.h>

#define RUNTIME 1
#define DRIVER	0

static const struct asked {
	int runtime;
	unsigned int cbid;
	const char *name;
} asked[] = {
#define WT_API(domain_, name_) {domain_, CUPTI_##domain_##_TRACE_CBID_##name_, #name_},
#include "collectors/cupti_api_list.def"
#undef WT_API
};

static const struct known {
	int runtime;
	unsigned int first, last;
	const char *class_;
} known[] = {
#define WT_CBID(runtime_, first_, last_, class_) {runtime_, first_, last_, #class_},
#include "trace/cbid.def"
#undef WT_CBID
};

static void test_asked_is_known(void **state)
{
	size_t unknown = 0;

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		size_t k = 0;

		while (k < sizeof(known) / sizeof(known[0]) &&
		       (known[k].runtime != asked[i].runtime || asked[i].cbid < known[k].first ||
			asked[i].cbid > known[k].last))
			k++;
		if (k == sizeof(known) / sizeof(known[0])) {
			print_error("%s (%u) is asked for and not known\n", asked[i].name,
				    asked[i].cbid);
			unknown++;
		}
	}
	assert_int_equal(unknown, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_asked_is_known)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
