/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device table: every expression compiles, every device name met in public traces is exactly one part, a name of
 * several parts is decided by memory or is a range, and what nobody has read is flagged.
 */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bounds/parts.h"

#define MANIFEST "../shared/traces/MANIFEST.tsv"

static void test_expressions_compile(void **state)
{
	assert_true(wt_nparts >= 38);
	for (int i = 0; i < wt_nparts; i++) {
		const char *both[] = {wt_parts[i].pattern, wt_parts[i].also};

		for (int k = 0; k < 2; k++) {
			regex_t re;

			if (regcomp(&re, both[k], REG_EXTENDED | REG_NOSUB))
				fail_msg("%s: '%s' does not compile", wt_parts[i].name, both[k]);
			regfree(&re);
		}
	}
}

static const struct wt_device_part *one(const char *name, uint64_t memory)
{
	struct wt_part_match m;

	if (wt_parts_find(name, memory, &m) != 1)
		fail_msg("'%s' is %d parts", name, m.n);
	return m.part[0];
}

static void test_names_of_drivers(void **state)
{
	static const char *const names[][2] = {
		{"NVIDIA GH200 480GB", "GH200-96GB"},
		{"NVIDIA GH200 144G HBM3e", "GH200-144GB"},
		{"NVIDIA GB200", "GB200"},
		{"NVIDIA B300 SXM6 AC", "B300-SXM"},
		{"NVIDIA H20", "H20-96GB"},
		{"NVIDIA H200", "H200-SXM-141GB"},
		{"NVIDIA H200 NVL", "H200-NVL-141GB"},
		{"NVIDIA H100 NVL", "H100-NVL-94GB"},
		{"NVIDIA H100 PCIe", "H100-PCIe-80GB"},
		{"NVIDIA H100 80GB HBM3", "H100-SXM5-80GB"},
		{"Tesla T4", "T4"},
		{"NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"},
		{"NVIDIA A100 80GB PCIe", "A100-PCIE-80GB"},
		{"Tesla V100-SXM2-32GB", "V100-SXM2-32GB"},
		{"AMD Instinct MI300X VF", "MI300X"},
		{"TPU v6 lite", "TPU-v6e"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(one(names[i][0], 0)->name, names[i][1]);
}

/* Not all of that column is names of drivers: whoever wrote the list says there what the file does not. */
static int is_driver_name(const char *s)
{
	static const char *const remarks[] = {"4 ranks",     "H100-class", "MI300X-class", "TPU x2",
					      "V100 (sm_70", "not ",	   "V100-SXM2"};

	for (size_t i = 0; i < sizeof(remarks) / sizeof(remarks[0]); i++)
		if (!strncmp(s, remarks[i], strlen(remarks[i])))
			return 0;
	return *s != 0;
}

static void test_names_of_public_traces(void **state)
{
	FILE *in = fopen(MANIFEST, "r");
	char line[8192];
	int names = 0;

	if (!in) {
		print_message("skip-ok: " MANIFEST " is not here\n");
		skip();
	}
	assert_non_null(fgets(line, sizeof(line), in));
	while (fgets(line, sizeof(line), in)) {
		char *at = line, *device = NULL;

		for (int i = 0; i < 8 && at; i++)
			device = strsep(&at, "\t");
		if (!device || !is_driver_name(device))
			continue;
		names++;
		/* As the trace itself says it: an 80 GB part. */
		one(device, strcmp(device, "NVIDIA H100") ? 0 : 85000000000u);
	}
	fclose(in);
	assert_true(names >= 40);
}

static void test_memory_decides(void **state)
{
	struct wt_part_match m;
	struct wt_peak p;

	assert_string_equal(one("NVIDIA H100", 84942979072u)->name, "H100-SXM5-80GB");
	assert_string_equal(one("NVIDIA H100", 101000000000u)->name, "H100-SXM5-96GB-HBM2e-500W");
	assert_string_equal(one("A100-SXM", 42331013120u)->name, "A100-SXM4-40GB");
	assert_string_equal(one("A100-SXM", 85100068864u)->name, "A100-SXM4-80GB");
	/* Nothing like it: stays a range. */
	assert_int_equal(wt_parts_find("NVIDIA H100", 1u << 30, &m), 2);
	assert_int_equal(wt_parts_find("NVIDIA H100", 0, &m), 2);
	p = wt_parts_cell(&m, WT_PART_BF16_TF);
	assert_true(p.lo > 835 && p.lo < 836 && p.hi > 989 && p.hi < 990);
	p = wt_parts_cell(&m, WT_PART_MEM_GBS);
	assert_true(p.lo > 2399 && p.lo < 2401 && p.hi > 3351 && p.hi < 3353);
}

static void test_unknown_and_unverified(void **state)
{
	struct wt_part_match m;
	struct wt_peak p;

	assert_int_equal(wt_parts_find("Imagination Nothing 9000", 0, &m), 0);
	p = wt_parts_cell(&m, WT_PART_BF16_TF);
	assert_true(p.hi == 0 && !p.unverified);
	one("AMD Radeon Graphics", 0); /* known as a name of anything */
	assert_int_equal(wt_parts_find("NVIDIA A10", 0, &m), 1);
	assert_true(wt_parts_cell(&m, WT_PART_BF16_TF).unverified);
	assert_false(wt_parts_cell(&m, WT_PART_MEM_GBS).unverified);
	assert_int_equal(wt_parts_find("NVIDIA A10G", 0, &m), 0); /* another part */
	assert_int_equal(wt_parts_find("NVIDIA A100-SXM4-80GB", 0, &m), 1);
	p = wt_parts_cell(&m, WT_PART_BF16_TF);
	assert_true(p.lo == 312 && p.hi == 312 && !p.unverified);
	p = wt_parts_cell(&m, WT_PART_FP8_TF);
	assert_true(p.hi == 0);
}

/* Rates follow from multiprocessors, operations a cycle and clock where the table has all of them. */
static void test_peaks_are_possible(void **state)
{
	static const struct {
		const char *name;
		double ops_a_cycle; /* fp16 dense, of one multiprocessor: NVIDIA's architecture papers */
	} parts[] = {{"V100-SXM2-32GB", 1024}, {"A100-SXM4-80GB", 2048}, {"H100-SXM5-80GB", 4096}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct wt_device_part *p = one(parts[i].name, 0);
		double mhz = p->cells[WT_PART_TENSOR_MHZ].value;
		double tf;

		mhz = mhz > 0 ? mhz : p->cells[WT_PART_BOOST_MHZ].value;
		tf = p->cells[WT_PART_UNITS].value * parts[i].ops_a_cycle * mhz * 1e-6;
		if (tf / p->cells[WT_PART_FP16_TF].value < 0.99 ||
		    tf / p->cells[WT_PART_FP16_TF].value > 1.01)
			fail_msg("%s: %g by the table, %g by its clock", p->name,
				 p->cells[WT_PART_FP16_TF].value, tf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expressions_compile),
		cmocka_unit_test(test_names_of_drivers),
		cmocka_unit_test(test_names_of_public_traces),
		cmocka_unit_test(test_memory_decides),
		cmocka_unit_test(test_unknown_and_unverified),
		cmocka_unit_test(test_peaks_are_possible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
