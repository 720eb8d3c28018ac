/* SPDX-License-Identifier: Apache-2.0 */
/* What simulated collectives do to numbers: half types round as hardware does, integers wrap, shares add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "simgpu/nccl/nccl_data.c"

static char regions[4][64];

char *nccl_region(struct ncclComm *c, int rank, uint64_t seq)
{
	return regions[rank];
}

static void halves_survive_the_way_through_float(void **state)
{
	for (uint32_t h = 0; h < 65536; h++) {
		float f = from_f16((uint16_t)h), b = from_bf16((uint16_t)h);

		if (isnan(f))
			assert_true(isnan(from_f16(to_f16(f))));
		else
			assert_int_equal(to_f16(f), h);
		if (isnan(b))
			assert_true(isnan(from_bf16(to_bf16(b))));
		else
			assert_int_equal(to_bf16(b), h);
	}
}

/* Between two neighbours: below the middle down, above it up, the middle itself to the even one. */
static void halves_round_to_nearest_even(void **state)
{
	for (uint32_t h = 0; h < 0x7bff; h++) {
		double low = from_f16((uint16_t)h), high = from_f16((uint16_t)(h + 1));
		float middle = (float)((low + high) / 2);

		assert_int_equal(to_f16(middle), h & 1 ? h + 1 : h);
		assert_int_equal(to_f16(nextafterf(middle, 0)), h);
		assert_int_equal(to_f16(nextafterf(middle, INFINITY)), h + 1);
		assert_int_equal(to_f16(-middle), 0x8000 | (h & 1 ? h + 1 : h));
	}
	assert_int_equal(to_f16(65519.0f), 0x7bff);
	assert_int_equal(to_f16(65520.0f), 0x7c00);
	assert_int_equal(to_f16(1e30f), 0x7c00);
	for (uint32_t h = 0; h < 0x7f7f; h++) {
		double low = from_bf16((uint16_t)h), high = from_bf16((uint16_t)(h + 1));
		float middle = (float)((low + high) / 2);

		assert_int_equal(to_bf16(middle), h & 1 ? h + 1 : h);
		assert_int_equal(to_bf16(nextafterf(middle, INFINITY)), h + 1);
	}
}

static void reduce(ncclDataType_t type, ncclRedOp_t op, int nranks, void *out)
{
	struct ncclComm c = {.rank = 0, .nranks = nranks};
	struct nccl_task t = {.func = NCCL_ALL_REDUCE,
			      .recv = out,
			      .count = 1,
			      .type = type,
			      .op = op,
			      .comm = &c};

	nccl_take(&t, 0, 0);
}

static void integers_wrap(void **state)
{
	int8_t a[3] = {100, 100, 100}, out8;
	int64_t b[3] = {INT64_MAX, 1, 5}, out64;
	uint32_t c[3] = {0xffffffff, 2, 0}, out32;

	for (int r = 0; r < 3; r++)
		memcpy(regions[r], &a[r], 1);
	reduce(ncclInt8, ncclSum, 3, &out8);
	assert_int_equal(out8, 44);
	for (int r = 0; r < 3; r++)
		memcpy(regions[r], &b[r], 8);
	reduce(ncclInt64, ncclSum, 3, &out64);
	assert_true(out64 == INT64_MIN + 5);
	reduce(ncclInt64, ncclMin, 3, &out64);
	assert_true(out64 == 1);
	for (int r = 0; r < 3; r++)
		memcpy(regions[r], &c[r], 4);
	reduce(ncclUint32, ncclProd, 2, &out32);
	assert_int_equal(out32, 0xfffffffe);
}

/* Many narrow summands are rounded once, not at each step: 256 + 1 + 1 is exact in bf16 only so. */
static void halves_round_once(void **state)
{
	float v[4] = {256, 1, 1, 0};
	uint16_t h, out;

	for (int r = 0; r < 3; r++) {
		h = to_bf16(v[r]);
		memcpy(regions[r], &h, 2);
	}
	reduce(ncclBfloat16, ncclSum, 3, &out);
	assert_float_equal(from_bf16(out), 258.0f, 0);
	reduce(ncclBfloat16, ncclAvg, 3, &out);
	assert_float_equal(from_bf16(out), 86.0f, 0);
}

static void bandwidth_counts_what_nccl_tests_counts(void **state)
{
	struct nccl_task t = {.count = 100, .type = ncclFloat32};

	t.func = NCCL_ALL_REDUCE;
	assert_int_equal(nccl_message(&t, 4), 400);
	assert_float_equal(nccl_bus_factor(t.func, 4), 1.5, 1e-12);
	t.func = NCCL_ALL_GATHER;
	assert_int_equal(nccl_message(&t, 4), 1600);
	assert_int_equal(nccl_contribution(&t, 4), 400);
	assert_float_equal(nccl_bus_factor(t.func, 4), 0.75, 1e-12);
	t.func = NCCL_REDUCE_SCATTER;
	assert_int_equal(nccl_contribution(&t, 4), 1600);
	t.func = NCCL_BROADCAST;
	assert_int_equal(nccl_message(&t, 4), 400);
	assert_float_equal(nccl_bus_factor(t.func, 4), 1.0, 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(halves_survive_the_way_through_float),
		cmocka_unit_test(halves_round_to_nearest_even),
		cmocka_unit_test(integers_wrap),
		cmocka_unit_test(halves_round_once),
		cmocka_unit_test(bandwidth_counts_what_nccl_tests_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
