/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The duration model of the simulated device. What is demanded here follows by hand from data-sheet peaks, or is what a
 * model must keep to whatever its coefficients are; how near it comes to measured kernels is for bench/model.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "simgpu/core/sim_devices.h"
#include "simgpu/core/sim_model.h"
#include "simgpu/core/sim_roofline.h"
#include "simgpu/core/sim_scenario.h"

#define DAY_NS 86400000000000

static const char *const devices[] = {"a100", "h100", "h200", "b200"};
#define N_DEVICES (sizeof(devices) / sizeof(devices[0]))

static int64_t gemm_ns(const char *dev, enum sim_dtype t, uint64_t m, uint64_t n, uint64_t k)
{
	struct sim_cost c = {.kind = SIM_COST_GEMM, .dtype = t, .m = m, .n = n, .k = k};

	return sim_roofline_ns(&c, sim_device_type(dev));
}

static int64_t bytes_ns(const char *dev, enum sim_cost_kind kind, uint64_t bytes)
{
	struct sim_cost c = {.kind = kind, .bytes = bytes};

	return sim_roofline_ns(&c, sim_device_type(dev));
}

/* 16384^3 in bf16 is 8.796e12 FLOP: 28.19 ms at the A100's 312 TFLOP/s, 8.890 ms at 989.4, 3.909 ms at 2250. */
static void test_large_gemm(void **state)
{
	static const struct {
		const char *dev;
		double ideal_ns, eff;
	} want[] = {
		{"a100", 28.193e6, 0.760}, {"h100", 8.8905e6, 0.798}, {"b200", 3.9094e6, 0.708}};

	for (size_t i = 0; i < 3; i++) {
		double ns = (double)gemm_ns(want[i].dev, SIM_DTYPE_BF16, 16384, 16384, 16384);

		assert_true(ns > 0.95 * want[i].ideal_ns / want[i].eff);
		assert_true(ns < 1.05 * want[i].ideal_ns / want[i].eff);
	}
	/* Twice the rate in fp8, at a lower share of it; full fp32 is an order slower; tf32 half of bf16. */
	assert_true(gemm_ns("h100", SIM_DTYPE_FP8, 16384, 16384, 16384) < 6.5e6);
	assert_true(gemm_ns("h100", SIM_DTYPE_FP8, 16384, 16384, 16384) > 4.45e6);
	assert_true(gemm_ns("h100", SIM_DTYPE_FP32, 16384, 16384, 16384) > 131.5e6);
	assert_true(gemm_ns("h100", SIM_DTYPE_TF32, 16384, 16384, 16384) > 17.7e6);
	assert_true(gemm_ns("h100", SIM_DTYPE_TF32, 16384, 16384, 16384) < 25e6);
	assert_int_equal(gemm_ns("h100", SIM_DTYPE_FP16, 999, 999, 999),
			 gemm_ns("h100", SIM_DTYPE_BF16, 999, 999, 999));
	/* No fp8 units: as fast as bf16, not free. */
	assert_true(gemm_ns("a100", SIM_DTYPE_FP8, 16384, 16384, 16384) > 28e6);
	assert_true(gemm_ns("h100", SIM_DTYPE_FP4, 16384, 16384, 16384) > 4.4e6);
}

/* m = 1: the weights are read once. 8192 x 28672 in bf16 are 470 MB: 140.1 us at 3352 GB/s, 97.9 at 4800. */
static void test_memory_bound_gemm(void **state)
{
	int64_t h100 = gemm_ns("h100", SIM_DTYPE_BF16, 1, 28672, 8192),
		h200 = gemm_ns("h200", SIM_DTYPE_BF16, 1, 28672, 8192);

	assert_true(h100 > 140100 && h100 < 140100 / 0.8 + 10000);
	assert_true(h200 > 97900 && h200 < 97900 / 0.8 + 10000);
	/* The same cost said in FLOPs and bytes is the same time: 2 m n k, 2 (m k + k n + m n). */
	{
		struct sim_cost c = {.kind = SIM_COST_GEMM,
				     .dtype = SIM_DTYPE_BF16,
				     .flops = 2ull * 28672 * 8192,
				     .bytes = 2ull * (8192 + 28672ull * 8192 + 28672)};
		assert_int_equal(sim_roofline_ns(&c, sim_device_type("h100")), h100);
	}
	/* A batch is as much more work. */
	{
		struct sim_cost c = {.kind = SIM_COST_GEMM,
				     .dtype = SIM_DTYPE_BF16,
				     .m = 4096,
				     .n = 4096,
				     .k = 4096,
				     .batch = 10};
		int64_t ten = sim_roofline_ns(&c, sim_device_type("h100")),
			one = gemm_ns("h100", SIM_DTYPE_BF16, 4096, 4096, 4096);

		assert_true(ten > 9 * one && ten < 10 * one);
	}
}

