/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: tsan
 * The files of a job, read on several threads: what one thread makes of them one after the other, in the order of the
 * list; files that are no use leave an error and nothing else; what a folder and a pattern stand for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "import/job.h"
#include "timeline_equal.h"

#define FILES 9

static char folder[] = "/tmp/wt_test_job.XXXXXX";

static void path_of(char path[64], const char *name, int i)
{
	snprintf(path, 64, "%s/%s%d.json", folder, name, i);
}

static void write_file(const char *path, int rank)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f,
		"{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": %d, \"world_size\": %d}, "
		"\"traceEvents\": [{}",
		rank, FILES);
	for (int i = 0; i < 300; i++)
		fprintf(f,
			", {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": "
			"\"cudaLaunchKernel\", \"pid\": 5, "
			"\"tid\": %d, \"ts\": %d, \"dur\": 1, \"args\": {\"correlation\": %d}}, "
			"{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"kernel_%d_%d\", \"ts\": "
			"%d, \"dur\": 2, "
			"\"args\": {\"device\": 0, \"stream\": %d, \"correlation\": %d}}",
			i % 3, 10 * i + 1, i + 1, rank, i % 7, 10 * i + 4, i % 2, i + 1);
	fprintf(f, "]}");
	fclose(f);
}

static struct wt_timeline *read_job(struct wt_job *job)
{
	struct wt_builder *b = NULL;
	struct wt_timeline *tl = NULL;

	assert_int_equal(wt_job_read(job, &b), 0);
	assert_int_equal(wt_builder_finish(b, &tl, NULL), 0);
	return tl;
}

static void test_threads(void **state)
{
	struct wt_builder *one = wt_builder_new();
	struct wt_timeline *a = NULL, *b;
	struct wt_job job = {.n = 0};

	for (int i = 0; i < FILES; i++) {
		char path[64];

		path_of(path, "rank", i);
		write_file(path, i);
		assert_int_equal(wt_import_file(path, one, NULL), 0);
		assert_int_equal(wt_job_add(&job, path, NULL), 0);
	}
	b = read_job(&job);
	assert_int_equal(wt_builder_finish(one, &a, NULL), 0);
	assert_int_equal(a->nops, 300 * FILES);
	assert_timelines_equal(a, b, 0);
	wt_timeline_free(a);
	wt_timeline_free(b);
	wt_job_release(&job);
}

static void test_lists(void **state)
{
	struct wt_job job = {.n = 0}, other = {.n = 0};
	struct wt_timeline *tl;
	struct wt_diag diag = {.offset = -1};
	char path[64];
	FILE *f;

	path_of(path, "rank", 10);
	write_file(path, 10);
	snprintf(path, sizeof(path), "%s/readme.txt", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("no trace", f);
	fclose(f);
	assert_int_equal(wt_job_add(&job, folder, &diag), 0);
	assert_int_equal(job.n, FILES + 1);
	assert_non_null(strstr(job.files[1].path, "rank1.json"));
	assert_non_null(strstr(job.files[FILES].path, "rank10.json")); /* natural order */
	snprintf(path, sizeof(path), "%s/rank[12].json", folder);
	assert_int_equal(wt_job_add(&job, path, &diag), 0);
	assert_int_equal(job.n, FILES + 1); /* they are on the list */
	assert_int_equal(job.repeats, 2);
	assert_int_equal(wt_job_add(&other, path, &diag), 0);
	assert_int_equal(other.n, 2);
	assert_non_null(strstr(other.files[1].path, "rank2.json"));
	wt_job_release(&other);
	snprintf(path, sizeof(path), "%s/readme.txt", folder);
	assert_int_equal(wt_job_add(&job, path, &diag), 0);
	assert_int_equal(wt_job_add(&job, "no/such/file", &diag), 0);
	tl = read_job(&job);
	assert_int_equal(tl->ninputs, FILES + 1);
	assert_int_equal(job.files[FILES + 1].err, -WT_E_FORMAT);
	assert_int_equal(wt_job_usable(&job.files[FILES + 1]), 0);
	assert_int_equal(job.files[FILES + 2].err, -WT_E_NOENT);
	assert_int_equal(wt_job_usable(&job.files[0]), 1);
	wt_timeline_free(tl);
	wt_job_release(&job);
}

static void test_empty_folder(void **state)
{
	struct wt_job job = {.n = 0};
	struct wt_diag diag = {.offset = -1};
	char path[64];
	struct wt_timeline *tl;

	snprintf(path, sizeof(path), "%s/empty.XXXXXX", folder);
	assert_non_null(mkdtemp(path));
	assert_int_equal(wt_job_add(&job, path, &diag), -WT_E_NOENT);
	assert_non_null(strstr(diag.text, "no trace in this folder"));
	rmdir(path);
	tl = read_job(&job);
	assert_int_equal(tl->ninputs, 0);
	wt_timeline_free(tl);
	wt_job_release(&job);
}

static int make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char path[64];

	for (int i = 0; i < FILES + 2; i++) {
		path_of(path, "rank", i);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/readme.txt", folder);
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_empty_folder),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
