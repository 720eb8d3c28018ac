/* SPDX-License-Identifier: Apache-2.0 */
/* C++ names for people, and those that are made to be a burden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/demangle.h"

static void test_names(void **state)
{
	char out[128];

	(void)state;
	assert_string_equal(
		wt_demangle("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfE"
			    "ESt5arrayIPcLm1EEEEviT0_T1_",
			    out, sizeof(out)),
		"vectorized_elementwise_kernel<4, FillFunctor<float>, "
		"std::array<char*, 1ul> >");
	assert_string_equal(wt_demangle("_ZN12_GLOBAL__N_16kernelEPf", out, sizeof(out)), "kernel");
	/* No names of C++: as they are, not copied. */
	for (const char **s = (const char *[]){"", "_Z", "_ZZZ", "nvjet_tst_64x8",
					       "ncclDevKernel_AllReduce", NULL};
	     *s; s++)
		assert_ptr_equal(wt_demangle(*s, out, sizeof(out)), *s);
}

/* As profilers print them: return type and parameters are left out, names of other kinds are as they are. */
static void test_plain(void **state)
{
	char out[200], tiny[6];

	(void)state;
	assert_string_equal(
		wt_plain("void at::native::vectorized_elementwise_kernel<4, "
			 "at::native::FillFunctor<float>, "
			 "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, "
			 "std::array<char*, 1ul>)",
			 out, sizeof(out)),
		"vectorized_elementwise_kernel<4, FillFunctor<float>, std::array<char*, 1ul> >");
	assert_string_equal(
		wt_plain("void (anonymous namespace)::k<c10::Half>(void (*)(int), float*)", out,
			 sizeof(out)),
		"k<c10::Half>");
	assert_string_equal(wt_plain("std::enable_if<(((8)>(0)))&&vllm::t<c10::Half>::e, "
				     "void>::type vllm::norm<8>(int)",
				     out, sizeof(out)),
			    "vllm::norm<8>");
	assert_string_equal(wt_plain("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
				     out, sizeof(out)),
			    "ncclDevKernel_SendRecv");
	assert_string_equal(wt_plain("void kernel<1>(int)", tiny, sizeof(tiny)), "kerne");
	for (const char **s =
		     (const char *[]){"", "void ", "void (", "void )", "copy-start (f32[5], u32[])",
				      "Memcpy HtoD (Pinned -> Device)",
				      "loop fusion jit(f)/aten::add", NULL};
	     *s; s++)
		assert_true(*wt_plain(*s, out, sizeof(out)) || !**s);
	assert_true(wt_plain("Memcpy HtoD (Pinned -> Device)", out, sizeof(out))[0] == 'M');
}

static void test_bounds(void **state)
{
	char *bomb = malloc(5000), *p = bomb, out[64], tiny[2];

	(void)state;
	/* Cut at the room there is. */
	assert_string_equal(wt_demangle("_ZN3one3twoE", tiny, sizeof(tiny)), "o");
	/* Each argument is a pair of the one before: 2^100 letters in a few hundred bytes. */
	p += sprintf(p, "_Z1fI1aS_IS0_S0_E");
	for (int i = 1; i < 100; i++)
		p += sprintf(p, "S_IS%c_S%c_E", '0' + i % 10, '0' + i % 10);
	sprintf(p, "EvT_");
	assert_true(strlen(wt_demangle(bomb, out, sizeof(out))) < 4096);
	/* As deep as it may be, and longer than a compiler makes them. */
	memset(bomb, 'P', 4999);
	memcpy(bomb, "_Z1f", 4);
	bomb[4094] = 'i';
	bomb[4095] = 0;
	assert_true(wt_demangle(bomb, out, sizeof(out)) != NULL);
	bomb[4095] = 'P';
	bomb[4999] = 0;
	assert_ptr_equal(wt_demangle(bomb, out, sizeof(out)), bomb);
	free(bomb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
