/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every public Kineto file of the shared folder is read without an error, with the kernels that independent readers
 * counted (MANIFEST.tsv), and the sweep's masks of ANSWERS.tsv that need no kernel families come out to the
 * nanosecond: the window, the time with nothing recorded, and the number of device operations.
 */
#define _GNU_SOURCE /* strsep */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "import/import_kineto.h"

#define TRACES "../shared/traces/"

static struct wt_timeline *read_trace(const char *id)
{
	struct wt_builder *b = wt_builder_new();
	struct wt_timeline *tl = NULL;
	struct wt_source *src;
	struct wt_diag diag = {.offset = -1};
	char path[256];

	assert_non_null(b);
	snprintf(path, sizeof(path), TRACES "kineto/%s.json.gz", id);
	if (wt_source_open(&src, path, &diag))
		fail_msg("%s: %s", path, diag.text);
	if (wt_kineto_read(src, b, wt_builder_input(b, path, "kineto"), 0, &diag))
		fail_msg("%s: %s", path, diag.text);
	wt_source_close(src);
	assert_int_equal(wt_builder_finish(b, &tl, &diag), 0);
	return tl;
}

/* Of the operations of one device, by start: covered time; kernels only if asked. */
static int64_t covered_ns(const struct wt_op *op, size_t n, int kernels_only)
{
	int64_t sum = 0, end = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		if ((kernels_only && op[i].kind != WT_OP_KERNEL) || op[i].end_ns <= end)
			continue;
		sum += op[i].end_ns - (op[i].start_ns > end ? op[i].start_ns : end);
		end = op[i].end_ns;
	}
	return sum;
}

/* Splits a line at its tabs; the number of fields. */
static int split(char *line, char **fields, int most)
{
	int n = 0;

	line[strcspn(line, "\n")] = '\0';
	while (n < most && (fields[n] = strsep(&line, "\t")))
		n++;
	return n;
}

static void test_manifest(void **state)
{
	FILE *f = fopen(TRACES "MANIFEST.tsv", "r");
	char line[8192], *field[32];
	int files = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		int n = split(line, field, 32);
		struct wt_timeline *tl;
		size_t kernels = 0;
		int64_t union_ns = 0;

		if (n < 19 || strcmp(field[1], "kineto"))
			continue;
		tl = read_trace(field[0]);
		for (size_t i = 0; i < tl->nops; i++)
			kernels += tl->ops[i].kind == WT_OP_KERNEL;
		for (size_t d = 0; d < tl->ndevices; d++)
			union_ns += covered_ns(tl->ops + tl->device_first[d],
					       tl->device_first[d + 1] - tl->device_first[d], 1);
		if (field[12][0] && kernels != strtoull(field[12], NULL, 10))
			fail_msg("%s: %zu kernels instead of %s", field[0], kernels, field[12]);
		if (field[15][0] &&
		    llabs(union_ns - (int64_t)(strtod(field[15], NULL) * 1000 + 0.5)) > 100)
			fail_msg("%s: kernels cover %lld ns instead of %s us", field[0],
				 (long long)union_ns, field[15]);
		wt_timeline_free(tl);
		files++;
	}
	fclose(f);
	assert_int_equal(files, 46);
}

static void test_answers(void **state)
{
	FILE *f = fopen(TRACES "ANSWERS.tsv", "r");
	char line[1024], *field[16];
	int files = 0;

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	while (fgets(line, sizeof(line), f)) {
		struct wt_timeline *tl;
		int64_t last = INT64_MIN, window;

		assert_true(split(line, field, 16) >= 11);
		tl = read_trace(field[0]);
		assert_int_equal(tl->ndevices, 1);
		assert_int_equal(tl->devices[0].ordinal, strtoll(field[1], NULL, 10));
		for (size_t i = 0; i < tl->nops; i++)
			last = tl->ops[i].end_ns > last ? tl->ops[i].end_ns : last;
		window = last - tl->ops[0].start_ns;
		assert_int_equal(window, strtoll(field[2], NULL, 10));
		assert_int_equal(window - covered_ns(tl->ops, tl->nops, 0),
				 strtoll(field[6], NULL, 10));
		assert_int_equal(tl->nops, strtoull(field[9], NULL, 10));
		wt_timeline_free(tl);
		files++;
	}
	fclose(f);
	assert_int_equal(files, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_manifest),
		cmocka_unit_test(test_answers),
	};

	if (access(TRACES "MANIFEST.tsv", R_OK)) {
		puts("skip-ok: " TRACES " is not here");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