static void test_floor(void **state)
{
	for (size_t d = 0; d < N_DEVICES; d++)
		for (int kind = 0; kind < SIM_COST_KINDS; kind++) {
			struct sim_cost none = {.kind = (enum sim_cost_kind)kind};
			struct sim_cost little = {.kind = (enum sim_cost_kind)kind,
						  .dtype = SIM_DTYPE_BF16,
						  .flops = 1000,
						  .bytes = 1000};
			int64_t floor = sim_roofline_ns(&none, sim_device_type(devices[d])),
				ns = sim_roofline_ns(&little, sim_device_type(devices[d]));

			/* A kernel of no work is a launch and a drain: about a microsecond, never 20. */
			assert_in_range(floor, 500, 20000);
			assert_in_range(ns, floor, floor + 100);
		}
}

static void test_monotone(void **state)
{
	for (size_t d = 0; d < N_DEVICES; d++) {
		for (int t = 0; t < SIM_DTYPES; t++) {
			int64_t last = 0;

			for (uint64_t m = 1; m <= 1ull << 20; m += m / 7 + 1) {
				int64_t ns = gemm_ns(devices[d], (enum sim_dtype)t, m, 4096, 4096);
				assert_true(ns >= last);
				last = ns;
			}
		}
		for (int kind = 0; kind < SIM_COST_KINDS; kind++) {
			int64_t last = 0;

			for (uint64_t b = 1; b < 1ull << 40; b += b / 3 + 1) {
				int64_t ns = bytes_ns(devices[d], (enum sim_cost_kind)kind, b);
				assert_true(ns >= last);
				last = ns;
			}
		}
	}
	/* Newer parts are faster at the same large work, in both directions of the roof. */
	assert_true(gemm_ns("a100", SIM_DTYPE_BF16, 8192, 8192, 8192) >
		    2 * gemm_ns("h100", SIM_DTYPE_BF16, 8192, 8192, 8192));
	assert_true(gemm_ns("h100", SIM_DTYPE_BF16, 8192, 8192, 8192) >
		    gemm_ns("b200", SIM_DTYPE_BF16, 8192, 8192, 8192));
	assert_int_equal(gemm_ns("h100", SIM_DTYPE_BF16, 8192, 8192, 8192),
			 gemm_ns("h200", SIM_DTYPE_BF16, 8192, 8192, 8192));
	assert_true(bytes_ns("h100", SIM_COST_ELEMENTWISE, 1 << 30) >
		    bytes_ns("h200", SIM_COST_ELEMENTWISE, 1 << 30));
}

static void test_absurd(void **state)
{
	struct sim_cost c = {.kind = SIM_COST_GEMM,
			     .dtype = SIM_DTYPE_FP64,
			     .m = UINT64_MAX,
			     .n = UINT64_MAX,
			     .k = UINT64_MAX,
			     .batch = UINT64_MAX};
	struct sim_cost wrong = {
		.kind = (enum sim_cost_kind)77, .dtype = (enum sim_dtype)99, .flops = 1};
	struct sim_device_type strange = {.key = "z9000"};

	assert_int_equal(sim_roofline_ns(&c, sim_device_type("b200")), DAY_NS);
	c = (struct sim_cost){.flops = UINT64_MAX, .bytes = UINT64_MAX};
	assert_int_equal(sim_roofline_ns(&c, sim_device_type("a100")), DAY_NS);
	assert_in_range(sim_roofline_ns(&wrong, sim_device_type("a100")), 500, 20000);
	assert_in_range(sim_roofline_ns(&wrong, &strange), 500, 20000);
	assert_in_range(sim_roofline_ns(&wrong, NULL), 500, 20000);
	assert_int_equal(
		sim_collective_ns(SIM_ALL_REDUCE, INT32_MAX, UINT64_MAX, sim_device_type("a100")),
		DAY_NS);
	assert_in_range(sim_collective_ns((enum sim_collective)50, -4, 0, NULL), 1000, 50000);
}

/*
 * An 8-way all-reduce of 512 MiB moves 2 * 7/8 of it over each link, whose data-sheet rate in one direction is 300,
 * 450, 450 and 900 GB/s: never faster than that (NVLink SHARP, where the switch adds, saves at most half of it).
 */
