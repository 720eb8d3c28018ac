/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Occupancy against the toolkit's own header on random kernels and all its devices, where the header is; waves and the
 * room left in the last one by hand.
 */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bounds/occupancy.h"

static void test_by_hand(void **state)
{
	/* H100: 132 multiprocessors, 64 warps each. 256 threads of 64 registers: 65536 / (64 * 256) = 4 blocks. */
	struct wt_shape s = {.grid = {1000, 1, 1}, .block = {256, 1, 1}, .regs = 64};
	struct wt_occupancy o;

	assert_int_equal(wt_occupancy(90, 132, &s, &o), 0);
	assert_int_equal(o.blocks_per_sm, 4);
	assert_int_equal(o.limit, WT_OCC_REGS);
	assert_true(o.occupancy == 0.5);
	assert_true(fabs(o.waves - 1000. / 528) < 1e-12);
	assert_true(fabs(o.idle_share - (1 - 1000. / 1056)) < 1e-12);
	s.grid[0] = 528;
	wt_occupancy(90, 132, &s, &o);
	assert_true(o.waves == 1 && o.idle_share == 0);
	s.grid[0] = 1;
	wt_occupancy(90, 132, &s, &o);
	assert_true(fabs(o.waves - 1. / 528) < 1e-12);
	wt_occupancy(90, 0, &s, &o); /* how many multiprocessors is not known */
	assert_true(o.waves == 0 && o.idle_share == 0);
	/* Nothing to go by, and what cannot be. */
	assert_int_equal(wt_occupancy(0, 132, &s, &o), -1);
	s.block[0] = 0;
	assert_int_equal(wt_occupancy(90, 132, &s, &o), -1);
	s.block[0] = 2048;
	assert_int_equal(wt_occupancy(90, 132, &s, &o), -1);
	s.block[0] = 1024;
	s.regs = 128;
	assert_int_equal(wt_occupancy(90, 132, &s, &o), -1);
	s.regs = 32;
	s.dyn_smem = 228 * 1024;
	assert_int_equal(wt_occupancy(90, 132, &s, &o), -1);
	/* More threads than the function was built for. */
	s = (struct wt_shape){.grid = {8, 1, 1}, .block = {256, 1, 1}, .regs = 32};
	s.max_threads = 256;
	assert_int_equal(wt_occupancy(90, 132, &s, &o), 0);
	s.max_threads = 255;
	assert_int_equal(wt_occupancy(90, 132, &s, &o), -1);
}

#if __has_include(<cuda_occupancy.h>)
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <cuda_occupancy.h>

static uint64_t seed = 20260101;

static uint32_t below(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((seed >> 33) % n);
}

/* The header wants a device's properties: of the programming guide's table once more, in its own words. */
static const struct {
	int major, minor, threads, smem_kib, block_kib, reserved;
} devices[] = {
	{7, 0, 2048, 96, 96, 0},      {7, 5, 1024, 64, 64, 0},	     {8, 0, 2048, 164, 163, 1024},
	{8, 6, 1536, 100, 99, 1024},  {8, 7, 1536, 164, 163, 1024},  {8, 9, 1536, 100, 99, 1024},
	{9, 0, 2048, 228, 227, 1024}, {10, 0, 2048, 228, 227, 1024}, {10, 3, 2048, 228, 227, 1024},
	{12, 0, 1536, 100, 99, 1024},
};

static int theirs(size_t d, const struct wt_shape *s)
{
	cudaOccDeviceProp p = {
		.computeMajor = devices[d].major,
		.computeMinor = devices[d].minor,
		.maxThreadsPerBlock = 1024,
		.maxThreadsPerMultiprocessor = devices[d].threads,
		.regsPerBlock = 65536,
		.regsPerMultiprocessor = 65536,
		.warpSize = 32,
		.sharedMemPerBlock = 48 * 1024,
		.sharedMemPerMultiprocessor = (size_t)devices[d].smem_kib * 1024,
		.numSms = 100,
		.sharedMemPerBlockOptin = (size_t)devices[d].block_kib * 1024,
		.reservedSharedMemPerBlock = (size_t)devices[d].reserved,
	};
	cudaOccFuncAttributes f = {.maxThreadsPerBlock = INT_MAX,
				   .numRegs = (int)s->regs,
				   .sharedSizeBytes = s->static_smem,
				   .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
				   .maxDynamicSharedSizeBytes = s->dyn_smem,
				   .numBlockBarriers = 1};
	cudaOccDeviceState state = {.cacheConfig = CACHE_PREFER_NONE,
				    .carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED};
	cudaOccResult result;

	memset(&result, 0, sizeof(result));
	if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &p, &f, &state,
						    (int)(s->block[0] * s->block[1]), s->dyn_smem))
		return -1;
	return result.activeBlocksPerMultiprocessor;
}

static void test_against_the_toolkit(void **state)
{
	unsigned fit = 0, not_fit = 0, by[4] = {0};

	for (int i = 0; i < 1000; i++) {
		size_t d = below(sizeof(devices) / sizeof(devices[0]));
		struct wt_shape s = {.grid = {1 + below(5000), 1, 1},
				     .block = {1 + below(256), 1 + below(4), 1},
				     .regs = 16 + below(240),
				     .static_smem = below(3) ? 0 : below(48 * 1024),
				     .dyn_smem = below(3) ? 0 : below(180 * 1024)};
		struct wt_occupancy o;
		int want = theirs(d, &s);
		int got = wt_occupancy((uint32_t)(devices[d].major * 10 + devices[d].minor), 100,
				       &s, &o)
				  ? 0
				  : (int)o.blocks_per_sm;

		assert_true(want >= 0);
		if (got != want)
			fail_msg("case %d, %d.%d: block %u x %u, %u registers, %u + %u bytes: %d, "
				 "the toolkit says %d",
				 i, devices[d].major, devices[d].minor, s.block[0], s.block[1],
				 s.regs, s.static_smem, s.dyn_smem, got, want);
		if (got)
			by[o.limit]++;
		fit += got > 0;
		not_fit += got == 0;
	}
	/* The cases are worth something: every limit is the tightest in some. */
	assert_true(fit > 500 && not_fit > 50);
	for (int k = 0; k < 4; k++)
		assert_true(by[k] > 5);
}
#else
static void test_against_the_toolkit(void **state)
{
	print_message("skip-ok: no cuda_occupancy.h on this machine\n");
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_against_the_toolkit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