static void test_collective_rates(void **state)
{
	static const double link_gbs[N_DEVICES] = {300, 450, 450, 900};
	const double bytes = 512.0 * (1 << 20);

	for (size_t d = 0; d < N_DEVICES; d++) {
		const struct sim_device_type *t = sim_device_type(devices[d]);
		double wire = bytes * 2 * 7 / 8 / link_gbs[d],
		       ns = (double)sim_collective_ns(SIM_ALL_REDUCE, 8, 1 << 29, t),
		       gather = (double)sim_collective_ns(SIM_ALL_GATHER, 8, 1 << 29, t),
		       pair = (double)sim_collective_ns(SIM_SEND_RECV, 2, 1 << 29, t);

		assert_true(ns > wire / 2 && ns < wire * 2);
		assert_true(gather > bytes * 7 / 8 / link_gbs[d] &&
			    gather < bytes * 7 / 8 / link_gbs[d] * 2);
		assert_true(pair > bytes / link_gbs[d] && pair < bytes / link_gbs[d] * 2.5);
		/* Small ones cost some microseconds whatever they carry. */
		assert_in_range(sim_collective_ns(SIM_ALL_REDUCE, 8, 512, t), 10000, 40000);
		assert_in_range(sim_collective_ns(SIM_ALL_REDUCE, 2, 4, t), 4000, 15000);
	}
	/* The newer part is slower at small messages: measured, and what a model by link rate gets wrong. */
	assert_true(sim_collective_ns(SIM_ALL_REDUCE, 8, 512, sim_device_type("b200")) >
		    sim_collective_ns(SIM_ALL_REDUCE, 8, 512, sim_device_type("h100")));
}

static void test_collective_order(void **state)
{
	static const int ranks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 64, 512};

	for (size_t d = 0; d < N_DEVICES; d++)
		for (int op = 0; op < SIM_COLLECTIVES; op++)
			for (size_t r = 0; r < sizeof(ranks) / sizeof(ranks[0]); r++) {
				const struct sim_device_type *t = sim_device_type(devices[d]);
				int64_t last = 0;

				for (uint64_t b = 1; b < 1ull << 36; b += b / 5 + 1) {
					int64_t ns = sim_collective_ns((enum sim_collective)op,
								       ranks[r], b, t);
					assert_true(ns >= last);
					last = ns;
				}
			}
	/* Six ranks lie half way between four and eight; two nodes cost more than one. */
	{
		const struct sim_device_type *t = sim_device_type("h100");
		int64_t four = sim_collective_ns(SIM_ALL_REDUCE, 4, 1 << 24, t),
			six = sim_collective_ns(SIM_ALL_REDUCE, 6, 1 << 24, t),
			eight = sim_collective_ns(SIM_ALL_REDUCE, 8, 1 << 24, t);

		assert_in_range(six, (four + eight) / 2 - 1, (four + eight) / 2 + 1);
		/* 16 MiB / 8 devices * 2 * 1/2 at 50 GB/s are 41.9 us, and two hops. */
		assert_in_range(sim_collective_ns(SIM_ALL_REDUCE, 16, 1 << 24, t), eight + 41943,
				eight + 70000);
	}
}

static void test_families(void **state)
{
	assert_int_equal(sim_family_ns("my_kernel", 12345), 12345);
	assert_in_range(sim_family_ns("_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi", 77),
			5000, 10000);
	assert_in_range(
		sim_family_ns("_ZN2at6native12_GLOBAL__N_1x31vectorized_layer_norm_kernelIffEEvi",
			      77),
		5000, 10000);
	assert_in_range(sim_family_ns("triton_per_fused_add_0", 77), 5000, 10000);
}

/* A library's kernel: scenario over roofline; a nameless one: [model] kernel over the family's guess. */
static void test_scenario_wins(void **state)
{
	char err[256];
	struct sim_kernel_model elem, plain;

	unsetenv("SIMGPU_DEVICE");
	unsetenv("SIMGPU_DEVICES");
	assert_int_equal(sim_scenario_load(NULL, err, sizeof(err)), 0);
	assert_int_equal(sim_model_load(err, sizeof(err)), 0);
	elem = sim_model_of("vectorized_elementwise_kernel");
	plain = sim_model_of("my_kernel");
	elem.jitter_pct = plain.jitter_pct = 0;
	assert_int_equal(sim_model_kernel_ns(&elem, -1, 0, 0, 1, 1), 5000);
	assert_int_equal(sim_model_kernel_ns(&plain, -1, 0, 0, 1, 1), 10000);
	assert_int_equal(sim_model_kernel_ns(&elem, 4321, 0, 0, 1, 1), 4321);
	/* Few threads: the floor of its family. 2^26 elements, four a thread: three times 256 MiB at 3,350 GB/s. */
	sim_model_widen(&elem, 1 << 10);
	assert_int_equal(sim_model_kernel_ns(&elem, -1, 0, 0, 1, 1), 5000);
	sim_model_widen(&elem, 1 << 24);
	assert_in_range(sim_model_kernel_ns(&elem, -1, 0, 0, 1, 1), 240000, 330000);
	sim_model_widen(&plain, 1 << 24);
	assert_int_equal(sim_model_kernel_ns(&plain, -1, 0, 0, 1, 1), 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_large_gemm),
		cmocka_unit_test(test_memory_bound_gemm),
		cmocka_unit_test(test_floor),
		cmocka_unit_test(test_monotone),
		cmocka_unit_test(test_absurd),
		cmocka_unit_test(test_collective_rates),
		cmocka_unit_test(test_collective_order),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_scenario_wins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
